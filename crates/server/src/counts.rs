//! The statistics of a core.
//!
//! 1. Only the thread of the core adds to its counts, so an addition is a load and a store and not an atomic
//!    operation.
//! 2. Any thread may read them at any time. Counts that are read one after the other may be inconsistent.

use honeycomb_memory::sync::{AtomicU64, Ordering};

use crate::tally::PREFIXES;

/// Number of buckets of a histogram. The bounds are 1, 2, 4, ... up to 4,194,304, and infinity.
pub(crate) const BUCKETS: usize = 24;

/// A number that only increases.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

/// A histogram. A number belongs to the first bucket whose bound is not below it.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [Counter; BUCKETS],
    sum: Counter,
}

/// The content of one or several histograms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Distribution {
    pub(crate) buckets: [u64; BUCKETS],
    pub(crate) sum: u64,
}

/// The counts of one command.
#[derive(Debug, Default)]
pub(crate) struct CommandCounts {
    /// Time from the start of the iteration to the reply.
    pub(crate) microseconds: Histogram,
    pub(crate) errors: Counter,
}

/// The counts of one core.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Counts {
    pub(crate) received_bytes: Counter,
    pub(crate) sent_bytes: Counter,
    pub(crate) accepted: Counter,
    pub(crate) connections_rejected: Counter,
    pub(crate) timed_out: Counter,
    /// Slices of long commands.
    pub(crate) slices: Counter,
    /// Times that a task moved to the background thread.
    pub(crate) moved: Counter,
    /// Clients that the server disconnected because all clients used too much memory.
    pub(crate) evicted: Counter,
    /// Commands that did not execute: they are unknown, or not allowed for the client.
    pub(crate) commands_rejected: Counter,
    /// Lookups of existing keys, and of absent keys, by commands that read.
    pub(crate) keyspace_hits: Counter,
    pub(crate) keyspace_misses: Counter,
    /// Error replies by their first word, in the order of [`PREFIXES`].
    pub(crate) errors: [Counter; PREFIXES.len()],
    /// Reads in a batch, and writes in a batch.
    pub(crate) read_batches: Histogram,
    pub(crate) write_batches: Histogram,
    /// By number of the command.
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
            moved: Counter::default(),
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

    /// Returns the number of recorded numbers.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().map(Counter::get).sum()
    }
}

impl Distribution {
    /// Adds several histograms.
    pub(crate) fn of<'h>(histograms: impl Iterator<Item = &'h Histogram>) -> Self {
        histograms.fold(Self::default(), |mut all, histogram| {
            all.buckets.iter_mut().zip(&histogram.buckets).for_each(|(all, bucket)| *all += bucket.get());
            all.sum += histogram.sum.get();
            all
        })
    }

    /// Subtracts an earlier content.
    pub(crate) fn subtract(&mut self, before: &Self) {
        self.buckets.iter_mut().zip(before.buckets).for_each(|(bucket, before)| *bucket -= before);
        self.sum -= before.sum;
    }

    /// Returns the number of recorded numbers.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Returns the lowest bound that is not below the given share of the numbers. For numbers above all
    /// bounds it returns the last bound.
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
