//! Compares ways to fill a table with pairs of 16 + 16 bytes: a bulk load, writes in ascending order, writes
//! in random order.
//!
//! ```text
//! cargo run --release -p honeycomb-store --example load -- 10000000
//! ```
//! Argument: the number of pairs. Prints the nanoseconds and the bytes of nodes per pair, of three
//! alternating runs.

use std::time::Instant;

use honeycomb_store::{Config, Store, Table};

fn key(number: u64) -> [u8; 16] {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(mixed ^ mixed >> 32).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// A name, the keys in the order of the writes, and the function that fills a table with them.
type Way<'a> = (&'a str, &'a [[u8; 16]], fn(&Table, &[[u8; 16]]));

fn load(table: &Table, keys: &[[u8; 16]]) {
    table.load_sorted(keys.iter().map(|key| (key, key))).unwrap();
}

fn put(table: &Table, keys: &[[u8; 16]]) {
    keys.iter().for_each(|key| table.put(key, key).unwrap());
}

fn main() {
    let pairs = std::env::args().nth(1).map_or(1_000_000, |text| text.parse::<u64>().expect("a number"));
    let shuffled: Vec<_> = (0..pairs).map(key).collect();
    let mut sorted = shuffled.clone();
    sorted.sort_unstable();
    let ways: [Way<'_>; 3] =
        [("bulk load", &sorted, load), ("ascending writes", &sorted, put), ("random writes", &shuffled, put)];
    for _ in 0..3 {
        for (name, keys, fill) in ways {
            let memory_bytes = pairs as usize * 80 + (256 << 20);
            let store = Store::open(Config { memory_bytes, ..Config::default() }).unwrap();
            let (table, start) = (store.table("pairs").unwrap(), Instant::now());
            fill(&table, keys);
            let nanoseconds = start.elapsed().as_nanos() as f64 / pairs as f64;
            let bytes = store.statistics().memory.node_bytes as f64 / pairs as f64;
            println!("{name:>20}: {nanoseconds:5.0} ns, {bytes:.1} bytes per pair");
        }
        println!();
    }
}
