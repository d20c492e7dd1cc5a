//! Functions over ranges: the part of a request that other reads do not have.
//!
//! ```text
//! | request, 32 bytes | lower key | terms_bytes, 2 bytes | term | term | ... | upper key | zeros |
//!                                              term: | offset 4 | function 4 | operand_bytes 2 | operands |
//! ```
//! The upper length of the request counts everything after the lower key. So a queue finds the next request
//! without knowledge of terms.

use std::ops::Bound;

use honeycomb_layout::{
    FUNCTION_CONDITIONS_MAX, OPCODE_COUNT, OPCODE_FILTER, OPCODE_RANK, OPCODE_REDUCE, TERM_OPERAND_BYTES_MAX,
    function_term as layout, request_function,
};

/// A function over the pairs of a range whose values satisfy all conditions.
#[derive(Debug, Clone, Copy)]
pub struct RangeFunction<'a> {
    /// The result.
    pub form: RangeForm<'a>,
    /// The lower bound. An empty bound means unbounded, as in the encoding.
    pub lower: Bound<&'a [u8]>,
    /// The upper bound.
    pub upper: Bound<&'a [u8]>,
    /// Predicates of elements of values.
    pub conditions: Conditions<'a>,
}

/// The result of a function over a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeForm<'a> {
    /// The number of pairs, in eight bytes, little-endian.
    Count,
    /// The fold of the elements in the order of the keys, from an initial element on, which is the operand of
    /// the term. Values that are too short do not count.
    Reduce(RangeTerm<'a>),
    /// The pairs, with the limits of a scan.
    Filter {
        /// Maximum number of pairs.
        pairs_max: u32,
        /// The result ends after the pair with which keys and values reach this number of bytes.
        bytes_max: u32,
    },
    /// The pairs with the greatest elements, the greatest first, and of equal ones the first in the order of
    /// the keys. Values that are too short do not count.
    Rank {
        /// The element. Its function is the built-in maximum of the type, without operands.
        element: RangeTerm<'a>,
        /// Maximum number of pairs. The accelerator ranks at most `RANK_PAIRS_MAX`.
        pairs_max: u32,
        /// Maximum number of bytes of the keys and values of several pairs. There are at most
        /// `RANK_BYTES_MAX`.
        bytes_max: u32,
    },
}

/// A registered function of the element at an offset of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeTerm<'a> {
    offset: u32,
    function: u32,
    operands: &'a [u8],
}

/// Encoded terms, at most [`Conditions::MAX`]. A value that is too short satisfies no condition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conditions<'a> {
    terms: &'a [u8],
}

/// Operands exceed the maximum length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("operands of {bytes} bytes: at most {TERM_OPERAND_BYTES_MAX} are allowed")]
pub struct OperandsTooLong {
    /// The length of the operands.
    pub bytes: usize,
}

/// Bytes of the longest function of a request, without its keys: a fold and all conditions.
pub(crate) const FUNCTION_BYTES_MAX: usize =
    request_function::SIZE + (1 + FUNCTION_CONDITIONS_MAX) * (layout::SIZE + TERM_OPERAND_BYTES_MAX);

const _: () = {
    assert!(layout::ELEMENT_OFFSET_OFFSET == 0 && layout::FUNCTION_NUMBER_OFFSET == 4);
    assert!(layout::OPERAND_BYTES_OFFSET == 8 && layout::SIZE == 10 && request_function::SIZE == 2);
};

impl<'a> RangeTerm<'a> {
    /// The function of a number, applied to the element at byte `offset` of each value, with these operands.
    ///
    /// # Errors
    /// [`OperandsTooLong`].
    pub fn new(offset: u32, function: u32, operands: &'a [u8]) -> Result<Self, OperandsTooLong> {
        if operands.len() > TERM_OPERAND_BYTES_MAX {
            return Err(OperandsTooLong { bytes: operands.len() });
        }
        Ok(Self { offset, function, operands })
    }

    /// The offset of the element, in bytes.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset as usize
    }

    /// The number of the function.
    #[must_use]
    pub fn function(&self) -> u32 {
        self.function
    }

    /// The operands, or the initial element of a fold, little-endian.
    #[must_use]
    pub fn operands(&self) -> &'a [u8] {
        self.operands
    }

    /// Appends the encoded term.
    pub fn encode(&self, terms: &mut Vec<u8>) {
        terms.extend_from_slice(&self.offset.to_le_bytes());
        terms.extend_from_slice(&self.function.to_le_bytes());
        terms.extend_from_slice(&(self.operands.len() as u16).to_le_bytes());
        terms.extend_from_slice(self.operands);
    }

    /// Decodes the term at the start of `terms`. Returns it with the other ones.
    fn decode(terms: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (offset, rest) = terms.split_first_chunk()?;
        let (function, rest) = rest.split_first_chunk()?;
        let (bytes, rest) = rest.split_first_chunk()?;
        let (operands, rest) = rest.split_at_checked(u16::from_le_bytes(*bytes).into())?;
        let term = Self::new(u32::from_le_bytes(*offset), u32::from_le_bytes(*function), operands);
        Some((term.ok()?, rest))
    }
}

impl<'a> Conditions<'a> {
    /// Maximum number of conditions.
    pub const MAX: usize = FUNCTION_CONDITIONS_MAX;

    /// Conditions from terms that [`RangeTerm::encode`] has appended. `None` if the bytes are not whole
    /// terms, or there are too many.
    #[must_use]
    pub fn new(terms: &'a [u8]) -> Option<Self> {
        let (mut rest, mut count) = (terms, 0);
        while !rest.is_empty() {
            (_, rest) = RangeTerm::decode(rest)?;
            count += 1;
        }
        (count <= Self::MAX).then_some(Self { terms })
    }

    /// Iterates over the conditions.
    pub fn iter(&self) -> impl Iterator<Item = RangeTerm<'a>> + use<'a> {
        let mut rest = self.terms;
        std::iter::from_fn(move || {
            let (term, others) = RangeTerm::decode(rest)?;
            rest = others;
            Some(term)
        })
    }

    /// The encoded terms.
    #[must_use]
    pub fn terms(&self) -> &'a [u8] {
        self.terms
    }
}

impl<'a> RangeFunction<'a> {
    pub(crate) fn opcode(&self) -> usize {
        match self.form {
            RangeForm::Count => OPCODE_COUNT,
            RangeForm::Reduce(_) => OPCODE_REDUCE,
            RangeForm::Filter { .. } => OPCODE_FILTER,
            RangeForm::Rank { .. } => OPCODE_RANK,
        }
    }

    /// The limits of pairs and bytes in the request.
    pub(crate) fn limits(&self) -> (u32, u32) {
        match self.form {
            RangeForm::Count | RangeForm::Reduce(_) => (0, 0),
            RangeForm::Filter { pairs_max, bytes_max } | RangeForm::Rank { pairs_max, bytes_max, .. } => {
                (pairs_max, bytes_max)
            }
        }
    }

    /// The bytes between the keys.
    pub(crate) fn encoded_terms(&self) -> Vec<u8> {
        let mut bytes = vec![0; request_function::SIZE];
        if let RangeForm::Reduce(term) | RangeForm::Rank { element: term, .. } = &self.form {
            term.encode(&mut bytes);
        }
        bytes.extend_from_slice(self.conditions.terms);
        let terms_bytes = (bytes.len() - request_function::SIZE) as u16;
        bytes[..request_function::SIZE].copy_from_slice(&terms_bytes.to_le_bytes());
        bytes
    }
}

/// Whether an opcode is that of a function over a range.
#[inline]
pub(crate) fn is_function(opcode: usize) -> bool {
    (OPCODE_COUNT..=OPCODE_RANK).contains(&opcode)
}

/// Splits the bytes after the lower key into terms and the upper key.
pub(crate) fn split(after_lower: &[u8]) -> Option<(&[u8], &[u8])> {
    let (terms_bytes, rest) = after_lower.split_first_chunk()?;
    rest.split_at_checked(u16::from_le_bytes(*terms_bytes).into())
}

/// Decodes form and conditions. `None` if a field has an invalid value.
pub(crate) fn decode<'a>(
    opcode: usize,
    (pairs_max, bytes_max): (u32, u32),
    terms: &'a [u8],
) -> Option<(RangeForm<'a>, Conditions<'a>)> {
    let (form, conditions) = match opcode {
        OPCODE_FILTER => (RangeForm::Filter { pairs_max, bytes_max }, terms),
        OPCODE_RANK => {
            let (element, conditions) = RangeTerm::decode(terms)?;
            let has_operands = !element.operands.is_empty();
            let rank = (!has_operands).then_some(RangeForm::Rank { element, pairs_max, bytes_max });
            (rank?, conditions)
        }
        _ if (pairs_max, bytes_max) != (0, 0) => return None,
        OPCODE_REDUCE => {
            let (fold, conditions) = RangeTerm::decode(terms)?;
            (RangeForm::Reduce(fold), conditions)
        }
        _ => (RangeForm::Count, terms),
    };
    Some((form, Conditions::new(conditions)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_follow_the_layout() {
        let mut terms = Vec::new();
        RangeTerm::new(0x0302_0100, 0x0706_0504, &[9, 8]).unwrap().encode(&mut terms);
        assert_eq!(terms, [0, 1, 2, 3, 4, 5, 6, 7, 2, 0, 9, 8]);
        let fold = RangeTerm::new(7, 5, &[1]).unwrap();
        let conditions = Conditions::new(&terms).unwrap();
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        let function = RangeFunction { form: RangeForm::Reduce(fold), lower, upper, conditions };
        let bytes = function.encoded_terms();
        assert_eq!(bytes[..13], [23, 0, 7, 0, 0, 0, 5, 0, 0, 0, 1, 0, 1]);
        assert_eq!(split(&bytes), Some((&bytes[2..], &[][..])));
        assert_eq!(decode(OPCODE_REDUCE, (0, 0), &bytes[2..]), Some((RangeForm::Reduce(fold), conditions)));
    }

    #[test]
    fn terms_are_whole_and_not_too_many() {
        let mut terms = Vec::new();
        for count in 0..=Conditions::MAX {
            assert_eq!(Conditions::new(&terms).map(|conditions| conditions.iter().count()), Some(count));
            RangeTerm::new(1, 2, &[3; TERM_OPERAND_BYTES_MAX]).unwrap().encode(&mut terms);
        }
        assert_eq!(Conditions::new(&terms), None, "nine conditions");
        let one = &terms[..34];
        assert!((1..34).all(|bytes| Conditions::new(&one[..bytes]).is_none()), "an incomplete term");
        let long = [0; TERM_OPERAND_BYTES_MAX + 1];
        let error = RangeTerm::new(0, 0, &long).unwrap_err();
        assert_eq!(error.to_string(), "operands of 25 bytes: at most 24 are allowed");
        let encoded = [&[0; 8][..], &[25, 0], &long].concat();
        assert_eq!(Conditions::new(&encoded), None);
    }

    #[test]
    fn each_form_has_its_fields() {
        let term = [[0; 8].as_slice(), &[1, 0, 5]].concat();
        assert!(decode(OPCODE_COUNT, (0, 0), &[]).is_some());
        for opcode in [OPCODE_COUNT, OPCODE_REDUCE] {
            assert!(decode(opcode, (0, 0), &term).is_some());
            assert!(decode(opcode, (1, 0), &term).is_none(), "it has no limits");
            assert!(decode(opcode, (0, 1), &term).is_none(), "it has no limits");
        }
        assert!(decode(OPCODE_REDUCE, (0, 0), &[]).is_none(), "a reduction has a fold");
        let limited = RangeForm::Filter { pairs_max: 1, bytes_max: 2 };
        assert_eq!(decode(OPCODE_FILTER, (1, 2), &[]), Some((limited, Conditions::default())));
        assert!(decode(OPCODE_FILTER, (1, 2), &term[..9]).is_none());
        let element = RangeTerm::new(0, 0, &[]).unwrap();
        let rank = RangeForm::Rank { element, pairs_max: 1, bytes_max: 2 };
        assert_eq!(decode(OPCODE_RANK, (1, 2), &[0; 10]), Some((rank, Conditions::default())));
        assert!(decode(OPCODE_RANK, (1, 2), &[]).is_none(), "a ranking has an element");
        assert!(decode(OPCODE_RANK, (1, 2), &term).is_none(), "it has no operands");
    }
}
