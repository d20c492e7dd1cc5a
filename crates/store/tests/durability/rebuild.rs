//! A store whose manifest is damaged or absent gets a new one from its other files, and loses nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use honeycomb_log::{MANIFEST_FILE, Manifest};
use honeycomb_store::{Error, LogError, Storage, Store, SyncPolicy};
use honeycomb_testing::{DiskFault, Kept, SimulatedDisk};

use crate::workload::config;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(disk: &SimulatedDisk) -> Result<Store, Error> {
    Store::open(config(disk, SyncPolicy::Always))
}

fn rebuild(disk: &SimulatedDisk) -> Result<Option<Manifest>, LogError> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    Manifest::rebuild(&storage)
}

fn pairs(store: &Store) -> Pairs {
    store.table("t").unwrap().iter().unwrap().map(Result::unwrap).collect()
}

/// Writes pairs, more than a log file has room for.
fn write(store: &Store, value: u8) -> Result<(), Error> {
    let table = store.table("t")?;
    (0..200_u32).try_for_each(|number| table.put(&number.to_be_bytes(), &[value; 100]))
}

/// Writes before and after checkpoints, of which the last one is not the newest state.
fn write_all(store: &Store) -> Result<(), Error> {
    write(store, 1)?;
    store.checkpoint()?;
    write(store, 2)?;
    store.checkpoint()?;
    write(store, 3)
}

/// Removes the manifest, or flips a bit of it.
fn damage(disk: &SimulatedDisk, offset: Option<usize>) {
    match offset {
        Some(offset) => disk.flip(MANIFEST_FILE, offset, offset as u32 % 8),
        None => disk.remove(MANIFEST_FILE).unwrap(),
    }
}

/// Compares a recovery with one from a new manifest. Returns whether there is something to recover.
fn check(disk: &SimulatedDisk, offset: Option<usize>, context: &str) -> bool {
    let (intact, damaged) = (disk.copy(), disk.copy());
    if !disk.files().iter().any(|(name, _)| name == MANIFEST_FILE) {
        return false;
    }
    damage(&damaged, offset);
    let Ok(store) = open(&intact) else { panic!("{context}: the disk is damaged") };
    match open(&damaged) {
        Err(error) => assert!(error.to_string().contains("`manifest`"), "{context}: {error}"),
        // Without the manifest there is no other file of a store.
        Ok(_) => return false,
    }
    let rebuilt = rebuild(&damaged);
    assert!(matches!(rebuilt, Ok(Some(_))), "{context}: {rebuilt:?}");
    assert!(matches!(rebuild(&damaged), Ok(None)), "{context}: the manifest is valid now");
    // A power cut takes nothing back.
    let mut found = open(&damaged.after_power_cut(Kept::Nothing)).unwrap();
    assert!(pairs(&found) == pairs(&store), "{context}");
    found.verify().unwrap();
    true
}

#[test]
fn any_damage_of_the_manifest_can_be_repaired() {
    let disk = SimulatedDisk::default();
    write_all(&open(&disk).unwrap()).unwrap();
    for offset in 0..64 {
        assert!(check(&disk, Some(offset), &format!("byte {offset}")));
    }
    assert!(check(&disk, None, "absent"));
    for length in 0..64 {
        let damaged = disk.copy();
        damaged.truncate(MANIFEST_FILE, length);
        assert!(matches!(rebuild(&damaged), Ok(Some(_))), "{length} bytes");
        assert!(pairs(&open(&damaged).unwrap()) == pairs(&open(&disk.copy()).unwrap()));
    }
}

/// The files after an error at each call of the disk, such as in the middle of a checkpoint, and after a
/// power cut at that moment.
#[test]
fn a_new_manifest_makes_the_same_store_as_the_old_one() {
    let mut repaired = 0;
    for call in 0.. {
        let disk = SimulatedDisk::default();
        let written = open(&disk).and_then(|store| {
            disk.fail(disk.calls() + call, DiskFault::Error);
            write_all(&store)
        });
        for (kept, name) in [(Kept::Everything, "everything"), (Kept::Nothing, "nothing")] {
            let left = disk.after_power_cut(kept);
            let offset = (call % 2 == 0).then_some(20);
            let context = format!("call {call}, {name} kept, {offset:?}");
            repaired += u32::from(check(&left, offset, &context));
        }
        if written.is_ok() {
            assert!(call > 100 && repaired > 100, "{call} calls, {repaired} repaired");
            break;
        }
    }
}

#[test]
fn a_manifest_that_would_lose_pairs_is_not_written() {
    let disk = SimulatedDisk::default();
    write_all(&open(&disk).unwrap()).unwrap();
    damage(&disk, None);
    let names: Vec<String> = disk.files().into_iter().map(|(name, _)| name).collect();
    // A damaged checkpoint, and no log from the first record on.
    let damaged = disk.copy();
    let checkpoint = names.iter().find(|name| name.ends_with(".checkpoint")).unwrap();
    damaged.flip(checkpoint, 5000, 1);
    let error = rebuild(&damaged).unwrap_err();
    assert!(matches!(&error, LogError::Corrupt { file, .. } if file == checkpoint), "{error}");
    // Log files without the first one.
    let damaged = disk.copy();
    let log = names.iter().find(|name| name.ends_with(".log")).unwrap();
    damaged.remove(log).unwrap();
    let error = rebuild(&damaged).unwrap_err();
    assert!(matches!(&error, LogError::Missing { file, .. } if file == log), "{error}");
    assert!(open(&damaged).is_err(), "nothing was written");
}

#[test]
fn a_directory_without_a_store_gets_no_manifest() {
    let disk = SimulatedDisk::default();
    assert!(matches!(rebuild(&disk), Ok(None)));
    assert!(disk.files().is_empty());
    disk.create("restore.new", 0).unwrap();
    assert!(matches!(rebuild(&disk), Err(LogError::UnfinishedRestore)));
}
