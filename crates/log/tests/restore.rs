//! Archives and restores: a restore to any version has exactly the records up to it, and an interrupted
//! archive or restore leaves nothing wrong.

use std::io::{self, Read};
use std::sync::Arc;

use honeycomb_log::{
    Change, Changes, CheckpointReader, CheckpointWriter, ClosedFile, Directory, Durability, LogError,
    LogWriter, Restored, Storage, Until, archive, changes, log_file, restore,
};
use honeycomb_testing::{DiskFault, Kept, SimulatedDisk, log_writer};

const FILE_BYTES: u64 = 4 * 4096;
const IMAGE_VERSION: u64 = 20;
const LAST_VERSION: u64 = 80;

/// A log of versions 1 to [`LAST_VERSION`], one per 10 milliseconds. The archive has its closed files.
fn log() -> (SimulatedDisk, SimulatedDisk) {
    let (disk, folder) = (SimulatedDisk::default(), SimulatedDisk::default());
    let writer = write(&disk, 1..=LAST_VERSION);
    assert!(writer.closed_files().len() > 5);
    for file in writer.closed_files() {
        archive(&disk, &folder, file).expect("room");
        archive(&disk, &folder, file).expect("it is there already");
    }
    (disk, folder)
}

fn write(disk: &SimulatedDisk, versions: impl Iterator<Item = u64>) -> LogWriter {
    let mut writer = log_writer(disk, FILE_BYTES);
    for version in versions {
        let mut changes = Changes::default();
        changes.put(1, &version.to_le_bytes(), &[7; 1500]);
        changes.time(10 * version);
        writer.append(version, changes.bytes()).expect("room");
        writer.flush(Durability::Now).expect("room");
    }
    writer
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
    restore_image(&image()[..], logs, target, until)
}

fn restore_image(
    image: impl Read,
    logs: &[&SimulatedDisk],
    target: &SimulatedDisk,
    until: Until,
) -> Result<Restored, LogError> {
    let logs: Vec<Arc<dyn Storage>> =
        logs.iter().map(|&log| Arc::new(log.clone()) as Arc<dyn Storage>).collect();
    let target: Arc<dyn Storage> = Arc::new(target.clone());
    restore(CheckpointReader::image(image, "image", 0)?, &logs, &target, until)
}

/// Whether an error names the file of the read that has failed.
fn names_file(error: &LogError, name: &str) -> bool {
    matches!(error, LogError::Io { file, source, .. }
        if (file == name || file == "the archive") && source.to_string().contains("simulated"))
}

/// Checks that a restore into the directory of a failed one is whole.
fn check_repeated(logs: &[&SimulatedDisk], target: &SimulatedDisk, context: &str) {
    restore_to(logs, target, Until::End).expect(context);
    assert!(versions(target).into_iter().eq(IMAGE_VERSION + 1..=LAST_VERSION), "{context}");
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
    directory.start_writer((replayed, tails), FILE_BYTES, 7).expect("room");
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
fn a_restore_to_a_version_without_a_record_ends_before_it() {
    let disk = SimulatedDisk::default();
    write(&disk, (1..40).step_by(2));
    for version in IMAGE_VERSION..=39 {
        let target = SimulatedDisk::default();
        assert!(restore_to(&[&disk], &target, Until::Version(version)).expect("a restore").is_reached);
        assert!(versions(&target).into_iter().eq((21..=version).step_by(2)), "{version}");
    }
}

/// Otherwise an archive without its newest files would look like the requested state.
#[test]
fn a_restore_to_a_version_that_the_log_does_not_reach_is_rejected() {
    let (disk, folder) = log();
    let last = restore_to(&[&folder], &SimulatedDisk::default(), Until::End).expect("a restore").version;
    for (logs, last) in [(vec![&folder, &disk], LAST_VERSION), (vec![&folder], last), (vec![], IMAGE_VERSION)]
    {
        let target = SimulatedDisk::default();
        for requested in [last + 1, last + 2, u64::MAX] {
            let refused = restore_to(&logs, &target, Until::Version(requested));
            let is_it = matches!(refused, Err(LogError::LogTooShort { version, requested: it })
                if version == last && it == requested);
            assert!(is_it, "{requested}: {refused:?}");
            assert!(target.files().is_empty(), "{:?}", target.files());
        }
        assert!(restore_to(&logs, &target, Until::Version(last)).expect("a restore").is_reached);
    }
}

#[test]
fn a_restore_to_a_time_has_the_records_up_to_it() {
    let (disk, folder) = log();
    for (time, last) in [(200, 20), (209, 20), (210, 21), (555, 55), (10_000, LAST_VERSION)] {
        let target = SimulatedDisk::default();
        let restored = restore_to(&[&folder, &disk], &target, Until::Time(time)).expect("a restore");
        assert_eq!(restored.is_reached, time < 10_000, "{time}");
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
    assert!(matches!(error, LogError::ImageTooNew { time: 200, requested: Until::Time(199), .. }));
    let text = "of time 0.200 (seconds since 1970), which is later than the requested time 0.199 (seconds";
    assert!(error.to_string().contains(text), "{error}");
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

/// The place of the record with a version: the number of its log file, and its offset.
fn place_of(disk: &SimulatedDisk, version: u64) -> (u64, usize) {
    let directory = Directory::inspect(Arc::new(disk.clone())).expect("valid files").expect("a store");
    let mut place = None;
    let record = |number, record: honeycomb_log::Record<'_>| {
        if record.version == version {
            place = Some((number, record.offset as usize));
        }
        Ok::<(), LogError>(())
    };
    directory.replay(record).expect("valid records");
    place.expect("the version is in the log")
}

/// The end may be a version or a time, and the damage may be in its file, or in the header of the next one.
#[test]
fn damage_after_the_end_of_a_restore_does_not_matter() {
    let (disk, _) = log();
    for last in IMAGE_VERSION..LAST_VERSION {
        let ((number, _), (next, offset)) = (place_of(&disk, last), place_of(&disk, last + 1));
        let damaged = disk.copy();
        damaged.flip(&log_file(next), if next == number { offset + 40 } else { 20 }, 1);
        let mut ends = vec![Until::Version(last)];
        if next == number && last > IMAGE_VERSION {
            // The record after the last one states its time, so it must be valid.
            ends.push(Until::Time(10 * (last - 1)));
        }
        for until in ends {
            let target = SimulatedDisk::default();
            let expected = if let Until::Time(_) = until { last - 1 } else { last };
            let restored = restore_to(&[&damaged], &target, until).expect("valid records up to the end");
            assert_eq!((restored.version, restored.cut_bytes), (expected, 0), "{until:?}");
            assert!(versions(&target).into_iter().eq(IMAGE_VERSION + 1..=expected), "{until:?}");
        }
        let restored = restore_to(&[&damaged], &SimulatedDisk::default(), Until::Version(last + 1));
        let is_reported = match &restored {
            Err(LogError::Corrupt { file, version, .. }) => *file == log_file(next) && *version <= last,
            // Damage to the last record of all looks like a torn tail.
            Err(LogError::LogTooShort { version, .. }) => last + 1 == LAST_VERSION && *version == last,
            _ => false,
        };
        assert!(is_reported, "{last}: {restored:?}");
    }
}

#[test]
fn an_archive_of_another_history_is_rejected() {
    let (disk, folder) = log();
    let target = SimulatedDisk::default();
    restore_to(&[&folder, &disk], &target, Until::Version(30)).expect("a restore");
    let writer = log_writer(&target, FILE_BYTES);
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
                Ok(Some(_)) => assert!(versions(&target).into_iter().eq(IMAGE_VERSION + 1..=50)),
                Ok(None) | Err(LogError::UnfinishedRestore) => {
                    assert!(!done);
                    restore_to(&[&folder, &disk], &target, Until::Version(50)).expect("the same restore");
                    assert!(versions(&target).into_iter().eq(IMAGE_VERSION + 1..=50));
                }
                Err(error) => panic!("call {call}, {kept:?}: {error}"),
            }
        }
    }
}

/// Checks that a directory has no store, or a whole one, and that a restore succeeds if it has none.
fn check_no_store_or_a_whole_one(logs: &[&SimulatedDisk], target: &SimulatedDisk, context: &str) {
    match Directory::inspect(Arc::new(target.clone())) {
        Ok(Some(_)) => {
            assert!(versions(target).into_iter().eq(IMAGE_VERSION + 1..=LAST_VERSION), "{context}")
        }
        Ok(None) | Err(LogError::UnfinishedRestore) => check_repeated(logs, target, context),
        Err(error) => panic!("{context}: {error}"),
    }
    assert!(target.list().expect(context).iter().all(|name| name != "restore.new"), "{context}");
}

/// The second restore removes the files of the first one.
#[test]
fn a_power_cut_after_an_interrupted_restore_leaves_no_store_or_a_whole_one() {
    let (disk, folder) = log();
    let interrupted = SimulatedDisk::default();
    interrupted.fail(30, DiskFault::PowerCut);
    restore_to(&[&folder, &disk], &interrupted, Until::End).expect_err("a power cut");
    assert!(interrupted.after_power_cut(Kept::Everything).files().len() > 3);
    for call in 0.. {
        let target = interrupted.after_power_cut(Kept::Everything);
        target.fail(call, DiskFault::PowerCut);
        let done = restore_to(&[&folder, &disk], &target, Until::End).is_ok();
        for kept in [Kept::Nothing, Kept::Everything, Kept::Random(call), Kept::Random(!call)] {
            let target = target.after_power_cut(kept);
            check_no_store_or_a_whole_one(&[&folder, &disk], &target, &format!("call {call}, {kept:?}"));
        }
        if done {
            assert!(call > 30, "{call} calls");
            break;
        }
    }
}

#[test]
fn an_unfinished_restore_cannot_be_opened_and_is_removed_only_without_a_manifest() {
    let (disk, folder) = log();
    let target = SimulatedDisk::default();
    target.create("restore.new", 0).expect("room");
    let opened = Directory::open(Arc::new(target.clone())).map(|_| ());
    assert!(matches!(opened, Err(LogError::UnfinishedRestore)), "{opened:?}");
    disk.create("restore.new", 0).expect("room");
    let error = restore_to(&[&folder], &disk, Until::End).unwrap_err();
    assert!(matches!(error, LogError::NotEmpty { .. }), "{error}");
}

#[test]
fn a_power_cut_during_archiving_leaves_no_partial_file() {
    let (disk, _) = log();
    let closed = log_writer(&disk, FILE_BYTES).closed_files()[0];
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

/// The name of a copy is durable when the archive has it, also if the first attempt has failed or ended.
#[test]
fn a_file_is_in_the_archive_when_its_name_is_durable() {
    let (disk, _) = log();
    let writer = log_writer(&disk, FILE_BYTES);
    let file = &writer.closed_files()[0];
    for kept in [Kept::Nothing, Kept::Random(1), Kept::Random(2)] {
        for call in 0.. {
            let folder = SimulatedDisk::default();
            folder.fail(call, DiskFault::Error);
            if archive(&disk, &folder, file).is_err() {
                archive(&disk, &folder, file).expect("the second attempt");
            }
            let names = folder.after_power_cut(kept).list().expect("names");
            assert!(names.contains(&log_file(file.number)), "call {call}, {kept:?}");
            if folder.calls() <= call {
                break;
            }
        }
        // The process has ended before the sync of the directory.
        let folder = SimulatedDisk::default();
        archive(&disk, &folder, file).expect("room");
        folder.rename(&log_file(file.number), "archive.new").expect("it exists");
        folder.rename("archive.new", &log_file(file.number)).expect("it exists");
        archive(&disk, &folder, file).expect("it is there already");
        assert!(folder.after_power_cut(kept).list().expect("names").contains(&log_file(file.number)));
    }
}

#[test]
fn a_truncated_file_is_not_restored_and_a_torn_tail_is_reported() {
    let (disk, _) = log();
    let last = log_writer(&disk, FILE_BYTES).closed_files().last().expect("a file").number;
    let cut = disk.copy();
    cut.remove(&log_file(last + 1)).expect("it exists");
    let whole = restore_to(&[&cut], &SimulatedDisk::default(), Until::End).expect("a restore");
    assert_eq!((whole.version, whole.cut_bytes), (LAST_VERSION, 0));
    cut.flip(&log_file(last), 4096 + 40, 1);
    let error =
        restore_to(&[&cut.copy()], &SimulatedDisk::default(), Until::End).map(|found| found.cut_bytes);
    // Later records state that the damaged one was durable, or it was the last one.
    assert!(matches!(error, Err(LogError::Corrupt { .. }) | Ok(1..)), "{error:?}");
    cut.flip(&log_file(last), 4096 + 40, 1);
    cut.truncate(&log_file(last), FILE_BYTES as usize - 1);
    let error = restore_to(&[&cut], &SimulatedDisk::default(), Until::End).expect_err("a truncated file");
    assert!(error.to_string().contains("its header states more bytes"), "{error}");
}

#[test]
fn an_image_with_a_version_that_has_no_successor_is_rejected() {
    let mut image = Vec::new();
    CheckpointWriter::image(&mut image, "image", 1 << 63, 0).and_then(|mut image| image.end()).expect("room");
    let error = CheckpointReader::image(&image[..], "image", 0).map(drop).expect_err("too large").to_string();
    assert!(error.contains("`image`") && error.contains("below 2^63"), "{error}");
}

/// A call of the disk fails, or the disk becomes full.
#[test]
fn a_restore_whose_write_fails_can_be_repeated() {
    let (disk, folder) = log();
    for fault in [DiskFault::Error, DiskFault::Full] {
        for call in 0.. {
            let target = SimulatedDisk::default();
            target.fail(call, fault);
            let restored = restore_to(&[&folder, &disk], &target, Until::End);
            if target.calls() <= call {
                assert!(call > 10 && restored.is_ok(), "{call} calls: {restored:?}");
                break;
            }
            target.add_room();
            let context = format!("call {call}, {fault:?}: {restored:?}");
            match restored {
                Ok(_) => assert!(fault == DiskFault::Full, "{context}: an error was ignored"),
                Err(_) => {
                    for kept in [Kept::Nothing, Kept::Random(call), Kept::Random(!call)] {
                        let target = target.after_power_cut(kept);
                        check_no_store_or_a_whole_one(&[&folder, &disk], &target, &context);
                    }
                    check_repeated(&[&folder, &disk], &target, &context);
                }
            }
        }
    }
}

/// The error names the file, and the next restore is whole.
#[test]
fn a_restore_whose_read_fails_can_be_repeated() {
    let (disk, folder) = log();
    for fails_in_archive in [false, true] {
        for read in 0.. {
            let (disk, folder, target) = (disk.copy(), folder.copy(), SimulatedDisk::default());
            let failing = if fails_in_archive { &folder } else { &disk };
            failing.fail_read(failing.reads() + read);
            let restored = restore_to(&[&folder, &disk], &target, Until::End);
            let Some(name) = failing.failed_read() else {
                assert!(read > 2 && restored.is_ok(), "{read} reads: {restored:?}");
                break;
            };
            let context = format!("read {read} of `{name}`");
            let error = restored.expect_err(&context);
            assert!(names_file(&error, &name), "{context}: {error}");
            check_repeated(&[&folder, &disk], &target, &context);
        }
    }
}

/// Bytes whose read with a number fails.
struct FailingImage<'i>(&'i [u8], Option<usize>);

impl Read for FailingImage<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.1.as_mut() {
            Some(0) => return Err(io::Error::other("simulated")),
            Some(left) => *left -= 1,
            None => {}
        }
        self.0.read(bytes)
    }
}

/// A failed read differs from damage.
#[test]
fn a_restore_whose_image_cannot_be_read_names_it() {
    let ((disk, folder), image) = (log(), image());
    for read in 0.. {
        let target = SimulatedDisk::default();
        let failing = FailingImage(&image, Some(read));
        let Err(error) = restore_image(failing, &[&folder, &disk], &target, Until::End) else {
            assert!(read > 4, "{read} reads");
            assert_eq!(versions(&target), (IMAGE_VERSION + 1..=LAST_VERSION).collect::<Vec<_>>());
            break;
        };
        assert!(names_file(&error, "image"), "read {read}: {error}");
        check_repeated(&[&folder, &disk], &target, &format!("read {read} of the image"));
    }
}

/// A file that could not be compared is not taken for one of another history.
#[test]
fn archiving_whose_read_fails_can_be_repeated() {
    let (disk, folder) = log();
    let whole = |folder: &SimulatedDisk| {
        let target = SimulatedDisk::default();
        restore_to(&[folder, &disk], &target, Until::End).expect("a restore");
        versions(&target).len() as u64 == LAST_VERSION - IMAGE_VERSION
    };
    let (number, end) = (4, closed_end(&folder, 4));
    let closed = ClosedFile { number, bytes: FILE_BYTES, end, last_version: 0 };
    for is_there in [false, true] {
        for fails_in_archive in [false, true] {
            for read in 0.. {
                let (disk, folder) = (disk.copy(), folder.copy());
                if !is_there {
                    folder.remove(&log_file(closed.number)).expect("a file");
                }
                let failing = if fails_in_archive { &folder } else { &disk };
                failing.fail_read(failing.reads() + read);
                let archived = archive(&disk, &folder, &closed);
                let Some(name) = failing.failed_read() else {
                    assert!(read > 0 && archived.is_ok(), "{read} reads: {archived:?}");
                    break;
                };
                let context = format!("read {read} of `{name}`, {is_there}, {fails_in_archive}");
                let error = archived.expect_err(&context);
                assert!(names_file(&error, &log_file(closed.number)), "{context}: {error}");
                archive(&disk, &folder, &closed).expect(&context);
                assert!(whole(&folder), "{context}");
            }
        }
    }
}

/// Returns the end of the records of an archived file.
fn closed_end(folder: &SimulatedDisk, number: u64) -> u64 {
    let files = folder.files();
    files.iter().find(|(name, _)| *name == log_file(number)).expect("a file").1 as u64
}

#[test]
fn the_time_is_a_change_without_key() {
    let mut encoded = Changes::default();
    encoded.time(u64::MAX);
    let decoded: Vec<_> = changes(encoded.bytes()).collect();
    assert_eq!(decoded, [Ok(Change::Time { milliseconds: u64::MAX })]);
}
