//! The conformance suite of the accelerator: what every backend must do.
//!
//! [`check`] attaches a backend to forests of several shapes, writes, submits requests, and compares each
//! completion with what sorted maps of the same pairs give. The suite knows no backend by name. Each forest
//! has one thread; tests of the single backends cover races.
//!
//! | file | content |
//! |---|---|
//! | `world` | a forest, the accelerator under test, and the maps |
//! | `session` | a queue, the requests it received and its completions |
//! | `oracle` | the expected completion of a request |
//! | `reads` | random reads |
//! | the others | one promise of the seam each |

mod answers;
mod batches;
mod fairness;
mod held;
mod hostile;
mod long_scans;
mod oracle;
mod pressure;
mod reads;
mod room;
mod session;
mod tables;
mod world;

use std::thread;

use honeycomb_accelerator::Backend;
use honeycomb_btree::{Config, Shape};
use honeycomb_memory::MemoryConfig;
use honeycomb_memory::sync::{AtomicUsize, Ordering};

use crate::random::Random;
use world::World;

/// More pairs than any backend scans within one poll.
pub const PAIRS_OF_A_LONG_SCAN: u64 = 4_000;

/// A promise of the seam: panics if it is broken.
type Promise = fn(&mut World);

/// Runs the suite. All random choices follow from the seed, which it prints.
///
/// # Panics
/// If the backend breaks a promise of the seam.
pub fn check(backend: &dyn Backend, seed: u64) {
    println!("conformance of {backend:?} with seed {seed}");
    let mut random = Random::new(seed);
    let configs = [tiny(128), tiny(0), with_tag_directories(), default(), few_leases(), unversioned()];
    let of = |config| promises(config).into_iter().map(move |promise| (config, promise));
    let runs: Vec<(&Config, Promise, u64)> =
        configs.iter().flat_map(of).map(|(config, promise)| (config, promise, random.next())).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((config, promise, seed)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            println!("seed {seed}: {config:?}");
            let mut world = World::new(backend, config, *seed);
            promise(&mut world);
            world.finish();
        }
    };
    // A backend may be slow.
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
}

/// What is promised of a forest.
fn promises(config: &Config) -> Vec<Promise> {
    let mut promises: Vec<Promise> = vec![
        batches::any_requests_are_answered,
        batches::identifiers_are_echoed,
        pressure::a_full_queue_takes_no_more,
        fairness::a_get_does_not_wait_for_a_scan_of_all_pairs,
        tables::only_tables_with_a_root_are_read,
        room::what_is_found_beyond_the_room_is_refused,
        room::a_long_value_is_found_alone_or_refused,
        hostile::bytes_that_are_no_requests_are_refused,
        hostile::mutated_requests_do_no_harm,
    ];
    if config.mvcc {
        promises.extend([
            pressure::scans_under_way_fill_a_queue as Promise,
            held::a_held_version_is_read_until_it_is_let_go,
            held::one_lease_of_two_is_enough,
            held::a_long_scan_ends_when_its_version_is_held_no_more,
            long_scans::a_long_scan_is_of_one_version,
            room::a_long_scan_ends_when_there_is_no_room,
        ]);
    }
    promises
}

/// Nodes that a few pairs fill.
fn tiny(log_threshold_bytes: usize) -> Config {
    let shape = Shape {
        node_bytes: 1024,
        log_threshold_bytes,
        segment_bytes_min: 32,
        shortcut_block_bytes: 64,
        ..Shape::default()
    };
    Config { shape, ..default() }
}

fn with_tag_directories() -> Config {
    let config = tiny(128);
    Config { shape: Shape { tag_directory_bytes: 64, ..config.shape }, ..config }
}

fn default() -> Config {
    let memory = MemoryConfig { arena_bytes: 256 << 20, huge_pages: false, ..MemoryConfig::default() };
    Config { memory, ..Config::default() }
}

/// Fewer leases than there may be long scans.
fn few_leases() -> Config {
    let config = tiny(256);
    Config { memory: MemoryConfig { leases: 3, ..config.memory }, ..config }
}

fn unversioned() -> Config {
    Config { mvcc: false, ..tiny(200) }
}
