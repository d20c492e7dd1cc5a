//! Long commands do not delay other clients and do not reorder the replies of their own connection.
#![allow(missing_docs)]

mod common;

use std::thread;
use std::time::Instant;

use honeycomb_protocol::resp::Reply;
use honeycomb_server::Config;

use common::{Client, Running, dialogue, show, start_with};

const PAIRS: usize = 100_000;

/// Starts a server with one core, on which an undivided long command would delay all clients.
fn filled() -> Running {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    for chunk in 0..PAIRS / 1000 {
        let words: Vec<_> = (0..1000).map(|pair| format!("key:{:06} v", chunk * 1000 + pair)).collect();
        assert_eq!(client.reply_text(&format!("MSET {}", words.join(" "))), "OK");
    }
    running
}

/// Returns the number of slices that the server has executed.
fn slices(client: &mut Client) -> usize {
    let info = client.reply_text("INFO stats");
    let (_, after) = info.split_once("task_slices:").unwrap();
    after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Returns the number of slices of some commands. Checks that another client receives a reply meanwhile.
fn slices_of(running: &Running, commands: &str) -> usize {
    let (mut long, mut short) = (Client::connect(running), Client::connect(running));
    let before = slices(&mut short);
    long.send_bytes(commands.as_bytes());
    assert_eq!(short.reply_text("PING"), "PONG");
    (0..commands.lines().count()).for_each(|_| drop(long.receive()));
    slices(&mut short) - before
}

/// The server serves all other clients between two slices, so shorter slices mean shorter delays.
#[test]
fn a_page_of_a_range_is_a_slice() {
    let running = filled();
    for command in ["KEYS *", "KEYS *1*", "RI.COUNT - +", "RI.RANGE - +", "RI.WATCHRANGE - +"] {
        let slices = slices_of(&running, &format!("{command}\r\n"));
        assert!(slices >= PAIRS / 256, "{command}: {slices}");
    }
    let slices = slices_of(&running, "SCAN 0 COUNT 60000\r\n");
    assert!(slices >= 60_000 / 256, "SCAN: {slices}");
    let slices = slices_of(&running, "MULTI\r\nKEYS *\r\nSET a b\r\nRI.COUNT - +\r\nEXEC\r\n");
    assert!(slices >= 2 * PAIRS / 256, "EXEC: {slices}");
    assert_eq!(slices_of(&running, "KEYS key:00001*\r\n"), 1, "a short command takes one slice");
}

#[test]
fn a_part_of_a_long_value_is_a_slice() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    let value = vec![b'v'; 16_000_000];
    client.send(&[b"SET", b"long", &value]);
    client.receive();
    for command in ["GET long\r\n", "MGET none long\r\n"] {
        let slices = slices_of(&running, command);
        assert!(slices >= value.len() / (64 << 10), "{command}: {slices}");
    }
    let Reply::Bulk(bytes) = client.reply_to("GET long") else { panic!("no value") };
    assert!(bytes == value);
}

#[test]
fn replies_come_in_the_order_of_commands_even_after_long_ones() {
    let running = filled();
    let mut client = Client::connect(&running);
    let lines = "GET key:000001\r\nRI.COUNT - +\r\nSET key:000001 w\r\n\
                 RI.RANGE - + FIELDS VALUE COUNT 5000\r\nGET key:000001\r\nMULTI\r\nRI.COUNT - +\r\n\
                 DEL key:000000\r\nEXEC\r\nRI.COUNT - +\r\nPING\r\n";
    client.send_bytes(lines.repeat(2).as_bytes());
    for round in 0..2 {
        let count = PAIRS - round;
        let first = if round == 0 { "'v'" } else { "'w'" };
        assert_eq!(show(&client.receive()), first);
        assert_eq!(show(&client.receive()), count.to_string());
        assert_eq!(show(&client.receive()), "OK");
        let Reply::Array(values) = client.receive() else { panic!("no values") };
        assert_eq!((values.len(), show(&values[1 - round])), (5000, "'w'".to_owned()));
        assert_eq!(show(&client.receive()), "'w'");
        let queued: Vec<_> = (0..3).map(|_| show(&client.receive())).collect();
        assert_eq!(queued, ["OK", "QUEUED", "QUEUED"]);
        let deleted = 1 - round;
        assert_eq!(show(&client.receive()), format!("[{count} {deleted}]"));
        assert_eq!(show(&client.receive()), (PAIRS - 1).to_string());
        assert_eq!(show(&client.receive()), "PONG");
    }
}

/// More long commands run than snapshots exist. They wait for snapshots, and none fails.
#[test]
fn commands_wait_for_snapshots() {
    let running = filled();
    let mut holder = Client::connect(&running);
    let acquired =
        (0..50).take_while(|_| matches!(holder.reply_to("RI.SNAPSHOT TAKE"), Reply::Integer(_))).count();
    assert_eq!(acquired, 8, "the limit of snapshots per client");
    thread::scope(|scope| {
        for _ in 0..10 {
            let running = &running;
            scope.spawn(move || {
                let mut clients: Vec<_> = (0..10).map(|_| Client::connect(running)).collect();
                clients.iter_mut().for_each(|client| {
                    client.reply_to("RI.SNAPSHOT TAKE");
                    client.send_bytes(b"RI.COUNT - +\r\nMULTI\r\nRI.COUNT - +\r\nEXEC\r\n");
                });
                for client in &mut clients {
                    assert_eq!(show(&client.receive()), PAIRS.to_string());
                    client.receive();
                    client.receive();
                    assert_eq!(show(&client.receive()), format!("[{PAIRS}]"));
                }
            });
        }
    });
}

#[test]
fn a_long_command_ends_when_its_client_disconnects() {
    let running = filled();
    let began = Instant::now();
    for _ in 0..50 {
        Client::connect(&running).send_bytes(b"KEYS *\r\nRI.RANGE - +\r\n");
    }
    let mut client = Client::connect(&running);
    let clients = |client: &mut Client| client.reply_text("INFO clients");
    while !clients(&mut client).contains("connected_clients:1\\r\\n") {
        assert!(began.elapsed().as_secs() < 60, "{}", clients(&mut client));
        thread::yield_now();
    }
    dialogue(&mut client, &[("GET key:000001", "'v'")]);
}
