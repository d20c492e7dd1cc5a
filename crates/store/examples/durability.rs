//! Measures the cost of the log: writes to a store in memory, and to durable stores with each policy, in one
//! run. `cargo run --release -p honeycomb-store --example durability -- DIR [PAIRS]` uses the directory
//! `DIR`.

use std::path::Path;
use std::time::Instant;

use honeycomb_store::{Batch, Config, DurabilityConfig, Error, Store, SyncPolicy};

/// Pairs of one call of `apply_each`.
const BATCH: u64 = 128;
/// Under `always` a single put takes as long as a write to the disk, so there are fewer of them.
const FEWER: u64 = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().ok_or("usage: durability DIR [PAIRS]")?;
    let pairs = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let mut baseline = None;
    println!("policy        puts/s  batched/s  batched, of memory");
    for policy in [None, Some(SyncPolicy::Never), Some(SyncPolicy::EverySecond), Some(SyncPolicy::Always)] {
        let name = policy.map_or("memory".to_owned(), |policy| format!("{policy:?}").to_lowercase());
        let path = Path::new(&directory).join(&name);
        let puts = if policy == Some(SyncPolicy::Always) { pairs / FEWER } else { pairs };
        let single = rate(puts, || single(&open(&path, policy)?, puts))?;
        let batched = rate(pairs, || batched(&open(&path, policy)?, pairs))?;
        let share = batched / *baseline.get_or_insert(batched);
        println!("{name:<11}  {single:>7.0}  {batched:>9.0}  {share:.2}");
        if policy.is_some() {
            let start = Instant::now();
            let store = open(&path, policy)?;
            let records = store.recovery().map_or(0, |recovery| recovery.records);
            println!("  recovery of {records} records: {:.2} s", start.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

fn open(path: &Path, policy: Option<SyncPolicy>) -> Result<Store, Error> {
    let durability = match policy {
        None => None,
        Some(policy) => Some(DurabilityConfig { policy, ..DurabilityConfig::directory(path)? }),
    };
    Store::open(Config { memory_bytes: 2 << 30, durability, ..Config::default() })
}

fn rate(pairs: u64, run: impl FnOnce() -> Result<f64, Error>) -> Result<f64, Error> {
    Ok(pairs as f64 / run()?)
}

fn single(store: &Store, pairs: u64) -> Result<f64, Error> {
    let table = store.table("single")?;
    let start = Instant::now();
    for number in 0..pairs {
        table.put(&key(number), &number.to_le_bytes())?;
    }
    Ok(start.elapsed().as_secs_f64())
}

fn batched(store: &Store, pairs: u64) -> Result<f64, Error> {
    let (table, mut batch) = (store.table("batched")?, Batch::default());
    let start = Instant::now();
    for first in (0..pairs).step_by(BATCH as usize) {
        batch.clear();
        for number in first..(first + BATCH).min(pairs) {
            batch.put(&table, &key(number), &number.to_le_bytes());
        }
        let mut failed = None;
        store.apply_each(&batch, |_, outcome| failed = outcome.err())?;
        failed.map_or(Ok(()), Err)?;
    }
    Ok(start.elapsed().as_secs_f64())
}

/// Scattered keys of 16 bytes.
fn key(number: u64) -> [u8; 16] {
    let scattered = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (u128::from(scattered) << 64 | u128::from(number)).to_be_bytes()
}
