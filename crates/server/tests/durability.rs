//! Durable servers: restarts, replies that wait for the disk, faults of the disk, and the commands about it.

mod common;

use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::{Duration, Instant};
use std::{io, thread};

use honeycomb_server::Config;
use honeycomb_store::{Storage, StorageFile, SyncPolicy};
use honeycomb_testing::{DiskFault, Kept, SimulatedDisk};

use common::{Client, Running, dialogue, open_durable as open, start_durable as start, start_with_store};

/// A disk whose durable writes, syncs and new checkpoints wait while the gate is closed.
#[derive(Clone, Default)]
struct GatedDisk {
    disk: SimulatedDisk,
    gate: Arc<(Mutex<bool>, Condvar)>,
}

struct GatedFile(Box<dyn StorageFile>, GatedDisk);

impl GatedDisk {
    fn close(&self) {
        *self.gate.0.lock().unwrap() = true;
    }

    /// Waits while the gate is closed.
    fn pass(&self) {
        let (closed, opened) = &*self.gate;
        drop(opened.wait_while(closed.lock().unwrap(), |closed| *closed).unwrap());
    }

    fn open_gate(&self) {
        *self.gate.0.lock().unwrap() = false;
        self.gate.1.notify_all();
    }
}

/// Opens the gate when a test fails, so that the server can stop.
struct OpenAtTheEnd(GatedDisk);

impl Drop for OpenAtTheEnd {
    fn drop(&mut self) {
        self.0.open_gate();
    }
}

impl Storage for GatedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Box<dyn StorageFile>> {
        if name.ends_with(".checkpoint") {
            self.pass();
        }
        Ok(Box::new(GatedFile(self.disk.create(name, bytes)?, self.clone())))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(GatedFile(self.disk.open(name)?, self.clone())))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.disk.sync_directory()
    }
}

impl StorageFile for GatedFile {
    fn length(&self) -> io::Result<u64> {
        self.0.length()
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }

    fn write_durable_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.1.pass();
        self.0.write_durable_at(offset, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.1.pass();
        self.0.sync()
    }
}

/// Allows clients to stop a server. The receiver gets a message when one does.
fn stopped_by_clients(running: &Running) -> mpsc::Receiver<()> {
    let (sender, stopped) = mpsc::channel();
    running.server.on_shutdown(move || _ = sender.send(()));
    stopped
}

/// Whether no byte arrives within a time in which a reply usually arrives.
fn is_silent(client: &mut Client) -> bool {
    client.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let received = client.socket.peek(&mut [0]);
    client.socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    received.is_err()
}

#[test]
fn a_restart_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let config = || Config {
        directory: Some(folder.path().to_owned()),
        memory_bytes: 64 << 20,
        cores: 1,
        ..Config::default()
    };
    let running = start_with_store(config(), config().open_store().unwrap());
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("SET a 1", "OK"),
            ("INCRBY a 41", "42"),
            ("MSET b 2 c 3", "OK"),
            ("DEL c", "1"),
            ("SETEX short 1 x", "OK"),
            ("SETEX long 100000 x", "OK"),
            ("MULTI", "OK"),
            ("SET d 4", "QUEUED"),
            ("APPEND d 5", "QUEUED"),
            ("EXEC", "[OK 2]"),
            ("SELECT 3", "OK"),
            ("SET other 1", "OK"),
            ("SWAPDB 1 3", "OK"),
            ("SET other 2", "OK"),
            ("BGSAVE", "Background saving started"),
            ("SAVE", "OK"),
            ("SET after 1", "OK"),
            ("WAITAOF 1 0 0", "[1 0]"),
        ],
    );
    running.server.stop().unwrap();
    drop((client, running.store));
    let running = start_with_store(config(), config().open_store().unwrap());
    running.time.advance(5000);
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("GET a", "'42'"),
            ("MGET b c d", "['2' nil '45']"),
            ("GET short", "nil"),
            ("TTL long", "99995"),
            ("SELECT 1", "OK"),
            ("GET other", "'1'"),
            ("SELECT 3", "OK"),
            ("MGET other after", "['2' '1']"),
            ("CONFIG GET append*", "['appendfsync' 'always' 'appendonly' 'yes']"),
            ("CONFIG SET appendfsync everysec", "OK"),
        ],
    );
    assert_eq!(running.store.sync_policy(), Some(SyncPolicy::EverySecond));
    client.send(&[b"CONFIG", b"SET", b"save", b"3600 1 300 100"]);
    assert_eq!(common::show(&client.receive()), "OK");
    assert_eq!(client.reply_text("CONFIG GET save"), "['save' '300 1']");
    running.server.stop().unwrap();
}

#[test]
fn no_reply_leaves_before_it_is_durable() {
    let disk = GatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Always);
    let (mut writer, mut reader) = (Client::connect(&running), Client::connect(&running));
    assert_eq!(writer.reply_text("SET a 1"), "OK");
    assert_eq!(reader.reply_text("GET a"), "'1'");
    disk.close();
    writer.send(&[b"SET", b"a", b"2"]);
    assert!(is_silent(&mut writer));
    // The pair is visible, but a power cut may take it back.
    reader.send(&[b"GET", b"a"]);
    // Replies stay in order.
    reader.send(&[b"MULTI"]);
    assert!(is_silent(&mut reader));
    disk.open_gate();
    assert_eq!(common::show(&writer.receive()), "OK");
    assert_eq!([common::show(&reader.receive()), common::show(&reader.receive())], ["'2'", "OK"]);
    running.server.stop().unwrap();
}

/// Messages tell other clients about a write, so they wait for the disk as its reply does.
#[test]
fn messages_about_a_write_wait_until_it_is_durable() {
    let disk = GatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Always);
    let _gate = OpenAtTheEnd(disk.clone());
    let [mut writer, mut subscriber, mut monitor] = [(); 3].map(|()| Client::connect(&running));
    dialogue(&mut writer, &[("CONFIG SET notify-keyspace-events KA", "OK")]);
    subscriber.reply_text("PSUBSCRIBE *");
    dialogue(&mut monitor, &[("MONITOR", "OK")]);
    disk.close();
    writer.send(&[b"SET", b"a", b"1"]);
    assert!([&mut writer, &mut subscriber, &mut monitor].into_iter().all(is_silent));
    disk.open_gate();
    assert_eq!(common::show(&writer.receive()), "OK");
    let message = common::show(&subscriber.receive());
    assert!(message.contains("__keyspace@0__:a"), "{message}");
    let line = common::show(&monitor.receive());
    assert!(line.contains("SET"), "{line}");
    running.server.stop().unwrap();
}

/// After a power cut there are both the pairs of the transaction and the swap, or neither.
#[test]
fn a_transaction_with_a_swap_is_one_record() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    let mut client = Client::connect(&running);
    dialogue(&mut client, &[("SET a 1", "OK")]);
    let records = || running.store.durability_statistics().unwrap().records;
    for (swap, value) in [("SWAPDB 0 1", "nil"), ("SWAPDB 1 0", "'2'")] {
        let before = records();
        dialogue(&mut client, &[("MULTI", "OK"), ("SET b 2", "QUEUED"), (swap, "QUEUED")]);
        dialogue(&mut client, &[("EXEC", "[OK OK]")]);
        assert_eq!(records(), before + 1, "{swap}");
        dialogue(&mut client, &[("GET b", value)]);
    }
    running.server.stop().unwrap();
}

#[test]
fn a_get_waits_only_for_writes_to_its_keys() {
    let disk = GatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Always);
    let _opened = OpenAtTheEnd(disk.clone());
    let mut writer = Client::connect(&running);
    let writes: [&[u8]; 3] = [b"SET a 2", b"SWAPDB 0 1", b"RI.DELRANGE - +"];
    for write in writes {
        dialogue(&mut writer, &[("SET a 1", "OK"), ("SET b 1", "OK")]);
        disk.close();
        writer.send(&write.split(|byte| *byte == b' ').collect::<Vec<_>>());
        assert!(is_silent(&mut writer));
        let mut reader = Client::connect(&running);
        // Replies that depend on no pairs wait for nothing.
        assert_eq!(reader.reply_text("PING"), "PONG");
        assert!(reader.reply_text("INFO persistence").contains("aof_last_write_status:ok"));
        reader.send(&[b"GET", b"b"]);
        // A swap and a range deletion concern all keys.
        let concerns_all = write != writes[0];
        assert_eq!(is_silent(&mut reader), concerns_all, "{}", String::from_utf8_lossy(write));
        reader.send(&[b"MGET", b"b", b"a"]);
        let mut late = Client::connect(&running);
        late.send(&[b"RI.SCAN", b"-", b"+", b"LIMIT", b"1"]);
        assert!(is_silent(&mut late), "a scan waits for all writes");
        disk.open_gate();
        (0..2).for_each(|_| drop(reader.receive()));
        drop((late.receive(), writer.receive()));
    }
    running.server.stop().unwrap();
}

/// A count tells of a write as a get of its key does. Operators need the other sections of `INFO` while the
/// disk hangs.
#[test]
fn replies_with_counts_of_pairs_wait_for_all_writes() {
    let disk = GatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Always);
    let _opened = OpenAtTheEnd(disk.clone());
    let mut writer = Client::connect(&running);
    dialogue(&mut writer, &[("SET a 1", "OK")]);
    disk.close();
    writer.send(&[b"SET", b"b", b"1"]);
    assert!(is_silent(&mut writer));
    let mut others = Client::connect(&running);
    for sections in ["persistence", "server clients memory stats replication errorstats", "CPU none"] {
        let reply = others.reply_text(&format!("INFO {sections}"));
        assert!(reply.contains("# ") && !reply.contains("db0:"), "{sections}: {reply}");
    }
    let counts = ["INFO", "INFO Keyspace", "INFO cpu unordered", "INFO default", "INFO all"];
    let counts = counts.into_iter().chain([
        "INFO everything",
        "DBSIZE",
        "MEMORY STATS",
        "RI.COUNT - +",
        "KEYS *",
        "RANDOMKEY",
    ]);
    let mut waiting: Vec<_> = counts.map(|line| (line, Client::connect(&running))).collect();
    for (line, client) in &mut waiting {
        client.send(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>());
    }
    for (line, client) in &mut waiting {
        assert!(is_silent(client), "{line}");
    }
    disk.open_gate();
    let replies: Vec<_> = waiting.iter_mut().map(|(_, client)| common::show(&client.receive())).collect();
    assert!(replies[0].contains("db0:keys=2,"), "{}", replies[0]);
    assert_eq!((replies[6].as_str(), replies[8].as_str()), ("2", "2"));
    running.server.stop().unwrap();
}

/// Writes note their keys only under `always`, so a get after a change to it waits for all writes before.
#[test]
fn a_get_waits_for_writes_before_a_change_of_the_policy() {
    let disk = GatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Never);
    let _opened = OpenAtTheEnd(disk.clone());
    let mut client = Client::connect(&running);
    disk.close();
    dialogue(&mut client, &[("SET a 1", "OK"), ("GET a", "'1'")]);
    client.send(&[b"CONFIG", b"SET", b"appendfsync", b"always"]);
    assert!(is_silent(&mut client), "the reply waits as well");
    let mut reader = Client::connect(&running);
    reader.send(&[b"GET", b"a"]);
    assert!(is_silent(&mut reader));
    disk.open_gate();
    assert_eq!(common::show(&reader.receive()), "'1'");
    assert_eq!(common::show(&client.receive()), "OK");
    running.server.stop().unwrap();
}

#[test]
fn replies_leave_in_order_while_others_write() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    thread::scope(|scope| {
        for number in 0..6 {
            let running = &running;
            scope.spawn(move || {
                let mut client = Client::connect(running);
                for round in 0..60 {
                    (0..number + 1).for_each(|at| {
                        client.send(&[
                            b"SET",
                            format!("{number} {at}").as_bytes(),
                            format!("{round}").as_bytes(),
                        ]);
                        client.send(&[b"GET", format!("{number} {at}").as_bytes()]);
                    });
                    (0..number + 1).for_each(|_| {
                        assert_eq!(common::show(&client.receive()), "OK");
                        assert_eq!(common::show(&client.receive()), format!("'{round}'"));
                    });
                }
            });
        }
    });
    running.server.stop().unwrap();
}

#[test]
fn only_waitaof_waits_under_everysec() {
    let disk = GatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::EverySecond);
    let mut client = Client::connect(&running);
    disk.close();
    assert_eq!(client.reply_text("SET a 1"), "OK");
    client.send(&[b"WAITAOF", b"1", b"0", b"50"]);
    assert!(is_silent(&mut client));
    running.time.advance(50);
    assert_eq!(common::show(&client.receive()), "[0 0]", "after the timeout");
    client.send(&[b"WAITAOF", b"1", b"0", b"0"]);
    assert!(is_silent(&mut client));
    running.time.advance(1_000_000);
    assert!(is_silent(&mut client));
    disk.open_gate();
    assert_eq!(common::show(&client.receive()), "[1 0]");
    running.server.stop().unwrap();
}

/// The connection receives nothing, because it has many requests that wait for the command, and sends
/// nothing. So no call tells the core that the client is gone.
#[test]
fn a_command_in_progress_ends_when_its_client_is_gone() {
    let disk = GatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Never);
    let _gate = OpenAtTheEnd(disk.clone());
    let (mut gone, mut other) = (Client::connect(&running), Client::connect(&running));
    disk.close();
    gone.send_bytes(&[b"PING\r\nSAVE\r\n".to_vec(), b"PING\r\n".repeat(90_000)].concat());
    // The system resets a connection that is closed with bytes to receive.
    assert_eq!(gone.socket.peek(&mut [0]).unwrap(), 1);
    wait_for(&mut other, "stats", "background_tasks:1\\r\\n");
    drop(gone);
    wait_for(&mut other, "clients", "connected_clients:1\\r\\n");
}

/// Waits until a section of `INFO` has a line.
fn wait_for(client: &mut Client, section: &str, line: &str) {
    let (began, mut info) = (Instant::now(), String::new());
    while !info.contains(line) {
        assert!(began.elapsed() < Duration::from_secs(60), "{line}: {info}");
        info = client.reply_text(&format!("INFO {section}"));
    }
}

#[test]
fn a_full_disk_refuses_writes_and_allows_reads() {
    let disk = SimulatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Always);
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text("SET a 1"), "OK");
    disk.fail(disk.calls(), DiskFault::Full);
    let value = "x".repeat(5000);
    let replies = (0..40).map(|number| client.reply_text(&format!("SET k{number} {value}")));
    let refused = replies.filter(|reply| reply != "OK").collect::<Vec<_>>();
    assert!(!refused.is_empty() && refused.iter().all(|reply| reply.starts_with("!MISCONF ")), "{refused:?}");
    for line in ["INCR n", "DEL a", "FLUSHALL", "MSET x 1 y 2", "SETEX e 100 1", "APPEND a 1"] {
        let reply = client.reply_text(line);
        assert!(reply.starts_with("!MISCONF ") && reply.contains("disk is full"), "{line}: {reply}");
    }
    assert_eq!(client.reply_text("GET a"), "'1'");
    assert!(client.reply_text("INFO persistence").contains("aof_last_write_status:err"));
    assert!(client.reply_text("INFO errorstats").contains("errorstat_MISCONF"));
    disk.add_room();
    let start = Instant::now();
    while client.reply_text("SET a 2") != "OK" {
        assert!(start.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(5));
    }
    assert!(client.reply_text("INFO persistence").contains("aof_last_write_status:ok"));
    running.server.stop().unwrap();
}

#[test]
fn metrics_describe_the_log() {
    let disk = SimulatedDisk::default();
    let metrics = Some(([127, 0, 0, 1], 0).into());
    let store = open(Arc::new(disk.clone()), SyncPolicy::Always);
    let running = start_with_store(Config { metrics, cores: 1, ..Config::default() }, store);
    let mut client = Client::connect(&running);
    dialogue(&mut client, &[("SET a 1", "OK"), ("SAVE", "OK"), ("SET a 2", "OK")]);
    let text = scrape(&running);
    for line in [
        "honeycomb_checkpoints_total 1",
        "honeycomb_checkpoints_failed_total 0",
        "honeycomb_checkpoint_age_seconds ",
        "honeycomb_log_refuses_writes 0.0",
        "honeycomb_log_queued_bytes 0.0",
        "honeycomb_log_write_seconds_bucket{le=\"+Inf\"}",
        "honeycomb_log_write_seconds_sum ",
        "honeycomb_log_records_total ",
        "honeycomb_log_groups_total ",
        "honeycomb_log_syncs_total ",
        "honeycomb_log_bytes_total ",
        "honeycomb_log_files ",
        "honeycomb_log_archived_files_total 0",
        "honeycomb_log_archive_fails 0.0",
        "honeycomb_durable_version_total ",
        "honeycomb_change_streams 0.0",
        "honeycomb_change_stream_lag 0.0",
    ] {
        assert!(text.contains(&format!("\n{line}")), "{line} is not in:\n{text}");
    }
    disk.fail(disk.calls(), DiskFault::Error);
    client.send(&[b"SET", b"a", b"3"]);
    assert_eq!(client.socket.read(&mut [0; 16]).unwrap_or(0), 0, "the outcome is unknown");
    assert!(scrape(&running).contains("\nhoneycomb_log_refuses_writes 1.0"));
    running.server.stop().unwrap();
}

/// Returns the metrics of a server.
fn scrape(running: &Running) -> String {
    let mut exporter = std::net::TcpStream::connect(running.server.metrics().unwrap()).unwrap();
    exporter.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    exporter.read_to_string(&mut text).unwrap();
    text
}

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

#[test]
fn a_server_in_memory_says_so() {
    let running = common::start();
    let mut client = Client::connect(&running);
    for line in ["SAVE", "BGSAVE", "BGREWRITEAOF", "SHUTDOWN SAVE"] {
        let reply = client.reply_text(line);
        assert!(reply.starts_with("!ERR ") && reply.contains("in memory only"), "{line}: {reply}");
    }
    dialogue(
        &mut client,
        &[
            ("WAITAOF 0 0 0", "[0 0]"),
            ("LASTSAVE", &(common::BEGIN / 1000).to_string()),
            ("CONFIG GET appendonly", "['appendonly' 'no']"),
            ("CONFIG GET dir", "['dir' '']"),
        ],
    );
    running.server.stop().unwrap();
}

#[test]
fn other_clients_go_on_while_a_client_waits_for_a_checkpoint() {
    let disk = GatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Never);
    // As many as there are cores, so that each core has one.
    let _gate = OpenAtTheEnd(disk.clone());
    let mut saving: Vec<_> = (0..2).map(|_| Client::connect(&running)).collect();
    let mut other = Client::connect(&running);
    dialogue(&mut other, &[("SET a 1", "OK")]);
    disk.close();
    saving[0].send(&[b"SAVE"]);
    saving[1].send(&[b"RI.BACKUP", b"START"]);
    assert!(saving.iter_mut().all(is_silent));
    dialogue(&mut other, &[("SET a 2", "OK"), ("GET a", "'2'")]);
    disk.open_gate();
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

#[test]
fn changes_are_polled_from_any_version_of_the_log() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    let mut client = Client::connect(&running);
    let deadline = common::BEGIN + 100_000;
    dialogue(
        &mut client,
        &[
            ("SET a 1", "OK"),
            ("SET z 1", "OK"),
            (&format!("SET b 2 PXAT {deadline}"), "OK"),
            ("MULTI", "OK"),
            ("INCR a", "QUEUED"),
            ("DEL b", "QUEUED"),
            ("EXEC", "[2 1]"),
            ("RI.DELRANGE [a (c", "1"),
            ("SELECT 1", "OK"),
            ("SET a other", "OK"),
            ("SELECT 0", "OK"),
        ],
    );
    // The numbers of versions depend on what else the server writes.
    let reply = client.reply_text("RI.CHANGES [a (c 0");
    let (last, changes) = reply[1..reply.len() - 1].split_once(' ').unwrap();
    let words = changes.trim_matches(['[', ']']).split("] [").map(|change| change.split_once(' ').unwrap());
    let (versions, kinds): (Vec<u64>, Vec<&str>) =
        words.map(|(version, kind)| (version.parse::<u64>().unwrap(), kind)).unzip();
    let expected = [
        "'put' 'a' '1' -1",
        &format!("'put' 'b' '2' {deadline}"),
        "'put' 'a' '2' -1",
        "'delete' 'b'",
        "'delrange' '[a' '(c'",
    ];
    assert_eq!(kinds, expected, "{reply}");
    assert!(versions.is_sorted() && versions[2] == versions[3] && versions[1] < versions[2], "{reply}");
    assert!(last.parse::<u64>().unwrap() >= versions[4]);
    // From the version of the transaction on, and from the end on.
    let rest = client.reply_text(&format!("RI.CHANGES - + {}", versions[3]));
    assert!(rest.contains("delrange") && !rest.contains("put"), "{rest}");
    dialogue(
        &mut client,
        &[
            (&format!("RI.CHANGES - + {last}"), &format!("[{last} []]")),
            ("RI.CHANGES - + -1", "!ERR the version is negative: allowed are 0 to 9223372036854775807 and $"),
            ("RI.CHANGES a + 0", &client_error()),
            ("MULTI", "OK"),
        ],
    );
    assert!(client.reply_text("RI.CHANGES - + 0").starts_with("!ERR"));
    dialogue(&mut client, &[("DISCARD", "OK"), ("SAVE", "OK"), ("SET a 3", "OK")]);
    // Only the changes of the range are of interest to the next poll.
    assert!(client.reply_text(&format!("RI.CHANGES [a [a {last}")).contains("'put' 'a' '3' -1"));
    let newest = client.reply_text("RI.CHANGES - + $");
    assert!(newest.ends_with(" []]"), "{newest}");
}

#[test]
fn unordered_databases_have_a_stream_of_changes() {
    let storage: Arc<dyn Storage> = Arc::new(SimulatedDisk::default());
    let config = Config { cores: 1, databases: 2, unordered: vec![1], ..Config::default() };
    let running = start_with_store(config, open(storage, SyncPolicy::Always));
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[("SET a 0", "OK"), ("SELECT 1", "OK"), ("MSET a 1 b 2 c 3", "OK"), ("DEL a", "1")],
    );
    let reply = client.reply_text("RI.CHANGES [a (c 0");
    let kinds = ["'put' 'a' '1' -1", "'put' 'b' '2' -1", "'delete' 'a'"].map(|kind| reply.find(kind));
    assert!(kinds.iter().all(Option::is_some) && kinds[0] < kinds[2], "{reply}");
    assert!(!reply.contains("'c'") && !reply.contains("'0'"), "{reply}");
    running.server.stop().unwrap();
}

#[test]
fn changes_have_old_values_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { directory: Some(folder.path().to_owned()), old_values: true, ..Config::default() };
    let running = common::start_with_system_time(config);
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[("SET a 1", "OK"), ("SET a 2", "OK"), ("INCR a", "3"), ("DEL a", "1"), ("SET a 4", "OK")],
    );
    let reply = client.reply_text("RI.CHANGES - + 0");
    for expected in [
        "'put' 'a' '1' -1]",
        "'put' 'a' '2' -1 '1']",
        "'put' 'a' '3' -1 '2']",
        "'delete' 'a' '3']",
        "'4' -1]",
    ] {
        assert!(reply.contains(expected), "{expected} in {reply}");
    }
}

/// A client that requests old values gets them, nil for a key that was absent, or an error that names the
/// first version without.
#[test]
fn old_values_can_be_switched_on_and_off() {
    let config = Config { cores: 1, databases: 2, unordered: vec![1], ..Config::default() };
    let running = start_with_store(config, open(Arc::new(SimulatedDisk::default()), SyncPolicy::Always));
    let [mut client, mut watcher] = [(); 2].map(|()| Client::connect(&running));
    watcher.reply_to("HELLO 3");
    for database in ["SELECT 0", "SELECT 1"] {
        dialogue(&mut client, &[(database, "OK"), ("SET a 1", "OK"), ("SET d 1", "OK")]);
        watcher.reply_to(database);
        let unknown = client.reply_text("RI.CHANGES - + 0 OLD");
        assert!(unknown.starts_with("!ERR no old values in the log: old-values was off at"), "{unknown}");
        assert!(client.reply_text("RI.CHANGES - + 0").contains("'put' 'a' '1' -1]"));
        dialogue(&mut client, &[("CONFIG SET old-values yes", "OK")]);
        let last = running.store.read_version();
        dialogue(
            &mut client,
            &[("SET a 2", "OK"), ("SET b 1", "OK"), ("DEL a", "1"), ("MULTI", "OK"), ("SET a 4", "QUEUED")],
        );
        dialogue(&mut client, &[("INCR d", "QUEUED"), ("EXEC", "[OK 2]"), ("FLUSHDB", "OK")]);
        dialogue(&mut client, &[("CONFIG SET old-values no", "OK"), ("SET a 5", "OK"), ("SET c 5", "OK")]);
        let reply = client.reply_text(&format!("RI.CHANGES - + {last} OLD"));
        let expected = ["'put' 'a' '2' -1 '1']", "'put' 'b' '1' -1 nil]", "'delete' 'a' '2']"];
        for expected in expected.into_iter().chain(["'put' 'a' '4' -1 nil]", "'put' 'd' '2' -1 '1']"]) {
            assert!(reply.contains(expected), "{database}: {expected} in {reply}");
        }
        assert!(!reply.contains("'5'"), "{database}: {reply}");
        let next = reply[1..].split_once(' ').unwrap().0;
        let unknown = client.reply_text(&format!("RI.CHANGES - + {next} OLD"));
        let missing = next.parse::<u64>().unwrap() + 1;
        assert!(unknown.contains(&format!("at version {missing};")), "{database}: {unknown}");
        assert!(client.reply_text(&format!("RI.CHANGES - + {next}")).contains("'put' 'c' '5' -1]"));
        dialogue(&mut watcher, &[(&format!("RI.WATCH - + {last} OLD"), "OK")]);
        let mut message = common::show(&watcher.receive());
        while !message.contains("!ERR") {
            assert!(!message.contains("'5'"), "{database}: {message}");
            message = common::show(&watcher.receive());
        }
        assert!(message.contains("no old values in the log"), "{database}: {message}");
        dialogue(&mut watcher, &[("RESET", "RESET")]);
        watcher.reply_to("HELLO 3");
    }
    dialogue(&mut client, &[("RI.CHANGES - + 0 NEW", "!ERR syntax error")]);
    running.server.stop().unwrap();
}

fn client_error() -> String {
    "!ERR A bound is `-` (the first key), `+` (the last), `[key` (included) or `(key` (excluded).".to_owned()
}

#[test]
fn a_watch_receives_every_change_once_and_in_order() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    let (mut watcher, mut client) = (Client::connect(&running), Client::connect(&running));
    assert!(watcher.reply_text("RI.WATCH - + 0").starts_with("!ERR RI.WATCH needs RESP3"));
    watcher.reply_to("HELLO 3");
    dialogue(&mut client, &[("SET before 1", "OK"), ("SET other 1", "OK")]);
    dialogue(&mut watcher, &[("RI.WATCH [a (n 0", "OK")]);
    let mut seen = Vec::new();
    let mut receive = |watcher: &mut Client, count: usize| {
        while seen.len() < count {
            let message = common::show(&watcher.receive());
            assert!(message.starts_with("['ri.watch' "), "{message}");
            seen.extend(message.split("'put' ").skip(1).map(|change| {
                let words: Vec<_> = change.split(' ').collect();
                (words[0].to_owned(), words[1].to_owned())
            }));
        }
        std::mem::take(&mut seen)
    };
    assert_eq!(receive(&mut watcher, 1), [("'before'".to_owned(), "'1'".to_owned())]);
    // More than the queue of a watch and the buffers of a socket hold, while the client does not read.
    let value = "v".repeat(3000);
    for number in 0..3000 {
        client.send(&[b"SET", b"key", format!("{number:04}{value}").as_bytes()]);
        client.send(&[b"SET", b"zzz", b"not in the range"]);
        assert_eq!(common::show(&client.receive()), "OK");
        assert_eq!(common::show(&client.receive()), "OK");
    }
    let expected: Vec<_> = (0..3000).map(|number| format!("'{number:04}{value}'")).collect();
    let found = receive(&mut watcher, 3000);
    assert!(found.iter().map(|(_, value)| value).eq(&expected));
    // The connection executes other commands meanwhile.
    dialogue(&mut watcher, &[("GET before", "'1'"), ("RESET", "RESET")]);
    dialogue(&mut client, &[("SET before 2", "OK")]);
    assert!(is_silent(&mut watcher));
    // A version that the log does not hold ends the watch with an error.
    dialogue(&mut client, &[("SAVE", "OK"), ("SET before 3", "OK"), ("SAVE", "OK"), ("SET before 4", "OK")]);
    watcher.reply_to("HELLO 3");
    dialogue(&mut watcher, &[("RI.WATCH - + 1", "OK")]);
    let message = common::show(&watcher.receive());
    assert!(message.starts_with("['ri.watch' !ERR version too old"), "{message}");
    assert!(watcher.reply_text("RI.WATCH - + 1").starts_with("!ERR this client has a watch"));
}
