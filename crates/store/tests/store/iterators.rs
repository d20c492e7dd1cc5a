//! Iterators: both directions, and one version during concurrent writes.

use std::ops::Bound;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use honeycomb_store::{Batch, Config, Error, LeaseLimits, ManualClock, SnapshotToken, Store, Table};

use super::{Pair, config, fill, key, pairs, store, table};

fn all(iter: impl Iterator<Item = Result<Pair, Error>>) -> Vec<Pair> {
    iter.collect::<Result<_, _>>().unwrap()
}

fn numbers(table: &Table, low: u64, high: u64) -> Vec<u64> {
    let pairs = all(table.range(&key(low)..&key(high)).unwrap());
    pairs.into_iter().map(|(key, _)| u64::from_be_bytes(key.try_into().unwrap())).collect()
}

#[test]
fn pages_continue_after_the_last_key() {
    let table = table();
    for count in [0, 1, 63, 64, 65, 319, 320, 321, 20_000] {
        fill(&table, count);
        let forward = pairs(&table);
        assert_eq!(forward.len() as u64, count);
        assert!(forward.is_sorted_by(|one, other| one.0 < other.0));
        let mut backward = all(table.iter().unwrap().rev());
        backward.reverse();
        assert!(backward == forward, "{count}");
    }
    assert!(numbers(&table, 150, 9000).into_iter().eq(150..9000));
}

#[test]
fn ranges() {
    let table = table();
    fill(&table, 1000);
    assert!(numbers(&table, 5, 5).is_empty());
    assert!(numbers(&table, 7, 5).is_empty());
    assert_eq!(numbers(&table, 999, 5000), [999]);
    let after = table.range((Bound::Excluded(&key(997)), Bound::Unbounded)).unwrap();
    assert_eq!(all(after).len(), 2);
    assert_eq!(all(table.range(..=&key(1)).unwrap().rev())[0].0, key(1));
}

#[test]
fn the_two_ends_meet() {
    let table = table();
    for count in [1, 2, 64, 65, 100, 128, 129, 500, 3000] {
        fill(&table, count);
        let expected = pairs(&table);
        // Every third pair from the back.
        let (mut iter, mut front, mut back) = (table.iter().unwrap(), Vec::new(), Vec::new());
        while let Some(pair) = iter.next() {
            front.push(pair.unwrap());
            if front.len() % 2 == 0 {
                back.extend(iter.next_back().map(Result::unwrap));
            }
        }
        assert!(iter.next_back().is_none() && iter.next().is_none());
        front.extend(back.into_iter().rev());
        assert!(front == expected, "{count}");
    }
}

#[test]
fn an_iterator_equals_its_snapshot_while_the_table_changes() {
    let store = store();
    let table = store.table("table").unwrap();
    fill(&table, 3000);
    for round in 0..30 {
        let snapshot = store.snapshot().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| (round * 3000..(round + 1) * 3000).for_each(|step| change(&table, step)));
            let one = all(snapshot.iter::<str>(&table, ..).unwrap());
            let mut other = all(snapshot.iter::<str>(&table, ..).unwrap().rev());
            other.reverse();
            assert!(one == other);
            assert!(
                one.iter().all(|(key, value)| snapshot.get(&table, key).unwrap().as_ref() == Some(value))
            );
        });
    }
}

fn change(table: &Table, step: u64) {
    let number = step * 7919 % 6000;
    match step % 3 {
        0 => drop(table.delete(&key(number)).unwrap()),
        _ => table.put(&key(number), &vec![1; number as usize % 700]).unwrap(),
    }
}

#[test]
fn an_iterator_is_of_one_version_over_many_pages() {
    let store = store();
    let table = store.table("table").unwrap();
    let set = |value: u8| {
        let mut batch = Batch::default();
        (0..10_000).for_each(|number| {
            batch.put(&table, &key(number), &[value]);
        });
        store.apply(&batch).unwrap();
    };
    set(0);
    for value in 1..20 {
        let mut iter = table.iter().unwrap();
        let first = iter.next().unwrap().unwrap().1;
        assert_eq!(first, [value - 1]);
        set(value);
        assert!(all(iter).iter().all(|(_, value)| *value == first));
    }
}

#[test]
fn an_iterator_returns_the_end_of_its_lease_once() {
    let clock = Arc::new(ManualClock::default());
    let store = Store::open(Config { clock: clock.clone(), ..config() }).unwrap();
    let table = store.table("table").unwrap();
    fill(&table, 1000);
    let mut iter = table.iter().unwrap();
    assert!(iter.next().unwrap().is_ok());
    clock.advance(Duration::from_secs(61));
    let rest: Vec<_> = iter.by_ref().take(1000).collect();
    assert_eq!(rest.len(), 64, "the rest of the page, and the error");
    assert!(matches!(rest.last(), Some(Err(Error::SnapshotTooOld))));
    assert!(rest[..63].iter().all(Result::is_ok));
    assert!(iter.next().is_none() && iter.next_back().is_none());
}

#[test]
fn iterators_count_as_snapshots() {
    let store = Store::open(Config { snapshots_max: 1, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    let iter = table.iter().unwrap();
    assert!(matches!(table.iter(), Err(Error::TooManySnapshots { max: 1 })));
    drop(iter);
    assert!(table.iter().is_ok());
}

#[test]
fn without_versions_each_page_reads_the_current_state() {
    let store = Store::open(Config { mvcc: false, snapshots_max: 0, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    fill(&table, 1000);
    let mut iter = table.iter().unwrap();
    iter.next().unwrap().unwrap();
    table.put(&key(5000), b"new").unwrap();
    assert_eq!(all(iter).len(), 1000);
    assert_eq!(store.statistics().snapshots.count, 0);
}

#[test]
fn pages_are_bounded_in_bytes() {
    let limits = LeaseLimits { bytes: 0, ..LeaseLimits::default() };
    let store = Store::open(Config { lease: limits, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    (0..10).for_each(|number| table.put(&key(number), &vec![0; 400_000]).unwrap());
    let mut iter = table.iter().unwrap();
    iter.next().unwrap().unwrap();
    // The iterator returns the rest of its page, but cannot read the next one.
    table.put(&key(0), b"").unwrap();
    assert_eq!(iter.take_while(Result::is_ok).count(), 2);
    assert_eq!(pairs(&table).len(), 10);
}

/// The lease of an iterator has a token that nobody has.
#[test]
fn a_guessed_token_does_not_end_an_iterator() {
    let store = store();
    let table = store.table("t").unwrap();
    (0..10_000_u32).for_each(|number| table.put(&number.to_be_bytes(), &[7; 100]).unwrap());
    let mut iterator = table.iter().unwrap();
    for number in 0..10 {
        let resumed = store.resume(SnapshotToken::new(number)).map(drop);
        assert!(matches!(resumed, Err(Error::UnknownSnapshot { .. })), "{resumed:?}");
    }
    assert_eq!(iterator.by_ref().map(Result::unwrap).count(), 10_000);
}
