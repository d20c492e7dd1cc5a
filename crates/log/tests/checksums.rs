//! Random bodies behind valid checksums, which random bytes never have: a reader returns what the bytes
//! state, or an error with their place. `PROPTEST_CASES` is the number of cases.

use std::sync::Arc;

use crc32c::{crc32c, crc32c_append};
use honeycomb_layout::{
    WAL_FILE_FORMAT, WAL_FORMAT, wal_block, wal_checkpoint, wal_file, wal_manifest, wal_record,
};
use honeycomb_log::{
    Block, Changes, CheckpointReader, CheckpointWriter, Directory, Durability, LogError, LogReader,
    MANIFEST_FILE, Manifest, Record, Storage, log_file, read_records,
};
use honeycomb_testing::{SimulatedDisk, log_writer};
use proptest::prelude::*;

/// The offset of the first record of a log file.
const RECORDS: usize = 4096;
/// The last version of the log of [`written`], of two files of which each has half of the records.
const LAST: u64 = 8;

/// Numbers at the edges and any other ones.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..12_u64, u64::MAX - 3..=u64::MAX, any::<u64>()]
}

/// Content of blocks: any bytes, text, or pairs of which the last one may be cut off.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let pair = (prop::collection::vec(any::<u8>(), 0..20), prop::collection::vec(any::<u8>(), 0..20));
    let pairs = (prop::collection::vec(pair, 0..8), 0..4_usize).prop_map(|(pairs, cut)| {
        let mut bytes: Vec<u8> = pairs.iter().flat_map(|(key, value)| pair_bytes(key, value)).collect();
        bytes.truncate(bytes.len().saturating_sub(cut));
        bytes
    });
    let text = "[a-zü]{0,30}".prop_map(String::into_bytes);
    prop_oneof![prop::collection::vec(any::<u8>(), 0..400), text, pairs]
}

fn pair_bytes(key: &[u8], value: &[u8]) -> Vec<u8> {
    let lengths = [&(value.len() as u32).to_le_bytes()[..], &(key.len() as u16).to_le_bytes()].concat();
    [&lengths, key, value].concat()
}

/// An image of version 5 whose first block has this kind and content.
fn image(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    CheckpointWriter::image(&mut bytes, "image", 5, 0).and_then(|mut image| image.end()).expect("room");
    bytes.truncate(wal_checkpoint::SIZE);
    let mut header = [0; wal_block::SIZE];
    header[wal_block::LENGTH_OFFSET..][..4].copy_from_slice(&(content.len() as u32).to_le_bytes());
    header[wal_block::KIND_OFFSET] = kind;
    let (number, position) = (1_u64, 0_u64);
    let seed = crc32c_append(crc32c(&number.to_le_bytes()), &position.to_le_bytes());
    let crc = crc32c_append(crc32c_append(seed, &header[..wal_block::CRC_OFFSET]), content);
    header[wal_block::CRC_OFFSET..].copy_from_slice(&crc.to_le_bytes());
    [&bytes, &header[..], content].concat()
}

/// A log file with one record and no header.
fn file_of_record(version: u64, durable: u32, changes: &[u8]) -> Vec<u8> {
    let mut header = [0; wal_record::SIZE];
    header[wal_record::DURABLE_OFFSET..][..4].copy_from_slice(&durable.to_le_bytes());
    header[wal_record::LENGTH_OFFSET..][..8].copy_from_slice(&(changes.len() as u64).to_le_bytes());
    header[wal_record::VERSION_OFFSET..][..8].copy_from_slice(&version.to_le_bytes());
    let crc = crc32c_append(crc32c(&1_u64.to_le_bytes()), &header[wal_record::DURABLE_OFFSET..]);
    let crc = crc32c_append(crc, changes);
    header[wal_record::CRC_OFFSET..][..4].copy_from_slice(&crc.to_le_bytes());
    [&vec![0; RECORDS], &header[..], changes].concat()
}

/// The header of a log file.
fn file_header(number: u64, first_version: u64, previous_end: u64, file_bytes: u64) -> Vec<u8> {
    let mut header = vec![0; wal_file::SIZE];
    header[..8].copy_from_slice(b"HONEYLOG");
    header[wal_file::NUMBER_OFFSET..][..8].copy_from_slice(&number.to_le_bytes());
    header[wal_file::FIRST_VERSION_OFFSET..][..8].copy_from_slice(&first_version.to_le_bytes());
    header[wal_file::PREVIOUS_END_OFFSET..][..8].copy_from_slice(&previous_end.to_le_bytes());
    header[wal_file::FORMAT_OFFSET..][..4].copy_from_slice(&(WAL_FILE_FORMAT as u32).to_le_bytes());
    let crc = crc32c_append(crc32c(&header[..wal_file::CRC_OFFSET]), &header[wal_file::SALT_OFFSET..]);
    header[wal_file::CRC_OFFSET..][..4].copy_from_slice(&crc.to_le_bytes());
    header[wal_file::FILE_BYTES_OFFSET..][..8].copy_from_slice(&file_bytes.to_le_bytes());
    header
}

fn record(version: u64) -> Changes {
    let mut record = Changes::default();
    record.put(1, format!("key {version}").as_bytes(), &[version as u8; 30]);
    record
}

/// Returns a disk with a log of two files and no checkpoint.
fn written() -> SimulatedDisk {
    let disk = SimulatedDisk::default();
    for first in [1, LAST / 2 + 1] {
        let mut writer = log_writer(&disk, 4 * 4096);
        for version in first..first + LAST / 2 {
            writer.append(version, record(version).bytes()).expect("room");
        }
        writer.flush(Durability::Now).expect("room");
    }
    disk
}

/// Replaces the beginning of a file.
fn replace(disk: &SimulatedDisk, name: &str, bytes: &[u8]) {
    disk.open(name).and_then(|mut file| file.write_at(0, bytes)).expect("the file exists");
}

/// Recovers as a store does, and returns the versions of the replayed records, which must be the written
/// ones.
fn recover(disk: &SimulatedDisk) -> Result<Vec<u64>, LogError> {
    let directory = Directory::open(Arc::new(disk.clone()))?;
    directory.checkpoint()?;
    let mut versions = Vec::new();
    let replayed = directory.replay(|_, found: Record<'_>| {
        assert_eq!(found.changes, record(found.version).bytes());
        versions.push(found.version);
        Ok::<(), LogError>(())
    })?;
    let mut writer = directory.start_writer(replayed, 4 * 4096, 7)?;
    let next = writer.last_version() + 1;
    writer.append(next, record(next).bytes())?;
    writer.flush(Durability::Now)?;
    Ok(versions)
}

#[test]
fn a_manifest_with_numbers_that_have_no_successors_is_rejected() {
    let valid = Manifest { checkpoint: 1, version: 5, first_file: 2, pairs: u64::MAX };
    assert_eq!(Manifest::decode(&valid.encode()).expect("valid"), valid);
    for invalid in [
        Manifest { checkpoint: u64::MAX, ..valid },
        Manifest { version: u64::MAX, ..valid },
        Manifest { first_file: u64::MAX, ..valid },
    ] {
        let error = Manifest::decode(&invalid.encode()).expect_err("too large").to_string();
        assert!(error.contains("`manifest`") && error.contains("below 2^63"), "{error}");
    }
}

/// The version after it does not exist, so a log could not continue.
#[test]
fn a_record_with_the_largest_version_is_not_valid() {
    let file = file_of_record(u64::MAX, 0, record(1).bytes());
    let tail = read_records(&file, 1, None, 0, |_| -> Result<(), LogError> { panic!("a record") });
    assert_eq!(tail.expect("torn").end, RECORDS as u64);
}

/// Whether an error says that files do not fit to each other.
fn is_of_content(error: &LogError) -> bool {
    matches!(error, LogError::Corrupt { .. } | LogError::Format { .. } | LogError::Missing { .. })
}

proptest! {
    #[test]
    fn a_block_with_a_valid_checksum_is_what_its_bytes_state_or_rejected(
        kind in 0..6_u8,
        content in content(),
    ) {
        let image = image(kind, &content);
        let mut reader = CheckpointReader::image(&image[..], "image", 0).expect("a valid header");
        match reader.next_block() {
            Ok(Block::Table { tree, name }) => {
                prop_assert_eq!((kind, [&tree.to_le_bytes(), name.as_bytes()].concat()), (1, content));
            }
            Ok(Block::Pairs(pairs)) => {
                let found: Vec<_> = pairs.collect();
                let whole = found.iter().flatten().flat_map(|(key, value)| pair_bytes(key, value));
                let whole: Vec<u8> = whole.collect();
                let is_cut = found.last().is_some_and(Option::is_none);
                prop_assert!(kind == 2 && content.starts_with(&whole));
                prop_assert!(is_cut != (whole == content), "{found:?}");
                prop_assert!(found.iter().rev().skip(1).all(Option::is_some));
            }
            Ok(Block::End { pairs }) => prop_assert_eq!((kind, pairs.to_le_bytes().to_vec()), (3, content)),
            Ok(Block::Unordered { tree, parameters, name }) => {
                let bytes = [&tree.to_le_bytes(), parameters, name.as_bytes()].concat();
                prop_assert_eq!((kind, bytes), (4, content));
            }
            Err(LogError::Corrupt { file, offset, version, .. }) => {
                prop_assert_eq!((&file[..], offset, version), ("image", wal_checkpoint::SIZE as u64, 5));
                let name = match kind {
                    1 => content.get(8..).filter(|name| !name.is_empty()),
                    4 => content.get(14..),
                    _ => None,
                };
                let has_name = name.is_some_and(|name| str::from_utf8(name).is_ok());
                prop_assert!(!has_name && kind != 2 && (kind != 3 || content.len() != 8));
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn a_record_with_a_valid_checksum_is_what_its_bytes_state_or_the_end(
        (version, after) in (number(), number()),
        durable in prop_oneof![0..600_u32, any::<u32>()],
        changes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let file = file_of_record(version, durable, &changes);
        let mut found = Vec::new();
        let tail = read_records(&file, 1, None, after, |record| {
            found.push((record.version, record.changes.to_vec(), record.offset, record.durable));
            honeycomb_log::changes(record.changes).for_each(drop);
            Ok::<(), LogError>(())
        });
        let durable = u64::from(durable) * 8;
        let is_valid_version = version > after && version < 1 << 63;
        if changes.is_empty() || !is_valid_version || durable > RECORDS as u64 {
            prop_assert!(found.is_empty());
            prop_assert_eq!(tail.expect("torn").end, RECORDS as u64);
        } else {
            prop_assert_eq!(tail.expect("valid").version, version);
            prop_assert_eq!(found, [(version, changes, RECORDS as u64, durable)]);
        }
    }

    #[test]
    fn a_manifest_with_a_valid_checksum_is_followed_or_rejected(
        (checkpoint, version, first_file, pairs) in (number(), number(), number(), number()),
        format in prop_oneof![9 => Just(WAL_FORMAT as u32), 1 => any::<u32>()],
    ) {
        let manifest = Manifest { checkpoint, version, first_file, pairs };
        let mut bytes = manifest.encode();
        bytes[wal_manifest::FORMAT_OFFSET..][..4].copy_from_slice(&format.to_le_bytes());
        let crc = crc32c(&bytes[..wal_manifest::CRC_OFFSET]);
        bytes[wal_manifest::CRC_OFFSET..][..4].copy_from_slice(&crc.to_le_bytes());
        let disk = written();
        replace(&disk, MANIFEST_FILE, &bytes);
        match recover(&disk) {
            Ok(versions) => {
                let first = if first_file == 2 { LAST / 2 + 1 } else { 1 };
                let expected = first.max(version.saturating_add(1))..=LAST;
                prop_assert!(format == WAL_FORMAT as u32 && versions.into_iter().eq(expected));
            }
            Err(error) => prop_assert!(is_of_content(&error), "{error}"),
        }
    }

    #[test]
    fn a_header_with_a_valid_checksum_is_followed_or_rejected(
        file in 1..3_u64,
        number in prop_oneof![1..3_u64, number()],
        (first_version, previous_end, file_bytes) in (number(), number(), number()),
    ) {
        let disk = written();
        replace(&disk, &log_file(file), &file_header(number, first_version, previous_end, file_bytes));
        if let Ok(Some(mut reader)) = LogReader::open(Arc::new(disk.clone()), 1, 0) {
            for version in 1..=LAST {
                let found = reader.next(LAST, |found| (found.version, found.changes.to_vec()));
                let Ok(Some(found)) = found else { break };
                prop_assert_eq!(found, (version, record(version).bytes().to_vec()));
            }
        }
        match recover(&disk) {
            Ok(versions) => prop_assert!(number == file && versions.into_iter().eq(1..=LAST)),
            Err(error) => prop_assert!(is_of_content(&error), "{error}"),
        }
    }
}
