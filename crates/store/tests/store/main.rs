//! The store as its users see it.

mod batches;
mod exhaustion;
mod images;
mod iterators;
mod operations;
mod scans;
mod snapshots;
mod tables;

use honeycomb_store::{Config, Store, Table};

const MIB: usize = 1 << 20;

/// An owned pair.
type Pair = (Vec<u8>, Vec<u8>);

fn config() -> Config {
    Config { memory_bytes: 32 * MIB, ..Config::default() }
}

fn store() -> Store {
    Store::open(config()).unwrap()
}

/// A table of a store of its own.
fn table() -> Table {
    store().table("table").unwrap()
}

/// The key of a number: ordered as the numbers are.
fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Puts `count` pairs that are all different.
fn fill(table: &Table, count: u64) {
    (0..count).for_each(|number| table.put(&key(number), format!("value {number}").as_bytes()).unwrap());
}

/// All pairs of a table.
fn pairs(table: &Table) -> Vec<Pair> {
    table.iter().unwrap().collect::<Result<_, _>>().unwrap()
}
