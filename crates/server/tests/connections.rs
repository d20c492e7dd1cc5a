//! Pipelines, concurrent clients, malformed requests, limits, authentication and shutdown.
#![allow(missing_docs)]

mod common;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::{Limits, Reply, encode};
use honeycomb_server::Config;

use common::{Client, dialogue, show, start, start_with};

#[test]
fn replies_come_in_the_order_of_commands() {
    let running = start();
    let mut client = Client::connect(&running);
    let (mut bytes, mut expected) = (Vec::new(), Vec::new());
    for number in 0..3000 {
        let (key, value) = (format!("key{}", number % 7), number.to_string());
        let (command, answer) = match number % 8 {
            0 | 1 => (vec!["SET", &key, &value], "OK".to_owned()),
            2 => (vec!["ECHO", &value], format!("'{value}'")),
            3 => (vec!["SET", "last", &value], "OK".to_owned()),
            4 => {
                let command = vec!["RI.RANGE", "[last", "+", "COUNT", "1"];
                (command, format!("['last' '{}']", number - 1))
            }
            5 => (vec!["GET", "last"], format!("'{}'", number - 2)),
            6 => (vec!["SET", "counter", &value], "OK".to_owned()),
            _ => (vec!["INCR", "counter"], number.to_string()),
        };
        encode(&command, &mut bytes);
        expected.push(answer);
    }
    client.socket.write_all(&bytes).unwrap();
    for answer in expected {
        assert_eq!(show(&client.receive()), answer);
    }
}

#[test]
fn a_request_that_waits_is_executed_unchanged() {
    // One byte of replies ends the iteration, so the server parses the remaining requests again.
    let running = start_with(Config { cores: 1, unsent_bytes_max: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    let lines = b"GET a\r\nSET a 'b  c'\r\nGET a\r\nECHO \"d\\x41 e\"\r\nGET a\r\n";
    client.socket.write_all(lines).unwrap();
    for answer in ["nil", "OK", "'b  c'", "'dA e'", "'b  c'"] {
        assert_eq!(show(&client.receive()), answer);
    }
}

#[test]
fn ranges_of_any_size_are_returned_completely() {
    let running = start();
    let mut client = Client::connect(&running);
    let value = vec![b'v'; 1000];
    for number in 0..1500 {
        client.send(&[b"SET", format!("key{number:04}").as_bytes(), &value]);
    }
    (0..1500).for_each(|_| assert_eq!(show(&client.receive()), "OK"));
    for (count, expected) in [("10", 10), ("600", 600), ("1024", 1024), ("1400", 1400), ("9999", 1500)] {
        for _ in 0..3 {
            client.send(&[b"RI.RANGE", b"-", b"+", b"COUNT", count.as_bytes()]);
        }
        for _ in 0..3 {
            let Reply::Array(fields) = client.receive() else { panic!("no array") };
            assert_eq!(fields.len(), 2 * expected);
            assert_eq!(fields[2 * expected - 2], Reply::Bulk(format!("key{:04}", expected - 1).into_bytes()));
            assert!(fields.iter().skip(1).step_by(2).all(|field| *field == Reply::Bulk(value.clone())));
        }
    }
}

#[test]
fn concurrent_increments_are_not_lost() {
    let running = start();
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut client = Client::connect(&running);
                (0..500).for_each(|_| client.send(&[b"INCR", b"counter"]));
                (0..500).for_each(|_| assert!(matches!(client.receive(), Reply::Integer(1..))));
            });
        }
    });
    assert_eq!(Client::connect(&running).reply_text("GET counter"), "'3000'");
}

#[test]
fn concurrent_transfers_preserve_the_sum() {
    let running = start();
    Client::connect(&running).reply_to("MSET a 1000 b 1000");
    thread::scope(|scope| {
        for (from, to) in [("a", "b"), ("b", "a"), ("a", "b")] {
            let running = &running;
            scope.spawn(move || {
                let mut client = Client::connect(running);
                for _ in 0..200 {
                    let [from, to] = [format!("DECR {from}"), format!("INCR {to}")];
                    for line in ["MULTI", &from, &to, "EXEC"] {
                        client.reply_to(line);
                    }
                }
            });
        }
        let mut reader = Client::connect(&running);
        for _ in 0..200 {
            let Reply::Array(values) = reader.reply_to("RI.RANGE [a [b FIELDS VALUE") else {
                panic!("no pairs")
            };
            let number = |value: &Reply| show(value).trim_matches('\'').parse::<i64>().unwrap();
            assert_eq!(values.iter().map(number).sum::<i64>(), 2000);
        }
    });
    dialogue(&mut Client::connect(&running), &[("MGET a b", "['800' '1200']")]);
}

#[test]
fn a_malformed_request_closes_the_connection_with_an_error() {
    let request =
        Limits { arguments_max: 3, argument_bytes_max: 100, line_bytes_max: 100, ..Limits::default() };
    let running = start_with(Config { cores: 1, request, ..Config::default() });
    let cases: [(&[u8], &str); 4] = [
        (b"*1\r\n:1\r\n", "!ERR Protocol error: expected '$', got ':'"),
        (b"*4\r\n", "!ERR Protocol error: invalid multibulk length"),
        (b"*2\r\n$3\r\nGET\r\n$101\r\n", "!ERR Protocol error: invalid bulk length"),
        (b"GET 'a\r\n", "!ERR Protocol error: unbalanced quotes in request"),
    ];
    for (bytes, error) in cases {
        let mut client = Client::connect(&running);
        client.socket.write_all(b"PING\r\n").unwrap();
        client.socket.write_all(bytes).unwrap();
        assert_eq!(show(&client.receive()), "PONG");
        assert_eq!(show(&client.receive()), error);
        assert!(client.is_closed());
    }
    assert_eq!(Client::connect(&running).reply_text("PING"), "PONG");
}

#[test]
fn the_server_executes_a_prefix_of_the_pipeline_of_a_client_that_dies() {
    const DYING: usize = 50;
    const COMMANDS: usize = 500;
    let running = start();
    let mut other = Client::connect(&running);
    for number in 0..DYING {
        let (mut dying, mut bytes) = (Client::connect(&running), Vec::new());
        for at in 0..COMMANDS {
            encode(&[&b"SET"[..], format!("{number}:{at}").as_bytes(), b"v"], &mut bytes);
        }
        // The end of the pipeline does not arrive. The system resets a connection with unread replies.
        dying.send_bytes(&bytes[..bytes.len() - 1 - number]);
        if number % 2 == 0 {
            dying.socket.read_exact(&mut [0; 1]).unwrap();
        }
        drop(dying);
        assert_eq!(other.reply_text("PING"), "PONG");
    }
    let began = Instant::now();
    while other.reply_text("CLIENT LIST").matches("id=").count() > 1 {
        assert!(began.elapsed() < Duration::from_secs(20), "CLIENT LIST still shows dead clients");
        thread::sleep(Duration::from_millis(1));
    }
    for number in 0..DYING {
        let mut exists = (0..COMMANDS).map(|at| other.reply_text(&format!("EXISTS {number}:{at}")) == "1");
        let prefix = exists.by_ref().take_while(|exists| *exists).count();
        assert!(prefix < COMMANDS && !exists.any(|exists| exists), "{number}: {prefix}");
        assert!(
            prefix > 0 || number % 2 == 1,
            "{number} received a reply but none of its commands was executed"
        );
    }
}

/// The examples in the Redis documentation of the protocol, pipelines and transactions, byte by byte.
#[test]
fn replies_match_the_examples_in_the_redis_documentation() {
    let running = start();
    let mut socket = TcpStream::connect(running.server.address()).unwrap();
    for (sent, expected) in [
        ("PING\r\n", "+PONG\r\n"),
        ("EXISTS somekey\r\n", ":0\r\n"),
        ("PING\r\nPING\r\nPING\r\n", "+PONG\r\n+PONG\r\n+PONG\r\n"),
        ("MULTI\r\nINCR foo\r\nINCR bar\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n:1\r\n"),
        ("*3\r\n$3\r\nSET\r\n$5\r\nmykey\r\n$5\r\nHello\r\n", "+OK\r\n"),
        ("*2\r\n$3\r\nGET\r\n$5\r\nmykey\r\n", "$5\r\nHello\r\n"),
        ("GET nonexisting\r\n", "$-1\r\n"),
        ("SELECT foo\r\n", "-ERR value is not an integer or out of range\r\n"),
    ] {
        socket.write_all(sent.as_bytes()).unwrap();
        let mut received = vec![0; expected.len()];
        socket.read_exact(&mut received).unwrap();
        assert_eq!(String::from_utf8_lossy(&received), expected, "{sent:?}");
    }
}

#[test]
fn keys_at_and_above_their_limit() {
    let running = start();
    let mut client = Client::connect(&running);
    let (longest, longer) = ("k".repeat(460), "k".repeat(461));
    assert_eq!(client.reply_text(&format!("SET {longest} v")), "OK");
    assert_eq!(client.reply_text(&format!("GET {longest}")), "'v'");
    let error = "!ERR key of 461 bytes: a key has 1 to 460 bytes";
    for command in [format!("SET {longer} v"), format!("INCR {longer}")] {
        assert_eq!(client.reply_text(&command), error);
    }
    assert_eq!(client.reply_text(&format!("GET {longer}")), "nil");
    assert_eq!(client.reply_text("PING"), "PONG");
}

#[test]
fn values_at_and_above_their_limit() {
    let running = start();
    let mut client = Client::connect(&running);
    let value = vec![b'v'; 16_777_207];
    client.send(&[b"SET", b"key", &value]);
    assert_eq!(show(&client.receive()), "OK");
    assert_eq!(client.reply_text("STRLEN key"), "16777207");
    client.send(&[b"SET", b"key", &[&value[..], b"v"].concat()]);
    assert_eq!(show(&client.receive()), "!ERR string exceeds maximum allowed size (16777207 bytes)");
    assert_eq!(
        client.reply_text("APPEND key v"),
        "!ERR string exceeds maximum allowed size (16777207 bytes)"
    );
    assert_eq!(client.reply_text("STRLEN key"), "16777207");
}

#[test]
fn a_full_store_rejects_writes_and_keeps_working() {
    let running = start();
    let mut client = Client::connect(&running);
    let value = vec![b'v'; 1 << 20];
    let mut stored = 0;
    let error = loop {
        client.send(&[b"SET", format!("key{stored}").as_bytes(), &value]);
        match client.receive() {
            Reply::Simple(_) => stored += 1,
            other => break show(&other),
        }
    };
    assert!(error.starts_with("!OOM"), "{error}");
    assert!(stored > 20);
    assert_eq!(client.reply_text("STRLEN key0"), "1048576");
    assert_eq!(client.reply_text("DEL key0"), "1");
}

#[test]
fn an_unauthenticated_client_can_only_authenticate() {
    let password = Some("secret".to_owned());
    let running = start_with(Config { cores: 1, password, ..Config::default() });
    dialogue(
        &mut Client::connect(&running),
        &[
            ("GET a", "!NOAUTH Authentication required."),
            (
                "HELLO 3",
                "!NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
                 <proto> AUTH <user> <pass> option can be used to authenticate the client and select the \
                 RESP protocol version at the same time",
            ),
            ("AUTH wrong", "!WRONGPASS invalid username-password pair or user is disabled."),
            ("AUTH other secret", "!WRONGPASS invalid username-password pair or user is disabled."),
            ("GET a", "!NOAUTH Authentication required."),
            ("AUTH default secret", "OK"),
            ("GET a", "nil"),
            ("RESET", "RESET"),
            ("GET a", "!NOAUTH Authentication required."),
        ],
    );
}

#[test]
fn a_client_that_closes_its_write_side_receives_its_replies() {
    let running = start();
    let mut client = Client::connect(&running);
    client.socket.write_all(&b"SET a 1\r\n".repeat(1000)).unwrap();
    client.socket.shutdown(Shutdown::Write).unwrap();
    let mut replies = Vec::new();
    client.socket.read_to_end(&mut replies).unwrap();
    assert_eq!(replies, b"+OK\r\n".repeat(1000));
}

#[test]
fn a_slow_reader_does_not_delay_others_and_receives_all_replies() {
    let running = start_with(Config { cores: 1, unsent_bytes_max: 10_000, ..Config::default() });
    let (mut slow, mut other) = (Client::connect(&running), Client::connect(&running));
    slow.send(&[b"SET", b"big", &vec![b'v'; 100_000]]);
    slow.receive();
    (0..300).for_each(|_| slow.send(&[b"GET", b"big"]));
    for number in 0..100 {
        assert_eq!(other.reply_text(&format!("ECHO {number}")), format!("'{number}'"));
    }
    for _ in 0..300 {
        assert!(matches!(slow.receive(), Reply::Bulk(value) if value.len() == 100_000));
    }
}

#[test]
fn clients_above_the_limit_receive_an_error() {
    let running = start_with(Config { cores: 1, connections_max: 2, ..Config::default() });
    let mut clients = [Client::connect(&running), Client::connect(&running)];
    clients.iter_mut().for_each(|client| assert_eq!(client.reply_text("PING"), "PONG"));
    assert_eq!(show(&Client::connect(&running).receive()), "!ERR max number of clients reached");
    assert_eq!(clients[0].reply_text("QUIT"), "OK");
    assert!(clients[0].is_closed());
    assert_eq!(Client::connect(&running).reply_text("PING"), "PONG");
}

#[test]
fn a_stopping_server_keeps_acknowledged_writes() {
    let running = start();
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text("SET a 1"), "OK");
    running.server.stop().unwrap();
    assert!(client.is_closed());
    let value = running.store.table("0").unwrap().get(b"a").unwrap().unwrap();
    assert_eq!(value, b"\x001");
}
