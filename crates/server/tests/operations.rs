//! Operation of a server: limits, metrics, slow log and shutdown.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::{Limits, Reply, encode};
use honeycomb_server::Config;

use common::{Client, Running, dialogue, show, start, start_with};

fn start_one_core(config: Config) -> Running {
    start_with(Config { cores: 1, ..config })
}

#[test]
fn requests_at_and_above_their_limit() {
    let request = Limits { request_bytes_max: 2000, ..Limits::default() };
    let running = start_one_core(Config { request, ..Config::default() });
    let set = |bytes: usize| {
        let mut request = Vec::new();
        encode(&[b"SET", &b"a"[..], &vec![b'v'; bytes]], &mut request);
        request
    };
    let longest = 2000 - set(1000).len() + 1000;
    assert_eq!(set(longest).len(), 2000);
    let mut client = Client::connect(&running);
    client.socket.write_all(&set(longest)).unwrap();
    assert_eq!(show(&client.receive()), "OK");
    // The server rejects it before all of it has arrived.
    client.socket.write_all(&set(longest + 1)[..100]).unwrap();
    assert_eq!(show(&client.receive()), "!ERR Protocol error: a request has at most 2000 bytes");
    assert!(client.is_closed());
    assert_eq!(Client::connect(&running).reply_text("STRLEN a"), longest.to_string());
}

#[test]
fn replies_at_and_above_their_limit() {
    let running = start_one_core(Config { reply_bytes_max: 2000, ..Config::default() });
    let mut client = Client::connect(&running);
    let get = |client: &mut Client, bytes: usize| {
        client.send(&[b"SET", b"a", &vec![b'v'; bytes]]);
        client.receive();
        client.reply_to("GET a")
    };
    assert!(matches!(get(&mut client, 1991), Reply::Bulk(value) if value.len() == 1991));
    let error = "!ERR the replies take more than client-output-buffer-limit, which is 2000 bytes";
    assert_eq!(show(&get(&mut client, 1992)), error);
    assert!(client.is_closed());
    let mut client = Client::connect(&running);
    // Earlier commands have their replies, and later commands are not executed.
    client.socket.write_all(b"PING\r\nECHO b\r\nKEYS *\r\nRI.SCAN a\r\nSET b 1\r\n").unwrap();
    let replies: Vec<_> = (0..4).map(|_| show(&client.receive())).collect();
    assert_eq!(replies, ["PONG", "'b'", "['a']", error]);
    assert!(client.is_closed());
    assert_eq!(Client::connect(&running).reply_text("GET b"), "nil");
}

/// A batch of reads has limited space. The server executes reads that do not fit individually.
#[test]
fn long_values_are_read_individually() {
    let running = start_one_core(Config { unsent_bytes_max: 64 << 20, ..Config::default() });
    let mut client = Client::connect(&running);
    let value = vec![b'v'; 5_000_000];
    client.send(&[b"MSET", b"a", &value, b"b", &value, b"counted", b"1"]);
    client.receive();
    let commands = "GET a\r\nGET b\r\nSTRLEN a\r\nMGET a b\r\nRI.SCAN a COUNT 1\r\nGET b\r\nGET counted\r\n";
    client.socket.write_all(commands.as_bytes()).unwrap();
    let is_whole = |answer: Reply| matches!(answer, Reply::Bulk(bytes) if bytes == value);
    assert!(is_whole(client.receive()) && is_whole(client.receive()));
    assert_eq!(show(&client.receive()), "5000000");
    let Reply::Array(both) = client.receive() else { panic!("two values") };
    assert!(both.len() == 2 && both.into_iter().all(is_whole));
    let Reply::Array(pair) = client.receive() else { panic!("a pair") };
    assert!(pair.len() == 2 && is_whole(pair.into_iter().next_back().unwrap()));
    assert!(is_whole(client.receive()));
    assert_eq!(show(&client.receive()), "'1'");
    // Reads and writes of many clients in one event-loop iteration.
    let mut clients: Vec<_> = (0..8).map(|_| Client::connect(&running)).collect();
    for client in &mut clients {
        client.socket.write_all(b"APPEND a xy\r\nINCR counted\r\n").unwrap();
    }
    let lengths = clients.iter_mut().map(|client| show(&client.receive()).parse::<usize>().unwrap());
    let mut lengths: Vec<_> = lengths.collect();
    lengths.sort_unstable();
    assert_eq!(lengths, (1..=8).map(|number| 5_000_000 + 2 * number).collect::<Vec<_>>());
    clients.iter_mut().for_each(|client| drop(client.receive()));
    assert_eq!(client.reply_text("GET counted"), "'9'");
}

/// The server executes alternating reads and writes only as fast as the client receives the replies.
#[test]
fn commands_wait_until_the_client_receives_replies() {
    let running = start_one_core(Config { unsent_bytes_max: 100_000, ..Config::default() });
    let mut client = Client::connect(&running);
    client.send(&[b"SET", b"a", &vec![b'v'; 60_000]]);
    client.receive();
    let commands = "GET a\r\nGET a\r\nget \"a\"\r\nAPPEND a x\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n".repeat(200);
    let (first, rest) = commands.split_at(commands.len() - 5);
    client.socket.write_all(first.as_bytes()).unwrap();
    // The socket buffers hold more than one reply, but far fewer than all.
    sleep(Duration::from_millis(300));
    let seen: usize = Client::connect(&running).reply_text("STRLEN a").parse().unwrap();
    assert!((60_000..60_190).contains(&seen), "{seen}");
    client.socket.write_all(rest.as_bytes()).unwrap();
    let mut length = 60_000;
    for _ in 0..200 {
        for _ in 0..3 {
            assert!(matches!(client.receive(), Reply::Bulk(value) if value.len() == length));
        }
        length += 1;
        assert_eq!(show(&client.receive()), length.to_string());
        assert!(matches!(client.receive(), Reply::Bulk(value) if value.len() == length));
    }
}

#[test]
fn queued_commands_and_watched_keys_are_bounded() {
    let request = Limits { request_bytes_max: 10_000, ..Limits::default() };
    let running = start_one_core(Config { request, ..Config::default() });
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text("MULTI"), "OK");
    let error =
        "!ERR the commands since MULTI take more than client-query-buffer-limit, which is 10000 bytes";
    let replies: Vec<_> = (0..1000).map(|_| client.reply_text("SET a 1")).collect();
    let queued = replies.iter().position(|reply| reply == error).expect("the queue is bounded");
    assert!(queued > 20 && replies.iter().all(|reply| reply == error || reply == "QUEUED"));
    assert_eq!(client.reply_text("EXEC"), "!EXECABORT Transaction discarded because of previous errors.");
    assert_eq!(client.reply_text("GET a"), "nil");
    let error = "!ERR the watched pairs take more than a fourth of maxmemory-clients or than \
                 client-query-buffer-limit: 10000 bytes";
    let watch = |number| format!("WATCH a{number}");
    assert!((0..1000).any(|number| client.reply_text(&watch(number)) == error));
    dialogue(&mut client, &[("SET a0 1", "OK"), ("MULTI", "OK"), ("GET a", "QUEUED"), ("EXEC", "nil")]);
    dialogue(&mut client, &[("WATCH a", "OK"), ("MULTI", "OK"), ("GET a", "QUEUED"), ("EXEC", "[nil]")]);
}

#[test]
fn silent_clients_are_disconnected() {
    let running = start_one_core(Config { idle_timeout: Duration::from_secs(10), ..Config::default() });
    let mut silent = Client::connect(&running);
    assert_eq!(silent.reply_text("CLIENT ID"), "1");
    running.time.advance(9900);
    let mut other = Client::connect(&running);
    sleep(Duration::from_millis(300));
    assert!(other.reply_text("CLIENT LIST").contains("id=1 "));
    running.time.advance(100);
    assert!(silent.is_closed());
    assert!(!other.reply_text("CLIENT LIST").contains("id=1 "));
}

#[test]
fn clients_that_wait_are_not_silent() {
    let running = start_one_core(Config { idle_timeout: Duration::from_secs(10), ..Config::default() });
    let [mut silent, mut subscriber, mut monitor, mut paused, mut other] =
        [(); 5].map(|()| Client::connect(&running));
    dialogue(&mut subscriber, &[("SUBSCRIBE news", "['subscribe' 'news' 1]")]);
    dialogue(&mut silent, &[("PING", "PONG")]);
    dialogue(&mut other, &[("CLIENT PAUSE 60000 WRITE", "OK")]);
    dialogue(&mut monitor, &[("MONITOR", "OK")]);
    paused.send(&[b"SET", b"a", b"1"]);
    // The server has received the command.
    while !other.reply_text("CLIENT LIST").contains(" qbuf=27 ") {
        sleep(Duration::from_millis(1));
    }
    running.time.advance(11_000);
    assert!(silent.is_closed());
    other = Client::connect(&running);
    dialogue(&mut other, &[("CLIENT UNPAUSE", "OK")]);
    assert_eq!(show(&paused.receive()), "OK");
    sleep(Duration::from_millis(300));
    dialogue(&mut paused, &[("GET a", "'1'"), ("PUBLISH news hello", "1")]);
    assert_eq!(show(&subscriber.receive()), "['message' 'news' 'hello']");
    while !show(&monitor.receive()).contains("PUBLISH") {}
}

#[test]
fn clients_are_listed_with_their_memory() {
    let running = start_one_core(Config::default());
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    client.reply_to("CLIENT SETNAME bee");
    client.socket.write_all(b"*2\r\n$3\r\nGET\r\n$5000\r\n").unwrap();
    client.socket.write_all(&[b'k'; 4000]).unwrap();
    running.time.advance(3000);
    let mut client_line = || {
        let lines = other.reply_text("CLIENT LIST");
        lines.split("\\n").find(|line| line.contains("name=bee")).unwrap().to_owned()
    };
    let until = Instant::now() + Duration::from_secs(10);
    let line = loop {
        let line = client_line();
        if line.contains("qbuf=4020 ") {
            break line;
        }
        assert!(Instant::now() < until, "{line}");
    };
    assert!(line.contains(" age=3 ") && line.contains("db=0 ") && line.contains("omem=0 "), "{line}");
    let memory = line.split("tot-mem=").nth(1).unwrap().split(' ').next().unwrap();
    let memory: usize = memory.parse().unwrap();
    assert!((4020..100_000).contains(&memory), "{line}");
}

#[test]
fn maxclients_can_change() {
    let running = start_one_core(Config { connections_max: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text("PING"), "PONG");
    assert_eq!(show(&Client::connect(&running).receive()), "!ERR max number of clients reached");
    assert_eq!(client.reply_text("CONFIG SET maxclients 2"), "OK");
    let mut second = Client::connect(&running);
    assert_eq!(second.reply_text("PING"), "PONG");
    assert_eq!(show(&Client::connect(&running).receive()), "!ERR max number of clients reached");
    assert!(client.reply_text("INFO stats").contains("rejected_connections:2\\r"));
}

#[test]
fn the_slow_log_records_slow_commands() {
    let running =
        start_one_core(Config { slow_log_threshold: Some(Duration::from_micros(1001)), ..Config::default() });
    let mut client = Client::connect(&running);
    // On the manual clock each command takes a thousand microseconds.
    dialogue(
        &mut client,
        &[
            ("CLIENT SETNAME bee", "OK"),
            ("SET a 1", "OK"),
            ("SLOWLOG LEN", "0"),
            ("CONFIG SET slowlog-log-slower-than 1000 slowlog-max-len 3", "OK"),
            ("SLOWLOG RESET", "OK"),
            ("GET a", "'1'"),
            ("INCR a", "2"),
            ("SLOWLOG LEN", "3"),
            ("CONFIG SET slowlog-log-slower-than -1", "OK"),
            ("SLOWLOG LEN", "3"),
        ],
    );
    let at = common::BEGIN / 1000;
    let address = client.socket.local_addr().unwrap();
    let entries = client.reply_text("SLOWLOG GET 2");
    let entry = |id, words| format!("[{id} {at} 1000 [{words}] '{address}' 'bee']");
    assert!(entries.ends_with(&format!("{}]", entry(3, "'SLOWLOG' 'LEN'"))), "{entries}");
    assert!(client.reply_text("SLOWLOG GET").ends_with(&format!("{}]", entry(2, "'INCR' 'a'"))), "{entries}");
    assert_eq!(client.reply_text("SLOWLOG GET -2"), "!ERR count should be greater than or equal to -1");
    assert!(client.reply_text("SLOWLOG HELP").contains("RESET"));
}

#[test]
fn each_thread_is_bound_to_one_core() {
    let cores = thread::available_parallelism().unwrap().get();
    let _running = start_with(Config { cores, cpu_affinity: true, ..Config::default() });
    let affinities = |name: &str| -> Vec<String> {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let read = |task: &Path, file| fs::read_to_string(task.join(file)).unwrap_or_default();
        let paths = tasks.map(|task| task.unwrap().path());
        let matching = paths.filter(|task| read(task, "comm").trim() == name);
        let allowed = |status: String| {
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            line.unwrap_or_default().trim().to_owned()
        };
        matching.map(|task| allowed(read(&task, "status"))).collect()
    };
    // Threads of other tests have the same names and are not bound.
    for number in 0..cores {
        let is_single_core = |allowed: &String| allowed.parse::<usize>().is_ok();
        let name = format!("core {number}");
        let began = Instant::now();
        while !affinities(&name).iter().any(is_single_core) {
            assert!(began.elapsed() < Duration::from_secs(30), "{name} is not bound to a core");
            sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_slow_batch_is_one_entry_of_the_slow_log() {
    let config =
        Config { slow_log_threshold: Some(Duration::ZERO), count_accesses: true, ..Config::default() };
    let running = start_one_core(config);
    let mut client = Client::connect(&running);
    client.reply_to("MSET short 1 long 123456789 like 123456789");
    client.reply_to("SLOWLOG RESET");
    client.socket.write_all(b"GET short\r\nGET long\r\nGET none\r\nGET like\r\n").unwrap();
    (0..4).for_each(|_| drop(client.receive()));
    let entries = client.reply_text("SLOWLOG EXPLAIN -1");
    for part in ["'together' 4 'request-bytes' 10 'reply-bytes' 15", "'nodes' 4 ", "['GET' 'long']"] {
        assert!(entries.contains(part), "{part}: {entries}");
    }
}

fn http(running: &Running, request: &str) -> String {
    let mut socket = TcpStream::connect(running.server.metrics().unwrap()).unwrap();
    let accept = "application/openmetrics-text";
    write!(socket, "{request} HTTP/1.1\r\nHost: bees\r\nAccept: {accept}\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn reads_are_batched_across_other_commands() {
    let metrics = Some(([127, 0, 0, 1], 0).into());
    let running = start_one_core(Config { metrics, ..Config::default() });
    let mut client = Client::connect(&running);
    // Between the reads: writes, more ranges than one batch, a key that is too long, and a missing argument.
    let lines = ["SET a 1", "GET a", "RI.RANGE - + COUNT 1000", "SET b 2", "GET", "GET b"].join("\r\n");
    let long = "x".repeat(461);
    client.socket.write_all(format!("{lines}\r\nGET {long}\r\n").repeat(20).as_bytes()).unwrap();
    for _ in 0..20 {
        let answers: Vec<String> = (0..7).map(|_| format!("{:?}", client.receive())).collect();
        assert!(answers[4].contains("wrong number") && answers[6].contains("Null"), "{answers:?}");
        assert!(answers[1].contains("49") && answers[5].contains("50"), "{answers:?}");
    }
    let answer = http(&running, "GET /metrics");
    assert!(answer.contains("\nhoneycomb_batch_reads_sum 60.0\n"), "{answer}");
}

#[test]
fn metrics_count_commands_and_accesses() {
    let metrics = Some(([127, 0, 0, 1], 0).into());
    let running = start_one_core(Config { metrics, count_accesses: true, ..Config::default() });
    let mut client = Client::connect(&running);
    for line in ["SET a 1", "GET a", "GET b", "INCRBY a x", "NONSENSE"] {
        client.reply_to(line);
    }
    let answer = http(&running, "GET /metrics");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("# EOF\n"), "{answer}");
    for line in [
        "honeycomb_command_duration_seconds_count{command=\"get\"} 2",
        "honeycomb_command_errors_total{command=\"incrby\"} 1",
        "honeycomb_command_errors_total{command=\"get\"} 0",
        "honeycomb_commands_rejected_total 1",
        "honeycomb_batch_reads_sum 3.0",
        "honeycomb_batch_writes_count 1",
        "honeycomb_connections 1.0",
        "honeycomb_connections_accepted_total 1",
        "honeycomb_pairs{table=\"0\"} 1",
        "honeycomb_accelerator_nodes_total{level=\"0\"} 3",
        "honeycomb_chain_steps_total 0",
    ] {
        assert!(answer.contains(&format!("\n{line}\n")), "{line} is not in:\n{answer}");
    }
    // On the manual clock a get takes a thousand microseconds.
    assert!(
        answer.contains("honeycomb_command_duration_seconds_bucket{le=\"0.001024\",command=\"get\"} 2"),
        "{answer}"
    );
    assert!(answer.contains("honeycomb_arena_bytes{kind=\"retired\"}"), "{answer}");
}

#[test]
fn a_stopping_server_executes_the_commands_it_has_received() {
    let running = start();
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text("PING"), "PONG");
    client.socket.write_all(&b"INCR a\r\n".repeat(5000)).unwrap();
    client.socket.write_all(b"INCR").unwrap();
    running.server.stop().unwrap();
    let mut replies = String::new();
    client.socket.read_to_string(&mut replies).unwrap();
    assert_eq!(replies.lines().count(), 5000);
    assert!(replies.ends_with(":5000\r\n"));
}

#[test]
fn a_stopping_server_does_not_wait_forever_for_readers() {
    let running =
        start_one_core(Config { shutdown_timeout: Duration::from_millis(200), ..Config::default() });
    let mut client = Client::connect(&running);
    client.send(&[b"SET", b"big", &vec![b'v'; 1 << 20]]);
    client.receive();
    (0..100).for_each(|_| client.send(&[b"GET", b"big"]));
    let before = Instant::now();
    running.server.stop().unwrap();
    assert!(before.elapsed() < Duration::from_secs(10));
}
