//! Keys of invalid length: reads treat them as absent; writes return an error that names the limit.
#![allow(missing_docs)]

mod common;

use common::{Client, Running, show, start};

/// Sends a command in which `?` stands for the key, and returns the reply.
fn reply_with_key(client: &mut Client, line: &str, key: &[u8]) -> String {
    let words = line.split(' ').map(|word| if word == "?" { key } else { word.as_bytes() });
    client.send(&words.collect::<Vec<_>>());
    show(&client.receive())
}

fn with_each_key(test: impl Fn(&Running, &mut Client, &[u8])) {
    for key in [&b""[..], &[b'x'; 461], &[b'x'; 100_000]] {
        let running = start();
        let mut client = Client::connect(&running);
        client.reply_to("MSET a 1 b 2");
        test(&running, &mut client, key);
    }
}

#[test]
fn reads_treat_such_keys_as_absent() {
    with_each_key(|_, client, key| {
        for (line, expected) in [
            ("GET ?", "nil"),
            ("MGET a ? b", "['1' nil '2']"),
            ("MGET ? ? a", "[nil nil '1']"),
            ("EXISTS ? a", "1"),
            ("TOUCH b ?", "1"),
            ("STRLEN ?", "0"),
            ("TTL ?", "-2"),
            ("PEXPIRETIME ?", "-2"),
            ("TYPE ?", "none"),
            ("GETRANGE ? 0 -1", "''"),
            ("GETBIT ? 1", "0"),
            ("BITCOUNT ?", "0"),
            ("LCS ? a LEN", "0"),
            ("OBJECT ENCODING ?", "nil"),
            ("DUMP ?", "nil"),
            ("DIGEST ?", "nil"),
            ("GETDEL ?", "nil"),
            ("GETEX ? PERSIST", "nil"),
            ("EXPIRE ? 10", "0"),
            ("PERSIST ?", "0"),
            ("RENAME ? a", "!ERR no such key"),
            ("COPY ? a REPLACE", "0"),
            ("MOVE ? 1", "0"),
            ("SET ? 1 XX", "nil"),
            ("DELEX ? IFNE 1", "0"),
            ("UNLINK ? b", "1"),
            ("DEL ? a ?", "1"),
            ("DBSIZE", "0"),
        ] {
            assert_eq!(reply_with_key(client, line, key), expected, "{line}");
        }
    });
}

#[test]
fn writes_are_rejected_and_change_nothing() {
    with_each_key(|_, client, key| {
        let error = format!("!ERR key of {} bytes: a key has 1 to 460 bytes", key.len());
        for line in [
            "SET ? 1",
            "SET ? 1 EX 10",
            "SETNX ? 1",
            "GETSET ? 1",
            "APPEND ? 1",
            "SETRANGE ? 0 1",
            "INCR ?",
            "INCRBYFLOAT ? 1",
            "MSET a 9 ? 9 b 9",
            "MSETNX c 9 ? 9",
            "MSETEX 2 a 9 ? 9",
            "SETBIT ? 0 1",
            "BITFIELD ? SET u8 0 1",
            "BITOP NOT ? a",
            "RENAME a ?",
            "COPY a ?",
        ] {
            assert_eq!(reply_with_key(client, line, key), error, "{line}");
        }
        assert_eq!(client.reply_text("MGET a b c"), "['1' '2' nil]");
    });
}

#[test]
fn in_a_transaction_only_the_command_fails() {
    with_each_key(|_, client, key| {
        client.reply_to("MULTI");
        for line in ["MGET a ?", "SET ? 1", "MSET a 9 ? 9", "DEL ? b", "GET a"] {
            assert_eq!(reply_with_key(client, line, key), "QUEUED");
        }
        let error = format!("!ERR key of {} bytes: a key has 1 to 460 bytes", key.len());
        assert_eq!(client.reply_text("EXEC"), format!("[['1' nil] {error} {error} 1 '1']"));
    });
}

/// Reads with and without such a key are batched, and each returns its own reply.
#[test]
fn replies_of_batched_reads_stay_in_order() {
    with_each_key(|_, client, key| {
        for _ in 0..50 {
            client.send(&[b"GET", b"a"]);
            client.send(&[b"MGET", b"b", key, b"a"]);
            client.send(&[b"GET", b"b"]);
        }
        for _ in 0..50 {
            let answers: Vec<_> = (0..3).map(|_| show(&client.receive())).collect();
            assert_eq!(answers, ["'1'", "['2' nil '1']", "'2'"]);
        }
    });
}
