//! Unordered databases.
#![allow(missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use honeycomb_protocol::resp::{Reply, encode};
use honeycomb_server::{Config, Eviction, Policy, Server};
use honeycomb_store::{Store, UnorderedConfig};

use common::{Client, Running, dialogue, run_concurrently, show, start_with, start_with_store};

/// Databases 0 and 2 are unordered.
fn start() -> Running {
    start_with(Config { cores: 2, databases: 4, unordered: vec![0, 2], ..Config::default() })
}

#[test]
fn commands_on_keys_work() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("SET a 1 NX", "OK"),
            ("SET a 2 NX", "nil"),
            ("SET a 2 XX GET", "'1'"),
            ("GETSET a 3", "'2'"),
            ("INCRBY a 4", "7"),
            ("INCRBYFLOAT a 0.5", "'7.5'"),
            ("APPEND a x", "4"),
            ("GETRANGE a 1 -1", "'.5x'"),
            ("MSET b 1 c 2", "OK"),
            ("MSETNX c 3 d 4", "0"),
            ("MSETNX d 4 e 5", "1"),
            ("MGET a b absent d", "['7.5x' '1' nil '4']"),
            ("EXISTS a b a absent", "3"),
            ("TYPE a", "string"),
            ("RENAME b f", "OK"),
            ("RENAMENX f c", "0"),
            ("COPY f b", "1"),
            ("DEL a absent f", "2"),
            ("UNLINK e", "1"),
            ("DBSIZE", "3"),
            ("MOVE b 1", "1"),
            ("COPY c c DB 2", "1"),
            ("SELECT 1", "OK"),
            ("GET b", "'1'"),
            ("MOVE b 0", "1"),
            ("SELECT 2", "OK"),
            ("GET c", "'2'"),
            ("FLUSHDB", "OK"),
            ("DBSIZE", "0"),
            ("SELECT 0", "OK"),
            ("DBSIZE", "3"),
            ("FLUSHALL", "OK"),
            ("GET c", "nil"),
            ("RANDOMKEY", "nil"),
            ("SET only 1", "OK"),
            ("RANDOMKEY", "'only'"),
            ("KEYS o*", "['only']"),
        ],
    );
    assert!(client.reply_text("SET  v").starts_with("!ERR key of 0 bytes"));
    assert_eq!(client.reply_text(&format!("SET {} v", "k".repeat(460))), "OK");
    assert!(client.reply_text(&format!("SET {} v", "k".repeat(461))).starts_with("!ERR key of 461 bytes"));
}

/// Further commands on keys, each with its reply, in a database of either kind.
#[test]
fn commands_on_keys_reply_as_in_an_ordered_database() {
    let running = start();
    let seconds = common::BEGIN / 1000 + 100;
    let milliseconds = common::BEGIN + 200_000;
    for database in [0, 1] {
        let mut client = Client::connect(&running);
        dialogue(
            &mut client,
            &[
                (&format!("SELECT {database}"), "OK"),
                ("SETNX n 1", "1"),
                ("SETNX n 2", "0"),
                ("SETEX e 50 v", "OK"),
                ("PSETEX p 60000 v", "OK"),
                ("TTL e", "50"),
                ("PTTL p", "60000"),
                ("GETEX p PERSIST", "'v'"),
                ("TTL p", "-1"),
                (&format!("EXPIREAT n {seconds}"), "1"),
                ("EXPIRETIME n", &seconds.to_string()),
                (&format!("PEXPIREAT n {milliseconds} GT"), "1"),
                ("PEXPIRETIME n", &milliseconds.to_string()),
                ("PERSIST n", "1"),
                ("EXPIRETIME n", "-1"),
                ("PEXPIRE absent 1", "0"),
                ("DECR n", "0"),
                ("DECRBY n 5", "-5"),
                ("GETDEL n", "'-5'"),
                ("GETDEL n", "nil"),
                ("SET s foobar", "OK"),
                ("STRLEN s", "6"),
                ("STRLEN absent", "0"),
                ("SUBSTR s 1 3", "'oob'"),
                ("SETRANGE s 3 BAR", "6"),
                ("GET s", "'fooBAR'"),
                ("SETBIT b 9 1", "0"),
                ("GETBIT b 9", "1"),
                ("BITCOUNT b", "1"),
                ("BITPOS b 1", "9"),
                ("BITOP NOT not b", "2"),
                ("GET not", "'\\xff\\xbf'"),
                ("BITFIELD f SET u8 0 200 INCRBY u8 0 50 GET u4 0", "[0 250 15]"),
                ("BITFIELD_RO f GET u8 0", "[250]"),
                ("SET t fooBAZ", "OK"),
                ("LCS s t", "'fooBA'"),
                ("LCS s t LEN", "5"),
                ("TOUCH s t absent", "2"),
                ("OBJECT ENCODING s", "'embstr'"),
                ("COPY s t", "0"),
                ("COPY s t REPLACE", "1"),
                ("GET t", "'fooBAR'"),
                ("EXISTS s t e p b f not", "7"),
            ],
        );
        client.send(&[b"DUMP", b"s"]);
        let Reply::Bulk(dump) = client.receive() else { panic!("DUMP returns bytes") };
        for (arguments, expected) in [
            (&[&b"RESTORE"[..], b"r", b"0", &dump][..], "OK"),
            (&[b"RESTORE", b"r", b"0", &dump], "!BUSYKEY Target key name already exists."),
            (&[b"RESTORE", b"r", b"7000", &dump, b"REPLACE"], "OK"),
        ] {
            client.send(arguments);
            assert_eq!(show(&client.receive()), expected, "database {database}");
        }
        dialogue(&mut client, &[("GET r", "'fooBAR'"), ("PTTL r", "7000"), ("FLUSHDB", "OK")]);
    }
    running.server.stop().unwrap();
}

#[test]
fn writes_to_an_unordered_database_notify_subscribers() {
    let running = start();
    let [mut writer, mut subscriber] = [(); 2].map(|()| Client::connect(&running));
    dialogue(&mut writer, &[("CONFIG SET notify-keyspace-events KA", "OK")]);
    subscriber.reply_text("PSUBSCRIBE *");
    dialogue(&mut writer, &[("SET a 1", "OK"), ("INCR a", "2"), ("DEL a", "1")]);
    for event in ["set", "incrby", "del"] {
        let expected = format!("['pmessage' '*' '__keyspace@0__:a' '{event}']");
        assert_eq!(show(&subscriber.receive()), expected);
    }
    running.server.stop().unwrap();
}

#[test]
fn commands_that_need_an_order_name_the_database() {
    let running = start();
    let mut client = Client::connect(&running);
    client.reply_to("SELECT 2");
    let error = "!ERR database 2 is unordered: this command needs the order of keys, which only ordered \
                 databases have";
    for line in ["RI.SCAN a", "RI.RANGE - +", "RI.COUNT - +", "RI.DELRANGE - +", "RI.WATCHRANGE - +"] {
        assert_eq!(client.reply_text(line), error, "{line}");
    }
    dialogue(
        &mut client,
        &[
            ("MULTI", "OK"),
            ("SET a 1", "QUEUED"),
            ("RI.RANGE - +", "QUEUED"),
            ("FLUSHDB", "QUEUED"),
            ("GET a", "QUEUED"),
        ],
    );
    let flush = "!ERR a transaction cannot delete all pairs of an unordered database: use FLUSHDB or \
                 FLUSHALL alone";
    assert_eq!(client.reply_text("EXEC"), format!("[OK {error} {flush} '1']"));
}

#[test]
fn values_of_all_lengths_are_read_and_written_in_pipelines() {
    let running = start();
    let mut client = Client::connect(&running);
    let lengths = [0, 1, 30, 500, 5000, 65_535, 65_536, 65_537, 300_000, 2 << 20];
    let (mut bytes, value) = (Vec::new(), |length: usize| vec![b'a' + (length % 26) as u8; length]);
    for length in lengths {
        encode(&[b"SET", length.to_string().as_bytes(), &value(length)], &mut bytes);
    }
    for length in lengths {
        encode(&[b"GET", length.to_string().as_bytes()], &mut bytes);
    }
    client.send_bytes(&bytes);
    lengths.iter().for_each(|_| assert_eq!(show(&client.receive()), "OK"));
    lengths.iter().for_each(|length| assert_eq!(client.receive(), Reply::Bulk(value(*length))));
    let keys = lengths.map(|length| length.to_string()).join(" ");
    let Reply::Array(values) = client.reply_to(&format!("MGET {keys}")) else { panic!("no array") };
    assert_eq!(values, lengths.map(|length| Reply::Bulk(value(length))));
    for length in lengths {
        assert_eq!(client.reply_to(&format!("GET {length}")), Reply::Bulk(value(length)));
    }
}

/// The values that a transaction reads are limited; the first one may have any length.
#[test]
fn a_transaction_reads_values_up_to_a_limit() {
    let mut config = Config { cores: 1, unordered: vec![0], ..Config::default() };
    config.request.request_bytes_max = 17 << 20;
    let limit = 32 << 20;
    let running = start_with(config);
    let mut client = Client::connect(&running);
    // The stored values have one byte more, and nine with a deadline.
    for (key, length) in [("a", 12 << 20), ("b", 12 << 20), ("c", (8 << 20) - 11), ("d", (8 << 20) - 10)] {
        let (value, deadline) = (vec![b'v'; length], [&b"PX"[..], b"1000"]);
        let words = [&b"SET"[..], key.as_bytes(), &value].into_iter();
        let words: Vec<&[u8]> = words.chain(deadline.into_iter().filter(|_| key == "b")).collect();
        client.send(&words);
        assert_eq!(show(&client.receive()), "OK");
    }
    let expected = "the values that a transaction reads from unordered databases take more than";
    dialogue(
        &mut client,
        &[
            ("MULTI", "OK"),
            ("EXISTS a b c", "QUEUED"),
            ("EXEC", "[3]"),
            ("MULTI", "OK"),
            ("EXISTS a b d", "QUEUED"),
            ("EXEC", &format!("[!ERR {expected} {limit} bytes]")),
            // Alone, these commands read only the beginnings of the values.
            ("EXISTS a b d a", "4"),
            ("TOUCH a b c d e", "4"),
        ],
    );
    let longest_key = "k".repeat(460);
    client.reply_to(&format!("SET {longest_key} v"));
    assert_eq!(client.reply_text(&format!("EXISTS a b d {longest_key} {longest_key}x")), "4");
    running.time.advance(1000);
    assert_eq!(client.reply_text("EXISTS a b d"), "2");
}

/// A rename moves a pair between two keys, so that one of them exists at each moment.
#[test]
fn several_keys_exist_at_one_moment() {
    let running = start();
    let done = &AtomicBool::new(false);
    Client::connect(&running).reply_to(&format!("SET left {}", "v".repeat(1000)));
    run_concurrently(&running, 2, |number, client| {
        let line =
            |round: usize| if round.is_multiple_of(2) { "RENAME left right" } else { "RENAME right left" };
        for round in 0..2000 {
            match number {
                0 => assert_eq!(client.reply_text(line(round)), "OK"),
                _ if done.load(Ordering::Relaxed) => return,
                _ => assert_eq!(client.reply_text("EXISTS left right"), "1"),
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_scan_returns_every_pair_that_exists_throughout() {
    let running = start();
    let mut client = Client::connect(&running);
    for number in 0..300 {
        client.reply_to(&format!("SET key{number:03} {number}"));
    }
    let stop = &AtomicBool::new(false);
    run_concurrently(&running, 2, |number, client| {
        let mut round = 0;
        while number == 1 && !stop.load(Ordering::Relaxed) {
            // The table grows, and other pairs come and go.
            client.reply_to(&format!("SET other{round} {}", "v".repeat(20)));
            client.reply_to(&format!("DEL other{}", round / 2));
            round += 1;
        }
        for count in if number == 0 { &[1, 7, 10, 1000, 1_000_000][..] } else { &[] } {
            let (mut cursor, mut seen) = ("0".to_owned(), BTreeMap::new());
            loop {
                let reply = client.reply_to(&format!("SCAN {cursor} MATCH key* COUNT {count}"));
                let Reply::Array(parts) = reply else { panic!("{reply:?}") };
                let Reply::Array(keys) = &parts[1] else { panic!("no keys") };
                keys.iter().for_each(|key| *seen.entry(show(key)).or_insert(0) += 1);
                cursor = show(&parts[0]).trim_matches('\'').to_owned();
                if cursor == "0" {
                    break;
                }
            }
            assert!(seen.len() == 300 && seen.values().all(|times| *times == 1), "COUNT {count}: {seen:?}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    dialogue(
        &mut client,
        &[
            ("SCAN x", "!ERR invalid cursor"),
            ("SCAN -1", "!ERR invalid cursor"),
            ("SCAN 18446744073709551616", "!ERR invalid cursor"),
            ("SCAN 0 COUNT 0", "!ERR syntax error"),
            ("FLUSHDB", "OK"),
            ("SET a 1", "OK"),
            ("SCAN 0 COUNT 100000", "['0' ['a']]"),
            ("SCAN 0 COUNT 100000 TYPE list", "['0' []]"),
        ],
    );
    // Any number is a valid cursor.
    assert!(matches!(client.reply_to("SCAN 18446744073709551615"), Reply::Array(_)));
}

#[test]
fn a_transaction_sees_its_own_writes() {
    let running = start();
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    dialogue(
        &mut client,
        &[
            ("MSET a 1 b 2", "OK"),
            ("MULTI", "OK"),
            ("DEL a", "QUEUED"),
            ("SET c 3", "QUEUED"),
            ("KEYS a", "QUEUED"),
            ("KEYS c", "QUEUED"),
            ("KEYS a*", "QUEUED"),
            ("KEYS c*", "QUEUED"),
            ("DBSIZE", "QUEUED"),
            ("MGET a b c", "QUEUED"),
            ("EXEC", "[1 OK [] ['c'] [] ['c'] 2 [nil '2' '3']]"),
            ("WATCH b", "OK"),
        ],
    );
    other.reply_to("SET b 5");
    dialogue(&mut client, &[("MULTI", "OK"), ("SET b 6", "QUEUED"), ("EXEC", "nil"), ("GET b", "'5'")]);
    // A transaction over both kinds.
    dialogue(
        &mut client,
        &[
            ("WATCH b", "OK"),
            ("MULTI", "OK"),
            ("INCR b", "QUEUED"),
            ("SELECT 1", "QUEUED"),
            ("SET copy x", "QUEUED"),
            ("RI.RANGE - +", "QUEUED"),
            ("SELECT 0", "QUEUED"),
            ("GET b", "QUEUED"),
            ("EXEC", "[6 OK OK ['copy' 'x'] OK '6']"),
        ],
    );
}

/// Writers move an amount between two keys of different databases; readers see the same sum at all times.
#[test]
fn transactions_over_both_kinds_are_atomic() {
    let running = start();
    Client::connect(&running).reply_to("MSET a 1000 b 1000");
    let mut setup = Client::connect(&running);
    dialogue(&mut setup, &[("SELECT 1", "OK"), ("SET c 1000", "OK")]);
    run_concurrently(&running, 4, |number, client| {
        for _ in 0..150 {
            let lines = match number {
                0 => ["MULTI", "DECR a", "INCR b", "EXEC"].as_slice(),
                1 => &["MULTI", "DECR b", "SELECT 1", "INCR c", "SELECT 0", "EXEC"],
                2 => &["MULTI", "MGET a b", "SELECT 1", "GET c", "SELECT 0", "EXEC"],
                _ => {
                    &["MULTI", "GET a", "GET b", "SELECT 1", "RI.RANGE - + FIELDS VALUE", "SELECT 0", "EXEC"]
                }
            };
            let reply = lines.iter().map(|line| client.reply_text(line)).last().unwrap();
            if number >= 2 {
                let numbers = reply.split(|letter: char| !letter.is_ascii_digit());
                let sum: u64 = numbers.filter_map(|number| number.parse::<u64>().ok()).sum();
                assert_eq!(sum, 3000, "{reply}");
            }
        }
    });
}

#[test]
fn several_keys_are_written_and_read_at_one_moment() {
    let running = start();
    Client::connect(&running).reply_to("MSET a 0 b 0 c 0");
    run_concurrently(&running, 4, |number, client| {
        for round in 0..300 {
            if number < 2 {
                client.reply_to(&format!("MSET a {number}{round} b {number}{round} c {number}{round}"));
            } else {
                let reply = client.reply_to("MGET a b c");
                let Reply::Array(values) = &reply else { panic!("{reply:?}") };
                assert!(values.iter().all(|value| *value == values[0]), "{reply:?}");
            }
        }
    });
}

#[test]
fn pairs_expire() {
    let running = start();
    let mut client = Client::connect(&running);
    let long = "v".repeat(200_000);
    for number in 0..300 {
        client.reply_to(&format!("SET key{number} value PX 5"));
    }
    client.reply_to(&format!("SET long {long} PX 5"));
    dialogue(
        &mut client,
        &[("SET a 1 EX 10", "OK"), ("TTL a", "10"), ("SET b 1", "OK"), ("EXPIRE b 5", "1")],
    );
    dialogue(&mut client, &[("PERSIST a", "1"), ("TTL a", "-1"), ("DBSIZE", "303")]);
    running.time.advance(5);
    assert_eq!(client.reply_text("GET key7"), "nil");
    assert_eq!(client.reply_text("KEYS key*"), "[]");
    let began = std::time::Instant::now();
    while client.reply_text("DBSIZE") != "2" {
        assert!(began.elapsed().as_secs() < 20, "{}", client.reply_text("DBSIZE"));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    running.time.advance(5000);
    dialogue(&mut client, &[("GET b", "nil"), ("GET a", "'1'")]);
}

#[test]
fn a_swap_exchanges_the_kinds() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("SET a 0", "OK"),
            ("SWAPDB 0 1", "OK"),
            ("GET a", "nil"),
            ("SET b 1", "OK"),
            ("RI.COUNT - +", "1"),
        ],
    );
    dialogue(&mut client, &[("SELECT 1", "OK"), ("GET a", "'0'")]);
    assert!(client.reply_text("RI.COUNT - +").starts_with("!ERR database 1 is unordered"));
}

/// A lower limit evicts as many pairs as necessary and not all, although the table keeps its buckets.
#[test]
fn pairs_are_evicted_at_the_limit() {
    for policy in [Policy::AllKeysLru, Policy::VolatileTtl] {
        for length in [4, 200] {
            let eviction = Eviction { policy, ..Eviction::default() };
            let config = Config { cores: 1, memory_bytes: 32 << 20, eviction, ..Config::default() };
            let config = Config { unordered: vec![0], memory_limit: Some(4 << 20), ..config };
            let store = config.open_store().unwrap();
            let running = start_with_store(config, store);
            let mut client = Client::connect(&running);
            for first in (0..40_000).step_by(100) {
                let mut bytes = Vec::new();
                for number in first..first + 100 {
                    let key = format!("{number:08x}");
                    encode(&[b"SET", key.as_bytes(), &vec![b'v'; length], b"EX", b"1000"], &mut bytes);
                }
                client.send_bytes(&bytes);
                (0..100).for_each(|_| assert_eq!(show(&client.receive()), "OK", "{policy:?} {length}"));
            }
            let pairs = common::number(&client.reply_to("DBSIZE"));
            // Less remains of the long pairs if memory that the table reuses does not count as free.
            let least = if length == 4 { 30_000 } else { 12_500 };
            assert!((least..39_900).contains(&pairs), "{policy:?} {length}: {pairs} pairs");
        }
    }
}

fn restart(config: &Config, store: Store) -> Result<Server, honeycomb_server::Error> {
    let config = Config { address: ([127, 0, 0, 1], 0).into(), ..config.clone() };
    Server::start(config, store, Box::new(honeycomb_server::SystemTime))
}

#[test]
fn a_database_keeps_its_kind() {
    let base = Config { memory_bytes: 64 << 20, cores: 1, databases: 3, ..Config::default() };
    let store = base.open_store().unwrap();
    let answer = |unordered: &[usize], lines: &[&str]| {
        let config = Config { unordered: unordered.to_vec(), ..base.clone() };
        let server = restart(&config, store.clone()).map_err(|error| error.to_string())?;
        let mut client = Client::connect_to(server.address());
        Ok::<_, String>(lines.iter().map(|line| client.reply_text(line)).collect::<Vec<_>>().join(" "))
    };
    // The empty ordered tables 1 and 2 become unordered on request.
    assert_eq!(answer(&[], &["SET a 0", "RI.COUNT - +"]).unwrap(), "OK 1");
    assert_eq!(answer(&[1, 2], &["SELECT 1", "SET a 1", "GET a"]).unwrap(), "OK OK '1'");
    assert!(
        answer(&[], &["SELECT 1", "RI.COUNT - +"]).unwrap().starts_with("OK !ERR database 1 is unordered")
    );
    assert_eq!(answer(&[], &["SELECT 1", "GET a"]).unwrap(), "OK '1'");
    let error = answer(&[0], &[]).unwrap_err();
    assert!(error.contains("table `0` is ordered, not unordered"), "{error}");
}

#[test]
fn new_databases_take_the_parameters_of_unordered_tables() {
    let base = Config { memory_bytes: 64 << 20, cores: 1, databases: 3, ..Config::default() };
    let store = base.open_store().unwrap();
    let parameters = |buckets, inline_pair_bytes_max, fill_percent| UnorderedConfig {
        buckets,
        inline_pair_bytes_max,
        fill_percent,
    };
    let (first, second) = (parameters(4096, 0, None), parameters(2048, 50, Some(90)));
    for (unordered, unordered_tables) in [(vec![1], first), (vec![1, 2], second)] {
        let config = Config { unordered, unordered_tables, ..base.clone() };
        let server = restart(&config, store.clone()).unwrap();
        let mut client = Client::connect_to(server.address());
        dialogue(&mut client, &[("SELECT 1", "OK"), ("SET a 1", "OK")]);
    }
    let stored = |name| store.unordered_table(name, UnorderedConfig::default()).unwrap().config();
    assert_eq!([stored("1"), stored("2")], [first, second], "a database keeps its parameters");
}

#[test]
fn a_durable_database_survives_restarts_and_clears() {
    let disk = honeycomb_testing::SimulatedDisk::default();
    let config = Config { memory_bytes: 32 << 20, cores: 1, unordered: vec![0], ..Config::default() };
    for round in 0..3 {
        let durability = honeycomb_store::DurabilityConfig {
            writes_wait: false,
            ..honeycomb_store::DurabilityConfig::with_storage(std::sync::Arc::new(disk.clone()))
        };
        let store_config = honeycomb_store::Config {
            memory_bytes: config.memory_bytes,
            durability: Some(durability),
            ..honeycomb_store::Config::default()
        };
        let running = start_with_store(config.clone(), Store::open(store_config).unwrap());
        let mut client = Client::connect(&running);
        let before = if round == 0 { "nil".to_owned() } else { format!("'{}'", round - 1) };
        assert_eq!(client.reply_text("GET round"), before);
        assert_eq!(client.reply_text("GET cleared"), "nil");
        dialogue(&mut client, &[("MSET cleared 1 other 2", "OK"), ("FLUSHDB", "OK")]);
        assert_eq!(client.reply_text(&format!("SET round {round}")), "OK");
        assert_eq!(client.reply_text("SET gone x PX 1"), "OK");
        running.server.stop().unwrap();
    }
}

/// The functions work on values of both kinds of databases.
#[test]
fn functions_change_and_reduce_values() {
    let running = start();
    for database in [0, 1] {
        let mut client = Client::connect(&running);
        client.reply_to(&format!("SELECT {database}"));
        let vector =
            |numbers: &[u16]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
        let set = |client: &mut Client, key: &[u8], value: &[u8]| {
            client.send(&[b"SET", key, value, b"EX", b"100"]);
            assert_eq!(show(&client.receive()), "OK");
        };
        set(&mut client, b"stock", &12_u32.to_le_bytes());
        set(&mut client, b"vector", &vector(&[1, 2, 300]));
        let original = Reply::Bulk(12_u32.to_le_bytes().to_vec());
        assert_eq!(client.reply_to("KV.UPDATE stock u32 subtract SCALAR 5"), original);
        assert_eq!(client.reply_to("GET stock"), Reply::Bulk(7_u32.to_le_bytes().to_vec()));
        assert_eq!(client.reply_to("KV.UPDATE stock u32 12 SCALAR 5 0 10"), client.reply_to("GET stock"));
        assert_eq!(client.reply_to("GET stock"), Reply::Bulk(7_u32.to_le_bytes().to_vec()), "out of bounds");
        client.reply_to("KV.UPDATE vector u16 affine EACH 2 1");
        assert_eq!(client.reply_to("GET vector"), Reply::Bulk(vector(&[3, 5, 601])));
        client.send(&[b"KV.UPDATE", b"vector", b"u16", b"add", b"VECTOR", &vector(&[1, 1, 9])]);
        assert_eq!(client.receive(), Reply::Bulk(vector(&[3, 5, 601])));
        let filtered = client.reply_to("KV.FILTER vector u16 between 5 1000");
        assert_eq!(filtered, Reply::Bulk(vector(&[6, 610])));
        dialogue(
            &mut client,
            &[
                ("KV.REDUCE vector u16 add 0", "'620'"),
                ("KV.REDUCE vector u16 maximum 0", "'610'"),
                ("TTL vector", "100"),
                ("KV.REDUCE absent u16 add 0", "nil"),
                ("KV.FILTER absent u16 equal 0", "nil"),
                ("KV.UPDATE absent u16 add SCALAR 1", "nil"),
                ("EXISTS absent", "0"),
                ("MULTI", "OK"),
                ("KV.UPDATE stock u32 add SCALAR 1", "QUEUED"),
                ("KV.REDUCE stock u32 add 0", "QUEUED"),
                ("EXEC", "['\\x07\\x00\\x00\\x00' '8']"),
            ],
        );
    }
}

#[test]
fn invalid_functions_and_operands_are_rejected() {
    let running = start();
    let mut client = Client::connect(&running);
    client.send(&[b"SET", b"a", &[1, 2, 3]]);
    client.receive();
    let type_error = "!ERR unknown type: allowed are u8 to u64, i8 to i64, f32 and f64";
    dialogue(
        &mut client,
        &[
            ("KV.REDUCE a u128 add 0", type_error),
            ("KV.REDUCE a u8 add 255", "'5'"),
            ("KV.REDUCE a u8 add 256", "!ERR an operand is not a number of the type u8"),
            ("KV.REDUCE a i8 add -129", "!ERR an operand is not a number of the type i8"),
            ("KV.UPDATE a u8 add", "!ERR wrong number of arguments for 'kv.update' command"),
            ("KV.UPDATE a u8 add VECTOR", "!ERR syntax error"),
            ("KV.UPDATE a u8 add TWICE 1", "!ERR syntax error"),
            ("KV.UPDATE a u8 add VECTOR x y", "!ERR syntax error"),
            ("KV.UPDATE a u8 bounded-add EACH 1 0 255 7", "!ERR 4 operands: a function has 0 to 3"),
        ],
    );
    for line in [
        "KV.REDUCE a u8 20 0",
        "KV.REDUCE a u8 1023 0",
        "KV.REDUCE a u8 -1 0",
        "KV.REDUCE a u8 4294967296 0",
        "KV.REDUCE a u8 nothing 0",
    ] {
        let error = client.reply_text(line);
        assert!(error.starts_with("!ERR unknown function: allowed are add, subtract,"), "{line}: {error}");
    }
    for line in [
        "KV.REDUCE a u8 1024 0",
        "KV.REDUCE a u8 4294967295 0",
        "KV.REDUCE a u8 equal 0",
        "KV.REDUCE a u8 affine 0",
        "KV.FILTER a u8 add 0",
        "KV.FILTER a u8 equal 0 0",
        "KV.FILTER a u8 equal",
        "KV.UPDATE a u8 add EACH",
        "KV.UPDATE a u8 add SCALAR 1",
        "KV.UPDATE a u16 add EACH 1",
        "KV.UPDATE a u8 add VECTOR four",
    ] {
        let error = client.reply_text(line);
        assert!(error.starts_with("!ERR ") && !error.contains("unknown command"), "{line}: {error}");
    }
    assert_eq!(client.reply_text("GET a"), "'\\x01\\x02\\x03'");
}

#[test]
fn a_range_is_reduced_inside_its_scan() {
    let running = start();
    let mut client = Client::connect(&running);
    client.reply_to("SELECT 1");
    // An amount and a price; every seventh pair has a deadline, and so another envelope.
    let mut bytes = Vec::new();
    for number in 0..20000_u16 {
        let value = [number.to_le_bytes(), (number % 100).to_le_bytes()].concat();
        let key = format!("{number:05}");
        match number % 7 {
            0 => encode(&[b"SET", key.as_bytes(), &value, b"PX", b"1000"], &mut bytes),
            _ => encode(&[b"SET", key.as_bytes(), &value], &mut bytes),
        }
    }
    encode(&[b"SET", &b"short"[..], b"x"], &mut bytes);
    client.send_bytes(&bytes);
    (0..20001).for_each(|_| assert_eq!(show(&client.receive()), "OK"));
    let sum = |keeps: &dyn Fn(u32) -> u32| (0..20000).map(keeps).fold(0, |sum, one| (sum + one) % 65536);
    let expensive = |number: u32| if number % 100 > 97 && number >= 10 { number } else { 0 };
    let prices = |number: u32| number % 100;
    let quoted = |number: u32| format!("'{number}'");
    assert_eq!(client.reply_text("RI.REDUCE - + u16 add 0"), quoted(sum(&|number| number)));
    assert_eq!(client.reply_text("RI.REDUCE - + u16 add 0 OFFSET 2"), quoted(sum(&prices)));
    let line = "RI.REDUCE - + u16 add 0 WHERE 2 u16 greater 97 WHERE 0 u16 between 10 60000";
    assert_eq!(client.reply_text(line), quoted(sum(&expensive)));
    dialogue(
        &mut client,
        &[
            ("RI.REDUCE [00003 (00006 u16 add 0", "'12'"),
            ("RI.REDUCE - + u16 maximum 0 OFFSET 4", "'0'"),
            ("RI.REDUCE - + u16 add 0 OFFSET -1", "!ERR value is not an integer or out of range"),
            ("RI.REDUCE - + u16 add 0 OFFSET", "!ERR syntax error"),
            ("RI.REDUCE - + u16 add 0 OFFSET 1 2", "!ERR syntax error"),
            ("RI.REDUCE - + u16 add 0 WHERE 0 u16", "!ERR syntax error"),
            ("RI.REDUCE - + u16 add 0 NOTHING 0", "!ERR syntax error"),
            ("RI.REDUCE - + u16 add 0 OFFSET 9223372036854775807", "'0'"),
            ("MULTI", "OK"),
            ("RI.REDUCE - + u16 add 0", "!ERR Command not allowed inside a transaction"),
            ("DISCARD", "OK"),
        ],
    );
    let lines = ["WHERE 2 u16 greater 97 WHERE 0 u16 between 10 60000", "where 0 u16 less 10"];
    let counts = |keeps: &dyn Fn(u16) -> bool| {
        let number_of = |keeps: &dyn Fn(u16) -> bool| (0..20000).filter(|number| keeps(*number)).count();
        [number_of(&|it| it % 100 > 97 && it >= 10 && keeps(it)), number_of(&|it| it < 10 && keeps(it))]
    };
    let mut count = |line: &str| client.reply_text(&format!("RI.COUNT - + {line}"));
    assert_eq!(lines.map(&mut count), counts(&|_| true).map(|count| count.to_string()));
    // There are more expired pairs than the reaper removes before the command executes.
    running.time.advance(1000);
    let lasting = |number: u32| if number.is_multiple_of(7) { 0 } else { number };
    assert_eq!(client.reply_text("RI.REDUCE - + u16 add 0"), quoted(sum(&lasting)));
    let mut count = |line: &str| client.reply_text(&format!("RI.COUNT - + {line}"));
    let lasting = counts(&|number| !number.is_multiple_of(7));
    assert_eq!(lines.map(&mut count), lasting.map(|count| count.to_string()));
    client.reply_to("SELECT 0");
    assert!(client.reply_text("RI.REDUCE - + u16 add 0").starts_with("!ERR database 0 is unordered"));
}

/// `RI.FILTER` and `RI.TOP` on values of two numbers of two bytes, beside a loop.
#[test]
fn ranges_are_filtered_and_ranked_inside_the_scan() {
    let running = start();
    let mut client = Client::connect(&running);
    client.reply_to("SELECT 1");
    let fields = |number: u16| ((u32::from(number) * 7919 % 100) as u16, number % 10);
    for number in 0..300_u16 {
        let (first, second) = fields(number);
        let value = [first.to_le_bytes(), second.to_le_bytes()].concat();
        client.send(&[b"SET", format!("{number:05}").as_bytes(), &value]);
        client.receive();
    }
    let mut keys = |line: &str| -> Vec<u16> {
        let Reply::Array(items) = client.reply_to(line) else { panic!("{line}") };
        let text = |reply: &Reply| show(reply).trim_matches('\'').to_owned();
        items.iter().step_by(2).map(|key| text(key).parse().unwrap()).collect()
    };
    let passing: Vec<u16> = (0..300).filter(|it| fields(*it).1 > 6 && fields(*it).0 < 50).collect();
    let wheres = "WHERE 2 u16 greater 6 WHERE 0 u16 less 50";
    assert_eq!(keys(&format!("RI.FILTER - + 1024 {wheres}")), passing);
    assert_eq!(keys(&format!("RI.FILTER - + 5 {wheres}")), passing[..5]);
    let after = format!("RI.FILTER ({:05} + 5 {wheres}", passing[4]);
    assert_eq!(keys(&after), passing[5..10]);
    assert!(keys("RI.FILTER - + 1 WHERE 4 u16 greater 0").is_empty(), "the values are too short");
    let mut ranked: Vec<u16> = (0..300).collect();
    ranked.sort_by_key(|it| std::cmp::Reverse(fields(*it).0));
    assert_eq!(keys("RI.TOP - + 7 u16"), ranked[..7]);
    ranked.sort_unstable();
    ranked.sort_by_key(|it| std::cmp::Reverse(fields(*it).1));
    assert_eq!(keys("RI.TOP - + 40 u16 OFFSET 2"), ranked[..40]);
    ranked.retain(|it| passing.contains(it));
    assert_eq!(keys(&format!("RI.TOP - + 1024 u16 OFFSET 2 {wheres}")), ranked);
}

#[test]
fn counts_with_conditions_have_bounds_and_limits() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("SELECT 1", "OK"),
            ("SET a 1", "OK"),
            ("SET b 22", "OK"),
            ("SET c 3", "OK"),
            ("RI.COUNT [a [c WHERE 0 u8 greater 48", "3"),
            ("RI.COUNT (a (c WHERE 0 u8 greater 48", "1"),
            ("RI.COUNT [b + where 0 U8 GREATER 50", "1"),
            ("RI.COUNT - + WHERE 1 u8 greater 0", "1"),
            (
                "RI.COUNT + - WHERE 0 u8 greater 0",
                "!ERR A bound is `-` (the first key), `+` (the last), \
                `[key` (included) or `(key` (excluded).",
            ),
            ("RI.COUNT - + WHERE", "!ERR syntax error"),
            ("RI.COUNT - + WHERE 0 u8", "!ERR syntax error"),
            ("RI.COUNT - + OFFSET 1", "!ERR syntax error"),
            ("RI.COUNT - + WHERE 0 u8 greater 0 OFFSET 1", "!ERR syntax error"),
            ("RI.COUNT - + WHERE -1 u8 greater 0", "!ERR value is not an integer or out of range"),
            ("MULTI", "OK"),
            ("RI.COUNT - +", "QUEUED"),
            ("RI.COUNT - + WHERE 0 u8 greater 0", "QUEUED"),
            ("RI.COUNT [b +", "QUEUED"),
            ("EXEC", "[3 !ERR RI.COUNT with WHERE is not allowed inside a transaction 2]"),
            ("SELECT 0", "OK"),
        ],
    );
    for conditions in
        ["0 u8 add 1", "0 u8 greater", "0 u8 greater 1 2", "0 u8 greater x", "0 u8 greater 0 SNAPSHOT 0"]
    {
        let error = client.reply_text(&format!("RI.COUNT - + WHERE {conditions}"));
        assert!(error.starts_with("!ERR"), "{conditions}: {error}");
    }
    let unordered = client.reply_text("RI.COUNT - + WHERE 0 u8 greater 0");
    assert!(unordered.starts_with("!ERR database 0 is unordered"), "{unordered}");
}

#[test]
fn invalid_and_large_filters_of_ranges_are_limited() {
    let running = start();
    let mut client = Client::connect(&running);
    client.reply_to("SELECT 1");
    let count = "!ERR invalid count: allowed are 1 to 1024";
    dialogue(
        &mut client,
        &[
            ("RI.TOP - + 0 u8", count),
            ("RI.TOP - + 1 u8", "[]"),
            ("RI.TOP - + 1024 u8", "[]"),
            ("RI.TOP - + 1025 u8", count),
            ("RI.FILTER - + 1025 WHERE 0 u8 less 9", count),
            ("RI.FILTER - + 1024 WHERE 0 u8 less 9", "[]"),
            ("RI.FILTER - + 1 OFFSET 1 WHERE 0 u8 less 9", "!ERR syntax error"),
            ("RI.FILTER - + 1 WHERE 0 u8", "!ERR wrong number of arguments for 'ri.filter' command"),
            ("RI.TOP - + 1 u9", "!ERR unknown type: allowed are u8 to u64, i8 to i64, f32 and f64"),
            ("MULTI", "OK"),
            ("RI.TOP - + 1 u8", "!ERR Command not allowed inside a transaction"),
            ("RI.FILTER - + 1 WHERE 0 u8 less 9", "!ERR Command not allowed inside a transaction"),
            ("DISCARD", "OK"),
        ],
    );
    // Four values of 400 KiB: two fit into a reply. A value that is longer than a reply is returned alone.
    for key in ["a", "b", "c", "d"] {
        client.reply_text(&format!("SETRANGE {key} 409599 x"));
    }
    client.reply_text("SETRANGE e 2097151 x");
    let mut lengths = |line: &str| match client.reply_to(line) {
        Reply::Array(items) => items.len() / 2,
        other => panic!("{}", show(&other)),
    };
    assert_eq!(lengths("RI.FILTER - + 1024 WHERE 0 u8 less 9"), 2);
    assert_eq!(lengths("RI.FILTER (b + 1024 WHERE 0 u8 less 9"), 2);
    assert_eq!(lengths("RI.FILTER (d + 1024 WHERE 0 u8 less 9"), 1);
    assert_eq!(lengths("RI.FILTER (e + 1024 WHERE 0 u8 less 9"), 0);
    assert_eq!(lengths("RI.TOP - + 1024 u8"), 2);
    client.reply_to("SELECT 0");
    assert!(client.reply_text("RI.TOP - + 1 u8").starts_with("!ERR database 0 is unordered"));
}

/// The memory of a pair, of the databases, and in the metrics.
#[test]
fn memory_is_reported() {
    let running = start();
    let mut client = Client::connect(&running);
    // A stored value has a byte before its bytes: 2 + 1 + 2 bytes fit into one slot of 6.4 bytes.
    let long = "x".repeat(100);
    dialogue(
        &mut client,
        &[
            ("SET k1 v1", "OK"),
            ("MEMORY USAGE k1", "7"),
            ("SET k1 v12", "OK"),
            ("MEMORY USAGE k1", "13"),
            (&format!("SET k1 {long}"), "OK"),
            ("MEMORY USAGE k1", "135"),
            ("MEMORY USAGE absent", "nil"),
            ("SET k2 v2", "OK"),
        ],
    );
    let info = client.reply_text("INFO unordered");
    let line = info.split("\\r\\n").find(|line| line.starts_with("unordered_db0:")).unwrap();
    let numbers: BTreeMap<&str, u64> = line["unordered_db0:".len()..]
        .split(',')
        .map(|field| field.split_once('=').unwrap())
        .map(|(name, number)| (name, number.parse().unwrap()))
        .collect();
    assert_eq!(numbers["used_slots"], 2, "{line}");
    assert!(numbers["bucket_bytes"] >= 64 * numbers["buckets"], "{line}");
    assert!(numbers["slab_bytes"] >= numbers["free_slab_bytes"] + 128, "{line}");
    assert!(info.contains("unordered_db2:") && !info.contains("unordered_db1:"), "{info}");
}
