//! The value of the table `files`: what the file system says of a file (any kind: directories and links too).
//!
//! 48 bytes; every number is little-endian, as in the store's own nodes. (Numbers in *keys* are big-endian,
//! because keys compare as bytes.)
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | mode: kind and permissions as `st_mode` has them |
//! | 4..8 | nanoseconds of the time of the last change |
//! | 8..16 | identifier: what the keys of the file's chunks begin with; unique in the store, from 1 |
//! | 16..24 | size in bytes |
//! | 24..32 | time of the last change in seconds since 1970, signed |
//! | 32..40 | inode number |
//! | 40..44 | owner |
//! | 44..48 | group |

use std::{fs::Metadata, os::unix::fs::MetadataExt};

/// Size of a record in bytes.
pub(crate) const RECORD_BYTES: usize = 48;

const KIND_MASK: u32 = 0o170_000;
const KIND_FILE: u32 = 0o100_000;
const KIND_DIRECTORY: u32 = 0o040_000;

/// What the file system says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Kind and permissions as `st_mode` has them.
    pub(crate) mode: u32,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Time of the last change of the content: seconds since 1970 and nanoseconds.
    pub(crate) modified: (i64, u32),
    /// Inode number.
    pub(crate) inode: u64,
    /// Owner.
    pub(crate) owner: u32,
    /// Group.
    pub(crate) group: u32,
}

impl Facts {
    /// The facts in `metadata`.
    pub(crate) fn of(metadata: &Metadata) -> Facts {
        Facts {
            mode: metadata.mode(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec() as u32),
            inode: metadata.ino(),
            owner: metadata.uid(),
            group: metadata.gid(),
        }
    }

    /// Whether it is a regular file.
    pub(crate) fn is_file(&self) -> bool {
        self.mode & KIND_MASK == KIND_FILE
    }

    /// Whether it is a directory.
    pub(crate) fn is_directory(&self) -> bool {
        self.mode & KIND_MASK == KIND_DIRECTORY
    }

    /// How many bytes of content there are to cut into chunks: none but in a regular file.
    pub(crate) fn content_bytes(&self) -> u64 {
        if self.is_file() { self.size } else { 0 }
    }
}

/// A value of the table `files`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// What the keys of the file's chunks begin with.
    pub(crate) identifier: u64,
    /// What the file system said.
    pub(crate) facts: Facts,
}

impl Record {
    /// The record's bytes.
    pub(crate) fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let facts = self.facts;
        let mut bytes = [0; RECORD_BYTES];
        bytes[0..4].copy_from_slice(&facts.mode.to_le_bytes());
        bytes[4..8].copy_from_slice(&facts.modified.1.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.identifier.to_le_bytes());
        bytes[16..24].copy_from_slice(&facts.size.to_le_bytes());
        bytes[24..32].copy_from_slice(&facts.modified.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&facts.inode.to_le_bytes());
        bytes[40..44].copy_from_slice(&facts.owner.to_le_bytes());
        bytes[44..48].copy_from_slice(&facts.group.to_le_bytes());
        bytes
    }

    /// The record in `bytes`; `None` unless there are [`RECORD_BYTES`].
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Record> {
        let bytes: &[u8; RECORD_BYTES] = bytes.try_into().ok()?;
        let (word, half) =
            (|at| u64::from_le_bytes(part(bytes, at)), |at| u32::from_le_bytes(part(bytes, at)));
        let facts = Facts {
            mode: half(0),
            size: word(16),
            modified: (word(24) as i64, half(4)),
            inode: word(32),
            owner: half(40),
            group: half(44),
        };
        Some(Record { identifier: word(8), facts })
    }
}

fn part<const N: usize>(bytes: &[u8; RECORD_BYTES], at: usize) -> [u8; N] {
    std::array::from_fn(|index| bytes[at + index])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_are_as_documented() {
        let facts = Facts { mode: 0o100_644, size: 2, modified: (-1, 3), inode: 4, owner: 5, group: 6 };
        let bytes = Record { identifier: 7, facts }.to_bytes();
        assert_eq!(bytes[0..8], [0xa4, 0x81, 0, 0, 3, 0, 0, 0]);
        assert_eq!(bytes[8..24], [7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[24..40], [255, 255, 255, 255, 255, 255, 255, 255, 4, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[40..48], [5, 0, 0, 0, 6, 0, 0, 0]);
        assert!(facts.is_file() && !facts.is_directory());
        assert!(Facts { mode: 0o040_755, ..facts }.is_directory());
    }

    proptest! {
        #[test]
        fn records_read_back(numbers: [u64; 3], seconds: i64, halves: [u32; 4]) {
            let ([identifier, size, inode], [mode, nanoseconds, owner, group]) = (numbers, halves);
            let facts = Facts { mode, size, modified: (seconds, nanoseconds), inode, owner, group };
            let record = Record { identifier, facts };
            prop_assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record));
        }

        #[test]
        fn other_lengths_are_no_record(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(Record::from_bytes(&bytes).is_some(), bytes.len() == RECORD_BYTES);
        }
    }
}
