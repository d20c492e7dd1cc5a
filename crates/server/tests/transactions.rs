//! Transactions with ranges, whole tables and watched ranges.
#![allow(missing_docs)]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use honeycomb_protocol::resp::{Limits, Reply};
use honeycomb_server::Config;

use common::{Client, dialogue, run_concurrently, show, start, start_with, start_with_system_time};

#[test]
fn ranges_within_a_transaction_show_its_own_writes() {
    let running = start();
    let mut client = Client::connect(&running);
    client.reply_to("MSET a 1 b 2 c 3 d 4");
    dialogue(
        &mut client,
        &[
            ("MULTI", "OK"),
            ("SET bb 5", "QUEUED"),
            ("DEL c", "QUEUED"),
            ("SET d 6", "QUEUED"),
            ("RI.RANGE - +", "QUEUED"),
            ("RI.RANGE [b [d REVERSE FIELDS KEY COUNT 2", "QUEUED"),
            ("RI.SCAN c FLOOR COUNT 1", "QUEUED"),
            ("RI.COUNT [a (d", "QUEUED"),
            ("KEYS b*", "QUEUED"),
            ("SCAN 0 COUNT 100", "QUEUED"),
            ("DBSIZE", "QUEUED"),
            ("PING", "QUEUED"),
            (
                "EXEC",
                "[OK 1 OK ['a' '1' 'b' '2' 'bb' '5' 'd' '6'] ['d' 'bb'] ['bb' '5'] 3 ['b' 'bb'] \
                 ['0' ['a' 'b' 'bb' 'd']] 4 PONG]",
            ),
            ("RI.RANGE - + FIELDS KEY", "['a' 'b' 'bb' 'd']"),
        ],
    );
}

#[test]
fn ranges_and_tables_are_deleted_within_a_transaction() {
    let running = start();
    let mut client = Client::connect(&running);
    client.reply_to("MSET a 1 b 2 c 3 d 4");
    dialogue(
        &mut client,
        &[
            ("MULTI", "OK"),
            ("GET b", "QUEUED"),
            ("SET bb 5", "QUEUED"),
            ("RI.DELRANGE [b [c", "QUEUED"),
            ("GET b", "QUEUED"),
            ("SET c again", "QUEUED"),
            ("DBSIZE", "QUEUED"),
            ("RI.RANGE - +", "QUEUED"),
            ("EXEC", "['2' OK 3 nil OK 3 ['a' '1' 'c' 'again' 'd' '4']]"),
            ("RI.RANGE - +", "['a' '1' 'c' 'again' 'd' '4']"),
            ("MULTI", "OK"),
            ("INCR a", "QUEUED"),
            ("FLUSHDB", "QUEUED"),
            ("INCR a", "QUEUED"),
            ("SELECT 1", "QUEUED"),
            ("SET other 1", "QUEUED"),
            ("EXEC", "[2 OK 1 OK OK]"),
            ("DBSIZE", "1"),
            ("SELECT 0", "OK"),
            ("RI.RANGE - +", "['a' '1']"),
            ("MULTI", "OK"),
            ("FLUSHALL", "QUEUED"),
            ("EXEC", "[OK]"),
            ("DBSIZE", "0"),
        ],
    );
}

#[test]
fn a_watched_range_aborts_exec_if_a_pair_was_added_deleted_or_changed() {
    let running = start();
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    client.reply_to("MSET a 1 b 2 c 3");
    let exec = [("MULTI", "OK"), ("SET seen yes", "QUEUED")];
    for (change, outcome) in [
        ("SET bb new", "nil"),
        ("DEL b", "nil"),
        ("SET a 9", "nil"),
        ("SET d outside", "[OK]"),
        ("SET bb new", "[OK]"),
        ("RI.DELRANGE [a [b", "nil"),
    ] {
        assert_eq!(client.reply_text("RI.WATCHRANGE [a (c"), "OK");
        assert!(!matches!(other.reply_to(change), Reply::Error(_)), "{change}");
        dialogue(&mut client, &exec);
        assert_eq!(client.reply_text("EXEC"), outcome, "{change}");
    }
    dialogue(
        &mut client,
        &[
            ("RI.WATCHRANGE - +", "OK"),
            ("MULTI", "OK"),
            ("RI.WATCHRANGE - +", "!ERR RI.WATCHRANGE inside MULTI is not allowed"),
            ("DISCARD", "OK"),
        ],
    );
}

/// The clients keep the rule "at most ten pairs": each of four counts and then writes. If the commit did not
/// validate the range, two clients that count nine at the same time would both write.
#[test]
fn a_watched_range_prevents_phantoms() {
    let running = start();
    run_concurrently(&running, 4, |number, client| {
        for attempt in 0..40 {
            client.reply_to("RI.WATCHRANGE [seat: (seat;");
            let Reply::Integer(count) = client.reply_to("RI.COUNT [seat: (seat;") else { panic!() };
            client.reply_to("MULTI");
            if count < 10 {
                client.reply_to(&format!("SET seat:{number}:{attempt} x"));
            }
            client.reply_to("EXEC");
        }
    });
    assert_eq!(Client::connect(&running).reply_text("RI.COUNT [seat: (seat;"), "10");
}

/// Three clients write a pair, read a range and write another pair, all in one `EXEC`.
#[test]
fn all_commands_of_a_transaction_read_one_version() {
    let running = start_with(Config { cores: 2, ..Config::default() });
    Client::connect(&running).reply_to("MSET n:a 0 n:b 0");
    run_concurrently(&running, 3, |_, client| {
        for _ in 0..100 {
            // No other write intervenes between the increments and the range.
            for line in ["MULTI", "INCR n:a", "RI.RANGE [n: (n; FIELDS VALUE", "INCR n:b"] {
                client.reply_to(line);
            }
            let Reply::Array(replies) = client.reply_to("EXEC") else { panic!("no replies") };
            let Reply::Array(range) = &replies[1] else { panic!("no range") };
            let numbers: Vec<i64> = range.iter().map(common::number).collect();
            assert_eq!(numbers[0], numbers[1] + 1, "a torn range");
            assert_eq!(Reply::Integer(numbers[0]), replies[0]);
        }
    });
    assert_eq!(Client::connect(&running).reply_text("MGET n:a n:b"), "['300' '300']");
}

#[test]
fn watch_is_an_error_within_a_transaction() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("MULTI", "OK"),
            ("WATCH a", "!ERR WATCH inside MULTI is not allowed"),
            ("CONFIG GET databases", "QUEUED"),
            ("CLIENT GETNAME", "QUEUED"),
            ("EXEC", "[['databases' '16'] nil]"),
        ],
    );
}

/// As in Redis, a command without a valid subcommand aborts the transaction when it is queued.
#[test]
fn a_wrong_subcommand_aborts_the_transaction() {
    let running = start();
    let mut client = Client::connect(&running);
    let aborted = "!EXECABORT Transaction discarded because of previous errors.";
    for (wrong, error) in [
        ("CONFIG FOO", "!ERR unknown subcommand 'FOO'. Try CONFIG HELP."),
        ("CLIENT SETNAME", "!ERR wrong number of arguments for 'client|setname' command"),
        ("OBJECT FOO a", "!ERR unknown subcommand 'FOO'. Try OBJECT HELP."),
        ("OBJECT FREQ", "!ERR wrong number of arguments for 'object|freq' command"),
    ] {
        dialogue(&mut client, &[("MULTI", "OK"), (wrong, error), ("SET a 1", "QUEUED")]);
        dialogue(&mut client, &[("EXEC", aborted), ("GET a", "nil")]);
    }
    let valid = ["COMMAND", "COMMAND COUNT", "CONFIG HELP", "OBJECT HELP", "OBJECT FREQ a", "MEMORY USAGE a"];
    dialogue(&mut client, &[("MULTI", "OK")]);
    valid.iter().for_each(|line| assert_eq!(client.reply_text(line), "QUEUED", "{line}"));
    assert!(matches!(client.reply_to("EXEC"), Reply::Array(replies) if replies.len() == valid.len()));
}

/// In a transaction too, a command that writes several pairs writes all of them or none.
#[test]
fn a_write_of_several_pairs_that_is_too_long_writes_none() {
    // The writes of a transaction may then take 32 MiB.
    let request = Limits { request_bytes_max: 32 << 20, ..Limits::default() };
    let running = start_with(Config { cores: 1, request, ..Config::default() });
    let mut client = Client::connect(&running);
    dialogue(&mut client, &[("MULTI", "OK"), ("SETRANGE x 14000000 x", "QUEUED")]);
    dialogue(&mut client, &[("SETRANGE y 14000000 y", "QUEUED")]);
    let value = vec![b'v'; 3_000_000];
    for command in [&["MSET"][..], &["MSETNX"], &["MSETEX", "2"]] {
        let words = command.iter().map(|word| word.as_bytes()).chain([b"a", &value[..], b"b", &value]);
        client.send(&words.collect::<Vec<_>>());
        assert_eq!(show(&client.receive()), "QUEUED");
    }
    let Reply::Array(replies) = client.reply_to("EXEC") else { panic!("no replies") };
    let are_rejected = replies[2..].iter().all(|reply| matches!(reply, Reply::Error(_)));
    assert!(replies.len() == 5 && are_rejected, "{:?}", &replies[2..]);
    dialogue(&mut client, &[("STRLEN x", "14000001"), ("EXISTS a b", "0")]);
}

/// A command that takes effect at once executes only once, although the transaction has conflicts.
#[test]
fn a_conflict_repeats_no_command_with_an_effect_on_the_server() {
    let running = start_with(Config { cores: 1, client_snapshots_max: 1, ..Config::default() });
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let goes_on = |_: &i32| !done.load(Ordering::SeqCst);
            (0..1_000_000).take_while(goes_on).for_each(|_| drop(other.reply_to("INCR n")));
        });
        // Most rounds have conflicts: each PING is a slice, because the clock advances with each query.
        let outcomes: Vec<_> = (0..10)
            .map(|_| {
                let killed = Client::connect(&running);
                let kill = format!("CLIENT KILL ADDR {}", killed.socket.local_addr().unwrap());
                for line in ["MULTI", "RI.SNAPSHOT TAKE", &kill, "INCR n"] {
                    client.reply_to(line);
                }
                client.send_bytes(&b"PING\r\n".repeat(1000));
                (0..1000).for_each(|_| drop(client.receive()));
                let Reply::Array(replies) = client.reply_to("EXEC") else { panic!("no replies") };
                client.reply_to(&format!("RI.SNAPSHOT DROP {}", show(&replies[0])));
                (replies[0].clone(), replies[1].clone())
            })
            .collect();
        done.store(true, Ordering::SeqCst);
        for outcome in outcomes {
            assert!(matches!(outcome, (Reply::Integer(_), Reply::Integer(1))), "{outcome:?}");
        }
    });
}

#[test]
fn a_transaction_ends_although_it_names_a_snapshot_that_has_ended() {
    let running = start();
    let mut client = Client::connect(&running);
    let ended = "!ERR snapshot too old: its lease has ended";
    dialogue(
        &mut client,
        &[
            ("RI.SNAPSHOT TAKE", "0"),
            ("RI.SNAPSHOT DROP 0", "OK"),
            ("MULTI", "OK"),
            ("RI.SCAN a SNAPSHOT 0", "QUEUED"),
            ("RI.SNAPSHOT RENEW 0", "QUEUED"),
            ("EXEC", &format!("[{ended} {ended}]")),
        ],
    );
}

#[test]
fn randomkey_within_a_transaction_returns_keys_of_its_own_writes() {
    let running = start_with(Config { cores: 1, databases: 2, unordered: vec![1], ..Config::default() });
    let mut client = Client::connect(&running);
    let exec = |client: &mut Client, lines: &[&str]| {
        let all = ["MULTI"].iter().chain(lines).chain(&["RANDOMKEY"]);
        all.for_each(|line| drop(client.reply_to(line)));
        client.reply_text("EXEC")
    };
    for database in ["SELECT 0", "SELECT 1"] {
        client.reply_to(database);
        assert_eq!(exec(&mut client, &["SET new 1"]), "[OK 'new']");
        assert_eq!(exec(&mut client, &["DEL new"]), "[1 nil]");
    }
    client.reply_to("SELECT 0");
    let keys: Vec<_> = (0..500).map(|key| format!("{key} v")).collect();
    client.reply_to(&format!("MSET {}", keys.join(" ")));
    assert_eq!(exec(&mut client, &["FLUSHDB", "SET new 1"]), "[OK OK 'new']");
}

/// A pair that has expired is absent for `WATCH`, whether the server has removed it or not.
#[test]
fn the_removal_of_an_expired_pair_aborts_no_transaction() {
    let running = start_with(Config { cores: 1, databases: 2, unordered: vec![1], ..Config::default() });
    let mut client = Client::connect(&running);
    for database in ["SELECT 0", "SELECT 1"].repeat(10) {
        dialogue(&mut client, &[(database, "OK"), ("SET a 1 PX 100", "OK")]);
        running.time.advance(200);
        dialogue(&mut client, &[("WATCH a", "OK"), ("GET a", "nil")]);
        while client.reply_text("DBSIZE") != "0" {
            thread::sleep(Duration::from_millis(1));
        }
        dialogue(&mut client, &[("MULTI", "OK"), ("SET b 1", "QUEUED"), ("EXEC", "[OK]"), ("DEL b", "1")]);
    }
}

/// Also if the server has not removed the pair yet.
#[test]
fn a_watched_pair_that_expires_aborts_the_transaction() {
    let config = Config { cores: 1, databases: 2, unordered: vec![1], ..Config::default() };
    let running = start_with_system_time(config);
    let mut client = Client::connect(&running);
    for database in ["SELECT 0", "SELECT 1"].repeat(10) {
        dialogue(&mut client, &[(database, "OK")]);
        // The commands of one packet have one time, so the pair has not expired at the watch.
        client.send_bytes(b"SET a 1 PX 20\r\nWATCH a\r\nMULTI\r\nSET b 2\r\n");
        let replies: Vec<_> = (0..4).map(|_| show(&client.receive())).collect();
        assert_eq!(replies, ["OK", "OK", "OK", "QUEUED"]);
        thread::sleep(Duration::from_millis(30));
        dialogue(&mut client, &[("EXEC", "nil"), ("EXISTS b", "0")]);
    }
}
