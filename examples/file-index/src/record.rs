//! The values of the table `files`: the attributes of a file of any kind, including directories and links.
//!
//! A value has 48 bytes. All numbers are little-endian, as in the nodes of the store. (Numbers in *keys* are
//! big-endian, because keys compare as bytes.)
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | mode: kind and permissions in the format of `st_mode` |
//! | 4..8 | nanoseconds of the modification time |
//! | 8..16 | identifier: the first part of the keys of the file's chunks; unique in the store, from 1 |
//! | 16..24 | size in bytes |
//! | 24..32 | modification time in seconds since 1970, signed |
//! | 32..40 | inode number |
//! | 40..44 | owner |
//! | 44..48 | group |

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// The size of a record in bytes.
pub(crate) const RECORD_BYTES: usize = 48;

const KIND_MASK: u32 = 0o170_000;
const KIND_FILE: u32 = 0o100_000;
const KIND_DIRECTORY: u32 = 0o040_000;

/// The attributes of a file in the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Kind and permissions in the format of `st_mode`.
    pub(crate) mode: u32,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Modification time: seconds since 1970 and nanoseconds.
    pub(crate) modified: (i64, u32),
    /// Inode number.
    pub(crate) inode: u64,
    /// Owner.
    pub(crate) owner: u32,
    /// Group.
    pub(crate) group: u32,
}

impl Attributes {
    /// Returns the attributes in `metadata`.
    pub(crate) fn new(metadata: &Metadata) -> Attributes {
        Attributes {
            mode: metadata.mode(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec() as u32),
            inode: metadata.ino(),
            owner: metadata.uid(),
            group: metadata.gid(),
        }
    }

    /// Returns whether the file is a regular file.
    pub(crate) fn is_file(&self) -> bool {
        self.mode & KIND_MASK == KIND_FILE
    }

    /// Returns whether the file is a directory.
    pub(crate) fn is_directory(&self) -> bool {
        self.mode & KIND_MASK == KIND_DIRECTORY
    }

    /// Returns the number of bytes to split into chunks: 0 unless the file is a regular file.
    pub(crate) fn content_bytes(&self) -> u64 {
        if self.is_file() { self.size } else { 0 }
    }
}

/// A value of the table `files`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The first part of the keys of the file's chunks.
    pub(crate) identifier: u64,
    /// The attributes at the time of the walk.
    pub(crate) attributes: Attributes,
}

impl Record {
    /// Encodes the record.
    pub(crate) fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let attributes = self.attributes;
        let mut bytes = [0; RECORD_BYTES];
        bytes[0..4].copy_from_slice(&attributes.mode.to_le_bytes());
        bytes[4..8].copy_from_slice(&attributes.modified.1.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.identifier.to_le_bytes());
        bytes[16..24].copy_from_slice(&attributes.size.to_le_bytes());
        bytes[24..32].copy_from_slice(&attributes.modified.0.to_le_bytes());
        bytes[32..40].copy_from_slice(&attributes.inode.to_le_bytes());
        bytes[40..44].copy_from_slice(&attributes.owner.to_le_bytes());
        bytes[44..48].copy_from_slice(&attributes.group.to_le_bytes());
        bytes
    }

    /// Decodes a record. Returns `None` unless `bytes` has [`RECORD_BYTES`] bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Record> {
        let bytes: &[u8; RECORD_BYTES] = bytes.try_into().ok()?;
        let (word, half) =
            (|at| u64::from_le_bytes(part(bytes, at)), |at| u32::from_le_bytes(part(bytes, at)));
        let attributes = Attributes {
            mode: half(0),
            size: word(16),
            modified: (word(24) as i64, half(4)),
            inode: word(32),
            owner: half(40),
            group: half(44),
        };
        Some(Record { identifier: word(8), attributes })
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
        let attributes =
            Attributes { mode: 0o100_644, size: 2, modified: (-1, 3), inode: 4, owner: 5, group: 6 };
        let bytes = Record { identifier: 7, attributes }.to_bytes();
        assert_eq!(bytes[0..8], [0xa4, 0x81, 0, 0, 3, 0, 0, 0]);
        assert_eq!(bytes[8..24], [7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[24..40], [255, 255, 255, 255, 255, 255, 255, 255, 4, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[40..48], [5, 0, 0, 0, 6, 0, 0, 0]);
        assert!(attributes.is_file() && !attributes.is_directory());
        assert!(Attributes { mode: 0o040_755, ..attributes }.is_directory());
    }

    proptest! {
        #[test]
        fn decoding_restores_a_record(numbers: [u64; 3], seconds: i64, halves: [u32; 4]) {
            let ([identifier, size, inode], [mode, nanoseconds, owner, group]) = (numbers, halves);
            let attributes = Attributes { mode, size, modified: (seconds, nanoseconds), inode, owner, group };
            let record = Record { identifier, attributes };
            prop_assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record));
        }

        #[test]
        fn other_lengths_are_rejected(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(Record::from_bytes(&bytes).is_some(), bytes.len() == RECORD_BYTES);
        }
    }
}
