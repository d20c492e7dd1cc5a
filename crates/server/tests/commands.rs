//! The replies of commands.
#![allow(missing_docs)]

mod common;

use common::{Client, dialogue, start};

/// Commands that the server must have. It has others, too.
const COMMANDS: &[&str] = &[
    "HELLO AUTH PING ECHO SELECT GET SET GETDEL GETEX DEL EXISTS MGET MSET MSETNX INCR DECR INCRBY DECRBY",
    "APPEND STRLEN GETRANGE SETRANGE EXPIRE PEXPIRE TTL PTTL PERSIST TYPE DBSIZE FLUSHDB KEYS SCAN MULTI",
    "EXEC DISCARD WATCH UNWATCH INFO CONFIG COMMAND CLIENT RESET QUIT MEMORY OBJECT SLOWLOG",
    "RI.SCAN RI.RANGE RI.DELRANGE RI.COUNT RI.SNAPSHOT",
];

#[test]
fn all_required_commands_exist_and_are_documented() {
    let running = start();
    let mut client = Client::connect(&running);
    let names = client.reply_text("COMMAND LIST");
    for name in COMMANDS.iter().flat_map(|line| line.split(' ')) {
        assert!(names.contains(&format!("'{}'", name.to_lowercase())), "{name} in {names}");
        let documentation = client.reply_text(&format!("COMMAND DOCS {name}"));
        assert!(
            documentation.contains("'summary'") && documentation.contains("'usage'"),
            "{name}: {documentation}"
        );
    }
}

#[test]
fn strings() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("GET a", "nil"),
            ("SET a 1", "OK"),
            ("get a", "'1'"),
            ("SET a 2 NX", "nil"),
            ("SET b 2 XX", "nil"),
            ("SET a 3 XX GET", "'1'"),
            ("SET a 4 NX GET", "'3'"),
            ("SET c 4 NX GET", "nil"),
            ("GET c", "'4'"),
            ("SET a 5 IFEQ 9", "nil"),
            ("SET a 5 IFEQ 3", "OK"),
            ("SET a 1 NX XX", "!ERR syntax error"),
            ("SET a 1 EX", "!ERR syntax error"),
            ("SET a 1 EX x", "!ERR value is not an integer or out of range"),
            ("SET a 1 EX 0", "!ERR invalid expire time in 'set' command"),
            ("SETNX a 1", "0"),
            ("SETNX d 1", "1"),
            ("GETSET d 2", "'1'"),
            ("GETDEL d", "'2'"),
            ("GETDEL d", "nil"),
            ("MSET x 1 y 2", "OK"),
            ("MSET x 1 y", "!ERR wrong number of arguments for 'mset' command"),
            ("MGET x nothing y", "['1' nil '2']"),
            ("MSETNX z 1 y 3", "0"),
            ("MSETNX z 1 w 3", "1"),
            ("APPEND w 45", "3"),
            ("APPEND new 45", "2"),
            ("STRLEN w", "3"),
            ("STRLEN nothing", "0"),
            ("GETRANGE w 1 -1", "'45'"),
            ("SETRANGE w 5 x", "6"),
            ("GET w", "'345\\x00\\x00x'"),
            ("SETRANGE w -1 x", "!ERR offset is out of range"),
            ("SETRANGE w 536870912 x", "!ERR string exceeds maximum allowed size (16777207 bytes)"),
        ],
    );
}

#[test]
fn encoding_and_memory_usage_of_pairs() {
    let running = start();
    let long = "x".repeat(469);
    dialogue(
        &mut Client::connect(&running),
        &[
            ("OBJECT ENCODING a", "nil"),
            ("MEMORY USAGE a", "nil"),
            ("MSET a -12 b word c 012", "OK"),
            ("OBJECT ENCODING a", "'int'"),
            ("object encoding b", "'embstr'"),
            ("OBJECT ENCODING c", "'embstr'"),
            (&format!("SET d {long} EX 100"), "OK"),
            ("OBJECT ENCODING d", "'raw'"),
            ("OBJECT REFCOUNT a", "1"),
            ("OBJECT IDLETIME a", "0"),
            ("OBJECT FREQ nothing", "nil"),
            ("OBJECT ENCODING", "!ERR wrong number of arguments for 'object|encoding' command"),
            ("OBJECT LOOKS a", "!ERR unknown subcommand 'LOOKS'. Try OBJECT HELP."),
            ("MEMORY USAGE a", "9"),
            ("MEMORY USAGE b SAMPLES 0", "10"),
            ("MEMORY USAGE b SAMPLES -1", "!ERR syntax error"),
            ("MEMORY USAGE b SAMPLES", "!ERR syntax error"),
            ("MEMORY USAGE d", "527"),
            ("MEMORY NOTHING", "!ERR unknown subcommand 'NOTHING'. Try MEMORY HELP."),
            ("OBJECT", "!ERR wrong number of arguments for 'object' command"),
            ("MULTI", "OK"),
            ("MEMORY USAGE a", "QUEUED"),
            ("OBJECT ENCODING b", "QUEUED"),
            ("EXEC", "[9 'embstr']"),
        ],
    );
}

#[test]
fn a_get_is_a_use_of_its_pair() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(&mut client, &[("MSET a 1 b 2 c 3", "OK"), ("OBJECT IDLETIME a", "0")]);
    running.time.advance(9000);
    // A use is recorded with the time of the previous event-loop iteration.
    client.reply_to("PING");
    dialogue(
        &mut client,
        &[
            ("GET a", "'1'"),
            ("CLIENT NO-TOUCH on", "OK"),
            ("GET b", "'2'"),
            ("OBJECT IDLETIME a", "0"),
            ("OBJECT IDLETIME b", "9"),
            ("CLIENT NO-TOUCH off", "OK"),
            ("GET c", "'3'"),
            ("OBJECT IDLETIME c", "0"),
        ],
    );
}

#[test]
fn numbers() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("INCR n", "1"),
            ("INCRBY n 41", "42"),
            ("DECR n", "41"),
            ("DECRBY n 50", "-9"),
            ("GET n", "'-9'"),
            ("SET n 9223372036854775807", "OK"),
            ("INCR n", "!ERR increment or decrement would overflow"),
            ("DECRBY n -9223372036854775808", "!ERR decrement would overflow"),
            ("SET n x", "OK"),
            ("INCR n", "!ERR value is not an integer or out of range"),
            ("INCRBY n 1.5", "!ERR value is not an integer or out of range"),
        ],
    );
}

#[test]
fn pairs_expire() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("SET a 1 PX 1500", "OK"),
            ("PTTL a", "1500"),
            ("TTL a", "2"),
            ("TTL nothing", "-2"),
            ("SET b 1", "OK"),
            ("TTL b", "-1"),
            ("APPEND a 2", "2"),
            ("PTTL a", "1500"),
            ("SET a 3 KEEPTTL", "OK"),
            ("PTTL a", "1500"),
            ("EXPIRE b 100", "1"),
            ("EXPIRE b 50 GT", "0"),
            ("EXPIRE b 200 GT", "1"),
            ("EXPIRE b 300 NX", "0"),
            ("EXPIRE b 100 XX LT", "1"),
            ("EXPIRE nothing 1", "0"),
            ("EXPIRE b 1 YY", "!ERR Unsupported option YY"),
            ("EXPIRE b 9223372036854775807", "!ERR invalid expire time in 'expire' command"),
            ("TTL b", "100"),
            ("PERSIST b", "1"),
            ("PERSIST b", "0"),
            ("GETEX b EX 7", "'1'"),
            ("TTL b", "7"),
            ("GETEX b PERSIST", "'1'"),
            ("TTL b", "-1"),
        ],
    );
    running.time.advance(1499);
    dialogue(&mut client, &[("GET a", "'3'"), ("EXISTS a b", "2")]);
    running.time.advance(1);
    dialogue(
        &mut client,
        &[
            ("GET a", "nil"),
            ("EXISTS a b", "1"),
            ("DEL a", "0"),
            ("KEYS *", "['b']"),
            ("INCR a", "1"),
            ("TTL a", "-1"),
            ("EXPIRE a -1", "1"),
            ("GET a", "nil"),
            ("SET a 1 PXAT 1", "OK"),
            ("GET a", "nil"),
        ],
    );
}

#[test]
fn expired_pairs_are_deleted_in_the_background() {
    let running = start();
    let mut client = Client::connect(&running);
    for number in 0..600 {
        client.reply_to(&format!("SET key{number} value PX 5"));
    }
    client.reply_to("SET lasting value");
    assert_eq!(running.store.table("0").unwrap().pair_count(), 601);
    let began = std::time::Instant::now();
    while running.store.table("0").unwrap().pair_count() > 1 {
        running.time.advance(20);
        client.reply_to("PING");
        assert!(began.elapsed().as_secs() < 20);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(client.reply_text("GET lasting"), "'value'");
}

#[test]
fn keys() {
    let running = start();
    dialogue(
        &mut Client::connect(&running),
        &[
            ("MSET user:1 a user:2 b admin c", "OK"),
            ("TYPE user:1", "string"),
            ("TYPE nothing", "none"),
            ("EXISTS user:1 user:1 nothing", "2"),
            ("DBSIZE", "3"),
            ("KEYS user:*", "['user:1' 'user:2']"),
            ("KEYS *[m2]*", "['admin' 'user:2']"),
            ("SELECT 1", "OK"),
            ("DBSIZE", "0"),
            ("SELECT 16", "!ERR DB index is out of range"),
            ("SELECT 0", "OK"),
            ("DEL user:1 user:1 nothing", "1"),
            ("UNLINK admin", "1"),
            ("FLUSHDB", "OK"),
            ("DBSIZE", "0"),
            ("NOSUCH a", "!ERR unknown command 'NOSUCH'"),
            ("GET\0 a", "!ERR unknown command 'GET\0'"),
            ("GET", "!ERR wrong number of arguments for 'get' command"),
        ],
    );
}

#[test]
fn a_scan_returns_every_key_once() {
    let running = start();
    let mut client = Client::connect(&running);
    for number in 0..57 {
        client.reply_to(&format!("SET key{number:02} {number}"));
    }
    let (mut cursor, mut keys) = ("0".to_owned(), Vec::new());
    loop {
        let page = client.reply_text(&format!("SCAN {cursor} MATCH key* COUNT 10"));
        let (next, page_keys) = page[2..page.len() - 2].split_once("' [").unwrap();
        keys.extend(page_keys.split_whitespace().map(str::to_owned));
        cursor = next.to_owned();
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(keys, (0..57).map(|number| format!("'key{number:02}'")).collect::<Vec<_>>());
    dialogue(&mut client, &[("SCAN 99", "!ERR invalid cursor"), ("SCAN x", "!ERR invalid cursor")]);
}

#[test]
fn ranges() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("MSET a 1 c 3 e 5 g 7", "OK"),
            ("RI.SCAN b", "['c' '3' 'e' '5' 'g' '7']"),
            ("RI.SCAN b FLOOR COUNT 2 FIELDS KEY", "['a' 'c']"),
            ("RI.SCAN d REVERSE", "['c' '3' 'a' '1']"),
            ("RI.RANGE [a (e FIELDS VALUE", "['1' '3']"),
            ("RI.RANGE - + FIELDS KEY REVERSE COUNT 3", "['g' 'e' 'c']"),
            ("RI.COUNT (a +", "3"),
            (
                "RI.RANGE a b",
                "!ERR A bound is `-` (the first key), `+` (the last), `[key` (included) or `(key` \
                              (excluded).",
            ),
            ("RI.SCAN a COUNT 0", "!ERR value is not an integer or out of range"),
            ("RI.SCAN a FLOOR REVERSE", "!ERR syntax error"),
            ("RI.SNAPSHOT TAKE", "0"),
            ("RI.DELRANGE [c [e", "2"),
            ("RI.RANGE - + FIELDS KEY", "['a' 'g']"),
            ("RI.RANGE - + FIELDS KEY SNAPSHOT 0", "['a' 'c' 'e' 'g']"),
            ("RI.COUNT - + SNAPSHOT 0", "4"),
            ("RI.SNAPSHOT DROP 0", "OK"),
            ("RI.SCAN a SNAPSHOT 0", "!ERR snapshot too old: its lease has ended"),
            ("PEXPIRE a 5", "1"),
            ("SET b 2", "OK"),
        ],
    );
    running.time.advance(5);
    dialogue(
        &mut client,
        &[
            ("RI.SCAN a COUNT 1", "['b' '2']"),
            ("RI.SCAN f FLOOR FIELDS KEY", "['b' 'g']"),
            ("RI.SCAN aa FLOOR FIELDS KEY", "['b' 'g']"),
        ],
    );
}

#[test]
fn transactions() {
    let running = start();
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    dialogue(
        &mut client,
        &[
            ("EXEC", "!ERR EXEC without MULTI"),
            ("MULTI", "OK"),
            ("MULTI", "!ERR MULTI calls can not be nested"),
            ("DISCARD", "OK"),
            ("MULTI", "OK"),
            ("SET a 1", "QUEUED"),
            ("INCR a", "QUEUED"),
            ("GET a", "QUEUED"),
            ("SET b x", "QUEUED"),
            ("INCR b", "QUEUED"),
            ("DEL b", "QUEUED"),
            ("GET b", "QUEUED"),
            ("PING", "QUEUED"),
            ("ECHO b", "QUEUED"),
            ("EXEC", "[OK 2 '2' OK !ERR value is not an integer or out of range 1 nil PONG 'b']"),
            ("MULTI", "OK"),
            ("DBSIZE", "QUEUED"),
            ("DISCARD", "OK"),
            ("GET a", "'2'"),
            ("MULTI", "OK"),
            ("NOSUCH", "!ERR unknown command 'NOSUCH'"),
            ("SET a 9", "QUEUED"),
            ("EXEC", "!EXECABORT Transaction discarded because of previous errors."),
            ("WATCH a nothing", "OK"),
        ],
    );
    other.reply_to("SET a 3");
    dialogue(&mut client, &[("MULTI", "OK"), ("SET a 4", "QUEUED"), ("EXEC", "nil"), ("GET a", "'3'")]);
    client.reply_to("WATCH a nothing");
    for number in 0..200 {
        other.reply_to(&format!("SET filler{number} {number}"));
    }
    dialogue(&mut client, &[("MULTI", "OK"), ("SET a 4", "QUEUED"), ("EXEC", "[OK]"), ("GET a", "'4'")]);
    client.reply_to("WATCH a");
    other.reply_to("SET a 5");
    dialogue(&mut client, &[("UNWATCH", "OK"), ("MULTI", "OK"), ("GET a", "QUEUED"), ("EXEC", "['5']")]);
}

#[test]
fn connection_and_server_commands() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("PING", "PONG"),
            ("PING hello", "'hello'"),
            ("ECHO hello", "'hello'"),
            ("CLIENT SETNAME me", "OK"),
            ("CLIENT GETNAME", "'me'"),
            ("CLIENT NOSUCH", "!ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP."),
            (
                "COMMAND INFO get nosuch",
                "[['get' 2 [readonly fast] 1 1 1 [@read @string @fast] [] [['flags' [RO access] \
                 'begin_search' ['type' 'index' 'spec' ['index' 1]] 'find_keys' ['type' 'range' 'spec' \
                 ['lastkey' 0 'keystep' 1 'limit' 0]]]] []] nil]",
            ),
            ("CONFIG GET data*", "['databases' '16']"),
            ("HELLO 4", "!NOPROTO unsupported protocol version"),
        ],
    );
    assert!(client.reply_text("INFO").contains("# Keyspace"));
    assert!(!client.reply_text("INFO server").contains("# Keyspace"));
    assert!(client.reply_text("CLIENT LIST").contains("name=me"));
    let hello = client.reply_text("HELLO 3");
    assert!(hello.starts_with("{'server': 'honeycomb'") && hello.contains("'proto': 3"), "{hello}");
    dialogue(&mut client, &[("GET nothing", "nil"), ("CONFIG GET databases", "{'databases': '16'}")]);
    dialogue(&mut client, &[("RESET", "RESET"), ("CONFIG GET databases", "['databases' '16']")]);
}

/// Replies that were compared with those of a Redis server.
#[test]
fn option_errors_match_those_of_redis() {
    let running = start();
    let lines = [
        ("SET k v NX NX EX 10 EX 1000", "OK"),
        ("GETEX k PERSIST PERSIST", "'v'"),
        ("SET k v EX none SOON", "!ERR syntax error"),
        ("GETEX absent EX 0", "nil"),
        ("GETEX k EX 0", "!ERR invalid expire time in 'getex' command"),
        ("EXPIRE k 1000 NX XX", "!ERR NX and XX, GT or LT options at the same time are not compatible"),
        ("EXPIRE k 1000 GT LT", "!ERR GT and LT options at the same time are not compatible"),
        ("EXPIRE k none SOON", "!ERR Unsupported option SOON"),
        ("SETRANGE k 4294967296 ", "1"),
        ("SCAN 0 COUNT 100000", "['0' ['k']]"),
        ("FLUSHDB NOW", "!ERR syntax error"),
        ("FLUSHALL SYNC SYNC", "!ERR syntax error"),
        ("MULTI", "OK"),
        (
            "EXEC x",
            "!EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command",
        ),
        ("GET k", "'v'"),
        ("FLUSHDB SYNC", "OK"),
    ];
    dialogue(&mut Client::connect(&running), &lines);
}
