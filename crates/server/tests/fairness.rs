//! However long the commands of a client take, the other clients of its core are served meanwhile, and the
//! server stops to execute commands for which nobody waits.
#![allow(missing_docs)]

mod common;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_client::{
    Client as BatchClient, Config as ClientConfig, Operation, Outcome, RangeForm, RangeFunction, RangeTerm,
};
use honeycomb_protocol::resp::encode;
use honeycomb_server::{Config, Datagrams};
use honeycomb_store::Store;
use honeycomb_store::unordered::{Element, FIRST_REGISTERED, Functions};
use honeycomb_testing::Gate;

use common::{Client, Running, dialogue, show, start_with, start_with_store};

/// Pairs of the tables.
const PAIRS: usize = 20_000;

/// Starts a server of one core with a predicate, whose number is [`FIRST_REGISTERED`], and an update, which
/// has the next one. Both call a function and return a constant.
fn start_calling(call: impl Fn() + Send + Sync + Clone + 'static) -> Running {
    let mut functions = Functions::default();
    let also = call.clone();
    let predicate = Box::new(move |_, _: &[u64]| (also(), true).1);
    functions.register_predicate(Element::U8, 1, predicate).unwrap();
    functions.register_update(Element::U8, 1, Box::new(move |_, _| (call(), 1).1)).unwrap();
    let functions = Arc::new(functions);
    let batch = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let datagrams = Datagrams { batch, ..Datagrams::default() };
    let config = Config { cores: 1, memory_bytes: 128 << 20, datagrams, ..Config::default() };
    let (memory_bytes, default) = (config.memory_bytes, honeycomb_store::Config::default());
    let store = honeycomb_store::Config { memory_bytes, functions, ..default };
    start_with_store(config, Store::open(store).unwrap())
}

/// Starts such a server whose function waits while a gate, which this closes, is closed.
fn start_gated(gate: &Gate) -> Running {
    gate.close();
    let passage = Arc::new(gate.passage());
    start_calling(move || passage())
}

/// Adds pairs, with several commands.
fn fill(client: &mut Client, pairs: usize) {
    for start in (0..pairs).step_by(1000) {
        let pair = |number| [format!("key{number:06}"), "v".to_owned()];
        let end = pairs.min(start + 1000);
        let words: Vec<_> = ["MSET".to_owned()].into_iter().chain((start..end).flat_map(pair)).collect();
        let mut bytes = Vec::new();
        encode(&words, &mut bytes);
        client.send_bytes(&bytes);
        assert_eq!(show(&client.receive()), "OK");
    }
}

/// Waits until a condition is met.
fn wait_until(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(60), "a condition is not met");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns a client that resets its connection when it is dropped, because it has not read a reply. A client
/// that only closes it might still wait for replies.
fn resetting(running: &Running) -> Client {
    let mut client = Client::connect(running);
    client.send_bytes(b"PING\r\n");
    client.socket.peek(&mut [0]).unwrap();
    client
}

/// Waits until the server has only one client.
fn wait_until_alone(client: &mut Client) {
    let began = Instant::now();
    while !client.reply_text("INFO clients").contains("connected_clients:1\\r\\n") {
        assert!(began.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(1));
    }
}

/// Returns how often tasks have moved to the background.
fn moved(client: &mut Client) -> usize {
    let info = client.reply_text("INFO stats");
    let (_, after) = info.split_once("background_tasks:").unwrap();
    after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Each command takes a millisecond of the clock of the test, so an iteration ends after a few of them.
/// Without that limit it ends after 256.
#[test]
fn other_clients_are_served_between_the_commands_of_a_pipeline() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    const COMMANDS: usize = 3000;
    let is_done = AtomicBool::new(false);
    let pings = thread::scope(|scope| {
        scope.spawn(|| {
            let pipeline = "COMMAND DOCS\r\n".repeat(COMMANDS);
            client.send_bytes(["CLIENT REPLY OFF\r\n", &pipeline, "CLIENT REPLY ON\r\n"].concat().as_bytes());
            let reply = client.receive();
            is_done.store(true, Ordering::SeqCst);
            assert_eq!(show(&reply), "OK");
        });
        let mut pings = 0;
        while !is_done.load(Ordering::SeqCst) {
            assert_eq!(other.reply_text("PING"), "PONG");
            pings += 1;
        }
        pings
    });
    assert!(pings > 5 * COMMANDS / 256, "{pings}");
}

/// A command on whole ranges or tables executes on the core only if these have few pairs.
#[test]
fn commands_on_many_pairs_execute_in_the_background() {
    let running = start_with(Config { cores: 1, databases: 2, ..Config::default() });
    let mut client = Client::connect(&running);
    let sets: String = (0..300).map(|number| format!("SET new{number} v\r\n")).collect();
    let transaction = |commands: &str| format!("MULTI\r\n{commands}CLIENT ID\r\nEXEC\r\n");
    for (pairs, request, moves) in [
        (256, "RI.DELRANGE - +\r\n".to_owned(), 0),
        (257, "RI.DELRANGE - +\r\n".to_owned(), 1),
        (257, "RI.DELRANGE [key000001 +\r\n".to_owned(), 0),
        (256, "FLUSHDB\r\n".to_owned(), 0),
        (257, "FLUSHDB\r\n".to_owned(), 1),
        (257, "FLUSHALL\r\n".to_owned(), 1),
        (257, "DBSIZE\r\n".to_owned(), 0),
        (257, transaction("DBSIZE\r\n"), 0),
        // `CLIENT ID` returns to the core, and the commit moves away again.
        (257, transaction("RI.DELRANGE - +\r\n"), 2),
        (257, transaction("FLUSHDB\r\n"), 2),
        (256, transaction("RI.DELRANGE [key000002 +\r\nDBSIZE\r\n"), 1),
        (0, transaction(&["RI.DELRANGE - +\r\n", &sets, "DBSIZE\r\n"].concat()), 2),
    ] {
        assert_eq!(client.reply_text("FLUSHALL"), "OK");
        fill(&mut client, pairs);
        let before = moved(&mut client);
        client.send_bytes(request.as_bytes());
        let replies: Vec<_> = request.lines().map(|_| show(&client.receive())).collect();
        let name: String = request.chars().take(60).collect();
        assert!(!replies.last().unwrap().contains('!'), "{pairs} {name}: {replies:?}");
        assert_eq!(moved(&mut client) - before, moves, "{pairs} {name}");
    }
}

/// The memory of a long value is read, and messages and empty ranges are added, on the background thread.
#[test]
fn further_commands_execute_in_the_background() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    client.send(&[b"SET", b"long", &[b'v'; 100_000]]);
    assert_eq!(show(&client.receive()), "OK");
    dialogue(&mut client, &[("SET short v", "OK"), ("SUBSCRIBE none", "['subscribe' 'none' 1]")]);
    let mut client = Client::connect(&running);
    for (request, moves) in [
        ("MEMORY USAGE short\r\n".to_owned(), 0),
        ("MEMORY USAGE long\r\n".to_owned(), 1),
        ("MULTI\r\nSET a 1\r\nMEMORY USAGE short\r\nEXEC\r\n".to_owned(), 0),
        ("MULTI\r\nSET a 1\r\nMEMORY USAGE long\r\nEXEC\r\n".to_owned(), 1),
        (format!("MULTI\r\nSET a 1\r\n{}EXEC\r\n", "PUBLISH none x\r\n".repeat(256)), 0),
        (format!("MULTI\r\nSET a 1\r\n{}EXEC\r\n", "PUBLISH none x\r\n".repeat(257)), 1),
        (format!("MULTI\r\nSET a 1\r\n{}EXEC\r\n", "RI.COUNT [x [x\r\nRI.COUNT [z [z\r\n".repeat(10)), 0),
        (format!("MULTI\r\nSET a 1\r\n{}EXEC\r\n", "RI.COUNT [x [x\r\nRI.COUNT [z [z\r\n".repeat(150)), 1),
    ] {
        let before = moved(&mut client);
        client.send_bytes(request.as_bytes());
        let last = request.lines().map(|_| show(&client.receive())).last().unwrap();
        assert!(!last.contains('!') && !last.contains("nil"), "{last}");
        assert_eq!(moved(&mut client) - before, moves, "{request:.60}");
    }
}

#[test]
fn a_transaction_has_few_commands_on_whole_tables() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    for (count, expected) in [(1024, "[0 0"), (1025, "!EXECABORT")] {
        assert_eq!(client.reply_text("MULTI"), "OK");
        client.send_bytes("DBSIZE\r\n".repeat(count).as_bytes());
        let replies: Vec<_> = (0..count).map(|_| show(&client.receive())).collect();
        assert!(replies[..1024].iter().all(|reply| reply == "QUEUED"));
        let error = "!ERR more than 1024 commands since MULTI access whole ranges or tables";
        assert!(replies[1024..].iter().all(|reply| reply.starts_with(error)), "{:?}", replies.last());
        let reply = client.reply_text("EXEC");
        assert!(reply.starts_with(expected), "{reply:.100}");
    }
}

/// The function of each reduction takes a millisecond, so the transaction takes seconds.
#[test]
fn a_long_transaction_does_not_delay_other_long_commands() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let running = start_calling(move || {
        count.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(1));
    });
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    fill(&mut client, 300);
    const CALLS: usize = 3000;
    let sets: String = (0..300).map(|number| format!("SET new{number} v\r\n")).collect();
    let reductions = format!("KV.REDUCE key000000 u8 {} 0\r\n", FIRST_REGISTERED + 1).repeat(CALLS);
    client.send_bytes(["MULTI\r\n", &sets, &reductions, "EXEC\r\n"].concat().as_bytes());
    wait_until(|| calls.load(Ordering::SeqCst) > 0);
    fill(&mut other, 1000);
    let so_far = calls.load(Ordering::SeqCst);
    assert!(so_far < CALLS, "the other command has waited for the whole transaction");
    (0..CALLS + 301).for_each(|_| drop(client.receive()));
    assert!(show(&client.receive()).starts_with("[OK OK"));
}

/// Another client changes a pair that the transaction reads, until the transaction has executed several
/// times. After two conflicts it executes without interruption, but not for long on the core: otherwise its
/// third execution succeeds, because the other client waits.
#[test]
fn a_transaction_with_conflicts_does_not_stay_on_the_core() {
    const CALLS: usize = 100;
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let running = start_calling(move || {
        count.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(1));
    });
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    assert_eq!(client.reply_text("SET k v"), "OK");
    let reductions = format!("KV.REDUCE k u8 {} 0\r\n", FIRST_REGISTERED + 1).repeat(CALLS);
    client.send_bytes(["MULTI\r\nINCR hot\r\n", &reductions, "EXEC\r\n"].concat().as_bytes());
    (0..CALLS + 2).for_each(|_| drop(client.receive()));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            client.receive();
            is_done.store(true, Ordering::SeqCst);
        });
        while calls.load(Ordering::SeqCst) <= 4 * CALLS && !is_done.load(Ordering::SeqCst) {
            other.reply_to("INCR hot");
        }
    });
    assert!(calls.load(Ordering::SeqCst) > 4 * CALLS, "{calls:?} calls");
}

/// Many clients connect while the core waits for a function. It serves another client before it has accepted
/// all of them.
#[test]
fn other_clients_are_served_while_many_connect() {
    const CLIENTS: usize = 300;
    let gate = Gate::default();
    let running = start_gated(&gate);
    // Dropped before the server, which waits for the function.
    let gate = gate;
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    dialogue(&mut client, &[("SET k v", "OK")]);
    dialogue(&mut other, &[("PING", "PONG")]);
    client.send_bytes(format!("KV.FILTER k u8 {FIRST_REGISTERED} 0\r\n").as_bytes());
    gate.wait_until_reached();
    let mut others: Vec<_> = (0..CLIENTS).map(|_| Client::connect(&running)).collect();
    other.send(&[b"INFO", b"clients"]);
    gate.open();
    let info = show(&other.receive());
    let (_, connected) = info.split_once("connected_clients:").unwrap();
    let connected: String = connected.chars().take_while(char::is_ascii_digit).collect();
    assert!(connected.parse::<usize>().unwrap() < CLIENTS / 2, "{connected}");
    others.iter_mut().for_each(|client| dialogue(client, &[("PING", "PONG")]));
}

/// Many datagrams arrive while the core waits for a function. Each of them visits 16 pages of pairs.
#[test]
fn other_clients_are_served_between_functions_over_ranges_of_datagrams() {
    const CLIENTS: usize = 64;
    let gate = Gate::default();
    let running = start_gated(&gate);
    // Dropped before the server, which waits for the function.
    let gate = gate;
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    fill(&mut client, PAIRS);
    let address = running.server.batch_address().unwrap();
    let connect = || BatchClient::connect(address, ClientConfig::default()).unwrap();
    let clients: Vec<_> = (0..CLIENTS).map(|_| connect()).collect();
    client.send_bytes(format!("KV.FILTER key000000 u8 {FIRST_REGISTERED} 0\r\n").as_bytes());
    gate.wait_until_reached();
    let left = AtomicUsize::new(CLIENTS);
    let pings = thread::scope(|scope| {
        let count = |client| {
            count_part(client);
            left.fetch_sub(1, Ordering::SeqCst);
        };
        clients.into_iter().for_each(|client| drop(scope.spawn(move || count(client))));
        thread::sleep(Duration::from_millis(200));
        gate.open();
        let mut pings = 0;
        while left.load(Ordering::SeqCst) > 0 {
            assert_eq!(other.reply_text("PING"), "PONG");
            pings += 1;
        }
        pings
    });
    assert!(pings >= CLIENTS / 6, "{pings}");
}

/// Counts the pairs of the first part of a table that satisfy the predicate.
fn count_part(mut client: BatchClient) {
    let condition = RangeTerm { offset: 0, function: FIRST_REGISTERED.try_into().unwrap(), operands: &[0] };
    let function = RangeFunction { form: RangeForm::Count, conditions: vec![condition] }.bytes();
    let count = Operation::RangeFunction { from: b"", to: b"", function: &function };
    let note = |_: usize, outcome: Outcome<'_>| match outcome {
        Outcome::Part { pairs: [(_, count)], .. } => assert_eq!(*count, 16_384_u64.to_le_bytes()),
        other => panic!("{other:?}"),
    };
    client.call(&[count], note).unwrap();
}

/// The first call of the predicate waits until the client has disconnected.
#[test]
fn a_function_over_a_range_stops_when_its_client_disconnects() {
    let calls = Arc::new(AtomicUsize::new(0));
    let (open, gate) = mpsc::channel::<()>();
    let (count, gate) = (calls.clone(), Arc::new(Mutex::new(gate)));
    let running = start_calling(move || {
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            let _ = gate.lock().unwrap().recv();
        }
    });
    // Dropped before the server, which waits for the function.
    let open = open;
    let mut client = Client::connect(&running);
    fill(&mut client, PAIRS);
    let mut gone = resetting(&running);
    let line = format!("RI.COUNT - + WHERE 0 u8 {FIRST_REGISTERED} 0\r\n");
    gone.send_bytes(line.as_bytes());
    wait_until(|| calls.load(Ordering::SeqCst) > 0);
    drop(gone);
    wait_until_alone(&mut client);
    open.send(()).unwrap();
    // It executes after the function.
    fill(&mut client, 1000);
    let calls = calls.load(Ordering::SeqCst);
    assert!(calls <= 1024, "{calls} calls: the function has visited further pages");
}

/// Reads a long value so often that it takes minutes, unless the command stops.
#[test]
fn a_long_command_stops_when_its_client_disconnects() {
    let running = start_calling(|| {});
    let mut client = Client::connect(&running);
    client.send(&[b"SET", b"long", &vec![b'v'; 16_000_000]]);
    assert_eq!(show(&client.receive()), "OK");
    let mut gone = resetting(&running);
    let words: Vec<&[u8]> =
        std::iter::once(&b"EXISTS"[..]).chain((0..100_000).map(|_| &b"long"[..])).collect();
    let before = moved(&mut client);
    gone.send(&words);
    let began = Instant::now();
    while moved(&mut client) == before {
        assert!(began.elapsed() < Duration::from_secs(60));
    }
    drop(gone);
    wait_until_alone(&mut client);
    fill(&mut client, 1000);
}

/// As above, for the end of the server.
#[test]
fn a_long_command_stops_when_the_server_stops() {
    let config = Config { cores: 1, shutdown_timeout: Duration::from_millis(100), ..Config::default() };
    let running = start_with(config);
    let mut client = Client::connect(&running);
    client.send(&[b"SET", b"long", &vec![b'v'; 16_000_000]]);
    assert_eq!(show(&client.receive()), "OK");
    let words: Vec<&[u8]> =
        std::iter::once(&b"EXISTS"[..]).chain((0..100_000).map(|_| &b"long"[..])).collect();
    let before = moved(&mut client);
    let mut other = Client::connect(&running);
    other.send(&words);
    while moved(&mut client) == before {
        thread::sleep(Duration::from_millis(1));
    }
    let began = Instant::now();
    running.server.stop().unwrap();
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
