//! Commands that take long hold up nobody, and the order of a connection's replies stands.
#![allow(missing_docs)]

mod common;

use std::thread;
use std::time::Instant;

use common::{Client, Running, dialogue, show, start_with};
use honeycomb_protocol::resp::Reply;
use honeycomb_server::Config;

const PAIRS: usize = 100_000;

/// A server of one core, so that whatever takes long would hold up all clients.
fn filled() -> Running {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::of(&running);
    for chunk in 0..PAIRS / 1000 {
        let words: Vec<_> = (0..1000).map(|pair| format!("key:{:06} v", chunk * 1000 + pair)).collect();
        assert_eq!(client.shown(&format!("MSET {}", words.join(" "))), "OK");
    }
    running
}

/// The slices that the server has executed.
fn slices(client: &mut Client) -> usize {
    let info = client.shown("INFO stats");
    let (_, after) = info.split_once("task_slices:").unwrap();
    after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// The slices of some commands, of which the last reply comes at their end; another client is answered
/// meanwhile.
fn slices_of(running: &Running, commands: &str) -> usize {
    let (mut long, mut short) = (Client::of(running), Client::of(running));
    let before = slices(&mut short);
    long.send_bytes(commands.as_bytes());
    assert_eq!(short.shown("PING"), "PONG");
    (0..commands.lines().count()).for_each(|_| drop(long.answer()));
    slices(&mut short) - before
}

/// Between two slices all other clients are served, so their number bounds how long one waits.
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
    assert_eq!(slices_of(&running, "KEYS key:00001*\r\n"), 1, "what is short takes one");
}

#[test]
fn a_part_of_a_long_value_is_a_slice() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::of(&running);
    let value = vec![b'v'; 16_000_000];
    client.send(&[b"SET", b"long", &value]);
    client.answer();
    for command in ["GET long\r\n", "MGET none long\r\n"] {
        let slices = slices_of(&running, command);
        assert!(slices >= value.len() / (64 << 10), "{command}: {slices}");
    }
    let Reply::Bulk(found) = client.ask("GET long") else { panic!("no value") };
    assert!(found == value);
}

#[test]
fn replies_come_in_the_order_of_commands_whichever_take_long() {
    let running = filled();
    let mut client = Client::of(&running);
    let lines = "GET key:000001\r\nRI.COUNT - +\r\nSET key:000001 w\r\n\
                 RI.RANGE - + FIELDS VALUE COUNT 5000\r\nGET key:000001\r\nMULTI\r\nRI.COUNT - +\r\n\
                 DEL key:000000\r\nEXEC\r\nRI.COUNT - +\r\nPING\r\n";
    client.send_bytes(lines.repeat(2).as_bytes());
    for round in 0..2 {
        let count = PAIRS - round;
        let first = if round == 0 { "'v'" } else { "'w'" };
        assert_eq!(show(&client.answer()), first);
        assert_eq!(show(&client.answer()), count.to_string());
        assert_eq!(show(&client.answer()), "OK");
        let Reply::Array(values) = client.answer() else { panic!("no values") };
        assert_eq!((values.len(), show(&values[1 - round])), (5000, "'w'".to_owned()));
        assert_eq!(show(&client.answer()), "'w'");
        let queued: Vec<_> = (0..3).map(|_| show(&client.answer())).collect();
        assert_eq!(queued, ["OK", "QUEUED", "QUEUED"]);
        let deleted = 1 - round;
        assert_eq!(show(&client.answer()), format!("[{count} {deleted}]"));
        assert_eq!(show(&client.answer()), (PAIRS - 1).to_string());
        assert_eq!(show(&client.answer()), "PONG");
    }
}

/// More long commands than there are snapshots: they wait for one another, and none fails.
#[test]
fn no_command_fails_for_want_of_a_snapshot() {
    let running = filled();
    let mut holder = Client::of(&running);
    let taken = (0..50).take_while(|_| matches!(holder.ask("RI.SNAPSHOT TAKE"), Reply::Integer(_))).count();
    assert_eq!(taken, 8, "a client holds its share");
    thread::scope(|scope| {
        for _ in 0..10 {
            let running = &running;
            scope.spawn(move || {
                let mut clients: Vec<_> = (0..10).map(|_| Client::of(running)).collect();
                clients.iter_mut().for_each(|client| {
                    client.ask("RI.SNAPSHOT TAKE");
                    client.send_bytes(b"RI.COUNT - +\r\nMULTI\r\nRI.COUNT - +\r\nEXEC\r\n");
                });
                for client in &mut clients {
                    assert_eq!(show(&client.answer()), PAIRS.to_string());
                    client.answer();
                    client.answer();
                    assert_eq!(show(&client.answer()), format!("[{PAIRS}]"));
                }
            });
        }
    });
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_long_command_leaves_nothing() {
    let running = filled();
    let began = Instant::now();
    for _ in 0..50 {
        Client::of(&running).send_bytes(b"KEYS *\r\nRI.RANGE - +\r\n");
    }
    let mut client = Client::of(&running);
    let clients = |client: &mut Client| client.shown("INFO clients");
    while !clients(&mut client).contains("connected_clients:1\\r\\n") {
        assert!(began.elapsed().as_secs() < 60, "{}", clients(&mut client));
        thread::yield_now();
    }
    dialogue(&mut client, &[("GET key:000001", "'v'")]);
}
