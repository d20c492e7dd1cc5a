//! Keys that a search must tell apart although their hashes or their first bytes are equal.

mod common;

use honeycomb_hashtable::{Answers, Functions, Operation, Outcome, Request, TableConfig};

use common::{TestTable, memory};

/// Gets a value, one at a time and in a batch, and checks that both agree.
fn get(table: &TestTable<'_>, key: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut answers) = (Vec::new(), Answers::default());
    let outcome = table.apply(key, Operation::Get, &mut out).unwrap();
    table.execute(&[Request { key, operation: Operation::Get }], &mut answers);
    let value = match outcome {
        Outcome::Found(span) => Some(out[span.start..span.end].to_vec()),
        _ => None,
    };
    let in_batch = match answers.outcome(0).unwrap() {
        Outcome::Found(span) => Some(answers.value(span).to_vec()),
        _ => None,
    };
    assert_eq!(value, in_batch, "{key:?}");
    value
}

fn put(table: &TestTable<'_>, key: &[u8], value: &[u8]) {
    table.apply(key, Operation::Put(value), &mut Vec::new()).unwrap();
}

/// Among the 500 keys of a chain, many have equal second hashes.
#[test]
fn equal_second_hashes() {
    let memory = memory(32 << 20);
    let config = TableConfig { buckets: 8, inline_pair_bytes_max: 0, fill_percent: None, seed: 3 };
    let table = TestTable::new(&memory, config, Functions::default()).unwrap();
    for number in 0..4_000_u64 {
        put(&table, &number.to_le_bytes(), &(!number).to_le_bytes());
    }
    for number in (0..4_000_u64).step_by(7) {
        assert_eq!(get(&table, &number.to_le_bytes()), Some((!number).to_le_bytes().to_vec()));
        assert_eq!(get(&table, &(number + 4_000).to_le_bytes()), None);
    }
}

/// Inline pairs whose keys and values are the same bytes, divided at different places.
#[test]
fn a_prefix_of_a_key() {
    let memory = memory(16 << 20);
    let config =
        TableConfig { buckets: 1, inline_pair_bytes_max: 50, fill_percent: None, ..TableConfig::default() };
    let table = TestTable::new(&memory, config, Functions::default()).unwrap();
    let bytes: Vec<u8> = (1..=40).collect();
    for key_length in 1..=40 {
        let (key, value) = bytes.split_at(key_length);
        put(&table, key, value);
        assert_eq!(get(&table, key).as_deref(), Some(value));
        let absent = (1..=40).filter(|length| *length != key_length);
        absent.for_each(|length| assert_eq!(get(&table, &bytes[..length]), None, "{key_length} {length}"));
        table.apply(key, Operation::Delete, &mut Vec::new()).unwrap();
    }
    // All at once, in one chain.
    (1..=40).for_each(|length| put(&table, &bytes[..length], &bytes[length..]));
    for length in 1..=40 {
        assert_eq!(get(&table, &bytes[..length]).as_deref(), Some(&bytes[length..]));
    }
    table.verify().unwrap();
}

/// A pair begins with the bytes of an absent key, and the next pair of the bucket has a key of that length.
/// The search compares both at once.
#[test]
fn bytes_of_a_key_before_another_pair() {
    let memory = memory(16 << 20);
    for searched in [b"abcdefgh", b"01234567"] {
        let config = TableConfig { buckets: 1, fill_percent: None, ..TableConfig::default() };
        let table = TestTable::new(&memory, config, Functions::default()).unwrap();
        put(&table, b"abcd", b"efgh");
        put(&table, b"01234567", b"a value");
        let expected = (searched == b"01234567").then_some(&b"a value"[..]);
        assert_eq!(get(&table, searched).as_deref(), expected, "{searched:?}");
        // A third pair, beyond the two that are compared at once.
        put(&table, b"abcdefgh", b"x");
        assert_eq!(get(&table, b"abcdefgh").as_deref(), Some(&b"x"[..]));
        table.verify().unwrap();
    }
}
