//! Reproducible random numbers for tests.

use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};

/// A generator of random numbers that depend only on a seed.
#[derive(Debug)]
pub struct Random(StdRng);

impl Random {
    /// Creates a generator with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// Returns the next number.
    #[expect(clippy::should_implement_trait, reason = "the sequence never ends")]
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    /// Returns true with a probability of `percent` percent.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Picks an element of a list.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Returns `count` random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.0.random()).collect()
    }
}
