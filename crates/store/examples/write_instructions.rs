//! Repeats puts of new pairs, to count the instructions that a log costs its writers on machines where times
//! vary.
//!
//! ```text
//! cargo build --release -p honeycomb-store --example write_instructions
//! valgrind --tool=callgrind --separate-threads=yes --toggle-collect="*measured*" \
//!   target/release/examples/write_instructions batched 100000 DIR
//! ```
//! Arguments: `batched` or `single`; number of pairs; the directory of a durable store with the policy
//! `everysec`, or none. Divide the instruction count of the first thread by the number of pairs. Without
//! `--toggle-collect`, the other threads are counted as well.

use honeycomb_store::{Batch, Config, DurabilityConfig, Error, Store, SyncPolicy, Table};

const TOGETHER: u64 = 256;

#[inline(never)]
fn measured(store: &Store, table: &Table, kind: &str, pairs: u64) -> Result<(), Error> {
    let mut batch = Batch::default();
    for first in (0..pairs).step_by(TOGETHER as usize) {
        let numbers = first..pairs.min(first + TOGETHER);
        if kind == "single" {
            numbers.clone().try_for_each(|number| table.put(&key(number), &key(!number)).map(drop))?;
            continue;
        }
        batch.clear();
        numbers.for_each(|number| _ = batch.put(table, &key(number), &key(!number)));
        let mut failed = None;
        store.apply_each(&batch, |_, outcome| failed = outcome.err())?;
        failed.map_or(Ok(()), Err)?;
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let kind = arguments.first().map_or("batched", String::as_str);
    let pairs = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(100_000_u64);
    let durability = arguments.get(2).map(|path| {
        let directory = DurabilityConfig::directory(path)?;
        Ok::<_, Error>(DurabilityConfig { policy: SyncPolicy::EverySecond, ..directory })
    });
    let memory_bytes = pairs as usize * 128 + (64 << 20);
    let store =
        Store::open(Config { memory_bytes, durability: durability.transpose()?, ..Config::default() })?;
    let table = store.table("pairs")?;
    let start = std::time::Instant::now();
    measured(&store, &table, kind, pairs)?;
    println!("{kind}: {:.0} ns a put", start.elapsed().as_nanos() as f64 / pairs as f64);
    Ok(())
}

/// Scattered keys of 16 bytes.
fn key(number: u64) -> [u8; 16] {
    let scattered = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (u128::from(scattered) << 64 | u128::from(number)).to_be_bytes()
}
