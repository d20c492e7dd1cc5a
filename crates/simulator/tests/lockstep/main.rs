//! The simulated accelerator, the model of a device and the software accelerator answer the same, request by
//! request, while writers change the trees below them.
//!
//! Each seed is a forest of its own, with shapes, keys, a machine and switches that follow from it. Seeds run
//! beside each other, one a core. `HONEYCOMB_LOCKSTEP_REQUESTS=10000000 HONEYCOMB_LOCKSTEP_SEEDS=2000` asks
//! for so many requests of each of the two that are compared with the software accelerator, spread over so
//! many seeds, fewer of those whose machine is slow or that ask for many scans; `HONEYCOMB_SEED` is the
//! first.
#![allow(missing_docs)]

mod answers;
mod asker;
mod totals;
mod world;
mod writer;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use asker::Asker;
use honeycomb_testing::seed_or;
use totals::Totals;
use world::{TABLES, World};
use writer::{Leave, Writer};

/// The number that an environment variable holds, or else this one.
///
/// # Panics
/// If it is no number from 1 on.
fn number(variable: &str, default: u64) -> u64 {
    let Ok(text) = std::env::var(variable) else { return default };
    let number = text.parse().ok().filter(|&number| number > 0);
    number.unwrap_or_else(|| panic!("{variable}={text}: a number from 1 on is allowed"))
}

/// Runs one seed: writers write as long as there is somebody who asks.
fn run(seed: u64, requests: u64, totals: &Totals) {
    let world = World::of_seed(seed);
    println!("{world}");
    let leave = Leave::default();
    thread::scope(|scope| {
        for tree in 0..TABLES.len() {
            let (writer, leave) = (Writer::new(&world, seed, tree), &leave);
            scope.spawn(move || writer.run(leave, totals));
        }
        Asker::new(&world, seed).run(requests, &leave, totals);
        leave.end();
    });
    totals.end_seed(&world.forest.statistics());
}

#[test]
fn every_answer_is_that_of_the_software_accelerator() {
    let requests = number("HONEYCOMB_LOCKSTEP_REQUESTS", 12_000);
    let seeds = number("HONEYCOMB_LOCKSTEP_SEEDS", 8);
    let (first, next) = (seed_or(1), AtomicU64::new(0));
    let shares: u64 = (first..first + seeds).map(World::share).sum();
    let totals = Totals::new(requests);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let offset = next.fetch_add(1, Ordering::Relaxed);
                    if offset >= seeds {
                        return;
                    }
                    let seed = first + offset;
                    run(seed, (requests * World::share(seed)).div_ceil(shares), &totals);
                }
            });
        }
    });
    println!("{totals}");
    assert_eq!(totals.mismatches(), 0, "answers that differ are printed above");
}
