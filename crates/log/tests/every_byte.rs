//! Flips of every byte and truncations to every length of all files of a small store: a checkpoint and three
//! log files. A recovery returns exactly the records that the damage leaves, or the error that names the
//! damaged file and the offset of the first invalid record or block in it. A log that is truncated there has
//! the records before.

use std::sync::Arc;

use honeycomb_layout::{WAL_BLOCK_BYTES, wal_block, wal_checkpoint, wal_file, wal_record};
use honeycomb_log::{
    Block, Changes, CheckpointReader, CheckpointWriter, Directory, Durability, LogError, LogWriter,
    MANIFEST_FILE, Manifest, Record, Storage, log_file, log_file_number, read_records,
};
use honeycomb_testing::{Random, SimulatedDisk, log_writer, seed_or};

/// The smallest log file: a block of records after that of the header.
const FILE_BYTES: u64 = 2 * WAL_BLOCK_BYTES as u64;
/// The version of the checkpoint. The first log file has earlier records as well.
const CHECKPOINT: u64 = 5;
const LAST_FILE: u64 = 3;
/// Flipped bits of each byte.
const BITS: usize = 3;
/// Parameters of an unordered table.
const PARAMETERS: [u8; 6] = [0, 4, 0, 0, 30, 60];

/// The files of a store, and where their parts are.
struct Written {
    disk: SimulatedDisk,
    records: Vec<Place>,
    /// The offsets of the blocks of the checkpoint.
    blocks: Vec<usize>,
}

/// The place of a record.
#[derive(Clone, Copy)]
struct Place {
    file: u64,
    start: usize,
    /// The end without the padding.
    end: usize,
    version: u64,
    durable: usize,
}

/// What a recovery returns.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Expected {
    /// All records.
    Whole,
    /// The records before this version.
    Cut {
        version: u64,
    },
    Corrupt {
        offset: usize,
        version: u64,
    },
}

#[test]
fn every_flipped_bit_leaves_the_records_before_it_or_is_reported_with_its_place() {
    let (written, mut random) = (written(), Random::new(seed_or(21)));
    for (name, length) in written.disk.files() {
        for offset in 0..length {
            for _ in 0..BITS {
                let bit = random.below(8) as u32;
                written.disk.flip(&name, offset, bit);
                let found = recover(&written.disk);
                written.disk.flip(&name, offset, bit);
                let context = format!("bit {bit} of byte {offset} of `{name}`");
                written.check(&name, &written.after_flip(&name, offset), found, &context);
            }
        }
    }
}

#[test]
fn every_truncation_leaves_the_records_before_it_or_is_reported_with_its_place() {
    let written = written();
    for (name, length) in written.disk.files() {
        for length in 0..length {
            let damaged = written.disk.copy();
            damaged.truncate(&name, length);
            let (context, found) = (format!("{length} bytes of `{name}`"), recover(&damaged));
            if let Err(LogError::Corrupt { offset, version, .. }) = found
                && let Some(number) = log_file_number(&name)
                && offset >= WAL_BLOCK_BYTES as u64
            {
                truncate_log(&damaged, number, offset);
                assert_eq!(recover(&damaged).expect(&context), version.max(CHECKPOINT), "{context}");
            }
            written.check(&name, &written.after_truncation(&name, length), found, &context);
        }
    }
}

impl Written {
    fn after_flip(&self, name: &str, offset: usize) -> Vec<Expected> {
        let Some(number) = log_file_number(name) else {
            return self.after_damage_of_another_file(name, offset);
        };
        let has_checksum = |offset| {
            offset < wal_file::CRC_OFFSET + wal_file::CRC_BYTES
                || (wal_file::SALT_OFFSET..wal_file::SIZE).contains(&offset)
        };
        if has_checksum(offset) {
            return vec![Expected::Corrupt { offset: 0, version: 0 }];
        }
        let size = wal_file::FILE_BYTES_OFFSET..wal_file::FILE_BYTES_OFFSET + wal_file::FILE_BYTES_BYTES;
        if number == LAST_FILE && size.contains(&offset) {
            // No checksum covers the size. The file seems to be truncated if it is larger.
            return vec![Expected::Whole, self.truncated(FILE_BYTES as usize)];
        }
        let is_hit = |record: &&Place| record.file == number && (record.start..record.end).contains(&offset);
        let hit = self.records.iter().find(is_hit);
        vec![hit.map_or(Expected::Whole, |record| self.without(record, usize::MAX))]
    }

    fn after_truncation(&self, name: &str, length: usize) -> Vec<Expected> {
        let Some(number) = log_file_number(name) else {
            return self.after_damage_of_another_file(name, length);
        };
        if length < WAL_BLOCK_BYTES {
            return vec![Expected::Corrupt { offset: 0, version: 0 }];
        }
        let is_hit = |record: &&Place| record.file == number && length < record.end;
        let left = self.records.iter().find(is_hit).map(|record| self.without(record, length));
        match left {
            Some(corrupt @ Expected::Corrupt { .. }) => vec![corrupt],
            None if number < LAST_FILE => vec![Expected::Whole],
            _ => vec![self.truncated(length)],
        }
    }

    /// The last log file has this length and is shorter than its header states.
    fn truncated(&self, length: usize) -> Expected {
        let is_before = |record: &&Place| record.file < LAST_FILE || record.end <= length;
        let version = self.records.iter().rfind(is_before).map_or(0, |record| record.version);
        Expected::Corrupt { offset: length, version }
    }

    /// The manifest, or the checkpoint.
    fn after_damage_of_another_file(&self, name: &str, offset: usize) -> Vec<Expected> {
        if name == MANIFEST_FILE || offset < wal_checkpoint::SIZE {
            return vec![Expected::Corrupt { offset: 0, version: 0 }];
        }
        let &block = self.blocks.iter().rfind(|&&block| block <= offset).expect("the first block");
        // The content of a block is at fault if it ends with the file, which may be due to the length.
        let offsets = [block, block + wal_block::SIZE];
        offsets.map(|offset| Expected::Corrupt { offset, version: CHECKPOINT }).to_vec()
    }

    /// What is left if a record is invalid, and its file has this length at most.
    fn without(&self, invalid: &Place, length: usize) -> Expected {
        let shows_damage = |later: &Place| {
            later.file == invalid.file
                && later.start > invalid.start
                && later.end <= length
                && later.durable > invalid.start
        };
        if invalid.file < LAST_FILE || self.records.iter().any(shows_damage) {
            return Expected::Corrupt { offset: invalid.start, version: invalid.version - 1 };
        }
        Expected::Cut { version: invalid.version }
    }

    fn check(&self, name: &str, expected: &[Expected], found: Result<u64, LogError>, context: &str) {
        let found = match found {
            Ok(last) if last == self.records[self.records.len() - 1].version => Expected::Whole,
            Ok(last) => Expected::Cut { version: last + 1 },
            Err(LogError::Corrupt { file, offset, version, .. }) => {
                assert_eq!(file, name, "{context}");
                Expected::Corrupt { offset: offset as usize, version }
            }
            Err(error) => panic!("{context}: {error}"),
        };
        assert!(expected.contains(&found), "{context}: {found:?}, not {expected:?}");
    }
}

/// Recovers, checks all pairs and records, and returns the version of the last one.
fn recover(disk: &SimulatedDisk) -> Result<u64, LogError> {
    let directory = Directory::open(Arc::new(disk.clone()))?;
    let mut checkpoint = directory.checkpoint()?.expect("the manifest names a checkpoint");
    read_checkpoint(&mut checkpoint, |_| {})?;
    let mut last = CHECKPOINT;
    directory.replay(|_, found: Record<'_>| {
        assert_eq!(found.version, last + 1);
        assert_eq!(found.changes, record(found.version).bytes());
        last = found.version;
        Ok::<(), LogError>(())
    })?;
    Ok(last)
}

fn truncate_log(disk: &SimulatedDisk, number: u64, offset: u64) {
    let directory = Directory::open(Arc::new(disk.clone())).expect("valid");
    directory.truncate(disk, number, offset).expect("room");
}

/// Reads a checkpoint, and passes the offset of each block to `block`.
fn read_checkpoint(checkpoint: &mut CheckpointReader, mut block: impl FnMut(u64)) -> Result<(), LogError> {
    let mut next = 0;
    loop {
        block(checkpoint.progress().0);
        match checkpoint.next_block()? {
            Block::Table { name, .. } => assert_eq!((name, next), ("t", 0)),
            Block::Pairs(pairs) => {
                for pair in pairs {
                    assert_eq!(pair, Some((&[next][..], &[next; 70][..])));
                    next += 1;
                }
            }
            Block::End { pairs } => {
                assert_eq!((pairs, next), (5, 5));
                return Ok(());
            }
            Block::Unordered { tree, parameters, name } => {
                assert_eq!((tree, parameters, name, next), (2, &PARAMETERS[..], "u", 5));
            }
        }
    }
}

/// Three log files of groups of several records, of which some become durable with a later group.
fn written() -> Written {
    let disk = SimulatedDisk::default();
    let mut writer = log_writer(&disk, FILE_BYTES);
    let mut version = 0;
    // The last file is half full.
    while writer.current_file() < LAST_FILE || !writer.is_half_full() {
        for _ in 0..1 + version % 3 {
            version += 1;
            writer.append(version, record(version).bytes()).expect("room");
        }
        let durability = if version % 4 == 0 { Durability::Later } else { Durability::Now };
        writer.flush(durability).expect("room");
    }
    write_checkpoint(&disk, &writer);
    let records = places(&disk);
    let mut blocks = Vec::new();
    let mut checkpoint = CheckpointReader::open(&disk, 1).expect("valid");
    read_checkpoint(&mut checkpoint, |offset| blocks.push(offset as usize)).expect("valid");
    Written { disk, records, blocks }
}

fn write_checkpoint(disk: &SimulatedDisk, writer: &LogWriter) {
    let mut checkpoint = CheckpointWriter::create(disk, 1, CHECKPOINT, 0).expect("room");
    checkpoint.table(1, "t").expect("room");
    (0..5_u8).for_each(|number| checkpoint.push(&[number], &[number; 70]).expect("room"));
    checkpoint.unordered_table(2, "u", &PARAMETERS).expect("room");
    let pairs = checkpoint.finish().expect("room");
    let first_file = writer.first_file_after(CHECKPOINT);
    assert_eq!(first_file, 1);
    let manifest = Manifest { checkpoint: 1, version: CHECKPOINT, first_file, pairs };
    manifest.store(disk).expect("room");
}

/// Returns the places of all records of the log files, also of those in the checkpoint.
fn places(disk: &SimulatedDisk) -> Vec<Place> {
    let (mut places, mut after) = (Vec::new(), 0);
    for file in 1..=LAST_FILE {
        let mut bytes = vec![0; FILE_BYTES as usize];
        disk.open(&log_file(file)).and_then(|file| file.read_at(0, &mut bytes)).expect("a log file");
        let tail = read_records(&bytes, file, None, after, |found| {
            let start = found.offset as usize;
            let end = start + wal_record::SIZE + found.changes.len();
            let (version, durable) = (found.version, found.durable as usize);
            places.push(Place { file, start, end, version, durable });
            Ok::<(), LogError>(())
        });
        after = tail.expect("valid").version;
    }
    assert!(places.len() > 50, "{} records", places.len());
    places
}

fn record(version: u64) -> Changes {
    let mut changes = Changes::default();
    changes.put(1, &version.to_be_bytes(), &vec![version as u8; (version as usize - 1) * 37 % 200]);
    changes
}
