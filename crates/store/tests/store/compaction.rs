//! Deletes free memory: during other writes, when a write finds no room, and without writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use honeycomb_store::{Config, Scan, Store, Table};

use super::{MIB, config, key, store};

fn small(memory_bytes: usize) -> Store {
    Store::open(Config { memory_bytes, accelerator: super::accelerator(), ..Config::default() }).unwrap()
}

/// Distributes numbers over all keys.
fn scattered(number: u64) -> [u8; 8] {
    key(number.wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Puts pairs from `first` on until there is no room. Returns their number.
fn fill_up(table: &Table, first: u64, key: fn(u64) -> [u8; 8]) -> u64 {
    (0..).find(|number| table.put(&key(first + number), &[7; 100]).is_err()).unwrap()
}

/// Bytes of the nodes of a table after a bulk load of the same pairs.
fn loaded_bytes(table: &Table) -> usize {
    let store = store();
    let loaded = store.table("loaded").unwrap();
    loaded.load_sorted(table.iter().unwrap().map(Result::unwrap)).unwrap();
    store.statistics().memory.node_bytes
}

/// Inserts pairs at the end and deletes them at the front.
fn queue(pushes: u64) {
    const LIVE: u64 = 30_000;
    let mut store = small(16 * MIB);
    let table = store.table("queue").unwrap();
    for number in 0..pushes {
        table.insert(&key(number), &[7; 107]).unwrap();
        if let Some(first) = number.checked_sub(LIVE) {
            assert!(table.delete(&key(first)).unwrap());
        }
    }
    let front = table.scan(&Scan::all().limit(10)).unwrap();
    assert_eq!(front.iter().next().unwrap().0, key(pushes - LIVE));
    let nodes = store.statistics().memory.node_bytes;
    assert!(nodes <= 2 * loaded_bytes(&table), "{nodes} bytes of nodes");
    drop((table, front));
    let found = store.verify().unwrap();
    // A scan at the front therefore visits no empty leaves.
    assert_eq!((found.pairs, found.empty_leaves), (LIVE, 0));
}

#[test]
fn a_queue_needs_memory_for_its_contents() {
    queue(300_000);
}

#[test]
#[ignore = "takes a while"]
fn a_queue_with_two_million_pushes_needs_no_more_memory() {
    queue(2_000_000);
}

#[test]
fn a_full_store_can_store_as_many_pairs_as_were_deleted() {
    let halves: [fn(u64, u64) -> bool; 3] = [
        |number, _| number % 2 == 0,
        |number, count| number < count / 2,
        |number, count| number >= count / 2,
    ];
    let keys: [fn(u64) -> [u8; 8]; 2] = [key, scattered];
    for (half, key) in halves.iter().flat_map(|half| keys.map(|key| (half, key))) {
        let mut store = small(8 * MIB);
        let table = store.table("table").unwrap();
        let count = fill_up(&table, 0, key);
        let deleted: Vec<u64> = (0..count).filter(|&number| half(number, count)).collect();
        for &number in &deleted {
            assert!(table.delete(&key(number)).unwrap());
        }
        let again = fill_up(&table, count, key);
        // Ascending inserts fill leaves wholly. If every second pair of such leaves is deleted, three leaves
        // become two that are three quarters full.
        assert!(again >= deleted.len() as u64 * 79 / 100, "{again} pairs after {} deletes", deleted.len());
        drop(table);
        store.verify().unwrap();
    }
}

/// Puts pairs and deletes every second one, so that leaves stay half empty.
fn half_empty(table: &Table, count: u64) {
    (0..count).for_each(|number| table.put(&key(number), &[7; 200]).unwrap());
    for number in (0..count).filter(|number| number % 2 == 0) {
        table.delete(&key(number)).unwrap();
    }
}

#[test]
fn maintenance_frees_memory_without_a_write() {
    let store = store();
    let tables: Vec<Table> = ["one", "two"].iter().map(|name| store.table(name).unwrap()).collect();
    for table in &tables {
        half_empty(table, 20_000);
    }
    let mut steps = 0;
    while store.maintain(64) {
        steps += 1;
    }
    assert!(steps > 5, "{steps} steps: each visits few leaves");
    let memory = store.statistics().memory;
    let loaded: usize = tables.iter().map(loaded_bytes).sum();
    assert!(memory.node_bytes * 10 <= loaded * 13, "{} bytes of nodes", memory.node_bytes);
    assert_eq!(memory.retired_bytes, 0);
    let before = store.statistics().writes.compactions;
    assert!(before > 100, "{before} compactions");
    assert!(!store.maintain(usize::MAX), "nothing was deleted since");
    assert_eq!(store.statistics().writes.compactions, before);
    (0..20_000).for_each(|number| assert_eq!(tables[0].delete(&key(number)).unwrap(), number % 2 == 1));
    while store.maintain(usize::MAX) {}
    assert_eq!(store.statistics().pairs, 10_000);
    assert!(store.statistics().writes.compactions > before);
}

#[test]
fn writes_to_another_table_free_memory() {
    let store = store();
    let (table, other) = (store.table("table").unwrap(), store.table("other").unwrap());
    half_empty(&table, 20_000);
    (0..20_000).for_each(|number| other.put(&key(number % 100), b"").unwrap());
    let nodes = store.statistics().memory.node_bytes;
    assert!(nodes * 10 <= loaded_bytes(&table) * 13, "{nodes} bytes of nodes");
}

#[test]
fn tables_are_created_and_dropped_during_compaction() {
    let mut store = small(64 * MIB);
    let stays = store.table("stays").unwrap();
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        for name in ["a", "z"] {
            let (store, end) = (&store, &end);
            scope.spawn(move || {
                for _ in 0..20 {
                    half_empty(&store.table(name).unwrap(), 1000);
                    assert!(store.drop_table(name).unwrap());
                }
                end.store(true, Ordering::Relaxed);
            });
        }
        scope.spawn(|| {
            while !end.load(Ordering::Relaxed) {
                store.maintain(8);
            }
        });
        half_empty(&stays, 10_000);
    });
    while store.maintain(64) {}
    assert_eq!(stays.pair_count(), 5_000);
    drop(stays);
    assert_eq!(store.verify().unwrap().pairs, 5_000);
}

/// A pass takes its memory from the reserve and refills it.
#[test]
fn a_pass_in_a_full_store_uses_the_reserve() {
    let store = Store::open(Config { memory_bytes: 4 * MIB, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    let reserve = store.statistics().memory.reserve_bytes;
    assert!(reserve > 0);
    let count = fill_up(&table, 0, scattered);
    for number in (0..count).filter(|number| number % 3 > 0) {
        table.delete(&scattered(number)).unwrap();
    }
    table.put(b"one more", &[7; 100]).unwrap();
    assert_eq!(store.statistics().memory.reserve_bytes, reserve);
}
