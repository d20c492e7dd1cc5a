//! Who asks all accelerators the same, at versions that are held.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use honeycomb_accelerator::{Queue, Read, Request, Requests};
use honeycomb_btree::{Scan, Version};
use honeycomb_memory::Lease;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::answers::answers;
use crate::totals::Totals;
use crate::world::{BACKS, TABLES, World};
use crate::writer::Leave;
use honeycomb_testing::index::{borrow, pick};

/// Writes during a round, at most.
const WRITES: u64 = 150;
/// Versions held at once; the oldest is let go of first.
const HELD: usize = 4;
/// A table without a tree.
const NO_TABLE: u16 = 9;

pub(crate) struct Asker<'w> {
    world: &'w World,
    rng: StdRng,
    queues: Vec<Box<dyn Queue>>,
    held: VecDeque<(Version, Arc<Lease>)>,
}

impl<'w> Asker<'w> {
    pub(crate) fn new(world: &'w World, seed: u64) -> Self {
        let queues = world.accelerators.iter().map(|accelerator| accelerator.queue()).collect();
        Self { world, rng: StdRng::seed_from_u64(seed), queues, held: VecDeque::new() }
    }

    pub(crate) fn run(mut self, requests: u64, leave: &Leave, totals: &Totals) {
        let mut asked = 0;
        while asked < requests {
            leave.give(WRITES);
            let count = self.world.mix.round.min(requests - asked);
            let mismatches = self.round(count);
            totals.asked(count, mismatches);
            asked += count;
        }
        while !self.held.is_empty() {
            self.let_go();
        }
    }

    /// How many answers of a round differ.
    fn round(&mut self, count: u64) -> u64 {
        self.hold();
        let mut requests = Requests::default();
        for identifier in 0..count {
            let version = self.version();
            self.request(identifier, version, &mut requests);
        }
        let answered: Vec<_> = self.queues.iter_mut().map(|queue| answers(&mut **queue, &requests)).collect();
        assert_eq!(answered[0].len() as u64, count);
        let mut mismatches = 0;
        for (name, others) in BACKS.iter().zip(&answered).skip(1) {
            for (identifier, answer) in &answered[0] {
                if others.get(identifier) != Some(answer) {
                    mismatches += 1;
                    let other = others.get(identifier);
                    println!("{}\nrequest {identifier}: {answer:?}\n{name}: {other:?}", self.world);
                }
            }
        }
        mismatches
    }

    /// Holds the version that is visible now, beside those of some rounds before.
    fn hold(&mut self) {
        if self.held.len() == HELD || (!self.held.is_empty() && self.rng.random_bool(0.5)) {
            self.let_go();
        }
        let lease = Arc::new(self.world.forest.memory().lease().expect("there are leases"));
        let version = self.world.forest.read_version();
        // Version 0 cannot be named, and none is held twice.
        if version > self.held.back().map_or(0, |(newest, _)| *newest) {
            self.world.accelerators.iter().for_each(|accelerator| accelerator.pin_version(version, &lease));
            self.held.push_back((version, lease));
        }
    }

    fn let_go(&mut self) {
        if let Some((version, lease)) = self.held.pop_front() {
            self.world.accelerators.iter().for_each(|accelerator| accelerator.unpin_version(version, &lease));
        }
    }

    /// The newest version that is held, or at times any of them: what is old takes long to be found.
    fn version(&mut self) -> Option<Version> {
        let newest = self.held.len().saturating_sub(1);
        let at = if self.rng.random_bool(0.75) { newest } else { self.rng.random_range(0..=newest) };
        // Before the first write there is no version to name, and nothing to be found.
        Some(self.held.get(at).map_or(1, |(version, _)| *version))
    }

    fn request(&mut self, identifier: u64, version: Option<Version>, requests: &mut Requests) {
        let rng = &mut self.rng;
        let (a, b) = (self.world.key(rng), self.world.key(rng));
        // Ranges the wrong way round are allowed.
        let (lower, upper) = if a < b || rng.random_bool(0.05) { (&a, &b) } else { (&b, &a) };
        let (lower, upper) = (bound(rng, lower), bound(rng, upper));
        let how = rng.random_range(0..3);
        let scan = Scan {
            lower: borrow(&lower),
            upper: borrow(&upper),
            floor_start: how == 1,
            backward: how == 2,
            keys_only: rng.random_bool(0.2),
            limit: limit(rng),
        };
        let bytes_max = if rng.random_bool(0.8) { u32::MAX } else { rng.random_range(0..2000) };
        let read =
            if rng.random_bool(self.world.mix.gets) { Read::Get(&a) } else { Read::Scan { scan, bytes_max } };
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

/// Pairs of a scan: mostly a few, as then there are more requests in the same time; at times all.
fn limit(rng: &mut StdRng) -> usize {
    match rng.random_range(0..1000) {
        0 => u32::MAX as usize,
        1..100 => rng.random_range(0..60),
        _ => rng.random_range(0..6),
    }
}
