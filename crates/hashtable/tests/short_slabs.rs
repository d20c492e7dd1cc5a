//! Short pairs in slabs: where a bucket has free slots, but too few for a pair inline.

mod common;

use honeycomb_hashtable::{Census, Functions, Operation, TableConfig};
use honeycomb_memory::Memory;

use common::{TestTable, memory};

/// A table of one bucket.
fn one_bucket(memory: &Memory) -> TestTable<'_> {
    let config = TableConfig { buckets: 1, fill_percent: None, ..TableConfig::default() };
    TestTable::new(memory, config, Functions::default()).unwrap()
}

fn put(table: &TestTable<'_>, key: u64, value: &[u8]) {
    table.apply(&key.to_le_bytes(), Operation::Put(value), &mut Vec::new()).unwrap();
}

fn delete(table: &TestTable<'_>, key: u64) {
    table.apply(&key.to_le_bytes(), Operation::Delete, &mut Vec::new()).unwrap();
}

fn get(table: &TestTable<'_>, key: u64) -> Vec<u8> {
    let mut value = Vec::new();
    table.apply(&key.to_le_bytes(), Operation::Get, &mut value).unwrap();
    value
}

/// The numbers of inline pairs, of pairs in slabs and of chained buckets.
fn forms(table: &TestTable<'_>) -> (u64, u64, u64) {
    let Census { pairs, inline_pairs, chained_buckets, .. } = table.verify().unwrap();
    (inline_pairs, pairs - inline_pairs, chained_buckets)
}

#[test]
fn a_bucket_is_chained_when_all_its_slots_are_used() {
    let memory = memory(1 << 20);
    let table = one_bucket(&memory);
    for (key, expected) in [(1, 0, 0), (2, 0, 0), (2, 1, 0), (2, 2, 0), (3, 2, 1)].into_iter().enumerate() {
        put(&table, key as u64, &[key as u8; 8]);
        assert_eq!(forms(&table), expected);
    }
    assert_eq!(table.statistics().slabs.live_bytes(), 2 * 32 + 64);
    (0..5).for_each(|key| assert_eq!(get(&table, key), [key as u8; 8]));
}

#[test]
fn a_removal_makes_room_for_a_pair_in_a_slab() {
    let memory = memory(1 << 20);
    let table = one_bucket(&memory);
    (0..4).for_each(|key| put(&table, key, &[key as u8; 8]));
    delete(&table, 2);
    assert_eq!(forms(&table), (2, 1, 0));
    delete(&table, 0);
    assert_eq!(forms(&table), (2, 0, 0));
    assert_eq!((get(&table, 1), get(&table, 3)), (vec![1; 8], vec![3; 8]));
}

/// A value of another length may change the form of its pair.
#[test]
fn a_pair_stays_in_its_bucket_when_its_length_changes() {
    let memory = memory(1 << 20);
    let table = one_bucket(&memory);
    (0..3).for_each(|key| put(&table, key, &[key as u8; 8]));
    let steps = [(0, 22, (1, 2, 0)), (0, 1, (1, 2, 0)), (1, 40, (0, 3, 0)), (1, 2, (1, 2, 0))];
    for (key, length, expected) in steps {
        put(&table, key, &vec![9; length]);
        assert_eq!((forms(&table), get(&table, key)), (expected, vec![9; length]), "{key}: {length} bytes");
    }
}

/// In a batch, one key is removed, and another one gets a longer value in its slab.
#[test]
fn a_removal_does_not_take_the_place_of_a_value_of_its_batch() {
    let memory = memory(1 << 20);
    let table = one_bucket(&memory);
    (0..3).for_each(|key| put(&table, key, &[key as u8; 8]));
    let session = table.session();
    let keys = [0_u64, 2].map(u64::to_le_bytes);
    let mut locked = session.lock_keys(&[&keys[0], &keys[1]]).unwrap();
    locked.prepare(0, None).unwrap();
    locked.prepare(1, Some(&[7; 18])).unwrap();
    locked.commit();
    drop(session);
    assert_eq!((get(&table, 1), get(&table, 2)), (vec![1; 8], vec![7; 18]));
    assert_eq!(forms(&table), (2, 0, 0), "room for both: four and six slots");
}

/// Growth, and many removals and insertions, do not leave pairs in slabs for which there is room.
#[test]
fn most_pairs_are_inline_after_growth_and_removals() {
    const PAIRS: u64 = 20_000;
    let memory = memory(16 << 20);
    let config = TableConfig { buckets: 16, ..TableConfig::default() };
    let table = TestTable::new(&memory, config, Functions::default()).unwrap();
    (0..PAIRS).for_each(|key| put(&table, key, &[1; 8]));
    let (inline, _, chained) = forms(&table);
    assert!(inline > PAIRS * 72 / 100 && chained < PAIRS / 20, "{inline} inline, {chained} chained");
    for key in 0..4 * PAIRS {
        delete(&table, key);
        put(&table, key + PAIRS, &[1; 8]);
    }
    let (inline, _, chained) = forms(&table);
    assert!(inline > PAIRS * 72 / 100 && chained < PAIRS / 10, "{inline} inline, {chained} chained");
}
