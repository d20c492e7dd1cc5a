//! Descents that execute together: of one tree level by level, of trees of different heights step by step.
#![allow(missing_docs)]

use std::collections::BTreeMap;

use honeycomb_btree::{Forest, Operation, Reader, Root, descend_together};
use honeycomb_testing::index::{MIB, forest, tiny};

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// Keys of the pairs have these numbers; some that are searched do not exist.
const STEP: usize = 3;

/// Creates a tree of a number of pairs.
fn tree(forest: &Forest, count: usize, value: &str) -> (Root, Pairs) {
    let (root, mut pairs) = (forest.create_tree().unwrap(), Pairs::new());
    for number in 0..count {
        let (key, value) = (key(STEP * number), format!("{value}{number}"));
        forest.write(root, &key, Operation::Insert(value.as_bytes())).unwrap();
        pairs.insert(key, value.into_bytes());
    }
    (root, pairs)
}

fn key(number: usize) -> Vec<u8> {
    format!("key {number:05}").into_bytes()
}

/// Searches keys in trees, one key in each tree in turn, in groups of all sizes up to a few.
fn check(reader: &Reader<'_>, trees: &[(Root, Pairs)], numbers: usize) {
    let in_turn = |number| trees.iter().map(move |tree| (tree, key(number)));
    let searched: Vec<_> = (0..numbers).flat_map(in_turn).collect();
    for together in 1..6 {
        for group in searched.chunks(together) {
            let mut descents = Vec::new();
            for ((root, _), key) in group {
                descents.push(reader.descend_to_get(reader.start(*root), key));
            }
            descend_together(&mut descents);
            for (descent, ((_, pairs), key)) in descents.iter().zip(group) {
                let found = descent.get().map(|found| found.value.to_vec());
                assert_eq!(found.as_ref(), pairs.get(key), "{:?}, {together} together", key.escape_ascii());
            }
        }
    }
}

/// Counts of pairs of trees from a leaf alone to five levels.
const COUNTS: [usize; 5] = [1, 12, 60, 300, 1500];

#[test]
fn descents_of_one_tree_find_its_pairs() {
    let forest = forest(tiny(128), 32 * MIB, true);
    for count in COUNTS {
        let one = tree(&forest, count, "v");
        check(&forest.reader(), &[one], STEP * count + 2);
    }
}

#[test]
fn descents_of_trees_of_different_heights_find_their_pairs() {
    let forest = forest(tiny(128), 32 * MIB, true);
    let trees = COUNTS.map(|count| tree(&forest, count, "v"));
    check(&forest.reader(), &trees, 1000);
}

/// The root of this version is a previous one of the root that the descents start at.
#[test]
fn descents_of_an_earlier_version_find_its_pairs() {
    let forest = forest(tiny(128), 32 * MIB, true);
    let (root, pairs) = tree(&forest, 300, "v");
    let before = forest.reader();
    for number in 0..900 {
        forest.write(root, &key(number), Operation::Put(b"later")).unwrap();
    }
    check(&before, &[(root, pairs)], 900);
}

#[test]
fn descents_of_a_tree_that_is_newer_find_nothing() {
    let forest = forest(tiny(128), 32 * MIB, true);
    let known = tree(&forest, 300, "v");
    let before = forest.reader();
    let (newer, _) = tree(&forest, 300, "newer");
    check(&before, &[(newer, Pairs::new())], 900);
    check(&before, &[(newer, Pairs::new()), known], 900);
}
