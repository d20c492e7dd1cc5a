//! A table that loses its pairs loses its buckets, while others read, write and walk.

mod common;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use honeycomb_hashtable::{Answers, Functions, Operation, Outcome, Request, TableConfig, WalkedPairs};
use honeycomb_testing::{Random, seed};

use common::{TestTable, memory};

/// Buckets that a removal removes at most.
const REMOVED_MAX: u64 = 4;
/// Buckets that a put adds at most.
const ADDED_MAX: u64 = 2;
/// Buckets of a page.
const PAGE_BUCKETS: u64 = 1024;

fn put(table: &TestTable<'_>, number: u32) {
    let (key, value) = (key(number), number.to_le_bytes().repeat(2));
    table.apply(&key, Operation::Put(&value), &mut Vec::new()).unwrap();
}

fn delete(table: &TestTable<'_>, number: u32) {
    let outcome = table.apply(&key(number), Operation::Delete, &mut Vec::new());
    assert_eq!(outcome.unwrap(), Outcome::Deleted);
}

fn assert_has(table: &TestTable<'_>, number: u32) {
    let mut out = Vec::new();
    let outcome = table.apply(&key(number), Operation::Get, &mut out).unwrap();
    assert!(matches!(outcome, Outcome::Found(_)), "{number}");
    assert_eq!(out, number.to_le_bytes().repeat(2));
}

/// Some pairs are inline, others in slabs.
fn key(number: u32) -> Vec<u8> {
    let length = if number.is_multiple_of(5) { 40 } else { 8 };
    let mut key = vec![3; length];
    key[..4].copy_from_slice(&number.to_le_bytes());
    key
}

#[test]
fn buckets_and_pages_leave_with_their_pairs() {
    const PAIRS: u32 = 30_000;
    let memory = memory(64 << 20);
    let table = TestTable::new(&memory, TableConfig::default(), Functions::default()).unwrap();
    (0..PAIRS).for_each(|number| put(&table, number));
    let full = table.statistics();
    assert!(full.buckets > 12 * PAGE_BUCKETS, "{full:?}");
    let mut before = full.buckets;
    for number in 100..PAIRS {
        delete(&table, number);
        let buckets = table.statistics().buckets;
        assert!(before - buckets <= REMOVED_MAX, "a removal does bounded work");
        before = buckets;
        if number.is_multiple_of(5000) {
            assert_eq!(table.verify().unwrap().pairs, u64::from(PAIRS - number - 1 + 100));
        }
    }
    (0..100).for_each(|number| assert_has(&table, number));
    let sparse = table.statistics();
    // The page of the first buckets, and perhaps the one after it.
    assert!(sparse.buckets < 2 * PAGE_BUCKETS && sparse.bucket_page_bytes <= 3 << 16, "{sparse:?}");
    memory.reclaim();
    let pages = sparse.bucket_page_bytes + table.statistics().slabs.page_bytes;
    assert_eq!(memory.accounting().live_table_page_bytes, pages);
    // It grows again.
    (100..PAIRS).for_each(|number| put(&table, number));
    (0..PAIRS).for_each(|number| assert_has(&table, number));
    assert_eq!(table.verify().unwrap().pairs, u64::from(PAIRS));
    drop(table);
    memory.reclaim();
    memory.accounting().assert_complete();
}

/// With a share of 1 % nearly every put finds too many slots in use.
#[test]
fn a_put_adds_a_bounded_number_of_buckets() {
    let memory = memory(16 << 20);
    let config = TableConfig { buckets: 1, fill_percent: Some(1), ..TableConfig::default() };
    let table = TestTable::new(&memory, config, Functions::default()).unwrap();
    let (mut before, mut most) = (1, 0);
    for number in 0..3000 {
        put(&table, number);
        let buckets = table.statistics().buckets;
        most = most.max(buckets - before);
        before = buckets;
    }
    assert_eq!(most, ADDED_MAX);
    assert_eq!(table.verify().unwrap().pairs, 3000);
}

#[test]
fn a_table_keeps_the_buckets_that_it_was_created_with() {
    let memory = memory(16 << 20);
    for (buckets, fill_percent) in [(4096, Some(60)), (1, None)] {
        let config = TableConfig { buckets, fill_percent, ..TableConfig::default() };
        let table = TestTable::new(&memory, config, Functions::default()).unwrap();
        (0..100).for_each(|number| put(&table, number));
        (0..100).for_each(|number| delete(&table, number));
        assert_eq!(table.statistics().buckets, buckets as u64);
    }
}

/// A batch of removals, and one that removes keys together.
#[test]
fn batches_shrink_a_table() {
    let memory = memory(64 << 20);
    let config = TableConfig { buckets: 16, ..TableConfig::default() };
    let table = TestTable::new(&memory, config, Functions::default()).unwrap();
    (0..10_000).for_each(|number| put(&table, number));
    let full = table.statistics().buckets;
    let keys: Vec<_> = (0..5000).map(key).collect();
    let requests: Vec<_> = keys.iter().map(|key| Request { key, operation: Operation::Delete }).collect();
    table.execute(&requests, &mut Answers::default());
    let half = table.statistics().buckets;
    for numbers in (5000..10_000).collect::<Vec<_>>().chunks(5) {
        let keys: Vec<_> = numbers.iter().map(|number| key(*number)).collect();
        let keys: Vec<_> = keys.iter().map(Vec::as_slice).collect();
        let session = table.session();
        let mut locked = session.lock_keys(&keys).unwrap();
        (0..keys.len()).for_each(|key| locked.prepare(key, None).unwrap());
        locked.commit();
    }
    let buckets = table.statistics().buckets;
    assert!(half <= full && buckets < full / 10, "{full}, {half}, {buckets}");
    assert_eq!(table.verify().unwrap().pairs, 0);
}

/// A walk during which the table shrinks and grows returns the pairs that stay exactly once.
#[test]
fn walks_return_each_pair_once_while_the_table_shrinks() {
    const PAIRS: u32 = 8000;
    let (memory, mut random) = (memory(64 << 20), Random::new(seed()));
    for stays in [3, 50] {
        let config = TableConfig { buckets: 2, seed: random.next(), ..TableConfig::default() };
        let table = TestTable::new(&memory, config, Functions::default()).unwrap();
        (0..PAIRS).for_each(|number| put(&table, number));
        let session = table.session();
        let (mut pairs, mut cursor, mut next) = (WalkedPairs::default(), 0, 0);
        loop {
            cursor = session.walk(cursor, &mut pairs);
            if cursor == 0 {
                break;
            }
            for _ in 0..random.below(30) {
                if next < PAIRS && next % stays != 0 {
                    delete(&table, next);
                }
                next += 1;
            }
        }
        let mut visits: HashMap<Vec<u8>, usize> = HashMap::new();
        pairs.iter().for_each(|(key, _)| *visits.entry(key.to_vec()).or_default() += 1);
        let staying = (0..PAIRS).step_by(stays as usize);
        staying.for_each(|number| assert_eq!(visits.get(&key(number)), Some(&1), "{number} of {stays}"));
    }
}

/// Readers find the pairs that stay, one at a time and in batches, while two threads insert and delete
/// others.
#[test]
fn readers_find_pairs_while_the_table_is_resized() {
    const STAYING: u32 = 50;
    let memory = memory(64 << 20);
    let config = TableConfig { buckets: 2, ..TableConfig::default() };
    let table = TestTable::new(&memory, config, Functions::default()).unwrap();
    (0..STAYING).for_each(|number| put(&table, number));
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (1..3)
            .map(|writer| {
                let table = &table;
                scope.spawn(move || {
                    for _ in 0..20 {
                        let numbers = writer * 100_000..writer * 100_000 + 1000;
                        numbers.clone().for_each(|number| put(table, number));
                        numbers.for_each(|number| delete(table, number));
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let keys: Vec<_> = (0..STAYING).map(key).collect();
            let gets: Vec<_> = keys.iter().map(|key| Request { key, operation: Operation::Get }).collect();
            let mut answers = Answers::default();
            while !is_done.load(Ordering::Relaxed) {
                (0..STAYING).for_each(|number| assert_has(&table, number));
                table.execute(&gets, &mut answers);
                let outcomes = answers.outcomes().unwrap();
                assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Found(_))));
            }
        });
        let ended: Vec<_> = writers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(Result::unwrap);
    });
    assert_eq!(table.verify().unwrap().pairs, u64::from(STAYING));
}
