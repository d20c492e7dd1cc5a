//! Commands that write checkpoints, and other clients meanwhile.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use honeycomb_store::SyncPolicy;
use honeycomb_testing::{Kept, SimulatedDisk};

use crate::common::{self, Client, Running, dialogue, start_durable as start};
use crate::gate::start_gated;
use crate::{is_silent, wait_for};

#[test]
fn commands_and_time_write_checkpoints() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    let stopped = stopped_by_clients(&running);
    let checkpoints = || running.store.durability_statistics().unwrap().checkpoints;
    let mut client = Client::connect(&running);
    let started = "Background append only file rewriting started";
    dialogue(&mut client, &[("SET a 1", "OK"), ("BGREWRITEAOF", started)]);
    wait_for(&mut client, "persistence", "rdb_saves:1\\r\\n");
    let save_every = |client: &mut Client, value: &[u8]| {
        client.send(&[b"CONFIG", b"SET", b"save", value]);
        assert_eq!(common::show(&client.receive()), "OK");
    };
    save_every(&mut client, b"1 1");
    running.store.table("0").unwrap().put(b"b", b"1").unwrap();
    wait_for(&mut client, "persistence", "rdb_saves:2\\r\\n");
    save_every(&mut client, b"");
    dialogue(&mut client, &[("SHUTDOWN SAVE NOSAVE", "!ERR syntax error")]);
    let before = checkpoints();
    client.send(&[b"SHUTDOWN", b"SAVE"]);
    stopped.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(checkpoints(), before + 1);
    running.server.stop().unwrap();
}

#[test]
fn a_shutdown_without_a_checkpoint_keeps_the_log() {
    let disk = SimulatedDisk::default();
    for (options, value) in [(vec![], "1"), (vec![&b"NOSAVE"[..]], "2"), (vec![&b"NOW"[..]], "3")] {
        let running = start(Arc::new(disk.clone()), SyncPolicy::Always);
        let stopped = stopped_by_clients(&running);
        let mut client = Client::connect(&running);
        dialogue(&mut client, &[(&format!("SET a {value}"), "OK")]);
        client.send(&[&[&b"SHUTDOWN"[..]], &options[..]].concat());
        stopped.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(running.store.durability_statistics().unwrap().checkpoints, 0);
        running.server.stop().unwrap();
        drop((client, running.store));
        let running = start(Arc::new(disk.after_power_cut(Kept::Nothing)), SyncPolicy::Always);
        dialogue(&mut Client::connect(&running), &[("GET a", &format!("'{value}'"))]);
        running.server.stop().unwrap();
    }
}

/// Allows clients to stop a server. The receiver gets a message when one does.
fn stopped_by_clients(running: &Running) -> mpsc::Receiver<()> {
    let (sender, stopped) = mpsc::channel();
    running.server.on_shutdown(move || _ = sender.send(()));
    stopped
}

#[test]
fn other_clients_go_on_while_a_client_waits_for_a_checkpoint() {
    let (running, gate) = start_gated(SyncPolicy::Never);
    // As many as there are cores, so that each core has one.
    let mut saving: Vec<_> = (0..2).map(|_| Client::connect(&running)).collect();
    let mut other = Client::connect(&running);
    dialogue(&mut other, &[("SET a 1", "OK")]);
    gate.close();
    saving[0].send(&[b"SAVE"]);
    saving[1].send(&[b"RI.BACKUP", b"START"]);
    assert!(saving.iter_mut().all(is_silent));
    dialogue(&mut other, &[("SET a 2", "OK"), ("GET a", "'2'")]);
    gate.open();
    assert_eq!(common::show(&saving[0].receive()), "OK");
    let started = common::show(&saving[1].receive());
    let numbers: Vec<u64> =
        started.trim_matches(['[', ']']).split(' ').map(|number| number.parse().unwrap()).collect();
    assert_eq!(numbers.len(), 4, "{started}");
    let (number, bytes) = (numbers[0], numbers[3]);
    assert_eq!(saving[1].reply_text(&format!("RI.BACKUP INFO {number}")), started);
    // The backup stays as it is, although other checkpoints replace it.
    dialogue(&mut other, &[("SET a 3", "OK"), ("SAVE", "OK"), ("SET a 4", "OK"), ("SAVE", "OK")]);
    let part = other.reply_text(&format!("RI.BACKUP READ {number} {} 100", bytes - 10));
    assert!(!part.starts_with("!ERR"), "{part}");
    dialogue(
        &mut other,
        &[
            (&format!("RI.BACKUP READ {number} {bytes} 100"), "''"),
            (&format!("RI.BACKUP READ {number} 0 8"), "'HONEYCHK'"),
            (&format!("RI.BACKUP READ {number} 0 0"), "!ERR count is 0: allowed are 1 to 4194304"),
            (
                &format!("RI.BACKUP READ {number} 0 4194305"),
                "!ERR count is 4194305: allowed are 1 to 4194304",
            ),
            ("RI.BACKUP READ -1 0 1", "!ERR number and offset must be integers from 0 on"),
            ("RI.BACKUP INFO 77", "!ERR no such backup: 77"),
            ("RI.BACKUP STOP", "!ERR syntax error"),
        ],
    );
    let in_memory = common::start();
    let mut in_memory = Client::connect(&in_memory);
    assert!(in_memory.reply_text("RI.BACKUP START").contains("directory"));
}

/// A later checkpoint has removed the names of their files, so their bytes are in use until they are closed.
#[test]
fn backups_are_closed_at_their_end_or_when_nobody_uses_them() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    let mut client = Client::connect(&running);
    let start = |client: &mut Client| {
        let started = client.reply_text("RI.BACKUP START");
        dialogue(client, &[("SAVE", "OK")]);
        let number: u64 = started.trim_start_matches('[').split(' ').next().unwrap().parse().unwrap();
        number
    };
    let (first, second) = (start(&mut client), start(&mut client));
    wait_for(&mut client, "persistence", "open_backups:2\\r\\n");
    let unknown = format!("!ERR no such backup: {first}");
    dialogue(
        &mut client,
        &[
            (&format!("RI.BACKUP READ {first} 0 8"), "'HONEYCHK'"),
            (&format!("RI.BACKUP END {first}"), "OK"),
            (&format!("RI.BACKUP END {first}"), &unknown),
            (&format!("RI.BACKUP READ {first} 0 8"), &unknown),
        ],
    );
    running.time.advance(10 * 60 * 1000 - 1);
    dialogue(&mut client, &[(&format!("RI.BACKUP READ {second} 0 8"), "'HONEYCHK'")]);
    running.time.advance(10 * 60 * 1000);
    wait_for(&mut client, "persistence", "open_backups:0\\r\\n");
    dialogue(
        &mut client,
        &[(&format!("RI.BACKUP INFO {second}"), &format!("!ERR no such backup: {second}"))],
    );
    running.server.stop().unwrap();
}

/// The connection receives nothing, because it has many requests that wait for the command, and sends
/// nothing. So no call tells the core that the client is gone.
#[test]
fn a_command_in_progress_ends_when_its_client_is_gone() {
    let (running, gate) = start_gated(SyncPolicy::Never);
    let (mut gone, mut other) = (Client::connect(&running), Client::connect(&running));
    gate.close();
    gone.send_bytes(&[b"PING\r\nSAVE\r\n".to_vec(), b"PING\r\n".repeat(90_000)].concat());
    // The system resets a connection that is closed with bytes to receive.
    assert_eq!(gone.socket.peek(&mut [0]).unwrap(), 1);
    wait_for(&mut other, "stats", "background_tasks:1\\r\\n");
    drop(gone);
    wait_for(&mut other, "clients", "connected_clients:1\\r\\n");
}
