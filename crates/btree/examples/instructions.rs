//! Repeats one kind of operation in one thread, to count its instructions on machines where times vary.
//!
//! ```text
//! cargo build --release -p honeycomb-btree --example instructions
//! valgrind --tool=callgrind --toggle-collect="*measured*" \
//!   target/release/examples/instructions get 200000 20000
//! ```
//! Arguments: kind (`get`, `update`, `insert`, `delete`, `scan4`, `scan50`; `gets` in groups of 16, `updates`
//! or `inserts` in groups of 64); number of pairs; number of operations; bytes of the log threshold; `rows`
//! for nodes in rows. Divide the instruction count by the number of operations.

use std::hint::black_box;
use std::ops::{Bound, ControlFlow, Range};
use std::time::Instant;

use honeycomb_testing::index::scattered_key as key;

type Key = [u8; 16];
use honeycomb_btree::{
    BatchOperation, Config, Forest, NodeLayout, Operation, Root, RowShape, Scan, Shape, descend_together,
};
use honeycomb_memory::MemoryConfig;

/// Number of gets in a group.
const READS_TOGETHER: usize = 16;
/// Number of writes in a group.
const TOGETHER: u64 = 64;

#[inline(never)]
fn measured(forest: &Forest, root: Root, kind: &str, pairs: u64, operations: u64) -> u64 {
    match kind {
        "gets" => (0..operations)
            .step_by(READS_TOGETHER)
            .map(|first| gets(forest, root, pairs, first..operations.min(first + READS_TOGETHER as u64)))
            .sum(),
        "updates" | "inserts" => (0..operations)
            .step_by(TOGETHER as usize)
            .map(|first| together(forest, root, kind, pairs, first..operations.min(first + TOGETHER)))
            .sum(),
        one => (0..operations).map(|number| operation(forest, root, one, pairs, number)).sum(),
    }
}

fn together(forest: &Forest, root: Root, kind: &str, pairs: u64, numbers: Range<u64>) -> u64 {
    let is_update = kind == "updates";
    let chosen = |number| if is_update { existing(pairs, number) } else { key(pairs + number) };
    let keys: Vec<Key> = numbers.map(chosen).collect();
    let batch: Vec<BatchOperation<'_>> = keys
        .iter()
        .map(|key| {
            let operation = if is_update { Operation::Update(key) } else { Operation::Insert(key) };
            BatchOperation { root, key, operation }
        })
        .collect();
    let mut wrote = 0;
    forest.write_each(&batch, |_, outcome| wrote += u64::from(outcome.unwrap().wrote()));
    wrote
}

fn gets(forest: &Forest, root: Root, pairs: u64, numbers: Range<u64>) -> u64 {
    let keys: Vec<Key> = numbers.map(|number| existing(pairs, number)).collect();
    let reader = forest.reader();
    let mut descents: Vec<_> = keys.iter().map(|key| reader.descend_to_get(root, key)).collect();
    descend_together(&mut descents);
    descents.iter().map(|descent| descent.get().map_or(0, |found| found.value.len() as u64)).sum()
}

fn existing(pairs: u64, number: u64) -> Key {
    key(number.wrapping_mul(0x2545_f491_4f6c_dd1d) % pairs)
}

fn operation(forest: &Forest, root: Root, kind: &str, pairs: u64, number: u64) -> u64 {
    let chosen = existing(pairs, number);
    match kind {
        "get" => forest.reader().get(root, &chosen).map_or(0, |found| found.value.len() as u64),
        "update" => u64::from(forest.write(root, &chosen, Operation::Update(&chosen)).unwrap().wrote()),
        "insert" => {
            let fresh = key(pairs + number);
            u64::from(forest.write(root, &fresh, Operation::Insert(&fresh)).unwrap().wrote())
        }
        "delete" => u64::from(forest.write(root, &key(number), Operation::Delete).unwrap().wrote()),
        "scan4" => scan(forest, root, &chosen, 4),
        "scan50" => scan(forest, root, &chosen, 50),
        other => panic!("{other}: one of get, update, insert, delete, scan4, scan50, updates, inserts"),
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

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |index: usize| arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(100_000_u64);
    let (kind, pairs, operations) = (arguments.first().map_or("get", String::as_str), number(1), number(2));
    let arena_bytes = (pairs as usize + operations as usize) * 120 + (64 << 20);
    let memory = MemoryConfig { arena_bytes, ..MemoryConfig::default() };
    let mut shape = Shape::default();
    if let Some(text) = arguments.get(3) {
        shape.log_threshold_bytes = text.parse().unwrap();
    }
    if arguments.get(4).is_some_and(|layout| layout == "rows") {
        shape.layout = NodeLayout::Rows(RowShape::default());
    }
    let forest = Forest::new(Config { memory, shape, ..Config::default() }).unwrap();
    let root = forest.create_tree().unwrap();
    for number in 0..pairs {
        forest.write(root, &key(number), Operation::Put(&key(number))).unwrap();
    }
    let start = Instant::now();
    black_box(measured(&forest, root, kind, pairs, operations));
    let nanoseconds = start.elapsed().as_nanos() as f64 / operations as f64;
    let (bytes, statistics) = (forest.memory().accounting(), forest.statistics());
    println!("{kind}: {nanoseconds:.0} ns an operation\n{statistics:?}\n{bytes:?}");
}
