//! A hash map with the same operations, as the model of a table. Each function is a plain loop here.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::borrow::Borrow;
use std::collections::HashMap;

use honeycomb_hashtable::{
    BuiltIn, Element, Error, Functions, Operation, Outcome, Request, Table, TableConfig,
};
use honeycomb_memory::{Memory, MemoryConfig, MemoryError};
use honeycomb_testing::Random;

pub(crate) type TestTable<'m> = Table<&'m Memory>;

pub(crate) fn memory(arena_bytes: usize) -> Memory {
    Memory::new(MemoryConfig { arena_bytes, huge_pages: false, ..Default::default() }).unwrap()
}

/// A table with the functions of [`functions`].
pub(crate) fn table<'m>(memory: &'m Memory, config: &TableConfig) -> TestTable<'m> {
    Table::new(memory, config.clone(), functions().0).unwrap()
}

/// A function that the tests call, with its number in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestFunction {
    AddU32,
    MaximumI64,
    /// An odd-even predicate that is registered: of two bytes, with one operand, the remainder.
    Parity,
    /// Twice the element plus the operand, of two bytes; registered.
    Double,
}

impl TestFunction {
    fn width(self) -> usize {
        match self {
            Self::AddU32 => 4,
            Self::MaximumI64 => 8,
            Self::Parity | Self::Double => 2,
        }
    }

    fn is_predicate(self) -> bool {
        self == Self::Parity
    }

    /// The element as a number, sign-extended.
    fn read(self, bytes: &[u8]) -> i128 {
        match self {
            Self::AddU32 => u32::from_le_bytes(bytes.try_into().unwrap()).into(),
            Self::MaximumI64 => i64::from_le_bytes(bytes.try_into().unwrap()).into(),
            Self::Parity | Self::Double => u16::from_le_bytes(bytes.try_into().unwrap()).into(),
        }
    }

    fn apply(self, element: i128, operand: i128) -> i128 {
        match self {
            Self::AddU32 => (element + operand) % (1 << 32),
            Self::MaximumI64 => element.max(operand),
            Self::Parity => i128::from(element % 2 == operand % 2),
            Self::Double => (2 * element + operand) % (1 << 16),
        }
    }

    fn write(self, number: i128, bytes: &mut [u8]) {
        bytes.copy_from_slice(&number.to_le_bytes()[..self.width()]);
    }
}

/// The functions of the tables, and the number of each test function.
pub(crate) fn functions() -> (Functions, [u32; 4]) {
    let mut functions = Functions::default();
    let parity = Box::new(|element: u64, operands: &[u64]| element % 2 == operands[0] % 2);
    let parity = functions.register_predicate(Element::U16, 1, parity).unwrap();
    let double = Box::new(|element: u64, operands: &[u64]| 2 * element + operands[0]);
    let double = functions.register_update(Element::U16, 1, double).unwrap();
    let numbers = [BuiltIn::Add.number(Element::U32), BuiltIn::Maximum.number(Element::I64), parity, double];
    (functions, numbers)
}

#[derive(Debug, Clone)]
pub(crate) enum OwnedOperation {
    Get,
    Put(Vec<u8>),
    Insert(Vec<u8>),
    Update(Vec<u8>),
    Delete,
    CompareAndSwap(Vec<u8>, Vec<u8>),
    CompareAndDelete(Vec<u8>),
    Scalar(TestFunction, Vec<u8>),
    VectorWithScalar(TestFunction, Vec<u8>),
    VectorWithVector(TestFunction, Vec<u8>),
    Reduce(TestFunction, Vec<u8>),
    Filter(Vec<u8>),
}

/// Borrows a batch of operations with their keys.
pub(crate) fn requests<'o, K: AsRef<[u8]>>(
    batch: &'o [(K, OwnedOperation)],
    numbers: &[u32],
) -> Vec<Request<'o>> {
    let borrow = |(key, operation): &'o (K, OwnedOperation)| Request {
        key: key.as_ref(),
        operation: operation.borrow(numbers),
    };
    batch.iter().map(borrow).collect()
}

impl OwnedOperation {
    pub(crate) fn has_function(&self) -> bool {
        use OwnedOperation::{Filter, Reduce, Scalar, VectorWithScalar, VectorWithVector};
        matches!(self, Scalar(..) | VectorWithScalar(..) | VectorWithVector(..) | Reduce(..) | Filter(..))
    }

    /// Borrows the operation, with the numbers of the functions.
    pub(crate) fn borrow<'o>(&'o self, numbers: &[u32]) -> Operation<'o> {
        let number = |function: TestFunction| numbers[function as usize];
        match self {
            Self::Get => Operation::Get,
            Self::Put(value) => Operation::Put(value),
            Self::Insert(value) => Operation::Insert(value),
            Self::Update(value) => Operation::Update(value),
            Self::Delete => Operation::Delete,
            Self::CompareAndSwap(expected, value) => Operation::CompareAndSwap { expected, value },
            Self::CompareAndDelete(expected) => Operation::CompareAndDelete { expected },
            Self::Scalar(function, operands) => {
                Operation::UpdateScalar { function: number(*function), operands }
            }
            Self::VectorWithScalar(function, operands) => {
                Operation::UpdateVectorWithScalar { function: number(*function), operands }
            }
            Self::VectorWithVector(function, vector) => {
                Operation::UpdateVectorWithVector { function: number(*function), vector }
            }
            Self::Reduce(function, initial) => Operation::Reduce { function: number(*function), initial },
            Self::Filter(operands) => Operation::Filter { function: number(TestFunction::Parity), operands },
        }
    }
}

/// A key: most are short, and a few have the maximum length.
pub(crate) fn key(number: usize) -> Vec<u8> {
    let length = match number % 16 {
        0 => 460,
        1 => 50,
        2 => 100,
        short => 1 + short % 12,
    };
    let mut key = vec![number as u8; length];
    key[0] = (number % 251) as u8;
    if length > 1 {
        key[1] = (number / 251) as u8;
    }
    key
}

pub(crate) fn value(random: &mut Random) -> Vec<u8> {
    let length = match random.below(20) {
        0..8 => random.pick(&[2, 4, 8, 16]),
        8..16 => random.below(30),
        16..18 => random.below(120),
        18 => random.below(520),
        _ => random.below(5000),
    };
    // Often equal, so that comparisons succeed.
    if random.chance(50) { vec![1; length] } else { random.bytes(length) }
}

pub(crate) fn operation(random: &mut Random) -> OwnedOperation {
    let function = random.pick(&[TestFunction::AddU32, TestFunction::MaximumI64, TestFunction::Double]);
    let operand = random.bytes(function.width());
    match random.below(32) {
        0..8 => OwnedOperation::Get,
        8..14 => OwnedOperation::Put(value(random)),
        14..17 => OwnedOperation::Insert(value(random)),
        17..19 => OwnedOperation::Update(value(random)),
        19..22 => OwnedOperation::Delete,
        22 => OwnedOperation::CompareAndDelete(value(random)),
        23 => OwnedOperation::CompareAndSwap(value(random), value(random)),
        24..26 => OwnedOperation::Scalar(function, operand),
        26..28 => OwnedOperation::VectorWithScalar(function, operand),
        28 => {
            let elements = random.pick(&[1, 2, 4]);
            OwnedOperation::VectorWithVector(function, random.bytes(elements * function.width()))
        }
        29 => OwnedOperation::Reduce(function, operand),
        _ => OwnedOperation::Filter(random.bytes(2)),
    }
}

/// The expected answer of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    Found(Vec<u8>),
    Absent,
    Inserted,
    Updated,
    Deleted,
    Exists,
    Mismatch(Vec<u8>),
    Original(Vec<u8>),
    NotElements(usize),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Model(HashMap<Vec<u8>, Vec<u8>>);

impl Model {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum()
    }

    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
        self.0.keys().cloned().collect()
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&Vec<u8>> {
        self.0.get(key)
    }

    pub(crate) fn apply(&mut self, key: &[u8], operation: &OwnedOperation) -> Answer {
        let mut value = self.0.remove(key);
        let answer = apply(&mut value, operation);
        if let Some(value) = value {
            self.0.insert(key.to_vec(), value);
        }
        answer
    }
}

/// Applies an operation to the value of one key.
pub(crate) fn apply(stored: &mut Option<Vec<u8>>, operation: &OwnedOperation) -> Answer {
    use OwnedOperation as O;
    let current = match (operation, &stored) {
        (O::Put(value), _) | (O::Insert(value), None) | (O::Update(value), Some(_)) => {
            let existed = stored.replace(value.clone()).is_some();
            return if existed { Answer::Updated } else { Answer::Inserted };
        }
        (_, None) => return Answer::Absent,
        (_, Some(current)) => current.clone(),
    };
    match operation {
        O::Get => Answer::Found(current),
        O::Delete => {
            *stored = None;
            Answer::Deleted
        }
        O::CompareAndSwap(expected, value) if *expected == current => {
            *stored = Some(value.clone());
            Answer::Updated
        }
        O::CompareAndDelete(expected) if *expected == current => {
            *stored = None;
            Answer::Deleted
        }
        O::CompareAndSwap(..) | O::CompareAndDelete(_) => Answer::Mismatch(current),
        O::Scalar(function, operand) if current.len() == function.width() => {
            *stored = Some(updated(*function, &current, operand));
            Answer::Original(current)
        }
        O::VectorWithScalar(function, operand) if current.len() % function.width() == 0 => {
            *stored = Some(updated(*function, &current, operand));
            Answer::Original(current)
        }
        O::VectorWithVector(function, vector)
            if current.len() % function.width() == 0 && current.len() == vector.len() =>
        {
            *stored = Some(updated(*function, &current, vector));
            Answer::Original(current)
        }
        O::Reduce(function, initial) if current.len() % function.width() == 0 => {
            let mut sum = function.read(initial);
            for element in current.chunks(function.width()) {
                sum = function.apply(sum, function.read(element));
            }
            let mut bytes = initial.clone();
            function.write(sum, &mut bytes);
            Answer::Found(bytes)
        }
        O::Filter(operand) if current.len() % 2 == 0 => {
            let parity = TestFunction::Parity;
            let matches = |element: &&[u8]| parity.apply(parity.read(element), parity.read(operand)) == 1;
            Answer::Found(current.chunks(2).filter(matches).flatten().copied().collect())
        }
        O::Insert(_) => Answer::Exists,
        _ => Answer::NotElements(current.len()),
    }
}

/// `operands` has one element for all, or one for each.
fn updated(function: TestFunction, value: &[u8], operands: &[u8]) -> Vec<u8> {
    let (width, mut updated) = (function.width(), value.to_vec());
    for (index, element) in updated.chunks_mut(width).enumerate() {
        let at = if operands.len() == width { 0 } else { index * width };
        let number = function.apply(function.read(element), function.read(&operands[at..at + width]));
        function.write(number, element);
    }
    updated
}

/// Whether an operation has found no memory.
pub(crate) fn is_exhausted<T, E: Borrow<Error>>(result: &Result<T, E>) -> bool {
    let exhausted = |error: &E| matches!(error.borrow(), Error::Memory(MemoryError::Exhausted { .. }));
    result.as_ref().is_err_and(exhausted)
}

/// The answer with its value.
pub(crate) fn answer(outcome: Result<Outcome, &Error>, bytes: &[u8]) -> Answer {
    let value = |span: honeycomb_hashtable::Span| bytes[span.start..span.end].to_vec();
    match outcome.unwrap() {
        Outcome::Found(span) => Answer::Found(value(span)),
        Outcome::Absent => Answer::Absent,
        Outcome::Inserted => Answer::Inserted,
        Outcome::Updated => Answer::Updated,
        Outcome::Deleted => Answer::Deleted,
        Outcome::Exists => Answer::Exists,
        Outcome::Mismatch(span) => Answer::Mismatch(value(span)),
        Outcome::Original(span) => Answer::Original(value(span)),
        Outcome::NotElements { bytes } => Answer::NotElements(bytes),
    }
}

pub(crate) fn assert_agrees(
    model: &mut Model,
    key: &[u8],
    operation: &OwnedOperation,
    outcome: Result<Outcome, &Error>,
    bytes: &[u8],
) {
    let found = answer(outcome, bytes);
    let expected = model.apply(key, operation);
    assert_eq!(found, expected, "{operation:?} of {key:?}");
}
