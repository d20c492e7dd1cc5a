//! Seeds and lengths of random tests, in environment variables. `HONEYCOMB_SEED` repeats a run.

use std::env;
use std::fmt::Debug;
use std::str::FromStr;
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
    let seed = number("HONEYCOMB_SEED", default);
    println!("seed {seed} (HONEYCOMB_SEED={seed} repeats it)");
    seed
}

/// Returns the number in an environment variable, or `default` if it is not set.
///
/// # Panics
/// If the variable is not such a number: a longer run that was requested must not become a short one.
#[must_use]
pub fn number<N: FromStr<Err: Debug>>(variable: &str, default: N) -> N {
    env::var(variable).map_or(default, |text| {
        text.parse().unwrap_or_else(|error| panic!("{variable} is {text:?}, not a number: {error:?}"))
    })
}

/// Runs rounds repeatedly, each time with the next seed, until they have checked `operations_min` operations
/// and `HONEYCOMB_SOAK_SECONDS` have elapsed. `run` runs a round with a seed, and returns the number of
/// checked operations.
pub fn soak<R>(rounds: &[R], operations_min: usize, run: impl Fn(&R, u64) -> usize) {
    let until = Instant::now() + Duration::from_secs(number("HONEYCOMB_SOAK_SECONDS", 0));
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
    let crashes = number("HONEYCOMB_SOAK_CRASHES", crashes);
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
