//! Functions on ranges execute page by page, all of one snapshot: they delay no other command, start again if
//! their snapshot is lost, few of them hold snapshots at the same time, and the pairs that they keep count.
#![allow(missing_docs)]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::encode;
use honeycomb_server::Config;
use honeycomb_store::unordered::{Element, FIRST_REGISTERED, Functions};
use honeycomb_store::{LeaseLimits, Store};
use honeycomb_testing::Gate;

use common::{Client, Running, show, start_with_store};

/// Pairs of the range: several pages.
const PAIRS: usize = 5000;
/// Pairs of a page.
const PAGE: usize = 1024;
const TWO_PAGES: usize = 2 * PAGE;
/// Bytes that writes may replace until a snapshot ends.
const LEASE_BYTES: u64 = 1 << 20;
/// Maximum number of functions that hold snapshots.
const CONCURRENT_MAX: usize = 8;

/// Starts a server of one core with a predicate, whose number is [`FIRST_REGISTERED`]. It passes the number
/// of its calls so far to a function, and returns true.
fn start(call: impl Fn(usize) + Send + Sync + 'static) -> Running {
    let (mut functions, calls) = (Functions::default(), AtomicUsize::new(0));
    let predicate = move |_, _: &[u64]| (call(calls.fetch_add(1, Ordering::SeqCst)), true).1;
    functions.register_predicate(Element::U8, 0, Box::new(predicate)).unwrap();
    let config = Config { cores: 1, memory_bytes: 256 << 20, ..Config::default() };
    let (memory_bytes, functions) = (config.memory_bytes, Arc::new(functions));
    let lease = LeaseLimits { bytes: LEASE_BYTES, ..LeaseLimits::default() };
    let store = honeycomb_store::Config { memory_bytes, functions, lease, ..Default::default() };
    start_with_store(config, Store::open(store).unwrap())
}

/// Stores values of a number of bytes at all keys, with commands that need no background thread.
fn fill(client: &mut Client, bytes: usize) {
    for start in (0..PAIRS).step_by(20) {
        let pair = |number| [format!("key{number:06}"), "v".repeat(bytes)];
        send(client, "MSET", (start..start + 20).flat_map(pair));
    }
    (0..PAIRS).step_by(20).for_each(|_| assert_eq!(show(&client.receive()), "OK"));
}

fn send(client: &mut Client, name: &str, arguments: impl Iterator<Item = String>) {
    let mut request = Vec::new();
    encode(&[name.to_owned()].into_iter().chain(arguments).collect::<Vec<_>>(), &mut request);
    client.send_bytes(&request);
}

/// Sends a command that calls the predicate for each pair.
fn send_count(client: &mut Client) {
    client.send_bytes(format!("RI.COUNT - + WHERE 0 u8 {FIRST_REGISTERED}\r\n").as_bytes());
}

#[test]
fn another_long_command_executes_between_two_pages() {
    let gates = [Gate::default(), Gate::default()];
    gates.iter().for_each(Gate::close);
    let passages = [gates[0].passage(), gates[1].passage()];
    let running = start(move |calls| match calls {
        PAGE => passages[0](),
        TWO_PAGES => passages[1](),
        _ => {}
    });
    // Dropped before the server, which waits for the predicate.
    let gates = gates;
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    fill(&mut client, 1);
    send_count(&mut client);
    gates[0].wait_until_reached();
    // It has too many pairs for the thread of the core.
    send(&mut other, "MSET", (0..1000).flat_map(|number| [format!("other{number}"), "v".to_owned()]));
    while !Client::connect(&running).reply_text("INFO stats").contains("background_tasks:2") {
        thread::yield_now();
    }
    gates[0].open();
    assert_eq!(show(&other.receive()), "OK");
    gates[1].open();
    assert_eq!(show(&client.receive()), PAIRS.to_string(), "its snapshot has no later pairs");
}

/// The snapshot ends in the second page of each of the first attempts.
#[test]
fn a_function_starts_again_after_the_loss_of_its_snapshot() {
    for (losses, outcome) in [(3, PAIRS.to_string()), (4, "snapshot too old".to_owned())] {
        let ((reached, reaches), (resume, resumed)) = (mpsc::channel(), mpsc::channel());
        let resumed = Mutex::new(resumed);
        let running = start(move |calls| {
            if calls % TWO_PAGES == PAGE && calls / TWO_PAGES < losses {
                reached.send(()).unwrap();
                // An error means that the test has failed.
                let _: Result<(), _> = resumed.lock().unwrap().recv();
            }
        });
        // Dropped before the server, which waits for the predicate.
        let resume = resume;
        let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
        fill(&mut client, 1);
        send_count(&mut client);
        for _ in 0..losses {
            reaches.recv().unwrap();
            let snapshot = running.store.snapshot().unwrap();
            while snapshot.renew().is_ok() {
                fill(&mut other, 1);
            }
            resume.send(()).unwrap();
        }
        let reply = show(&client.receive());
        assert!(reply.contains(&outcome), "{losses} losses: {reply}");
    }
}

#[test]
fn few_functions_hold_snapshots_at_the_same_time() {
    let (store, most) = (Arc::new(OnceLock::<Store>::new()), Arc::new(AtomicUsize::new(0)));
    let (its_store, its_most) = (store.clone(), most.clone());
    let running = start(move |calls| {
        if let Some(store) = its_store.get().filter(|_| calls % PAGE == 0) {
            its_most.fetch_max(store.statistics().snapshots.count, Ordering::SeqCst);
        }
    });
    store.set(running.store.clone()).unwrap();
    let mut clients: Vec<_> = (0..5 * CONCURRENT_MAX).map(|_| Client::connect(&running)).collect();
    fill(&mut clients[0], 1);
    clients.iter_mut().for_each(send_count);
    clients.iter_mut().for_each(|client| assert_eq!(show(&client.receive()), PAIRS.to_string()));
    assert_eq!(most.load(Ordering::SeqCst), CONCURRENT_MAX);
}

/// A ranking keeps the pairs of its first page.
#[test]
fn the_pairs_that_a_function_keeps_are_memory_of_its_client() {
    const VALUE_BYTES: usize = 900;
    let gate = Gate::default();
    gate.close();
    let passage = gate.passage();
    let running = start(move |calls| {
        if calls == PAGE {
            passage()
        }
    });
    // Dropped before the server, which waits for the predicate.
    let gate = gate;
    let (mut client, mut other) = (Client::connect(&running), Client::connect(&running));
    fill(&mut client, VALUE_BYTES);
    client.send_bytes(format!("RI.TOP - + 1000 u8 WHERE 0 u8 {FIRST_REGISTERED}\r\n").as_bytes());
    gate.wait_until_reached();
    let began = Instant::now();
    while memory_of_first(&mut other) < 1000 * VALUE_BYTES {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", memory_of_first(&mut other));
    }
    gate.open();
    assert!(show(&client.receive()).starts_with("['key000000'"));
}

/// Returns the bytes of memory of the first client.
fn memory_of_first(client: &mut Client) -> usize {
    let list = client.reply_text("CLIENT LIST ID 1");
    let bytes = list.split(' ').find_map(|field| field.strip_prefix("tot-mem=")).unwrap();
    bytes.parse().unwrap()
}
