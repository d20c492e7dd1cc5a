//! The operations on pairs and their errors.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use honeycomb_store::{
    AccessCounts, Batch, Config, Error, Outcome, Reads, Scan, Software, Store, Swap, Table, Versioned,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{MIB, config, key, pairs, store, table};

#[test]
fn put_inserts_and_replaces() {
    let table = table();
    assert_eq!(table.get(b"k").unwrap(), None);
    table.put(b"k", b"1").unwrap();
    table.put(b"k", b"2").unwrap();
    assert_eq!(table.get(b"k").unwrap().unwrap(), b"2");
    assert_eq!(table.pair_count(), 1);
}

#[test]
fn insert_needs_an_absent_key_and_update_an_existing_one() {
    let table = table();
    assert!(!table.update(b"k", b"0").unwrap());
    assert!(table.insert(b"k", b"1").unwrap());
    assert!(!table.insert(b"k", b"2").unwrap());
    assert_eq!(table.get(b"k").unwrap().unwrap(), b"1");
    assert!(table.update(b"k", b"3").unwrap());
    assert_eq!(table.get(b"k").unwrap().unwrap(), b"3");
}

#[test]
fn delete_returns_whether_the_key_existed() {
    let table = table();
    assert!(!table.delete(b"k").unwrap());
    table.put(b"k", b"").unwrap();
    assert!(table.contains(b"k").unwrap());
    assert!(table.delete(b"k").unwrap());
    assert!(!table.contains(b"k").unwrap());
    assert_eq!(table.pair_count(), 0);
}

#[test]
fn get_into_replaces_the_buffer() {
    let table = table();
    table.put(b"k", b"new").unwrap();
    let mut value = b"something long".to_vec();
    let capacity = value.capacity();
    assert!(table.get_into(b"k", &mut value).unwrap());
    assert_eq!((&value[..], value.capacity()), (&b"new"[..], capacity));
    assert!(!table.get_into(b"absent", &mut value).unwrap());
    assert!(value.is_empty());
}

#[test]
fn compare_and_swap_returns_the_current_pair() {
    let table = table();
    assert_eq!(table.compare_and_swap(b"k", b"", b"1").unwrap(), Swap::Absent);
    table.put(b"k", b"1").unwrap();
    assert!(table.compare_and_swap(b"k", b"1", b"2").unwrap().swapped());
    let Swap::Mismatch(found) = table.compare_and_swap(b"k", b"1", b"3").unwrap() else { panic!() };
    assert_eq!(found.value, b"2");
    assert_eq!(table.get_versioned(b"k").unwrap(), Some(found));
}

#[test]
fn compare_version_and_swap_fails_after_a_change() {
    let table = table();
    assert_eq!(table.compare_version_and_swap(b"k", 0, b"1").unwrap(), Swap::Absent);
    table.put(b"k", b"1").unwrap();
    let Versioned { version, .. } = table.get_versioned(b"k").unwrap().unwrap();
    assert!(table.compare_version_and_swap(b"k", version, b"2").unwrap().swapped());
    let Swap::Mismatch(found) = table.compare_version_and_swap(b"k", version, b"3").unwrap() else {
        panic!()
    };
    assert_eq!(found.value, b"2");
    assert!(found.version > version);
    assert!(table.compare_version_and_swap(b"k", found.version, b"4").unwrap().swapped());
    assert_eq!(table.get_versioned(b"absent").unwrap(), None);
}

/// Without versions a swap by version could not notice a change.
#[test]
fn without_mvcc_no_version_can_be_compared() {
    let store = Store::open(Config { mvcc: false, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    table.put(b"k", b"1").unwrap();
    let Versioned { version, .. } = table.get_versioned(b"k").unwrap().unwrap();
    table.put(b"k", b"2").unwrap();
    assert!(matches!(table.compare_version_and_swap(b"k", version, b"3"), Err(Error::MvccOff)));
    let mut batch = Batch::default();
    batch.put(&table, b"other", b"1").compare_version_and_swap(&table, b"k", version, b"3");
    assert!(matches!(store.apply(&batch), Err(Error::MvccOff)));
    assert_eq!(table.get(b"other").unwrap(), None, "the batch has changed nothing");
    let mut outcomes = Vec::new();
    store.apply_each(&batch, |_, outcome| outcomes.push(outcome)).unwrap();
    assert!(matches!(outcomes[..], [Ok(Outcome::Inserted), Err(Error::MvccOff)]), "{outcomes:?}");
    assert_eq!(table.get(b"k").unwrap().unwrap(), b"2");
}

#[test]
fn add_counts_up_and_down_and_wraps() {
    let table = table();
    assert_eq!(table.add(b"n", 5).unwrap(), 5);
    assert_eq!(table.add(b"n", -2).unwrap(), 3);
    assert_eq!(table.add(b"n", -4).unwrap(), u64::MAX);
    assert_eq!(table.add(b"n", 1).unwrap(), 0);
    assert_eq!(table.add(b"n", i64::MIN).unwrap(), 1 << 63);
    assert_eq!(table.get(b"n").unwrap().unwrap(), (1_u64 << 63).to_le_bytes());
    assert_eq!(table.pair_count(), 1);
}

#[test]
fn add_fails_on_other_values() {
    let table = table();
    for bytes in [0, 7, 9] {
        table.put(b"n", &vec![1; bytes]).unwrap();
        assert!(matches!(table.add(b"n", 1), Err(Error::NotCounter { bytes: found }) if found == bytes));
        assert_eq!(table.get(b"n").unwrap().unwrap(), vec![1; bytes]);
    }
}

#[test]
fn delete_range_returns_the_number_of_pairs() {
    let table = table();
    for key in ["a", "b", "c", "d", "e"] {
        table.put(key.as_bytes(), b"").unwrap();
    }
    assert_eq!(table.delete_range("b".."d").unwrap(), 2);
    assert_eq!(table.delete_range("b".."d").unwrap(), 0);
    assert_eq!(table.delete_range("z".."a").unwrap(), 0);
    assert_eq!(table.delete_range("d"..="d").unwrap(), 1);
    assert_eq!(table.pair_count(), 2);
    assert_eq!(table.delete_range::<str>(..).unwrap(), 2);
    assert!(pairs(&table).is_empty());
}

/// Every operation that takes a key.
fn all_with_key(table: &Table, key: &[u8]) -> Vec<Result<(), Error>> {
    vec![
        table.get(key).map(drop),
        table.get_into(key, &mut Vec::new()).map(drop),
        table.get_versioned(key).map(drop),
        table.contains(key).map(drop),
        table.insert(key, b"").map(drop),
        table.update(key, b"").map(drop),
        table.put(key, b"").map(drop),
        table.compare_and_swap(key, b"", b"").map(drop),
        table.compare_version_and_swap(key, 0, b"").map(drop),
        table.delete(key).map(drop),
        table.add(key, 1).map(drop),
    ]
}

#[test]
fn keys_have_1_to_460_bytes() {
    let table = table();
    for bytes in [1, 459, 460] {
        assert!(all_with_key(&table, &vec![b'k'; bytes]).iter().all(Result::is_ok), "{bytes}");
    }
    for bytes in [0, 461, 100_000] {
        for result in all_with_key(&table, &vec![b'k'; bytes]) {
            let error = result.unwrap_err();
            assert_eq!(error.to_string(), format!("key of {bytes} bytes: a key has 1 to 460 bytes"));
        }
    }
    assert_eq!(table.pair_count(), 3);
}

#[test]
fn small_nodes_have_shorter_keys() {
    let store = Store::open(Config { node_bytes: 1024, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    let Err(Error::KeyLength { bytes: 460, max }) = table.put(&[1; 460], b"") else { panic!() };
    table.put(&vec![1; max], b"").unwrap();
    assert!(table.contains(&vec![1; max]).unwrap());
    assert!(matches!(table.get(&vec![1; max + 1]), Err(Error::KeyLength { .. })));
}

#[test]
fn values_have_up_to_16_mib() {
    let store = Store::open(Config { memory_bytes: 128 * MIB, ..Config::default() }).unwrap();
    let table = store.table("table").unwrap();
    for bytes in [0, 1, 469, 470, 8192, 16 * MIB - 1, 16 * MIB] {
        let value = vec![bytes as u8; bytes];
        table.put(b"k", &value).unwrap();
        assert!(table.get(b"k").unwrap().unwrap() == value, "{bytes}");
    }
    let error = table.put(b"k", &vec![0; 16 * MIB + 1]).unwrap_err();
    assert_eq!(error.to_string(), "value of 16777217 bytes: a value has at most 16777216 bytes");
    assert_eq!(table.get(b"k").unwrap().unwrap().len(), 16 * MIB);
}

#[test]
fn random_operations_match_a_map() {
    for mvcc in [true, false] {
        let store = Store::open(Config { mvcc, ..config() }).unwrap();
        let table = store.table("table").unwrap();
        let mut model = BTreeMap::new();
        let mut random = StdRng::seed_from_u64(1);
        for _ in 0..20_000 {
            step(&table, &mut model, &mut random);
        }
        assert_eq!(table.pair_count(), model.len() as u64);
        assert!(pairs(&table).into_iter().eq(model));
        drop(table);
        let mut store = store;
        store.verify().unwrap();
    }
}

fn step(table: &Table, model: &mut BTreeMap<Vec<u8>, Vec<u8>>, random: &mut StdRng) {
    let key = random.random_range(0..500_u32).to_string().into_bytes();
    let value =
        vec![random.random(); if random.random_ratio(1, 50) { 2000 } else { random.random_range(0..40) }];
    let existing = model.get(&key).cloned();
    assert_eq!(table.get(&key).unwrap(), existing);
    match random.random_range(0..6) {
        0 => {
            assert_eq!(table.insert(&key, &value).unwrap(), existing.is_none());
            model.entry(key).or_insert(value);
        }
        1 => {
            assert_eq!(table.update(&key, &value).unwrap(), existing.is_some());
            model.entry(key).and_modify(|old| *old = value);
        }
        2 => {
            table.put(&key, &value).unwrap();
            model.insert(key, value);
        }
        3 => {
            let swap = table.compare_and_swap(&key, existing.as_deref().unwrap_or(b""), &value).unwrap();
            assert_eq!(swap.swapped(), existing.is_some());
            model.entry(key).and_modify(|old| *old = value);
        }
        4 if random.random_ratio(1, 20) => {
            let end = [&key[..], b"5"].concat();
            let inside: Vec<_> = model.range(key.clone()..end.clone()).map(|(key, _)| key.clone()).collect();
            assert_eq!(table.delete_range(&key..&end).unwrap(), inside.len() as u64);
            inside.iter().for_each(|key| drop(model.remove(key)));
        }
        _ => assert_eq!(table.delete(&key).unwrap(), model.remove(&key).is_some()),
    }
}

#[test]
fn a_batch_of_reads_returns_the_results_of_single_calls() {
    let store = store();
    let (a, b) = (store.table("a").unwrap(), store.table("b").unwrap());
    (0..5_000).for_each(|number: u64| a.put(&key(number), &number.to_le_bytes()).unwrap());
    b.put(&key(7), &[9; 100_000]).unwrap();
    let (low, middle, high) = (key(3), key(9), key(100));
    let scans = [
        Scan::all(),
        Scan::from(&high).limit(3),
        Scan::range(&middle..&low),
        Scan::prefix("\0").backward().limit(200),
    ];
    let mut reads = Reads::default();
    for _ in 0..2 {
        reads.clear();
        (0..1_000).for_each(|number| reads.get(&a, &key(10 * number)).unwrap());
        reads.get(&b, &key(7)).unwrap();
        scans.iter().for_each(|scan| reads.scan(&a, scan).unwrap());
        assert!(matches!(reads.get(&a, b""), Err(Error::KeyLength { bytes: 0, .. })));
        store.read(&mut reads).unwrap();
        assert_eq!(reads.len(), 1_005);
        for number in 0..1_000 {
            let expected = a.get(&key(10 * number)).unwrap();
            assert_eq!(reads.value(number as usize).unwrap(), expected.as_deref());
        }
        assert_eq!(reads.value(1_000).unwrap(), Some(&[9; 100_000][..]));
        for (index, scan) in scans.iter().enumerate() {
            let pairs = a.scan(scan).unwrap();
            assert!(reads.pairs(1_001 + index).unwrap().eq(pairs.iter()), "{scan:?}");
            assert_eq!(reads.more(1_001 + index).unwrap(), pairs.more(), "{scan:?}");
        }
    }
    let none = (reads.value(5_000).unwrap(), reads.pairs(5_000).unwrap().count(), reads.more(5_000).unwrap());
    assert_eq!(none, (None, 0, false));
    let other = self::store();
    assert!(matches!(other.read(&mut reads), Err(Error::ForeignTable { .. })));
}

/// A long scan is set aside and reads a version of its own. Reads after it must not be older.
#[test]
fn a_get_after_a_long_scan_is_not_older_than_the_scan() {
    let store = store();
    let table = store.table("table").unwrap();
    (0..1_000).for_each(|number| table.put(&key(number), &[0; 8]).unwrap());
    thread::scope(|scope| {
        let reader = scope.spawn(|| (0..100).for_each(|_| read_after_a_long_scan(&store, &table)));
        while !reader.is_finished() {
            table.add(&key(0), 1).unwrap();
        }
    });
}

fn read_after_a_long_scan(store: &Store, table: &Table) {
    let mut reads = Reads::default();
    // These gets are in flight while the writer continues.
    (0..200).for_each(|number| reads.get(table, &key(number)).unwrap());
    reads.scan(table, &Scan::all().limit(1_000)).unwrap();
    reads.get(table, &key(0)).unwrap();
    store.read(&mut reads).unwrap();
    let counter = |value: &[u8]| u64::from_le_bytes(value.try_into().unwrap());
    let scanned = counter(reads.pairs(200).unwrap().next().unwrap().1);
    let got = counter(reads.value(201).unwrap().unwrap());
    assert!(got >= scanned, "the get read {got}, the scan before it {scanned}");
}

/// A get skips a log block without a fingerprint of its key.
#[test]
fn the_memory_that_gets_read_is_counted() {
    let touched = touched_by_gets();
    assert!(touched.levels.len() >= 2);
    assert!(touched.levels.iter().all(|level| level.bytes_per_node() <= 640.0), "{touched:?}");
    // Header and samples, the group of heads with the offsets, the item, and now and then the log block.
    let leaves = touched.levels[0];
    assert_eq!((leaves.header.lines, leaves.header.bytes), (3_000, 192_000));
    let lines = leaves.header.lines + leaves.columns.lines + leaves.items.lines + leaves.log.lines;
    assert!(lines <= 8_000, "{touched:?}");
    assert!(touched.log_blocks_skipped > 0);
    assert!(store().access_counts().is_none());
}

/// The accelerator executes functions over ranges, so it counts their accesses.
#[test]
fn the_accesses_of_functions_over_ranges_are_counted() {
    let store = store_that_counts();
    let table = store.table("table").unwrap();
    (0..20_000).for_each(|number| table.put(&key(number), b"value").unwrap());
    let leaves = || store.access_counts().unwrap().levels.first().map_or(0, |level| level.nodes);
    for visit in [&|| table.push_down::<[u8]>(..).count().unwrap(), &|| {
        table.push_down::<[u8]>(..).pairs(usize::MAX).unwrap().len() as u64
    }] as [&dyn Fn() -> u64; 2]
    {
        let before = leaves();
        assert_eq!(visit(), 20_000);
        assert!(leaves() >= before + 10, "{} leaves", leaves() - before);
    }
}

fn store_that_counts() -> Store {
    let software = Software { count_accesses: true, ..Software::default() };
    Store::open(Config { accelerator: Arc::new(software), ..config() }).unwrap()
}

fn touched_by_gets() -> AccessCounts {
    let store = store_that_counts();
    let table = store.table("table").unwrap();
    let keys = (0..20_000).chain((0..20_000).step_by(37));
    keys.for_each(|number| table.put(&key(number), b"sixteen bytes, or").unwrap());
    (0..1_000).for_each(|number| assert!(table.contains(&key(number)).unwrap()));
    let touched = store.access_counts().unwrap();
    assert_eq!(touched.levels[0].nodes, 1_000);
    touched
}
