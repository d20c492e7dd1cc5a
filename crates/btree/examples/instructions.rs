//! Repeats one kind of operation in one thread, to count its instructions on machines where times vary.
//!
//! ```text
//! cargo build --release -p honeycomb-btree --example instructions
//! valgrind --tool=callgrind --toggle-collect="*measured*" \
//!   target/release/examples/instructions get 200000 20000
//! ```
//! Arguments: kind (`get`, `update`, `insert`, `delete`, `scan4`, `scan50`; `gets` in groups of 16;
//! `updates`, `inserts`, or `appends` of ascending keys in groups of 64; `batches` of 64 ascending keys);
//! number of pairs; number of operations; bytes of the log threshold; kind of keys (`paths`, `urls`,
//! `fields`, `uuids`, `dense`, `random`; scattered numbers of 16 bytes if omitted). Divide the instruction
//! count by the number of operations.

use std::hint::black_box;
use std::ops::{Bound, ControlFlow};
use std::time::Instant;

use honeycomb_btree::{BatchOperation, Config, Forest, Operation, Root, Scan, Shape, descend_together};
use honeycomb_memory::MemoryConfig;
use honeycomb_testing::{ExampleKeys, example_value as value};

type Key = Vec<u8>;

/// Number of gets in a group.
const READS_TOGETHER: usize = 16;
/// Number of writes in a group.
const TOGETHER: usize = 64;

#[inline(never)]
fn measured(forest: &Forest, root: Root, kind: &str, keys: &[Key]) -> u64 {
    match kind {
        "gets" => keys.chunks(READS_TOGETHER).map(|keys| gets(forest, root, keys)).sum(),
        "updates" | "inserts" | "appends" | "batches" => {
            keys.chunks(TOGETHER).map(|keys| together(forest, root, kind, keys)).sum()
        }
        one => keys.iter().map(|key| operation(forest, root, one, key)).sum(),
    }
}

fn together(forest: &Forest, root: Root, kind: &str, keys: &[Key]) -> u64 {
    let batch: Vec<BatchOperation<'_>> = keys
        .iter()
        .map(|key| {
            let operation = if kind == "updates" { Operation::Update } else { Operation::Insert };
            BatchOperation { root, key, operation: operation(value(key)) }
        })
        .collect();
    if kind == "batches" {
        forest.apply(&batch).unwrap();
        return batch.len() as u64;
    }
    let mut wrote = 0;
    forest.write_each(&batch, |_, outcome| wrote += u64::from(outcome.unwrap().wrote()));
    wrote
}

fn gets(forest: &Forest, root: Root, keys: &[Key]) -> u64 {
    let reader = forest.reader();
    let mut descents: Vec<_> =
        keys.iter().map(|key| reader.descend_to_get(reader.start(root), key)).collect();
    descend_together(&mut descents);
    descents.iter().map(|descent| descent.get().map_or(0, |found| found.value.len() as u64)).sum()
}

fn operation(forest: &Forest, root: Root, kind: &str, key: &[u8]) -> u64 {
    let wrote = |operation| u64::from(forest.write(root, key, operation).unwrap().wrote());
    match kind {
        "get" => forest.reader().get(root, key).map_or(0, |found| found.value.len() as u64),
        "update" => wrote(Operation::Update(value(key))),
        "insert" => wrote(Operation::Insert(value(key))),
        "delete" => wrote(Operation::Delete),
        "scan4" => scan(forest, root, key, 4),
        "scan50" => scan(forest, root, key, 50),
        other => panic!("{other}: not one of the kinds above"),
    }
}

fn scan(forest: &Forest, root: Root, lower: &[u8], limit: usize) -> u64 {
    let request = Scan { lower: Bound::Included(lower), limit, ..Scan::default() };
    let mut bytes = Vec::with_capacity(limit * 32);
    forest.reader().scan(root, &request, |pair| {
        pair.copy_key_into(&mut bytes);
        bytes.extend_from_slice(pair.value());
        ControlFlow::Continue(())
    });
    black_box(&bytes).len() as u64
}

/// Returns the keys of operations of a kind: new ones for inserts, and existing ones for all others.
fn keys_for(kind: &str, pairs: u64, operations: u64, key: impl Fn(u64) -> Key) -> Vec<Key> {
    let chosen = |number: u64| match kind {
        "insert" | "inserts" => key(pairs + number),
        // After all others.
        "appends" | "batches" => [(u64::MAX << 48 | number).to_be_bytes(), [0; 8]].concat(),
        "delete" => key(number),
        _ => key(number.wrapping_mul(0x2545_f491_4f6c_dd1d) % pairs),
    };
    (0..operations).map(chosen).collect()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |index: usize| arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(100_000_u64);
    let (kind, pairs, operations) = (arguments.first().map_or("get", String::as_str), number(1), number(2));
    let keys = ExampleKeys::named(arguments.get(4));
    let arena_bytes = (pairs as usize + operations as usize) * keys.pair_bytes() + (64 << 20);
    let memory = MemoryConfig { arena_bytes, ..MemoryConfig::default() };
    let mut shape = Shape::default();
    if let Some(text) = arguments.get(3) {
        shape.log_threshold_bytes = text.parse().unwrap();
    }
    let forest = Forest::new(Config { memory, shape, ..Config::default() }).unwrap();
    let root = forest.create_tree().unwrap();
    let start = Instant::now();
    for number in 0..pairs {
        let key = keys.key(number);
        forest.write(root, &key, Operation::Put(value(&key))).unwrap();
    }
    println!("load: {:.0} ns a pair", start.elapsed().as_nanos() as f64 / pairs as f64);
    let keys = keys_for(kind, pairs, operations, |number| keys.key(number));
    let start = Instant::now();
    black_box(measured(&forest, root, kind, &keys));
    let nanoseconds = start.elapsed().as_nanos() as f64 / operations as f64;
    let (bytes, statistics) = (forest.memory().accounting(), forest.statistics());
    println!("{kind}: {nanoseconds:.0} ns an operation\n{statistics:?}\n{bytes:?}");
}
