//! What changes while the index is made counts as changed; what the store has wrong differs.

use super::*;
use crate::{
    arguments::MemoryOption,
    image,
    index::{
        chunk::{self, Chunk},
        fill::{self, Filled},
        path_key,
        record::Record,
        tables::Tables,
        walk,
    },
    keeper::{Keeper, Local, New, Place},
};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::SystemTime,
};
use tempfile::TempDir;

/// A tree on disk and its index.
struct Indexed {
    tree: TempDir,
    walk: Walk,
    keeper: Local,
    filled: Filled,
}

impl Indexed {
    /// Indexes three files after `change` was done to them: after the walk, before they are read.
    fn new(change: impl FnOnce(&TempDir)) -> Indexed {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("hive/comb")).unwrap();
        fs::write(tree.path().join("hive/bee"), vec![1; 200_000]).unwrap();
        fs::write(tree.path().join("hive/comb/cell"), "honey").unwrap();
        fs::write(tree.path().join("meadow"), "clover").unwrap();
        ["hive/comb", "hive", ""].iter().for_each(|name| make_older(&tree.path().join(name)));
        let walk = walk::walk(tree.path()).unwrap();
        change(&tree);
        let store = image::empty(&MemoryOption { bytes: Some(64 << 20) }, 0).unwrap();
        let keeper = Local::new(&store).unwrap();
        let filled = fill::fill(&Tables::new(&keeper), &walk, true).unwrap();
        Indexed { tree, walk, keeper, filled }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.walk.root.join(name)
    }

    fn key(&self, name: &str) -> Vec<u8> {
        path_key::key_of(&self.path(name)).unwrap()
    }

    fn record(&self, name: &str) -> Record {
        let value = self.keeper.moment().unwrap().get(Place::Files, &self.key(name)).unwrap();
        Record::from_bytes(&value.unwrap()).unwrap()
    }

    fn answers(&self) -> Answers<'_> {
        Answers::new(self.keeper.moment().unwrap())
    }

    fn put(&self, place: Place, key: &[u8], value: &[u8]) {
        self.keeper.put(&[New { place, key: key.to_vec(), value: value.to_vec() }]).unwrap();
    }

    fn compare(&self) -> Comparison {
        let answers = self.answers();
        let plan = Plan { seed: 3, ranges: 200, time: Duration::from_secs(600) };
        compare(&answers, &self.walk, &plan).unwrap()
    }
}

/// Makes a directory older, so that a change just afterwards shows: the clock of a file system may tick
/// slowly.
fn make_older(directory: &Path) {
    let before = SystemTime::now() - Duration::from_secs(3600);
    File::open(directory).unwrap().set_modified(before).unwrap();
}

/// How many answers agree, changed, differ: for listings, ranges, largest.
fn counts(comparison: &Comparison) -> [[u64; 3]; 3] {
    let counts = |compared: &Compared| [compared.agree, compared.changed.count, compared.differ.count];
    comparison.kinds().map(counts)
}

#[test]
fn what_did_not_change_agrees() {
    let indexed = Indexed::new(|_| {});
    assert_eq!(indexed.filled.changed.count, 0);
    let comparison = indexed.compare();
    assert_eq!(counts(&comparison), [[3, 0, 0], [200, 0, 0], [3, 0, 0]]);
    assert!(comparison.is_good());
    assert!(comparison.listings.about().starts_with("of 3 agree, "));
}

#[test]
fn a_file_that_grows_has_changed() {
    let indexed = Indexed::new(|_| {});
    fs::write(indexed.path("meadow"), "clover and thyme").unwrap();
    let comparison = indexed.compare();
    let [listings, ranges, largest] = counts(&comparison);
    assert_eq!((listings, largest), ([2, 1, 0], [2, 1, 0]));
    assert!(ranges[1] > 0 && ranges[0] + ranges[1] == 200, "{ranges:?}");
    assert!(comparison.is_good());
    assert!(comparison.ranges.about().contains("; changed "));
}

#[test]
fn a_directory_that_is_gone_or_new_has_changed() {
    let indexed = Indexed::new(|_| {});
    fs::remove_dir_all(indexed.path("hive/comb")).unwrap();
    fs::create_dir(indexed.path("wood")).unwrap();
    fs::write(indexed.path("wood/oak"), vec![0; 300_000]).unwrap();
    let [listings, ranges, largest] = counts(&indexed.compare());
    assert_eq!((listings, largest), ([0, 3, 0], [0, 3, 0]));
    assert!(ranges[1] > 0 && ranges[2] == 0, "{ranges:?}");
}

#[test]
fn a_file_that_changes_before_it_is_read_has_no_checksums() {
    let indexed = Indexed::new(|tree| fs::write(tree.path().join("meadow"), "thyme, not clover").unwrap());
    assert_eq!(indexed.filled.changed.count, 1);
    assert!(indexed.filled.changed.named[0].ends_with("/meadow"));
    let chunks = indexed.answers().chunks(&indexed.path("meadow"), 0..100).unwrap();
    assert_eq!(chunks, [Chunk { offset: 0, length: 6, checksum: None }]);
    assert_eq!(counts(&indexed.compare())[0], [2, 1, 0]);
}

#[test]
fn a_wrong_record_differs() {
    let indexed = Indexed::new(|_| {});
    let mut record = indexed.record("hive/comb/cell");
    record.facts.size += 1;
    indexed.put(Place::Files, &indexed.key("hive/comb/cell"), &record.to_bytes());
    let comparison = indexed.compare();
    let [listings, _, largest] = counts(&comparison);
    assert_eq!((listings, largest), ([2, 0, 1], [0, 0, 3]));
    assert!(!comparison.is_good());
    let about = comparison.listings.about();
    assert!(about.contains("; DIFFER 1: ") && about.contains("/cell Facts"), "{about}");
    let about = comparison.largest.about();
    assert!(about.contains("cell of 6 B, of the file system"), "{about}");
}

#[test]
fn a_lost_record_differs() {
    let indexed = Indexed::new(|_| {});
    indexed.keeper.delete(Place::Files, &indexed.key("meadow")).unwrap();
    let [listings, ranges, largest] = counts(&indexed.compare());
    assert_eq!((listings, largest), ([2, 0, 1], [2, 0, 1]));
    assert!(ranges[2] > 0 && ranges[1] == 0, "{ranges:?}");
}

#[test]
fn a_wrong_or_lost_chunk_differs() {
    let indexed = Indexed::new(|_| {});
    let [bee, cell] = ["hive/bee", "hive/comb/cell"].map(|name| indexed.record(name).identifier);
    let wrong = Chunk { offset: 0, length: 5, checksum: Some(0) };
    indexed.put(Place::Chunks, &chunk::key_of(cell, 0), &wrong.value());
    indexed.keeper.delete(Place::Chunks, &chunk::key_of(bee, 65_536)).unwrap();
    let comparison = indexed.compare();
    let [listings, ranges, largest] = counts(&comparison);
    assert_eq!((listings, largest), ([3, 0, 0], [3, 0, 0]));
    assert!(ranges[2] > 20 && ranges[1] == 0, "{ranges:?}");
    let named = comparison.ranges.differ.named.join("\n");
    assert!(named.contains("the file is cut into"), "{named}");
}

#[test]
fn what_changed_does_not_excuse_a_wrong_answer() {
    let indexed = Indexed::new(|_| {});
    indexed.keeper.delete(Place::Files, &indexed.key("hive/bee")).unwrap();
    fs::write(indexed.path("hive/comb/cell"), "more honey").unwrap();
    fs::write(indexed.path("hive/wasp"), "").unwrap();
    // The directory above sees another time of change of `hive`.
    assert_eq!(counts(&indexed.compare())[0], [0, 2, 1]);
    assert!(indexed.tree.path().exists());
}
