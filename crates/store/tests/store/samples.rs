//! Random samples of pairs.

use std::collections::{BTreeMap, BTreeSet};

use honeycomb_store::Table;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{fill, key, table};

fn rng() -> StdRng {
    StdRng::seed_from_u64(7)
}

/// How typical each key is sampled.
fn sampled(table: &Table, times: usize) -> BTreeMap<Vec<u8>, usize> {
    let (mut rng, mut counts) = (rng(), BTreeMap::new());
    for _ in 0..times {
        let key = table.sample(&mut |below| rng.random_range(0..below)).unwrap();
        *counts.entry(key).or_default() += 1;
    }
    counts
}

#[test]
fn samples_are_approximately_uniform() {
    const PAIRS: u64 = 5_000;
    const TIMES: usize = 100;
    let table = table();
    fill(&table, PAIRS);
    // Some leaves have log entries, some pairs are deleted, and some leaves are sparser than others.
    (0..PAIRS).step_by(3).for_each(|number| assert!(table.delete(&key(number)).unwrap()));
    (0..PAIRS).step_by(7).for_each(|number| table.put(&key(number), b"again").unwrap());
    let counts = sampled(&table, TIMES * table.pair_count() as usize);
    assert_eq!(counts.len() as u64, table.pair_count(), "every pair is sampled, and nothing else");
    assert!(counts.keys().all(|key| table.contains(key).unwrap()));
    let typical = counts.values().filter(|&&count| (TIMES / 3..TIMES * 3).contains(&count)).count();
    assert!(
        typical >= counts.len() * 98 / 100,
        "{typical} of {} with about the mean frequency",
        counts.len()
    );
    let most = counts.values().max().unwrap();
    assert!(*most < TIMES * 12, "a pair was sampled {most} times, the mean is {TIMES}");
}

#[test]
fn the_remaining_pairs_of_sparse_tables_are_sampled() {
    let table = table();
    assert_eq!(table.sample(&mut |_| 0), None);
    fill(&table, 20_000);
    (0..20_000).filter(|number| number % 6_000 != 700).for_each(|number| {
        assert!(table.delete(&key(number)).unwrap());
    });
    let counts = sampled(&table, 400);
    assert!(counts.keys().map(Vec::as_slice).eq([700, 6_700, 12_700, 18_700].map(key).iter()));
    assert!(counts.values().all(|&count| count > 10), "{counts:?}");
    // Values that are so long that the tombstones of a leaf fit into its log block, so that leaves stay
    // without pairs.
    (0..200).for_each(|number| table.put(&key(number), &[7; 400]).unwrap());
    (0..200).for_each(|number| assert!(table.delete(&key(number)).unwrap()));
    // Also with random numbers that are not below their limit.
    for number in [0, 1, 100, usize::MAX] {
        assert!(table.contains(&table.sample(&mut |_| number).unwrap()).unwrap());
    }
    table.delete_range::<[u8]>(..).unwrap();
    assert_eq!(table.sample(&mut |_| 0), None);
}

#[test]
fn samples_of_a_leaf_are_distinct_and_ordered() {
    let table = table();
    fill(&table, 5_000);
    table.put(&key(0), &[7; 100_000]).unwrap();
    let (mut rng, mut all) = (rng(), BTreeSet::new());
    for round in 0..2_000 {
        let (max, mut pairs) = (round % 12, Vec::new());
        let mut take = |key: &[u8], value: &[u8]| pairs.push((key.to_vec(), value.to_vec()));
        let count = table.sample_leaf(max, &mut |below| rng.random_range(0..below), &mut take);
        assert_eq!((count, pairs.len()), (max, max));
        assert!(pairs.is_sorted_by(|(a, _), (b, _)| a < b));
        for (key, value) in pairs {
            assert_eq!(table.get(&key).unwrap(), Some(value));
            all.insert(key);
        }
    }
    assert!(all.len() > 3_500, "{} different ones", all.len());
    let every = table.sample_leaf(usize::MAX, &mut |below| below / 2, &mut |_, _| ());
    assert!((20..1_000).contains(&every), "all of a leaf: {every}");
}
