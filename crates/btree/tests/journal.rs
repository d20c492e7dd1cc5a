//! The changes that a journal receives reproduce the forest: replayed in the order of their versions, they
//! make an equal one.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Mutex};

use honeycomb_btree::{BatchEntry, BatchOperation, Forest, Journal, Operation, Root, TreeRange, Version};
use honeycomb_log::{Change, Changes, changes};
use honeycomb_testing::{Random, index, seed_or};

#[derive(Default)]
struct Recorder(Mutex<BTreeMap<Version, Changes>>);

impl Journal for Recorder {
    fn append(&self, version: Version, changes: &mut Changes) {
        assert!(!changes.is_empty());
        assert!(
            self.0.lock().unwrap().insert(version, std::mem::take(changes)).is_none(),
            "one record for each version"
        );
    }
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

#[test]
fn the_changes_of_all_versions_reproduce_the_forest() {
    let seed = seed_or(1);
    for round in 0..8 {
        let (forest, recorder) = (forest(), Arc::new(Recorder::default()));
        forest.set_journal(recorder.clone());
        let root = forest.create_tree().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let forest = &forest;
                scope.spawn(move || write(forest, root, &mut Random::new(seed + 10 * round + thread)));
            }
        });
        assert_eq!(replay(&recorder, root), contents(&forest, root), "seed {seed}, round {round}");
        let newest = recorder.0.lock().unwrap().keys().next_back().copied();
        assert!(newest.is_some_and(|newest| newest <= forest.read_version()));
    }
}

#[test]
fn writes_without_an_effect_have_no_record() {
    let (forest, recorder) = (forest(), Arc::new(Recorder::default()));
    forest.set_journal(recorder.clone());
    let root = forest.create_tree().unwrap();
    forest.write(root, b"a", Operation::Update(b"1")).unwrap();
    forest.write(root, b"a", Operation::Delete).unwrap();
    forest.delete_range(root, Bound::Unbounded, Bound::Unbounded).unwrap();
    let update = BatchOperation { root, key: b"a", operation: Operation::Update(b"1") };
    forest
        .apply(&[
            BatchOperation { operation: Operation::Put(b"1"), ..update },
            update,
            BatchOperation { operation: Operation::Insert(b"2"), ..update },
        ])
        .unwrap();
    assert_eq!(recorder.0.lock().unwrap().len(), 0);
    let mut some = Changes::default();
    some.create(root.lid().get(), "t");
    let version = forest.record(&some).unwrap();
    assert_eq!(recorder.0.lock().unwrap().get(&version).map(Changes::bytes), Some(some.bytes()));
    assert_eq!(forest.read_version(), version);
}

#[test]
fn a_bulk_load_has_the_record_of_its_caller() {
    let (forest, recorder) = (forest(), Arc::new(Recorder::default()));
    forest.set_journal(recorder.clone());
    let root = forest.create_tree().unwrap();
    let (mut loader, mut changes) = (forest.loader(root, 90).unwrap(), Changes::default());
    for number in 0..5000_u32 {
        loader.push(&number.to_be_bytes(), b"value").unwrap();
        changes.put(root.lid().get(), &number.to_be_bytes(), b"value");
    }
    assert_eq!(recorder.0.lock().unwrap().len(), 0);
    loader.finish_with(&changes).unwrap();
    assert_eq!(replay(&recorder, root), contents(&forest, root));
}

#[test]
fn versions_continue_after_a_skip() {
    let forest = forest();
    let root = forest.create_tree().unwrap();
    forest.write(root, b"a", Operation::Put(b"1")).unwrap();
    forest.skip_to(1 << 33);
    assert_eq!((forest.read_version(), forest.newest_version()), (1 << 33, 1 << 33));
    let (_, version) = forest.write_versioned(root, b"b", Operation::Put(b"2")).unwrap();
    assert_eq!(version, (1 << 33) + 1);
    forest.skip_to(7);
    assert_eq!((forest.read_version(), contents(&forest, root).len()), (version, 2));
}

fn write(forest: &Forest, root: Root, random: &mut Random) {
    for _ in 0..300 {
        let keys: Vec<Vec<u8>> = (0..1 + random.below(20)).map(|_| key(random)).collect();
        let length = if random.chance(2) { 5000 } else { random.below(60) };
        let value = random.bytes(length);
        let operations: Vec<_> = keys
            .iter()
            .map(|key| BatchOperation { root, key, operation: operation(random, &value) })
            .collect();
        match random.below(4) {
            0 => forest.write_each(&operations, |_, outcome| drop(outcome.unwrap())),
            1 => {
                let mut entries: Vec<_> = operations.iter().copied().map(BatchEntry::Write).collect();
                let (low, high) = (key(random), key(random));
                let (lower, upper) = (Bound::Excluded(&low[..]), Bound::Included(&high[..]));
                if random.chance(30) && low < high {
                    entries.insert(
                        random.below(entries.len()),
                        BatchEntry::DeleteRange(TreeRange { root, lower, upper }),
                    );
                }
                forest.apply_entries(&entries).unwrap();
            }
            2 if random.chance(10) => {
                let (low, high) = (key(random), key(random));
                if low < high {
                    forest.delete_range(root, Bound::Included(&low), Bound::Excluded(&high)).unwrap();
                }
            }
            _ => {
                for BatchOperation { key, operation, .. } in &operations {
                    forest.write(root, key, *operation).unwrap();
                }
            }
        }
    }
}

fn operation<'v>(random: &mut Random, value: &'v [u8]) -> Operation<'v> {
    match random.below(8) {
        0 => Operation::Insert(value),
        1 => Operation::Update(value),
        2 => Operation::Delete,
        3 => Operation::Add(5),
        4 => Operation::CompareAndSwap { expected: &[5, 0, 0, 0, 0, 0, 0, 0], value },
        6 => Operation::Function(&index::AddToBytes),
        5 => Operation::CompareAndDelete { expected: &[5, 0, 0, 0, 0, 0, 0, 0] },
        _ => Operation::Put(value),
    }
}

fn key(random: &mut Random) -> Vec<u8> {
    format!("key {:03}", random.below(400)).into_bytes()
}

fn replay(recorder: &Recorder, root: Root) -> Model {
    let mut model = Model::new();
    for record in recorder.0.lock().unwrap().values() {
        for change in changes(record.bytes()) {
            match change.unwrap() {
                Change::Put { tree, key, value } => {
                    assert_eq!(tree, root.lid().get());
                    model.insert(key.to_vec(), value.to_vec());
                }
                Change::Delete { key, .. } => assert!(model.remove(key).is_some(), "the key existed"),
                Change::DeleteRange { lower, upper, .. } => {
                    let inside =
                        |key: &Vec<u8>| RangeBounds::<[u8]>::contains(&(lower, upper), key.as_slice());
                    model.retain(|key, _| !inside(key));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    model
}

fn contents(forest: &Forest, root: Root) -> Model {
    index::everything(&forest.reader(), root).into_iter().collect()
}

fn forest() -> Forest {
    index::forest(index::tiny(300), 16 << 20, true)
}
