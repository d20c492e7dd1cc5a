//! Measures the time to count the heads of a shortcut block that are at or below a given head, for two
//! layouts: all heads adjacent, with each variant; and each head next to the offset of its segment, where
//! vector instructions cannot load several heads.
//!
//! ```text
//! cargo run --release -p honeycomb-memory --example heads
//! ```
//! The blocks are in the first-level cache. The measurements alternate, and the program prints medians.

use std::hint::black_box;
use std::time::Instant;

use honeycomb_memory::heads::variants;

/// Shortcuts of a full block of 448 bytes.
const SHORTCUTS: usize = 44;
/// Bytes of a head and an offset.
const PAIR_BYTES: usize = 10;
const KEYS: usize = 4096;
const ROUNDS: usize = 201;

/// A name, a block, and a function that counts heads in this block.
type Candidate = (String, Vec<u8>, fn(&[u8], u64) -> usize);

fn count_in_pairs(shortcuts: &[u8], head: u64) -> usize {
    let is_not_greater = |shortcut: &&[u8; PAIR_BYTES]| {
        u64::from_le_bytes(*shortcut.first_chunk().expect("eight bytes of ten")) <= head
    };
    shortcuts.as_chunks().0.iter().filter(is_not_greater).count()
}

fn search_in_pairs(shortcuts: &[u8], head: u64) -> usize {
    let shortcuts: &[[u8; PAIR_BYTES]] = shortcuts.as_chunks().0;
    shortcuts.partition_point(|shortcut| {
        u64::from_le_bytes(*shortcut.first_chunk().expect("eight bytes of ten")) <= head
    })
}

fn main() {
    let mixed = |number: u64| (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut heads: Vec<u64> = (0..SHORTCUTS as u64).map(mixed).collect();
    heads.sort_unstable();
    let columns: Vec<u8> = heads.iter().flat_map(|head| head.to_le_bytes()).collect();
    let pairs: Vec<u8> = heads.iter().flat_map(|head| head.to_le_bytes().into_iter().chain([0, 0])).collect();
    let keys: Vec<u64> = (0..KEYS as u64).map(|number| mixed(number + 1000)).collect();
    let in_columns = |(name, count)| (format!("columns, {name}"), columns.clone(), count);
    let mut candidates: Vec<Candidate> = variants().into_iter().map(in_columns).collect();
    candidates.push(("pairs, all".into(), pairs.clone(), count_in_pairs));
    candidates.push(("pairs, binary search".into(), pairs, search_in_pairs));
    for (name, median) in medians(&candidates, &keys) {
        println!("{name:20} {median:6.1} ns");
    }
}

/// Returns the median time of one count of each candidate, in nanoseconds.
fn medians<'c>(candidates: &'c [Candidate], keys: &[u64]) -> Vec<(&'c str, f64)> {
    let mut times = vec![Vec::with_capacity(ROUNDS); candidates.len()];
    for _ in 0..ROUNDS {
        for ((_, block, count), times) in candidates.iter().zip(&mut times) {
            let start = Instant::now();
            let sum: usize = keys.iter().map(|key| count(black_box(block), *key)).sum();
            black_box(sum);
            times.push(start.elapsed().as_nanos() as f64 / keys.len() as f64);
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 2]
    };
    candidates.iter().zip(&mut times).map(|((name, ..), times)| (name.as_str(), median(times))).collect()
}
