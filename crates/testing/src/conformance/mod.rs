//! The conformance suite of the accelerator: the promises that every backend must keep.
//!
//! [`check`] attaches a backend to forests of several shapes, writes, submits requests, and compares their
//! completions with sorted maps of the same pairs. The suite treats all backends alike. Each forest has one
//! thread; tests of the individual backends cover races.
//!
//! | file | content |
//! |---|---|
//! | `world` | a forest, the accelerator under test, and the maps |
//! | `session` | a queue, its requests and their answers |
//! | `answers` | an answer: all completions of a request |
//! | `oracle` | the expected answer to a request |
//! | `reads` | random reads |
//! | `registered` | registered functions |
//! | `unordered_model` | unordered tables, and the expected answers to operations on them |
//! | the others | one promise of the seam each |

mod answers;
mod batches;
mod direct_reads;
mod fairness;
mod functions;
mod hostile;
mod long_scans;
mod oracle;
mod pinned_versions;
mod pressure;
mod reads;
mod registered;
mod room;
mod session;
mod tables;
mod unordered;
mod unordered_model;
mod world;

use std::thread;

use honeycomb_accelerator::Backend;
use honeycomb_btree::Config;
use honeycomb_memory::MemoryConfig;
use honeycomb_memory::sync::{AtomicUsize, Ordering};

use crate::index;
use crate::random::Random;
use world::World;

/// Number of pairs that no backend scans within one poll.
pub const PAIRS_OF_A_LONG_SCAN: u64 = 4_000;

/// Checks a promise of the seam. Panics if the backend breaks it.
type Promise = fn(&mut World);

/// Runs the suite with forests of these configurations; promises about requests, with the first of them
/// and those without versions. All random choices follow from the seed, which it prints.
///
/// # Panics
/// If the backend breaks a promise of the seam.
pub fn check(backend: &dyn Backend, configs: &[Config], seed: u64) {
    println!("conformance of {backend:?} with seed {seed}");
    let mut random = Random::new(seed);
    let of = |config| promises(config).into_iter().map(move |promise| (config, promise));
    let mut runs: Vec<(&Config, Promise)> = configs.iter().flat_map(of).collect();
    let about_requests = |config| PROMISES_ABOUT_REQUESTS.map(|promise| (config, promise));
    let chosen = configs.iter().enumerate().filter(|(at, config)| *at == 0 || !config.mvcc);
    runs.extend(chosen.flat_map(|(_, config)| about_requests(config)));
    let runs: Vec<(&Config, Promise, u64)> =
        runs.into_iter().map(|(config, promise)| (config, promise, random.next())).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((config, promise, seed)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            println!("seed {seed}: {config:?}");
            let mut world = World::new(backend, config, *seed);
            promise(&mut world);
            world.finish();
        }
    };
    // Several forests at a time, because a backend can be slow.
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
}

/// The configurations of a complete run.
#[must_use]
pub fn configs() -> Vec<Config> {
    let mut configs = node_configs();
    configs.push(few_leases());
    configs
}

/// Configurations that differ in their nodes. Logic knows nothing else of a forest.
#[must_use]
pub fn node_configs() -> Vec<Config> {
    vec![tiny(128), tiny(0), default(), unversioned()]
}

/// Returns the promises for a forest with this configuration.
fn promises(config: &Config) -> Vec<Promise> {
    let mut promises: Vec<Promise> = vec![
        batches::random_requests_are_answered,
        direct_reads::direct_reads_find_the_newest_pairs,
        fairness::a_get_does_not_wait_for_a_scan_of_all_pairs,
        functions::a_get_does_not_wait_for_a_function,
        room::a_long_value_is_returned_alone_or_rejected,
    ];
    if config.mvcc {
        promises.extend([
            pressure::scans_in_flight_fill_a_queue as Promise,
            pinned_versions::a_pinned_version_is_read_until_it_is_unpinned,
            pinned_versions::one_lease_of_two_is_sufficient,
            pinned_versions::a_long_scan_ends_when_its_version_is_unpinned,
            long_scans::a_long_scan_reads_one_version,
            functions::a_function_sees_one_version,
            functions::a_function_ends_when_its_version_is_unpinned,
            room::a_long_scan_ends_when_there_is_no_room,
            room::a_long_scan_with_little_room_is_whole,
        ]);
    }
    promises
}

/// The promises about requests, which are the same for all nodes.
const PROMISES_ABOUT_REQUESTS: [Promise; 11] = [
    batches::identifiers_are_echoed,
    pressure::a_full_queue_accepts_no_request,
    tables::only_tables_with_a_root_are_read,
    room::reads_beyond_the_room_are_rejected,
    hostile::invalid_requests_are_rejected,
    hostile::mutated_requests_are_handled,
    unordered::operations_execute_in_their_order,
    unordered::operations_fill_a_queue,
    unordered::only_given_unordered_tables_are_used,
    unordered::values_have_the_greatest_length,
    unordered::the_effect_of_a_write_is_returned_without_room,
];

/// Nodes so small that a few pairs fill one.
fn tiny(log_threshold_bytes: usize) -> Config {
    Config { shape: index::tiny(log_threshold_bytes), ..default() }
}

fn default() -> Config {
    let memory = MemoryConfig { arena_bytes: 256 << 20, huge_pages: false, ..MemoryConfig::default() };
    Config { memory, ..Config::default() }
}

/// Fewer leases than long scans.
fn few_leases() -> Config {
    let config = tiny(256);
    Config { memory: MemoryConfig { leases: 3, ..config.memory }, ..config }
}

fn unversioned() -> Config {
    Config { mvcc: false, ..tiny(200) }
}
