//! Gets and scans one at a time and in batches, side by side: what the accelerator is worth.
//!
//! ```text
//! cargo run --release -p honeycomb-store --example reads -- 20000000
//! ```
//! Arguments: pairs loaded; seconds of one turn; a part of the names of the ways to take, all without.
//! Prints the median of nanoseconds an operation.

#[path = "../../btree/examples/common/mod.rs"]
mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::key;
use honeycomb_store::{Config, Pairs, Reads, Scan, Software, Store, Table};

/// Keys in no order, each as likely as another.
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

/// One way to read: does some reads and says how many.
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
            (0..batch).map(|index| u64::from(reads.value(index).is_some())).sum()
        };
        ways.push((format!("gets, {batch} together"), Box::new(gets)));
        let mut reads = Reads::default();
        let scans = move |keys: &mut Keys| {
            reads.clear();
            (0..batch).for_each(|_| reads.scan(table, &Scan::from(&keys.next()[..]).limit(4)).unwrap());
            store.read(&mut reads).unwrap();
            batch as u64
        };
        ways.push((format!("scans of 4, {batch} together"), Box::new(scans)));
    }
    ways
}

/// Bytes and lines that searches touch in the nodes of each level, and how many read a log block.
fn print_touched(config: &Config, pairs: u64) {
    let software = Software { count_touched: true, ..Software::default() };
    let store = Store::open(Config { accelerator: Arc::new(software), ..config.clone() }).unwrap();
    let table = store.table("pairs").unwrap();
    (0..pairs).for_each(|number| table.put(&key(number), &key(number)).unwrap());
    let mut keys = Keys { state: 1, pairs };
    (0..100_000).for_each(|_| drop(table.get(&keys.next()).unwrap()));
    let touched = store.touched().expect("it counts");
    for (level, counts) in touched.levels.iter().enumerate() {
        let lines = counts.shortcuts.lines + counts.segments.lines + counts.log.lines;
        let lines = lines as f64 / counts.nodes as f64;
        println!("level {level}: {:.0} bytes, {lines:.1} lines a node", counts.bytes_per_node());
    }
    let read = touched.levels[0].log.bytes;
    println!("log blocks: {} skipped, {read} bytes read", touched.log_blocks_skipped);
}

fn main() {
    let number = |index: usize, otherwise: f64| {
        std::env::args().nth(index).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (pairs, turn) = (number(1, 1e6) as u64, Duration::from_secs_f64(number(2, 0.2)));
    let memory_bytes = pairs as usize * 80 + (256 << 20);
    let config = Config { memory_bytes, ..Config::default() };
    print_touched(&config, pairs.min(1_000_000));
    let store = Store::open(config).unwrap();
    let table = store.table("pairs").unwrap();
    (0..pairs).for_each(|number| table.put(&key(number), &key(number)).unwrap());
    let mut keys = Keys { state: 1, pairs };
    let wanted = std::env::args().nth(3).unwrap_or_default();
    let mut ways = ways(&store, &table);
    ways.retain(|(name, _)| name.contains(&wanted));
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); ways.len()];
    for _ in 0..7 {
        for ((_, way), times) in ways.iter_mut().zip(&mut times) {
            let (start, mut operations) = (Instant::now(), 0);
            while start.elapsed() < turn {
                operations += (0..16).map(|_| way(&mut keys)).sum::<u64>();
            }
            times.push(start.elapsed().as_nanos() as f64 / operations as f64);
        }
    }
    for ((name, _), times) in ways.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("{name:>26}: {:6.0} ns", times[times.len() / 2]);
    }
}
