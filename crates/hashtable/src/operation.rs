//! The operations on one key, and what each does to the value of the key.
//!
//! [`decide`] is the only place that defines an operation. Direct execution calls it with the value in the
//! table, and a batch with the value that the previous operation on the key has left.

use honeycomb_layout::VALUE_BYTES_MAX;

use crate::built_in::{Operands, update_word};
use crate::error::Error;
use crate::functions::{Function, Functions};

/// An operation on one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'o> {
    /// Returns the value.
    Get,
    /// Stores the value.
    Put(&'o [u8]),
    /// Stores the value if the key is absent.
    Insert(&'o [u8]),
    /// Stores the value if the key exists.
    Update(&'o [u8]),
    /// Removes the pair.
    Delete,
    /// Stores a value if the current one equals the expected one.
    CompareAndSwap {
        /// The expected value.
        expected: &'o [u8],
        /// The new value.
        value: &'o [u8],
    },
    /// Removes the pair if its value equals the expected one.
    CompareAndDelete {
        /// The expected value.
        expected: &'o [u8],
    },
    /// Applies a function to a value of one element. Returns the original value.
    UpdateScalar {
        /// The number of the function.
        function: u32,
        /// Its operands.
        operands: &'o [u8],
    },
    /// Applies a function to each element, with the same operands. Returns the original value.
    UpdateVectorWithScalar {
        /// The number of the function.
        function: u32,
        /// Its operands.
        operands: &'o [u8],
    },
    /// Applies a function of one operand to each element and the element at the same index of a vector of the
    /// same length. Returns the original value.
    UpdateVectorWithVector {
        /// The number of the function.
        function: u32,
        /// The vector.
        vector: &'o [u8],
    },
    /// Folds all elements with a function of one operand. Returns the result. Sums of floating-point numbers
    /// have the rounding of another order: eight partial sums, each of every eighth element.
    Reduce {
        /// The number of the function.
        function: u32,
        /// The element to begin with.
        initial: &'o [u8],
    },
    /// Returns the elements that satisfy a predicate.
    Filter {
        /// The number of the predicate.
        function: u32,
        /// Its operands.
        operands: &'o [u8],
    },
}

/// An operation of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// The key.
    pub key: &'r [u8],
    /// The operation.
    pub operation: Operation<'r>,
}

/// Bytes of the answers of a batch: the position of a value in [`Answers::bytes`](crate::Answers::bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

/// The outcome of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Get: the value. Reduce: the result. Filter: the elements.
    Found(Span),
    /// The key is absent, and the operation needs a value.
    Absent,
    /// The key was absent and has the value now.
    Inserted,
    /// The value is replaced.
    Updated,
    /// The pair is removed.
    Deleted,
    /// Insert: the key exists.
    Exists,
    /// Compare-and-swap or compare-and-delete: the current value, which differs from the expected one.
    Mismatch(Span),
    /// An update with a function: the original value.
    Original(Span),
    /// The value does not consist of elements of the function, one for a scalar, or as many as the vector
    /// has.
    NotElements {
        /// Length of the value in bytes.
        bytes: usize,
    },
}

/// Memory for values during an operation.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The current value.
    pub(crate) current: Vec<u8>,
    /// The value of [`Effect::StoreComputed`].
    pub(crate) computed: Vec<u8>,
}

/// What an operation does to the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect<'o> {
    Nothing,
    /// Stores a value of the operation.
    Store(&'o [u8]),
    /// Stores the value that [`decide`] has computed.
    StoreComputed,
    Delete,
}

impl<'o> Operation<'o> {
    /// Whether the operation can change the pair.
    #[must_use]
    #[inline]
    pub fn writes(&self) -> bool {
        !matches!(self, Self::Get | Self::Reduce { .. } | Self::Filter { .. })
    }

    /// Whether the operation has no function, and valid arguments.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        match self {
            Self::Get | Self::Delete | Self::CompareAndDelete { .. } => true,
            Self::Put(value)
            | Self::Insert(value)
            | Self::Update(value)
            | Self::CompareAndSwap { value, .. } => check_value(value).is_ok(),
            _ => false,
        }
    }

    /// Whether the operation depends on the bytes of the value, not only on its existence.
    #[inline]
    pub(crate) fn needs_value(&self) -> bool {
        !matches!(self, Self::Put(_) | Self::Insert(_) | Self::Update(_) | Self::Delete)
    }

    /// Executes the operation on a value that is in no table. Appends its answer, to which the outcome
    /// refers, to `out`. An update replaces the contents of `computed` with the new value.
    ///
    /// # Errors
    /// [`Error`] if the arguments are invalid.
    pub fn execute(
        &self,
        value: &[u8],
        functions: &Functions,
        computed: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, Error> {
        self.check(functions)?;
        Ok(decide(self, Some(value), functions, computed, out).1)
    }

    /// Checks everything that does not depend on the current value.
    ///
    /// # Errors
    /// [`Error`] names the invalid argument.
    #[inline]
    pub fn check(&self, functions: &Functions) -> Result<(), Error> {
        match *self {
            Self::Get | Self::Delete | Self::CompareAndDelete { .. } => Ok(()),
            Self::Put(value)
            | Self::Insert(value)
            | Self::Update(value)
            | Self::CompareAndSwap { value, .. } => check_value(value),
            Self::UpdateScalar { function, operands }
            | Self::UpdateVectorWithScalar { function, operands } => {
                functions.update(function)?.check_operands(operands)
            }
            Self::UpdateVectorWithVector { function, .. } => functions.update(function)?.check_single(),
            Self::Reduce { function, initial } => {
                let function = functions.update(function)?;
                function.check_single().and_then(|()| function.check_operands(initial))
            }
            Self::Filter { function, operands } => functions.predicate(function)?.check_operands(operands),
        }
    }
}

#[inline]
pub(crate) fn check_value(value: &[u8]) -> Result<(), Error> {
    let (bytes, max) = (value.len(), VALUE_BYTES_MAX);
    if bytes <= max { Ok(()) } else { Err(Error::ValueLength { bytes, max }) }
}

/// Appends bytes. Scalars of eight bytes, the commonest values of updates, need no call.
#[inline]
fn copy(out: &mut Vec<u8>, bytes: &[u8]) {
    match <&[u8; 8]>::try_from(bytes) {
        Ok(eight) => out.extend_from_slice(eight),
        Err(_) => out.extend_from_slice(bytes),
    }
}

/// Appends bytes to the answers.
#[inline]
pub(crate) fn append(out: &mut Vec<u8>, bytes: &[u8]) -> Span {
    let start = out.len();
    copy(out, bytes);
    Span { start, end: out.len() }
}

/// Decides an operation, which is checked, by the current value. Appends the answer to `out`. `computed`
/// receives the value of [`Effect::StoreComputed`]. The bytes of the value are empty if the operation does
/// not need them.
#[inline(always)]
pub(crate) fn decide<'o>(
    operation: &Operation<'o>,
    current: Option<&[u8]>,
    functions: &Functions,
    computed: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> (Effect<'o>, Outcome) {
    match (operation, current) {
        (Operation::Put(value) | Operation::Update(value), Some(_)) => {
            (Effect::Store(value), Outcome::Updated)
        }
        (_, Some(current)) => match decide_word(operation, current, computed, out) {
            Some(outcome) => (Effect::StoreComputed, outcome),
            None => decide_other(operation, Some(current), functions, computed, out),
        },
        _ => decide_other(operation, current, functions, computed, out),
    }
}

/// Decides the operations that are not the commonest ones, so that the code of those stays small.
#[inline(never)]
fn decide_other<'o>(
    operation: &Operation<'o>,
    current: Option<&[u8]>,
    functions: &Functions,
    computed: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> (Effect<'o>, Outcome) {
    let nothing = |outcome| (Effect::Nothing, outcome);
    match (*operation, current) {
        (Operation::Put(value) | Operation::Insert(value), None) => (Effect::Store(value), Outcome::Inserted),
        (Operation::Insert(_), Some(_)) => nothing(Outcome::Exists),
        (_, None) => nothing(Outcome::Absent),
        (Operation::Get, Some(current)) => nothing(Outcome::Found(append(out, current))),
        (Operation::Delete, Some(_)) => (Effect::Delete, Outcome::Deleted),
        (Operation::CompareAndSwap { expected, value }, Some(current)) => {
            if current == expected {
                return (Effect::Store(value), Outcome::Updated);
            }
            nothing(Outcome::Mismatch(append(out, current)))
        }
        (Operation::CompareAndDelete { expected }, Some(current)) => {
            if current == expected {
                return (Effect::Delete, Outcome::Deleted);
            }
            nothing(Outcome::Mismatch(append(out, current)))
        }
        (_, Some(current)) => {
            let bytes = current.len();
            let decided = decide_function(operation, current, functions, computed, out);
            decided.unwrap_or((Effect::Nothing, Outcome::NotElements { bytes }))
        }
    }
}

/// Decides an update of one integer of eight bytes with a built-in function. `None` if it is another
/// operation.
#[inline(always)]
fn decide_word(
    operation: &Operation<'_>,
    current: &[u8],
    computed: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Option<Outcome> {
    let (Operation::UpdateScalar { function, operands }
    | Operation::UpdateVectorWithScalar { function, operands }) = *operation
    else {
        return None;
    };
    let current: [u8; 8] = current.try_into().ok()?;
    let updated = update_word(function, current, operands.try_into().ok()?)?;
    computed.clear();
    computed.extend_from_slice(&updated);
    Some(Outcome::Original(append(out, &current)))
}

/// Decides an operation with a function. `None` if the value does not consist of its elements.
fn decide_function<'o>(
    operation: &Operation<'o>,
    current: &[u8],
    functions: &Functions,
    computed: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Option<(Effect<'o>, Outcome)> {
    let bytes = current.len();
    let vector = |function: Function<'_>| bytes.is_multiple_of(function.element().bytes());
    match *operation {
        Operation::UpdateScalar { function, operands } => {
            let function = functions.update(function).ok().filter(|it| it.element().bytes() == bytes)?;
            Some(update(&function, current, Operands::Same(operands), computed, out))
        }
        Operation::UpdateVectorWithScalar { function, operands } => {
            let function = functions.update(function).ok().filter(|it| vector(*it))?;
            Some(update(&function, current, Operands::Same(operands), computed, out))
        }
        Operation::UpdateVectorWithVector { function, vector: operands } => {
            let function = functions.update(function).ok().filter(|it| vector(*it))?;
            (operands.len() == bytes)
                .then(|| update(&function, current, Operands::Each(operands), computed, out))
        }
        Operation::Reduce { function, initial } => {
            let function = functions.update(function).ok().filter(|it| vector(*it))?;
            let span = append(out, initial);
            function.reduce(&mut out[span.start..], current);
            Some((Effect::Nothing, Outcome::Found(span)))
        }
        Operation::Filter { function, operands } => {
            let function = functions.predicate(function).ok().filter(|it| vector(*it))?;
            let start = out.len();
            function.filter(current, operands, out);
            Some((Effect::Nothing, Outcome::Found(Span { start, end: out.len() })))
        }
        _ => None,
    }
}

fn update<'o>(
    function: &Function<'_>,
    current: &[u8],
    operands: Operands<'_>,
    computed: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> (Effect<'o>, Outcome) {
    let original = append(out, current);
    computed.clear();
    copy(computed, current);
    function.update(computed, operands);
    (Effect::StoreComputed, Outcome::Original(original))
}
