//! The time of an operation of a batch by the length of the batch: batches of puts with random and ascending
//! keys into a table of a million pairs, then of updates and of deletes of the same keys.
//!
//! ```text
//! cargo run --release -p honeycomb-store --example batches [PAIRS]
//! ```

use std::time::{Duration, Instant};

use honeycomb_store::{Batch, BatchOutcome, Config, Error, Store};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Lengths of batches.
const LENGTHS: [usize; 6] = [1, 100, 1_000, 10_000, 100_000, 1 << 20];
/// Operations of each kind and length.
const OPERATIONS: usize = 1 << 20;

fn main() -> Result<(), Error> {
    let pairs = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    println!("nanoseconds per operation, in a table of {pairs} pairs of 16 + 16 bytes");
    println!("{:>10} {:>10} {:>10} {:>10} {:>10}", "length", "ascending", "random", "updates", "deletes");
    for length in LENGTHS {
        let store = Store::open(Config { memory_bytes: 2 << 30, ..Config::default() })?;
        let table = store.table("table")?;
        table.load_sorted((0..pairs).map(|number| (key(number << 32), [7; 16])))?;
        let mut rng = StdRng::seed_from_u64(7);
        let ascending: Vec<u64> = (0..OPERATIONS as u64).map(|number| (number * pairs) << 12).collect();
        let random: Vec<u64> = (0..OPERATIONS).map(|_| rng.random_range(0..(pairs << 32))).collect();
        let put = |batch: &mut Batch, key: &[u8]| {
            batch.put(&table, key, &[8; 16]);
        };
        let delete = |batch: &mut Batch, key: &[u8]| {
            batch.delete(&table, key);
        };
        let times = [
            time(&store, &ascending, length, &put)?,
            time(&store, &random, length, &put)?,
            time(&store, &random, length, &put)?,
            time(&store, &random, length, &delete)?,
        ];
        print!("{length:>10}");
        times.iter().for_each(|time| print!(" {:>10}", time.as_nanos() / OPERATIONS as u128));
        println!();
    }
    Ok(())
}

fn key(number: u64) -> [u8; 16] {
    u128::from(number).to_be_bytes()
}

/// Returns the time to apply the operations in batches of a length.
fn time(
    store: &Store,
    numbers: &[u64],
    length: usize,
    add: &dyn Fn(&mut Batch, &[u8]),
) -> Result<Duration, Error> {
    let (mut batch, mut elapsed) = (Batch::default(), Duration::ZERO);
    for numbers in numbers.chunks(length) {
        batch.clear();
        numbers.iter().for_each(|&number| add(&mut batch, &key(number)));
        let start = Instant::now();
        let outcome = store.apply(&batch)?;
        elapsed += start.elapsed();
        assert!(matches!(outcome, BatchOutcome::Applied { .. }));
    }
    Ok(elapsed)
}
