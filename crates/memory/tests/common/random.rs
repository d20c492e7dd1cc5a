//! Random numbers of a seed that is printed.
#![allow(dead_code, reason = "no test uses all of it")]

/// Reproducible numbers; the seed is to be printed where a test fails.
pub(crate) struct Random(u64);

impl Random {
    /// Any seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number (splitmix64).
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// A seed that differs from run to run, or the one in `HONEYCOMB_SEED`.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("HONEYCOMB_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = given.unwrap_or_else(|| now.map_or(1, |now| now.as_nanos() as u64));
    println!("HONEYCOMB_SEED={seed}");
    seed
}
