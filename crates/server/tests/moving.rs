//! Commands that move, copy, draw or serialize pairs, and swaps of tables.
#![allow(missing_docs)]

mod common;

use honeycomb_protocol::resp::Reply;

use common::{Client, dialogue, run_concurrently, show, start};

#[test]
fn randomkey_is_approximately_uniform() {
    let running = start();
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text("RANDOMKEY"), "nil");
    dialogue(&mut client, &[("MSET a 1 b 2 c 3", "OK"), ("SET gone 1 PX 5", "OK")]);
    running.time.advance(5);
    let mut drawn = std::collections::BTreeMap::new();
    for _ in 0..600 {
        *drawn.entry(client.reply_text("RANDOMKEY")).or_insert(0) += 1;
    }
    assert_eq!(drawn.keys().collect::<Vec<_>>(), ["'a'", "'b'", "'c'"]);
    // The expected count of each key is 200, with a standard deviation of 12.
    assert!(drawn.values().all(|times| (100..300).contains(times)), "{drawn:?}");
    dialogue(
        &mut client,
        &[
            ("MULTI", "OK"),
            ("DEL a b", "QUEUED"),
            ("RANDOMKEY", "QUEUED"),
            ("FLUSHDB", "QUEUED"),
            ("RANDOMKEY", "QUEUED"),
            ("EXEC", "[2 'c' OK nil]"),
        ],
    );
}

#[test]
fn rename_moves_a_pair_with_its_expiry() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("SET a 1 EX 100", "OK"),
            ("SET b 2 EX 50", "OK"),
            ("RENAME a b", "OK"),
            ("TTL b", "100"),
            ("MGET a b", "[nil '1']"),
            ("RENAME a b", "!ERR no such key"),
            ("RENAME b b", "OK"),
            ("RENAMENX b b", "0"),
            ("SET c 3", "OK"),
            ("RENAMENX b c", "0"),
            ("RENAMENX b d", "1"),
            ("TTL d", "100"),
            ("RENAME c d", "OK"),
            ("TTL d", "-1"),
            ("DBSIZE", "1"),
            ("RENAMENX nothing x", "!ERR no such key"),
            (&format!("RENAME d {}", "x".repeat(461)), "!ERR key of 461 bytes: a key has 1 to 460 bytes"),
            ("GET d", "'3'"),
        ],
    );
}

#[test]
fn copy_keeps_the_expiry() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("SET a 1 EX 100", "OK"),
            ("COPY a b", "1"),
            ("TTL b", "100"),
            ("SET b 2", "OK"),
            ("COPY a b", "0"),
            ("COPY a b REPLACE", "1"),
            ("GET b", "'1'"),
            ("COPY a a", "!ERR source and destination objects are the same"),
            ("COPY a a DB 1", "1"),
            ("COPY a a DB 1", "0"),
            ("COPY a a DB 16", "!ERR DB index is out of range"),
            ("COPY a b DB x", "!ERR value is not an integer or out of range"),
            ("COPY a b MORE", "!ERR syntax error"),
            ("COPY nothing b", "0"),
            ("SELECT 1", "OK"),
            ("TTL a", "100"),
        ],
    );
}

#[test]
fn pairs_move_between_tables() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("SET a 1 EX 100", "OK"),
            ("MOVE a 1", "1"),
            ("GET a", "nil"),
            ("MOVE a 1", "0"),
            ("SET a 2", "OK"),
            ("MOVE a 1", "0"),
            ("MOVE a 0", "!ERR source and destination objects are the same"),
            ("MOVE a 16", "!ERR DB index is out of range"),
            ("MULTI", "OK"),
            ("MOVE a 2", "QUEUED"),
            ("SET a 3", "QUEUED"),
            ("COPY a b DB 2", "QUEUED"),
            ("EXEC", "[1 OK 1]"),
            ("SELECT 1", "OK"),
            ("GET a", "'1'"),
            ("TTL a", "100"),
            ("SELECT 2", "OK"),
            ("MGET a b", "['2' '3']"),
        ],
    );
}

#[test]
fn tables_are_swapped_for_all_clients() {
    let running = start();
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    dialogue(
        &mut client,
        &[
            ("SET a 0", "OK"),
            ("SELECT 1", "OK"),
            ("SET a 1", "OK"),
            ("SELECT 0", "OK"),
            ("SWAPDB 0 1", "OK"),
            ("GET a", "'1'"),
        ],
    );
    dialogue(
        &mut other,
        &[
            ("GET a", "'1'"),
            ("SELECT 1", "OK"),
            ("GET a", "'0'"),
            ("SWAPDB 1 0", "OK"),
            ("GET a", "'1'"),
            ("SWAPDB 5 5", "OK"),
            ("SWAPDB 0 16", "!ERR DB index is out of range"),
            ("SWAPDB x 0", "!ERR invalid first DB index"),
            ("SWAPDB 0 x", "!ERR invalid second DB index"),
        ],
    );
    dialogue(&mut client, &[("GET a", "'0'")]);
}

#[test]
fn a_swap_changes_a_watched_key_if_the_values_differ() {
    let running = start();
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    dialogue(&mut other, &[("MSET a 1 same x", "OK"), ("SELECT 1", "OK"), ("SET same x", "OK")]);
    for (key, answer) in [("a", "nil"), ("same", "['x']"), ("absent", "[nil]")] {
        client.reply_to(&format!("WATCH {key}"));
        assert_eq!(other.reply_text("SWAPDB 0 1"), "OK");
        client.reply_to("MULTI");
        client.reply_to(&format!("GET {key}"));
        assert_eq!(client.reply_text("EXEC"), answer, "{key}");
        other.reply_to("SWAPDB 0 1");
    }
    client.reply_to("RI.WATCHRANGE - +");
    other.reply_to("SWAPDB 0 1");
    client.reply_to("MULTI");
    assert_eq!(client.reply_text("EXEC"), "nil");
}

#[test]
fn a_transaction_swaps_tables_when_it_commits() {
    let running = start();
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    dialogue(
        &mut client,
        &[
            ("SET a 0", "OK"),
            ("SELECT 1", "OK"),
            ("SET a 1", "OK"),
            ("SELECT 0", "OK"),
            ("MULTI", "OK"),
            ("SWAPDB 0 1", "QUEUED"),
            ("GET a", "QUEUED"),
            ("SET a 2", "QUEUED"),
            ("MOVE a 3", "QUEUED"),
            ("SET b 3", "QUEUED"),
            ("DBSIZE", "QUEUED"),
            ("KEYS *", "QUEUED"),
            ("SELECT 1", "QUEUED"),
            ("GET a", "QUEUED"),
            ("SELECT 0", "QUEUED"),
        ],
    );
    assert_eq!(other.reply_text("GET a"), "'0'");
    dialogue(
        &mut client,
        &[("EXEC", "[OK '1' OK 1 OK 1 ['b'] OK '0' OK]"), ("GET a", "nil"), ("GET b", "'3'")],
    );
    dialogue(&mut other, &[("GET b", "'3'"), ("SELECT 1", "OK"), ("GET a", "'0'")]);
    dialogue(
        &mut client,
        &[
            ("WATCH b", "OK"),
            ("SET b 4", "OK"),
            ("MULTI", "OK"),
            ("SWAPDB 0 1", "QUEUED"),
            ("EXEC", "nil"),
            ("GET b", "'4'"),
        ],
    );
}

/// Two clients swap two tables while others move a pair between them in transactions. The pair is always in
/// exactly one table.
#[test]
fn swaps_and_transactions_exclude_each_other() {
    let running = start();
    Client::connect(&running).reply_to("SET there 1");
    run_concurrently(&running, 4, |worker, client| {
        client.reply_to(&format!("SELECT {}", worker % 2));
        for _ in 0..300 {
            if worker < 2 {
                assert_eq!(client.reply_text("SWAPDB 0 1"), "OK");
                continue;
            }
            let (here, there) = (worker % 2, 1 - worker % 2);
            client.reply_to("MULTI");
            client.reply_to(&format!("COPY there copied DB {there} REPLACE"));
            client.reply_to(&format!("MOVE there {there}"));
            let answer = client.reply_text("EXEC");
            assert!(["[1 1]", "[0 0]"].contains(&&*answer), "{here}: {answer}");
        }
    });
    let mut client = Client::connect(&running);
    let first = client.reply_text("EXISTS there");
    client.reply_to("SELECT 1");
    let second = client.reply_text("EXISTS there");
    assert_ne!(first, second);
}

#[test]
fn dump_and_restore_round_trip() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(&mut client, &[("DUMP nothing", "nil"), ("SET a value EX 100", "OK")]);
    let Reply::Bulk(payload) = client.reply_to("DUMP a") else { panic!("no payload") };
    let mut restore = |words: &[&[u8]]| {
        client.send(&[&[&b"RESTORE"[..]], words].concat());
        show(&client.receive())
    };
    let now = common::BEGIN.to_string();
    let later = (common::BEGIN + 7000).to_string();
    assert_eq!(restore(&[b"a", b"0", &payload]), "!BUSYKEY Target key name already exists.");
    assert_eq!(restore(&[b"a", b"0", &payload, b"REPLACE"]), "OK");
    assert_eq!(restore(&[b"b", b"5000", &payload, b"IDLETIME", b"9"]), "OK");
    assert_eq!(restore(&[b"c", later.as_bytes(), &payload, b"absttl", b"FREQ", b"255"]), "OK");
    assert_eq!(restore(&[b"gone", now.as_bytes(), &payload, b"ABSTTL"]), "OK");
    assert_eq!(restore(&[b"x", b"-1", &payload]), "!ERR Invalid TTL value, must be >= 0");
    assert_eq!(
        restore(&[b"x", b"0", &payload[..payload.len() - 1]]),
        "!ERR DUMP payload version or checksum are wrong"
    );
    // The time must be a positive number of 64 bits with a sign, as in all commands that return it.
    let (longest, too_long) = (i64::MAX as u64 - common::BEGIN, i64::MAX as u64 - common::BEGIN + 1);
    let invalid = "!ERR invalid expire time in 'restore' command";
    assert_eq!(restore(&[b"x", too_long.to_string().as_bytes(), &payload]), invalid);
    assert_eq!(restore(&[b"x", i64::MAX.to_string().as_bytes(), &payload]), invalid);
    assert_eq!(restore(&[b"last", longest.to_string().as_bytes(), &payload]), "OK");
    let no_idle = "!ERR Invalid IDLETIME value, must be >= 0";
    assert_eq!(restore(&[b"x", b"0", &payload, b"IDLETIME", b"-1"]), no_idle);
    let no_frequency = "!ERR Invalid FREQ value, must be >= 0 and <= 255";
    assert_eq!(restore(&[b"x", b"0", &payload, b"FREQ", b"256"]), no_frequency);
    assert_eq!(restore(&[b"x", b"0", &payload, b"FREQ", b"1", b"IDLETIME", b"1"]), "!ERR syntax error");
    dialogue(
        &mut client,
        &[
            ("MGET a b c gone", "['value' 'value' 'value' nil]"),
            ("TTL a", "-1"),
            ("PTTL b", "5000"),
            ("PTTL c", "7000"),
            ("PEXPIRETIME last", &i64::MAX.to_string()),
            ("EXISTS x", "0"),
        ],
    );
}
