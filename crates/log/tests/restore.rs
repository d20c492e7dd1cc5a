//! Archives and restores: a restore to any version has exactly the records up to it, and an interrupted
//! archive or restore leaves nothing wrong.

use std::sync::Arc;

use honeycomb_log::{
    Change, Changes, CheckpointReader, CheckpointWriter, Directory, Durability, LogError, Restored, Storage,
    Until, archive, changes, log_file, restore,
};
use honeycomb_testing::{DiskFault, Kept, SimulatedDisk};

const FILE_BYTES: u64 = 4 * 4096;
const IMAGE_VERSION: u64 = 20;
const LAST_VERSION: u64 = 80;

/// A log of versions 1 to [`LAST_VERSION`], one per 10 milliseconds. The archive has its closed files.
fn log() -> (SimulatedDisk, SimulatedDisk) {
    let (disk, folder) = (SimulatedDisk::default(), SimulatedDisk::default());
    let directory = Directory::open(Arc::new(disk.clone())).expect("an empty disk");
    let (replayed, tails) = directory.replay(|_, _| Ok::<(), LogError>(())).expect("no records");
    let mut writer = directory.start_writer((replayed, tails), FILE_BYTES).expect("room");
    for version in 1..=LAST_VERSION {
        let mut changes = Changes::default();
        changes.put(1, &version.to_le_bytes(), &[7; 1500]);
        changes.time(10 * version);
        writer.append(version, changes.bytes()).expect("room");
        writer.flush(Durability::Now).expect("room");
    }
    assert!(writer.closed_files().len() > 5);
    for file in writer.closed_files() {
        archive(&disk, &folder, file).expect("room");
        archive(&disk, &folder, file).expect("it is there already");
    }
    (disk, folder)
}

fn image() -> Vec<u8> {
    let mut image = Vec::new();
    let mut writer =
        CheckpointWriter::image(&mut image, "image", IMAGE_VERSION, 10 * IMAGE_VERSION).expect("a vector");
    writer.table(1, "t").expect("a vector");
    writer.push(b"key", b"value").expect("a vector");
    writer.end().expect("a vector");
    image
}

fn restore_to(logs: &[&SimulatedDisk], target: &SimulatedDisk, until: Until) -> Result<Restored, LogError> {
    let image = image();
    let logs: Vec<Arc<dyn Storage>> =
        logs.iter().map(|&log| Arc::new(log.clone()) as Arc<dyn Storage>).collect();
    let target: Arc<dyn Storage> = Arc::new(target.clone());
    restore(CheckpointReader::image(&image[..], "image", 0)?, &logs, &target, until)
}

/// The versions after the image that a recovery of a restored disk finds.
fn versions(disk: &SimulatedDisk) -> Vec<u64> {
    let directory = Directory::inspect(Arc::new(disk.clone())).expect("valid files").expect("a store");
    assert_eq!(directory.manifest().pairs, 1);
    assert_eq!(directory.checkpoint().expect("valid").expect("a checkpoint").version(), IMAGE_VERSION);
    let mut found = Vec::new();
    let record = |_, record: honeycomb_log::Record<'_>| {
        assert_eq!(changes(record.changes).count(), 2);
        found.push(record.version);
        Ok::<(), LogError>(())
    };
    let (replayed, tails) = directory.replay(record).expect("valid records");
    assert_eq!(replayed.cut_bytes, 0);
    // The store can go on.
    directory.start_writer((replayed, tails), FILE_BYTES).expect("room");
    found
}

#[test]
fn a_restore_to_any_version_has_the_records_up_to_it() {
    let (disk, folder) = log();
    for version in IMAGE_VERSION..=LAST_VERSION {
        let target = SimulatedDisk::default();
        // The newest records are in the directory only.
        let restored = restore_to(&[&folder, &disk], &target, Until::Version(version)).expect("a restore");
        assert_eq!((restored.version, restored.records), (version, version - IMAGE_VERSION));
        assert_eq!(versions(&target), (IMAGE_VERSION + 1..=version).collect::<Vec<_>>());
    }
}

#[test]
fn a_restore_to_a_time_has_the_records_up_to_it() {
    let (disk, folder) = log();
    for (time, last) in [(200, 20), (209, 20), (210, 21), (555, 55), (10_000, LAST_VERSION)] {
        let target = SimulatedDisk::default();
        restore_to(&[&folder, &disk], &target, Until::Time(time)).expect("a restore");
        assert_eq!(versions(&target), (IMAGE_VERSION + 1..=last).collect::<Vec<_>>(), "{time}");
    }
}

#[test]
fn a_restore_without_a_log_has_the_image() {
    let target = SimulatedDisk::default();
    let restored = restore_to(&[], &target, Until::End).expect("a restore");
    assert_eq!((restored.pairs, restored.records, restored.version), (1, 0, IMAGE_VERSION));
    assert_eq!(versions(&target), []);
}

#[test]
fn a_restore_without_the_directory_ends_with_the_archive() {
    let (_, folder) = log();
    let target = SimulatedDisk::default();
    let restored = restore_to(&[&folder], &target, Until::End).expect("a restore");
    let last = restored.version;
    assert!((LAST_VERSION - 12..LAST_VERSION).contains(&last), "{last}");
    assert_eq!(versions(&target), (IMAGE_VERSION + 1..=last).collect::<Vec<_>>());
}

#[test]
fn impossible_restores_are_rejected() {
    let (disk, folder) = log();
    let target = SimulatedDisk::default();
    let error = restore_to(&[&folder], &target, Until::Version(IMAGE_VERSION - 1)).unwrap_err();
    assert!(matches!(error, LogError::ImageTooNew { version: IMAGE_VERSION, .. }), "{error}");
    let error = restore_to(&[&folder], &target, Until::Time(199)).unwrap_err();
    assert!(matches!(error, LogError::ImageTooNew { time: 200, requested: 199, .. }), "{error}");
    let error = restore_to(&[&folder], &disk, Until::End).unwrap_err();
    assert!(matches!(error, LogError::NotEmpty { .. }), "{error}");
    // The log begins too late, or has a gap.
    (1..5).for_each(|number| folder.remove(&log_file(number)).expect("a file"));
    let error = restore_to(&[&folder], &SimulatedDisk::default(), Until::End).unwrap_err();
    assert!(matches!(&error, LogError::Missing { file, .. } if *file == log_file(4)), "{error}");
    let (_, folder) = log();
    folder.remove(&log_file(5)).expect("a file");
    let error = restore_to(&[&folder], &SimulatedDisk::default(), Until::End).unwrap_err();
    assert!(matches!(&error, LogError::Missing { file, .. } if *file == log_file(5)), "{error}");
}

#[test]
fn damage_in_the_archive_is_reported() {
    let (_, folder) = log();
    folder.open(&log_file(3)).and_then(|mut file| file.write_at(9000, &[0xff])).expect("a file");
    let error = restore_to(&[&folder], &SimulatedDisk::default(), Until::End).unwrap_err();
    assert!(matches!(&error, LogError::Corrupt { file, .. } if *file == log_file(3)), "{error}");
}

#[test]
fn an_archive_of_another_history_is_rejected() {
    let (disk, folder) = log();
    let target = SimulatedDisk::default();
    restore_to(&[&folder, &disk], &target, Until::Version(30)).expect("a restore");
    let directory = Directory::open(Arc::new(target.clone())).expect("a store");
    let (replayed, tails) = directory.replay(|_, _| Ok::<(), LogError>(())).expect("valid records");
    let writer = directory.start_writer((replayed, tails), FILE_BYTES).expect("room");
    let last = writer.closed_files().last().expect("a file");
    let error = archive(&target, &folder, last).unwrap_err();
    assert!(matches!(&error, LogError::OtherHistory { file } if *file == log_file(last.number)), "{error}");
    assert!(archive(&target, &folder, &writer.closed_files()[0]).is_ok(), "the common history");
}

#[test]
fn a_power_cut_during_a_restore_leaves_no_store_or_a_whole_one() {
    let (disk, folder) = log();
    let calls = {
        let target = SimulatedDisk::default();
        restore_to(&[&folder, &disk], &target, Until::Version(50)).expect("a restore");
        target.calls()
    };
    for call in 0..calls {
        for kept in [Kept::Nothing, Kept::Everything, Kept::Random(call)] {
            let target = SimulatedDisk::default();
            target.fail(call, DiskFault::PowerCut);
            let done = restore_to(&[&folder, &disk], &target, Until::Version(50)).is_ok();
            let target = target.after_power_cut(kept);
            match Directory::inspect(Arc::new(target.clone())) {
                Ok(None) => assert!(!done),
                Ok(Some(_)) => assert_eq!(versions(&target), (IMAGE_VERSION + 1..=50).collect::<Vec<_>>()),
                // The manifest comes last, so nothing else can be missing.
                Err(error) => {
                    let is_unfinished =
                        matches!(&error, LogError::Missing { file, .. } if file == "manifest");
                    assert!(is_unfinished && !done, "{error}");
                }
            }
        }
    }
}

#[test]
fn a_power_cut_during_archiving_leaves_no_partial_file() {
    let (disk, _) = log();
    let closed = {
        let directory = Directory::open(Arc::new(disk.clone())).expect("a store");
        let (replayed, tails) = directory.replay(|_, _| Ok::<(), LogError>(())).expect("valid records");
        directory.start_writer((replayed, tails), FILE_BYTES).expect("room").closed_files()[0]
    };
    for call in 0..8 {
        for kept in [Kept::Nothing, Kept::Everything, Kept::Random(call)] {
            let folder = SimulatedDisk::default();
            folder.fail(call, DiskFault::PowerCut);
            let done = archive(&disk, &folder, &closed).is_ok();
            let folder = folder.after_power_cut(kept);
            let exists = folder.list().expect("names").contains(&log_file(closed.number));
            assert!(exists || !done);
            assert!(archive(&disk, &folder, &closed).is_ok(), "call {call}, {kept:?}");
        }
    }
}

#[test]
fn the_time_is_a_change_without_key() {
    let mut encoded = Changes::default();
    encoded.time(u64::MAX);
    let decoded: Vec<_> = changes(encoded.bytes()).collect();
    assert_eq!(decoded, [Ok(Change::Time { milliseconds: u64::MAX })]);
}
