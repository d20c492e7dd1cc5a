//! The hash of a whole key. It selects a line of a fingerprint directory and the fingerprint of an entry.

use honeycomb_layout::key_hash;
use honeycomb_memory::crc32c;

/// The CRC-32C of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyHash(u32);

impl KeyHash {
    #[inline]
    pub(crate) fn of(key: &[u8]) -> Self {
        Self(crc32c(key))
    }

    /// Returns the hash of a key with this CRC-32C.
    #[inline]
    pub(crate) fn from_crc(crc: u32) -> Self {
        Self(crc)
    }

    #[inline]
    pub(crate) fn tag(self) -> u8 {
        key_hash::tag(u64::from(self.0)) as u8
    }

    /// Returns the index of the key's line in a directory of `lines` lines.
    #[inline]
    pub(crate) fn line(self, lines: usize) -> usize {
        (key_hash::place(u64::from(self.0)) as usize * lines) >> key_hash::PLACE_BITS
    }
}
