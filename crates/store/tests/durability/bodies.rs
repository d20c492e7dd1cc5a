//! Random changes in records, and random tables and pairs in checkpoints, all with valid checksums: a store
//! has exactly what they state, or returns the error that names the file. It never panics.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

use honeycomb_log::{Changes, CheckpointWriter, Durability, LogError, Manifest, checkpoint_file, log_file};
use honeycomb_store::{Error, Store, SyncPolicy};
use honeycomb_testing::{Random, SimulatedDisk, log_writer, number, seed_or};

use crate::history::Model;
use crate::workload::{config, contents};

/// Unless `HONEYCOMB_SOAK_CASES` has another number.
const CASES: u64 = 500;
const FILE_BYTES: u64 = 1 << 16;

#[test]
fn random_changes_are_replayed_as_they_are_or_reported() {
    each_case(&log_file(1), |disk, random| {
        let mut log = log_writer(disk, FILE_BYTES);
        let mut replay = Replay { is_valid: true, ..Replay::default() };
        for version in 1..2 + random.below(6) as u64 {
            let mut changes = Changes::default();
            replay.create(&mut changes, 1, "ordered".to_owned());
            (0..random.below(6)).for_each(|_| replay.change(&mut changes, random));
            log.append(version, changes.bytes()).expect("room");
        }
        log.flush(Durability::Now).expect("room");
        replay.is_valid.then_some(replay.model)
    });
}

#[test]
fn random_checkpoints_are_loaded_as_they_are_or_reported() {
    each_case(&checkpoint_file(1), |disk, random| {
        drop(log_writer(disk, FILE_BYTES));
        let mut checkpoint = CheckpointWriter::create(disk, 1, 1, 0).expect("room");
        let (mut model, mut is_valid) = (Model::new(), true);
        for tree in 0..random.below(4) as u64 {
            let (name, parameters) = (name(random), parameters(random));
            let is_unordered = random.chance(30);
            is_valid &= is_valid_name(&name) && (!is_unordered || parameters == PARAMETERS);
            let name = format!("{name}{tree}");
            let pairs = model.entry(name.clone()).or_default();
            match is_unordered {
                true => checkpoint.unordered_table(tree, &name, &parameters),
                false => checkpoint.table(tree, &name),
            }
            .expect("room");
            for _ in 0..random.below(6) {
                let (key, value) = (bytes(random), bytes(random));
                is_valid &= is_unordered || pairs.last_key_value().is_none_or(|(last, _)| *last < key);
                checkpoint.push(&key, &value).expect("room");
                pairs.insert(key, value);
            }
        }
        let pairs = checkpoint.finish().expect("room");
        Manifest { checkpoint: 1, version: 1, first_file: 1, pairs }.store(disk).expect("room");
        is_valid.then_some(model)
    });
}

/// Opens stores of random files. `write` returns the pairs that a store has, or `None` if a file is invalid.
fn each_case(name: &str, write: impl Fn(&SimulatedDisk, &mut Random) -> Option<Model>) {
    let (first, cases, mut valid) = (seed_or(1), number("HONEYCOMB_SOAK_CASES", CASES), 0);
    for seed in first..first + cases {
        let disk = SimulatedDisk::default();
        let expected = write(&disk, &mut Random::new(seed));
        match (Store::open(config(&disk, SyncPolicy::Always)), expected) {
            (Ok(mut store), Some(expected)) => {
                assert!(contents(&store) == expected, "seed {seed}");
                store.verify().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                valid += 1;
            }
            (Err(Error::Log(LogError::Corrupt { file, .. })), None) => assert_eq!(file, name, "seed {seed}"),
            (Err(error), expected) => panic!("seed {seed}: {error}, valid: {}", expected.is_some()),
            (Ok(_), None) => panic!("seed {seed}: an invalid file is accepted"),
        }
    }
    assert!((cases / 5..cases * 4 / 5).contains(&valid), "{valid} valid files");
}

/// What the changes of a log lead to.
#[derive(Default)]
struct Replay {
    model: Model,
    /// The tables by their identifiers.
    names: BTreeMap<u64, String>,
    is_valid: bool,
}

impl Replay {
    fn create(&mut self, changes: &mut Changes, tree: u64, name: String) {
        changes.create(tree, &name);
        self.is_valid &= is_valid_name(&name);
        self.model.entry(name.clone()).or_default();
        self.names.insert(tree, name);
    }

    /// Adds a random change.
    fn change(&mut self, changes: &mut Changes, random: &mut Random) {
        let tree = if random.chance(95) { 1 } else { 2 + random.below(2) as u64 };
        let (key, value) = (bytes(random), bytes(random));
        match random.below(24) {
            0 => self.create(changes, 1 + random.below(3) as u64, name(random)),
            1 => self.create_unordered(changes, random),
            2 => self.drop_table(changes, tree),
            3 => {
                changes.restart();
                self.names.clear();
                self.create(changes, 1, "ordered".to_owned());
            }
            4 => changes.time(random.below(1000) as u64),
            5 => changes.old(tree, &key, &value),
            6..=9 => {
                changes.delete(tree, &key);
                drop(self.pairs(tree).map(|pairs| pairs.remove(&key)));
            }
            10..=12 => self.delete_range(changes, tree, (bound(&key, random), bound(&value, random))),
            _ => {
                changes.put(tree, &key, &value);
                drop(self.pairs(tree).map(|pairs| pairs.insert(key, value)));
            }
        }
    }

    /// Returns the pairs of a table. A change that names no table is invalid.
    fn pairs(&mut self, tree: u64) -> Option<&mut BTreeMap<Vec<u8>, Vec<u8>>> {
        let pairs = self.names.get(&tree).and_then(|name| self.model.get_mut(name));
        self.is_valid &= pairs.is_some();
        pairs
    }

    fn create_unordered(&mut self, changes: &mut Changes, random: &mut Random) {
        let (tree, parameters) = (1 + random.below(3) as u64, parameters(random));
        changes.create_unordered(tree, "unordered", &parameters);
        self.is_valid &= self.model.contains_key("unordered") || parameters == PARAMETERS;
        self.model.entry("unordered".to_owned()).or_default();
        self.names.insert(tree, "unordered".to_owned());
    }

    /// A table with two identifiers cannot be dropped: a store never logs that.
    fn drop_table(&mut self, changes: &mut Changes, tree: u64) {
        changes.drop_table(tree);
        self.is_valid &= self.pairs(tree).is_some();
        let Some(name) = self.names.remove(&tree) else { return };
        self.is_valid &= !self.names.values().any(|other| *other == name);
        self.model.remove(&name);
    }

    /// An unordered table has no ranges but that of all keys.
    fn delete_range(&mut self, changes: &mut Changes, tree: u64, range: (Bound<&[u8]>, Bound<&[u8]>)) {
        changes.delete_range(tree, range.0, range.1);
        let is_unordered = self.names.get(&tree).is_some_and(|name| name == "unordered");
        self.is_valid &= !is_unordered || range == (Bound::Unbounded, Bound::Unbounded);
        if let Some(pairs) = self.pairs(tree) {
            pairs.retain(|key, _| !range.contains(&key[..]));
        }
    }
}

fn bound<'k>(key: &'k [u8], random: &mut Random) -> Bound<&'k [u8]> {
    match random.below(3) {
        0 => Bound::Unbounded,
        1 => Bound::Included(key),
        _ => Bound::Excluded(key),
    }
}

/// Names of ordered tables: mostly valid ones.
fn name(random: &mut Random) -> String {
    let length = random.pick(&[1, 1, 1, 1, 1, 1, 1, 1, 240, 300]);
    "n".repeat(length) + random.pick(&["", "b", "ü"])
}

fn is_valid_name(name: &str) -> bool {
    (1..=255).contains(&name.len())
}

/// Keys and values that each store allows.
fn bytes(random: &mut Random) -> Vec<u8> {
    let length = random.pick(&[1, 1, 1, 2, 8, 30, 100]);
    random.bytes(length)
}

/// Four buckets, and the usual numbers.
const PARAMETERS: [u8; 6] = [4, 0, 0, 0, 30, 60];

/// Parameters of an unordered table, or those of a number of buckets that is not a power of two.
fn parameters(random: &mut Random) -> [u8; 6] {
    if random.chance(85) { PARAMETERS } else { [3 + 2 * random.below(50) as u8, 1, 0, 0, 30, 60] }
}
