//! Pairs of 32 bytes, which fill a slab without a header, beside pairs that are a little shorter or longer.

mod common;

use honeycomb_hashtable::{Answers, Functions, Operation, Outcome, Request, TableConfig, WalkedPairs};
use honeycomb_testing::{Random, seed};

use common::{Model, OwnedOperation, TestFunction, TestTable, assert_agrees, memory, table};

/// Bytes of the smallest slab.
const SLAB: usize = 32;

fn config(buckets: usize, inline_pair_bytes_max: usize, fill_percent: Option<usize>) -> TableConfig {
    TableConfig { buckets, inline_pair_bytes_max, fill_percent, seed: 7 }
}

fn get(table: &TestTable<'_>, key: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match table.apply(key, Operation::Get, &mut out).unwrap() {
        Outcome::Found(span) => Some(out[span.start..span.end].to_vec()),
        _ => None,
    }
}

fn put(table: &TestTable<'_>, key: &[u8], value: &[u8]) {
    table.apply(key, Operation::Put(value), &mut Vec::new()).unwrap();
}

/// All divisions of 29 to 33 bytes into key and value.
#[test]
fn a_pair_of_32_bytes_takes_as_many() {
    for length in 29..=33 {
        for key_length in 1..=length {
            let memory = memory(1 << 20);
            let table = TestTable::new(&memory, config(1, 0, None), Functions::default()).unwrap();
            let bytes: Vec<u8> = (1..=length as u8).collect();
            let (key, value) = bytes.split_at(key_length);
            put(&table, key, value);
            // The header has two bytes. The marks have no room for a key of 32 bytes.
            let is_small = length <= 30 || length == SLAB && key_length < SLAB;
            let slab = if is_small { SLAB } else { 2 * SLAB };
            assert_eq!(table.statistics().slabs.live_bytes(), slab, "{key_length} of {length}");
            assert_eq!(get(&table, key).as_deref(), Some(value));
            table.verify().unwrap();
        }
    }
}

/// Slabs that contain the bytes of absent keys, divided at another place. Some have the same second hash.
#[test]
fn the_length_of_a_key_belongs_to_the_key() {
    let memory = memory(16 << 20);
    let table = TestTable::new(&memory, config(1, 0, None), Functions::default()).unwrap();
    let bytes = |number: u16| [number.to_le_bytes(), [3; 2]].concat().repeat(SLAB / 4);
    (0..500).for_each(|number| put(&table, &bytes(number)[..16], &bytes(number)[16..]));
    for number in 0..500 {
        let bytes = bytes(number);
        for length in 3..SLAB {
            let expected = (length == 16).then(|| &bytes[16..]);
            assert_eq!(get(&table, &bytes[..length]).as_deref(), expected, "{length} bytes");
        }
    }
}

/// Keys of one to 33 bytes, three of each length.
fn key(random: &mut Random) -> Vec<u8> {
    let length = 1 + random.below(33);
    vec![random.below(3) as u8; length]
}

/// An operation on a key, with a value that often fills a slab together with it.
fn operation(key: &[u8], random: &mut Random) -> OwnedOperation {
    let length = random.pick(&[4, 29, 30, 31, 32, 32, 32, 33, 34, 62, 700]);
    let value = vec![random.below(2) as u8; usize::saturating_sub(length, key.len())];
    let function = random.pick(&[TestFunction::AddU32, TestFunction::Double]);
    match random.below(14) {
        0..3 => OwnedOperation::Get,
        3..6 => OwnedOperation::Put(value),
        6 => OwnedOperation::Insert(value),
        7 => OwnedOperation::Update(value),
        8 => OwnedOperation::Delete,
        9 => OwnedOperation::CompareAndDelete(value),
        10 => OwnedOperation::CompareAndSwap(vec![1; value.len()], value),
        11 => OwnedOperation::VectorWithScalar(
            function,
            random.bytes(if function == TestFunction::AddU32 { 4 } else { 2 }),
        ),
        12 => OwnedOperation::Scalar(TestFunction::AddU32, random.bytes(4)),
        _ => OwnedOperation::Filter(random.bytes(2)),
    }
}

/// Pairs whose lengths change, one at a time, in batches with and without functions, and by locked keys.
#[test]
fn pairs_of_all_forms_agree_with_a_map() {
    let mut random = Random::new(seed());
    for buckets in [1, 16] {
        for inline_pair_bytes_max in [0, 30, 50] {
            for fill_percent in [None, Some(60)] {
                let config = config(buckets, inline_pair_bytes_max, fill_percent);
                println!("{config:?}");
                run(&config, &mut random);
            }
        }
    }
}

fn run(config: &TableConfig, random: &mut Random) {
    let memory = memory(16 << 20);
    let table = table(&memory, config);
    let mut model = Model::default();
    for round in 0..2_000 {
        match random.below(4) {
            0 => apply_one(&table, &mut model, random),
            1 => execute(&table, &mut model, random, |_| true),
            2 => execute(&table, &mut model, random, |operation| !operation.has_function()),
            _ => change_together(&table, &mut model, random),
        }
        if round % 50 == 0 {
            check(&table, &model);
        }
    }
    check(&table, &model);
    drop(table);
    memory.reclaim();
    assert_eq!(memory.accounting().live_values, 0);
}

fn apply_one(table: &TestTable<'_>, model: &mut Model, random: &mut Random) {
    let (key, mut out) = (key(random), Vec::new());
    let operation = operation(&key, random);
    let outcome = table.apply(&key, operation.borrow(&common::functions().1), &mut out);
    assert_agrees(model, &key, &operation, outcome.as_ref().copied(), &out);
}

/// A batch of operations of some kind.
fn execute(
    table: &TestTable<'_>,
    model: &mut Model,
    random: &mut Random,
    is_wanted: fn(&OwnedOperation) -> bool,
) {
    let (mut answers, numbers) = (Answers::default(), common::functions().1);
    let mut draw = || {
        let key = key(random);
        (operation(&key, random), key)
    };
    let operations: Vec<_> = (0..40).map(|_| draw()).filter(|(operation, _)| is_wanted(operation)).collect();
    let requests: Vec<_> = operations
        .iter()
        .map(|(operation, key)| Request { key, operation: operation.borrow(&numbers) })
        .collect();
    table.execute(&requests, &mut answers);
    for (index, (operation, key)) in operations.iter().enumerate() {
        assert_agrees(model, key, operation, answers.outcome(index), answers.bytes());
    }
}

/// New values of two keys at one moment.
fn change_together(table: &TestTable<'_>, model: &mut Model, random: &mut Random) {
    let keys = [key(random), key(random)];
    if keys[0] == keys[1] {
        return;
    }
    let session = table.session();
    let mut locked = session.lock_keys(&[&keys[0], &keys[1]]).unwrap();
    for (index, key) in keys.iter().enumerate() {
        let value = vec![2; random.pick(&[31, 32, 33]) - key.len().min(31)];
        locked.prepare(index, Some(&value)).unwrap();
        model.apply(key, &OwnedOperation::Put(value));
    }
    locked.commit();
}

/// Checks the table, and compares all its pairs with the model.
fn check(table: &TestTable<'_>, model: &Model) {
    table.verify().unwrap();
    let pairs = walk(table);
    assert_eq!(pairs.len(), model.len());
    pairs.iter().for_each(|(key, value)| assert_eq!(model.get(key), Some(&value.to_vec())));
}

/// All pairs of the table.
fn walk(table: &TestTable<'_>) -> WalkedPairs {
    let (mut pairs, mut cursor) = (WalkedPairs::default(), 0);
    loop {
        cursor = table.session().walk(cursor, &mut pairs);
        if cursor == 0 {
            return pairs;
        }
    }
}

/// Growth moves the slots of slabs with the lengths of their keys, and so does shrinking.
#[test]
fn pairs_stay_whole_while_the_table_grows_and_shrinks() {
    const PAIRS: u128 = 20_000;
    let memory = memory(16 << 20);
    let table = TestTable::new(&memory, config(16, 30, Some(60)), Functions::default()).unwrap();
    (0..PAIRS).for_each(|number| put(&table, &number.to_le_bytes(), &(!number).to_le_bytes()));
    let census = table.verify().unwrap();
    let chained = census.chained_buckets as usize * 64;
    assert_eq!(table.statistics().slabs.live_bytes(), PAIRS as usize * SLAB + chained);
    let keys: Vec<_> = (0..PAIRS + 100).map(u128::to_le_bytes).collect();
    let visit = |number: usize, value: Option<&[u8]>| {
        let number = number as u128;
        assert_eq!(value, (number < PAIRS).then_some(&(!number).to_le_bytes()[..]));
    };
    table.get_many(&keys, visit).unwrap();
    for key in &keys[100..] {
        table.apply(key, Operation::Delete, &mut Vec::new()).unwrap();
    }
    table.verify().unwrap();
    for number in 0..100_u128 {
        assert_eq!(get(&table, &number.to_le_bytes()), Some((!number).to_le_bytes().to_vec()));
    }
}
