//! Every bit flip and every truncation of a log file, and flips in manifests and checkpoints: the recovery
//! returns the written records, without a torn end at most, or the error that names the damage.

use std::sync::Arc;

use honeycomb_log::{
    Block, Changes, CheckpointReader, CheckpointWriter, Directory, Durability, LogError, MANIFEST_FILE,
    Manifest, Record, Storage, checkpoint_file, log_file,
};
use honeycomb_testing::SimulatedDisk;

const HEADER_BYTES: usize = 4096;
const GROUPS: u64 = 12;

#[test]
fn a_flipped_bit_of_the_log_is_cut_or_reported() {
    let (disk, ends) = written();
    let (last, size) = (ends[ends.len() - 2], log_bytes(&disk));
    for offset in 0..ends[ends.len() - 1] + 64 {
        let damaged = disk.copy();
        damaged.flip(&log_file(1), offset, (offset % 8) as u32);
        let in_header = offset < 40;
        match recover(&damaged) {
            Ok((records, cut)) => {
                let whole = ends.iter().position(|&end| offset < end).unwrap_or(ends.len()) as u64;
                assert!(!in_header, "byte {offset} of the header");
                // The unused bytes of the header, the padding between records and the bytes after the end.
                let is_unused = offset < HEADER_BYTES || records == GROUPS;
                assert!(is_unused || (offset >= last && records == whole), "byte {offset}: {records}");
                assert!(is_unused || cut > 0 || offset < last + 24, "byte {offset}: {cut} bytes cut");
            }
            Err(LogError::Corrupt { file, offset: at, version, .. }) => {
                assert_eq!(file, log_file(1));
                let record = ends.iter().filter(|&&end| end <= offset).count();
                let start = if record == 0 { HEADER_BYTES } else { ends[record - 1] };
                // A larger size in the header: the file seems to be truncated.
                let in_size = (40..48).contains(&offset);
                let expected = match (in_header, in_size) {
                    (true, _) => (0, 0),
                    (_, true) => (size as u64, GROUPS),
                    _ => (start as u64, record as u64),
                };
                assert_eq!((at, version), expected, "byte {offset}");
                assert!(offset < last, "byte {offset} is in the last group");
            }
            Err(LogError::Format { .. }) if in_header => {}
            Err(error) => panic!("byte {offset}: {error}"),
        }
    }
}

/// A log file has its size from its creation on, so a shorter one has lost records, perhaps.
#[test]
fn a_truncated_log_is_reported_and_can_be_repaired() {
    let (disk, ends) = written();
    let size = log_bytes(&disk);
    let lengths = (0..ends[ends.len() - 1] + 64).chain((0..size).step_by(997)).chain([size - 1]);
    for length in lengths {
        let damaged = disk.copy();
        damaged.truncate(&log_file(1), length);
        let whole = ends.iter().filter(|&&end| end <= length).count() as u64;
        match recover(&damaged) {
            Err(LogError::Corrupt { offset: 0, .. }) => assert!(length < HEADER_BYTES),
            Err(LogError::Corrupt { file, offset, version, .. }) => {
                // The padding at the end of a record is not needed.
                let is_whole = version == whole || ends.iter().any(|&end| (end - 7..end).contains(&length));
                assert!(file == log_file(1) && offset == length as u64 && is_whole, "{length}: {version}");
                let storage: Arc<dyn Storage> = Arc::new(damaged.clone());
                let directory = Directory::open(storage.clone()).unwrap();
                directory.truncate(&*storage, 1, offset).unwrap();
                assert_eq!(recover(&damaged).unwrap().0, version, "{length} bytes");
            }
            other => panic!("{length} bytes: {other:?}"),
        }
    }
}

/// Returns the size of the first log file.
fn log_bytes(disk: &SimulatedDisk) -> usize {
    let find = |(name, bytes)| (name == log_file(1)).then_some(bytes);
    disk.files().into_iter().find_map(find).expect("the disk has a log file")
}

#[test]
fn missing_files_are_named() {
    let disk = SimulatedDisk::default();
    for _ in 0..3 {
        recover_and_append(&disk);
    }
    let without = |name: &str| {
        let damaged = disk.copy();
        honeycomb_log::Storage::remove(&damaged, name).expect("the file exists");
        recover(&damaged)
    };
    for name in [log_file(1), log_file(2), MANIFEST_FILE.to_owned()] {
        match without(&name) {
            Err(LogError::Missing { file, .. }) => assert_eq!(file, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_flipped_bit_of_a_file_before_the_last_one_is_reported() {
    let disk = SimulatedDisk::default();
    for _ in 0..2 {
        recover_and_append(&disk);
    }
    let end = HEADER_BYTES + 56;
    for offset in HEADER_BYTES..end {
        let damaged = disk.copy();
        damaged.flip(&log_file(1), offset, 0);
        match recover(&damaged) {
            Err(LogError::Corrupt { file, offset, .. }) => {
                assert_eq!((file, offset), (log_file(1), HEADER_BYTES as u64));
            }
            // The padding of the record.
            Ok((2, 0)) => assert!(offset >= end - 8, "byte {offset}"),
            other => panic!("byte {offset}: {other:?}"),
        }
    }
}

#[test]
fn a_damaged_manifest_is_reported() {
    let (disk, _) = written();
    for offset in 0..64 {
        let damaged = disk.copy();
        damaged.flip(MANIFEST_FILE, offset, 3);
        let found = recover(&damaged);
        assert!(matches!(&found, Err(LogError::Corrupt { file, .. }) if file == MANIFEST_FILE), "{found:?}");
        damaged.truncate(MANIFEST_FILE, offset);
        assert!(matches!(recover(&damaged), Err(LogError::Corrupt { .. })), "{offset} bytes");
    }
    let manifest = Manifest { checkpoint: 3, version: 70, first_file: 9, pairs: 12 };
    assert_eq!(Manifest::decode(&manifest.encode()).expect("valid"), manifest);
}

#[test]
fn a_damaged_checkpoint_is_reported() {
    let disk = SimulatedDisk::default();
    let mut writer = CheckpointWriter::create(&disk, 5, 99, 0).expect("room");
    writer.table(7, "numbers").expect("room");
    for number in 0..2000_u32 {
        writer.push(&number.to_be_bytes(), &vec![number as u8; 300]).expect("room");
    }
    writer.table(8, "empty").expect("room");
    writer.unordered_table(9, "unordered", &[0, 4, 0, 0, 30, 60]).expect("room");
    let pairs = writer.finish().expect("room");
    assert_eq!((pairs, read_checkpoint(&disk).expect("valid")), (2000, (2000, 3)));
    let bytes = disk.files()[0].1;
    for offset in (0..bytes).step_by(97).chain(0..200).chain(bytes - 200..bytes) {
        let damaged = disk.copy();
        damaged.flip(&checkpoint_file(5), offset, (offset % 8) as u32);
        assert!(read_checkpoint(&damaged).is_err(), "byte {offset}");
        damaged.truncate(&checkpoint_file(5), offset);
        assert!(read_checkpoint(&damaged).is_err(), "{offset} bytes");
    }
}

#[test]
fn a_truncated_corrupt_log_is_recovered_up_to_the_damage() {
    let disk = SimulatedDisk::default();
    for _ in 0..3 {
        recover_and_append(&disk);
    }
    let damages = [(1, 4096 + 30), (2, 4096 + 30), (2, 16), (1, 16)];
    for (number, offset) in damages {
        let damaged = disk.copy();
        damaged.flip(&log_file(number), offset, 1);
        let Err(LogError::Corrupt { file, offset, .. }) = recover(&damaged) else { panic!("{number}") };
        assert_eq!(file, log_file(number));
        let directory = Directory::open(Arc::new(damaged.clone())).expect("the names are valid");
        let removed = directory.truncate(&damaged, number, offset).expect("room");
        assert_eq!(removed.files, if offset == 0 && number == 2 { 2 } else { 3 - number });
        assert_eq!(recover(&damaged).expect("valid"), (number - 1, 0), "file {number}, byte {offset}");
        recover_and_append(&damaged);
        assert_eq!(recover(&damaged).expect("valid"), (number, 0), "file {number}, byte {offset}");
    }
    let directory = Directory::open(Arc::new(disk.clone())).expect("valid");
    assert!(matches!(directory.truncate(&disk, 9, 0), Err(LogError::Missing { .. })));
}

fn read_checkpoint(disk: &SimulatedDisk) -> Result<(u64, usize), LogError> {
    let mut reader = CheckpointReader::open(disk, 5)?;
    assert_eq!(reader.version(), 99);
    let (mut found, mut tables) = (0, 0);
    loop {
        match reader.next_block()? {
            Block::Table { .. } => tables += 1,
            Block::Unordered { tree, parameters, name } => {
                assert_eq!((tree, parameters, name), (9, &[0, 4, 0, 0, 30, 60][..], "unordered"));
                tables += 1;
            }
            Block::Pairs(pairs) => {
                for pair in pairs {
                    let (key, value) = pair.expect("a valid block has whole pairs");
                    assert_eq!(key, (found as u32).to_be_bytes());
                    assert_eq!(value, vec![found as u8; 300]);
                    found += 1;
                }
            }
            Block::End { pairs } => {
                assert_eq!(pairs, found);
                return Ok((found, tables));
            }
        }
    }
}

/// A log file of groups of one record each, every one durable, and the ends of the records.
fn written() -> (SimulatedDisk, Vec<usize>) {
    let disk = SimulatedDisk::default();
    let directory = Directory::open(Arc::new(disk.clone())).expect("a new directory");
    let replayed = directory.replay(|_, _| Ok::<(), LogError>(())).expect("nothing");
    let mut writer = directory.start_writer(replayed, 1 << 16).expect("room");
    for version in 1..=GROUPS {
        writer.append(version, record(version).bytes()).expect("room");
        writer.flush(Durability::Now).expect("room");
    }
    let mut ends = Vec::new();
    let directory = Directory::open(Arc::new(disk.clone())).expect("valid");
    let replay = directory.replay(|_, found: Record<'_>| {
        ends.push((found.offset as usize + 24 + found.changes.len()).next_multiple_of(8));
        Ok::<(), LogError>(())
    });
    replay.expect("valid");
    (disk, ends)
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

fn recover_and_append(disk: &SimulatedDisk) {
    let directory = Directory::open(Arc::new(disk.clone())).expect("valid");
    let replayed = directory.replay(|_, _| Ok::<(), LogError>(())).expect("valid");
    let version = replayed.0.version;
    let mut writer = directory.start_writer(replayed, 1 << 16).expect("room");
    writer.append(version + 1, record(version + 1).bytes()).expect("room");
    writer.flush(Durability::Now).expect("room");
}

fn record(version: u64) -> Changes {
    let mut changes = Changes::default();
    changes.put(1, &version.to_be_bytes(), &vec![version as u8; (version as usize - 1) * 37 % 200]);
    changes
}
