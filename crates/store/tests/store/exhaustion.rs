//! Full stores: failed writes change nothing, all pairs stay readable, and deletes free memory.

use std::thread;

use honeycomb_store::{Batch, Config, Error, Faults, Scan, Store, Table};

use super::{MIB, config, fill, key, pairs};

fn tiny() -> Store {
    Store::open(Config { memory_bytes: 2 * MIB, ..Config::default() }).unwrap()
}

/// Distributes numbers over all keys.
fn scattered(number: u64) -> [u8; 8] {
    key(number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Puts pairs until there is no room. Returns their number.
fn fill_up(table: &Table, value_bytes: usize) -> u64 {
    let failed = (0..).find(|&number| {
        let put = table.put(&scattered(number), &vec![number as u8; value_bytes]);
        put.is_err_and(|error| {
            assert!(matches!(error, Error::OutOfMemory { memory_bytes, .. } if memory_bytes == 2 * MIB));
            true
        })
    });
    failed.unwrap()
}

#[test]
fn a_full_store_can_be_read_emptied_and_filled_again() {
    for value_bytes in [16, 3000, 20_000] {
        let mut store = tiny();
        let table = store.table("table").unwrap();
        let mut least = 0;
        for _ in 0..2 {
            let count = fill_up(&table, value_bytes);
            assert_eq!(table.pair_count(), count);
            assert!(count >= least, "{count} pairs of {value_bytes} bytes");
            least = count * 9 / 10;
            for number in 0..count {
                assert_eq!(table.get(&scattered(number)).unwrap().unwrap(), vec![number as u8; value_bytes]);
            }
            assert_eq!(pairs(&table).len() as u64, count);
            (0..count).for_each(|number| assert!(table.delete(&scattered(number)).unwrap(), "{number}"));
            assert_eq!(table.pair_count(), 0);
        }
        fill_up(&table, value_bytes);
        drop(table);
        store.verify().unwrap();
    }
}

/// A deletion in a batch may use the reserve, with a condition as well.
#[test]
fn a_full_store_can_be_emptied_in_batches() {
    for has_condition in [false, true] {
        let store = tiny();
        let table = store.table("table").unwrap();
        let count = fill_up(&table, 16);
        for number in 0..count {
            let (mut batch, key, mut outcomes) = (Batch::default(), scattered(number), 0);
            match has_condition {
                true => batch.compare_and_delete(&table, &key, &[number as u8; 16]),
                false => batch.delete(&table, &key),
            };
            store.apply_each(&batch, |_, outcome| outcomes += u32::from(outcome.is_ok())).unwrap();
            assert_eq!(outcomes, 1, "{number} of {count}");
        }
        assert_eq!(table.pair_count(), 0);
    }
}

#[test]
fn a_full_store_can_delete_ranges_and_tables() {
    for value_bytes in [16, 3000] {
        let mut store = tiny();
        let other = store.table("other").unwrap();
        other.put(b"k", b"v").unwrap();
        for _ in 0..3 {
            let table = store.table("table").unwrap();
            let count = fill_up(&table, value_bytes);
            assert!(table.delete_range(..&key(1 << 63)).unwrap() > count / 3);
            fill_up(&table, value_bytes);
            drop(table);
            assert!(store.drop_table("table").unwrap());
        }
        drop(other);
        assert_eq!(store.verify().unwrap().pairs, 1);
    }
}

#[test]
fn a_full_store_can_be_emptied_by_several_threads() {
    let mut store = tiny();
    let table = store.table("table").unwrap();
    let count = fill_up(&table, 3000);
    thread::scope(|scope| {
        for part in 0..4 {
            let table = &table;
            scope.spawn(move || {
                (0..count).filter(|number| number % 4 == part).for_each(|number| {
                    table.scan(&Scan::all().limit(10)).unwrap();
                    assert!(table.delete(&scattered(number)).unwrap());
                });
            });
        }
    });
    assert_eq!(table.pair_count(), 0);
    drop(table);
    store.verify().unwrap();
}

#[test]
fn replacing_values_needs_constant_memory() {
    let store = tiny();
    let table = store.table("table").unwrap();
    fill(&table, 10_000);
    for round in 0..30_u8 {
        (0..10_000).for_each(|number| table.put(&key(number), &[round; 20]).unwrap());
    }
    assert_eq!(table.pair_count(), 10_000);
}

#[test]
fn a_value_that_never_fits_is_rejected() {
    let table = tiny().table("table").unwrap();
    let error = table.put(b"k", &vec![0; 3 * MIB]).unwrap_err();
    let expected = "out of memory: no room for 3145728 bytes in the arena of 2097152 bytes";
    assert_eq!(error.to_string(), expected);
    assert!(table.insert(b"k", b"fits").unwrap());
}

#[test]
fn the_smallest_stores_work() {
    let store = Store::open(Config { memory_bytes: 32 << 10, ..Config::default() }).unwrap();
    let table = store.table("table").unwrap();
    let count = (0..).find(|&number| table.put(&key(number), b"v").is_err()).unwrap();
    assert!(count > 50);
    (0..count).for_each(|number| assert!(table.contains(&key(number)).unwrap()));
}

#[test]
fn a_failed_allocation_loses_nothing() {
    for failing in 0..30 {
        let faults = Faults::default();
        let mut store = Store::open(Config { faults: faults.clone(), ..config() }).unwrap();
        let table = store.table("table").unwrap();
        fill(&table, 500);
        faults.set(failing);
        let put = |number| table.put(&key(number), &vec![2; 1000]).is_ok();
        let stored = (500..600).filter(|&number| put(number)).count();
        faults.clear();
        assert!(stored >= 99, "one allocation fails");
        assert_eq!(table.pair_count(), 500 + stored as u64);
        assert_eq!(pairs(&table).len(), 500 + stored);
        drop(table);
        store.verify().unwrap();
    }
}
