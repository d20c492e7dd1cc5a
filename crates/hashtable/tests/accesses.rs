//! Memory accesses of an operation by utilisation, beside the points of the KV-Direct paper.
//!
//! The paper fixes the ratio of index to memory. The ratios here are those that fit its points best; the
//! paper does not print its own. A get loads the buckets of its chain up to the pair, and the slab of the
//! pair. A put of a new key loads the whole chain, and stores the slab and the bucket, and the bucket
//! before it if it starts a new one.

mod common;

use honeycomb_hashtable::{Functions, Operation, TableConfig};

use common::{TestTable, memory};

/// Number of buckets, without chained ones.
const BUCKETS: usize = 1 << 12;
/// New keys at each utilisation, to count the chained buckets that they start.
const SAMPLE: u64 = 1000;
/// Longest allowed distance from a point of the paper.
const TOLERANCE: f64 = 0.05;

struct Case {
    pair_bytes: usize,
    /// The share of the index, without chained buckets, in the memory.
    index_ratio: f64,
    inline_pair_bytes_max: usize,
    /// Utilisation in percent; hundredths of the accesses of a get, and of a put.
    points: &'static [(usize, usize, usize)],
}

const SHORT: Case = Case {
    pair_bytes: 10,
    index_ratio: 0.40,
    inline_pair_bytes_max: 10,
    points: &[
        (30, 116, 255),
        (35, 123, 271),
        (40, 130, 288),
        (45, 138, 304),
        (50, 145, 320),
        (55, 153, 336),
        (60, 160, 352),
        (65, 168, 368),
    ],
};

const LONG: Case = Case {
    pair_bytes: 254,
    index_ratio: 0.0251,
    inline_pair_bytes_max: 10,
    points: &[
        (50, 201, 304),
        (55, 201, 306),
        (60, 202, 310),
        (65, 202, 314),
        (70, 203, 319),
        (75, 205, 325),
        (80, 206, 332),
        (85, 206, 339),
    ],
};

/// Accesses of a get, accesses of a put.
struct Measured {
    get: f64,
    put: f64,
}

fn insert(table: &TestTable<'_>, case: &Case, number: u64) {
    let value = vec![7; case.pair_bytes - 8];
    table.apply(&number.to_le_bytes(), Operation::Put(&value), &mut Vec::new()).unwrap();
}

fn measure(case: &Case) -> Vec<Measured> {
    let memory_bytes = (BUCKETS * 64) as f64 / case.index_ratio;
    let memory = memory(2 * memory_bytes as usize + (8 << 20));
    let config = TableConfig {
        buckets: BUCKETS,
        fill_percent: None,
        inline_pair_bytes_max: case.inline_pair_bytes_max,
        seed: 5,
    };
    let table = TestTable::new(&memory, config, Functions::default()).unwrap();
    let mut pairs = 0;
    let mut insert_up_to = |target: u64| {
        (pairs..target).for_each(|number| insert(&table, case, number));
        pairs = pairs.max(target);
    };
    let mut measured = Vec::new();
    for (percent, _, _) in case.points {
        let target = (memory_bytes * *percent as f64 / 100.0) as u64 / case.pair_bytes as u64;
        insert_up_to(target);
        let (before, used) = (table.verify().unwrap(), table.statistics().slabs.live_bytes());
        assert!(((BUCKETS * 64 + used) as f64) < memory_bytes, "{percent} % fit into the memory");
        insert_up_to(target + SAMPLE);
        let after = table.verify().unwrap();
        let chain = (BUCKETS as u64 + before.chained_buckets) as f64 / BUCKETS as f64;
        let started = (after.chained_buckets - before.chained_buckets) as f64 / SAMPLE as f64;
        let slab = if before.inline_pairs == 0 { 1.0 } else { 0.0 };
        let get = before.get_accesses as f64 / before.pairs as f64;
        measured.push(Measured { get, put: chain + 1.0 + slab + started });
    }
    measured
}

fn compare(case: &Case) {
    let mut far = Vec::new();
    println!(
        "{} bytes, index ratio {}: utilisation, get (paper), put (paper)",
        case.pair_bytes, case.index_ratio
    );
    for ((percent, get, put), measured) in case.points.iter().zip(measure(case)) {
        let (get, put) = (*get as f64 / 100.0, *put as f64 / 100.0);
        println!("{percent} %: {:.2} ({get:.2})  {:.2} ({put:.2})", measured.get, measured.put);
        if (measured.get - get).abs() > TOLERANCE || (measured.put - put).abs() > TOLERANCE {
            far.push(percent);
        }
    }
    assert!(far.is_empty(), "far from the paper at {far:?} percent");
}

/// Bytes of buckets and slabs for each pair, and accesses of a get, of a table that grows at a fill.
fn bytes_and_accesses(pair_bytes: usize, fill_percent: usize, inline_pair_bytes_max: usize) -> (f64, f64) {
    const PAIRS: u64 = 30_000;
    let memory = memory(64 << 20);
    let fill_percent = Some(fill_percent);
    let config = TableConfig { fill_percent, inline_pair_bytes_max, seed: 5, ..TableConfig::default() };
    let table = TestTable::new(&memory, config, Functions::default()).unwrap();
    let case = Case { pair_bytes, index_ratio: 0.0, inline_pair_bytes_max, points: &[] };
    (0..PAIRS).for_each(|number| insert(&table, &case, number));
    let statistics = table.statistics();
    let bytes = statistics.buckets * 64 + statistics.slabs.live_bytes() as u64;
    let accesses = table.verify().unwrap().get_accesses;
    (bytes as f64 / PAIRS as f64, accesses as f64 / PAIRS as f64)
}

#[test]
fn pairs_of_10_bytes() {
    compare(&SHORT);
}

#[test]
fn pairs_of_254_bytes() {
    compare(&LONG);
}

/// An inline pair needs fewer accesses at every fill. Beside a slab of 32 bytes it also needs less memory if
/// it is short, or the table is full enough.
#[test]
fn inline_or_in_a_slab() {
    println!("bytes of a pair, fill: memory of a pair, accesses of a get, inline and in a slab");
    for pair_bytes in [10, 16, 20, 25, 30, 35, 40, 45, 50] {
        for fill in [40, 60, 80, 100] {
            let [inline, slab] = [50, 0].map(|threshold| bytes_and_accesses(pair_bytes, fill, threshold));
            println!(
                "{pair_bytes} bytes, fill {fill}: {:.1} {:.2}  {:.1} {:.2}",
                inline.0, inline.1, slab.0, slab.1
            );
            assert!(inline.1 + 0.3 < slab.1, "{pair_bytes} bytes, fill {fill}: accesses");
            let saves_memory = pair_bytes <= 10 || (pair_bytes <= 20 && fill >= 80);
            if pair_bytes <= 30 {
                assert_eq!(inline.0 < slab.0, saves_memory, "{pair_bytes} bytes, fill {fill}: memory");
            }
        }
    }
}
