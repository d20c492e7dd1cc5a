//! Updates, most of them with values of unchanged length, compared with a `BTreeMap`: consolidations in which
//! no item moves, and others between them.
#![allow(missing_docs)]

use honeycomb_btree::{Operation, Scan, Shape};
use honeycomb_testing::index::{
    Keys, MIB, Model, apply, everything, expected_scan, forest, key, pick, scan, tiny,
};
use honeycomb_testing::seed_or;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const KEYS: u64 = 300;
const STEPS: u64 = 60_000;

/// Returns a random operation, usually a put of a value with the usual length for this key.
fn operation<'v>(rng: &mut StdRng, key: &[u8], value: &'v [u8]) -> Operation<'v> {
    let length = if key[key.len() - 1].is_multiple_of(4) { 0 } else { 8 };
    match rng.random_range(0..1000) {
        0..985 => Operation::Put(&value[..length]),
        985..990 => Operation::Put(&value[..rng.random_range(0..value.len())]),
        _ => Operation::Delete,
    }
}

fn run(shape: Shape, mvcc: bool, keys: Keys, default_seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed_or(default_seed));
    let forest = forest(shape, 64 * MIB, mvcc);
    let (root, mut model) = (forest.create_tree().unwrap(), Model::new());
    let keys: Vec<Vec<u8>> = (0..KEYS).map(|number| key(keys, number, 24)).collect();
    for step in 0..STEPS {
        let (key, value) = (pick(&mut rng, &keys), [rng.random(); 40]);
        let operation = operation(&mut rng, key, &value);
        let outcome = forest.write(root, key, operation).unwrap();
        assert_eq!(outcome, apply(&mut model, key, operation, None), "{operation:?} of {key:?}");
        let found = pick(&mut rng, &keys);
        let reader = forest.reader();
        assert_eq!(reader.get(root, found).map(|found| found.value), model.get(found).map(Vec::as_slice));
        if step % 1024 == 0 {
            assert_eq!(everything(&reader, root), Vec::from_iter(model.clone()));
            drop(reader);
            assert_eq!(forest.verify(&[root]).unwrap().pairs, model.len() as u64);
        }
    }
    let backward = Scan { backward: true, ..Scan::default() };
    assert_eq!(scan(&forest.reader(), root, &backward), expected_scan(&model, &backward));
    let statistics = forest.statistics();
    println!("{statistics:?}");
    assert!(statistics.patches > STEPS / 300 && statistics.consolidations > statistics.patches);
}

#[test]
fn items_do_not_move_in_tiny_nodes() {
    run(tiny(200), true, Keys::Random, 1);
    run(tiny(200), true, Keys::Counting, 2);
}

#[test]
fn items_do_not_move_in_nodes_of_the_default_shape() {
    run(Shape::default(), true, Keys::Counting, 3);
    run(Shape::default(), false, Keys::Random, 4);
}

#[test]
fn items_do_not_move_with_common_prefixes() {
    run(tiny(128), true, Keys::Paths, 5);
}
