//! Memory accesses of an operation by utilisation, beside the points of the KV-Direct paper: the distinct
//! buckets and slabs that the executed code loads, and those that it stores.
//!
//! The paper fixes the ratio of index to memory. The ratios here are those that fit its points best; the
//! paper does not print its own. A get loads the buckets of its chain up to the pair, and the slab of the
//! pair. A put of a new key loads the whole chain, and stores the slab and the bucket, and the bucket
//! before it if it starts a new one. Both also load the slab of another key with the same second hash.

// Other builds do not count accesses.
#![cfg(debug_assertions)]

mod common;

use honeycomb_hashtable::{Answers, Functions, Operation, Request, TableConfig};
use honeycomb_memory::{Accesses, Memory};

use common::{TestTable, memory};

/// Number of buckets, without chained ones.
const BUCKETS: usize = 1 << 14;
/// New keys around each utilisation, whose puts are counted.
const SAMPLE: u64 = 8000;
/// Longest allowed distance from a point of the paper.
const TOLERANCE: f64 = 0.05;
/// The most slabs of other keys with the same second hash, which has nine bits, for each get.
const OTHER_SLABS_MAX: f64 = 0.02;
/// Gets of a batch: several windows, and a part of one.
const BATCH: usize = 250;

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

impl Case {
    fn memory_bytes(&self) -> f64 {
        (BUCKETS * 64) as f64 / self.index_ratio
    }

    /// Number of pairs at a utilisation in percent.
    fn pairs_at(&self, percent: usize) -> u64 {
        (self.memory_bytes() * percent as f64 / 100.0) as u64 / self.pair_bytes as u64
    }

    fn memory(&self) -> Memory {
        memory(2 * self.memory_bytes() as usize + (8 << 20))
    }

    /// An empty table whose number of buckets does not change.
    fn table<'m>(&self, memory: &'m Memory) -> TestTable<'m> {
        let inline_pair_bytes_max = self.inline_pair_bytes_max;
        let config = TableConfig { buckets: BUCKETS, fill_percent: None, inline_pair_bytes_max, seed: 5 };
        TestTable::new(memory, config, Functions::default()).unwrap()
    }
}

fn insert(table: &TestTable<'_>, case: &Case, number: u64) {
    let value = vec![7; case.pair_bytes - 8];
    table.apply(&number.to_le_bytes(), Operation::Put(&value), &mut Vec::new()).unwrap();
}

/// Inserts pairs. Returns the accesses of all puts.
fn count_puts(table: &TestTable<'_>, case: &Case, numbers: std::ops::Range<u64>) -> usize {
    let accesses = numbers.map(|number| Accesses::of(|| insert(table, case, number)));
    accesses.map(|accesses| accesses.loads.len() + accesses.stores.len()).sum()
}

/// What the get of a key accesses if it executes alone.
fn accesses_of_get(table: &TestTable<'_>, number: u64, out: &mut Vec<u8>) -> Accesses {
    out.clear();
    let accesses = Accesses::of(|| {
        table.apply(&number.to_le_bytes(), Operation::Get, out).unwrap();
    });
    assert!(accesses.stores.is_empty(), "a get stores nothing");
    accesses
}

/// The accesses of a get on average over all pairs. Those that follow from the contents of the table are as
/// many, except for slabs of other keys.
fn count_gets(table: &TestTable<'_>, pairs: u64) -> f64 {
    let mut out = Vec::new();
    let loads: usize = (0..pairs).map(|number| accesses_of_get(table, number, &mut out).loads.len()).sum();
    let census = table.verify().unwrap();
    let [counted, expected] = [loads as f64, census.get_accesses as f64].map(|sum| sum / pairs as f64);
    let slabs_max = if census.inline_pairs == pairs { 0.0 } else { OTHER_SLABS_MAX };
    assert_eq!(census.pairs, pairs);
    assert!((0.0..=slabs_max).contains(&(counted - expected)), "{counted} accesses instead of {expected}");
    counted
}

fn measure(case: &Case) -> Vec<Measured> {
    let memory = case.memory();
    let table = case.table(&memory);
    let mut pairs = 0;
    let mut measured = Vec::new();
    for (percent, _, _) in case.points {
        let target = case.pairs_at(*percent);
        let (first, last) = (target - SAMPLE / 2, target + SAMPLE / 2);
        (pairs..first).for_each(|number| insert(&table, case, number));
        let before = count_puts(&table, case, first..target);
        let used = BUCKETS * 64 + table.statistics().slabs.live_bytes();
        assert!((used as f64) < case.memory_bytes(), "{percent} % fit into the memory");
        let get = count_gets(&table, target);
        let puts = before + count_puts(&table, case, target..last);
        measured.push(Measured { get, put: puts as f64 / SAMPLE as f64 });
        pairs = last;
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

/// What gets access, each executed alone, and the number of prefetches whose get does not load the bucket.
fn alone(table: &TestTable<'_>, numbers: &[u64]) -> (Accesses, usize) {
    let (mut out, mut all, mut unused) = (Vec::new(), Accesses::default(), 0);
    for number in numbers {
        let Accesses { loads, prefetches, .. } = accesses_of_get(table, *number, &mut out);
        unused += prefetches.difference(&loads).count();
        all.loads.extend(loads);
        all.prefetches.extend(prefetches);
    }
    (all, unused)
}

/// What a batch of gets accesses in each way to execute it, with the name of the way.
fn batches(table: &TestTable<'_>, numbers: &[u64]) -> [(&'static str, Accesses); 4] {
    let keys: Vec<_> = numbers.iter().map(|number| number.to_le_bytes()).collect();
    let get = |key| Request { key, operation: Operation::Get };
    let in_order: Vec<_> = keys.iter().map(|key| get(key)).collect();
    // An invalid request brings the others into the station.
    let station: Vec<_> = in_order.iter().copied().chain([get(&[])]).collect();
    let (mut answers, mut values) = (Answers::default(), Vec::new());
    [
        ("in order", Accesses::of(|| table.execute(&in_order, &mut answers))),
        ("station", Accesses::of(|| table.execute(&station, &mut answers))),
        ("get_many", Accesses::of(|| table.get_many(&keys, |_, _| ()).unwrap())),
        (
            "get_each",
            Accesses::of(|| table.get_each(keys.iter().map(|key| &key[..]), &mut values, |_, _, _| ())),
        ),
    ]
}

/// Compares batches of gets with the same gets alone at the highest utilisation. Every fifth key is absent.
fn compare_batches(case: &Case) {
    let pairs = case.pairs_at(case.points.last().unwrap().0);
    let (memory, mut unused) = (case.memory(), 0);
    let table = case.table(&memory);
    (0..pairs).for_each(|number| insert(&table, case, number));
    let numbers: Vec<_> = (0..pairs + pairs / 4).step_by(3).collect();
    for numbers in numbers.chunks(BATCH) {
        let (alone, without_load) = alone(&table, numbers);
        unused += without_load;
        for (way, batch) in batches(&table, numbers) {
            assert_eq!(batch.loads, alone.loads, "{way}");
            let mut others = batch.prefetches.difference(&alone.loads);
            assert!(others.all(|address| alone.prefetches.contains(address)), "{way} prefetches more");
            assert!(batch.stores.is_empty(), "{way}");
        }
    }
    println!("{} bytes: {} gets prefetch {unused} buckets in vain", case.pair_bytes, numbers.len());
}

#[test]
fn pairs_of_10_bytes() {
    compare(&SHORT);
}

#[test]
fn pairs_of_254_bytes() {
    compare(&LONG);
}

/// A batch of gets loads the buckets and slabs that its gets load alone, and prefetches no others than they.
#[test]
fn batches_access_no_more_than_gets_alone() {
    compare_batches(&SHORT);
    compare_batches(&LONG);
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
