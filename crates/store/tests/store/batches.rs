//! Batches: atomic writes, conditions on ranges, and batches of single writes.

use std::ops::Bound;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use honeycomb_store::{Batch, BatchOutcome, Error, Existing, Faults, Outcome, Scan, Store, Table};

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
        [inserted.clone(), inserted, updated, absent, Outcome::AddedFirst { sum: u64::MAX }]
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
fn each_kind_of_rejection_rejects_the_batch() {
    let store = store();
    let table = store.table("table").unwrap();
    table.put(b"there", b"old").unwrap();
    let version = table.get_versioned(b"there").unwrap().unwrap().version;
    let mismatch = Outcome::Mismatch(Box::new(Existing { value: b"old".to_vec(), version }));
    let rejects = |outcome: Outcome, write: &dyn Fn(&mut Batch)| {
        let mut batch = Batch::default();
        batch.put(&table, b"new", b"1");
        write(&mut batch);
        batch.put(&table, b"there", b"new");
        assert_eq!(store.apply(&batch).unwrap(), BatchOutcome::Rejected { index: 1, outcome });
        assert_eq!(table.get(b"new").unwrap(), None);
        assert_eq!(table.get(b"there").unwrap().unwrap(), b"old");
        assert_eq!(table.pair_count(), 1);
    };
    rejects(Outcome::Exists, &|batch| {
        batch.insert(&table, b"there", b"");
    });
    rejects(Outcome::Absent, &|batch| {
        batch.update(&table, b"absent", b"");
    });
    rejects(Outcome::Absent, &|batch| {
        batch.compare_and_swap(&table, b"absent", b"", b"");
    });
    rejects(mismatch.clone(), &|batch| {
        batch.compare_and_swap(&table, b"there", b"x", b"");
    });
    rejects(mismatch, &|batch| {
        batch.compare_version_and_swap(&table, b"there", version + 1, b"");
    });
    rejects(Outcome::NotCounter { bytes: 3 }, &|batch| {
        batch.add(&table, b"there", 1);
    });
}

#[test]
fn errors_change_nothing() {
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
fn a_batch_has_up_to_a_million_operations() {
    let mut store =
        Store::open(honeycomb_store::Config { memory_bytes: 256 * super::MIB, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    let mut batch = Batch::default();
    assert!(batch.is_empty());
    assert!(matches!(store.apply(&batch).unwrap(), BatchOutcome::Applied { version: 0, .. }));
    // In random order: the multiplier is odd, so the numbers are distinct.
    (0..MOST).for_each(|number| {
        batch.put(&table, &key(number * 0x9e37_79b9 % MOST), b"");
    });
    assert!(matches!(store.apply(&batch).unwrap(), BatchOutcome::Applied { .. }));
    assert_eq!(table.pair_count(), MOST);
    batch.delete(&table, b"k");
    let error = store.apply(&batch).unwrap_err();
    assert_eq!(error.to_string(), "batch of 1048577 operations: a batch has at most 1048576");
    batch.clear();
    assert!(batch.is_empty());
    drop((table, batch));
    assert_eq!(store.verify().unwrap().pairs, MOST);
}

/// Most operations of a batch.
const MOST: u64 = 1 << 20;

/// Other writes free memory meanwhile, but never enough.
#[test]
fn a_long_batch_without_room_changes_nothing_and_fails_soon() {
    let mut store = store();
    let (table, other) = (store.table("table").unwrap(), store.table("other").unwrap());
    super::fill(&table, 2000);
    let before = super::pairs(&table);
    let mut batch = Batch::default();
    (0..200_000).for_each(|number| {
        batch.put(&table, &key(number), &[7; 200]);
    });
    let (done, started) = (AtomicBool::new(false), Instant::now());
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in (0..100).cycle() {
                let _ = other.put(&key(number), &[number as u8; 400]);
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        let rejected = store.apply(&batch);
        done.store(true, Ordering::Relaxed);
        assert!(matches!(rejected, Err(Error::OutOfMemory { .. })), "{rejected:?}");
    });
    assert!(started.elapsed().as_secs() < 60, "it took {:?}", started.elapsed());
    assert_eq!(super::pairs(&table), before);
    drop((table, other, batch));
    store.verify().unwrap();
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
    // Other pairs between them distribute them over many leaves.
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
fn writes_of_a_batch_are_retried_for_room() {
    let faults = Faults::default();
    let store = Store::open(honeycomb_store::Config { faults: faults.clone(), ..config() }).unwrap();
    let table = store.table("table").unwrap();
    let mut batch = Batch::default();
    for number in 0..2_000 {
        batch.put(&table, &key(number), &[7; 40]);
    }
    // One allocation fails and the write is retried.
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

/// A batch that requires a range to be unchanged since a snapshot.
fn unchanged_since(store: &Store, table: &Table) -> Batch {
    let mut batch = Batch::default();
    batch.unchanged(table, "b".."d", store.snapshot().unwrap().version()).put(table, b"written", b"");
    batch
}

#[test]
fn a_batch_is_rejected_if_its_range_has_changed() {
    let store = store();
    let table = store.table("table").unwrap();
    let batch = unchanged_since(&store, &table);
    table.put(b"d", b"beside").unwrap();
    store.table("other").unwrap().put(b"c", b"elsewhere").unwrap();
    assert!(matches!(store.apply(&batch).unwrap(), BatchOutcome::Applied { .. }));
    let changes: [&dyn Fn(); 5] = [
        &|| table.put(b"c", b"phantom").unwrap(),
        &|| assert!(table.update(b"c", b"other").unwrap()),
        &|| assert!(table.update(b"c", &[7; 100_000]).unwrap()),
        &|| assert!(table.delete(b"c").unwrap()),
        &|| assert!(table.insert(b"b", b"").unwrap() && table.delete_range("b"..="b").unwrap() == 1),
    ];
    for change in changes {
        let batch = unchanged_since(&store, &table);
        table.delete(b"written").unwrap();
        change();
        let rejected = store.apply(&batch).unwrap();
        assert!(
            matches!(rejected, BatchOutcome::Rejected { index: 0, outcome: Outcome::Changed { .. } }),
            "{rejected:?}"
        );
        assert_eq!(table.get(b"written").unwrap(), None);
    }
    // Bounds that are longer than keys, and empty ranges.
    let (long, version) = ([b'c'; 500], store.snapshot().unwrap().version());
    table.put(&[b'c'; 460], b"").unwrap();
    let is_unchanged = |range: (Bound<&[u8]>, Bound<&[u8]>)| {
        let applied = store.apply(Batch::default().unchanged(&table, range, version)).unwrap();
        matches!(applied, BatchOutcome::Applied { version: 0, .. })
    };
    assert!(is_unchanged((Bound::Included(&long), Bound::Unbounded)));
    assert!(!is_unchanged((Bound::Unbounded, Bound::Excluded(&long))));
    assert!(!is_unchanged((Bound::Excluded(b""), Bound::Unbounded)));
    assert!(is_unchanged((Bound::Unbounded, Bound::Included(b""))));
    assert!(is_unchanged((Bound::Included(b"d"), Bound::Included(b"b"))));
}

#[test]
fn a_batch_deletes_ranges_between_writes() {
    let mut store = store();
    let (a, b) = (store.table("a").unwrap(), store.table("b").unwrap());
    super::fill(&a, 5000);
    let mut batch = Batch::default();
    batch
        .put(&a, b"\xff", b"goes")
        .delete_range(&a, &key(100)[..]..)
        .put(&b, b"k", b"stays")
        .put(&a, &key(4000), b"new")
        .delete_range(&b, "k".."k");
    assert_eq!(batch.len(), 5);
    let BatchOutcome::Applied { version, outcomes } = store.apply(&batch).unwrap() else { panic!() };
    let (inserted, removed) = (Outcome::Inserted, |pairs| Outcome::RangeDeleted { pairs });
    assert_eq!(outcomes, [inserted.clone(), removed(4901), inserted.clone(), inserted, removed(0)]);
    assert_eq!(a.get_versioned(&key(4000)).unwrap().unwrap().version, version);
    assert_eq!((a.pair_count(), b.pair_count()), (101, 1));
    assert_eq!(super::pairs(&a).len(), 101);
    let mut each = Vec::new();
    let error = store.apply_each(&batch, |index, _| each.push(index)).unwrap_err();
    assert!(each.is_empty() && error.to_string().starts_with("entry 1 is for a range"), "{error}");
    drop((a, b, batch));
    store.verify().unwrap();
}

#[test]
fn conditions_need_versions() {
    let store = Store::open(honeycomb_store::Config { mvcc: false, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    let mut batch = Batch::default();
    batch.put(&table, b"k", b"").unchanged::<[u8]>(&table, .., 1);
    assert!(matches!(store.apply(&batch), Err(Error::MvccOff)));
    assert_eq!(table.pair_count(), 0);
}

/// Deletes in a batch may use the reserve.
#[test]
fn a_full_store_is_emptied_by_batches() {
    let mut store =
        Store::open(honeycomb_store::Config { memory_bytes: 2 * super::MIB, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    let full = (0..).find(|&number| table.put(&key(number), &[7; 100]).is_err()).unwrap();
    for first in (0..full).step_by(20) {
        let mut batch = Batch::default();
        (first..full.min(first + 20)).for_each(|number| {
            batch.delete(&table, &key(number));
        });
        assert!(matches!(store.apply(&batch).unwrap(), BatchOutcome::Applied { .. }));
    }
    assert_eq!(table.pair_count(), 0);
    drop(table);
    store.verify().unwrap();
}
