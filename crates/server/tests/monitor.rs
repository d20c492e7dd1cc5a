//! `MONITOR`.
#![allow(missing_docs)]

mod common;

use std::time::{Duration, Instant};

use common::{Client, Running, show, start_with};
use honeycomb_server::Config;

fn start() -> Running {
    start_with(Config { cores: 2, ..Config::default() })
}

fn monitor(running: &Running) -> Client {
    let mut monitor = Client::of(running);
    assert_eq!(monitor.shown("MONITOR"), "OK");
    monitor
}

/// The lines that a monitor is shown next, without time and address.
fn lines(monitor: &mut Client, count: usize) -> Vec<String> {
    let line = |_| show(&monitor.answer()).split_once("] ").unwrap().1.to_owned();
    (0..count).map(line).collect()
}

#[test]
fn monitors_are_shown_all_commands_in_their_order() {
    let running = start();
    let mut monitors: Vec<_> = (0..3).map(|_| monitor(&running)).collect();
    let mut client = Client::of(&running);
    let address = client.socket.local_addr().unwrap();
    client.ask("SELECT 3");
    client.send(&[b"SET", b"a", b"\"\x00\n\\ \xff"]);
    client.answer();
    client.send_bytes(b"GET a\r\nMULTI\r\nINCR b\r\nEXEC\r\nNONSENSE\r\nGET\r\nDEL a b\r\n");
    (0..7).for_each(|_| drop(client.answer()));
    for monitor in &mut monitors {
        // The monitors that came later were noted by those that were there.
        assert_eq!(show(&monitor.answer()), format!("1700000000.000000 [3 {address}] \"SELECT\" \"3\""));
        let set = r#""SET" "a" "\"\x00\n\\ \xff""#;
        let rest = [set, r#""GET" "a""#, r#""MULTI""#, r#""INCR" "b""#, r#""EXEC""#, r#""DEL" "a" "b""#];
        assert_eq!(lines(monitor, 6), rest);
    }
}

#[test]
fn monitors_are_shown_no_secrets() {
    let running = start();
    let mut monitor = monitor(&running);
    let mut client = Client::of(&running);
    client.ask("AUTH secret");
    client.ask("AUTH default secret");
    client.ask("HELLO 2 SETNAME bee AUTH default secret");
    client.ask("CONFIG SET requirepass secret");
    client.ask("PING secret");
    let auth = r#""AUTH" "(redacted)""#;
    let hello = r#""HELLO" "2" "SETNAME" "bee" "AUTH" "(redacted)" "(redacted)""#;
    let pair = format!("{auth} \"(redacted)\"");
    assert_eq!(lines(&mut monitor, 4), [auth, &pair, hello, r#""PING" "secret""#]);
}

#[test]
fn who_monitors_no_more_is_shown_nothing() {
    let running = start();
    let mut monitor = monitor(&running);
    let mut client = Client::of(&running);
    client.ask("GET a");
    assert_eq!(lines(&mut monitor, 1), [r#""GET" "a""#]);
    assert!(client.shown("CLIENT LIST").contains("flags=O "));
    // This is the command above, and then what RESET replies.
    assert_eq!(lines(&mut monitor, 1), [r#""CLIENT" "LIST""#]);
    assert_eq!(monitor.shown("RESET"), "RESET");
    client.ask("GET b");
    assert_eq!(monitor.shown("PING"), "PONG");
    assert!(!client.shown("CLIENT LIST").contains("flags=O "));
}

#[test]
fn a_monitor_that_does_not_read_is_ended_and_delays_nobody() {
    let running = start();
    let mut monitor = monitor(&running);
    let mut client = Client::of(&running);
    let value = vec![b'v'; 1 << 20];
    let before = Instant::now();
    for number in 0.. {
        client.send(&[b"SET", b"a", &value]);
        assert_eq!(show(&client.answer()), "OK");
        if !client.shown("CLIENT LIST").contains("flags=O") {
            break;
        }
        assert!(number < 100 && before.elapsed() < Duration::from_secs(60), "the monitor goes on");
    }
    while !monitor.is_ended() {}
}
