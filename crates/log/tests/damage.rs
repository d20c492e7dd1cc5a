//! One damage of each kind to the files of a store: the error that names it, and the repair of the log.
//! `every_byte.rs` damages each byte.

use std::sync::Arc;

use honeycomb_layout::{WAL_BLOCK_BYTES, wal_record};
use honeycomb_log::{Changes, Directory, Durability, LogError, MANIFEST_FILE, Record, Storage, log_file};
use honeycomb_testing::{SimulatedDisk, log_writer};

/// The offset of the first record of a log file.
const RECORDS: usize = WAL_BLOCK_BYTES;
const FILES: u64 = 3;
const RECORDS_OF_FILE: u64 = 2;

#[test]
fn a_flipped_bit_is_reported_with_its_place() {
    let [first, _, last] = [1, 2, 3].map(log_file);
    let next = "the next file states that valid records follow here";
    let later = "a later valid record states that a valid record was durable here";
    for (file, offset, place, rule) in [
        (MANIFEST_FILE, 30, "byte 0, after version 0", "the checksum does not match"),
        (first.as_str(), 30, "byte 0, after version 0", "the checksum of the header does not match"),
        (first.as_str(), RECORDS, "byte 4096, after version 0", next),
        (last.as_str(), RECORDS, "byte 4096, after version 4", later),
    ] {
        let disk = written();
        disk.flip(file, offset, 1);
        check_error(&disk, &format!("`{file}` is corrupt at {place}: {rule}"));
    }
}

#[test]
fn a_file_that_is_too_short_is_reported() {
    let (disk, last) = (written(), log_file(FILES));
    disk.truncate(&last, RECORDS + 10);
    let rule = "the file ends here, but its header states more bytes";
    check_error(&disk, &format!("`{last}` is corrupt at byte 4106, after version 4: {rule}"));
    disk.truncate(MANIFEST_FILE, 63);
    check_error(&disk, "`manifest` is corrupt at byte 0, after version 0: the manifest has 64 bytes");
}

#[test]
fn a_missing_file_is_named() {
    let needed = "the manifest or a later log file needs it";
    let reasons = [
        (log_file(1), needed),
        (log_file(2), needed),
        (MANIFEST_FILE.to_owned(), "the directory has other files of a store"),
    ];
    for (file, reason) in reasons {
        let disk = written();
        disk.remove(&file).expect("the file exists");
        check_error(&disk, &format!("`{file}` is missing, but {reason}"));
    }
}

#[test]
fn the_last_record_is_a_torn_tail_if_it_is_invalid() {
    let (disk, [first, second]) = (written(), [5, 6].map(record_bytes));
    disk.flip(&log_file(FILES), RECORDS + first.next_multiple_of(8) + second - 1, 1);
    assert_eq!(recover(&disk).expect("valid"), (5, second as u64));
}

#[test]
fn a_truncated_log_is_recovered_up_to_the_damage() {
    for (number, offset) in [(1, RECORDS + 30), (2, RECORDS + 30), (2, 16), (1, 16)] {
        let disk = written();
        disk.flip(&log_file(number), offset, 1);
        let is_removed = number > 1 && offset < RECORDS;
        check_truncation(&disk, number, FILES - number + u64::from(is_removed));
    }
    let disk = written();
    disk.truncate(&log_file(FILES), RECORDS + 30);
    check_truncation(&disk, FILES, 0);
    let directory = Directory::open(Arc::new(disk.clone())).expect("valid");
    assert!(matches!(directory.truncate(&disk, 9, 0), Err(LogError::Missing { .. })));
}

/// Truncates the log at the damage to the first record, or to the header, of a file, and writes to it again.
fn check_truncation(disk: &SimulatedDisk, number: u64, removed_files: u64) {
    let Err(LogError::Corrupt { file, offset, .. }) = recover(disk) else { panic!("file {number}") };
    assert_eq!(file, log_file(number));
    let directory = Directory::open(Arc::new(disk.clone())).expect("the names are valid");
    assert_eq!(directory.truncate(disk, number, offset).expect("room").files, removed_files);
    let left = (number - 1) * RECORDS_OF_FILE;
    assert_eq!(recover(disk).expect("valid"), (left, 0), "file {number}, byte {offset}");
    append_file(disk);
    assert_eq!(recover(disk).expect("valid"), (left + RECORDS_OF_FILE, 0), "file {number}, byte {offset}");
}

fn check_error(disk: &SimulatedDisk, expected: &str) {
    assert_eq!(recover(disk).expect_err(expected).to_string(), expected);
}

/// Returns the number of records and of cut bytes, and checks that the records are the written ones.
fn recover(disk: &SimulatedDisk) -> Result<(u64, u64), LogError> {
    let directory = Directory::open(Arc::new(disk.clone()))?;
    let (replayed, _) = directory.replay(|_, found: Record<'_>| {
        assert_eq!(found.changes, record(found.version).bytes());
        Ok::<(), LogError>(())
    })?;
    Ok((replayed.records, replayed.cut_bytes))
}

/// A log of three files with two records each, every one durable.
fn written() -> SimulatedDisk {
    let disk = SimulatedDisk::default();
    (0..FILES).for_each(|_| append_file(&disk));
    disk
}

/// Appends a log file.
fn append_file(disk: &SimulatedDisk) {
    let mut writer = log_writer(disk, 1 << 16);
    for _ in 0..RECORDS_OF_FILE {
        let version = writer.last_version() + 1;
        writer.append(version, record(version).bytes()).expect("room");
        writer.flush(Durability::Now).expect("room");
    }
}

/// The bytes of a record without its padding.
fn record_bytes(version: u64) -> usize {
    wal_record::SIZE + record(version).bytes().len()
}

fn record(version: u64) -> Changes {
    let mut changes = Changes::default();
    changes.put(1, &version.to_be_bytes(), &[version as u8; 30]);
    changes
}
