//! Functions on a field of values: a number at a fixed offset. The ordered index has the same functions over
//! ranges of pairs.

use crate::built_in::BuiltIn;
use crate::column::ValueColumn;
use crate::element::Element;
use crate::error::Error;
use crate::functions::{Function, Functions};

/// A predicate on a field.
#[derive(Debug)]
pub struct Condition<'f> {
    field: Field<'f>,
    operands: Vec<u8>,
}

/// The fold of a field over many values.
#[derive(Debug)]
pub struct Fold<'f> {
    field: Field<'f>,
    result: Vec<u8>,
    /// Elements that are not folded yet: the function folds many at once.
    elements: Vec<u8>,
}

/// Bytes of elements that a fold collects.
const FOLD_BYTES: usize = 4096;

/// The field that a function reads.
#[derive(Debug, Clone, Copy)]
struct Field<'f> {
    function: Function<'f>,
    offset: usize,
}

impl<'f> Condition<'f> {
    /// A condition on the element at `offset`, with the predicate of a number and its operands.
    ///
    /// # Errors
    /// [`Error::UnknownFunction`], [`Error::WrongFunction`], [`Error::OperandLength`].
    pub fn new(functions: &'f Functions, number: u32, operands: &[u8], offset: usize) -> Result<Self, Error> {
        let function = functions.predicate(number)?;
        function.check_operands(operands)?;
        let field = Field { function, offset };
        Ok(Self { field, operands: operands.to_vec() })
    }

    /// Whether a value has the field and satisfies the condition.
    #[must_use]
    #[inline]
    pub fn matches(&self, value: &[u8]) -> bool {
        let element = self.field.of(value);
        element.is_some_and(|element| self.field.function.is_satisfied_by(element, &self.operands))
    }

    /// Returns a bit for each of at most 64 values: whether it satisfies the condition.
    #[must_use]
    pub fn matching(&self, values: &ValueColumn<'_>) -> u64 {
        self.field.function.matching(values, self.field.offset, &self.operands)
    }
}

impl<'f> Fold<'f> {
    /// A fold of the element at `offset`, with the update of a number, which has one operand.
    ///
    /// # Errors
    /// [`Error::UnknownFunction`], [`Error::WrongFunction`], [`Error::NotBinary`]; [`Error::OperandLength`]
    /// if `initial` is not one element.
    pub fn new(functions: &'f Functions, number: u32, initial: &[u8], offset: usize) -> Result<Self, Error> {
        let function = functions.update(number)?;
        function.check_single()?;
        function.check_operands(initial)?;
        let field = Field { function, offset };
        Ok(Self { field, result: initial.to_vec(), elements: Vec::with_capacity(FOLD_BYTES) })
    }

    /// Adds the fields of values, in their order. A value without the field changes nothing.
    #[inline]
    pub fn add<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>) {
        match self.field.function.element().bytes() {
            1 => self.add_elements::<1>(values),
            2 => self.add_elements::<2>(values),
            4 => self.add_elements::<4>(values),
            _ => self.add_elements::<8>(values),
        }
    }

    /// Collects elements of `BYTES` bytes, and folds them whenever there are enough.
    #[inline]
    fn add_elements<'v, const BYTES: usize>(&mut self, values: impl Iterator<Item = &'v [u8]>) {
        let offset = self.field.offset;
        for value in values {
            let Some(element) = value.get(offset..).and_then(<[u8]>::first_chunk::<BYTES>) else { continue };
            self.elements.extend_from_slice(element);
            if self.elements.len() >= FOLD_BYTES {
                self.fold();
            }
        }
    }

    /// As [`Fold::add`], for the values of a column.
    pub fn add_column(&mut self, values: &ValueColumn<'_>) {
        self.fold();
        self.field.function.reduce_column(&mut self.result, values, self.field.offset);
    }

    /// The result: one element.
    #[must_use]
    pub fn into_result(mut self) -> Vec<u8> {
        self.fold();
        self.result
    }

    fn fold(&mut self) {
        if self.elements.is_empty() {
            return;
        }
        self.field.function.reduce(&mut self.result, &self.elements);
        self.elements.clear();
    }
}

impl Field<'_> {
    fn of<'v>(&self, value: &'v [u8]) -> Option<&'v [u8]> {
        element_at(self.function.element(), value, self.offset)
    }
}

impl Element {
    /// The type of elements whose built-in maximum has this number. So a request for a ranking names it.
    ///
    /// # Errors
    /// [`Error::WrongFunction`].
    pub fn of_maximum(number: u32) -> Result<Self, Error> {
        match BuiltIn::of_number(number) {
            Some((BuiltIn::Maximum, element)) => Ok(element),
            _ => Err(Error::WrongFunction { number, allowed: "a built-in maximum" }),
        }
    }

    /// A number with the order of the elements, for the element at an offset of a value; `None` if the value
    /// is too short. Floating-point numbers have their total order.
    #[must_use]
    pub fn rank(self, value: &[u8], offset: usize) -> Option<u64> {
        let bytes = element_at(self, value, offset)?;
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let (bits, sign) = (u64::from_le_bytes(word), 1_u64 << (8 * self.bytes() - 1));
        Some(match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => bits,
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => bits ^ sign,
            Self::F32 | Self::F64 if bits & sign == 0 => bits | sign,
            // All bits of a negative number are inverted, within its width.
            Self::F32 | Self::F64 => !bits & (sign | (sign - 1)),
        })
    }
}

fn element_at(element: Element, value: &[u8], offset: usize) -> Option<&[u8]> {
    value.get(offset..)?.get(..element.bytes())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_names_its_type() {
        for element in Element::ALL {
            assert_eq!(Element::of_maximum(BuiltIn::Maximum.number(element)).unwrap(), element);
            assert!(Element::of_maximum(BuiltIn::Minimum.number(element)).is_err());
        }
        let error = Element::of_maximum(u32::MAX).unwrap_err().to_string();
        assert_eq!(error, "function 4294967295 is not a built-in maximum");
    }

    #[test]
    fn ranks_have_the_order_of_the_elements() {
        let rank = |element: Element, bytes: &[u8]| element.rank(bytes, 0).unwrap();
        let floats = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-300, 3.0, f64::INFINITY];
        let ranks: Vec<_> = floats.iter().map(|it| rank(Element::F64, &it.to_le_bytes())).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
        let floats = [-7.0_f32, -1.0, 0.5, 1e30];
        let ranks: Vec<_> = floats.iter().map(|it| rank(Element::F32, &it.to_le_bytes())).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
        let integers = [i16::MIN, -1, 0, 1, i16::MAX];
        let ranks: Vec<_> = integers.iter().map(|it| rank(Element::I16, &it.to_le_bytes())).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:?}");
        assert!(rank(Element::U8, &[200]) > rank(Element::U8, &[100]));
        assert_eq!(Element::U32.rank(&[1, 2, 3, 4, 5], 2), None);
        assert_eq!(Element::U32.rank(&[1, 2, 3, 4, 5], usize::MAX), None);
    }
}
