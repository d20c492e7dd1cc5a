//! The format of stored values: the value of the client, with its deadline.
//!
//! ```text
//! | kind, 1 | data |                 kind 0: no deadline
//! | kind, 1 | expiry, 8 | data |     kind 1: milliseconds since 1970, little-endian
//! ```
//! Only the server interprets this format. For the store and its accelerator it is a value like any other.

use honeycomb_layout::{ALLOCATION_UNIT_BYTES, INLINE_VALUE_BYTES_MAX, item_word, value_reference};
use honeycomb_store::{ValueColumn, ValueView};

use crate::failure::Failure;

/// A value with its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Envelope<'a> {
    /// The value of the client.
    pub(crate) data: &'a [u8],
    /// The deadline in milliseconds since 1970.
    pub(crate) expires_at: Option<u64>,
}

const LASTS: u8 = 0;
const EXPIRES: u8 = 1;
/// Maximum length of a value in an envelope.
pub(crate) const DATA_BYTES_MAX: usize = honeycomb_layout::VALUE_BYTES_MAX - HEADER_BYTES_MAX;
/// Maximum number of bytes before the data.
pub(crate) const HEADER_BYTES_MAX: usize = 9;

impl<'a> Envelope<'a> {
    /// Decodes the header from the beginning of a stored value of `total` bytes. The beginning must contain
    /// the whole header. Returns the offset of the data and the deadline.
    pub(crate) fn begins(beginning: &'a [u8], total: usize) -> Result<(usize, Option<u64>), Failure> {
        let foreign = || Failure::other("the pair was not written by a server");
        let Self { data, expires_at } = Self::open(beginning).ok_or_else(foreign)?;
        debug_assert!(beginning.len() == total.min(HEADER_BYTES_MAX));
        Ok((beginning.len() - data.len(), expires_at))
    }

    /// Decodes a stored value. Returns `None` if no server wrote it.
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

    /// Returns the length of the stored value.
    pub(crate) fn bytes(&self) -> usize {
        self.header().1 + self.data.len()
    }

    /// Returns the bytes that the pair of a key uses in an ordered database: in its leaf, where it may share
    /// its first bytes with others, and in the buffer of an overflow value.
    pub(crate) fn pair_bytes(&self, key: &[u8]) -> usize {
        let (item, value) = (item_word::BITS as usize / 8 + key.len(), self.bytes());
        if value <= INLINE_VALUE_BYTES_MAX {
            return item + value;
        }
        item + value_reference::SIZE + value.next_multiple_of(ALLOCATION_UNIT_BYTES)
    }

    /// Returns the stored value.
    pub(crate) fn seal(self) -> Vec<u8> {
        let (header, length) = self.header();
        [&header[..length], self.data].concat()
    }

    /// Returns the bytes before the data, and their number.
    #[inline]
    pub(crate) fn header(&self) -> ([u8; HEADER_BYTES_MAX], usize) {
        let mut header = [LASTS; HEADER_BYTES_MAX];
        let Some(time) = self.expires_at else { return (header, 1) };
        header[0] = EXPIRES;
        header[1..].copy_from_slice(&time.to_le_bytes());
        (header, header.len())
    }

    /// Returns whether the value has not expired.
    #[inline]
    pub(crate) fn is_alive(&self, now: u64) -> bool {
        Self::is_alive_at(self.expires_at, now)
    }

    /// Returns whether a stored value has expired. One that no server wrote has no deadline.
    pub(crate) fn has_expired(value: &[u8], now: u64) -> bool {
        Envelope::open(value).is_some_and(|envelope| !envelope.is_alive(now))
    }

    /// Returns whether a value with a deadline, or without one, has not expired.
    #[inline]
    pub(crate) fn is_alive_at(expires_at: Option<u64>, now: u64) -> bool {
        expires_at.is_none_or(|time| time > now)
    }
}

/// Shows functions the data of stored values that have not expired at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AliveAt(pub(crate) u64);

impl ValueView for AliveAt {
    #[inline]
    fn part<'v>(&self, value: &'v [u8]) -> Option<&'v [u8]> {
        let envelope = Envelope::open(value)?;
        envelope.is_alive(self.0).then_some(envelope.data)
    }

    fn parts<'v>(&self, values: ValueColumn<'v>) -> Option<ValueColumn<'v>> {
        if values.all_begin(|[kind]| *kind == LASTS) {
            return values.from(1);
        }
        let is_alive = |value: &[u8; HEADER_BYTES_MAX]| value[0] == EXPIRES && self.part(value).is_some();
        if values.all_begin(is_alive) { values.from(HEADER_BYTES_MAX) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers of one kind or of two, and of deadlines on both sides of a time.
    #[test]
    fn a_column_shows_the_same_parts_as_its_values() {
        let (lasts, dead, alive) = (None, Some(5), Some(6));
        let foreign = [2; 12];
        for deadlines in [[lasts, lasts], [alive, alive], [alive, dead], [dead, alive], [lasts, alive]] {
            for stride in [12, 16] {
                let seal = |expires_at| {
                    let data = if expires_at == lasts { &b"ABCDEFGHIJK"[..] } else { b"abc" };
                    Envelope { data, expires_at }.seal()
                };
                let values = [seal(deadlines[0]), seal(deadlines[1])];
                let bytes = [&values[0][..], &foreign[..stride - 12], &values[1]].concat();
                let column = ValueColumn::new(&bytes, stride, 12, 2);
                let parts: Vec<_> = values.iter().filter_map(|value| AliveAt(5).part(value)).collect();
                match AliveAt(5).parts(column) {
                    Some(column) => assert_eq!(column.iter().collect::<Vec<_>>(), parts),
                    None => assert!(deadlines[0] != deadlines[1]),
                }
            }
        }
        assert!(AliveAt(5).parts(ValueColumn::new(&foreign, 12, 12, 1)).is_none());
        assert!(AliveAt(5).parts(ValueColumn::new(&[], 4, 0, 1)).is_none());
    }

    #[test]
    fn sealed_values_decode() {
        for expires_at in [None, Some(0), Some(u64::MAX)] {
            for data in [&b""[..], b"\x01", b"value"] {
                let envelope = Envelope { data, expires_at };
                assert_eq!(Envelope::open(&envelope.seal()), Some(envelope));
                assert_eq!(envelope.seal().len(), envelope.bytes());
            }
        }
    }

    #[test]
    fn a_pair_uses_its_item_and_units_of_a_long_value() {
        let bytes = |data| Envelope { data: &vec![0; data], expires_at: None }.pair_bytes(b"key");
        assert_eq!([bytes(0), bytes(468)], [4 + 3 + 1, 4 + 3 + 469]);
        assert_eq!(
            [bytes(469), bytes(511), bytes(512)],
            [4 + 3 + 10 + 512, 4 + 3 + 10 + 512, 4 + 3 + 10 + 1024]
        );
    }

    #[test]
    fn foreign_values_do_not_decode() {
        for value in [&b""[..], b"\x02", b"\x01234567"] {
            assert_eq!(Envelope::open(value), None);
        }
    }

    #[test]
    fn a_value_expires_at_its_deadline() {
        let at = |expires_at, now| Envelope { data: b"", expires_at }.is_alive(now);
        assert!(at(None, u64::MAX) && at(Some(8), 7));
        assert!(!at(Some(8), 8) && !at(Some(8), 9));
    }
}
