//! Keys with a common beginning: in nodes without a prefix, at the left and right edge of a tree, many
//! segments have equal heads.
#![allow(missing_docs)]

use honeycomb_btree::{Operation, Outcome, Shape};
use honeycomb_testing::index::{MIB, everything, forest, tiny};
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
