//! Random numbers of a seed.

pub(super) struct Random(u64);

/// The seed of a test: that in `HONEYCOMB_SEED`, or one that differs from run to run. It is printed.
#[cfg(test)]
pub(crate) fn seed() -> u64 {
    let given = std::env::var("HONEYCOMB_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(rand::random);
    println!("HONEYCOMB_SEED={seed}");
    seed
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number (splitmix64).
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True so many times of a hundred.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}
