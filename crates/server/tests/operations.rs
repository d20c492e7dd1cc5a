//! What keeps a server going: limits, metrics, the slow log, and how it ends.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use common::{Client, Running, dialogue, show, start, start_with};
use honeycomb_protocol::resp::{Limits, Reply, encode};
use honeycomb_server::Config;

fn alone(config: Config) -> Running {
    start_with(Config { cores: 1, ..config })
}

#[test]
fn requests_at_and_above_their_limit() {
    let request = Limits { request_bytes_max: 2000, ..Limits::default() };
    let running = alone(Config { request, ..Config::default() });
    let set = |bytes: usize| {
        let mut request = Vec::new();
        encode(&[b"SET", &b"a"[..], &vec![b'v'; bytes]], &mut request);
        request
    };
    let longest = 2000 - set(1000).len() + 1000;
    assert_eq!(set(longest).len(), 2000);
    let mut client = Client::of(&running);
    client.socket.write_all(&set(longest)).unwrap();
    assert_eq!(show(&client.answer()), "OK");
    // It is refused before all of it has come.
    client.socket.write_all(&set(longest + 1)[..100]).unwrap();
    assert_eq!(show(&client.answer()), "!ERR Protocol error: a request has at most 2000 bytes");
    assert!(client.is_ended());
    assert_eq!(Client::of(&running).shown("STRLEN a"), longest.to_string());
}

#[test]
fn replies_at_and_above_their_limit() {
    let running = alone(Config { reply_bytes_max: 2000, ..Config::default() });
    let mut client = Client::of(&running);
    let get = |client: &mut Client, bytes: usize| {
        client.send(&[b"SET", b"a", &vec![b'v'; bytes]]);
        client.answer();
        client.ask("GET a")
    };
    assert!(matches!(get(&mut client, 1991), Reply::Bulk(value) if value.len() == 1991));
    let error = "!ERR the replies take more than client-output-buffer-limit, which is 2000 bytes";
    assert_eq!(show(&get(&mut client, 1992)), error);
    assert!(client.is_ended());
    let mut client = Client::of(&running);
    // What came before stands, and of what comes after nothing is carried out.
    client.socket.write_all(b"PING\r\nECHO b\r\nKEYS *\r\nRI.SCAN a\r\nSET b 1\r\n").unwrap();
    let replies: Vec<_> = (0..4).map(|_| show(&client.answer())).collect();
    assert_eq!(replies, ["PONG", "'b'", "['a']", error]);
    assert!(client.is_ended());
    assert_eq!(Client::of(&running).shown("GET b"), "nil");
}

/// What is read together finds no more than there is room for; the rest is read alone.
#[test]
fn long_values_are_read_one_by_one() {
    let running = alone(Config { unsent_bytes_max: 64 << 20, ..Config::default() });
    let mut client = Client::of(&running);
    let value = vec![b'v'; 5_000_000];
    client.send(&[b"MSET", b"a", &value, b"b", &value, b"counted", b"1"]);
    client.answer();
    let commands = "GET a\r\nGET b\r\nSTRLEN a\r\nMGET a b\r\nRI.SCAN a COUNT 1\r\nGET b\r\nGET counted\r\n";
    client.socket.write_all(commands.as_bytes()).unwrap();
    let whole = |answer: Reply| matches!(answer, Reply::Bulk(bytes) if bytes == value);
    assert!(whole(client.answer()) && whole(client.answer()));
    assert_eq!(show(&client.answer()), "5000000");
    let Reply::Array(both) = client.answer() else { panic!("two values") };
    assert!(both.len() == 2 && both.into_iter().all(whole));
    let Reply::Array(pair) = client.answer() else { panic!("a pair") };
    assert!(pair.len() == 2 && whole(pair.into_iter().next_back().unwrap()));
    assert!(whole(client.answer()));
    assert_eq!(show(&client.answer()), "'1'");
    // Reads and writes of many clients in one turn.
    let mut clients: Vec<_> = (0..8).map(|_| Client::of(&running)).collect();
    for client in &mut clients {
        client.socket.write_all(b"APPEND a xy\r\nINCR counted\r\n").unwrap();
    }
    let lengths = clients.iter_mut().map(|client| show(&client.answer()).parse::<usize>().unwrap());
    let mut lengths: Vec<_> = lengths.collect();
    lengths.sort_unstable();
    assert_eq!(lengths, (1..=8).map(|number| 5_000_000 + 2 * number).collect::<Vec<_>>());
    clients.iter_mut().for_each(|client| drop(client.answer()));
    assert_eq!(client.shown("GET counted"), "'9'");
}

/// Of what one client has asked for, reads and writes in turn, only as much is carried out as it takes.
#[test]
fn commands_wait_until_replies_are_taken() {
    let running = alone(Config { unsent_bytes_max: 100_000, ..Config::default() });
    let mut client = Client::of(&running);
    client.send(&[b"SET", b"a", &vec![b'v'; 60_000]]);
    client.answer();
    let some = "GET a\r\nGET a\r\nget \"a\"\r\nAPPEND a x\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n".repeat(200);
    let (begun, rest) = some.split_at(some.len() - 5);
    client.socket.write_all(begun.as_bytes()).unwrap();
    // What the system keeps on the way is more than one reply, and far from all.
    sleep(Duration::from_millis(300));
    let seen: usize = Client::of(&running).shown("STRLEN a").parse().unwrap();
    assert!((60_000..60_190).contains(&seen), "{seen}");
    client.socket.write_all(rest.as_bytes()).unwrap();
    let mut length = 60_000;
    for _ in 0..200 {
        for _ in 0..3 {
            assert!(matches!(client.answer(), Reply::Bulk(value) if value.len() == length));
        }
        length += 1;
        assert_eq!(show(&client.answer()), length.to_string());
        assert!(matches!(client.answer(), Reply::Bulk(value) if value.len() == length));
    }
}

#[test]
fn what_waits_for_exec_is_bounded() {
    let request = Limits { request_bytes_max: 10_000, ..Limits::default() };
    let running = alone(Config { request, ..Config::default() });
    let mut client = Client::of(&running);
    assert_eq!(client.shown("MULTI"), "OK");
    let error =
        "!ERR the commands since MULTI take more than client-query-buffer-limit, which is 10000 bytes";
    let replies: Vec<_> = (0..1000).map(|_| client.shown("SET a 1")).collect();
    let queued = replies.iter().position(|reply| reply == error).expect("not all can wait");
    assert!(queued > 20 && replies.iter().all(|reply| reply == error || reply == "QUEUED"));
    assert_eq!(client.shown("EXEC"), "!EXECABORT Transaction discarded because of previous errors.");
    assert_eq!(client.shown("GET a"), "nil");
    let error = "!ERR the watched pairs take more than client-query-buffer-limit, which is 10000 bytes";
    let watch = |number| format!("WATCH a{number}");
    assert!((0..1000).any(|number| client.shown(&watch(number)) == error));
    dialogue(&mut client, &[("SET a0 1", "OK"), ("MULTI", "OK"), ("GET a", "QUEUED"), ("EXEC", "nil")]);
    dialogue(&mut client, &[("WATCH a", "OK"), ("MULTI", "OK"), ("GET a", "QUEUED"), ("EXEC", "[nil]")]);
}

#[test]
fn who_is_silent_for_too_long_has_to_go() {
    let running = alone(Config { silence_max: Duration::from_secs(10), ..Config::default() });
    let mut silent = Client::of(&running);
    assert_eq!(silent.shown("CLIENT ID"), "1");
    running.time.advance(9900);
    let mut other = Client::of(&running);
    sleep(Duration::from_millis(300));
    assert!(other.shown("CLIENT LIST").contains("id=1 "));
    running.time.advance(100);
    assert!(silent.is_ended());
    assert!(!other.shown("CLIENT LIST").contains("id=1 "));
}

#[test]
fn clients_are_listed_with_their_memory() {
    let running = alone(Config::default());
    let (mut client, mut other) = (Client::of(&running), Client::of(&running));
    client.ask("CLIENT SETNAME bee");
    client.socket.write_all(b"*2\r\n$3\r\nGET\r\n$5000\r\n").unwrap();
    client.socket.write_all(&[b'k'; 4000]).unwrap();
    running.time.advance(3000);
    let mut listed = || {
        let lines = other.shown("CLIENT LIST");
        lines.split("\\n").find(|line| line.contains("name=bee")).unwrap().to_owned()
    };
    let until = Instant::now() + Duration::from_secs(10);
    let line = loop {
        let line = listed();
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
fn a_limit_of_connections_can_change() {
    let running = alone(Config { connections_max: 1, ..Config::default() });
    let mut client = Client::of(&running);
    assert_eq!(client.shown("PING"), "PONG");
    assert_eq!(show(&Client::of(&running).answer()), "!ERR max number of clients reached");
    assert_eq!(client.shown("CONFIG SET maxclients 2"), "OK");
    let mut second = Client::of(&running);
    assert_eq!(second.shown("PING"), "PONG");
    assert_eq!(show(&Client::of(&running).answer()), "!ERR max number of clients reached");
    assert!(client.shown("INFO stats").contains("rejected_connections:2\\r"));
}

#[test]
fn what_takes_long_is_noted() {
    let running = alone(Config { slow: Some(Duration::from_micros(1001)), ..Config::default() });
    let mut client = Client::of(&running);
    // By the time of tests everything takes a thousand microseconds.
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
    let shown = client.shown("SLOWLOG GET 2");
    let entry = |id, words| format!("[{id} {at} 1000 [{words}] '{address}' 'bee']");
    assert!(shown.ends_with(&format!("{}]", entry(3, "'SLOWLOG' 'LEN'"))), "{shown}");
    assert!(client.shown("SLOWLOG GET").ends_with(&format!("{}]", entry(2, "'INCR' 'a'"))), "{shown}");
    assert_eq!(client.shown("SLOWLOG GET -2"), "!ERR count should be greater than or equal to -1");
    assert!(client.shown("SLOWLOG HELP").contains("RESET"));
}

#[test]
fn threads_stay_on_a_core_each() {
    let cores = thread::available_parallelism().unwrap().get();
    let _running = start_with(Config { cores, cpu_affinity: true, ..Config::default() });
    let of_threads = |name: &str| -> Vec<String> {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let of = |task: &Path, file| fs::read_to_string(task.join(file)).unwrap_or_default();
        let paths = tasks.map(|task| task.unwrap().path());
        let named = paths.filter(|task| of(task, "comm").trim() == name);
        let allowed = |status: String| {
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            line.unwrap_or_default().trim().to_owned()
        };
        named.map(|task| allowed(of(&task, "status"))).collect()
    };
    // Threads of other tests have the same names, and may be anywhere.
    for number in 0..cores {
        let stays = |allowed: &String| allowed.parse::<usize>().is_ok();
        let name = format!("core {number}");
        let began = Instant::now();
        while !of_threads(&name).iter().any(stays) {
            assert!(began.elapsed() < Duration::from_secs(30), "{name} may go anywhere");
            sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn what_takes_long_together_is_one_entry_and_explained() {
    let config = Config { slow: Some(Duration::ZERO), count_accesses: true, ..Config::default() };
    let running = alone(config);
    let mut client = Client::of(&running);
    client.ask("MSET short 1 long 123456789 like 123456789");
    client.ask("SLOWLOG RESET");
    client.socket.write_all(b"GET short\r\nGET long\r\nGET none\r\nGET like\r\n").unwrap();
    (0..4).for_each(|_| drop(client.answer()));
    let explained = client.shown("SLOWLOG EXPLAIN -1");
    for part in ["'together' 4 'request-bytes' 10 'reply-bytes' 15", "'nodes' 4 ", "['GET' 'long']"] {
        assert!(explained.contains(part), "{part}: {explained}");
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
fn reads_are_carried_out_together_whatever_stands_between_them() {
    let metrics = Some(([127, 0, 0, 1], 0).into());
    let running = alone(Config { metrics, ..Config::default() });
    let mut client = Client::of(&running);
    // Between writes; more than one batch of ranges; too long a key, and too few arguments.
    let lines = ["SET a 1", "GET a", "RI.RANGE - + COUNT 1000", "SET b 2", "GET", "GET b"].join("\r\n");
    let long = "x".repeat(461);
    client.socket.write_all(format!("{lines}\r\nGET {long}\r\n").repeat(20).as_bytes()).unwrap();
    for _ in 0..20 {
        let answers: Vec<String> = (0..7).map(|_| format!("{:?}", client.answer())).collect();
        assert!(answers[4].contains("wrong number") && answers[6].contains("Null"), "{answers:?}");
        assert!(answers[1].contains("49") && answers[5].contains("50"), "{answers:?}");
    }
    let answer = http(&running, "GET /metrics");
    assert!(answer.contains("\nhoneycomb_batch_reads_sum 60.0\n"), "{answer}");
}

#[test]
fn metrics_tell_what_was_done() {
    let metrics = Some(([127, 0, 0, 1], 0).into());
    let running = alone(Config { metrics, count_accesses: true, ..Config::default() });
    let mut client = Client::of(&running);
    for line in ["SET a 1", "GET a", "GET b", "INCRBY a x", "NONSENSE"] {
        client.ask(line);
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
    // A get takes a thousand microseconds by the time of tests.
    assert!(
        answer.contains("honeycomb_command_duration_seconds_bucket{le=\"0.001024\",command=\"get\"} 2"),
        "{answer}"
    );
    assert!(answer.contains("honeycomb_arena_bytes{kind=\"retired\"}"), "{answer}");
}

#[test]
fn a_server_that_stops_carries_out_what_it_has_received() {
    let running = start();
    let mut client = Client::of(&running);
    assert_eq!(client.shown("PING"), "PONG");
    client.socket.write_all(&b"INCR a\r\n".repeat(5000)).unwrap();
    client.socket.write_all(b"INCR").unwrap();
    running.server.stop().unwrap();
    let mut replies = String::new();
    client.socket.read_to_string(&mut replies).unwrap();
    assert_eq!(replies.lines().count(), 5000);
    assert!(replies.ends_with(":5000\r\n"));
}

#[test]
fn a_server_that_stops_waits_for_no_reader_for_ever() {
    let running = alone(Config { grace: Duration::from_millis(200), ..Config::default() });
    let mut client = Client::of(&running);
    client.send(&[b"SET", b"big", &vec![b'v'; 1 << 20]]);
    client.answer();
    (0..100).for_each(|_| client.send(&[b"GET", b"big"]));
    let before = Instant::now();
    running.server.stop().unwrap();
    assert!(before.elapsed() < Duration::from_secs(10));
}
