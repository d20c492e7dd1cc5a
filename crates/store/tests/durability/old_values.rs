//! The values before changes: each change of a stream has the one that the key had, or states that the log
//! does not have it.

use std::thread;
use std::time::Duration;

use honeycomb_memory::sync::{AtomicBool, AtomicU64, Ordering};
use honeycomb_store::unordered::{Answers, BuiltIn, Element, Operation, Request};
use honeycomb_store::{
    Batch, ChangeStream, Config, Error, OldValue, Store, SyncPolicy, TableChange, TableChangeKind,
    UnorderedConfig, UnorderedTable,
};
use honeycomb_testing::{Random, SimulatedDisk, seed_or};

use crate::changes::{Pairs, apply, pairs, write};
use crate::workload::config;

fn open(disk: &SimulatedDisk, old_values: bool) -> Store {
    let mut config = Config { memory_bytes: 64 << 20, ..config(disk, SyncPolicy::Never) };
    config.durability.as_mut().unwrap().old_values = old_values;
    Store::open(config).unwrap()
}

/// Returns the changes up to a version.
fn changes_up_to(stream: &mut ChangeStream, version: u64) -> Vec<TableChange> {
    let mut changes = Vec::new();
    while stream.version() < version {
        changes.extend(stream.wait(Duration::from_millis(100)).unwrap());
    }
    changes.retain(|change| change.version <= version);
    changes
}

/// Applies changes to the pairs, and returns how many had old values and how many did not. A known old value
/// must be the value in the pairs.
fn replay(model: &mut Pairs, changes: Vec<TableChange>) -> (usize, usize) {
    let (mut known, mut unknown) = (0, 0);
    for change in changes {
        if let TableChangeKind::Put { key, .. } | TableChangeKind::Delete { key } = &change.kind {
            let expected = model.get(key).map_or(OldValue::Absent, |value| OldValue::Value(value.clone()));
            let is_known = change.old != OldValue::Unknown;
            assert!(!is_known || change.old == expected, "{change:?}, expected {expected:?}");
            known += usize::from(is_known);
            unknown += usize::from(!is_known);
        }
        apply(model, &mut 0, vec![change]);
    }
    (known, unknown)
}

/// Also after a restart that logs no more old values.
#[test]
fn a_stream_has_old_values_on_request() {
    let seed = seed_or(8);
    let disk = SimulatedDisk::default();
    let (store, mut random, mut model) = (open(&disk, true), Random::new(seed), Pairs::new());
    let (table, start) = (store.table("t").unwrap(), store.read_version());
    for _ in 0..500 {
        write(&store, &table, &mut random);
        let mut batch = Batch::default();
        let long = random.bytes(3000);
        batch.put(&table, b"twice", &long).put(&table, b"twice", b"2").add(&table, b"sum", 3);
        store.apply(&batch).unwrap();
        store.apply_each(&batch, |_, outcome| drop(outcome.unwrap())).unwrap();
    }
    let (last, expected) = (store.read_version(), pairs(&table));
    drop((table, store));
    let store = open(&disk, false);
    let table = store.table("t").unwrap();
    table.put(b"twice", b"3").unwrap();
    let mut stream = store.changes::<[u8]>(&table, .., start).unwrap();
    let changes = changes_up_to(&mut stream, store.read_version());
    let (before, after): (Vec<_>, Vec<_>) = changes.into_iter().partition(|change| change.version <= last);
    let is_range = |change: &TableChange| matches!(change.kind, TableChangeKind::DeleteRange { .. });
    assert!(!before.iter().any(is_range), "seed {seed}: a range is deleted pair by pair");
    let (known, unknown) = replay(&mut model, before);
    assert!(known > 2000 && unknown == 0 && model == expected, "seed {seed}: {known}, {unknown}");
    assert_eq!(replay(&mut model, after), (0, 1));
}

/// The old values of a range are one record, which is in memory as a whole.
#[test]
fn a_long_deleted_range_has_no_old_values() {
    let disk = SimulatedDisk::default();
    let mut config = Config { memory_bytes: 256 << 20, ..config(&disk, SyncPolicy::Never) };
    config.durability.as_mut().unwrap().old_values = true;
    let store = Store::open(config).unwrap();
    let table = store.table("t").unwrap();
    let value = vec![7; 1 << 20];
    for (pairs, has_old_values) in [(63_u8, true), (64, false)] {
        (0..pairs).for_each(|number| table.put(&[number], &value).unwrap());
        let mut stream = store.changes::<[u8]>(&table, .., store.read_version()).unwrap();
        assert_eq!(table.delete_range::<[u8]>(..).unwrap(), u64::from(pairs));
        let changes = changes_up_to(&mut stream, store.read_version());
        let old = OldValue::Value(value.clone());
        let deletes = changes.iter().filter(|change| change.old == old).count();
        let is_range = matches!(changes[0].kind, TableChangeKind::DeleteRange { .. });
        assert_eq!((is_range, deletes), (!has_old_values, if has_old_values { 63 } else { 0 }));
    }
}

/// Beside writers each change has its old value, or states that it is unknown.
#[test]
fn old_values_begin_and_end_while_the_store_is_open() {
    let (seed, disk) = (seed_or(3), SimulatedDisk::default());
    let store = open(&disk, false);
    let (table, start) = (store.table("t").unwrap(), store.read_version());
    let (is_done, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let (store, table, rounds) = (&store, &table, &rounds);
                scope.spawn(move || {
                    let mut random = Random::new(seed + writer);
                    // The scheduler decides when the other thread runs.
                    while rounds.load(Ordering::Relaxed) < 20 {
                        (0..3000).for_each(|_| write(store, table, &mut random));
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            for round in 0_u64.. {
                store.set_old_values(round.is_multiple_of(2)).unwrap();
                rounds.store(round, Ordering::Relaxed);
                if is_done.load(Ordering::Acquire) {
                    return;
                }
                thread::sleep(Duration::from_micros(200));
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        is_done.store(true, Ordering::Release);
    });
    // All writes after a call follow it.
    let switched = store.read_version();
    let counts = [true, false].map(|old_values| {
        store.set_old_values(old_values).unwrap();
        let before = store.read_version();
        (0..10_u8).for_each(|number| table.put(&[number % 7], &[number]).unwrap());
        let mut stream = store.changes::<[u8]>(&table, .., before).unwrap();
        let old = changes_up_to(&mut stream, store.read_version()).into_iter().map(|change| change.old);
        old.filter(|old| *old == OldValue::Unknown).count()
    });
    assert_eq!(counts, [0, 10]);
    let mut model = Pairs::new();
    let mut stream = store.changes::<[u8]>(&table, .., start).unwrap();
    let changes = changes_up_to(&mut stream, store.read_version());
    let (beside, after): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| change.version <= switched);
    let (known, unknown) = replay(&mut model, beside);
    assert!(known > 0 && unknown > 0, "seed {seed}: {known} known, {unknown} unknown");
    assert_eq!(replay(&mut model, after), (10, 10));
    assert!(model == pairs(&table), "seed {seed}");
}

/// Writes to an unordered table: alone, in a batch of its own operations, and in one with an ordered table.
fn write_unordered(store: &Store, table: &UnorderedTable, random: &mut Random) {
    let key = |random: &mut Random| (random.below(60) as u32).to_be_bytes();
    let value = |random: &mut Random| {
        let length = random.pick(&[0, 8, 8, 30, 200, 700]);
        random.bytes(length)
    };
    let (first, second) = (key(random), key(random));
    let (new, long) = (value(random), value(random));
    match random.below(8) {
        0 => _ = table.delete(&first).unwrap(),
        1 => _ = table.insert(&first, &new).unwrap(),
        2 => _ = table.add(b"sum", 3).unwrap(),
        3 => {
            let expected = table.get(&first).unwrap().unwrap_or_default();
            let _ = table.compare_and_swap(&first, &expected, &new).unwrap();
        }
        4 => {
            let (function, one) = (BuiltIn::Add.number(Element::U64), 1_u64.to_le_bytes());
            let increment = Operation::UpdateScalar { function, operands: &one };
            let operations = [Operation::Put(&new), increment, Operation::Delete, Operation::Put(&long)];
            let requests: Vec<_> = (0..12).map(|_| (key(random), random.pick(&operations))).collect();
            let requests: Vec<_> =
                requests.iter().map(|(key, operation)| Request { key, operation: *operation }).collect();
            table.execute(&requests, &mut Answers::default()).unwrap();
        }
        5 => {
            let other = store.table("other").unwrap();
            let mut batch = Batch::default();
            batch.put(table, &first, &new).put(&other, b"key", b"").put(table, &second, &long);
            batch.delete(table, &first);
            store.apply(&batch).unwrap();
        }
        6 if random.chance(5) => table.clear().unwrap(),
        _ => table.put(&first, &new).unwrap(),
    }
}

#[test]
fn unordered_tables_have_old_values() {
    let (seed, disk) = (seed_or(5), SimulatedDisk::default());
    let (store, mut random, mut model) = (open(&disk, true), Random::new(seed), Pairs::new());
    let start = store.read_version();
    let table = store.unordered_table("t", UnorderedConfig::default()).unwrap();
    (0..2000).for_each(|_| write_unordered(&store, &table, &mut random));
    let mut stream = store.changes::<[u8]>(&table, .., start).unwrap();
    let (known, unknown) = replay(&mut model, changes_up_to(&mut stream, store.read_version()));
    assert!(known > 1000 && unknown == 0, "seed {seed}: {known} known, {unknown} unknown");
    let found = model.iter().filter(|(key, value)| table.get(key).unwrap().as_ref() == Some(value)).count();
    assert_eq!((found as u64, model.len() as u64), (table.pair_count(), table.pair_count()), "seed {seed}");
    store.set_old_values(false).unwrap();
    (0..100).for_each(|_| write_unordered(&store, &table, &mut random));
    let (known, unknown) = replay(&mut model, changes_up_to(&mut stream, store.read_version()));
    assert!(known == 0 && unknown > 0, "seed {seed}: {known} known, {unknown} unknown");
}

/// Old values change nothing about a recovery.
#[test]
fn a_recovery_ignores_old_values() {
    let (seed, disk) = (seed_or(6), SimulatedDisk::default());
    let (store, mut random) = (open(&disk, true), Random::new(seed));
    let table = store.table("t").unwrap();
    let unordered = store.unordered_table("u", UnorderedConfig::default()).unwrap();
    for _ in 0..300 {
        write(&store, &table, &mut random);
        write_unordered(&store, &unordered, &mut random);
    }
    let (expected, count) = (pairs(&table), unordered.pair_count());
    let values: Vec<_> = (0..60_u32).map(|key| unordered.get(&key.to_be_bytes()).unwrap()).collect();
    drop((table, unordered, store));
    let store = open(&disk, true);
    assert!(pairs(&store.table("t").unwrap()) == expected, "seed {seed}");
    let unordered = store.unordered_table("u", UnorderedConfig::default()).unwrap();
    let found: Vec<_> = (0..60_u32).map(|key| unordered.get(&key.to_be_bytes()).unwrap()).collect();
    assert!(found == values && unordered.pair_count() == count, "seed {seed}");
}

/// The pairs of a bulk load are new.
#[test]
fn loaded_pairs_were_absent() {
    let disk = SimulatedDisk::default();
    let store = open(&disk, true);
    let (table, start) = (store.table("t").unwrap(), store.read_version());
    let mut loader = table.loader(90).unwrap();
    (0..100_u8).for_each(|number| loader.push(&[number], b"value").unwrap());
    loader.finish().unwrap();
    let mut stream = store.changes::<[u8]>(&table, .., start).unwrap();
    let changes = changes_up_to(&mut stream, store.read_version());
    assert_eq!(replay(&mut Pairs::new(), changes), (100, 0));
}

#[test]
fn a_store_in_memory_has_no_old_values() {
    let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
    assert!(matches!(store.set_old_values(true), Err(Error::NoDirectory)));
}
