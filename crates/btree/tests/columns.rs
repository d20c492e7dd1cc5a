//! Keys and values at the edges of the columns, compared with a `BTreeMap`: equal heads, keys shorter than a
//! head, keys that differ only by zero bytes at their end, the greatest heads, the longest keys, and lengths
//! that are equal, differ, and are equal again.
#![allow(missing_docs)]

use std::ops::Bound;

use honeycomb_btree::{Forest, Operation, Root, Scan, Shape, Verified};
use honeycomb_testing::index::{MIB, Model, apply, everything, expected_scan, forest, pick, scan, tiny};
use honeycomb_testing::seed_or;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Executes random operations on these keys, and compares every answer with the model.
fn run(shape: Shape, keys: &[Vec<u8>], value_bytes: &[usize], steps: usize, default_seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed_or(default_seed));
    let forest = forest(shape, 64 * MIB, true);
    let (root, mut model) = (forest.create_tree().unwrap(), Model::new());
    for step in 0..steps {
        let (key, value) = (pick(&mut rng, keys), [rng.random(); 300]);
        let value = &value[..*pick(&mut rng, value_bytes)];
        let deletes = if step / (steps / 4) % 2 == 1 { 0.6 } else { 0.2 };
        let operation = if rng.random_bool(deletes) { Operation::Delete } else { Operation::Put(value) };
        let outcome = forest.write(root, key, operation).unwrap();
        assert_eq!(outcome, apply(&mut model, key, operation, None), "{operation:?} of {key:?}");
        let found = pick(&mut rng, keys);
        let value = forest.reader().get(root, found).map(|found| found.value.to_vec());
        assert_eq!(value.as_ref(), model.get(found), "get of {found:?}");
        if step % 64 == 0 {
            check_scans(&mut rng, &forest, root, &model, keys);
        }
        if step % 1024 == 0 {
            assert_eq!(forest.verify(&[root]).unwrap().pairs, model.len() as u64);
        }
    }
    assert_eq!(everything(&forest.reader(), root), Vec::from_iter(model.clone()));
    forest.verify(&[root]).unwrap();
}

fn check_scans(rng: &mut StdRng, forest: &Forest, root: Root, model: &Model, keys: &[Vec<u8>]) {
    let (lower, upper) = (pick(rng, keys), pick(rng, keys));
    for backward in [false, true] {
        for floor_start in [false, !backward] {
            let request = Scan {
                lower: Bound::Included(&lower[..]),
                upper: if rng.random() { Bound::Excluded(&upper[..]) } else { Bound::Unbounded },
                floor_start,
                backward,
                limit: rng.random_range(1..12),
                ..Scan::default()
            };
            if lower <= upper {
                assert_eq!(
                    scan(&forest.reader(), root, &request),
                    expected_scan(model, &request),
                    "{request:?}"
                );
            }
        }
    }
}

/// Returns all keys of 1 to `length` of these bytes.
fn words(bytes: &[u8], length: usize) -> Vec<Vec<u8>> {
    let mut words = vec![Vec::new()];
    let mut longest = 0;
    for _ in 0..length {
        let from = longest;
        longest = words.len();
        for word in from..longest {
            words.extend(bytes.iter().map(|&byte| [&words[word][..], &[byte]].concat()).collect::<Vec<_>>());
        }
    }
    words.split_off(1)
}

#[test]
fn keys_that_differ_by_zeros_at_their_end() {
    // All keys of up to 3 bytes, and a few heads followed by 0 to 12 zeros or by zeros and a one.
    let mut keys = words(&[0, 1], 3);
    for beginning in [&b"ab"[..], b"abcdefg", b"abcdefgh", b"abcdefghi"] {
        for zeros in 0..12 {
            keys.push([beginning, &vec![0; zeros]].concat());
            keys.push([beginning, &vec![0; zeros], &[1]].concat());
        }
    }
    run(tiny(128), &keys, &[0, 8], 20_000, 1);
    run(tiny(0), &keys, &[20], 8_000, 2);
}

#[test]
fn the_greatest_heads() {
    // Their heads equal the samples of groups that do not exist.
    let mut keys = words(&[0xff], 20);
    keys.extend(words(&[0xfe, 0xff], 4));
    run(tiny(128), &keys, &[0, 30], 12_000, 3);
}

#[test]
fn many_keys_with_one_head() {
    let keys: Vec<Vec<u8>> =
        (0..600_u16).map(|number| [b"one-head", &number.to_be_bytes()[..]].concat()).collect();
    run(Shape::default(), &keys, &[16], 20_000, 4);
    let between: Vec<Vec<u8>> = (0..900_u16)
        .map(|number| [&[number.to_be_bytes()[1] / 100; 8][..], &number.to_be_bytes()].concat())
        .collect();
    run(Shape::default(), &between, &[8, 9], 30_000, 5);
}

#[test]
fn the_longest_keys() {
    let shape = Shape::default();
    let long = |number: u16| {
        let mut key = vec![b'k'; shape.key_bytes_max() - 2 - usize::from(number % 3)];
        key.extend(number.to_be_bytes());
        key
    };
    let keys: Vec<Vec<u8>> =
        (0..400).map(long).chain((0..400).map(|number| long(number)[..40].to_vec())).collect();
    run(shape, &keys, &[0, 200], 20_000, 6);
    let max = tiny(128).key_bytes_max();
    let end_of = |key: Vec<u8>| key[key.len() - max..].to_vec();
    let keys: Vec<Vec<u8>> = (0..100).map(|number| end_of(long(number))).collect();
    run(tiny(128), &keys, &[0, 9], 10_000, 7);
}

#[test]
fn short_keys_without_values() {
    let keys: Vec<Vec<u8>> = (0..2_000_u16).map(|number| number.to_be_bytes().to_vec()).collect();
    run(Shape::default(), &keys, &[0], 40_000, 8);
}

/// References to overflow values have equal lengths, too, and values of their length exist beside them.
#[test]
fn overflow_values_of_one_length() {
    let keys: Vec<Vec<u8>> = (0..300_u16).map(|number| number.to_be_bytes().to_vec()).collect();
    let shape = tiny(128);
    assert!(shape.inline_value_bytes_max() < 300);
    run(shape, &keys, &[300], 6_000, 11);
    run(shape, &keys, &[300, honeycomb_layout::value_reference::SIZE], 10_000, 12);
}

/// Equal lengths take a stride, which saves the words and offsets; one other length ends it, and a leaf whose
/// lengths are equal again has it again.
#[test]
fn lengths_that_stop_being_equal() {
    let forest = forest(Shape { log_threshold_bytes: 0, ..Shape::default() }, 64 * MIB, true);
    let root = forest.create_tree().unwrap();
    let put = |number: u64, bytes| {
        forest.write(root, &number.to_be_bytes(), Operation::Put(&[7; 40][..bytes])).unwrap();
    };
    let used = || {
        let Verified { leaves, leaf_bytes_used, .. } = forest.verify(&[root]).unwrap();
        assert_eq!(leaves, 1);
        leaf_bytes_used as usize
    };
    (0..100).for_each(|number| put(number, 16));
    let equal = used();
    put(50, 17);
    let mixed = used();
    // A word and an offset for each pair, and the longer value with its padding.
    assert_eq!(mixed, equal + 100 * (4 + 2) + 4);
    put(50, 16);
    assert_eq!(used(), equal);
    forest.write(root, &[0], Operation::Put(&[7; 16])).unwrap();
    assert!(used() > equal + 100 * (4 + 2));
    forest.write(root, &[0], Operation::Delete).unwrap();
    assert_eq!(used(), equal);
}

#[test]
fn mixed_and_equal_lengths_alternate() {
    let keys: Vec<Vec<u8>> = (0..700_u16)
        .map(|number| {
            let key = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            if number % 97 == 0 { [&key[..], b"longer"].concat() } else { key.to_vec() }
        })
        .collect();
    run(Shape::default(), &keys, &[16], 30_000, 9);
    run(tiny(200), &keys, &[4], 30_000, 10);
}
