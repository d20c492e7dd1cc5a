//! The reader sends the same requests at pinned versions to all accelerators.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use honeycomb_accelerator::{Queue, Read, Request, Requests};
use honeycomb_btree::{Scan, Version};
use honeycomb_memory::Lease;
use honeycomb_testing::index::{borrow, pick};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::results::execute;
use crate::setup::{BACKENDS, Setup, TABLES};
use crate::totals::Totals;
use crate::writer::WriteBudget;

/// Most writes during a round.
const WRITES: u64 = 150;
/// Most pinned versions. The oldest is unpinned first.
const PINNED_MAX: usize = 4;
/// A table without a tree.
const NO_TABLE: u16 = 9;

pub(crate) struct Reader<'s> {
    setup: &'s Setup,
    rng: StdRng,
    queues: Vec<Box<dyn Queue>>,
    pinned: VecDeque<(Version, Arc<Lease>)>,
}

impl<'s> Reader<'s> {
    pub(crate) fn new(setup: &'s Setup, seed: u64) -> Self {
        let queues = setup.accelerators.iter().map(|accelerator| accelerator.queue()).collect();
        Self { setup, rng: StdRng::seed_from_u64(seed), queues, pinned: VecDeque::new() }
    }

    pub(crate) fn run(mut self, requests: u64, budget: &WriteBudget, totals: &Totals) {
        let mut sent = 0;
        while sent < requests {
            budget.set(WRITES);
            let count = self.setup.mix.round.min(requests - sent);
            let mismatches = self.round(count);
            totals.compared(count, mismatches);
            sent += count;
        }
        while !self.pinned.is_empty() {
            self.unpin();
        }
    }

    /// Runs a round. Returns the number of results that differ.
    fn round(&mut self, count: u64) -> u64 {
        self.pin();
        let mut requests = Requests::default();
        for identifier in 0..count {
            let version = self.version();
            self.request(identifier, version, &mut requests);
        }
        let results: Vec<_> = self.queues.iter_mut().map(|queue| execute(&mut **queue, &requests)).collect();
        assert_eq!(results[0].len() as u64, count);
        let mut mismatches = 0;
        for (name, others) in BACKENDS.iter().zip(&results).skip(1) {
            for (identifier, result) in &results[0] {
                if others.get(identifier) != Some(result) {
                    mismatches += 1;
                    let other = others.get(identifier);
                    println!("{}\nrequest {identifier}: {result:?}\n{name}: {other:?}", self.setup);
                }
            }
        }
        mismatches
    }

    /// Pins the current read version. Versions of some earlier rounds stay pinned.
    fn pin(&mut self) {
        if self.pinned.len() == PINNED_MAX || (!self.pinned.is_empty() && self.rng.random_bool(0.5)) {
            self.unpin();
        }
        let lease = Arc::new(self.setup.forest.memory().lease().expect("a lease is available"));
        let version = self.setup.forest.read_version();
        // A request cannot name version 0, and a version is pinned only once.
        if version > self.pinned.back().map_or(0, |(newest, _)| *newest) {
            self.setup.accelerators.iter().for_each(|accelerator| accelerator.pin_version(version, &lease));
            self.pinned.push_back((version, lease));
        }
    }

    fn unpin(&mut self) {
        if let Some((version, lease)) = self.pinned.pop_front() {
            self.setup.accelerators.iter().for_each(|accelerator| accelerator.unpin_version(version, &lease));
        }
    }

    /// Returns the newest pinned version, or sometimes any pinned version. Reads of old versions take long.
    fn version(&mut self) -> Option<Version> {
        let newest = self.pinned.len().saturating_sub(1);
        let at = if self.rng.random_bool(0.75) { newest } else { self.rng.random_range(0..=newest) };
        // Before the first write, no version is pinned and the trees are empty.
        Some(self.pinned.get(at).map_or(1, |(version, _)| *version))
    }

    fn request(&mut self, identifier: u64, version: Option<Version>, requests: &mut Requests) {
        let rng = &mut self.rng;
        let (a, b) = (self.setup.key(rng), self.setup.key(rng));
        // Inverted ranges are allowed.
        let (lower, upper) = if a < b || rng.random_bool(0.05) { (&a, &b) } else { (&b, &a) };
        let (lower, upper) = (bound(rng, lower), bound(rng, upper));
        let kind = rng.random_range(0..3);
        let scan = Scan {
            lower: borrow(&lower),
            upper: borrow(&upper),
            floor_start: kind == 1,
            backward: kind == 2,
            keys_only: rng.random_bool(0.2),
            limit: limit(rng),
        };
        let bytes_max = if rng.random_bool(0.8) { u32::MAX } else { rng.random_range(0..2000) };
        let read =
            if rng.random_bool(self.setup.mix.gets) { Read::Get(&a) } else { Read::Scan { scan, bytes_max } };
        let table = if rng.random_bool(0.01) { NO_TABLE } else { *pick(rng, &TABLES) };
        requests.push(&Request { identifier, table, version, read }).expect("keys are short");
    }
}

fn bound(rng: &mut StdRng, key: &[u8]) -> Bound<Vec<u8>> {
    match rng.random_range(0..5) {
        0 => Bound::Unbounded,
        1 => Bound::Excluded(key.to_vec()),
        _ => Bound::Included(key.to_vec()),
    }
}

/// Returns the limit of a scan. Most limits are small, so that more requests run in the same time.
fn limit(rng: &mut StdRng) -> usize {
    match rng.random_range(0..1000) {
        0 => u32::MAX as usize,
        1..100 => rng.random_range(0..60),
        _ => rng.random_range(0..6),
    }
}
