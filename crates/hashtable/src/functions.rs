//! The functions that operations choose by number: the built-in ones, and those that the embedder registers
//! before it creates the table.

use crate::built_in::{self, BuiltIn, OPERANDS_MAX, Operands};
use crate::column::ValueColumn;
use crate::element::Element;
use crate::error::Error;

/// The number of the first function that an embedder registers. Further ones have ascending numbers.
pub const FIRST_REGISTERED: u32 = 1024;

/// The bits of an element, in the lowest bits of a word.
pub type Bits = u64;
/// A function of an element and its operands. The table ignores bits of the result above the element's width.
pub type Update = Box<dyn Fn(Bits, &[Bits]) -> Bits + Send + Sync>;
/// A predicate of an element and its operands.
pub type Predicate = Box<dyn Fn(Bits, &[Bits]) -> bool + Send + Sync>;

/// All functions of a table.
#[derive(Debug, Default)]
pub struct Functions {
    registered: Vec<Registered>,
}

struct Registered {
    element: Element,
    operands: usize,
    kind: Kind,
}

enum Kind {
    Update(Update),
    Predicate(Predicate),
}

impl std::fmt::Debug for Registered {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "a function of {:?} with {} operands", self.element, self.operands)
    }
}

/// A function of a number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Function<'f> {
    number: u32,
    element: Element,
    operands: usize,
    body: Body<'f>,
}

#[derive(Debug, Clone, Copy)]
enum Body<'f> {
    BuiltIn(BuiltIn),
    Registered(&'f Registered),
}

impl Functions {
    /// Registers a function for updates and reductions. Returns its number. The operations of a batch may
    /// call it several times; it must not panic, and its result must depend on nothing but its arguments.
    ///
    /// # Errors [`Error::OperandCount`] if there are more than three operands.
    pub fn register_update(
        &mut self,
        element: Element,
        operands: usize,
        update: Update,
    ) -> Result<u32, Error> {
        self.register(Registered { element, operands, kind: Kind::Update(update) })
    }

    /// Registers a predicate for filters. Returns its number.
    ///
    /// # Errors
    /// [`Error::OperandCount`] if there are more than three operands.
    pub fn register_predicate(
        &mut self,
        element: Element,
        operands: usize,
        predicate: Predicate,
    ) -> Result<u32, Error> {
        self.register(Registered { element, operands, kind: Kind::Predicate(predicate) })
    }

    fn register(&mut self, registered: Registered) -> Result<u32, Error> {
        if registered.operands > OPERANDS_MAX {
            return Err(Error::OperandCount { count: registered.operands, max: OPERANDS_MAX });
        }
        self.registered.push(registered);
        Ok(FIRST_REGISTERED + self.registered.len() as u32 - 1)
    }

    /// Returns the function of a number, if it is an update and not a predicate, or the reverse.
    #[inline]
    fn get(&self, number: u32, predicate: bool) -> Result<Function<'_>, Error> {
        let Some((is_predicate, function)) = self.find(number) else {
            return Err(Error::UnknownFunction { number });
        };
        if is_predicate != predicate {
            let allowed = if predicate { "a predicate" } else { "an update" };
            return Err(Error::WrongFunction { number, allowed });
        }
        Ok(function)
    }

    /// Returns the function of a number, and whether it is a predicate.
    #[inline]
    fn find(&self, number: u32) -> Option<(bool, Function<'_>)> {
        if number < FIRST_REGISTERED { self.built_in(number) } else { self.registered(number) }
    }

    #[inline]
    fn built_in(&self, number: u32) -> Option<(bool, Function<'_>)> {
        let (function, element) = BuiltIn::of_number(number)?;
        let (operands, body) = (function.operands(), Body::BuiltIn(function));
        Some((function.is_predicate(), Function { number, element, operands, body }))
    }

    /// Returns the type of the elements of a function, or `None` if no function has the number.
    #[must_use]
    pub fn element(&self, number: u32) -> Option<Element> {
        self.find(number).map(|(_, function)| function.element)
    }

    fn registered(&self, number: u32) -> Option<(bool, Function<'_>)> {
        let registered = self.registered.get(number.checked_sub(FIRST_REGISTERED)? as usize)?;
        let Registered { element, operands, ref kind } = *registered;
        let function = Function { number, element, operands, body: Body::Registered(registered) };
        Some((matches!(kind, Kind::Predicate(_)), function))
    }

    #[inline]
    pub(crate) fn update(&self, number: u32) -> Result<Function<'_>, Error> {
        self.get(number, false)
    }

    pub(crate) fn predicate(&self, number: u32) -> Result<Function<'_>, Error> {
        self.get(number, true)
    }
}

impl Function<'_> {
    pub(crate) fn element(&self) -> Element {
        self.element
    }

    /// Checks the length of operands that all elements share.
    #[inline]
    pub(crate) fn check_operands(&self, operands: &[u8]) -> Result<(), Error> {
        let expected = self.operands * self.element.bytes();
        if operands.len() == expected {
            return Ok(());
        }
        Err(Error::OperandLength { number: self.number, bytes: operands.len(), expected })
    }

    /// Checks that the function has one operand: one for each element, or the fold of a reduction.
    pub(crate) fn check_single(&self) -> Result<(), Error> {
        let number = self.number;
        if self.operands == 1 { Ok(()) } else { Err(Error::NotBinary { number, operands: self.operands }) }
    }

    /// Updates all elements of a value. The lengths are checked.
    pub(crate) fn update(&self, value: &mut [u8], operands: Operands<'_>) {
        let registered = match self.body {
            Body::BuiltIn(function) => {
                return built_in::update(function, self.element, value, operands);
            }
            Body::Registered(registered) => registered,
        };
        let Kind::Update(update) = &registered.kind else { return };
        let width = self.element.bytes();
        let (same, count) = match operands {
            Operands::Same(same) => read_operands(same, width),
            Operands::Each(_) => ([0; OPERANDS_MAX], 0),
        };
        for (index, bytes) in value.chunks_exact_mut(width).enumerate() {
            let updated = match operands {
                Operands::Same(_) => update(read(bytes), &same[..count]),
                Operands::Each(each) => update(read(bytes), &[read(&each[index * width..][..width])]),
            };
            bytes.copy_from_slice(&updated.to_le_bytes()[..width]);
        }
    }

    /// Folds all elements of a value into `initial`.
    pub(crate) fn reduce(&self, initial: &mut [u8], value: &[u8]) {
        let registered = match self.body {
            Body::BuiltIn(function) => return built_in::reduce(function, self.element, initial, value),
            Body::Registered(registered) => registered,
        };
        registered.fold(initial, value.chunks_exact(self.element.bytes()));
    }

    /// Folds the elements at an offset of all values into `initial`.
    pub(crate) fn reduce_column(&self, initial: &mut [u8], values: &ValueColumn<'_>, offset: usize) {
        let fields = values.fields(offset, self.element.bytes());
        match self.body {
            Body::BuiltIn(function) => built_in::reduce_fields(function, self.element, initial, fields),
            Body::Registered(registered) => registered.fold(initial, fields),
        }
    }

    /// Whether an element satisfies the predicate.
    pub(crate) fn is_satisfied_by(&self, element: &[u8], operands: &[u8]) -> bool {
        let registered = match self.body {
            Body::BuiltIn(function) => {
                return built_in::is_satisfied(function, self.element, element, operands);
            }
            Body::Registered(registered) => registered,
        };
        let Kind::Predicate(predicate) = &registered.kind else { return false };
        let (operands, count) = read_operands(operands, self.element.bytes());
        predicate(read(element), &operands[..count])
    }

    /// Returns a bit for each of at most 64 values: whether its element at an offset satisfies the predicate.
    pub(crate) fn matching(&self, values: &ValueColumn<'_>, offset: usize, operands: &[u8]) -> u64 {
        let fields = values.fields(offset, self.element.bytes());
        match self.body {
            Body::BuiltIn(function) => built_in::matching(function, self.element, fields, operands),
            Body::Registered(_) => {
                let satisfied = |field: &[u8]| self.is_satisfied_by(&field[..self.element.bytes()], operands);
                fields.enumerate().fold(0, |bits, (at, field)| bits | u64::from(satisfied(field)) << at)
            }
        }
    }

    /// Appends the elements of a value that satisfy the predicate.
    pub(crate) fn filter(&self, value: &[u8], operands: &[u8], out: &mut Vec<u8>) {
        let registered = match self.body {
            Body::BuiltIn(function) => {
                return built_in::filter(function, self.element, value, operands, out);
            }
            Body::Registered(registered) => registered,
        };
        let Kind::Predicate(predicate) = &registered.kind else { return };
        let width = self.element.bytes();
        let (operands, count) = read_operands(operands, width);
        let elements = value.chunks_exact(width);
        let matching = elements.filter(|bytes| predicate(read(bytes), &operands[..count]));
        matching.for_each(|bytes| out.extend_from_slice(bytes));
    }
}

impl Registered {
    /// Folds elements, each at the beginning of some bytes, into `initial`, if this is an update.
    fn fold<'v>(&self, initial: &mut [u8], elements: impl Iterator<Item = &'v [u8]>) {
        let Kind::Update(update) = &self.kind else { return };
        let width = self.element.bytes();
        let folded = elements.fold(read(initial), |sum, element| {
            // A further call sees an element, so no bits above its width.
            read(&update(sum, &[read(&element[..width])]).to_le_bytes()[..width])
        });
        initial.copy_from_slice(&folded.to_le_bytes()[..width]);
    }
}

fn read(bytes: &[u8]) -> Bits {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    Bits::from_le_bytes(word)
}

fn read_operands(bytes: &[u8], width: usize) -> ([Bits; OPERANDS_MAX], usize) {
    let mut operands = [0; OPERANDS_MAX];
    let mut count = 0;
    for (operand, bytes) in operands.iter_mut().zip(bytes.chunks_exact(width)) {
        *operand = read(bytes);
        count += 1;
    }
    (operands, count)
}
