//! Functions over ranges: the value of their operation.
//!
//! ```text
//! | form 1 | term | term | ...         term: | function 2 | offset 2 | operand_bytes 2 | operands |
//! ```
//! The first term of a reduction is its fold. All other terms are conditions.

use honeycomb_layout as constants;
use honeycomb_layout::batch_range_term as layout;

use crate::bytes::{number, set_number};

/// A function over the pairs of a range whose values satisfy all conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeFunction<'a> {
    /// The result.
    pub form: RangeForm<'a>,
    /// Predicates. A server accepts at most [`RangeFunction::CONDITIONS_MAX`].
    pub conditions: Vec<RangeTerm<'a>>,
}

/// The result of a function over a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeForm<'a> {
    /// The number of pairs, in eight bytes, little-endian.
    Count,
    /// The pairs.
    Filter,
    /// The fold of the elements, from an initial element on, which is the operand of the term.
    Reduce(RangeTerm<'a>),
}

/// A function of the element at an offset of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeTerm<'a> {
    /// The offset in bytes.
    pub offset: u16,
    /// The number of the function, as in the library.
    pub function: u16,
    /// The operands, or the initial element, little-endian.
    pub operands: &'a [u8],
}

impl<'a> RangeFunction<'a> {
    /// Maximum number of conditions that a server accepts.
    pub const CONDITIONS_MAX: usize = constants::BATCH_RANGE_CONDITIONS_MAX;

    /// Returns the value of the operation. It fits a datagram only if the operands do.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let (form, fold) = match self.form {
            RangeForm::Count => (constants::BATCH_RANGE_COUNT, None),
            RangeForm::Filter => (constants::BATCH_RANGE_FILTER, None),
            RangeForm::Reduce(fold) => (constants::BATCH_RANGE_REDUCE, Some(fold)),
        };
        let mut bytes = vec![form as u8];
        fold.iter().chain(&self.conditions).for_each(|term| term.encode(&mut bytes));
        bytes
    }

    /// Decodes the value of the operation. `None` if it is not a form and whole terms, or a reduction has no
    /// fold.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (&form, mut rest) = bytes.split_first()?;
        let form = match form.into() {
            constants::BATCH_RANGE_COUNT => RangeForm::Count,
            constants::BATCH_RANGE_FILTER => RangeForm::Filter,
            constants::BATCH_RANGE_REDUCE => RangeForm::Reduce(RangeTerm::decode(&mut rest)?),
            _ => return None,
        };
        let mut conditions = Vec::new();
        while !rest.is_empty() {
            conditions.push(RangeTerm::decode(&mut rest)?);
        }
        Some(Self { form, conditions })
    }
}

impl<'a> RangeTerm<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut header = [0; layout::SIZE];
        set_number::<2>(&mut header, layout::FUNCTION_NUMBER_OFFSET, self.function.into());
        set_number::<2>(&mut header, layout::ELEMENT_OFFSET_OFFSET, self.offset.into());
        set_number::<2>(&mut header, layout::OPERAND_BYTES_OFFSET, self.operands.len() as u64);
        out.extend_from_slice(&header);
        out.extend_from_slice(self.operands);
    }

    /// Decodes the first term and removes it.
    fn decode(rest: &mut &'a [u8]) -> Option<Self> {
        let (header, behind) = rest.split_at_checked(layout::SIZE)?;
        let field = |offset| number::<2>(header, offset) as u16;
        let operand_bytes = field(layout::OPERAND_BYTES_OFFSET).into();
        let (operands, behind) = behind.split_at_checked(operand_bytes)?;
        *rest = behind;
        Some(Self {
            offset: field(layout::ELEMENT_OFFSET_OFFSET),
            function: field(layout::FUNCTION_NUMBER_OFFSET),
            operands,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_bytes_of_functions() {
        let greater = RangeTerm { offset: 2, function: 0x103, operands: b"ab" };
        let add = RangeTerm { offset: 1, function: 4, operands: b"z" };
        let of = |form, conditions: &[_]| RangeFunction { form, conditions: conditions.to_vec() }.bytes();
        assert_eq!(of(RangeForm::Count, &[]), b"\x01");
        assert_eq!(of(RangeForm::Filter, &[greater]), b"\x02\x03\x01\x02\0\x02\0ab");
        let both = b"\x03\x04\0\x01\0\x01\0z\x03\x01\x02\0\x02\0ab";
        assert_eq!(of(RangeForm::Reduce(add), &[greater]), both);
        for length in 0..both.len() {
            let whole = length == both.len() - b"\x03\x01\x02\0\x02\0ab".len();
            assert_eq!(RangeFunction::parse(&both[..length]).is_some(), whole, "{length}");
        }
        assert_eq!(RangeFunction::parse(b"\x00"), None);
        assert_eq!(RangeFunction::parse(b"\x04"), None);
        assert_eq!(RangeFunction::parse(b"\x03"), None, "a reduction has a fold");
    }

    proptest! {
        #[test]
        fn functions_round_trip(bytes in prop::collection::vec(0..4_u8, 0..40)) {
            if let Some(function) = RangeFunction::parse(&bytes) {
                prop_assert_eq!(function.bytes(), bytes);
            }
        }
    }
}
