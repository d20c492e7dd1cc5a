//! `MONITOR`: order of commands, redaction of secrets, and monitors that do not read.
#![allow(missing_docs)]

mod common;

use std::time::{Duration, Instant};

use honeycomb_server::Config;

use common::{Client, Running, show, start_with};

fn start() -> Running {
    start_with(Config { cores: 2, ..Config::default() })
}

fn monitor(running: &Running) -> Client {
    let mut monitor = Client::connect(running);
    assert_eq!(monitor.reply_text("MONITOR"), "OK");
    monitor
}

/// Returns the next lines that a monitor receives, without time and address.
fn lines(monitor: &mut Client, count: usize) -> Vec<String> {
    let line = |_| show(&monitor.receive()).split_once("] ").unwrap().1.to_owned();
    (0..count).map(line).collect()
}

#[test]
fn monitors_receive_all_commands_in_order() {
    let running = start();
    let mut monitors: Vec<_> = (0..3).map(|_| monitor(&running)).collect();
    let mut client = Client::connect(&running);
    let address = client.socket.local_addr().unwrap();
    client.reply_to("SELECT 3");
    client.send(&[b"SET", b"a", b"\"\x00\n\\ \xff"]);
    client.receive();
    client.send_bytes(b"GET a\r\nMULTI\r\nINCR b\r\nEXEC\r\nNONSENSE\r\nGET\r\nDEL a b\r\n");
    (0..7).for_each(|_| drop(client.receive()));
    for monitor in &mut monitors {
        // Monitors do not receive MONITOR commands, because these are administrative.
        assert_eq!(show(&monitor.receive()), format!("1700000000.000000 [3 {address}] \"SELECT\" \"3\""));
        let set = r#""SET" "a" "\"\x00\n\\ \xff""#;
        let rest = [set, r#""GET" "a""#, r#""MULTI""#, r#""INCR" "b""#, r#""EXEC""#, r#""DEL" "a" "b""#];
        assert_eq!(lines(monitor, 6), rest);
    }
}

#[test]
fn monitors_receive_no_secrets() {
    let running = start();
    let mut monitor = monitor(&running);
    let mut client = Client::connect(&running);
    client.reply_to("AUTH secret");
    client.reply_to("AUTH default secret");
    client.reply_to("HELLO 2 SETNAME bee AUTH default secret");
    client.reply_to("CONFIG SET requirepass secret");
    client.reply_to("PING secret");
    let auth = r#""AUTH" "(redacted)""#;
    let hello = r#""HELLO" "2" "SETNAME" "bee" "AUTH" "(redacted)" "(redacted)""#;
    let pair = format!("{auth} \"(redacted)\"");
    assert_eq!(lines(&mut monitor, 4), [auth, &pair, hello, r#""PING" "secret""#]);
}

#[test]
fn a_former_monitor_receives_nothing() {
    let running = start();
    let mut monitor = monitor(&running);
    let mut client = Client::connect(&running);
    client.reply_to("GET a");
    assert_eq!(lines(&mut monitor, 1), [r#""GET" "a""#]);
    assert!(client.reply_text("CLIENT LIST").contains("flags=O "));
    // This line is CLIENT LIST above. The reply to RESET follows.
    assert_eq!(lines(&mut monitor, 1), [r#""CLIENT" "LIST""#]);
    assert_eq!(monitor.reply_text("RESET"), "RESET");
    client.reply_to("GET b");
    assert_eq!(monitor.reply_text("PING"), "PONG");
    assert!(!client.reply_text("CLIENT LIST").contains("flags=O "));
}

#[test]
fn a_monitor_that_does_not_read_is_disconnected_without_delaying_others() {
    let running = start();
    let mut monitor = monitor(&running);
    let mut client = Client::connect(&running);
    // A line shows only the beginning of a long argument.
    let exists = [&[&b"EXISTS"[..]], &[&[b'k'; 450][..]; 2000][..]].concat();
    let before = Instant::now();
    for number in 0.. {
        client.send(&exists);
        assert_eq!(show(&client.receive()), "0");
        if !client.reply_text("CLIENT LIST").contains("flags=O") {
            break;
        }
        assert!(number < 100 && before.elapsed() < Duration::from_secs(60), "the monitor is still connected");
    }
    while !monitor.is_closed() {}
}

#[test]
fn a_line_shows_the_beginning_of_a_long_argument() {
    let running = start();
    let mut monitor = monitor(&running);
    let mut client = Client::connect(&running);
    let value = vec![0xff; 1 << 20];
    for (bytes, rest) in
        [(1023, ""), (1024, ""), (1025, "... (1 more bytes)"), (1 << 20, "... (1047552 more bytes)")]
    {
        client.send(&[b"SET", b"a", &value[..bytes]]);
        assert_eq!(show(&client.receive()), "OK");
        let shown = "\\xff".repeat(bytes.min(1024));
        assert_eq!(lines(&mut monitor, 1), [format!("\"SET\" \"a\" \"{shown}{rest}\"")]);
    }
}
