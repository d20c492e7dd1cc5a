//! What a core has done, in numbers.
//!
//! 1. Only the core's own thread adds to its counts: so to add is a load and a store, not an atomic addition.
//! 2. Anybody may read them, at any time; numbers that are read one after the other need not fit together.

use honeycomb_memory::sync::{AtomicU64, Ordering};

use crate::tally::PREFIXES;

/// Bounds of a histogram: 1, 2, 4, ... up to 4,194,304, and one for all that is beyond.
pub(crate) const BUCKETS: usize = 24;

/// A number that grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

/// How often a number was in each of some ranges. A number is in the first one whose bound is not below it.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [Counter; BUCKETS],
    sum: Counter,
}

/// What was in a histogram, or in many together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Distribution {
    pub(crate) buckets: [u64; BUCKETS],
    pub(crate) sum: u64,
}

/// Of one command.
#[derive(Debug, Default)]
pub(crate) struct CommandCounts {
    /// From the beginning of a turn to the reply.
    pub(crate) microseconds: Histogram,
    pub(crate) errors: Counter,
}

/// Of one core.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Counts {
    pub(crate) received_bytes: Counter,
    pub(crate) sent_bytes: Counter,
    pub(crate) accepted: Counter,
    pub(crate) connections_rejected: Counter,
    pub(crate) timed_out: Counter,
    /// Slices of commands that take long.
    pub(crate) slices: Counter,
    /// Clients that were disconnected since all took too much memory.
    pub(crate) evicted: Counter,
    /// Commands that were not carried out: there are none of their name, or the client may not.
    pub(crate) commands_rejected: Counter,
    /// Lookups of keys by commands that read: of pairs that were there, and of others.
    pub(crate) keyspace_hits: Counter,
    pub(crate) keyspace_misses: Counter,
    /// Error replies by their first word: in the order of [`PREFIXES`].
    pub(crate) errors: [Counter; PREFIXES.len()],
    /// Reads in a batch, and writes in a batch.
    pub(crate) read_batches: Histogram,
    pub(crate) write_batches: Histogram,
    /// By the command's number.
    pub(crate) commands: Box<[CommandCounts]>,
}

impl Counts {
    /// Returns zeros for a number of commands.
    pub(crate) fn new(commands: usize) -> Self {
        Self {
            received_bytes: Counter::default(),
            sent_bytes: Counter::default(),
            accepted: Counter::default(),
            connections_rejected: Counter::default(),
            timed_out: Counter::default(),
            slices: Counter::default(),
            evicted: Counter::default(),
            commands_rejected: Counter::default(),
            keyspace_hits: Counter::default(),
            keyspace_misses: Counter::default(),
            errors: Default::default(),
            read_batches: Histogram::default(),
            write_batches: Histogram::default(),
            commands: (0..commands).map(|_| CommandCounts::default()).collect(),
        }
    }
}

impl Counter {
    #[inline]
    pub(crate) fn add(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Histogram {
    #[inline]
    pub(crate) fn add(&self, number: u64, times: u64) {
        let bits = (u64::BITS - number.saturating_sub(1).leading_zeros()) as usize;
        self.buckets[bits.min(BUCKETS - 1)].add(times);
        self.sum.add(number.wrapping_mul(times));
    }

    /// How many numbers there are.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().map(Counter::get).sum()
    }
}

impl Distribution {
    /// What is in some histograms together.
    pub(crate) fn of<'h>(histograms: impl Iterator<Item = &'h Histogram>) -> Self {
        histograms.fold(Self::default(), |mut all, histogram| {
            all.buckets.iter_mut().zip(&histogram.buckets).for_each(|(all, bucket)| *all += bucket.get());
            all.sum += histogram.sum.get();
            all
        })
    }

    /// Takes back what was there before.
    pub(crate) fn subtract(&mut self, before: &Self) {
        self.buckets.iter_mut().zip(before.buckets).for_each(|(bucket, before)| *bucket -= before);
        self.sum -= before.sum;
    }

    /// How many numbers there are.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The first bound that a share of the numbers is not above; of those beyond all, the last bound.
    pub(crate) fn bound(&self, share: f64) -> u64 {
        let wanted = (self.count() as f64 * share).ceil() as u64;
        let mut sum = 0;
        let reaches = |count: &u64| {
            sum += count;
            sum >= wanted
        };
        let bucket = self.buckets.iter().position(reaches).unwrap_or(0).min(BUCKETS - 2);
        1 << bucket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_below_their_bounds() {
        let histogram = Histogram::default();
        for (number, bucket) in [
            (0, 0),
            (1, 0),
            (2, 1),
            (3, 2),
            (4, 2),
            (5, 3),
            (1 << 22, 22),
            ((1 << 22) + 1, 23),
            (u64::MAX / 8, 23),
        ] {
            let before = histogram.buckets[bucket].get();
            histogram.add(number, 3);
            assert_eq!(histogram.buckets[bucket].get(), before + 3, "{number}");
        }
        let both = Distribution::of([&histogram, &histogram].into_iter());
        assert_eq!(both.count(), 54);
    }
}
