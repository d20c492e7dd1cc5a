//! Writers, which change the trees during reads. Phases in which the trees grow and shrink alternate.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use honeycomb_btree::{BatchOperation, Error, Operation, Root};
use honeycomb_memory::MemoryError;
use honeycomb_testing::index::value;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::setup::Setup;
use crate::totals::Totals;

/// The number of allowed writes. A read of an old version takes a step for each later write, so writers
/// without a limit could stay ahead of a simulation forever.
#[derive(Default)]
pub(crate) struct WriteBudget {
    writes: AtomicU64,
    ended: AtomicBool,
}

impl WriteBudget {
    /// Sets the number of further writes.
    pub(crate) fn set(&self, writes: u64) {
        self.writes.store(writes, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Returns whether a write is allowed, and counts it.
    fn spend(&self) -> bool {
        let less = |writes: u64| writes.checked_sub(1);
        self.writes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

pub(crate) struct Writer<'s> {
    setup: &'s Setup,
    root: Root,
    rng: StdRng,
    grows: bool,
}

impl<'s> Writer<'s> {
    /// Returns the writer of a tree. Several writers of one tree would mostly retry, because they wait for
    /// each other and for the simulation.
    pub(crate) fn new(setup: &'s Setup, seed: u64, tree: usize) -> Self {
        let rng = StdRng::seed_from_u64(seed ^ (tree as u64 + 1) << 32);
        Self { setup, root: setup.roots[tree], rng, grows: true }
    }

    pub(crate) fn run(mut self, budget: &WriteBudget, totals: &Totals) {
        while !budget.ended.load(Ordering::Relaxed) {
            if budget.spend() {
                self.step();
                totals.wrote();
            }
            // A simulated device applies updates more slowly than writers produce them.
            thread::sleep(Duration::from_micros(300));
        }
    }

    fn step(&mut self) {
        if self.rng.random_ratio(1, 1000) {
            self.grows = !self.grows;
        }
        match self.rng.random_range(0..1000) {
            0..20 => self.batch(),
            20..24 => self.delete_range(),
            _ => self.write_one(),
        }
        if self.rng.random_ratio(1, 50) {
            self.setup.forest.memory().reclaim();
        }
    }

    fn value(&mut self) -> Vec<u8> {
        value(&mut self.rng, self.setup.forest.shape().inline_value_bytes_max())
    }

    fn write_one(&mut self) {
        let (key, value) = (self.setup.key(&mut self.rng), self.value());
        let puts = self.rng.random_bool(if self.grows { 0.8 } else { 0.2 });
        let operation = if puts { Operation::Put(&value) } else { Operation::Delete };
        retry_while_exhausted(|| self.setup.forest.write(self.root, &key, operation));
    }

    /// Executes a batch of puts, which become visible together.
    fn batch(&mut self) {
        let count = self.rng.random_range(2..20);
        let pairs: Vec<_> = (0..count).map(|_| (self.setup.key(&mut self.rng), self.value())).collect();
        let root = self.root;
        let operation = |(key, value)| BatchOperation { root, key, operation: Operation::Put(value) };
        let batch: Vec<_> = pairs.iter().map(|(key, value)| operation((&key[..], &value[..]))).collect();
        retry_while_exhausted(|| self.setup.forest.apply(&batch));
    }

    fn delete_range(&mut self) {
        let (a, b) = (self.setup.key(&mut self.rng), self.setup.key(&mut self.rng));
        let (lower, upper) = if a < b { (a, b) } else { (b, a) };
        let bounds = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
        retry_while_exhausted(|| self.setup.forest.delete_range(self.root, bounds.0, bounds.1));
    }
}

/// Executes a write, and retries it while the arena is exhausted, because pinned versions delay reclamation.
fn retry_while_exhausted<T>(write: impl Fn() -> Result<T, Error>) {
    while let Err(error) = write() {
        assert!(matches!(error, Error::Memory(MemoryError::Exhausted { .. })), "{error}");
        thread::yield_now();
    }
}
