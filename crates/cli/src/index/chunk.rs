//! Chunks: how a file is cut, and the keys and values of the table `chunks`.
//!
//! A file is cut into chunks of one size, the last one shorter: 64 KiB for files up to 4 MiB, then doubling
//! with the file up to 1 MiB for files over 32 MiB. So a file has at most 64 chunks until it passes 64 MiB;
//! an empty file has none.
//!
//! The key is the file's identifier and the chunk's offset in the file, each 8 bytes *big-endian*, so that
//! chunks stand in the order of their offsets and the largest key not above (file, offset) is the chunk that
//! holds the offset. The value is *little-endian*: the chunk's length (4 bytes) and, where the content was
//! read, the CRC-32C of its bytes (4 bytes more).

/// Bytes of a key of the table `chunks`.
pub(crate) const KEY_BYTES: usize = 16;

/// Bytes of the longest value of the table `chunks`.
pub(crate) const VALUE_BYTES_MAX: usize = 8;

/// Bytes of the smallest chunk size.
pub(crate) const CHUNK_BYTES_MIN: u64 = 64 << 10;

/// Bytes of the largest chunk size.
pub(crate) const CHUNK_BYTES_MAX: u64 = 1 << 20;

const CHUNKS_WANTED: u64 = 64;

/// A chunk of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Where it begins in the file, in bytes.
    pub(crate) offset: u64,
    /// How long it is, in bytes.
    pub(crate) length: u32,
    /// CRC-32C of its bytes, where they were read.
    pub(crate) checksum: Option<u32>,
}

/// The size of the chunks of a file of `file_bytes`, in bytes.
fn chunk_bytes(file_bytes: u64) -> u64 {
    file_bytes.div_ceil(CHUNKS_WANTED).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX).next_power_of_two()
}

/// How many chunks a file of `file_bytes` has.
pub(crate) fn count(file_bytes: u64) -> u64 {
    file_bytes.div_ceil(chunk_bytes(file_bytes))
}

/// The chunks of a file of `file_bytes`, without checksums.
pub(crate) fn cut(file_bytes: u64) -> impl Iterator<Item = Chunk> {
    let step = chunk_bytes(file_bytes);
    (0..count(file_bytes)).map(move |index| {
        let offset = index * step;
        Chunk { offset, length: (file_bytes - offset).min(step) as u32, checksum: None }
    })
}

/// The key of the chunk of file `identifier` at `offset`.
pub(crate) fn key_of(identifier: u64, offset: u64) -> [u8; KEY_BYTES] {
    (u128::from(identifier) << 64 | u128::from(offset)).to_be_bytes()
}

impl Chunk {
    /// The value that describes this chunk.
    pub(crate) fn value(&self) -> Vec<u8> {
        let length = self.length.to_le_bytes();
        match self.checksum {
            Some(checksum) => [length, checksum.to_le_bytes()].concat(),
            None => length.to_vec(),
        }
    }

    /// The identifier of the file and the chunk in a pair; `None` if it is no such pair.
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
        assert_eq!(cut(0).count(), 0);
        assert_eq!(cut(1).collect::<Vec<_>>(), [Chunk { offset: 0, length: 1, checksum: None }]);
    }

    proptest! {
        #[test]
        fn chunks_cover_the_file(file_bytes in 0..200 * MIB) {
            let mut end = 0;
            for chunk in cut(file_bytes) {
                prop_assert_eq!(chunk.offset, end);
                prop_assert!(chunk.length > 0 && u64::from(chunk.length) <= CHUNK_BYTES_MAX);
                end += u64::from(chunk.length);
            }
            prop_assert_eq!(end, file_bytes);
            prop_assert!(cut(file_bytes).count() <= 64 || file_bytes > 64 * MIB);
        }

        #[test]
        fn pairs_read_back(identifier: u64, offset: u64, length: u32, checksum: Option<u32>) {
            let chunk = Chunk { offset, length, checksum };
            let pair = Chunk::from_pair(&key_of(identifier, offset), &chunk.value());
            prop_assert_eq!(pair, Some((identifier, chunk)));
        }

        #[test]
        fn keys_stand_in_order(one: (u64, u64), other: (u64, u64)) {
            prop_assert_eq!(key_of(one.0, one.1).cmp(&key_of(other.0, other.1)), one.cmp(&other));
        }
    }
}
