//! The simulated accelerator, the model of a device and the software accelerator return the same result for
//! each request, while writers change the trees.
//!
//! Each seed has its own forest; node shape, keys, platform and switches follow from the seed. Seeds run in
//! parallel, one on each core. `HONEYCOMB_LOCKSTEP_REQUESTS=10000000 HONEYCOMB_LOCKSTEP_SEEDS=2000` sets the
//! number of requests, which all accelerators execute, and the number of seeds. Seeds with a slow platform or
//! with many scans receive fewer requests. `HONEYCOMB_SEED` is the first seed.
#![allow(missing_docs)]

mod reader;
mod results;
mod setup;
mod totals;
mod writer;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use honeycomb_testing::{number, seed_or};

use reader::Reader;
use setup::{Setup, TABLES};
use totals::Totals;
use writer::{WriteBudget, Writer};

/// Runs one seed. Writers write until the reader ends.
fn run(seed: u64, requests: u64, totals: &Totals) {
    let setup = Setup::of_seed(seed);
    println!("{setup}");
    let budget = WriteBudget::default();
    thread::scope(|scope| {
        for tree in 0..TABLES.len() {
            let (writer, budget) = (Writer::new(&setup, seed, tree), &budget);
            scope.spawn(move || writer.run(budget, totals));
        }
        Reader::new(&setup, seed).run(requests, &budget, totals);
        budget.end();
    });
    totals.end_seed(&setup.forest.statistics());
}

#[test]
fn every_result_matches_the_software_accelerator() {
    let requests = number("HONEYCOMB_LOCKSTEP_REQUESTS", 12_000);
    let seeds = number("HONEYCOMB_LOCKSTEP_SEEDS", 8);
    assert!(requests > 0 && seeds > 0);
    let (first, next) = (seed_or(1), AtomicU64::new(0));
    let shares: u64 = (first..first + seeds).map(Setup::share).sum();
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
                    run(seed, (requests * Setup::share(seed)).div_ceil(shares), &totals);
                }
            });
        }
    });
    println!("{totals}");
    assert_eq!(totals.mismatches(), 0, "the results that differ are printed above");
}
