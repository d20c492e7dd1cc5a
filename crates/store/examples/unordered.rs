//! Repeats one kind of batch on an unordered table, to count its instructions on machines where times vary.
//!
//! ```text
//! cargo build --release -p honeycomb-store --example unordered
//! valgrind --tool=callgrind --toggle-collect="*measured*" \
//!   target/release/examples/unordered get 20000 8 25600
//! ```
//! Arguments: kind (`get` in `Reads`; `put` one by one, or `atomic`, in a `Batch`), each in batches of 64;
//! number of pairs; bytes of a key and of a value (8 or more); number of operations. Divide the instruction
//! count by the number of operations.

use honeycomb_store::{Batch, BatchOutcome, Config, Error, Reads, Store, UnorderedConfig, UnorderedTable};

const TOGETHER: usize = 64;

/// Executes one operation for each key. Returns the number of values that gets have found, or of writes.
#[inline(never)]
fn measured(store: &Store, table: &UnorderedTable, kind: &str, keys: &[Vec<u8>]) -> Result<usize, Error> {
    let (mut reads, mut batch, mut count) = (Reads::default(), Batch::default(), 0);
    for keys in keys.chunks(TOGETHER) {
        if kind == "get" {
            reads.clear();
            keys.iter().try_for_each(|key| reads.get(table, key))?;
            store.read(&mut reads)?;
            for index in 0..keys.len() {
                count += usize::from(reads.value(index)?.is_some());
            }
            continue;
        }
        batch.clear();
        keys.iter().for_each(|key| _ = batch.put(table, key, key));
        if kind == "put" {
            store.apply_each(&batch, |_, outcome| count += usize::from(outcome.is_ok()))?;
        } else if let BatchOutcome::Applied { outcomes, .. } = store.apply(&batch)? {
            count += outcomes.len();
        }
    }
    Ok(count)
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().map_or("get", String::as_str);
    let number = |index: usize, default: u64| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (pairs, bytes, operations) = (number(1, 20_000), number(2, 8) as usize, number(3, 25_600));
    let memory_bytes = pairs as usize * (160 + 4 * bytes) + (64 << 20);
    let store = Store::open(Config { memory_bytes, ..Config::default() })?;
    let table = store.unordered_table("pairs", UnorderedConfig::default())?;
    let key = |number: u64| {
        let mut key = vec![0; bytes];
        key[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        key
    };
    (0..pairs).try_for_each(|number| table.put(&key(number), &key(number)))?;
    let random = |number: u64| number.wrapping_mul(0x2545_f491_4f6c_dd1d) % pairs;
    let keys: Vec<_> = (0..operations).map(|number| key(random(number))).collect();
    let start = std::time::Instant::now();
    let count = measured(&store, &table, kind, &keys)?;
    let nanoseconds = start.elapsed().as_nanos() as f64 / operations as f64;
    println!("{kind}: {nanoseconds:.0} ns an operation, {count} succeeded");
    Ok(())
}
