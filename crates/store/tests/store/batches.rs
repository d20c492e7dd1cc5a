//! Batches: all of it or nothing, at one moment.

use std::sync::Barrier;
use std::thread;

use honeycomb_store::{Batch, BatchOutcome, Error, Faults, Outcome, Scan, Store};

use super::{config, key, store};

#[test]
fn a_batch_is_applied_over_tables() {
    let store = store();
    let (a, b) = (store.table("a").unwrap(), store.table("b").unwrap());
    b.put(b"old", b"1").unwrap();
    let mut batch = Batch::default();
    batch
        .put(&a, b"k", b"1")
        .insert(&b, b"k", b"2")
        .update(&b, b"old", b"3")
        .delete(&a, b"absent")
        .add(&a, b"n", -1);
    assert_eq!(batch.len(), 5);
    let BatchOutcome::Applied { version, outcomes } = store.apply(&batch).unwrap() else { panic!() };
    let (inserted, updated, absent) = (Outcome::Inserted, Outcome::Updated, Outcome::Absent);
    assert_eq!(
        outcomes,
        [inserted.clone(), inserted, updated, absent, Outcome::Added { sum: u64::MAX, inserted: true }]
    );
    assert_eq!(a.get_versioned(b"k").unwrap().unwrap().version, version);
    assert_eq!(b.get(b"old").unwrap().unwrap(), b"3");
    assert_eq!((a.pair_count(), b.pair_count()), (2, 2));
}

#[test]
fn operations_on_a_key_see_those_before_them() {
    let store = store();
    let table = store.table("table").unwrap();
    let mut batch = Batch::default();
    batch.insert(&table, b"k", b"1").compare_and_swap(&table, b"k", b"1", b"2").delete(&table, b"k");
    batch.insert(&table, b"k", b"3");
    assert!(matches!(store.apply(&batch).unwrap(), BatchOutcome::Applied { .. }));
    assert_eq!(table.get(b"k").unwrap().unwrap(), b"3");
    assert_eq!(table.pair_count(), 1);
}

#[test]
fn each_kind_of_refusal_refuses_all() {
    let store = store();
    let table = store.table("table").unwrap();
    table.put(b"there", b"old").unwrap();
    let version = table.get_versioned(b"there").unwrap().unwrap().version;
    let mismatch = Outcome::Mismatch { value: b"old".to_vec(), version };
    let refuses = |outcome: Outcome, write: &dyn Fn(&mut Batch)| {
        let mut batch = Batch::default();
        batch.put(&table, b"new", b"1");
        write(&mut batch);
        batch.put(&table, b"there", b"new");
        assert_eq!(store.apply(&batch).unwrap(), BatchOutcome::Refused { index: 1, outcome });
        assert_eq!(table.get(b"new").unwrap(), None);
        assert_eq!(table.get(b"there").unwrap().unwrap(), b"old");
        assert_eq!(table.pair_count(), 1);
    };
    refuses(Outcome::Exists, &|batch| {
        batch.insert(&table, b"there", b"");
    });
    refuses(Outcome::Absent, &|batch| {
        batch.update(&table, b"absent", b"");
    });
    refuses(Outcome::Absent, &|batch| {
        batch.compare_and_swap(&table, b"absent", b"", b"");
    });
    refuses(mismatch.clone(), &|batch| {
        batch.compare_and_swap(&table, b"there", b"x", b"");
    });
    refuses(mismatch, &|batch| {
        batch.compare_version_and_swap(&table, b"there", version + 1, b"");
    });
    refuses(Outcome::NotCounter { bytes: 3 }, &|batch| {
        batch.add(&table, b"there", 1);
    });
}

#[test]
fn errors_leave_everything_as_it_was() {
    let store = store();
    let table = store.table("table").unwrap();
    let mut batch = Batch::default();
    batch.put(&table, b"k", b"1").put(&table, b"", b"2");
    assert!(matches!(store.apply(&batch), Err(Error::KeyLength { bytes: 0, max: 460 })));
    let foreign = super::store().table("foreign").unwrap();
    batch.clear();
    batch.put(&table, b"k", b"1").put(&foreign, b"k", b"2");
    assert_eq!(store.apply(&batch).unwrap_err().to_string(), "table `foreign` belongs to another store");
    assert!(table.scan(&Scan::all()).unwrap().is_empty());
}

#[test]
fn a_batch_has_up_to_65536_operations() {
    let store = store();
    let table = store.table("table").unwrap();
    let mut batch = Batch::default();
    assert!(batch.is_empty());
    assert!(matches!(store.apply(&batch).unwrap(), BatchOutcome::Applied { version: 0, .. }));
    (0..65_536).for_each(|number| {
        batch.put(&table, &key(number), b"");
    });
    assert!(matches!(store.apply(&batch).unwrap(), BatchOutcome::Applied { .. }));
    assert_eq!(table.pair_count(), 65_536);
    batch.delete(&table, b"k");
    let error = store.apply(&batch).unwrap_err();
    assert_eq!(error.to_string(), "batch of 65537 operations: a batch has at most 65536");
    batch.clear();
    assert!(batch.is_empty());
}

#[test]
fn a_batch_without_room_changes_nothing() {
    for failing in 0..40 {
        let faults = Faults::default();
        let mut store = Store::open(honeycomb_store::Config { faults: faults.clone(), ..config() }).unwrap();
        let table = store.table("table").unwrap();
        super::fill(&table, 2000);
        let mut batch = Batch::default();
        (0..2000).step_by(100).for_each(|number| {
            batch.put(&table, &key(number), &[1; 500]);
        });
        let before = super::pairs(&table);
        faults.set(failing);
        let applied = store.apply(&batch);
        faults.clear();
        assert!(matches!(applied, Ok(BatchOutcome::Applied { .. })) || super::pairs(&table) == before);
        drop((batch, table));
        store.verify().unwrap();
    }
}

#[test]
fn scans_see_all_of_a_batch_or_nothing() {
    const KEYS: u64 = 50;
    let store = store();
    let table = store.table("table").unwrap();
    let set = |value: u64| {
        let mut batch = Batch::default();
        (0..KEYS).for_each(|number| {
            batch.put(&table, &key(number * 1000), &value.to_le_bytes());
        });
        store.apply(&batch).unwrap();
    };
    set(0);
    // Enough around them that they are in many leaves.
    (0..KEYS * 1000).step_by(7).filter(|n| n % 1000 != 0).for_each(|n| table.put(&key(n), b"").unwrap());
    let start = Barrier::new(2);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            start.wait();
            (1..300).for_each(set);
        });
        start.wait();
        let mut last = 0;
        while !writer.is_finished() {
            let pairs = table.scan(&Scan::all()).unwrap();
            let mut values = pairs.iter().filter(|(_, value)| !value.is_empty()).map(|(_, value)| value);
            let first = values.next().unwrap();
            assert!(values.all(|value| value == first));
            let value = u64::from_le_bytes(first.try_into().unwrap());
            assert!(value >= last);
            last = value;
        }
    });
}

#[test]
fn writes_that_come_together_find_room_when_there_is_some() {
    let faults = Faults::default();
    let store = Store::open(honeycomb_store::Config { faults: faults.clone(), ..config() }).unwrap();
    let table = store.table("table").unwrap();
    let mut batch = Batch::default();
    for number in 0..2_000 {
        batch.put(&table, &key(number), &[7; 40]);
    }
    // One allocation fails, and is tried again.
    faults.set(10);
    let mut wrote = 0;
    store
        .apply_each(&batch, |index, outcome| {
            assert_eq!(index, wrote);
            wrote += usize::from(outcome.unwrap().wrote());
        })
        .unwrap();
    faults.clear();
    assert_eq!((wrote, table.pair_count()), (2_000, 2_000));
    let other = self::store();
    assert!(matches!(other.apply_each(&batch, |_, _| unreachable!()), Err(Error::ForeignTable { .. })));
}
