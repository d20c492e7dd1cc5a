//! Repeats one kind of operation, to count its instructions on machines where times vary.
//!
//! ```text
//! cargo build --release -p honeycomb-store --example instructions
//! valgrind --tool=callgrind --toggle-collect="*measured*" \
//!   target/release/examples/instructions get 200000 19200
//! ```
//! Arguments: kind (`get`, `update`, `insert`, or `scan24` for scans of 24, in batches of 64; `single` gets);
//! number of pairs; number of operations; kind of keys (`paths`, `urls`, `fields`, `uuids`, `dense`,
//! `random`; scattered numbers of 16 bytes if omitted). Divide the instruction count by the number of
//! operations.

use honeycomb_store::{Batch, Config, Reads, Scan, Store, Table};
use honeycomb_testing::{ExampleKeys, example_value};

const TOGETHER: u64 = 64;

#[inline(never)]
fn measured(store: &Store, table: &Table, kind: &str, keys: &[Vec<u8>]) -> u64 {
    let (mut reads, mut found, mut value) = (Reads::default(), 0, Vec::new());
    if kind == "single" {
        return keys.iter().map(|key| u64::from(table.get_into(key, &mut value).unwrap())).sum();
    }
    if matches!(kind, "update" | "insert") {
        return writes(store, table, keys);
    }
    let limit: Option<usize> = kind.strip_prefix("scan").and_then(|pairs| pairs.parse().ok());
    assert!(
        limit.is_some() || kind == "get",
        "{kind}: one of get, update, insert, scan and a number, single"
    );
    for keys in keys.chunks(TOGETHER as usize) {
        reads.clear();
        for key in keys {
            match limit {
                None => reads.get(table, key).unwrap(),
                Some(limit) => reads.scan(table, &Scan::from(&key[..]).limit(limit)).unwrap(),
            }
        }
        store.read(&mut reads).unwrap();
        for index in 0..keys.len() {
            found += match limit {
                None => u64::from(reads.value(index).unwrap().is_some()),
                Some(_) => reads.pairs(index).unwrap().count() as u64,
            };
        }
    }
    found
}

/// Puts pairs and returns the number of writes.
fn writes(store: &Store, table: &Table, keys: &[Vec<u8>]) -> u64 {
    let (mut batch, mut wrote) = (Batch::default(), 0);
    for keys in keys.chunks(TOGETHER as usize) {
        batch.clear();
        keys.iter().for_each(|key| _ = batch.put(table, key, example_value(key)));
        store.apply_each(&batch, |_, outcome| wrote += u64::from(outcome.unwrap().wrote())).unwrap();
    }
    wrote
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |index: usize| arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(100_000_u64);
    let (pairs, operations) = (number(1), number(2));
    let keys = ExampleKeys::named(arguments.get(3));
    let memory_bytes = (pairs + operations) as usize * keys.pair_bytes() + (64 << 20);
    let store = Store::open(Config { memory_bytes, ..Config::default() }).unwrap();
    let table = store.table("pairs").unwrap();
    for number in 0..pairs {
        let key = keys.key(number);
        table.put(&key, example_value(&key)).unwrap();
    }
    let kind = arguments.first().map_or("get", String::as_str);
    let chosen = |number: u64| match kind {
        "insert" => keys.key(pairs + number),
        _ => keys.key(number.wrapping_mul(0x2545_f491_4f6c_dd1d) % pairs),
    };
    let keys: Vec<Vec<u8>> = (0..operations).map(chosen).collect();
    let start = std::time::Instant::now();
    let found = measured(&store, &table, kind, &keys);
    let nanoseconds = start.elapsed().as_nanos() as f64 / operations as f64;
    println!("{kind}: {nanoseconds:.0} ns an operation, {found} found");
}
