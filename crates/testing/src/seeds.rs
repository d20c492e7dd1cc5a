//! Seeds of random tests. The environment variable `HONEYCOMB_SEED` repeats a run.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// A crash waits most of the time for threads of the product, so more of them than processors run at once.
const CRASHES_AT_ONCE: usize = 4;

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

/// Checks `HONEYCOMB_SOAK_CRASHES` crashes, or `crashes`, several at once, each with a seed of its own.
///
/// # Panics
/// If a check does, or if the variable is not a number.
pub fn each_crash(crashes: u64, check: impl Fn(u64) + Sync) {
    let requested = std::env::var("HONEYCOMB_SOAK_CRASHES");
    let crashes = requested.map_or(crashes, |text| text.parse().expect("a number of crashes"));
    let first_seed = seed_or(1);
    let seeds = Mutex::new(first_seed..first_seed + crashes);
    let next = || seeds.lock().expect("no panic with the lock").next();
    let check_all = || {
        while let Some(seed) = next() {
            check(seed);
        }
    };
    thread::scope(|scope| (0..CRASHES_AT_ONCE).for_each(|_| drop(scope.spawn(check_all))));
    println!("{crashes} crashes checked");
}
