//! Stores and their tables: names, lifetimes, configuration, statistics.

use std::thread;

use honeycomb_store::{Batch, Config, Error, Store, TABLE_NAME_BYTES_MAX};

use super::{MIB, config, fill, key, pairs, store};

#[test]
fn tables_are_created_when_they_are_first_opened() {
    let store = store();
    assert!(store.tables().is_empty());
    store.table("b").unwrap().put(b"k", b"v").unwrap();
    store.table("a").unwrap();
    assert_eq!(store.tables(), ["a", "b"]);
    let table = store.clone().table("b").unwrap();
    assert_eq!(table.name(), "b");
    assert_eq!(table.get(b"k").unwrap().unwrap(), b"v");
    assert_eq!(store.table("a").unwrap().get(b"k").unwrap(), None);
}

#[test]
fn names_have_1_to_255_bytes() {
    let store = store();
    for bytes in [1, 254, 255] {
        store.table(&"n".repeat(bytes)).unwrap();
    }
    store.table("häuser/größe").unwrap();
    for bytes in [0, 256, 1000] {
        let error = store.table(&"n".repeat(bytes)).unwrap_err();
        assert_eq!(error.to_string(), format!("table name of {bytes} bytes: a name has 1 to 255 bytes"));
    }
    assert_eq!(TABLE_NAME_BYTES_MAX, 255);
    assert_eq!(store.tables().len(), 4);
}

#[test]
fn a_dropped_table_is_gone_with_all_its_pairs() {
    let mut store = store();
    let table = store.table("table").unwrap();
    fill(&table, 10_000);
    drop(table);
    assert!(store.drop_table("table").unwrap());
    assert!(!store.drop_table("table").unwrap());
    assert!(store.tables().is_empty());
    assert_eq!(store.statistics().memory.nodes, 0);
    let table = store.table("table").unwrap();
    assert!(pairs(&table).is_empty());
    assert_eq!(table.pair_count(), 0);
    drop(table);
    store.verify().unwrap();
}

#[test]
fn a_table_in_use_is_not_dropped() {
    let store = store();
    let table = store.table("table").unwrap();
    table.put(b"k", b"v").unwrap();
    let failed = || matches!(store.drop_table("table"), Err(Error::TableInUse { name }) if name == "table");
    assert!(failed());
    let mut batch = Batch::default();
    batch.put(&table, b"k", b"w");
    let iter = table.iter().unwrap();
    drop(table);
    assert!(failed());
    drop(iter);
    assert!(failed());
    batch.clear();
    assert!(store.drop_table("table").unwrap());
}

#[test]
fn threads_open_the_same_table() {
    let store = store();
    thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                (0..50).for_each(|number| {
                    store.table(&number.to_string()).unwrap().put(&[thread], b"").unwrap()
                });
            });
        }
    });
    assert_eq!(store.tables().len(), 50);
    assert!(store.tables().iter().all(|name| store.table(name).unwrap().pair_count() == 8));
}

#[test]
fn tables_are_created_and_dropped_under_load() {
    let mut store = store();
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let store = &store;
            scope.spawn(move || {
                for round in 0..20 {
                    let name = format!("table {}", (round + thread) % 3);
                    let table = store.table(&name).unwrap();
                    (0..500).for_each(|number| table.put(&key(number * 4 + thread), &[7; 100]).unwrap());
                    drop(table);
                    assert!(matches!(store.drop_table(&name), Ok(_) | Err(Error::TableInUse { .. })));
                }
            });
        }
    });
    let counted = store.statistics().pairs;
    assert_eq!(store.verify().unwrap().pairs, counted);
}

#[test]
fn verify_needs_the_only_handle() {
    let mut store = store();
    let table = store.table("table").unwrap();
    fill(&table, 3000);
    assert!(matches!(store.verify(), Err(Error::InUse { others: 1 })));
    let clone = store.clone();
    assert!(matches!(store.verify(), Err(Error::InUse { others: 2 })));
    drop((table, clone));
    assert_eq!(store.verify().unwrap().pairs, 3000);
    // A snapshot without handles does not count either.
    let _token = store.snapshot().unwrap().token();
    assert_eq!(store.verify().unwrap().pairs, 3000);
}

/// The number of pairs, the errors, and writes to another table during a load.
#[test]
fn sorted_pairs_are_loaded() {
    let mut store = store();
    let (table, other) = (store.table("table").unwrap(), store.table("other").unwrap());
    let pair = |number: u64| {
        (number.to_be_bytes(), vec![number as u8; if number.is_multiple_of(9) { 600 } else { 5 }])
    };
    let pairs = (0..5_000).map(|number| {
        other.put(&key(number), b"v").unwrap();
        pair(number)
    });
    assert_eq!(table.load_sorted(pairs).unwrap(), 5_000);
    assert_eq!((table.pair_count(), other.pair_count()), (5_000, 5_000));
    assert_eq!(table.get(&77_u64.to_be_bytes()).unwrap(), Some(pair(77).1));
    assert!(matches!(table.load_sorted([(b"k", b"v")]), Err(Error::TableNotEmpty)));
    table.delete_range::<[u8]>(..).unwrap();
    let failed = table.load_sorted([pair(1), pair(3), pair(3)]).unwrap_err();
    assert!(matches!(failed, Error::NotAscending { position: 2 }));
    let text = "pair 2, counted from 0, is not greater than the pair before it: keys must ascend";
    assert_eq!(failed.to_string(), text);
    assert!(matches!(table.load_sorted([(vec![], vec![])]), Err(Error::KeyLength { bytes: 0, .. })));
    assert!(matches!(table.loader(101), Err(Error::FillPercent { percent: 101 })));
    assert_eq!(table.pair_count(), 0);
    drop((table, other));
    assert_eq!(store.verify().unwrap().pairs, 5_000);
}

#[test]
fn configurations_are_checked() {
    let failed = |config: Config| matches!(Store::open(config), Err(Error::InvalidConfig(_)));
    assert!(!failed(config()));
    for node_bytes in [512, 1000, 8191, 32_768] {
        assert!(failed(Config { node_bytes, ..config() }), "{node_bytes}");
    }
    assert!(failed(Config { memory_bytes: 0, ..config() }));
    assert!(failed(Config { memory_bytes: (32 << 10) - 1, ..config() }));
    assert!(failed(Config { log_threshold_bytes: 5000, ..config() }));
    assert!(failed(Config { concurrent_operations: 0, ..config() }));
    for (name, invalid) in [
        ("memory_bytes", Config { memory_bytes: (16 << 40) + 1, ..config() }),
        ("memory_bytes", Config { memory_bytes: 1, ..config() }),
        ("concurrent_operations", Config { concurrent_operations: (1 << 16) + 1, ..config() }),
        ("snapshots_max", Config { snapshots_max: 1 << 16, ..config() }),
        ("snapshots_max", Config { snapshots_max: usize::MAX, ..config() }),
        ("node size", Config { node_bytes: usize::MAX, ..config() }),
    ] {
        let error = Store::open(invalid).map(drop).unwrap_err().to_string();
        assert!(error.starts_with(&format!("invalid configuration: {name} ")), "{error}");
    }
    let error = Store::open(Config { node_bytes: 1000, ..config() }).unwrap_err().to_string();
    assert!(error.contains("1000") && error.contains("power of two from 1024 to 16384"), "{error}");
}

#[test]
fn every_node_size_works() {
    for node_bytes in [1024, 2048, 4096, 16_384] {
        let mut store = Store::open(Config { node_bytes, ..config() }).unwrap();
        let table = store.table("table").unwrap();
        fill(&table, 5000);
        assert_eq!(pairs(&table).len(), 5000);
        drop(table);
        assert_eq!(store.verify().unwrap().pairs, 5000);
    }
}

#[test]
fn statistics_add_up() {
    let store = Store::open(Config { memory_bytes: 8 * MIB, ..Config::default() }).unwrap();
    let empty = store.statistics();
    assert_eq!((empty.pairs, empty.bytes_per_pair.all), (0, 0.0));
    let (one, other) = (store.table("one").unwrap(), store.table("other").unwrap());
    fill(&one, 10_000);
    other.put(b"k", &[0; 10_000]).unwrap();
    let statistics = store.statistics();
    let tables: Vec<_> = statistics.tables.iter().map(|table| (&*table.name, table.pairs)).collect();
    assert_eq!(tables, [("one", 10_000), ("other", 1)]);
    assert_eq!(statistics.pairs, 10_001);
    let memory = &statistics.memory;
    assert_eq!((memory.values, memory.value_bytes), (1, 10_240));
    let used = memory.node_bytes + memory.value_bytes + memory.reserve_bytes;
    assert_eq!(memory.arena_bytes, used + memory.free_bytes + memory.retired_bytes + memory.private_bytes);
    assert!((20.0..100.0).contains(&statistics.bytes_per_pair.nodes), "{:?}", statistics.bytes_per_pair);
    assert!(statistics.writes.consolidations > 0 && statistics.writes.leaf_splits > 0);
    assert!(statistics.versions.read_version >= 10_001);
    let json = serde_json::to_value(&statistics).unwrap();
    assert_eq!(json["tables"][0]["name"], "one");
    assert_eq!(json["memory"]["arena_bytes"], 8 * MIB);
}

#[test]
fn handles_are_send_and_sync() {
    fn check<T: Send + Sync>() {}
    check::<Store>();
    check::<honeycomb_store::Table>();
    check::<honeycomb_store::Snapshot>();
    check::<honeycomb_store::Iter>();
    check::<Batch>();
}
