//! The chunks of a file, and the keys and values of the table `chunks`.
//!
//! All chunks of a file have the same size except for the last one, which may be shorter: 64 KiB for files of
//! up to 4 MiB. The size doubles with the size of the file, up to 1 MiB for files above 32 MiB. So a file of
//! up to 64 MiB has at most 64 chunks. An empty file has no chunks.
//!
//! A key consists of the identifier of the file and the offset of the chunk, 8 bytes each and *big-endian*.
//! So key order is the order of the offsets, and a floor lookup of (file, offset) finds the chunk that
//! contains the offset. A value is *little-endian*: the length of the chunk (4 bytes) and, if the content was
//! read, the CRC-32C of its bytes (4 bytes).

/// The size of a key of the table `chunks`, in bytes.
pub(crate) const KEY_BYTES: usize = 16;

/// The size of the longest value of the table `chunks`, in bytes.
pub(crate) const VALUE_BYTES_MAX: usize = 8;

/// The smallest chunk size, in bytes.
pub(crate) const CHUNK_BYTES_MIN: u64 = 64 << 10;

/// The largest chunk size, in bytes.
pub(crate) const CHUNK_BYTES_MAX: u64 = 1 << 20;

const TARGET_CHUNKS: u64 = 64;

/// A chunk of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// The offset in the file, in bytes.
    pub(crate) offset: u64,
    /// The length in bytes.
    pub(crate) length: u32,
    /// The CRC-32C of the content, if it was read.
    pub(crate) checksum: Option<u32>,
}

/// Returns the chunk size of a file with `file_bytes` bytes, in bytes.
fn chunk_bytes(file_bytes: u64) -> u64 {
    file_bytes.div_ceil(TARGET_CHUNKS).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX).next_power_of_two()
}

/// Returns the number of chunks of a file with `file_bytes` bytes.
pub(crate) fn count(file_bytes: u64) -> u64 {
    file_bytes.div_ceil(chunk_bytes(file_bytes))
}

/// Returns the chunks of a file with `file_bytes` bytes, without checksums.
pub(crate) fn split(file_bytes: u64) -> impl Iterator<Item = Chunk> {
    let step = chunk_bytes(file_bytes);
    (0..count(file_bytes)).map(move |index| {
        let offset = index * step;
        Chunk { offset, length: (file_bytes - offset).min(step) as u32, checksum: None }
    })
}

/// Returns the key of the chunk of file `identifier` at `offset`.
pub(crate) fn key_of(identifier: u64, offset: u64) -> [u8; KEY_BYTES] {
    (u128::from(identifier) << 64 | u128::from(offset)).to_be_bytes()
}

impl Chunk {
    /// Encodes the value.
    pub(crate) fn value(&self) -> Vec<u8> {
        let length = self.length.to_le_bytes();
        match self.checksum {
            Some(checksum) => [length, checksum.to_le_bytes()].concat(),
            None => length.to_vec(),
        }
    }

    /// Decodes a pair into the identifier of the file and the chunk. Returns `None` for an invalid format.
    pub(crate) fn from_pair(key: &[u8], value: &[u8]) -> Option<(u64, Chunk)> {
        let key = u128::from_be_bytes(key.try_into().ok()?);
        let (length, checksum) = match value.len() {
            4 => (value, None),
            8 => (&value[..4], Some(u32::from_le_bytes(value[4..].try_into().ok()?))),
            _ => return None,
        };
        let length = u32::from_le_bytes(length.try_into().ok()?);
        Some(((key >> 64) as u64, Chunk { offset: key as u64, length, checksum }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn sizes_are_as_documented() {
        for (file, chunk) in [
            (0, CHUNK_BYTES_MIN),
            (4 * MIB, 64 << 10),
            (4 * MIB + 1, 128 << 10),
            (8 * MIB, 128 << 10),
            (32 * MIB, 512 << 10),
            (32 * MIB + 1, MIB),
            (u64::MAX, CHUNK_BYTES_MAX),
        ] {
            assert_eq!(chunk_bytes(file), chunk, "{file}");
        }
    }

    #[test]
    fn an_empty_file_has_no_chunks() {
        assert_eq!(split(0).count(), 0);
        assert_eq!(split(1).collect::<Vec<_>>(), [Chunk { offset: 0, length: 1, checksum: None }]);
    }

    proptest! {
        #[test]
        fn chunks_cover_the_file(file_bytes in 0..200 * MIB) {
            let mut end = 0;
            for chunk in split(file_bytes) {
                prop_assert_eq!(chunk.offset, end);
                prop_assert!(chunk.length > 0 && u64::from(chunk.length) <= CHUNK_BYTES_MAX);
                end += u64::from(chunk.length);
            }
            prop_assert_eq!(end, file_bytes);
            prop_assert!(split(file_bytes).count() <= 64 || file_bytes > 64 * MIB);
        }

        #[test]
        fn decoding_restores_a_chunk(identifier: u64, offset: u64, length: u32, checksum: Option<u32>) {
            let chunk = Chunk { offset, length, checksum };
            let pair = Chunk::from_pair(&key_of(identifier, offset), &chunk.value());
            prop_assert_eq!(pair, Some((identifier, chunk)));
        }

        #[test]
        fn key_order_is_the_order_of_files_and_offsets(one: (u64, u64), other: (u64, u64)) {
            prop_assert_eq!(key_of(one.0, one.1).cmp(&key_of(other.0, other.1)), one.cmp(&other));
        }
    }
}
