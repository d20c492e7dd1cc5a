//! Archives and backups of a running store: a restore of them is the store at any later version, and no log
//! file is lost while the archive fails.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use honeycomb_log::{CheckpointReader, LogError, Until, restore};
use honeycomb_store::{Backup, DurabilityConfig, Error, Storage, Store, SyncPolicy};
use honeycomb_testing::{DiskFault, Gate, Kept, ObservedDisk, SimulatedDisk, within};

use crate::workload::{config, contents};

/// A store that archives its log files, which are small.
fn open(disk: &SimulatedDisk, archive: &SimulatedDisk) -> Store {
    open_with(disk, Arc::new(archive.clone()), SyncPolicy::Always)
}

fn open_with(disk: &SimulatedDisk, archive: Arc<dyn Storage>, policy: SyncPolicy) -> Store {
    let mut config = config(disk, policy);
    let durability = config.durability.take().unwrap();
    config.durability = Some(DurabilityConfig { archive: Some(archive), ..durability });
    Store::open(config).unwrap()
}

fn bytes_of(backup: &Backup) -> Vec<u8> {
    let mut bytes = vec![0; backup.bytes() as usize + 10];
    let read = backup.read_at(0, &mut bytes).unwrap();
    assert_eq!(read as u64, backup.bytes());
    bytes.truncate(read);
    bytes
}

fn restored(image: &[u8], logs: &[&SimulatedDisk], until: Until) -> Store {
    let logs: Vec<Arc<dyn Storage>> =
        logs.iter().map(|&log| Arc::new(log.clone()) as Arc<dyn Storage>).collect();
    let disk = SimulatedDisk::default();
    let target: Arc<dyn Storage> = Arc::new(disk.clone());
    restore(CheckpointReader::image(image, "image", 0).unwrap(), &logs, &target, until).unwrap();
    Store::open(config(&disk, SyncPolicy::Always)).unwrap()
}

#[test]
fn a_backup_and_the_archive_are_the_store_at_any_later_version() {
    let (disk, archive) = (SimulatedDisk::default(), SimulatedDisk::default());
    let mut store = open(&disk, &archive);
    (0..300_u32).for_each(|number| store.table("t").unwrap().put(&number.to_be_bytes(), &[1; 100]).unwrap());
    let backup = store.backup().unwrap();
    let image = bytes_of(&backup);
    let mut states = BTreeMap::from([(backup.version(), contents(&store))]);
    for round in 0..4_u8 {
        for number in 0..200_u32 {
            let table = store.table(if number % 7 == 0 { "other" } else { "t" }).unwrap();
            table.put(&number.to_be_bytes(), &[round; 90]).unwrap();
            if number == 150 {
                table.delete_range(&50_u32.to_be_bytes()[..]..&60_u32.to_be_bytes()[..]).unwrap();
            }
            if number % 40 == 0 {
                states.insert(store.read_version(), contents(&store));
            }
        }
        // Checkpoints end the use of log files, and starts give tables other identifiers.
        store.checkpoint().unwrap();
        if round == 1 {
            drop(store);
            store = open(&disk, &archive);
        }
    }
    states.insert(store.read_version(), contents(&store));
    assert!(archive.files().len() >= 2, "{:?}", archive.files());
    drop(store);
    for (version, state) in &states {
        let store = restored(&image, &[&archive, &disk], Until::Version(*version));
        assert!(contents(&store) == *state, "version {version}");
    }
    // The backup itself is an image.
    let loaded = Store::open(honeycomb_store::Config::default()).unwrap();
    assert_eq!(loaded.load(&image[..]).unwrap(), backup.pairs());
    assert!(&contents(&loaded) == states.values().next().unwrap());
}

#[test]
fn a_backup_stays_readable_while_checkpoints_replace_it() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    store.table("t").unwrap().put(b"a", b"1").unwrap();
    assert!(store.newest_backup().unwrap().is_none());
    let backup = store.backup().unwrap();
    let before = bytes_of(&backup);
    store.table("t").unwrap().put(b"a", b"2").unwrap();
    let later = store.backup().unwrap();
    assert!(later.number() > backup.number() && later.version() > backup.version());
    assert!(bytes_of(&backup) == before && bytes_of(&later) != before);
    let memory = Store::open(honeycomb_store::Config::default()).unwrap();
    assert!(matches!(memory.backup(), Err(Error::NoDirectory)));
}

#[test]
fn log_files_stay_while_the_archive_fails() {
    let (disk, archive) = (SimulatedDisk::default(), SimulatedDisk::default());
    archive.fail(0, DiskFault::Full);
    let store = open(&disk, &archive);
    let image = bytes_of(&store.backup().unwrap());
    let table = store.table("t").unwrap();
    (0..500_u32).for_each(|number| table.put(&number.to_be_bytes(), &[1; 100]).unwrap());
    store.checkpoint().unwrap();
    let statistics = store.durability_statistics().unwrap();
    assert_eq!(statistics.archived_files, 0);
    assert!(statistics.archive_error.is_some() && statistics.files > 5, "{statistics:?}");
    archive.add_room();
    for attempt in 0.. {
        store.checkpoint().unwrap();
        let statistics = store.durability_statistics().unwrap();
        if statistics.archive_error.is_none() && statistics.files == 1 {
            break;
        }
        assert!(attempt < 100, "{statistics:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let state = contents(&store);
    drop((table, store));
    assert!(contents(&restored(&image, &[&archive, &disk], Until::End)) == state);
}

/// The thread that copies files also writes the checkpoints that clients wait for.
#[test]
fn an_archive_that_panics_keeps_log_files_and_ends_no_thread() {
    let (disk, archive) = (SimulatedDisk::default(), SimulatedDisk::default());
    let panics = Arc::new(AtomicBool::new(true));
    let is_broken = panics.clone();
    let creates = move |_: &str| assert!(!is_broken.load(Ordering::Relaxed), "the archive is broken");
    let observed = Arc::new(ObservedDisk::before_creations(&archive, creates));
    let store = open_with(&disk, observed, SyncPolicy::Always);
    let table = store.table("t").unwrap();
    (0..500_u32).for_each(|number| table.put(&number.to_be_bytes(), &[1; 100]).unwrap());
    let statistics = || store.durability_statistics().unwrap();
    wait_until(|| statistics().archive_error.is_some_and(|error| error.contains("the archive is broken")));
    store.request_checkpoint().unwrap();
    wait_until(|| statistics().checkpoints == 1);
    assert!(statistics().files > 5, "{:?}", statistics());
    panics.store(false, Ordering::Relaxed);
    wait_until(|| statistics().archive_error.is_none() && statistics().archived_files >= 5);
}

/// The reader gets the error with the name of the file, and the next backup is whole.
#[test]
fn a_backup_whose_read_fails_can_be_repeated() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    let table = store.table("t").unwrap();
    (0..100_u32).for_each(|number| table.put(&number.to_be_bytes(), &[1; 100]).unwrap());
    store.checkpoint().unwrap();
    let expected = contents(&store);
    let image = || -> Result<Vec<u8>, Error> {
        let backup = store.newest_backup()?.unwrap();
        let mut bytes = vec![0; backup.bytes() as usize];
        for part in 0..bytes.len().div_ceil(4096) {
            let end = bytes.len().min((part + 1) * 4096);
            backup.read_at(part as u64 * 4096, &mut bytes[part * 4096..end])?;
        }
        Ok(bytes)
    };
    for read in 0.. {
        disk.fail_read(disk.reads() + read);
        let read_first = image();
        let Some(name) = disk.failed_read() else {
            assert!(read > 5 && read_first.is_ok(), "{read} reads");
            break;
        };
        match read_first {
            Err(Error::Log(LogError::Io { file, .. })) => assert_eq!(file, name, "read {read}"),
            other => panic!("read {read} of `{name}`: {other:?}"),
        }
        let loaded = Store::open(honeycomb_store::Config::default()).unwrap();
        loaded.load(&image().unwrap()[..]).unwrap();
        assert!(contents(&loaded) == expected, "read {read} of `{name}`");
    }
}

/// A file whose copy fails stays a part of the log until a later attempt.
#[test]
fn an_archive_whose_read_fails_is_whole_later() {
    for read in 0.. {
        let (disk, archive) = (SimulatedDisk::default(), SimulatedDisk::default());
        // The archive has no room at first, so the copies begin after the writes, which may open log files.
        archive.fail(0, DiskFault::Full);
        let store = open(&disk, &archive);
        let image = bytes_of(&store.backup().unwrap());
        let table = store.table("t").unwrap();
        (0..400_u32).for_each(|number| table.put(&number.to_be_bytes(), &[1; 100]).unwrap());
        store.checkpoint().unwrap();
        assert!(store.durability_statistics().unwrap().archive_error.is_some());
        disk.fail_read(disk.reads() + read);
        archive.add_room();
        let first = store.checkpoint();
        let statistics = store.durability_statistics().unwrap();
        let Some(name) = disk.failed_read() else {
            assert!(read > 5 && first.is_ok(), "{read} reads");
            break;
        };
        // Unless a later attempt has succeeded by now.
        let reported = statistics.archive_error.or(first.err().map(|error| error.to_string()));
        assert!(reported.is_none_or(|error| error.contains(&name)), "read {read} of `{name}`");
        let attempts = (0..100).find(|_| {
            std::thread::sleep(Duration::from_millis(5));
            store.checkpoint().unwrap();
            let statistics = store.durability_statistics().unwrap();
            statistics.archive_error.is_none() && statistics.files == 1
        });
        assert!(attempts.is_some(), "read {read} of `{name}`: {:?}", store.durability_statistics());
        let state = contents(&store);
        drop((table, store));
        assert!(contents(&restored(&image, &[&archive, &disk], Until::End)) == state, "read {read}");
    }
}

#[test]
fn an_image_of_a_durable_store_continues_with_its_log() {
    let (disk, archive) = (SimulatedDisk::default(), SimulatedDisk::default());
    let store = open(&disk, &archive);
    store.table("t").unwrap().put(b"a", b"1").unwrap();
    let mut image = Vec::new();
    store.save(&mut image).unwrap();
    store.table("t").unwrap().put(b"b", b"2").unwrap();
    let state = contents(&store);
    drop(store);
    assert!(contents(&restored(&image, &[&archive, &disk], Until::End)) == state);
    let mut magic = [0; 8];
    (&image[..]).read_exact(&mut magic).unwrap();
    assert_eq!(&magic, honeycomb_log::CHECKPOINT_MAGIC);
}

/// The versions after a recovery continue behind the checkpoint. If a power cut loses earlier records, a
/// restore of an earlier image cannot notice that they are missing.
#[test]
fn the_log_has_all_records_before_a_checkpoint() {
    let (disk, archive) = (SimulatedDisk::default(), Arc::new(SimulatedDisk::default()));
    let store = open_with(&disk, archive.clone(), SyncPolicy::Never);
    store.table("t").unwrap().put(b"a", b"1").unwrap();
    let image = bytes_of(&store.backup().unwrap());
    store.table("t").unwrap().put(b"b", b"2").unwrap();
    store.checkpoint().unwrap();
    let disk = disk.after_power_cut(Kept::Nothing);
    drop(store);
    let store = open_with(&disk, archive.clone(), SyncPolicy::Never);
    let table = store.table("t").unwrap();
    assert!(table.get(b"b").unwrap().is_some());
    (0..200_u32).for_each(|number| table.put(&number.to_be_bytes(), &[1; 100]).unwrap());
    let state = contents(&store);
    drop((table, store));
    assert!(contents(&restored(&image, &[&archive, &disk], Until::End)) == state);
}

/// After a power cut other writes get the versions of those that were lost, so a restore would mix both.
#[test]
fn an_image_of_a_durable_store_has_durable_writes_only() {
    let (disk, archive) = (SimulatedDisk::default(), Arc::new(SimulatedDisk::default()));
    let store = open_with(&disk, archive.clone(), SyncPolicy::Never);
    store.table("t").unwrap().put(b"a", b"1").unwrap();
    store.wait_durable(store.read_version()).unwrap();
    (0..5_u32).for_each(|number| store.table("t").unwrap().put(&number.to_be_bytes(), b"2").unwrap());
    let mut image = Vec::new();
    store.save(&mut image).unwrap();
    let disk = disk.after_power_cut(Kept::Nothing);
    drop(store);
    let store = open_with(&disk, archive.clone(), SyncPolicy::Always);
    store.table("t").unwrap().put(b"c", b"3").unwrap();
    let state = contents(&store);
    drop(store);
    assert!(contents(&restored(&image, &[&archive, &disk], Until::End)) == state);
}

/// A store whose log has failed can be saved. Its image has writes that the log may not have.
#[test]
fn an_image_of_a_store_with_a_failed_log_belongs_to_no_log() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    let table = store.table("t").unwrap();
    disk.fail_write(".log", DiskFault::Error);
    table.put(b"a", b"1").unwrap_err();
    let mut image = Vec::new();
    store.save(&mut image).unwrap();
    assert_eq!(CheckpointReader::image(&image[..], "image", 0).unwrap().version(), 0);
    let loaded = Store::open(honeycomb_store::Config::default()).unwrap();
    loaded.load(&image[..]).unwrap();
    assert_eq!(loaded.table("t").unwrap().get(b"a").unwrap(), Some(b"1".to_vec()));
}

#[test]
fn statistics_do_not_wait_for_the_archive() {
    let gate = Gate::default();
    let pass = gate.passage();
    let archive = ObservedDisk::before_creations(&SimulatedDisk::default(), move |_| pass());
    gate.close();
    let store = open_with(&SimulatedDisk::default(), Arc::new(archive), SyncPolicy::Always);
    let table = store.table("t").unwrap();
    (0..200_u32).for_each(|number| table.put(&number.to_be_bytes(), &[1; 100]).unwrap());
    gate.wait_until_reached();
    let reader = store.clone();
    let statistics = within(move || reader.durability_statistics());
    gate.open();
    assert!(statistics.is_some());
}

#[test]
fn the_newest_backup_can_be_opened_during_a_checkpoint() {
    let (disk, gate) = (SimulatedDisk::default(), Gate::default());
    let pass = gate.passage();
    let gated = ObservedDisk::before_creations(&disk, move |name| {
        if name.ends_with(".checkpoint") {
            pass();
        }
    });
    let mut config = config(&disk, SyncPolicy::Always);
    config.durability.as_mut().unwrap().storage = Arc::new(gated);
    let store = Store::open(config).unwrap();
    store.table("t").unwrap().put(b"a", b"1").unwrap();
    let number = store.backup().unwrap().number();
    gate.close();
    store.request_checkpoint().unwrap();
    gate.wait_until_reached();
    let reader = store.clone();
    let opened = within(move || reader.newest_backup().unwrap().map(|backup| backup.number()));
    gate.open();
    assert_eq!(opened, Some(Some(number)));
}

fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "the condition stays false");
        std::thread::sleep(Duration::from_millis(2));
    }
}
