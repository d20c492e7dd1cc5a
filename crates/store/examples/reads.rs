//! Compares gets and scans one at a time and in batches: the gain from the accelerator.
//!
//! ```text
//! cargo run --release -p honeycomb-store --example reads -- 10000000 0.2 ""
//! ```
//! Arguments: the number of pairs; the seconds of a run; a part of the names of the measured ways, empty for
//! all. Prints the median of the nanoseconds per operation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use honeycomb_store::{Config, Pairs, Reads, Scan, Software, Store, Table};
use honeycomb_testing::index::scattered_key as key;

/// Uniformly distributed random keys.
struct Keys {
    state: u64,
    pairs: u64,
}

impl Keys {
    fn next(&mut self) -> [u8; 16] {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        key((self.state >> 32) % self.pairs)
    }
}

/// Runs of each way.
const RUNS: usize = 7;

/// A way to read: executes some reads and returns their number.
type Way<'a> = Box<dyn FnMut(&mut Keys) -> u64 + 'a>;

fn ways<'a>(store: &'a Store, table: &'a Table) -> Vec<(String, Way<'a>)> {
    let mut value = Vec::new();
    let mut pairs = Pairs::default();
    let get = move |keys: &mut Keys| u64::from(table.get_into(&keys.next(), &mut value).unwrap());
    let scan = move |keys: &mut Keys| {
        table.scan_into(&Scan::from(&keys.next()[..]).limit(4), &mut pairs).unwrap();
        1
    };
    let mut ways: Vec<(String, Way<'a>)> =
        vec![("get".into(), Box::new(get)), ("scan of 4".into(), Box::new(scan))];
    for batch in [1, 16, 64, 256] {
        let mut reads = Reads::default();
        let gets = move |keys: &mut Keys| {
            reads.clear();
            (0..batch).for_each(|_| reads.get(table, &keys.next()).unwrap());
            store.read(&mut reads).unwrap();
            (0..batch).map(|index| u64::from(reads.value(index).unwrap().is_some())).sum()
        };
        ways.push((format!("gets, batches of {batch}"), Box::new(gets)));
        let mut reads = Reads::default();
        let scans = move |keys: &mut Keys| {
            reads.clear();
            (0..batch).for_each(|_| reads.scan(table, &Scan::from(&keys.next()[..]).limit(4)).unwrap());
            store.read(&mut reads).unwrap();
            batch as u64
        };
        ways.push((format!("scans of 4, batches of {batch}"), Box::new(scans)));
    }
    ways
}

/// Prints the bytes and cache lines that searches read in the nodes of each level, and how many log blocks
/// they skip and read.
fn print_touched(config: &Config, pairs: u64) {
    let software = Software { count_accesses: true, ..Software::default() };
    let store = Store::open(Config { accelerator: Arc::new(software), ..config.clone() }).unwrap();
    let table = store.table("pairs").unwrap();
    (0..pairs).for_each(|number| table.put(&key(number), &key(number)).unwrap());
    let mut keys = Keys { state: 1, pairs };
    (0..100_000).for_each(|_| drop(table.get(&keys.next()).unwrap()));
    let touched = store.access_counts().expect("the accelerator counts");
    for (level, counts) in touched.levels.iter().enumerate() {
        let lines = counts.header.lines + counts.columns.lines + counts.items.lines + counts.log.lines;
        let lines = lines as f64 / counts.nodes as f64;
        println!("level {level}: {:.0} bytes, {lines:.1} lines per node", counts.bytes_per_node());
    }
    let read = touched.levels[0].log.bytes;
    println!("log blocks: {} skipped, {read} bytes read", touched.log_blocks_skipped);
}

/// A store of `pairs` pairs.
fn loaded(pairs: u64) -> (Store, Table) {
    let memory_bytes = pairs as usize * 80 + (256 << 20);
    let config = Config { memory_bytes, ..Config::default() };
    print_touched(&config, pairs.min(1_000_000));
    let store = Store::open(config).unwrap();
    let table = store.table("pairs").unwrap();
    (0..pairs).for_each(|number| table.put(&key(number), &key(number)).unwrap());
    let bytes = store.statistics().memory.node_bytes as f64 / pairs as f64;
    println!("{bytes:.1} bytes of nodes per pair\n");
    (store, table)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse::<f64>().expect("a number");
    let pairs = arguments.first().map_or(1e6, number) as u64;
    let duration = Duration::from_secs_f64(arguments.get(1).map_or(0.2, number));
    let wanted = arguments.get(2).map_or("", String::as_str);
    let (store, table) = loaded(pairs);
    let mut keys = Keys { state: 1, pairs };
    for (name, mut way) in ways(&store, &table).into_iter().filter(|(name, _)| name.contains(wanted)) {
        let mut times = [(); RUNS].map(|()| nanoseconds(&mut way, &mut keys, duration));
        times.sort_by(f64::total_cmp);
        println!("{name:>26}: {:6.0} ns", times[RUNS / 2]);
    }
}

/// Reads for about `duration` and returns the nanoseconds per operation.
fn nanoseconds(way: &mut Way<'_>, keys: &mut Keys, duration: Duration) -> f64 {
    let (start, mut operations) = (Instant::now(), 0);
    while start.elapsed() < duration {
        operations += (0..16).map(|_| way(keys)).sum::<u64>();
    }
    start.elapsed().as_nanos() as f64 / operations as f64
}
