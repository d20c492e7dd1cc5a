//! The built-in functions: loops over the elements of a value, compiled for each type.

use crate::element::{Element, Number};

/// A built-in function. [`number`](Self::number) is its number for a type of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    /// Adds; integers wrap around.
    Add,
    /// Subtracts; integers wrap around.
    Subtract,
    /// The smaller of both. A floating-point number, if the other one is not a number.
    Minimum,
    /// The greater of both. A floating-point number, if the other one is not a number.
    Maximum,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The operand.
    Exchange,
    /// Adds; integers saturate.
    SaturatingAdd,
    /// Subtracts; integers saturate.
    SaturatingSubtract,
    /// Operands: expected, new. The new number if the element equals the expected one.
    CompareAndExchange,
    /// Operands: factor, summand. Multiplies, then adds; integers wrap around.
    Affine,
    /// Operands: summand, lowest, highest. Adds, unless the sum is out of these bounds or overflows.
    BoundedAdd,
    /// Operands: subtrahend, lowest, highest. Subtracts, unless the difference is out of these bounds.
    BoundedSubtract,
    /// Operands: quantity, threshold, refill. Subtracts the quantity, and adds the refill if the element
    /// would be below the threshold: the stock of TPC-C. Integers wrap around.
    RefillingSubtract,
    /// A predicate: equal to the operand.
    Equal,
    /// A predicate: not equal to the operand.
    NotEqual,
    /// A predicate: less than the operand.
    Less,
    /// A predicate: greater than the operand.
    Greater,
    /// A predicate with the operands lowest, highest: within these bounds.
    Between,
}

const ALL: [BuiltIn; 20] = [
    BuiltIn::Add,
    BuiltIn::Subtract,
    BuiltIn::Minimum,
    BuiltIn::Maximum,
    BuiltIn::And,
    BuiltIn::Or,
    BuiltIn::Xor,
    BuiltIn::Exchange,
    BuiltIn::SaturatingAdd,
    BuiltIn::SaturatingSubtract,
    BuiltIn::CompareAndExchange,
    BuiltIn::Affine,
    BuiltIn::BoundedAdd,
    BuiltIn::BoundedSubtract,
    BuiltIn::RefillingSubtract,
    BuiltIn::Equal,
    BuiltIn::NotEqual,
    BuiltIn::Less,
    BuiltIn::Greater,
    BuiltIn::Between,
];
/// Numbers of one function, one for each type.
const TYPES: u32 = 16;
/// Maximum number of operands.
pub(crate) const OPERANDS_MAX: usize = 3;

impl BuiltIn {
    /// All built-in functions, in the order of their numbers.
    pub const ALL: [Self; 20] = ALL;

    /// The number of the function for a type of elements.
    #[must_use]
    pub const fn number(self, element: Element) -> u32 {
        self as u32 * TYPES + element as u32
    }

    /// The function and the type of a number.
    pub(crate) fn of_number(number: u32) -> Option<(Self, Element)> {
        let function = ALL.get((number / TYPES) as usize)?;
        let element = Element::ALL.get((number % TYPES) as usize)?;
        Some((*function, *element))
    }

    /// Whether it is a predicate, for filters only.
    #[must_use]
    pub const fn is_predicate(self) -> bool {
        self as u32 >= Self::Equal as u32
    }

    /// Whether the order of the elements of a reduction does not matter, except for rounding.
    const fn is_associative(self) -> bool {
        matches!(self, Self::Add | Self::Minimum | Self::Maximum | Self::And | Self::Or | Self::Xor)
    }

    /// Number of operands.
    #[must_use]
    pub const fn operands(self) -> usize {
        match self {
            Self::CompareAndExchange | Self::Affine | Self::Between => 2,
            Self::BoundedAdd | Self::BoundedSubtract | Self::RefillingSubtract => 3,
            _ => 1,
        }
    }
}

/// The operands of a function for all elements of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operands<'o> {
    /// The same operands for each element.
    Same(&'o [u8]),
    /// An operand for each element, for a function with one operand.
    Each(&'o [u8]),
}

/// Calls a generic function for the type of an element.
macro_rules! for_element {
    ($element:expr, $function:ident($($argument:expr),*)) => {
        match $element {
            Element::U8 => $function::<u8>($($argument),*),
            Element::U16 => $function::<u16>($($argument),*),
            Element::U32 => $function::<u32>($($argument),*),
            Element::U64 => $function::<u64>($($argument),*),
            Element::I8 => $function::<i8>($($argument),*),
            Element::I16 => $function::<i16>($($argument),*),
            Element::I32 => $function::<i32>($($argument),*),
            Element::I64 => $function::<i64>($($argument),*),
            Element::F32 => $function::<f32>($($argument),*),
            Element::F64 => $function::<f64>($($argument),*),
        }
    };
}

/// Applies a function to all elements of a value. The lengths are valid.
pub(crate) fn update(function: BuiltIn, element: Element, value: &mut [u8], operands: Operands<'_>) {
    for_element!(element, update_typed(function, value, operands));
}

/// Applies a function of one operand to an integer of eight bytes: the commonest update. `None` if the number
/// is that of another function.
#[inline]
pub(crate) fn update_word(number: u32, word: [u8; 8], operand: [u8; 8]) -> Option<[u8; 8]> {
    let (mut value, mut operand) = (word, Some(operand));
    update_words(number, &mut value, |_| operand.take()).then_some(value)
}

/// As [`update_word`], several times: `next` receives the integer before each update and returns the operand
/// of the update, or `None` after the last one. Returns false, and calls nothing, if the number is that of
/// another function.
#[inline]
pub(crate) fn update_words(
    number: u32,
    value: &mut [u8; 8],
    next: impl FnMut([u8; 8]) -> Option<[u8; 8]>,
) -> bool {
    let Some((function, element)) = BuiltIn::of_number(number) else { return false };
    if function.operands() != 1 || function.is_predicate() {
        return false;
    }
    match element {
        Element::U64 => with_one::<u64, _>(function, Words { value, next }),
        Element::I64 => with_one::<i64, _>(function, Words { value, next }),
        _ => return false,
    }
    true
}

/// Folds all elements of a value with a function of one operand, from an initial element on.
pub(crate) fn reduce(function: BuiltIn, element: Element, initial: &mut [u8], value: &[u8]) {
    for_element!(element, reduce_typed(function, initial, value));
}

/// As [`reduce`], for elements at the beginnings of fields, in their order.
pub(crate) fn reduce_fields<'v>(
    function: BuiltIn,
    element: Element,
    initial: &mut [u8],
    fields: impl Iterator<Item = &'v [u8]>,
) {
    for_element!(element, reduce_fields_typed(function, initial, fields));
}

/// Returns a bit for each of at most 64 fields: whether the element at its beginning satisfies a predicate.
pub(crate) fn matching<'v>(
    function: BuiltIn,
    element: Element,
    fields: impl Iterator<Item = &'v [u8]>,
    operands: &[u8],
) -> u64 {
    for_element!(element, matching_typed(function, fields, operands))
}

/// Appends the elements that satisfy a predicate.
pub(crate) fn filter(function: BuiltIn, element: Element, value: &[u8], operands: &[u8], out: &mut Vec<u8>) {
    for_element!(element, filter_typed(function, value, operands, out));
}

/// Whether an element satisfies a predicate.
pub(crate) fn is_satisfied(function: BuiltIn, element: Element, bytes: &[u8], operands: &[u8]) -> bool {
    for_element!(element, satisfies(function, bytes, operands))
}

fn reduce_fields_typed<'v, T: Number>(
    function: BuiltIn,
    initial: &mut [u8],
    fields: impl Iterator<Item = &'v [u8]>,
) {
    with_one::<T, _>(function, FoldFields { initial, fields });
}

fn update_typed<T: Number>(function: BuiltIn, value: &mut [u8], operands: Operands<'_>) {
    match operands {
        Operands::Each(each) => with_one::<T, _>(function, EachWith { value, each }),
        Operands::Same(same) if function.operands() == 1 => {
            with_one::<T, _>(function, AllWith { value, operand: T::read(same) });
        }
        Operands::Same(same) => update_with_several::<T>(function, value, same),
    }
}

/// A loop over elements that receives the function to apply, so that each function has a loop of its own.
trait Loop<T> {
    fn run(self, apply: impl Fn(T, T) -> T);
}

struct AllWith<'v, T> {
    value: &'v mut [u8],
    operand: T,
}

impl<T: Number> Loop<T> for AllWith<'_, T> {
    fn run(self, apply: impl Fn(T, T) -> T) {
        each(self.value, |element| apply(element, self.operand));
    }
}

/// Updates of one element, one after the other.
struct Words<'v, F> {
    value: &'v mut [u8; 8],
    next: F,
}

impl<T: Number, F: FnMut([u8; 8]) -> Option<[u8; 8]>> Loop<T> for Words<'_, F> {
    #[inline(always)]
    fn run(mut self, apply: impl Fn(T, T) -> T) {
        while let Some(operand) = (self.next)(*self.value) {
            apply(T::read(self.value), T::read(&operand)).write(self.value);
        }
    }
}

struct EachWith<'v, 'o> {
    value: &'v mut [u8],
    each: &'o [u8],
}

impl<T: Number> Loop<T> for EachWith<'_, '_> {
    fn run(self, apply: impl Fn(T, T) -> T) {
        let pairs = self.value.chunks_exact_mut(T::BYTES).zip(self.each.chunks_exact(T::BYTES));
        pairs.for_each(|(bytes, operand)| apply(T::read(bytes), T::read(operand)).write(bytes));
    }
}

struct Fold<'i, 'v> {
    initial: &'i mut [u8],
    value: &'v [u8],
}

impl<T: Number> Loop<T> for Fold<'_, '_> {
    fn run(self, apply: impl Fn(T, T) -> T) {
        let elements = self.value.chunks_exact(T::BYTES).map(T::read);
        elements.fold(T::read(self.initial), apply).write(self.initial);
    }
}

struct FoldFields<'i, F> {
    initial: &'i mut [u8],
    fields: F,
}

impl<'v, T: Number, F: Iterator<Item = &'v [u8]>> Loop<T> for FoldFields<'_, F> {
    fn run(self, apply: impl Fn(T, T) -> T) {
        self.fields.map(T::read).fold(T::read(self.initial), apply).write(self.initial);
    }
}

fn reduce_typed<T: Number>(function: BuiltIn, initial: &mut [u8], value: &[u8]) {
    // The compiler folds several small elements at once anyway.
    if T::BYTES >= 4 && function.is_associative() {
        with_one::<T, _>(function, FoldInLanes { initial, value });
    } else {
        with_one::<T, _>(function, Fold { initial, value });
    }
}

/// Elements that [`FoldInLanes`] folds at once.
const LANES: usize = 8;

/// A fold whose order does not matter: element `i` into lane `i % LANES`, and at last the lanes, in their
/// order. So an element does not wait for the previous one, and the processor folds several at once.
struct FoldInLanes<'i, 'v> {
    initial: &'i mut [u8],
    value: &'v [u8],
}

impl<T: Number> Loop<T> for FoldInLanes<'_, '_> {
    fn run(self, apply: impl Fn(T, T) -> T) {
        let mut chunks = self.value.chunks_exact(LANES * T::BYTES);
        let read = |chunk: &[u8]| -> [T; LANES] {
            std::array::from_fn(|lane| T::read(&chunk[lane * T::BYTES..][..T::BYTES]))
        };
        let first = chunks.next().map(read);
        let lanes = first.map(|first| {
            chunks.by_ref().fold(first, |lanes, chunk| {
                let elements = read(chunk);
                std::array::from_fn(|lane| apply(lanes[lane], elements[lane]))
            })
        });
        let rest = chunks.remainder().chunks_exact(T::BYTES).map(T::read);
        let elements = lanes.into_iter().flatten().chain(rest);
        elements.fold(T::read(self.initial), apply).write(self.initial);
    }
}

/// Runs a loop with a function of one operand.
fn with_one<T: Number, L: Loop<T>>(function: BuiltIn, over: L) {
    match function {
        BuiltIn::Add => over.run(T::add),
        BuiltIn::Subtract => over.run(T::subtract),
        BuiltIn::Minimum => over.run(T::minimum),
        BuiltIn::Maximum => over.run(T::maximum),
        BuiltIn::And => over.run(T::and),
        BuiltIn::Or => over.run(T::or),
        BuiltIn::Xor => over.run(T::xor),
        BuiltIn::SaturatingAdd => over.run(T::add_saturating),
        BuiltIn::SaturatingSubtract => over.run(T::subtract_saturating),
        // The check of the arguments leaves only `Exchange`.
        _ => over.run(|_, operand| operand),
    }
}

fn each<T: Number>(value: &mut [u8], apply: impl Fn(T) -> T) {
    value.chunks_exact_mut(T::BYTES).for_each(|bytes| apply(T::read(bytes)).write(bytes));
}

fn update_with_several<T: Number>(function: BuiltIn, value: &mut [u8], operands: &[u8]) {
    let operand = |index: usize| T::read(&operands[index * T::BYTES..]);
    let (first, second) = (operand(0), operand(1));
    match function {
        BuiltIn::CompareAndExchange => {
            return each(value, |element: T| if element == first { second } else { element });
        }
        BuiltIn::Affine => return each(value, |element: T| element.multiply(first).add(second)),
        _ => {}
    }
    let third = operand(2);
    let within = |sum: &T| *sum >= second && *sum <= third;
    match function {
        BuiltIn::BoundedAdd => {
            each(value, |element: T| element.add_checked(first).filter(within).unwrap_or(element));
        }
        BuiltIn::BoundedSubtract => {
            each(value, |element: T| element.subtract_checked(first).filter(within).unwrap_or(element));
        }
        // The check of the arguments leaves only `RefillingSubtract`.
        _ => each(value, |element: T| {
            let left = element.subtract(first);
            let is_low = element.subtract_checked(first).is_none_or(|left| left < second);
            if is_low { left.add(third) } else { left }
        }),
    }
}

fn filter_typed<T: Number>(function: BuiltIn, value: &[u8], operands: &[u8], out: &mut Vec<u8>) {
    let elements = value.chunks_exact(T::BYTES);
    let matching = elements.filter(|bytes| satisfies::<T>(function, bytes, operands));
    matching.for_each(|bytes| out.extend_from_slice(bytes));
}

#[inline]
fn satisfies<T: Number>(function: BuiltIn, bytes: &[u8], operands: &[u8]) -> bool {
    matching_typed::<T>(function, std::iter::once(bytes), operands) != 0
}

#[inline]
fn matching_typed<'v, T: Number>(
    function: BuiltIn,
    fields: impl Iterator<Item = &'v [u8]>,
    operands: &[u8],
) -> u64 {
    let first = T::read(operands);
    match function {
        BuiltIn::Equal => bits(fields, |element: T| element == first),
        BuiltIn::NotEqual => bits(fields, |element: T| element != first),
        BuiltIn::Less => bits(fields, |element: T| element < first),
        BuiltIn::Greater => bits(fields, |element: T| element > first),
        // The check of the arguments leaves only `Between`.
        _ => {
            let last = T::read(&operands[T::BYTES..]);
            bits(fields, |element: T| element >= first && element <= last)
        }
    }
}

/// A loop without branches that depend on the elements.
#[inline(always)]
fn bits<'v, T: Number>(fields: impl Iterator<Item = &'v [u8]>, is_satisfied: impl Fn(T) -> bool) -> u64 {
    let elements = fields.map(T::read).enumerate();
    elements.fold(0, |bits, (at, element)| bits | u64::from(is_satisfied(element)) << at)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_updated_as_a_value_of_one_element() {
        let words = [0, 1, 5, u64::MAX, 1 << 63, (1 << 63) - 1].map(u64::to_le_bytes);
        for (function, element) in ALL.iter().flat_map(|function| Element::ALL.map(|it| (*function, it))) {
            for (word, operand) in words.iter().flat_map(|word| words.map(|operand| (*word, operand))) {
                let updated = update_word(function.number(element), word, operand);
                let is_word = matches!(element, Element::U64 | Element::I64);
                let expected = (is_word && function.operands() == 1 && !function.is_predicate()).then(|| {
                    let mut value = word;
                    update(function, element, &mut value, Operands::Same(&operand));
                    value
                });
                assert_eq!(updated, expected, "{function:?} of {element:?}: {word:?}, {operand:?}");
            }
        }
    }
}
