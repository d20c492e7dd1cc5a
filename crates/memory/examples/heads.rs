//! What it takes to count the heads of a shortcut block that are not greater than a wanted one: by each
//! variant where heads stand together, and where each stands beside the offset of its segment, so that no
//! vector holds eight of them.
//!
//! ```text
//! cargo run --release -p honeycomb-memory --example heads
//! ```
//! Blocks lie in the first cache, all are measured in turn, and medians are printed.

use std::hint::black_box;
use std::time::Instant;

use honeycomb_memory::heads::variants;

/// Shortcuts of a full block of 448 bytes.
const SHORTCUTS: usize = 44;
/// Bytes of a head and an offset.
const BESIDE: usize = 10;
const KEYS: usize = 4096;
const ROUNDS: usize = 201;

/// One way to count, over a block of one layout.
type Way = (String, Vec<u8>, fn(&[u8], u64) -> usize);

fn beside(shortcuts: &[u8], head: u64) -> usize {
    let is_not_greater = |shortcut: &&[u8; BESIDE]| {
        u64::from_le_bytes(*shortcut.first_chunk().expect("eight bytes of ten")) <= head
    };
    shortcuts.as_chunks().0.iter().filter(is_not_greater).count()
}

/// Halves the shortcuts until one is left.
fn beside_by_halves(shortcuts: &[u8], head: u64) -> usize {
    let shortcuts: &[[u8; BESIDE]] = shortcuts.as_chunks().0;
    shortcuts.partition_point(|shortcut| {
        u64::from_le_bytes(*shortcut.first_chunk().expect("eight bytes of ten")) <= head
    })
}

fn main() {
    let mixed = |number: u64| (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut heads: Vec<u64> = (0..SHORTCUTS as u64).map(mixed).collect();
    heads.sort_unstable();
    let apart: Vec<u8> = heads.iter().flat_map(|head| head.to_le_bytes()).collect();
    let together: Vec<u8> =
        heads.iter().flat_map(|head| head.to_le_bytes().into_iter().chain([0, 0])).collect();
    let keys: Vec<u64> = (0..KEYS as u64).map(|number| mixed(number + 1000)).collect();
    let mut ways: Vec<Way> =
        variants().into_iter().map(|(name, way)| (format!("apart, {name}"), apart.clone(), way)).collect();
    ways.push(("beside, all".into(), together.clone(), beside));
    ways.push(("beside, by halves".into(), together, beside_by_halves));
    for (name, median) in medians(&ways, &keys) {
        println!("{name:20} {median:6.1} ns");
    }
}

/// The median time of one count of each way, in nanoseconds.
fn medians<'w>(ways: &'w [Way], keys: &[u64]) -> Vec<(&'w str, f64)> {
    let mut times = vec![Vec::with_capacity(ROUNDS); ways.len()];
    for _ in 0..ROUNDS {
        for ((_, block, way), times) in ways.iter().zip(&mut times) {
            let start = Instant::now();
            let sum: usize = keys.iter().map(|key| way(black_box(block), *key)).sum();
            black_box(sum);
            times.push(start.elapsed().as_nanos() as f64 / keys.len() as f64);
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 2]
    };
    ways.iter().zip(&mut times).map(|((name, ..), times)| (name.as_str(), median(times))).collect()
}
