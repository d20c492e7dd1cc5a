//! What the server keeps beside a client's value: when it expires.
//!
//! ```text
//! | kind, 1 | data |                 kind 0: lasts
//! | kind, 1 | expiry, 8 | data |     kind 1: milliseconds since 1970, little-endian
//! ```
//! Only the server reads this; to the store and its accelerator it is a value like any other.

use honeycomb_layout::{ALLOCATION_UNIT_BYTES, INLINE_VALUE_BYTES_MAX, item_header, value_reference};

use crate::failure::Failure;

/// A value and when it expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Envelope<'a> {
    /// What the client stored.
    pub(crate) data: &'a [u8],
    /// From when on it is gone, in milliseconds since 1970.
    pub(crate) expires_at: Option<u64>,
}

const LASTS: u8 = 0;
const EXPIRES: u8 = 1;
/// Bytes of the longest value that fits in an envelope.
pub(crate) const DATA_BYTES_MAX: usize = honeycomb_layout::VALUE_BYTES_MAX - 9;

impl<'a> Envelope<'a> {
    /// Most bytes before the data.
    pub(crate) const HEADER_BYTES_MAX: usize = 9;

    /// Opens the envelope of a pair of which only the beginning was read: where its data begins, and when the
    /// pair expires. The value has `total` bytes, and the beginning those of a header at least, if it has.
    pub(crate) fn begins(beginning: &'a [u8], total: usize) -> Result<(usize, Option<u64>), Failure> {
        let foreign = || Failure::other("the pair was not written by a server");
        let Self { data, expires_at } = Self::open(beginning).ok_or_else(foreign)?;
        debug_assert!(beginning.len() == total.min(Self::HEADER_BYTES_MAX));
        Ok((beginning.len() - data.len(), expires_at))
    }

    /// Opens the envelope that a pair holds. None if a pair was not written by a server.
    #[inline]
    pub(crate) fn open(value: &'a [u8]) -> Option<Self> {
        match value.split_first()? {
            (&LASTS, data) => Some(Self { data, expires_at: None }),
            (&EXPIRES, rest) => {
                let (expiry, data) = rest.split_first_chunk()?;
                Some(Self { data, expires_at: Some(u64::from_le_bytes(*expiry)) })
            }
            _ => None,
        }
    }

    /// Bytes of the value of a pair.
    fn bytes(&self) -> usize {
        1 + self.expires_at.map_or(0, |_| size_of::<u64>()) + self.data.len()
    }

    /// Bytes that the pair of a key takes: in its leaf, where it may share its first bytes with others, and,
    /// if the value is long, in a buffer of its own.
    pub(crate) fn pair_bytes(&self, key: &[u8]) -> usize {
        let (item, value) = (item_header::BITS as usize / 8 + key.len(), self.bytes());
        if value <= INLINE_VALUE_BYTES_MAX {
            return item + value;
        }
        item + value_reference::SIZE + value.next_multiple_of(ALLOCATION_UNIT_BYTES)
    }

    /// The value of a pair.
    pub(crate) fn seal(self) -> Vec<u8> {
        let mut value = Vec::with_capacity(self.bytes());
        self.seal_into(&mut value);
        value
    }

    /// The same, in place of what `value` holds.
    pub(crate) fn seal_into(self, value: &mut Vec<u8>) {
        value.clear();
        match self.expires_at {
            None => value.push(LASTS),
            Some(time) => {
                value.push(EXPIRES);
                value.extend_from_slice(&time.to_le_bytes());
            }
        }
        value.extend_from_slice(self.data);
    }

    /// Whether it is there still.
    #[inline]
    pub(crate) fn is_alive(&self, now: u64) -> bool {
        Self::is_alive_at(self.expires_at, now)
    }

    /// Whether a pair that expires at a time, or never, is there still.
    #[inline]
    pub(crate) fn is_alive_at(expires_at: Option<u64>, now: u64) -> bool {
        expires_at.is_none_or(|time| time > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_is_opened() {
        for expires_at in [None, Some(0), Some(u64::MAX)] {
            for data in [&b""[..], b"\x01", b"value"] {
                let envelope = Envelope { data, expires_at };
                assert_eq!(Envelope::open(&envelope.seal()), Some(envelope));
                assert_eq!(envelope.seal().len(), envelope.bytes());
            }
        }
    }

    #[test]
    fn a_pair_takes_its_item_and_units_of_a_long_value() {
        let bytes = |data| Envelope { data: &vec![0; data], expires_at: None }.pair_bytes(b"key");
        assert_eq!([bytes(0), bytes(468)], [3 + 3 + 1, 3 + 3 + 469]);
        assert_eq!(
            [bytes(469), bytes(511), bytes(512)],
            [3 + 3 + 10 + 512, 3 + 3 + 10 + 512, 3 + 3 + 10 + 1024]
        );
    }

    #[test]
    fn what_no_server_wrote_is_not_opened() {
        for value in [&b""[..], b"\x02", b"\x01234567"] {
            assert_eq!(Envelope::open(value), None);
        }
    }

    #[test]
    fn it_is_gone_from_its_expiry_on() {
        let at = |expires_at, now| Envelope { data: b"", expires_at }.is_alive(now);
        assert!(at(None, u64::MAX) && at(Some(8), 7));
        assert!(!at(Some(8), 8) && !at(Some(8), 9));
    }
}
