//! Completions of a defective device: the driver ends such a scan with a fault, whatever they contain.
#![allow(missing_docs)]

use std::ops::Bound;
use std::sync::Arc;

use honeycomb_accelerator::{
    Backend, Completions, DeviceBackend, Engine, Engines, Error, HostMemory, Read, Request, Requests, Status,
    Window,
};
use honeycomb_btree::{Scan, Version};
use honeycomb_layout::{KEY_BYTES_MAX, STATUS_FOUND, completion, completion_outcome as outcome};
use honeycomb_memory::{BusAddress, Lid};
use honeycomb_testing::index::{MIB, forest, tiny};

/// A completion of a scan, as a device may send it.
#[derive(Debug, Clone)]
struct Part {
    keys: Vec<Vec<u8>>,
    /// The number of pairs that it states.
    pair_count: u64,
    continued: bool,
    more: bool,
}

impl Part {
    /// A part at the end of a quantum.
    fn more(keys: &[&[u8]]) -> Self {
        let (pair_count, keys) = (keys.len() as u64, keys.iter().map(|key| key.to_vec()).collect());
        Self { keys, pair_count, continued: false, more: true }
    }

    fn encode(&self, identifier: &[u8]) -> Vec<u8> {
        // Each value is empty.
        let pair = |key: &Vec<u8>| [&((key.len() as u64) << 32).to_le_bytes()[..], key].concat();
        let body: Vec<u8> = self.keys.iter().flat_map(pair).collect();
        let word = outcome::with_status(0, STATUS_FOUND as u64);
        let word = outcome::with_continued(word, u64::from(self.continued));
        let word = outcome::with_more(word, u64::from(self.more));
        let word = outcome::with_pairs(word, self.pair_count);
        let mut bytes = vec![0; (completion::SIZE + body.len()).next_multiple_of(8)];
        bytes[..8].copy_from_slice(identifier);
        let last = body.len() as u64 | word << 32;
        bytes[completion::BYTES_OFFSET..completion::SIZE].copy_from_slice(&last.to_le_bytes());
        bytes[completion::SIZE..][..body.len()].copy_from_slice(&body);
        bytes
    }
}

/// An engine that answers the first request with the first of these sequences of parts, and so on. The last
/// one answers all others.
#[derive(Debug, Clone, Default)]
struct Script {
    answers: Vec<Vec<Part>>,
    requests: Vec<Vec<u8>>,
    answered: usize,
}

impl Engines for Script {
    fn engine(&self, _: usize) -> Result<Box<dyn Engine>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl Engine for Script {
    fn set_root(&mut self, _: u16, _: Option<Lid>) {}

    fn map(&mut self, _: Lid, _: BusAddress) {}

    fn publish(&mut self, _: Version) {}

    fn submit(&mut self, request: &[u8]) -> bool {
        self.requests.push(request.to_vec());
        true
    }

    fn step(&mut self, _: &dyn HostMemory, complete: &mut dyn FnMut(&[u8])) {
        for request in &self.requests[self.answered..] {
            let answer = &self.answers[self.answered.min(self.answers.len() - 1)];
            self.answered += 1;
            answer.iter().for_each(|part| complete(&part.encode(&request[..8])));
        }
    }

    fn window(&self) -> Window {
        let newest_started = self.requests.len() as u64;
        Window { oldest_in_flight: self.answered as u64 + 1, newest_started }
    }
}

/// Scans with quanta of two pairs. Returns the statuses of the completions and all pairs of those that are
/// found.
fn scan(answers: &[Vec<Part>], scan: Scan<'_>) -> (Vec<Status>, usize) {
    let forest = Arc::new(forest(tiny(128), MIB, true));
    let engines = Script { answers: answers.to_vec(), ..Script::default() };
    let device = DeviceBackend { engines, scan_quantum_pairs: 2, ..DeviceBackend::default() };
    let accelerator = device.attach(&forest, &Arc::default()).unwrap();
    accelerator.set_root(1, Some(forest.create_tree().unwrap()));
    let (mut requests, mut completions) = (Requests::default(), Completions::default());
    let read = Read::Scan { scan, bytes_max: u32::MAX };
    requests.push(&Request { identifier: 7, table: 1, version: None, read }).unwrap();
    let mut queue = accelerator.queue();
    assert_eq!(queue.submit(requests.bytes()), requests.bytes().len());
    let ended = (0..100).any(|_| queue.poll(&mut completions) == 0);
    assert!(ended, "the scan never ends");
    let last = completions.iter().last().unwrap();
    assert!(!last.continued && completions.iter().filter(|one| !one.continued).count() == 1);
    completions.iter().for_each(|one| assert_eq!(one.pairs().count(), one.pair_count));
    let pairs = completions.iter().map(|one| one.pair_count).sum();
    (completions.iter().map(|one| one.status).collect(), pairs)
}

#[test]
fn quanta_in_order_are_one_scan() {
    let [a, b, c, d] = [b"a", b"b", b"c", b"d"].map(|key| &key[..]);
    let last = Part { more: false, ..Part::more(&[d]) };
    let longest = [b'c'; KEY_BYTES_MAX];
    let forward = [vec![Part::more(&[a, b])], vec![Part::more(&[c, &longest])], vec![last]];
    assert_eq!(scan(&forward, Scan::default()), (vec![Status::Found; 3], 5));
    let included = Scan { lower: Bound::Included(b), ..Scan::default() };
    assert_eq!(scan(&forward, included), (vec![Status::Found; 3], 5), "the bound is the last key");
    let floor = Scan { lower: Bound::Included(c), floor_start: true, ..Scan::default() };
    assert_eq!(scan(&forward, floor), (vec![Status::Found; 3], 5), "the floor is before the range");
    let backward = [vec![Part::more(&[d, c])], vec![Part { more: false, ..Part::more(&[b, a]) }]];
    let scan_backward = Scan { backward: true, ..Scan::default() };
    assert_eq!(scan(&backward, scan_backward), (vec![Status::Found; 2], 4));
}

#[test]
fn stated_pairs_are_those_of_the_body() {
    for (pair_count, continued, limit) in [(1, false, 9), (3, true, 9), (1 << 20, false, 2), (3, true, 2)] {
        let part = Part { pair_count, continued, ..Part::more(&[b"a", b"b"]) };
        let scanned = scan(&[vec![part, Part::more(&[b"c"])]], Scan { limit, ..Scan::default() });
        assert_eq!(scanned, (vec![Status::Fault], 0), "{pair_count} {continued} {limit}");
    }
    let part = Part { pair_count: 0, more: false, ..Part::more(&[b"a"]) };
    assert_eq!(scan(&[vec![part]], Scan::default()).0, [Status::Fault], "a value is not an answer of a scan");
}

#[test]
fn keys_have_the_lengths_of_keys() {
    for length in [0, KEY_BYTES_MAX + 1, 0xffff] {
        let answers = [vec![Part::more(&[b"a", &vec![7; length]])]];
        assert_eq!(scan(&answers, Scan::default()), (vec![Status::Fault], 0), "{length}");
    }
}

#[test]
fn a_further_quantum_has_a_shorter_range() {
    let first = vec![Part::more(&[b"a", b"m"])];
    let nothing = scan(&[first.clone(), vec![Part::more(&[])]], Scan::default());
    assert_eq!(nothing, (vec![Status::Found, Status::Fault], 2));
    assert_eq!(scan(&[vec![Part::more(&[])]], Scan::default()), (vec![Status::Fault], 0));
    for (backward, key) in [(false, &b"a"[..]), (false, b"m"), (true, b"m"), (true, b"z")] {
        let answers = [first.clone(), vec![Part::more(&[key])]];
        let scanned = scan(&answers, Scan { backward, ..Scan::default() });
        assert_eq!(scanned, (vec![Status::Found, Status::Fault], 2), "{backward} {key:?}");
    }
}

/// No completion follows a rejection, although the device sends more.
#[test]
fn a_fault_ends_the_scan() {
    let part = Part { continued: true, more: false, ..Part::more(&[b"a", &[7; 500]]) };
    let answer = vec![part.clone(), part, Part::more(&[b"b"])];
    assert_eq!(scan(&[answer], Scan::default()), (vec![Status::Fault], 0));
}
