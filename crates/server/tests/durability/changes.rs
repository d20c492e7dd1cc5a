//! Streams of changes: polls, watches and old values.

use std::sync::Arc;

use honeycomb_protocol::resp::Reply;
use honeycomb_server::Config;
use honeycomb_store::{Storage, SyncPolicy};
use honeycomb_testing::{Kept, SimulatedDisk};

use crate::common::{self, Client, dialogue, open_durable as open, start_durable as start, start_with_store};
use crate::is_silent;

#[test]
fn changes_are_polled_from_any_version_of_the_log() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    let mut client = Client::connect(&running);
    let deadline = common::BEGIN + 100_000;
    dialogue(
        &mut client,
        &[
            ("SET a 1", "OK"),
            ("SET z 1", "OK"),
            (&format!("SET b 2 PXAT {deadline}"), "OK"),
            ("MULTI", "OK"),
            ("INCR a", "QUEUED"),
            ("DEL b", "QUEUED"),
            ("EXEC", "[2 1]"),
            ("RI.DELRANGE [a (c", "1"),
            ("SELECT 1", "OK"),
            ("SET a other", "OK"),
            ("SELECT 0", "OK"),
        ],
    );
    // The numbers of versions depend on what else the server writes.
    let reply = client.reply_text("RI.CHANGES [a (c 0");
    let (last, changes) = reply[1..reply.len() - 1].split_once(' ').unwrap();
    let words = changes.trim_matches(['[', ']']).split("] [").map(|change| change.split_once(' ').unwrap());
    let (versions, kinds): (Vec<u64>, Vec<&str>) =
        words.map(|(version, kind)| (version.parse::<u64>().unwrap(), kind)).unzip();
    let expected = [
        "'put' 'a' '1' -1",
        &format!("'put' 'b' '2' {deadline}"),
        "'put' 'a' '2' -1",
        "'delete' 'b'",
        "'delrange' '[a' '(c'",
    ];
    assert_eq!(kinds, expected, "{reply}");
    assert!(versions.is_sorted() && versions[2] == versions[3] && versions[1] < versions[2], "{reply}");
    assert!(last.parse::<u64>().unwrap() >= versions[4]);
    // From the version of the transaction on, and from the end on.
    let rest = client.reply_text(&format!("RI.CHANGES - + {}", versions[3]));
    assert!(rest.contains("delrange") && !rest.contains("put"), "{rest}");
    dialogue(
        &mut client,
        &[
            (&format!("RI.CHANGES - + {last}"), &format!("[{last} []]")),
            (
                "RI.CHANGES - + -1",
                "!ERR invalid position: allowed are a version, and version:changes with a version of at \
                    least 1; $ is the newest version",
            ),
            ("RI.CHANGES a + 0", &client_error()),
            ("MULTI", "OK"),
        ],
    );
    assert!(client.reply_text("RI.CHANGES - + 0").starts_with("!ERR"));
    dialogue(&mut client, &[("DISCARD", "OK"), ("SAVE", "OK"), ("SET a 3", "OK")]);
    // Only the changes of the range are of interest to the next poll.
    assert!(client.reply_text(&format!("RI.CHANGES [a [a {last}")).contains("'put' 'a' '3' -1"));
    let newest = client.reply_text("RI.CHANGES - + $");
    assert!(newest.ends_with(" []]"), "{newest}");
}

#[test]
fn unordered_databases_have_a_stream_of_changes() {
    let storage: Arc<dyn Storage> = Arc::new(SimulatedDisk::default());
    let config = Config { cores: 1, databases: 2, unordered: vec![1], ..Config::default() };
    let running = start_with_store(config, open(storage, SyncPolicy::Always));
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[("SET a 0", "OK"), ("SELECT 1", "OK"), ("MSET a 1 b 2 c 3", "OK"), ("DEL a", "1")],
    );
    let reply = client.reply_text("RI.CHANGES [a (c 0");
    let kinds = ["'put' 'a' '1' -1", "'put' 'b' '2' -1", "'delete' 'a'"].map(|kind| reply.find(kind));
    assert!(kinds.iter().all(Option::is_some) && kinds[0] < kinds[2], "{reply}");
    assert!(!reply.contains("'c'") && !reply.contains("'0'"), "{reply}");
    running.server.stop().unwrap();
}

#[test]
fn changes_have_old_values_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { directory: Some(folder.path().to_owned()), old_values: true, ..Config::default() };
    let running = common::start_with_system_time(config);
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[("SET a 1", "OK"), ("SET a 2", "OK"), ("INCR a", "3"), ("DEL a", "1"), ("SET a 4", "OK")],
    );
    let reply = client.reply_text("RI.CHANGES - + 0");
    for expected in [
        "'put' 'a' '1' -1]",
        "'put' 'a' '2' -1 '1']",
        "'put' 'a' '3' -1 '2']",
        "'delete' 'a' '3']",
        "'4' -1]",
    ] {
        assert!(reply.contains(expected), "{expected} in {reply}");
    }
}

/// A client that requests old values gets them, nil for a key that was absent, or an error that names the
/// first version without.
#[test]
fn old_values_can_be_switched_on_and_off() {
    let config = Config { cores: 1, databases: 2, unordered: vec![1], ..Config::default() };
    let running = start_with_store(config, open(Arc::new(SimulatedDisk::default()), SyncPolicy::Always));
    let [mut client, mut watcher] = [(); 2].map(|()| Client::connect(&running));
    watcher.reply_to("HELLO 3");
    for database in ["SELECT 0", "SELECT 1"] {
        dialogue(&mut client, &[(database, "OK"), ("SET a 1", "OK"), ("SET d 1", "OK")]);
        watcher.reply_to(database);
        let unknown = client.reply_text("RI.CHANGES - + 0 OLD");
        assert!(unknown.starts_with("!ERR no old values in the log: old-values was off at"), "{unknown}");
        assert!(client.reply_text("RI.CHANGES - + 0").contains("'put' 'a' '1' -1]"));
        dialogue(&mut client, &[("CONFIG SET old-values yes", "OK")]);
        let last = running.store.read_version();
        dialogue(
            &mut client,
            &[("SET a 2", "OK"), ("SET b 1", "OK"), ("DEL a", "1"), ("MULTI", "OK"), ("SET a 4", "QUEUED")],
        );
        dialogue(&mut client, &[("INCR d", "QUEUED"), ("EXEC", "[OK 2]"), ("FLUSHDB", "OK")]);
        dialogue(&mut client, &[("CONFIG SET old-values no", "OK"), ("SET a 5", "OK"), ("SET c 5", "OK")]);
        let reply = client.reply_text(&format!("RI.CHANGES - + {last} OLD"));
        let expected = ["'put' 'a' '2' -1 '1']", "'put' 'b' '1' -1 nil]", "'delete' 'a' '2']"];
        for expected in expected.into_iter().chain(["'put' 'a' '4' -1 nil]", "'put' 'd' '2' -1 '1']"]) {
            assert!(reply.contains(expected), "{database}: {expected} in {reply}");
        }
        assert!(!reply.contains("'5'"), "{database}: {reply}");
        let next = reply[1..].split_once(' ').unwrap().0;
        let unknown = client.reply_text(&format!("RI.CHANGES - + {next} OLD"));
        let missing = next.parse::<u64>().unwrap() + 1;
        assert!(unknown.contains(&format!("at version {missing};")), "{database}: {unknown}");
        assert!(client.reply_text(&format!("RI.CHANGES - + {next}")).contains("'put' 'c' '5' -1]"));
        dialogue(&mut watcher, &[(&format!("RI.WATCH - + {last} OLD"), "OK")]);
        let mut message = common::show(&watcher.receive());
        while !message.contains("!ERR") {
            assert!(!message.contains("'5'"), "{database}: {message}");
            message = common::show(&watcher.receive());
        }
        assert!(message.contains("no old values in the log"), "{database}: {message}");
        dialogue(&mut watcher, &[("RESET", "RESET")]);
        watcher.reply_to("HELLO 3");
    }
    dialogue(&mut client, &[("RI.CHANGES - + 0 NEW", "!ERR syntax error")]);
    running.server.stop().unwrap();
}

#[test]
fn a_watch_receives_every_change_once_and_in_order() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    let (mut watcher, mut client) = (Client::connect(&running), Client::connect(&running));
    assert!(watcher.reply_text("RI.WATCH - + 0").starts_with("!ERR RI.WATCH needs RESP3"));
    watcher.reply_to("HELLO 3");
    dialogue(&mut client, &[("SET before 1", "OK"), ("SET other 1", "OK")]);
    dialogue(&mut watcher, &[("RI.WATCH [a (n 0", "OK")]);
    let mut seen = Vec::new();
    let mut receive = |watcher: &mut Client, count: usize| {
        while seen.len() < count {
            let message = common::show(&watcher.receive());
            assert!(message.starts_with("['ri.watch' "), "{message}");
            seen.extend(message.split("'put' ").skip(1).map(|change| {
                let words: Vec<_> = change.split(' ').collect();
                (words[0].to_owned(), words[1].to_owned())
            }));
        }
        std::mem::take(&mut seen)
    };
    assert_eq!(receive(&mut watcher, 1), [("'before'".to_owned(), "'1'".to_owned())]);
    // More than the queue of a watch and the buffers of a socket hold, while the client does not read.
    let value = "v".repeat(3000);
    for number in 0..3000 {
        client.send(&[b"SET", b"key", format!("{number:04}{value}").as_bytes()]);
        client.send(&[b"SET", b"zzz", b"not in the range"]);
        assert_eq!(common::show(&client.receive()), "OK");
        assert_eq!(common::show(&client.receive()), "OK");
    }
    let expected: Vec<_> = (0..3000).map(|number| format!("'{number:04}{value}'")).collect();
    let found = receive(&mut watcher, 3000);
    assert!(found.iter().map(|(_, value)| value).eq(&expected));
    // The connection executes other commands meanwhile.
    dialogue(&mut watcher, &[("GET before", "'1'"), ("RESET", "RESET")]);
    dialogue(&mut client, &[("SET before 2", "OK")]);
    assert!(is_silent(&mut watcher));
    // A version that the log does not hold ends the watch with an error.
    dialogue(&mut client, &[("SAVE", "OK"), ("SET before 3", "OK"), ("SAVE", "OK"), ("SET before 4", "OK")]);
    watcher.reply_to("HELLO 3");
    dialogue(&mut watcher, &[("RI.WATCH - + 1", "OK")]);
    let message = common::show(&watcher.receive());
    assert!(message.starts_with("['ri.watch' !ERR version too old"), "{message}");
    assert!(watcher.reply_text("RI.WATCH - + 1").starts_with("!ERR this client has a watch"));
}

/// A version with many changes arrives in parts, each of which a client can hold. A poll goes on at any of
/// their positions.
#[test]
fn a_long_version_arrives_in_parts() {
    const PAIRS: usize = 3000;
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    let (mut watcher, mut client) = (Client::connect(&running), Client::connect(&running));
    watcher.reply_to("HELLO 3");
    dialogue(&mut watcher, &[("RI.WATCH - + $", "OK")]);
    let after = running.store.read_version();
    let words = (0..PAIRS).flat_map(|number| [format!("key{number:04}"), "v".repeat(1000)]);
    let words: Vec<_> = ["MSET".to_owned()].into_iter().chain(words).collect();
    client.send(&words.iter().map(String::as_bytes).collect::<Vec<_>>());
    assert_eq!(common::show(&client.receive()), "OK");
    let expected: Vec<_> = (0..PAIRS).map(|number| format!("key{number:04}")).collect();
    let (mut polled, mut position, mut parts) = (Vec::new(), after.to_string(), 0);
    while polled.len() < PAIRS {
        let Reply::Array(reply) = client.reply_to(&format!("RI.CHANGES - + {position}")) else { panic!() };
        position = common::show(&reply[0]).trim_matches('\'').to_owned();
        polled.extend(put_keys(&reply[1]));
        parts += usize::from(position.contains(':'));
    }
    assert!(polled == expected && parts > PAIRS / 300, "{parts} parts");
    assert!(!position.contains(':'), "{position} is after the version");
    let mut pushed = Vec::new();
    while pushed.len() < PAIRS {
        let Reply::Array(message) = watcher.receive() else { panic!() };
        pushed.extend(put_keys(&message[2]));
    }
    assert!(pushed == expected);
    let unknown = client.reply_text(&format!("RI.CHANGES - + {}:9999", after + 1));
    assert!(unknown.starts_with("!ERR no such position: version "), "{unknown}");
}

/// Returns the keys of the puts in a part, which is not long.
fn put_keys(changes: &Reply) -> Vec<String> {
    let Reply::Array(changes) = changes else { panic!("{changes:?}") };
    assert!(changes.len() < 300, "{} changes", changes.len());
    let key = |change: &Reply| match change {
        Reply::Array(words) => common::show(&words[2]).trim_matches('\'').to_owned(),
        _ => panic!("{change:?}"),
    };
    changes.iter().map(key).collect()
}

/// A number has another table then: a stream would miss the changes of one table and get those of the other.
#[test]
fn a_swap_ends_the_streams_of_its_databases() {
    let disk = SimulatedDisk::default();
    let running = start(Arc::new(disk.clone()), SyncPolicy::Always);
    let [mut client, mut watcher, mut other] = [(); 3].map(|()| Client::connect(&running));
    watcher.reply_to("HELLO 3");
    other.reply_to("HELLO 3");
    dialogue(&mut client, &[("SET a 1", "OK")]);
    let before = running.store.read_version();
    dialogue(&mut watcher, &[("RI.WATCH - + $", "OK")]);
    dialogue(&mut other, &[("SELECT 2", "OK"), ("RI.WATCH - + $", "OK")]);
    // More than the queue of the watch and the buffers of the socket hold, so the watch sees the swap late.
    for _ in 0..16 {
        client.send(&[b"SET", b"long", &[b'v'; 1 << 20]]);
        assert_eq!(common::show(&client.receive()), "OK");
    }
    dialogue(&mut client, &[("SET b 1", "OK"), ("SWAPDB 0 1", "OK"), ("SET c 1", "OK"), ("SELECT 2", "OK")]);
    // The other number has the watched table now.
    dialogue(&mut client, &[("SET d 1", "OK"), ("SELECT 1", "OK"), ("SET e 1", "OK"), ("SELECT 0", "OK")]);
    let refused = client.reply_text(&format!("RI.CHANGES - + {before}"));
    let begin = "!ERR version too old: SWAPDB has given database 0 another table at version ";
    let swap: u64 = refused.strip_prefix(begin).unwrap().split(';').next().unwrap().parse().unwrap();
    let polled = client.reply_text(&format!("RI.CHANGES - + {swap}"));
    assert!(polled.contains("'c'") && !polled.contains("'b'"), "{polled}");
    // The watch gets all changes before the swap, and no later one.
    let mut messages = common::show(&watcher.receive());
    while !messages.contains("!ERR") {
        messages += &common::show(&watcher.receive());
    }
    assert!(messages.contains("'b'") && !messages.contains("'c'") && !messages.contains("'e'"), "{messages}");
    assert!(messages.contains(&refused), "{messages}");
    assert!(common::show(&other.receive()).contains("'d'"), "the table of its number is the same");
    // Two swaps that change nothing.
    let twice = [("MULTI", "OK"), ("SWAPDB 0 1", "QUEUED"), ("SWAPDB 1 0", "QUEUED"), ("EXEC", "[OK OK]")];
    dialogue(&mut client, &twice);
    assert!(client.reply_text(&format!("RI.CHANGES - + {swap}")).contains("'c'"));
    running.server.stop().unwrap();
    drop((client, watcher, other, running.store));
    let running = start(Arc::new(disk.after_power_cut(Kept::Nothing)), SyncPolicy::Always);
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text(&format!("RI.CHANGES - + {before}")), refused);
    assert!(client.reply_text(&format!("RI.CHANGES - + {swap}")).contains("'c'"));
    dialogue(&mut client, &[("SELECT 1", "OK")]);
    let refused = client.reply_text(&format!("RI.CHANGES - + {before}"));
    assert!(refused.contains("SWAPDB has given database 1 another table"), "{refused}");
    dialogue(&mut client, &[("SELECT 2", "OK")]);
    let others = client.reply_text(&format!("RI.CHANGES - + {before}"));
    assert!(!others.starts_with('!'), "{others}");
    running.server.stop().unwrap();
}

/// A client that has seen writes which a power cut has lost gets an error, not a silent gap.
#[test]
fn clients_learn_of_versions_that_do_not_exist() {
    let disk = SimulatedDisk::default();
    let before = start(Arc::new(disk.clone()), SyncPolicy::Never);
    let mut client = Client::connect(&before);
    dialogue(&mut client, &[("SET a 1", "OK")]);
    let mut seen = String::new();
    while !seen.contains("'put'") {
        seen = client.reply_text("RI.CHANGES - + 0");
    }
    let version = seen[1..].split_once(' ').unwrap().0;
    let running = start(Arc::new(disk.after_power_cut(Kept::Nothing)), SyncPolicy::Never);
    let [mut client, mut watcher] = [(); 2].map(|()| Client::connect(&running));
    dialogue(&mut client, &[("GET a", "nil"), ("SET a 2", "OK")]);
    let lost = "!ERR version lost: the log has no version after ";
    let reply = client.reply_text(&format!("RI.CHANGES - + {version}"));
    assert!(reply.starts_with(lost) && reply.ends_with("; read the table again"), "{reply}");
    watcher.reply_to("HELLO 3");
    dialogue(&mut watcher, &[(&format!("RI.WATCH - + {version}"), "OK")]);
    let message = common::show(&watcher.receive());
    assert!(message.starts_with(&format!("['ri.watch' {lost}")), "{message}");
    watcher.reply_to("RESET");
    watcher.reply_to("HELLO 3");
    for (client, command) in [(&mut client, "RI.CHANGES"), (&mut watcher, "RI.WATCH")] {
        let reply = client.reply_text(&format!("{command} - + {}", i64::MAX));
        assert!(reply.starts_with("!ERR version too new: 9223372036854775807 is above "), "{reply}");
    }
}

#[test]
fn the_choice_of_resp2_ends_a_watch() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    let (mut watcher, mut client) = (Client::connect(&running), Client::connect(&running));
    watcher.reply_to("HELLO 3");
    dialogue(&mut watcher, &[("RI.WATCH - + $", "OK")]);
    watcher.reply_to("HELLO 2");
    dialogue(&mut client, &[("SET a 1", "OK")]);
    assert!(is_silent(&mut watcher));
    watcher.reply_to("HELLO 3");
    dialogue(&mut watcher, &[("RI.WATCH - + $", "OK")]);
    running.server.stop().unwrap();
}

fn client_error() -> String {
    "!ERR A bound is `-` (the first key), `+` (the last), `[key` (included) or `(key` (excluded).".to_owned()
}
