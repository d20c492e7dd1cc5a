//! Gets that pass values to a function, beside gets that copy them.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use honeycomb_hashtable::{Error, Operation, Outcome, TableConfig, Value};
use honeycomb_testing::{Random, seed};

use common::{TestTable, memory, operation, table};

/// Keys of one length, some of which are absent, after random operations on tables with long chains.
#[test]
fn visits_agree_with_gets() {
    let mut random = Random::new(seed());
    for inline_pair_bytes_max in [0, 10, 30, 50] {
        for fill_percent in [None, Some(60)] {
            let config = TableConfig { buckets: 2, inline_pair_bytes_max, fill_percent, seed: random.next() };
            let memory = memory(64 << 20);
            let table = table(&memory, &config);
            let numbers = common::functions().1;
            for _ in 0..3000 {
                let (key, operation) = (key_of::<16>(random.below(400)), operation(&mut random));
                let key = if random.chance(50) { &key[..8] } else { &key[..] };
                let _ = table.apply(key, operation.borrow(&numbers), &mut Vec::new());
            }
            agrees(&table, (0..500).map(key_of::<8>).collect());
            agrees(&table, (0..500).map(key_of::<16>).collect());
            agrees(&table, (0..500).map(|number| key_of::<16>(number)[..8 + number % 9].to_vec()).collect());
        }
    }
}

fn key_of<const N: usize>(number: usize) -> [u8; N] {
    let mut key = [number as u8; N];
    key[1] = (number >> 8) as u8;
    key
}

fn agrees<K: AsRef<[u8]>>(table: &TestTable<'_>, keys: Vec<K>) {
    let mut many: Vec<Option<Option<Vec<u8>>>> = vec![None; keys.len()];
    let visit = |index: usize, value: Option<&[u8]>| {
        assert!(many[index].replace(value.map(<[u8]>::to_vec)).is_none(), "a key is visited once");
    };
    table.get_many(&keys, visit).unwrap();
    let mut session = table.session();
    for (key, visited) in keys.iter().zip(many) {
        let mut out = Vec::new();
        let outcome = table.apply(key.as_ref(), Operation::Get, &mut out).unwrap();
        let expected = matches!(outcome, Outcome::Found(_)).then_some(out);
        assert_eq!(session.get_with(key, <[u8]>::to_vec).unwrap(), expected);
        assert_eq!(visited, Some(expected));
    }
}

/// An inline value that is too long for the stack is visited, although the first bucket has no next one.
#[test]
fn long_inline_values_are_visited() {
    let memory = memory(16 << 20);
    let config = TableConfig { inline_pair_bytes_max: 50, ..TableConfig::default() };
    let table = table(&memory, &config);
    table.apply(&key_of::<8>(1), Operation::Put(&[7; 40]), &mut Vec::new()).unwrap();
    agrees(&table, vec![key_of::<8>(1), key_of::<8>(2)]);
    let mut value = Vec::new();
    table.apply(&key_of::<8>(1), Operation::Get, &mut value).unwrap();
    assert_eq!(value, [7; 40]);
}

#[test]
fn invalid_keys_are_rejected_before_the_first_visit() {
    let memory = memory(16 << 20);
    let table = table(&memory, &TableConfig::default());
    let long = [0; 461];
    for keys in [[&b"a"[..], b""], [b"a", &long]] {
        let visited = table.get_many(&keys, |_, _| panic!("no key is visited"));
        assert!(matches!(visited, Err(Error::KeyLength { .. })));
        let visited = table.session().get_with(keys[1], |_| panic!("no value is visited"));
        assert!(matches!(visited, Err(Error::KeyLength { .. })));
    }
}

/// A writer replaces values of two halves that are equal; no reader sees different halves.
#[test]
fn visits_see_values_of_one_moment() {
    let memory = memory(16 << 20);
    let table = table(&memory, &TableConfig::default());
    let keys: Vec<[u8; 8]> = (0..20_u64).map(u64::to_le_bytes).collect();
    let write = |number: u64| {
        for (key, at) in keys.iter().zip(0..) {
            let halves = (number + at).to_le_bytes().repeat(2);
            // Inline, in a slab, and in a chained bucket in turn.
            let value = [&halves[..], &vec![0; (at % 3) as usize * 20][..]].concat();
            table.apply(key, Operation::Put(&value), &mut Vec::new()).unwrap();
        }
    };
    write(0);
    let is_done = AtomicBool::new(false);
    let check = |value: &[u8]| assert_eq!(value[..8], value[8..16]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = table.session();
            while !is_done.load(Ordering::Relaxed) {
                table.get_many(&keys, |_, value| check(value.unwrap())).unwrap();
                keys.iter().for_each(|key| session.get_with(key, check).unwrap().unwrap());
            }
        });
        (0..5000).for_each(write);
        is_done.store(true, Ordering::Relaxed);
    });
}

/// Short and long values of keys of several lengths, which several gets of a batch have in common, in buffers
/// that already have bytes.
#[test]
fn each_get_of_a_batch_appends_its_value() {
    let mut random = Random::new(seed());
    for inline_pair_bytes_max in [0, 20, 50] {
        let fill_percent = random.chance(50).then_some(60);
        let config = TableConfig { buckets: 2, inline_pair_bytes_max, fill_percent, seed: random.next() };
        let memory = memory(64 << 20);
        let table = table(&memory, &config);
        let key = |number: usize| key_of::<16>(number)[..8 + number % 9].to_vec();
        for number in 0..400 {
            let length = [0, 8, 16, 33, 400, 600][random.below(6)] + random.below(5);
            table.apply(&key(number), Operation::Put(&vec![number as u8; length]), &mut Vec::new()).unwrap();
        }
        for count in [0, 1, 15, 16, 17, 32, 100, 300] {
            let keys: Vec<_> = (0..count).map(|_| key(random.below(500))).collect();
            gets_agree(&table, &keys);
        }
    }
}

fn gets_agree(table: &TestTable<'_>, keys: &[Vec<u8>]) {
    let (mut found, mut values) = (Vec::new(), b"before".to_vec());
    let done = |values: &mut Vec<u8>, index: usize, value: Option<Value<'_>>| {
        let value = value.map(|value| match value {
            Value::Appended(span) => {
                assert!(span.end - span.start <= 512 && span.end == values.len());
                values[span.start..].to_vec()
            }
            Value::Overflow(value) => value.to_vec(),
        });
        assert_eq!(index, found.len(), "each get ends, in the order of the keys");
        found.push(value);
        values.truncate(6 + index % 3);
    };
    table.get_each(keys.iter().map(|key| &key[..]), &mut values, done);
    assert_eq!((&values[..6], found.len()), (&b"before"[..], keys.len()));
    for (key, found) in keys.iter().zip(found) {
        let mut out = Vec::new();
        let outcome = table.apply(key, Operation::Get, &mut out).unwrap();
        assert_eq!(found, matches!(outcome, Outcome::Found(_)).then_some(out));
    }
}

/// A write comes after each get of a batch: no get of its key sees an older value than a get of this key
/// before it, in one window or in two.
#[test]
fn gets_of_one_key_in_a_batch_do_not_go_back_in_time() {
    for distance in 1..40 {
        let memory = memory(16 << 20);
        let table = table(&memory, &TableConfig::default());
        let (other, key) = (1_u64.to_le_bytes(), 2_u64.to_le_bytes());
        // In a slab and inline in turn: the former gets do not end in their bucket.
        let write = |number: u64| {
            let value = [&number.to_le_bytes()[..], &vec![0; 50 * (number as usize % 2)]].concat();
            table.apply(&key, Operation::Put(&value), &mut Vec::new()).unwrap();
        };
        table.apply(&other, Operation::Put(b"short"), &mut Vec::new()).unwrap();
        write(1);
        let keys: Vec<_> = (0..80).map(|at| if at % distance == 0 { &key } else { &other }).collect();
        let (mut seen, mut writes) = (vec![None; keys.len()], 1);
        let done = |values: &mut Vec<u8>, index: usize, value: Option<Value<'_>>| {
            let Some(Value::Appended(span)) = value else { panic!("all pairs exist") };
            seen[index] = values[span.start..].first_chunk().copied().map(u64::from_le_bytes);
            writes += 1;
            write(writes);
        };
        table.get_each(keys.iter().map(|key| &key[..]), &mut Vec::new(), done);
        let seen: Vec<_> = seen.into_iter().step_by(distance).collect();
        assert!(seen.is_sorted(), "every {distance} gets: {seen:?}");
    }
}

#[test]
#[should_panic(expected = "a key of 461 bytes")]
fn batches_of_gets_have_valid_keys() {
    let memory = memory(16 << 20);
    let table = table(&memory, &TableConfig::default());
    table.get_each([&[0; 461][..]].into_iter(), &mut Vec::new(), |_, _, _| {});
}
