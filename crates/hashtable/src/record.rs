//! A pair in a slab: two bytes of header, the key, and the value or the reference to an overflow value.
//!
//! A reader may decode bytes of two moments: decoding returns some result for any bytes and does not panic.

use honeycomb_layout::{
    KEY_BYTES_MAX, SLAB_BYTES_MAX, SLAB_CLASSES, SLAB_UNIT_BYTES, slab_header, value_reference,
};
use honeycomb_memory::BusAddress;

/// Bytes of the header.
pub(crate) const HEADER: usize = slab_header::BITS as usize / 8;
/// The code of a slack that is in the last byte of the slab.
const LONG_SLACK: usize = slab_header::SLACK_MASK as usize;

/// Bytes of a slab of a class.
#[inline]
pub(crate) const fn class_bytes(class: usize) -> usize {
    SLAB_UNIT_BYTES << class
}

const _: () = assert!(class_bytes(SLAB_CLASSES - 1) == SLAB_BYTES_MAX);
const _: () = assert!(SLAB_BYTES_MAX / 2 <= u8::MAX as usize + 1, "a slack fits into a byte");

/// The length of the value, or of the reference, in a slab with a header. `None` if the header is invalid.
#[inline]
pub(crate) fn slab_value_length(header: u64, slab_bytes: usize, last_byte: usize) -> Option<usize> {
    let slack = match slab_header::slack(header) as usize {
        LONG_SLACK => last_byte,
        short => short,
    };
    slab_bytes.checked_sub(slack + HEADER + slab_header::pair_key_length(header) as usize)
}

/// The class of the smallest slab that has room for a pair. `None` if the value needs a buffer of its own.
#[inline]
pub(crate) fn class_of(key_length: usize, value_length: usize) -> Option<usize> {
    let bytes = HEADER + key_length + value_length;
    (bytes <= SLAB_BYTES_MAX).then(|| {
        let units = bytes.div_ceil(SLAB_UNIT_BYTES);
        units.next_power_of_two().ilog2() as usize
    })
}

/// The class of the slab of a pair, whose value may have a buffer of its own.
#[inline]
pub(crate) fn slab_class(key_length: usize, value_length: usize) -> usize {
    let class = class_of(key_length, value_length);
    class.or_else(|| class_of(key_length, value_reference::SIZE)).expect("a slab has room for every key")
}

const _: () = assert!(HEADER + KEY_BYTES_MAX + value_reference::SIZE <= SLAB_BYTES_MAX);

/// Passes the bytes of a pair, with their offsets in a slab of a class, to `store`. `payload` is the value,
/// or an encoded reference. The other bytes of the slab may be any.
#[inline(always)]
pub(crate) fn encode(
    class: usize,
    key: &[u8],
    payload: &[u8],
    overflow: bool,
    mut store: impl FnMut(usize, &[u8]),
) {
    let end = HEADER + key.len() + payload.len();
    let slack = class_bytes(class) - end;
    let header = slab_header::with_pair_key_length(0, key.len() as u64);
    let header = slab_header::with_pair_overflow(header, u64::from(overflow));
    let header = slab_header::with_slack(header, slack.min(LONG_SLACK) as u64);
    store(0, &header.to_le_bytes()[..HEADER]);
    store(HEADER, key);
    store(HEADER + key.len(), payload);
    if slack >= LONG_SLACK {
        store(class_bytes(class) - 1, &[slack as u8]);
    }
}

/// The bytes of a slab, loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    bytes: [u8; SLAB_BYTES_MAX],
    class: usize,
}

/// A decoded slab.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'r> {
    pub(crate) key: &'r [u8],
    pub(crate) value: SlabValue<'r>,
}

/// The value of a pair in a slab.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SlabValue<'r> {
    InSlab(&'r [u8]),
    Overflow(Reference),
}

/// The reference to an overflow value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) address: BusAddress,
    pub(crate) length: usize,
}

impl Reference {
    pub(crate) fn encode(self) -> [u8; value_reference::SIZE] {
        let mut bytes = [0; value_reference::SIZE];
        let (address, length) = bytes.split_at_mut(value_reference::LENGTH_OFFSET);
        address.copy_from_slice(&self.address.get().to_le_bytes()[..value_reference::ADDRESS_BYTES]);
        length.copy_from_slice(&(self.length as u32).to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8; value_reference::SIZE]) -> Option<Self> {
        let mut address = [0; 8];
        address[..value_reference::ADDRESS_BYTES].copy_from_slice(&bytes[..value_reference::ADDRESS_BYTES]);
        let length = bytes.last_chunk::<{ value_reference::LENGTH_BYTES }>()?;
        let address = BusAddress::new(u64::from_le_bytes(address))?;
        Some(Self { address, length: u32::from_le_bytes(*length) as usize })
    }
}

impl Record {
    /// A record for a slab of a class to be loaded.
    pub(crate) fn empty(class: usize) -> Self {
        Self { bytes: [0; SLAB_BYTES_MAX], class }
    }

    /// The bytes of the slab.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..class_bytes(self.class)]
    }

    /// The bytes of the slab, to load them.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..class_bytes(self.class)]
    }

    /// Decodes the record. `None` if the bytes are of two moments.
    #[inline]
    pub(crate) fn pair(&self) -> Option<Pair<'_>> {
        Pair::decode(self.bytes())
    }
}

impl<'r> Pair<'r> {
    /// Decodes the bytes of a slab. `None` if they are of two moments.
    #[inline]
    pub(crate) fn decode(bytes: &'r [u8]) -> Option<Self> {
        let header = u64::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        let length = slab_value_length(header, bytes.len(), usize::from(bytes[bytes.len() - 1]))?;
        let (key, rest) = bytes[HEADER..].split_at_checked(slab_header::pair_key_length(header) as usize)?;
        let payload = rest.get(..length)?;
        let value = if slab_header::pair_overflow(header) == 0 {
            SlabValue::InSlab(payload)
        } else {
            SlabValue::Overflow(Reference::decode(payload.try_into().ok()?)?)
        };
        Some(Self { key, value })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The record of a pair. The other bytes of the slab are those of an earlier pair.
    fn record(key: &[u8], payload: &[u8], overflow: bool) -> Record {
        let mut record = Record::empty(class_of(key.len(), payload.len()).unwrap());
        record.bytes_mut().fill(0xff);
        let store = |at: usize, bytes: &[u8]| record.bytes[at..][..bytes.len()].copy_from_slice(bytes);
        encode(record.class, key, payload, overflow, store);
        record
    }

    #[test]
    fn every_length_has_the_smallest_class_and_is_decoded() {
        for key_length in [1, 2, 20, 200, KEY_BYTES_MAX] {
            for value_length in 0..=SLAB_BYTES_MAX - HEADER - key_length {
                let (key, value) = (vec![7; key_length], vec![9; value_length]);
                let record = record(&key, &value, false);
                let whole = HEADER + key_length + value_length;
                assert!(whole <= record.bytes().len());
                assert!(record.class == 0 || whole > class_bytes(record.class - 1));
                let pair = record.pair().unwrap();
                assert_eq!(pair.key, key);
                assert!(matches!(pair.value, SlabValue::InSlab(found) if found == value));
            }
            assert_eq!(class_of(key_length, SLAB_BYTES_MAX - HEADER - key_length + 1), None);
        }
        assert_eq!(class_of(16, 254 - 16), Some(3), "254 bytes and the header are 256");
    }

    #[test]
    fn a_reference_is_decoded() {
        let reference = Reference { address: BusAddress::new(0xffff_ffff_fe00).unwrap(), length: 1 << 24 };
        let record = record(b"key", &reference.encode(), true);
        assert!(matches!(record.pair().unwrap().value, SlabValue::Overflow(found) if found == reference));
    }

    #[test]
    fn any_bytes_are_decoded_without_a_panic() {
        for header in 0..=u16::MAX {
            for class in 0..SLAB_CLASSES {
                let mut record = Record::empty(class);
                record.bytes_mut().fill(0xff);
                record.bytes_mut()[..HEADER].copy_from_slice(&header.to_le_bytes());
                record.pair();
            }
        }
    }
}
