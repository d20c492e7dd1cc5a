//! Seeds of random tests. The environment variable `HONEYCOMB_SEED` repeats a run.

use std::time::{Duration, Instant};

/// Returns the seed in `HONEYCOMB_SEED`, or a random seed. Prints it.
#[must_use]
pub fn seed() -> u64 {
    seed_or(rand::random())
}

/// Returns the seed in `HONEYCOMB_SEED`, or `default`. Prints it.
#[must_use]
pub fn seed_or(default: u64) -> u64 {
    let seed = std::env::var("HONEYCOMB_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    println!("seed {seed} (HONEYCOMB_SEED={seed} repeats it)");
    seed
}

/// Runs rounds repeatedly, each time with the next seed, until they have checked `operations_min` operations
/// and `HONEYCOMB_SOAK_SECONDS` have elapsed. `run` runs a round with a seed, and returns the number of
/// checked operations.
pub fn soak<R>(rounds: &[R], operations_min: usize, run: impl Fn(&R, u64) -> usize) {
    let seconds = std::env::var("HONEYCOMB_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let first_seed = seed_or(1);
    let mut operations = 0;
    for offset in 0.. {
        operations += rounds.iter().map(|round| run(round, first_seed + offset)).sum::<usize>();
        if operations >= operations_min && Instant::now() >= until {
            break;
        }
    }
    println!("{operations} operations checked");
}
