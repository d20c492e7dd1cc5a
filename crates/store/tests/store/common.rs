//! Helpers of the tests.

use honeycomb_store::{Config, Store, Table};

pub(crate) const MIB: usize = 1 << 20;

/// An owned pair.
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

pub(crate) fn config() -> Config {
    Config { memory_bytes: 32 * MIB, accelerator: super::accelerator(), ..Config::default() }
}

pub(crate) fn store() -> Store {
    Store::open(config()).unwrap()
}

/// A table of its own store.
pub(crate) fn table() -> Table {
    store().table("table").unwrap()
}

/// The key of a number. Keys have the order of their numbers.
pub(crate) fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Puts `count` different pairs.
pub(crate) fn fill(table: &Table, count: u64) {
    (0..count).for_each(|number| table.put(&key(number), format!("value {number}").as_bytes()).unwrap());
}

/// All pairs of a table.
pub(crate) fn pairs(table: &Table) -> Vec<Pair> {
    table.iter().unwrap().collect::<Result<_, _>>().unwrap()
}
