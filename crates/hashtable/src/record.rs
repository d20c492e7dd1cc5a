//! A pair in a slab: two bytes of header, the key, and the value or the reference to an overflow value.
//!
//! A pair that fills the smallest slab has no header (see `form`).
//!
//! A reader may decode bytes of two moments: decoding returns some result for any bytes and does not panic.

use honeycomb_layout::{SLAB_BYTES_MAX, slab_header, value_reference};
use honeycomb_memory::BusAddress;

use crate::form::{Form, HEADER, class_bytes};

/// The code of a slack that is in the last byte of the slab.
const LONG_SLACK: usize = slab_header::SLACK_MASK as usize;

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

/// Passes the bytes of a pair, with their offsets in a slab of a form, to `store`. `payload` is the value,
/// or an encoded reference. The other bytes of the slab may be any.
#[inline(always)]
pub(crate) fn encode(
    form: Form,
    key: &[u8],
    payload: &[u8],
    overflow: bool,
    mut store: impl FnMut(usize, &[u8]),
) {
    let (start, bytes) = (form.header_bytes(), class_bytes(form.class()));
    let slack = bytes - (start + key.len() + payload.len());
    if form.key_length() == 0 {
        let header = slab_header::with_pair_key_length(0, key.len() as u64);
        let header = slab_header::with_pair_overflow(header, u64::from(overflow));
        let header = slab_header::with_slack(header, slack.min(LONG_SLACK) as u64);
        store(0, &header.to_le_bytes()[..HEADER]);
    } else {
        assert!(
            slack == 0 && key.len() == form.key_length() && !overflow,
            "a pair without header fills its slab"
        );
    }
    store(start, key);
    store(start + key.len(), payload);
    if slack >= LONG_SLACK {
        store(bytes - 1, &[slack as u8]);
    }
}

/// The bytes of a slab, loaded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    bytes: [u8; SLAB_BYTES_MAX],
    form: Form,
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
    /// A record for a slab of a form to be loaded.
    pub(crate) fn empty(form: Form) -> Self {
        Self { bytes: [0; SLAB_BYTES_MAX], form }
    }

    /// The bytes of the slab.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..class_bytes(self.form.class())]
    }

    /// The bytes of the slab, to load them.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..class_bytes(self.form.class())]
    }

    /// Decodes the record. `None` if the bytes are of two moments.
    #[inline]
    pub(crate) fn pair(&self) -> Option<Pair<'_>> {
        Pair::decode(self.form, self.bytes())
    }
}

impl<'r> Pair<'r> {
    /// Decodes the bytes of a slab. `None` if they are of two moments.
    #[inline]
    pub(crate) fn decode(form: Form, bytes: &'r [u8]) -> Option<Self> {
        if form.key_length() > 0 {
            let (key, value) = bytes.split_at(form.key_length());
            return Some(Self { key, value: SlabValue::InSlab(value) });
        }
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
    use honeycomb_layout::{KEY_BYTES_MAX, SLAB_CLASSES, SLAB_UNIT_BYTES, WHOLE_SLAB_KEY_BYTES_MAX};

    use super::*;

    /// The record of a pair. The other bytes of the slab are those of an earlier pair.
    fn record(form: Form, key: &[u8], payload: &[u8], overflow: bool) -> Record {
        let mut record = Record::empty(form);
        record.bytes_mut().fill(0xff);
        let store = |at: usize, bytes: &[u8]| record.bytes[at..][..bytes.len()].copy_from_slice(bytes);
        encode(record.form, key, payload, overflow, store);
        record
    }

    #[test]
    fn every_length_has_the_smallest_class_and_is_decoded() {
        for key_length in (1..=33).chain([200, KEY_BYTES_MAX]) {
            for value_length in 0..=SLAB_BYTES_MAX - HEADER - key_length {
                let (key, value) = (vec![7; key_length], vec![9; value_length]);
                let form = Form::of(key_length, value_length).unwrap();
                let record = record(form, &key, &value, false);
                let whole = form.header_bytes() + key_length + value_length;
                assert!(whole <= record.bytes().len());
                assert!(form.class() == 0 || whole > class_bytes(form.class() - 1));
                let pair = record.pair().unwrap();
                assert_eq!(pair.key, key);
                assert!(matches!(pair.value, SlabValue::InSlab(found) if found == value));
            }
            assert_eq!(Form::of(key_length, SLAB_BYTES_MAX - HEADER - key_length + 1), None);
        }
        assert_eq!(Form::of(16, 254 - 16).map(Form::class), Some(3), "with the header 256 bytes");
    }

    #[test]
    fn a_reference_is_decoded() {
        let reference = Reference { address: BusAddress::new(0xffff_ffff_fe00).unwrap(), length: 1 << 24 };
        // With the last length, key and reference have as many bytes as a slab.
        for key_length in [3, 20, 21, SLAB_UNIT_BYTES - value_reference::SIZE] {
            let form = Form::of_any(key_length, SLAB_BYTES_MAX);
            let record = record(form, &vec![7; key_length], &reference.encode(), true);
            assert!(matches!(record.pair().unwrap().value, SlabValue::Overflow(found) if found == reference));
        }
    }

    #[test]
    fn any_bytes_are_decoded_without_a_panic() {
        let forms = (0..SLAB_CLASSES).flat_map(|class| {
            (0..=WHOLE_SLAB_KEY_BYTES_MAX).map(move |key_length| Form::new(class, key_length))
        });
        for form in forms {
            let mut record = Record::empty(form);
            record.bytes_mut().fill(0xff);
            for header in 0..=u16::MAX {
                record.bytes_mut()[..HEADER].copy_from_slice(&header.to_le_bytes());
                record.pair();
            }
        }
    }
}
