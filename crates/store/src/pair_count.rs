//! The number of pairs of a table. Concurrent writers update different cache lines.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;

use honeycomb_btree::Outcome;
use honeycomb_memory::sync::{AtomicU64, Ordering, Padded};

const STRIPES: usize = 16;

/// A striped counter. A single stripe may wrap below zero; the sum does not, once no write is in flight.
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

    pub(crate) fn get(&self) -> u64 {
        self.stripes.iter().fold(0, |sum, stripe| sum.wrapping_add(stripe.0.load(Ordering::Relaxed)))
    }

    pub(crate) fn add(&self, count: u64) {
        let stripe = STRIPE.try_with(|stripe| *stripe).unwrap_or(0);
        self.stripes[stripe].0.fetch_add(count, Ordering::Relaxed);
    }
}
