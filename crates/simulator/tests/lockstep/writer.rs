//! Who changes the trees meanwhile: times in which they grow, and times in which they shrink.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use honeycomb_btree::{BatchOperation, Error, Operation, Root};
use honeycomb_memory::MemoryError;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::totals::Totals;
use crate::world::World;
use honeycomb_testing::index::value;

/// How much may be written. Who reads an old version takes a step for each that was written since, so writers
/// that never wait could keep ahead of a simulation for ever.
#[derive(Default)]
pub(crate) struct Leave {
    writes: AtomicU64,
    ended: AtomicBool,
}

impl Leave {
    /// Allows so many writes more than there were so far.
    pub(crate) fn give(&self, writes: u64) {
        self.writes.store(writes, Ordering::Relaxed);
    }

    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    fn take(&self) -> bool {
        let less = |writes: u64| writes.checked_sub(1);
        self.writes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

pub(crate) struct Writer<'w> {
    world: &'w World,
    root: Root,
    rng: StdRng,
    grows: bool,
}

impl<'w> Writer<'w> {
    /// The writer of the tree of this number: in one tree, writers that wait for each other, who wait for the
    /// simulation, would mostly begin again.
    pub(crate) fn new(world: &'w World, seed: u64, tree: usize) -> Self {
        let rng = StdRng::seed_from_u64(seed ^ (tree as u64 + 1) << 32);
        Self { world, root: world.roots[tree], rng, grows: true }
    }

    pub(crate) fn run(mut self, leave: &Leave, totals: &Totals) {
        while !leave.ended.load(Ordering::Relaxed) {
            if leave.take() {
                self.step();
                totals.wrote();
            }
            // A simulated device takes what it is told more slowly than it could be told.
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
            self.world.forest.memory().reclaim();
        }
    }

    fn value(&mut self) -> Vec<u8> {
        value(&mut self.rng, self.world.forest.shape().inline_value_bytes_max())
    }

    fn write_one(&mut self) {
        let (key, value) = (self.world.key(&mut self.rng), self.value());
        let puts = self.rng.random_bool(if self.grows { 0.8 } else { 0.2 });
        let operation = if puts { Operation::Put(&value) } else { Operation::Delete };
        with_room(|| self.world.forest.write(self.root, &key, operation));
    }

    /// Puts and deletes that become visible together.
    fn batch(&mut self) {
        let count = self.rng.random_range(2..20);
        let pairs: Vec<_> = (0..count).map(|_| (self.world.key(&mut self.rng), self.value())).collect();
        let root = self.root;
        let operation = |(key, value)| BatchOperation { root, key, operation: Operation::Put(value) };
        let batch: Vec<_> = pairs.iter().map(|(key, value)| operation((&key[..], &value[..]))).collect();
        with_room(|| self.world.forest.apply(&batch));
    }

    fn delete_range(&mut self) {
        let (a, b) = (self.world.key(&mut self.rng), self.world.key(&mut self.rng));
        let (lower, upper) = if a < b { (a, b) } else { (b, a) };
        let bounds = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
        with_room(|| self.world.forest.delete_range(self.root, bounds.0, bounds.1));
    }
}

/// What comes of a write once there is room for it: versions that are held keep memory back.
fn with_room<T>(write: impl Fn() -> Result<T, Error>) {
    while let Err(error) = write() {
        assert!(matches!(error, Error::Memory(MemoryError::Exhausted { .. })), "{error}");
        thread::yield_now();
    }
}
