//! Commands that read or write much execute in the background: other clients are served meanwhile, and
//! nothing else changes.
#![allow(missing_docs)]

mod common;

use std::fs::{self, DirEntry};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::{Reply, encode};
use honeycomb_server::Config;
use rustix::process::{Pid, getpriority_process};

use common::{Client, Running, dialogue, run_concurrently, show, start_with, start_with_store};

/// Pairs of a long `MSET`.
const PAIRS: usize = 100_000;
/// The length of the longest value.
const LONGEST: usize = (16 << 20) - 9;

/// Starts a server with one core, on which an undivided long command would delay all clients.
fn start() -> Running {
    start_with(Config { cores: 1, databases: 4, ..Config::default() })
}

/// Starts such a server with memory for several of the longest values.
fn start_large() -> Running {
    let shutdown_timeout = Duration::from_secs(30);
    let config = Config { cores: 1, memory_bytes: 512 << 20, shutdown_timeout, ..Config::default() };
    let store = config.open_store().unwrap();
    start_with_store(config, store)
}

/// Returns a number from the section "stats" of `INFO`.
fn stat(client: &mut Client, name: &str) -> usize {
    let info = client.reply_text("INFO stats");
    let (_, after) = info.split_once(&format!("{name}:")).unwrap();
    after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Returns how often tasks have moved to the background.
fn moved(client: &mut Client) -> usize {
    stat(client, "background_tasks")
}

/// Returns an encoded `MSET` of pairs whose keys begin with a prefix.
fn mset(prefix: &str, pairs: usize) -> Vec<u8> {
    let pair = |number| [format!("{prefix}{number:06}"), "v".to_owned()];
    let words: Vec<_> = ["MSET".to_owned()].into_iter().chain((0..pairs).flat_map(pair)).collect();
    let mut bytes = Vec::new();
    encode(&words, &mut bytes);
    bytes
}

/// Returns a transaction that makes long values.
fn long_values(count: usize) -> Vec<u8> {
    let one = |number| format!("SETRANGE long{number} {} x\r\n", LONGEST - 1);
    ["MULTI\r\n".to_owned(), (0..count).map(one).collect(), "EXEC\r\n".to_owned()].concat().into_bytes()
}

/// Ends what other threads of a test do, also if the test fails.
struct SetAtTheEnd<'f>(&'f AtomicBool);

impl Drop for SetAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Sends all but the last byte of a request, and then the last one. Returns the number of gets of another
/// client between the last byte and the `replies`-th reply.
fn gets_during(running: &Running, request: &[u8], replies: usize) -> usize {
    let mut other = Client::connect(running);
    assert_eq!(other.reply_text("SET other v"), "OK");
    let mut client = Client::connect(running);
    // The background thread has a low priority, so beside other programs a command can take minutes.
    client.socket.set_read_timeout(None).unwrap();
    let (last, first) = request.split_last().unwrap();
    client.send_bytes(first);
    thread::sleep(Duration::from_millis(100));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _done = SetAtTheEnd(&is_done);
            client.send_bytes(&[*last]);
            (0..replies).for_each(|_| drop(client.receive()));
        });
        let mut gets = 0;
        while !is_done.load(Ordering::SeqCst) {
            assert_eq!(other.reply_text("GET other"), "'v'");
            gets += 1;
        }
        gets
    })
}

#[test]
fn other_clients_are_served_during_long_writes() {
    let running = start_large();
    let gets = gets_during(&running, &mset("key", 2 * PAIRS), 1);
    assert!(gets >= 20, "MSET: {gets}");
    let gets = gets_during(&running, &long_values(6), 8);
    assert!(gets >= 20, "EXEC: {gets}");
}

/// Each command reads or writes as much as its budget allows, or a bit more.
#[test]
fn only_commands_above_their_budget_execute_in_the_background() {
    let running = start();
    let mut client = Client::connect(&running);
    let value = |bytes| "v".repeat(bytes);
    let keys = |count| (0..count).map(|number| format!("key{number:06}")).collect::<Vec<_>>().join(" ");
    let queued = |line: &str, count| format!("MULTI\r\n{}EXEC\r\n", format!("{line}\r\n").repeat(count));
    let words = |line: String| {
        let mut bytes = Vec::new();
        encode(&line.split(' ').collect::<Vec<_>>(), &mut bytes);
        String::from_utf8(bytes).unwrap()
    };
    for (request, moves) in [
        (String::from_utf8(mset("key", 255)).unwrap(), 0),
        (String::from_utf8(mset("key", 256)).unwrap(), 1),
        (words(format!("EXISTS {}", keys(511))), 0),
        (words(format!("EXISTS {}", keys(512))), 1),
        (words(format!("MSETNX {}", keys(256))), 0),
        (words(format!("DEL {}", keys(256))), 0),
        (words(format!("DEL {}", keys(257))), 1),
        (words(format!("SET a {}", value(30_000))), 0),
        (words(format!("APPEND a {}", value(5_000))), 0),
        (words(format!("APPEND a {}", value(5_000))), 1),
        (words(format!("SET a {}", value(65_000))), 0),
        (words("STRLEN a".to_owned()), 0),
        (words(format!("SET a {}", value(70_000))), 1),
        (words("STRLEN a".to_owned()), 1),
        (words("SETRANGE b 65534 x".to_owned()), 0),
        (words("SETRANGE b 65536 x".to_owned()), 1),
        (words("SETBIT c 700000 1".to_owned()), 1),
        (words("SWAPDB 0 1".to_owned()), 1),
        (words("SWAPDB 0 1".to_owned()), 1),
        (queued("INCR n", 2000), 0),
        (queued("SETRANGE d 65536 x", 2), 1),
        (queued("SETRANGE d 65536 x\r\nCLIENT ID", 2), 3),
    ] {
        let before = moved(&mut client);
        client.send_bytes(request.as_bytes());
        let replies = if request.starts_with('*') { 1 } else { request.lines().count() };
        (0..replies).for_each(|_| drop(client.receive()));
        let name: String = request.chars().take(30).collect();
        assert_eq!(moved(&mut client) - before, moves, "{name}");
    }
    let sets: String = (0..300).map(|number| format!("SET key{number} v\r\n")).collect();
    let before = moved(&mut client);
    client.send_bytes(["MULTI\r\n", &sets, "EXEC\r\n"].concat().as_bytes());
    (0..302).for_each(|_| drop(client.receive()));
    assert_eq!(moved(&mut client) - before, 1, "a long commit");
}

#[test]
fn replies_come_in_the_order_of_commands() {
    let running = start();
    let mut client = Client::connect(&running);
    for _ in 0..20 {
        client.send_bytes(b"DEL key000007 key000008\r\n");
        client.send_bytes(&mset("key", 300));
        client.send_bytes(b"GET key000007\r\nSETRANGE key000007 100000 x\r\nSTRLEN key000007\r\nPING\r\n");
        client.send_bytes(&mset("key", 300));
        client.send_bytes(b"GET key000007\r\nMULTI\r\nSET key000007 w\r\nSETRANGE key000008 100000 x\r\n");
        client.send_bytes(
            b"SELECT 1\r\nSTRLEN key000008\r\nSELECT 0\r\nGET key000007\r\nEXEC\r\nSTRLEN key000008\r\n",
        );
        client.receive();
        let replies: Vec<_> = (0..15).map(|_| show(&client.receive())).collect();
        let expected = [
            "OK",
            "'v'",
            "100001",
            "100001",
            "PONG",
            "OK",
            "'v'",
            "OK",
            "QUEUED",
            "QUEUED",
            "QUEUED",
            "QUEUED",
            "QUEUED",
            "QUEUED",
            "[OK 100001 OK 0 OK 'w']",
        ];
        assert_eq!(replies, expected);
        assert_eq!(show(&client.receive()), "100001");
    }
}

#[test]
fn a_long_command_counts_like_any_other() {
    let running = start();
    let mut client = Client::connect(&running);
    client.reply_to("CONFIG SET slowlog-log-slower-than 0");
    let mut monitor = Client::connect(&running);
    assert_eq!(monitor.reply_text("MONITOR"), "OK");
    client.send_bytes(&mset("key", 1000));
    assert_eq!(show(&client.receive()), "OK");
    let Reply::Simple(line) = monitor.receive() else { panic!("no line") };
    assert!(line.contains(r#""MSET" "key000000" "v" "key000001""#), "{line:.200}");
    let slow = client.reply_text("SLOWLOG GET 1");
    assert!(slow.contains("'MSET' 'key000000' 'v'"), "{slow:.200}");
    let keys: Vec<_> = (0..1000).map(|number| format!("key{:06}", 2 * number)).collect();
    assert_eq!(client.reply_text(&format!("EXISTS {}", keys.join(" "))), "500");
    assert_eq!([stat(&mut client, "keyspace_hits"), stat(&mut client, "keyspace_misses")], [500, 500]);
    let words = "x ".repeat(1000);
    assert!(client.reply_text(&format!("MSETEX 600 {words}x")).starts_with("!ERR wrong number"));
    let stats = client.reply_text("INFO commandstats");
    for expected in ["cmdstat_mset:calls=1,", "cmdstat_exists:calls=1,", "cmdstat_msetex:calls=1,"] {
        assert!(stats.contains(expected), "{expected} {stats}");
    }
    assert!(client.reply_text("INFO errorstats").contains("errorstat_ERR:count=1"));
}

#[test]
fn a_watched_pair_aborts_a_transaction_that_is_in_the_background() {
    let running = start_large();
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    for is_changed in [false, true] {
        assert_eq!(client.reply_text("WATCH seen"), "OK");
        if is_changed {
            assert_eq!(other.reply_text("SET seen changed"), "OK");
        }
        client.send_bytes(&long_values(2));
        (0..3).for_each(|_| drop(client.receive()));
        let expected = if is_changed { "nil".to_owned() } else { format!("[{LONGEST} {LONGEST}]") };
        assert_eq!(show(&client.receive()), expected);
    }
}

/// Short transactions change a pair that long transactions read. Each long transaction completes, and no
/// increment is lost.
#[test]
fn long_transactions_complete_in_spite_of_conflicts() {
    let running = start_with(Config { cores: 2, ..Config::default() });
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let increments: Vec<_> = (0..2)
            .map(|_| {
                let (running, is_done) = (&running, &is_done);
                scope.spawn(move || {
                    let (mut client, mut count) = (Client::connect(running), 0);
                    while !is_done.load(Ordering::SeqCst) {
                        client.reply_to("INCR hot");
                        count += 1;
                    }
                    count
                })
            })
            .collect();
        let done = SetAtTheEnd(&is_done);
        let mut client = Client::connect(&running);
        for _ in 0..3 {
            client.send_bytes(b"MULTI\r\nINCR hot\r\nSETRANGE long 100000 x\r\nEXEC\r\n");
            (0..3).for_each(|_| drop(client.receive()));
            assert!(matches!(client.receive(), Reply::Array(replies) if replies.len() == 2));
        }
        drop(done);
        let total: i64 = increments.into_iter().map(|client| client.join().unwrap()).sum();
        assert_eq!(client.reply_text("GET hot"), format!("'{}'", total + 3));
    });
}

#[test]
fn a_long_command_of_a_client_that_disconnects_takes_effect_completely_or_not_at_all() {
    let running = start_large();
    let mut client = Client::connect(&running);
    for round in 0..20_u64 {
        let request = mset(&format!("{round}:"), PAIRS / 10);
        let mut gone: Vec<_> = (0..3).map(|_| Client::connect(&running)).collect();
        gone.iter_mut().for_each(|gone| gone.send_bytes(&request));
        thread::sleep(Duration::from_millis(round));
        drop(gone);
    }
    let began = Instant::now();
    let clients = |client: &mut Client| client.reply_text("INFO clients");
    while !clients(&mut client).contains("connected_clients:1\\r\\n") {
        assert!(began.elapsed().as_secs() < 60, "{}", clients(&mut client));
        thread::yield_now();
    }
    // The last task may still be in the background. A long command executes after it.
    client.send_bytes(&mset("last", 300));
    assert_eq!(show(&client.receive()), "OK");
    let Reply::Integer(pairs) = client.reply_to("DBSIZE") else { panic!("no number") };
    assert_eq!((pairs as usize - 300) % (PAIRS / 10), 0, "{pairs}");
    let memory = stat_of(&mut client, "memory", "mem_clients_normal");
    assert!(memory < 1 << 20, "{memory} bytes of clients remain");
}

fn stat_of(client: &mut Client, section: &str, name: &str) -> usize {
    let info = client.reply_text(&format!("INFO {section}"));
    let (_, after) = info.split_once(&format!("{name}:")).unwrap();
    after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

#[test]
fn all_pairs_of_a_long_command_enter_one_table_while_tables_are_swapped() {
    let running = start_with(Config { cores: 2, databases: 2, ..Config::default() });
    run_concurrently(&running, 4, |number, client| {
        for round in 0..20 {
            match number {
                0 => assert_eq!(client.reply_text("SWAPDB 0 1"), "OK"),
                _ => {
                    client.send_bytes(&mset(&format!("{number}:{round}:"), 300));
                    assert_eq!(show(&client.receive()), "OK");
                }
            }
        }
    });
    let mut client = Client::connect(&running);
    for number in 0..3 * 20 {
        let (client_number, round) = (number % 3 + 1, number / 3);
        let counts = ["0", "1"].map(|table| {
            client.reply_to(&format!("SELECT {table}"));
            client.reply_text(&format!("RI.COUNT [{client_number}:{round}: ({client_number}:{round};"))
        });
        assert!(counts == ["0", "300"] || counts == ["300", "0"], "{number}: {counts:?}");
    }
}

/// All cores wait for an exchange of tables, so other programs must not delay it more than they delay a core.
#[test]
fn work_for_which_all_cores_wait_has_their_priority() {
    let running = start();
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text("SWAPDB 0 1"), "OK");
    client.send_bytes(&mset("key", 1000));
    assert_eq!(show(&client.receive()), "OK");
    let own = getpriority_process(None).unwrap();
    let threads = priorities();
    let of = |name: &str| threads.iter().filter(|(other, _)| other == name).map(|(_, nice)| *nice).collect();
    let (exclusive, background): (Vec<_>, Vec<_>) = (of("exclusive"), of("background"));
    assert!(!exclusive.is_empty() && exclusive.iter().all(|nice| *nice == own), "{threads:?}");
    assert!(background.iter().any(|nice| *nice > own), "{threads:?}");
}

/// Returns the names and the nice values of the threads of this process, as far as they have not ended.
fn priorities() -> Vec<(String, i32)> {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let of = |thread: DirEntry| {
        let name = fs::read_to_string(thread.path().join("comm")).ok()?;
        let number = thread.file_name().to_str()?.parse().ok()?;
        Some((name.trim().to_owned(), getpriority_process(Pid::from_raw(number)).ok()?))
    };
    threads.filter_map(|thread| of(thread.ok()?)).collect()
}

#[test]
fn the_server_stops_during_long_commands() {
    let running = start_large();
    let mut clients: Vec<_> = (0..4).map(|_| Client::connect(&running)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send_bytes(&long_values(number));
    }
    thread::sleep(Duration::from_millis(5));
    running.server.stop().unwrap();
    for (number, client) in clients.iter_mut().enumerate() {
        (0..=number).for_each(|_| drop(client.receive()));
        assert!(matches!(client.receive(), Reply::Array(replies) if replies.len() == number));
    }
}

/// The first command of the transaction deletes some pairs before it exceeds its budget.
#[test]
fn a_transaction_restarts_after_a_command_that_exceeds_its_budget() {
    let running = start();
    let mut client = Client::connect(&running);
    client.send_bytes(&mset("key", 400));
    client.receive();
    let keys: String = (0..400).map(|number| format!(" key{number:06}")).collect();
    dialogue(
        &mut client,
        &[
            ("MULTI", "OK"),
            ("SELECT 1", "QUEUED"),
            ("SELECT 0", "QUEUED"),
            (&format!("DEL{keys}"), "QUEUED"),
            ("SELECT 1", "QUEUED"),
            ("EXEC", "[OK OK 400 OK]"),
            ("SELECT 0", "OK"),
            ("DBSIZE", "0"),
        ],
    );
}

#[test]
fn errors_of_long_commands_are_replied() {
    let running = start();
    let mut client = Client::connect(&running);
    let long = "v".repeat(100_000);
    dialogue(
        &mut client,
        &[
            (&format!("SET a {long} WRONG"), "!ERR syntax error"),
            (&format!("INCRBY a {long}"), "!ERR value is not an integer or out of range"),
            ("SWAPDB 0 9", "!ERR DB index is out of range"),
            ("GET a", "nil"),
        ],
    );
}
