//! Groups of independent writes.
#![allow(missing_docs)]

use std::thread;

use honeycomb_btree::{BatchOperation, Error, Operation, Outcome};
use honeycomb_testing::index::{Keys, MIB, forest, key, tiny};

#[test]
fn each_write_has_its_own_outcome() {
    let forest = forest(tiny(128), 4 * MIB, true);
    let root = forest.create_tree().unwrap();
    let long = [7; 500];
    let one = |key, operation| BatchOperation { root, key, operation };
    let batch = [
        one(&b"a"[..], Operation::Insert(b"1")),
        one(b"a", Operation::Insert(b"2")),
        one(&long, Operation::Put(b"3")),
        one(b"", Operation::Delete),
        one(b"a", Operation::Delete),
        one(b"a", Operation::Add(5)),
    ];
    let mut outcomes = Vec::new();
    forest.write_each(&batch, |index, outcome| outcomes.push((index, outcome)));
    assert!(outcomes.iter().map(|(index, _)| *index).eq(0..batch.len()));
    let [Ok(inserted), Ok(exists), Err(long), Err(empty), Ok(deleted), Ok(added)] =
        std::array::from_fn(|index| outcomes[index].1.as_ref())
    else {
        panic!("{outcomes:?}")
    };
    assert_eq!((inserted, exists.wrote(), deleted), (&Outcome::Inserted, false, &Outcome::Deleted));
    assert_eq!(added, &Outcome::AddedFirst { sum: 5 });
    assert!(matches!(long, Error::KeyLength { bytes: 500, .. }));
    assert!(matches!(empty, Error::KeyLength { bytes: 0, .. }));
    forest.write_each(&[], |_, _| unreachable!("there is nothing to write"));
}

/// Threads add to the same counters while another thread inserts and deletes pairs around them.
#[test]
fn no_addition_is_lost() {
    const ROUNDS: u64 = 300;
    const COUNTERS: u64 = 40;
    let forest = forest(tiny(200), 256 * MIB, true);
    let root = forest.create_tree().unwrap();
    let counters: Vec<Vec<u8>> = (0..COUNTERS).map(|number| key(Keys::Random, number, 128)).collect();
    let others: Vec<Vec<u8>> = (1_000..1_400).map(|number| key(Keys::Random, number, 128)).collect();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let add = |key| BatchOperation { root, key, operation: Operation::Add(1) };
                let batch: Vec<_> = counters.iter().map(|key| add(key)).collect();
                (0..ROUNDS).for_each(|_| forest.write_each(&batch, |_, outcome| drop(outcome.unwrap())));
            });
        }
        scope.spawn(|| {
            for operation in [Operation::Put(&[1; 90]), Operation::Delete].iter().cycle().take(60) {
                let one = |key| BatchOperation { root, key, operation: *operation };
                let batch: Vec<_> = others.iter().map(|key| one(key)).collect();
                forest.write_each(&batch, |_, outcome| drop(outcome.unwrap()));
            }
        });
    });
    let sum = (3 * ROUNDS).to_le_bytes();
    let reader = forest.reader();
    assert!(counters.iter().all(|key| reader.get(root, key).is_some_and(|found| found.value == sum)));
    drop(reader);
    assert_eq!(forest.verify(&[root]).unwrap().pairs, COUNTERS);
}
