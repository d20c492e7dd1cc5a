//! Commands that take long hold up nobody, and the order of a connection's replies stands.
#![allow(missing_docs)]

mod common;

use std::thread;
use std::time::Instant;

use common::{Client, Running, dialogue, show, start_with};
use honeycomb_protocol::resp::Answer;
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

/// How many times another client is answered while a command is executed.
fn answered_beside(running: &Running, command: &[u8]) -> usize {
    let (mut long, mut short) = (Client::of(running), Client::of(running));
    short.ask("PING");
    long.send_bytes(command);
    long.socket.set_nonblocking(true).unwrap();
    let mut answered = 0;
    while long.socket.peek(&mut [0; 1]).is_err() {
        assert_eq!(short.shown("PING"), "PONG");
        answered += 1;
    }
    answered
}

#[test]
fn others_are_answered_between_the_slices_of_a_long_command() {
    let running = filled();
    // Were a command executed in one piece, another client would be answered once or twice meanwhile.
    for command in
        ["KEYS *", "KEYS *1*", "RI.COUNT - +", "RI.RANGE - +", "SCAN 0 COUNT 60000", "RI.WATCHRANGE - +"]
    {
        let answered = answered_beside(&running, format!("{command}\r\n").as_bytes());
        assert!(answered >= 10, "{command}: {answered}");
    }
    let exec = "MULTI\r\nKEYS *\r\nRI.COUNT - +\r\nEXEC\r\n";
    let (mut long, mut short) = (Client::of(&running), Client::of(&running));
    long.send_bytes(exec.as_bytes());
    (0..3).for_each(|_| drop(long.answer()));
    long.socket.set_nonblocking(true).unwrap();
    let mut answered = 0;
    while long.socket.peek(&mut [0; 1]).is_err() {
        short.ask("PING");
        answered += 1;
    }
    assert!(answered >= 10, "EXEC: {answered}");
}

#[test]
fn a_long_value_holds_up_nobody() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::of(&running);
    let value = vec![b'v'; 16_000_000];
    client.send(&[b"SET", b"long", &value]);
    client.answer();
    for command in ["GET long", "MGET none long"] {
        let answered = answered_beside(&running, format!("{command}\r\n").as_bytes());
        assert!(answered >= 10, "{command}: {answered}");
    }
    let Answer::Bulk(found) = client.ask("GET long") else { panic!("no value") };
    assert!(found == value);
}

#[test]
fn replies_come_in_the_order_of_commands_whichever_take_long() {
    let running = filled();
    let mut client = Client::of(&running);
    let lines = "GET key:000001\r\nRI.COUNT - +\r\nSET key:000001 w\r\nRI.RANGE - + FIELDS VALUE COUNT 5000\r\n\
                 GET key:000001\r\nMULTI\r\nRI.COUNT - +\r\nDEL key:000000\r\nEXEC\r\nRI.COUNT - +\r\nPING\r\n";
    client.send_bytes(lines.repeat(2).as_bytes());
    for round in 0..2 {
        let count = PAIRS - round;
        let first = if round == 0 { "'v'" } else { "'w'" };
        assert_eq!(show(&client.answer()), first);
        assert_eq!(show(&client.answer()), count.to_string());
        assert_eq!(show(&client.answer()), "OK");
        let Answer::Array(values) = client.answer() else { panic!("no values") };
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
    let taken = (0..50).take_while(|_| matches!(holder.ask("RI.SNAPSHOT TAKE"), Answer::Integer(_))).count();
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
