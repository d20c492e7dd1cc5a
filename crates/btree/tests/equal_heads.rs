//! Keys with a common beginning: in nodes without a prefix, at the left and right edge of a tree, many
//! segments have equal heads.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::ops::Bound;

use honeycomb_btree::{Operation, Outcome, Scan, Shape};
use honeycomb_testing::index::{self, MIB, everything, forest, tiny};
use honeycomb_testing::seed_or;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

const PAIRS: u64 = 20_000;

/// Inserts keys of even numbers in random order, and looks up the keys of all numbers.
fn check(key: impl Fn(u64) -> String) {
    let forest = forest(Shape::default(), 64 * MIB, true);
    let root = forest.create_tree().unwrap();
    let mut numbers: Vec<u64> = (0..PAIRS).map(|number| 2 * number).collect();
    numbers.shuffle(&mut StdRng::seed_from_u64(seed_or(1)));
    for &number in &numbers {
        let outcome = forest.write(root, key(number).as_bytes(), Operation::Insert(b"value"));
        assert_eq!(outcome.unwrap(), Outcome::Inserted);
    }
    let reader = forest.reader();
    for number in 0..2 * PAIRS {
        let key = key(number);
        assert_eq!(reader.get(root, key.as_bytes()).is_some(), number % 2 == 0, "{key}");
    }
    drop(reader);
    assert_eq!(forest.verify(&[root]).unwrap().pairs, PAIRS);
}

#[test]
fn keys_that_differ_in_their_second_eight_bytes_are_found() {
    check(|number| format!("user:{number:010}"));
}

#[test]
fn keys_that_differ_after_their_first_sixteen_bytes_are_found() {
    check(|number| format!("a common beginning: {number}"));
}

/// Scans copy the prefix of a leaf in chunks unless it is too long.
#[test]
fn keys_that_share_any_number_of_bytes_are_scanned() {
    for shared in (0..=20).chain(60..=70).chain([100]) {
        let forest = forest(tiny(0), 4 * MIB, true);
        let root = forest.create_tree().unwrap();
        let keys = (0..600).map(|number| format!("{}{number:04}", "/".repeat(shared)).into_bytes());
        let pairs: Vec<_> = keys.map(|key| (key, b"value".to_vec())).collect();
        for (key, value) in &pairs {
            forest.write(root, key, Operation::Insert(value)).unwrap();
        }
        assert_eq!(everything(&forest.reader(), root), pairs, "{shared} bytes");
    }
}

/// Returns a key, its beginnings, and keys that differ from it in one byte.
fn keys_near(key: &[u8]) -> Vec<Vec<u8>> {
    let beginnings = (1..=key.len()).map(|length| key[..length].to_vec());
    let others = (0..key.len()).flat_map(|at| {
        [1, 255].map(|difference| {
            let mut other = key.to_vec();
            other[at] = other[at].wrapping_add(difference);
            other
        })
    });
    beginnings.chain(others).chain([[key, &[0]].concat()]).collect()
}

/// Items with equal heads share bytes after them. A key may be before these bytes, after them, or end in
/// them.
#[test]
fn keys_near_those_that_share_bytes_after_their_heads_are_found() {
    let folders: [&[u8]; 6] =
        [b"", b"/", b"/abc/", b"/abcdefgh", b"/abcdefghijklmno/", b"/\0\0\0\0\0\0\0\0\0"];
    let key = |folder: &[u8], number: usize| {
        [b"12345678", folder, format!("{number:03}").as_bytes(), &vec![0; number % 3]].concat()
    };
    for (shape, step) in [(Shape::default(), 1), (tiny(0), 9)] {
        let forest = forest(shape, 4 * MIB, true);
        let root = forest.create_tree().unwrap();
        let numbers = (0..180_usize).filter(|number| number % step == 0);
        let keys = numbers.flat_map(|number| folders.map(|folder| key(folder, number)));
        let pairs: BTreeMap<Vec<u8>, Vec<u8>> = keys.map(|key| (key, b"value".to_vec())).collect();
        for (key, value) in &pairs {
            forest.write(root, key, Operation::Insert(value)).unwrap();
        }
        let reader = forest.reader();
        for search_key in pairs.keys().step_by(7).flat_map(|key| keys_near(key)) {
            let found = reader.get(root, &search_key).is_some();
            assert_eq!(found, pairs.contains_key(&search_key), "{search_key:?}");
            let scan = Scan { lower: Bound::Included(&search_key), limit: 1, ..Scan::default() };
            let next = pairs.range(search_key.clone()..).next();
            let expected: Vec<_> =
                next.map(|(key, value)| (key.clone(), value.clone())).into_iter().collect();
            assert_eq!(index::scan(&reader, root, &scan), expected, "{search_key:?}");
        }
    }
}

/// Separators that are heads become neighbours of separators that are not.
#[test]
fn separators_are_found_after_the_first_of_a_node_gets_an_item() {
    let forest = forest(tiny(0), 4 * MIB, true);
    let root = forest.create_tree().unwrap();
    let short = (0..600).map(|number| format!("{number:04}"));
    let long = (0..200).map(|number| format!("0300, a common beginning: {number:04}"));
    let keys: Vec<String> = short.chain(long).collect();
    for key in &keys {
        forest.write(root, key.as_bytes(), Operation::Insert(b"value")).unwrap();
        forest.verify(&[root]).unwrap();
    }
    for key in &keys {
        assert!(forest.reader().get(root, key.as_bytes()).is_some(), "{key}");
    }
}
