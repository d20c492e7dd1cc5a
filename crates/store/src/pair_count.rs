//! The number of pairs of a table. Concurrent writers update different cache lines.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;

use honeycomb_btree::Outcome;
use honeycomb_memory::sync::{AtomicU64, Ordering, Padded};

const STRIPES: usize = 16;

/// A striped counter. A single stripe may wrap below zero. The sum may as well while writes are in flight: a
/// writer may count a deletion before another one has counted the insertion of the pair.
#[derive(Default)]
pub(crate) struct PairCount {
    stripes: [Padded<AtomicU64>; STRIPES],
}

thread_local! {
    static STRIPE: usize = {
        let mut hasher = DefaultHasher::new();
        thread::current().id().hash(&mut hasher);
        hasher.finish() as usize % STRIPES
    };
}

impl PairCount {
    /// Updates the count after a write.
    #[inline]
    pub(crate) fn record(&self, outcome: &Outcome) {
        match outcome {
            Outcome::Inserted | Outcome::AddedFirst { .. } => self.add(1),
            Outcome::Deleted => self.subtract(1),
            Outcome::RangeDeleted { pairs } => self.subtract(*pairs),
            _ => {}
        }
    }

    pub(crate) fn subtract(&self, count: u64) {
        self.add(count.wrapping_neg());
    }

    /// Returns the count, exact while no write is in flight.
    pub(crate) fn get(&self) -> u64 {
        let load = |stripe: &Padded<AtomicU64>| stripe.0.load(Ordering::Relaxed);
        let sum = self.stripes.iter().map(load).fold(0, u64::wrapping_add);
        sum.cast_signed().max(0).cast_unsigned()
    }

    pub(crate) fn add(&self, count: u64) {
        let stripe = STRIPE.try_with(|stripe| *stripe).unwrap_or(0);
        self.stripes[stripe].0.fetch_add(count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_that_is_counted_before_its_insertion_makes_no_negative_count() {
        let count = PairCount::default();
        count.record(&Outcome::Deleted);
        assert_eq!(count.get(), 0);
        count.record(&Outcome::Inserted);
        assert_eq!(count.get(), 0);
        count.record(&Outcome::Inserted);
        assert_eq!(count.get(), 1);
    }
}
