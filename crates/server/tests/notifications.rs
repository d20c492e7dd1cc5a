//! Keyspace notifications: their events, channels and patterns, and clients that do not read.
#![allow(missing_docs)]

mod common;

use std::time::{Duration, Instant};

use honeycomb_server::{Config, Notify};

use common::{Client, Running, dialogue, show, start_ticking, start_with};

fn start(letters: &str) -> Running {
    let notify = Notify::parse(letters).unwrap();
    start_with(Config { cores: 2, databases: 3, notify, ..Config::default() })
}

/// Returns a client that receives all events, as `database event key`.
fn subscriber(running: &Running) -> Client {
    let mut client = Client::connect(running);
    assert_eq!(client.reply_text("PSUBSCRIBE __keyevent@*"), "['psubscribe' '__keyevent@*' 1]");
    client
}

fn events(client: &mut Client, count: usize) -> Vec<String> {
    let event = |_| {
        let message = show(&client.receive());
        let rest = message.strip_prefix("['pmessage' '__keyevent@*' '__keyevent@").unwrap_or(&message);
        rest.replace("__:", " ").replace(['\'', ']'], "")
    };
    (0..count).map(event).collect()
}

#[test]
fn every_change_is_an_event_with_the_name_of_redis() {
    let running = start("EA");
    let (mut watcher, mut client) = (subscriber(&running), Client::connect(&running));
    let cases: &[(&str, &[&str])] = &[
        ("SET a 1", &["0 set a"]),
        ("SET a 1 EX 100", &["0 set a", "0 expire a"]),
        ("SETNX a 2", &[]),
        ("INCR a", &["0 incrby a"]),
        ("INCRBYFLOAT a 0.5", &["0 incrbyfloat a"]),
        ("APPEND a x", &["0 append a"]),
        ("SETRANGE a 0 y", &["0 setrange a"]),
        ("SETBIT bits 3 1", &["0 setbit bits"]),
        ("EXPIRE a 50", &["0 expire a"]),
        ("PERSIST a", &["0 persist a"]),
        ("GETEX a EX 9", &["0 expire a"]),
        ("GETEX a PERSIST", &["0 persist a"]),
        ("GETEX a PERSIST", &[]),
        ("GETEX a", &[]),
        ("SET n 1 EX 100", &["0 set n", "0 expire n"]),
        ("SET n 2 KEEPTTL", &["0 set n"]),
        ("MSETEX 1 n 3 KEEPTTL", &["0 set n"]),
        ("MSETEX 1 n 3 EX 9", &["0 set n", "0 expire n"]),
        ("SET past 1 EXAT 1", &["0 set past", "0 expire past", "0 expired past"]),
        ("GETEX n EXAT 1", &["0 del n"]),
        ("BITOP OR nothing absent", &[]),
        ("BITOP OR bits absent", &["0 del bits"]),
        ("MSET b 1 c 2", &["0 set b", "0 set c"]),
        ("RENAME b d", &["0 rename_from b", "0 rename_to d"]),
        ("COPY d e", &["0 copy_to e"]),
        ("MOVE e 1", &["0 move_from e", "1 move_to e"]),
        ("GETDEL d", &["0 del d"]),
        ("DEL nothing c", &["0 del c"]),
        ("EXPIRE a -1", &["0 del a"]),
        ("GET a", &[]),
    ];
    for (line, expected) in cases {
        let reply = client.reply_text(line);
        assert!(!reply.starts_with('!'), "{line}: {reply}");
        let mut found = events(&mut watcher, expected.len());
        // Events of one command have no order.
        found.sort();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{line}");
    }
    // The last command before this one had no event too many.
    client.reply_to("SET last 1");
    assert_eq!(events(&mut watcher, 1), ["0 set last"]);
}

#[test]
fn transactions_and_pipelines_have_the_events_of_their_commands() {
    let running = start("EA");
    let (mut watcher, mut client) = (subscriber(&running), Client::connect(&running));
    client.send_bytes(b"SET a 1\r\nSET b 2\r\nINCR a\r\nMULTI\r\nSET c 3\r\nINCR c\r\nDEL b\r\nEXEC\r\n");
    (0..8).for_each(|_| drop(client.receive()));
    let expected = ["0 set a", "0 set b", "0 incrby a", "0 set c", "0 incrby c", "0 del b"];
    assert_eq!(events(&mut watcher, 6), expected);
    dialogue(&mut client, &[("WATCH a", "OK"), ("SET a 5", "OK"), ("MULTI", "OK")]);
    dialogue(&mut client, &[("SET d 1", "QUEUED"), ("EXEC", "nil"), ("SET e 1", "OK")]);
    assert_eq!(events(&mut watcher, 2), ["0 set a", "0 set e"], "EXEC has executed nothing");
}

#[test]
fn pairs_that_the_server_deletes_have_events() {
    let running = start("Kxe");
    let (mut watcher, mut client) = (Client::connect(&running), Client::connect(&running));
    watcher.reply_to("SUBSCRIBE __keyspace@0__:short");
    client.reply_to("PSETEX short 100 value");
    running.time.advance(200);
    assert_eq!(show(&watcher.receive()), "['message' '__keyspace@0__:short' 'expired']");
}

/// Also if a command replaces the pair before the server has deleted it.
#[test]
fn a_pair_that_expires_has_one_event() {
    let notify = Notify::parse("EA").unwrap();
    let config = Config { cores: 1, databases: 2, unordered: vec![1], notify, ..Config::default() };
    let running = start_ticking(config);
    let (mut watcher, mut client) = (subscriber(&running), Client::connect(&running));
    for (database, count) in [(0, 1), (1, 2)] {
        client.reply_to(&format!("SELECT {database}"));
        // The commands of one packet execute in one iteration, so the server deletes no pair in between.
        client.send_bytes(b"SET a 1 PX 1\r\nMSETNX a 2\r\nGET a\r\n");
        assert_eq!([(); 3].map(|()| show(&client.receive())), ["OK", "1", "'2'"]);
        let expected = ["set", "expire", "expired", "set"].map(|event| format!("{database} {event} a"));
        assert_eq!(events(&mut watcher, 4), expected);
        let info = client.reply_text("INFO stats");
        assert!(info.contains(&format!("expired_keys:{count}\\r")), "{info}");
    }
}

#[test]
fn the_parameter_selects_events_and_channels() {
    let running = start("");
    let (mut watcher, mut client) = (Client::connect(&running), Client::connect(&running));
    watcher.reply_to("PSUBSCRIBE *");
    let cases = [
        ("", vec![]),
        ("E", vec![]),
        ("A", vec![]),
        ("K$", vec!["__keyspace@0__:a' 'set'"]),
        ("KEg", vec!["__keyspace@0__:a' 'expire'", "__keyevent@0__:expire' 'a'"]),
    ];
    for (letters, expected) in cases {
        let set: [&[u8]; 4] = [b"CONFIG", b"SET", b"notify-keyspace-events", letters.as_bytes()];
        client.send(&set);
        assert_eq!(show(&client.receive()), "OK");
        client.reply_to("SET a 1 EX 100");
        for expected in expected {
            assert_eq!(show(&watcher.receive()), format!("['pmessage' '*' '{expected}]"), "{letters}");
        }
    }
    dialogue(&mut client, &[("CONFIG GET notify-keyspace-events", "['notify-keyspace-events' 'gKE']")]);
    assert!(client.reply_text("CONFIG SET notify-keyspace-events Km").contains("letters among"));
}

#[test]
fn subscriptions_end_and_have_a_limit() {
    let running = start("KEA");
    let (mut watcher, mut client) = (Client::connect(&running), Client::connect(&running));
    dialogue(
        &mut watcher,
        &[
            ("UNSUBSCRIBE", "['unsubscribe' nil 0]"),
            ("SUBSCRIBE __keyevent@0__:set", "['subscribe' '__keyevent@0__:set' 1]"),
            ("PSUBSCRIBE __key*", "['psubscribe' '__key*' 2]"),
            ("PING", "['pong' '']"),
            ("PUNSUBSCRIBE other", "['punsubscribe' 'other' 2]"),
            ("PUNSUBSCRIBE", "['punsubscribe' '__key*' 1]"),
        ],
    );
    assert!(watcher.reply_text("GET a").contains("allowed in this context"));
    client.reply_to("SET a 1");
    assert_eq!(show(&watcher.receive()), "['message' '__keyevent@0__:set' 'a']");
    dialogue(&mut watcher, &[("UNSUBSCRIBE", "['unsubscribe' '__keyevent@0__:set' 0]"), ("GET a", "'1'")]);
    // Clients of RESP3 execute all commands.
    watcher.reply_to("HELLO 3");
    watcher.reply_to("SUBSCRIBE __keyevent@0__:del");
    assert_eq!(watcher.reply_text("GET a"), "'1'");
    client.reply_to("DEL a");
    assert_eq!(show(&watcher.receive()), "['message' '__keyevent@0__:del' 'a']");
    for number in 2..=1000 {
        assert!(watcher.reply_text(&format!("SUBSCRIBE channel{number}")).ends_with(&format!("{number}]")));
    }
    assert!(watcher.reply_text("SUBSCRIBE one-more").contains("at most 1000 are allowed"));
    assert!(watcher.reply_text("SUBSCRIBE channel7").ends_with("1000]"), "it has this one");
    // A command beyond the limit adds no subscription.
    assert!(watcher.reply_text("UNSUBSCRIBE channel7").ends_with(" 999]"));
    assert!(watcher.reply_text("SUBSCRIBE new newer").contains("at most 1000 are allowed"));
    assert_eq!(watcher.reply_text("SUBSCRIBE new new"), "['subscribe' 'new' 1000]");
    assert_eq!(show(&watcher.receive()), "['subscribe' 'new' 1000]");
    let names: Vec<_> = (0..1001).map(|number| number.to_string()).collect();
    let mut greedy = Client::connect(&running);
    assert!(greedy.reply_text(&format!("SUBSCRIBE {}", names.join(" "))).contains("at most 1000"));
    assert_eq!(greedy.reply_text("GET a"), "nil", "it has no subscriptions");
    assert_eq!(watcher.reply_text("RESET"), "RESET");
    client.reply_to("SET b 1");
    assert_eq!(watcher.reply_text("PING"), "PONG");
}

/// A client that does not read is disconnected, and the others go on.
#[test]
fn a_client_that_does_not_read_is_disconnected() {
    let running = start("EA");
    let (silent, mut client) = (subscriber(&running), Client::connect(&running));
    let key = vec![b'k'; 400];
    let start = Instant::now();
    let mut is_connected = true;
    while is_connected {
        for _ in 0..1000 {
            client.send(&[b"SET", &key, b"value"]);
        }
        (0..1000).for_each(|_| assert_eq!(show(&client.receive()), "OK"));
        let address = silent.socket.local_addr().unwrap().to_string();
        is_connected = client.reply_text("CLIENT LIST").contains(&address);
        assert!(start.elapsed() < Duration::from_secs(60), "the client stays connected");
    }
}

/// A transaction that does not commit sends no message.
#[test]
fn messages_of_a_failed_commit_are_not_sent() {
    let running = start("");
    let [mut subscriber, mut client] = [(); 2].map(|()| Client::connect(&running));
    subscriber.reply_to("SUBSCRIBE news");
    dialogue(&mut client, &[("MULTI", "OK"), ("PUBLISH news lost", "QUEUED")]);
    // More than the memory of the store.
    for key in 0..6 {
        assert_eq!(client.reply_text(&format!("SETRANGE {key} 15000000 x")), "QUEUED");
    }
    let reply = client.reply_text("EXEC");
    assert!(reply.starts_with("!OOM"), "{reply}");
    assert_eq!(client.reply_text("PUBLISH news sent"), "1");
    assert_eq!(show(&subscriber.receive()), "['message' 'news' 'sent']");
}

/// Messages have a limit, and one that matches many patterns of a client takes no more than its queue.
#[test]
fn messages_are_limited_and_many_patterns_do_not_multiply_them() {
    const BYTES_MAX: usize = 1 << 20;
    let running = start("");
    let [mut greedy, mut modest, mut client] = [(); 3].map(|()| Client::connect(&running));
    for pattern in 0..1000 {
        greedy.send(&[
            b"PSUBSCRIBE",
            format!("{}*", "?".repeat(pattern % 4) + &"*".repeat(pattern)).as_bytes(),
        ]);
        greedy.receive();
    }
    modest.reply_to("SUBSCRIBE news");
    let mut publish = |bytes: usize| {
        client.send(&[b"PUBLISH", b"news", &vec![b'm'; bytes - b"news".len()]]);
        show(&client.receive())
    };
    let refused =
        format!("!ERR message and channel of {} bytes: at most {BYTES_MAX} are allowed", BYTES_MAX + 1);
    assert_eq!(publish(BYTES_MAX + 1), refused);
    assert_eq!(publish(BYTES_MAX), "1001");
    assert!(show(&modest.receive()).len() > BYTES_MAX);
    assert_eq!(publish(BYTES_MAX - 1), "1", "the server has disconnected the client with the patterns");
    assert!(show(&modest.receive()).len() > BYTES_MAX - 100);
}

/// Messages of clients reach channels and patterns, in a transaction after its commit.
#[test]
fn messages_reach_channels_and_patterns() {
    let running = start("");
    let [mut by_name, mut by_pattern, mut client] = [(); 3].map(|()| Client::connect(&running));
    by_name.reply_to("SUBSCRIBE news other");
    by_name.receive();
    by_pattern.reply_to("PSUBSCRIBE n* ne?s");
    by_pattern.receive();
    dialogue(
        &mut client,
        &[
            ("PUBLISH x nobody", "0"),
            ("PUBLISH news hello", "3"),
            ("MULTI", "OK"),
            ("PUBLISH other inside", "QUEUED"),
            ("SET a 1", "QUEUED"),
            ("EXEC", "[1 OK]"),
            ("PUBSUB CHANNELS", "['news' 'other']"),
            ("PUBSUB CHANNELS o*", "['other']"),
            ("PUBSUB NUMSUB news x", "['news' 1 'x' 0]"),
            ("PUBSUB NUMSUB", "[]"),
            ("PUBSUB NUMPAT", "2"),
            ("PUBSUB CHANNELS a b", "!ERR wrong number of arguments for 'pubsub|channels' command"),
            ("PUBSUB WRONG", "!ERR unknown subcommand 'WRONG'. Try PUBSUB HELP."),
            ("PUBLISH news", "!ERR wrong number of arguments for 'publish' command"),
        ],
    );
    let received = |client: &mut Client| show(&client.receive());
    assert_eq!(received(&mut by_name), "['message' 'news' 'hello']");
    assert_eq!(received(&mut by_name), "['message' 'other' 'inside']");
    let mut patterns = [received(&mut by_pattern), received(&mut by_pattern)];
    patterns.sort();
    assert_eq!(patterns, ["['pmessage' 'n*' 'news' 'hello']", "['pmessage' 'ne?s' 'news' 'hello']"]);
    let list = client.reply_text("CLIENT LIST TYPE pubsub");
    assert_eq!(list.matches("flags=P").count(), 2, "{list}");
    assert!(list.contains("sub=2 psub=0") && list.contains("sub=0 psub=2"), "{list}");
    assert!(!client.reply_text("CLIENT LIST TYPE normal").contains("flags=P"));
    let info = client.reply_text("INFO stats");
    assert!(info.contains("pubsub_channels:2") && info.contains("pubsub_patterns:2"), "{info}");
    // A transaction that was not committed sends nothing.
    let mut other = Client::connect(&running);
    dialogue(&mut client, &[("WATCH a", "OK"), ("MULTI", "OK"), ("PUBLISH news lost", "QUEUED")]);
    other.reply_to("SET a 2");
    assert_eq!(client.reply_text("EXEC"), "nil");
    assert_eq!(client.reply_text("PUBLISH news kept"), "3");
    assert_eq!(received(&mut by_name), "['message' 'news' 'kept']");
}
