//! The simulated accelerator, the model of a card and the software accelerator answer the same, request by
//! request, while writers change the tree below them.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use honeycomb_accelerator::{
    Accelerator, Back, Card, Completion, Completions, Model, Queue, Read, Request, Requests, Software, Status,
};
use honeycomb_btree::{Config, Forest, Operation, Root, Scan, Shape, Version};
use honeycomb_memory::MemoryConfig;
use honeycomb_simulator::Simulator;
use honeycomb_simulator::platform::Platform;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const TABLE: u16 = 3;
const KEYS: u64 = 300;
const REQUESTS: u64 = 60;

/// All parts of an answer, put together.
#[derive(Debug, PartialEq)]
struct Answer {
    status: Status,
    versions: (Version, Version),
    more: bool,
    value: Vec<u8>,
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
    is_whole: bool,
}

impl Answer {
    fn take(answers: &mut BTreeMap<u64, Self>, part: &Completion<'_>) {
        let (status, versions) = (part.status, (part.read_version, part.pair_version));
        let (value, pairs) = (Vec::new(), Vec::new());
        let answer = Self { status, versions, more: false, value, pairs, is_whole: false };
        let answer = answers.entry(part.identifier).or_insert(answer);
        assert!(!answer.is_whole && (answer.status, answer.versions) == (status, versions));
        answer.value.extend_from_slice(part.value().unwrap_or_default());
        answer.pairs.extend(part.pairs().map(|(key, value)| (key.to_vec(), value.to_vec())));
        (answer.more, answer.is_whole) = (part.more, !part.continued);
    }
}

fn key(random: &mut SmallRng) -> Vec<u8> {
    let number = random.random_range(0..KEYS);
    match number % 3 {
        0 => number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec(),
        1 => format!("/usr/share/{}/file-{number}", number % 5).into_bytes(),
        _ => [b"same-head-".as_slice(), &number.to_be_bytes()[6..], &[7; 60]].concat(),
    }
}

fn write(forest: &Forest, root: Root, random: &mut SmallRng) {
    let key = key(random);
    let length =
        if random.random_bool(0.05) { random.random_range(0..3000) } else { random.random_range(0..60) };
    let value = vec![random.random(); length];
    let operation = if random.random_bool(0.3) { Operation::Delete } else { Operation::Put(&value) };
    forest.write(root, &key, operation).expect("there is room");
}

fn request(random: &mut SmallRng, version: Version, identifier: u64, requests: &mut Requests) {
    let (lower, upper) = (key(random), key(random));
    let how = random.random_range(0..3);
    let scan = Scan {
        lower: if random.random_bool(0.2) { Bound::Unbounded } else { Bound::Included(&lower) },
        upper: if random.random_bool(0.5) { Bound::Unbounded } else { Bound::Excluded(&upper) },
        floor_start: how == 1,
        backward: how == 2,
        keys_only: random.random_bool(0.2),
        limit: random.random_range(0..40),
    };
    let bytes_max = if random.random_bool(0.8) { u32::MAX } else { random.random_range(0..2000) };
    let read = if random.random_bool(0.4) { Read::Get(&lower) } else { Read::Scan { scan, bytes_max } };
    requests
        .push(&Request { identifier, table: TABLE, version: Some(version), read })
        .expect("keys are short");
}

fn answers(queue: &mut dyn Queue, requests: &Requests) -> BTreeMap<u64, Answer> {
    let mut completions = Completions::default();
    assert_eq!(queue.submit(requests.bytes()), requests.bytes().len());
    while queue.poll(&mut completions) > 0 {}
    let mut answers = BTreeMap::new();
    completions.iter().for_each(|part| Answer::take(&mut answers, &part));
    answers
}

/// Asks all of them the same at versions that are held, while others write.
fn run(simulator: Simulator, rounds: u64) {
    let Simulator { platform, seed, cache, .. } = simulator;
    println!("seed {seed} on {}, cache {cache}", platform.name);
    let shape =
        Shape { node_bytes: 1024, segment_bytes_min: 32, shortcut_block_bytes: 64, ..Shape::default() };
    let memory = MemoryConfig { arena_bytes: 64 << 20, huge_pages: false, ..MemoryConfig::default() };
    let forest = Arc::new(Forest::new(Config { memory, shape, ..Config::default() }).expect("a forest"));
    let simulated = Card { engines: simulator, ..Card::default() };
    let backs: [&dyn Back; 3] = [&Software::default(), &Card::<Model>::default(), &simulated];
    let all: Vec<Box<dyn Accelerator>> = backs.map(|back| back.attach(&forest).expect("attached")).into();
    let root = forest.plant().expect("there is room");
    all.iter().for_each(|accelerator| accelerator.set_root(TABLE, Some(root)));
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 1..=2 {
            let (forest, ended) = (&forest, &ended);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed ^ writer << 32);
                while !ended.load(Ordering::Relaxed) {
                    write(forest, root, &mut random);
                    // A simulated card takes what it is told more slowly than it could be told.
                    thread::sleep(Duration::from_micros(500));
                }
            });
        }
        let mut random = SmallRng::seed_from_u64(seed);
        let mut queues: Vec<Box<dyn Queue>> = all.iter().map(|accelerator| accelerator.queue()).collect();
        for round in 0..rounds {
            check(&forest, &all, &mut queues, &mut random, round);
        }
        ended.store(true, Ordering::Relaxed);
    });
}

fn check(
    forest: &Forest,
    all: &[Box<dyn Accelerator>],
    queues: &mut [Box<dyn Queue>],
    random: &mut SmallRng,
    round: u64,
) {
    let lease = Arc::new(forest.memory().lease().expect("there are leases"));
    let version = forest.read_version();
    all.iter().for_each(|accelerator| accelerator.hold(version, &lease));
    let mut requests = Requests::default();
    (0..REQUESTS).for_each(|identifier| request(random, version, identifier, &mut requests));
    let answered: Vec<_> = queues.iter_mut().map(|queue| answers(&mut **queue, &requests)).collect();
    assert_eq!(answered[0].len() as u64, REQUESTS);
    for (back, name) in [(1, "model"), (2, "simulator")] {
        for (identifier, answer) in &answered[0] {
            let request = format!("round {round}, version {version}, request {identifier}: {name}");
            assert_eq!(Some(answer), answered[back].get(identifier), "{request}");
        }
    }
    all.iter().for_each(|accelerator| accelerator.let_go(version, &lease));
}

#[test]
fn with_memory_that_answers_at_once() {
    run(Simulator { platform: Platform::IDEAL, seed: 1, ..Simulator::default() }, 60);
}

#[test]
fn on_the_machine_of_the_paper() {
    run(Simulator { platform: Platform::PAPER, seed: 2, ..Simulator::default() }, 20);
}

#[test]
fn without_what_an_accelerator_does_beyond_what_it_must() {
    let switches = Simulator { cache: false, balance: false, root_on_chip: false, ..Simulator::default() };
    run(Simulator { platform: Platform::IDEAL, seed: 3, ..switches }, 10);
}
