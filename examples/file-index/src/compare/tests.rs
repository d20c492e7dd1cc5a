//! A file that changes during indexing counts as changed. An incorrect pair in the store differs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use honeycomb_store::{Config, Store};
use tempfile::TempDir;

use super::*;
use crate::chunk::{self, Chunk};
use crate::fill::{self, FillStatistics};
use crate::path_key;
use crate::progress::{Phase, PhaseProgress};
use crate::record::Record;
use crate::store::{EmbeddedStore, IndexStore, IndexTable, NewPair};
use crate::tables::Tables;

/// A directory tree and its index.
struct Indexed {
    tree: TempDir,
    walk: Walk,
    store: EmbeddedStore,
    filled: FillStatistics,
}

impl Indexed {
    /// Indexes three files. Calls `change` after the walk and before the files are read.
    fn new(change: impl FnOnce(&TempDir)) -> Indexed {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("hive/comb")).unwrap();
        fs::write(tree.path().join("hive/bee"), vec![1; 200_000]).unwrap();
        fs::write(tree.path().join("hive/comb/cell"), "honey").unwrap();
        fs::write(tree.path().join("meadow"), "clover").unwrap();
        ["hive/comb", "hive", ""].iter().for_each(|name| make_older(&tree.path().join(name)));
        let walk = Walk::new(tree.path(), no_progress).unwrap();
        change(&tree);
        let store = Store::open(Config { memory_bytes: 64 << 20, ..Config::default() }).unwrap();
        let store = EmbeddedStore::new(&store).unwrap();
        let filled = fill::fill(&Tables::new(&store), &walk, true, no_progress).unwrap();
        Indexed { tree, walk, store, filled }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.walk.root.join(name)
    }

    fn key(&self, name: &str) -> Vec<u8> {
        path_key::key_of(&self.path(name)).unwrap()
    }

    fn record(&self, name: &str) -> Record {
        let value = self.store.snapshot().unwrap().get(IndexTable::Files, &self.key(name)).unwrap();
        Record::from_bytes(&value.unwrap()).unwrap()
    }

    fn answers(&self) -> Answers<'_> {
        Answers::new(self.store.snapshot().unwrap())
    }

    fn put(&self, table: IndexTable, key: &[u8], value: &[u8]) {
        self.store.put(&[NewPair { table, key: key.to_vec(), value: value.to_vec() }]).unwrap();
    }

    fn compare(&self) -> Comparison {
        let answers = self.answers();
        let plan = Plan { seed: 3, ranges: 200, time: Duration::from_secs(600), start_phase: no_progress };
        compare(&answers, &self.walk, &plan).unwrap()
    }
}

fn no_progress(_: Phase) -> Box<dyn PhaseProgress> {
    struct NoProgress;
    impl PhaseProgress for NoProgress {
        fn advance(&self, _amount: u64) {}
    }
    Box::new(NoProgress)
}

/// Sets an earlier modification time, so that the next change is visible even if the clock of the file system
/// ticks slowly.
fn make_older(directory: &Path) {
    let before = SystemTime::now() - Duration::from_secs(3600);
    File::open(directory).unwrap().set_modified(before).unwrap();
}

/// Returns the numbers of answers that agree, changed and differ, for listings, ranges and largest files.
fn counts(comparison: &Comparison) -> [[u64; 3]; 3] {
    let counts = |counts: &QueryCounts| [counts.agree, counts.changed.count, counts.differ.count];
    comparison.kinds().map(counts)
}

#[test]
fn unchanged_files_agree() {
    let indexed = Indexed::new(|_| {});
    assert_eq!(indexed.filled.changed.count, 0);
    let comparison = indexed.compare();
    assert_eq!(counts(&comparison), [[3, 0, 0], [200, 0, 0], [3, 0, 0]]);
    assert!(comparison.is_correct());
    assert!(comparison.listings.to_string().starts_with("of 3 agree; "));
}

#[test]
fn a_file_that_grows_has_changed() {
    let indexed = Indexed::new(|_| {});
    fs::write(indexed.path("meadow"), "clover and thyme").unwrap();
    let comparison = indexed.compare();
    let [listings, ranges, largest] = counts(&comparison);
    assert_eq!((listings, largest), ([2, 1, 0], [2, 1, 0]));
    assert!(ranges[1] > 0 && ranges[0] + ranges[1] == 200, "{ranges:?}");
    assert!(comparison.is_correct());
    assert!(comparison.ranges.to_string().contains("; changed "));
}

#[test]
fn a_missing_or_new_directory_has_changed() {
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
    assert!(indexed.filled.changed.names[0].ends_with("/meadow"));
    let chunks = indexed.answers().chunks(&indexed.path("meadow"), 0..100).unwrap();
    assert_eq!(chunks, [Chunk { offset: 0, length: 6, checksum: None }]);
    assert_eq!(counts(&indexed.compare())[0], [2, 1, 0]);
}

#[test]
fn an_incorrect_record_differs() {
    let indexed = Indexed::new(|_| {});
    let mut record = indexed.record("hive/comb/cell");
    record.attributes.size += 1;
    indexed.put(IndexTable::Files, &indexed.key("hive/comb/cell"), &record.to_bytes());
    let comparison = indexed.compare();
    let [listings, _, largest] = counts(&comparison);
    assert_eq!((listings, largest), ([2, 0, 1], [0, 0, 3]));
    assert!(!comparison.is_correct());
    let about = comparison.listings.to_string();
    assert!(about.contains("; DIFFER 1: ") && about.contains("/cell Attributes"), "{about}");
    let about = comparison.largest.to_string();
    assert!(about.contains("cell of 6 B in the store, "), "{about}");
}

#[test]
fn a_missing_record_differs() {
    let indexed = Indexed::new(|_| {});
    indexed.store.delete(IndexTable::Files, &indexed.key("meadow")).unwrap();
    let [listings, ranges, largest] = counts(&indexed.compare());
    assert_eq!((listings, largest), ([2, 0, 1], [2, 0, 1]));
    assert!(ranges[2] > 0 && ranges[1] == 0, "{ranges:?}");
}

#[test]
fn an_incorrect_or_missing_chunk_differs() {
    let indexed = Indexed::new(|_| {});
    let [bee, cell] = ["hive/bee", "hive/comb/cell"].map(|name| indexed.record(name).identifier);
    let wrong = Chunk { offset: 0, length: 5, checksum: Some(0) };
    indexed.put(IndexTable::Chunks, &chunk::key_of(cell, 0), &wrong.value());
    indexed.store.delete(IndexTable::Chunks, &chunk::key_of(bee, 65_536)).unwrap();
    let comparison = indexed.compare();
    let [listings, ranges, largest] = counts(&comparison);
    assert_eq!((listings, largest), ([3, 0, 0], [3, 0, 0]));
    assert!(ranges[2] > 20 && ranges[1] == 0, "{ranges:?}");
    let named = comparison.ranges.differ.names.join("\n");
    assert!(named.contains("the file is split into"), "{named}");
}

#[test]
fn a_change_does_not_hide_an_incorrect_answer() {
    let indexed = Indexed::new(|_| {});
    indexed.store.delete(IndexTable::Files, &indexed.key("hive/bee")).unwrap();
    fs::write(indexed.path("hive/comb/cell"), "more honey").unwrap();
    fs::write(indexed.path("hive/wasp"), "").unwrap();
    // The parent directory lists `hive` with another modification time.
    assert_eq!(counts(&indexed.compare())[0], [0, 2, 1]);
    assert!(indexed.tree.path().exists());
}
