//! `KV.UPDATE`, `KV.REDUCE` and `KV.FILTER`: functions on the elements of a value; `RI.REDUCE`: on those of
//! all values of a range.
//!
//! A value is a number or a vector of numbers of one type, little-endian and without padding. Clients send
//! operands as text. The functions are those of unordered tables, and work in databases of both kinds.

use std::ops::Bound;
use std::str::FromStr;

use honeycomb_protocol::resp::Replies;
use honeycomb_store::unordered::{BuiltIn, Element, FIRST_REGISTERED, Operation, Outcome};
use honeycomb_store::{Error, Table};

use crate::arguments::{Arguments, integer, is};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::ordered::between;
use crate::context::Context;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::task::errand::Errand;
use crate::task::progress::Progress;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "kv.update",
        arity: -6,
        keys: Keys::First,
        form: CommandForm::Update(update),
        usage: "key type function SCALAR operand [operand ...] | EACH operand [operand ...] | VECTOR bytes",
        summary: "Applies a function to the elements of a value; returns the original value.",
    },
    Command {
        name: "kv.reduce",
        arity: 5,
        keys: Keys::First,
        form: CommandForm::Read(reduce),
        usage: "key type function initial",
        summary: "Folds the elements of a value with a function; returns the result as text.",
    },
    Command {
        name: "kv.filter",
        arity: -5,
        keys: Keys::First,
        form: CommandForm::Read(filter),
        usage: "key type predicate operand [operand ...]",
        summary: "Returns the elements of a value that satisfy a predicate.",
    },
    Command {
        name: "ri.reduce",
        arity: -6,
        keys: Keys::None,
        form: CommandForm::Errand(reduce_range),
        usage: "lower upper type function initial [OFFSET offset] [WHERE offset type predicate operand \
            [operand ...]] ...",
        summary: "Folds the elements at an offset of all values between two bounds, at one version; returns \
            the result as text.",
    },
];

/// Maximum number of operands of a function.
const OPERANDS_MAX: usize = 3;
const TYPES: [(&str, Element); 10] = [
    ("u8", Element::U8),
    ("u16", Element::U16),
    ("u32", Element::U32),
    ("u64", Element::U64),
    ("i8", Element::I8),
    ("i16", Element::I16),
    ("i32", Element::I32),
    ("i64", Element::I64),
    ("f32", Element::F32),
    ("f64", Element::F64),
];
/// The names of the built-in functions, in the order of their numbers.
const NAMES: [&str; BuiltIn::ALL.len()] = [
    "add",
    "subtract",
    "minimum",
    "maximum",
    "and",
    "or",
    "xor",
    "exchange",
    "saturating-add",
    "saturating-subtract",
    "compare-and-exchange",
    "affine",
    "bounded-add",
    "bounded-subtract",
    "refilling-subtract",
    "equal",
    "not-equal",
    "less",
    "greater",
    "between",
];

/// `RI.REDUCE`: a function inside the scan of a range.
struct RangeReduction {
    table: Table,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    element: Element,
    function: u32,
    initial: Vec<u8>,
    offset: usize,
    conditions: Vec<RangeCondition>,
}

/// A predicate of an element at an offset.
struct RangeCondition {
    offset: usize,
    function: u32,
    operands: Vec<u8>,
}

fn reduce_range(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    let (range, table) = (between(arguments)?, context.ordered()?.clone());
    let (element, function) = function_at(arguments, 3)?;
    let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
    let initial = number(element, &arguments[5])?;
    let (offset, conditions) = (0, Vec::new());
    let (lower, upper) = (owned(range.lower), owned(range.upper));
    let mut reduction =
        RangeReduction { table, lower, upper, element, function, initial, offset, conditions };
    reduction.parse_options(arguments)?;
    Ok(Box::new(reduction))
}

impl RangeReduction {
    /// Parses `OFFSET offset` and `WHERE offset type predicate operand [operand ...]`.
    fn parse_options(&mut self, arguments: &Arguments<'_>) -> Result<(), Failure> {
        let is_word = |at: usize| ["offset", "where"].iter().any(|word| is(&arguments[at], word));
        let mut at = 6;
        while at < arguments.len() {
            let end = (at + 1..arguments.len()).find(|at| is_word(*at)).unwrap_or(arguments.len());
            let offset = arguments.get(at + 1).filter(|_| at + 1 < end).ok_or(Failure::Syntax)?;
            let offset = usize::try_from(integer(offset)?).map_err(|_| Failure::NotInteger)?;
            match &arguments[at] {
                word if is(word, "offset") && end == at + 2 => self.offset = offset,
                word if is(word, "where") && end > at + 4 => {
                    let (element, function) = function_at(arguments, at + 2)?;
                    let operands = numbers(element, &arguments.part(at + 4..end))?;
                    self.conditions.push(RangeCondition { offset, function, operands });
                }
                _ => return Err(Failure::Syntax),
            }
            at = end;
        }
        Ok(())
    }
}

impl Errand for RangeReduction {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let now = context.now;
        let bounds = (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice));
        let mut range = self.table.push_down::<[u8]>(bounds).seeing(move |value| {
            let envelope = Envelope::open(value)?;
            envelope.is_alive(now).then_some(envelope.data)
        });
        for RangeCondition { offset, function, operands } in &self.conditions {
            range = range.only(*offset, *function, operands);
        }
        let result = range.reduce(self.offset, self.function, &self.initial)?;
        context.replies.bulk(text(self.element, &result).as_bytes());
        Ok(Progress::Done)
    }
}

fn update(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (element, function) = function(arguments)?;
    let (form, scalars) = (&arguments[4], |from| numbers(element, &arguments.from(from)));
    let operands = if is(form, "vector") { arguments[5].to_vec() } else { scalars(5)? };
    let operation = match form {
        _ if is(form, "scalar") => Operation::UpdateScalar { function, operands: &operands },
        _ if is(form, "each") => Operation::UpdateVectorWithScalar { function, operands: &operands },
        _ if is(form, "vector") && arguments.len() == 6 => {
            Operation::UpdateVectorWithVector { function, vector: &operands }
        }
        _ => return Err(Failure::Syntax),
    };
    let (mut original, mut updated) = (Vec::new(), Vec::new());
    match execute(keyspace, &arguments[1], &operation, (&mut original, &mut updated))? {
        None => replies.null(),
        Some(expires_at) => {
            keyspace.put(&arguments[1], &updated, expires_at)?;
            replies.bulk(&original);
        }
    }
    Ok(())
}

fn reduce(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (element, function) = function(arguments)?;
    let initial = number(element, &arguments[4])?;
    let (operation, mut result) = (Operation::Reduce { function, initial: &initial }, Vec::new());
    match execute(keyspace, &arguments[1], &operation, (&mut result, &mut Vec::new()))? {
        None => replies.null(),
        Some(_) => replies.bulk(text(element, &result).as_bytes()),
    }
    Ok(())
}

fn filter(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (element, function) = function(arguments)?;
    let operands = numbers(element, &arguments.from(4))?;
    let (operation, mut found) = (Operation::Filter { function, operands: &operands }, Vec::new());
    match execute(keyspace, &arguments[1], &operation, (&mut found, &mut Vec::new()))? {
        None => replies.null(),
        Some(_) => replies.bulk(&found),
    }
    Ok(())
}

/// Executes an operation on the value of a key. Appends its answer to the first buffer; the second receives
/// the updated value. Returns the deadline of the pair, or `None` if the key is absent.
fn execute(
    keyspace: &mut Keyspace<'_>,
    key: &[u8],
    operation: &Operation<'_>,
    (answer, updated): (&mut Vec<u8>, &mut Vec<u8>),
) -> Result<Option<Option<u64>>, Failure> {
    let functions = keyspace.functions();
    operation.check(functions).map_err(Error::from)?;
    let found = if operation.writes() { keyspace.get_to_write(key)? } else { keyspace.get(key)? };
    let Some(envelope) = found else { return Ok(None) };
    match operation.execute(envelope.data, functions, updated, answer).map_err(Error::from)? {
        Outcome::NotElements { bytes } => Err(Error::NotElements { bytes }.into()),
        _ => Ok(Some(envelope.expires_at)),
    }
}

/// Parses the type and the function, which follow the key.
fn function(arguments: &Arguments<'_>) -> Result<(Element, u32), Failure> {
    function_at(arguments, 2)
}

/// Parses the type at a position and the function after it. A function is a name or a number.
fn function_at(arguments: &Arguments<'_>, at: usize) -> Result<(Element, u32), Failure> {
    let (name, function) = (&arguments[at], &arguments[at + 1]);
    let Some((_, element)) = TYPES.iter().find(|(known, _)| is(name, known)) else {
        return Err(Failure::other("unknown type: allowed are u8 to u64, i8 to i64, f32 and f64"));
    };
    let by_name = NAMES.iter().position(|known| is(function, known));
    let by_number = || integer(function).ok().and_then(|number| usize::try_from(number).ok());
    match by_name.or_else(by_number) {
        Some(number) if number < NAMES.len() => Ok((*element, BuiltIn::ALL[number].number(*element))),
        Some(number) if (FIRST_REGISTERED as usize..=u32::MAX as usize).contains(&number) => {
            Ok((*element, number as u32))
        }
        _ => Err(Failure::other(format!(
            "unknown function: allowed are {}, the numbers 0 to {}, and those of registered functions from \
             {FIRST_REGISTERED} on",
            NAMES.join(", "),
            NAMES.len() - 1
        ))),
    }
}

/// Parses the operands of a function.
fn numbers(element: Element, arguments: &Arguments<'_>) -> Result<Vec<u8>, Failure> {
    if arguments.len() > OPERANDS_MAX {
        return Err(Failure::other(format!(
            "{} operands: a function has 1 to {OPERANDS_MAX}",
            arguments.len()
        )));
    }
    let mut bytes = Vec::new();
    arguments.iter().try_for_each(|argument| number(element, argument).map(|number| bytes.extend(number)))?;
    Ok(bytes)
}

/// Parses a number of a type.
fn number(element: Element, argument: &[u8]) -> Result<Vec<u8>, Failure> {
    fn bytes<T: FromStr>(text: &str, bytes: impl FnOnce(T) -> Vec<u8>) -> Option<Vec<u8>> {
        text.parse().ok().map(bytes)
    }
    let text = str::from_utf8(argument).unwrap_or_default();
    let parsed = match element {
        Element::U8 => bytes(text, |number: u8| number.to_le_bytes().to_vec()),
        Element::U16 => bytes(text, |number: u16| number.to_le_bytes().to_vec()),
        Element::U32 => bytes(text, |number: u32| number.to_le_bytes().to_vec()),
        Element::U64 => bytes(text, |number: u64| number.to_le_bytes().to_vec()),
        Element::I8 => bytes(text, |number: i8| number.to_le_bytes().to_vec()),
        Element::I16 => bytes(text, |number: i16| number.to_le_bytes().to_vec()),
        Element::I32 => bytes(text, |number: i32| number.to_le_bytes().to_vec()),
        Element::I64 => bytes(text, |number: i64| number.to_le_bytes().to_vec()),
        Element::F32 => bytes(text, |number: f32| number.to_le_bytes().to_vec()),
        Element::F64 => bytes(text, |number: f64| number.to_le_bytes().to_vec()),
    };
    parsed.ok_or_else(|| {
        let name = TYPES.iter().find(|(_, known)| *known == element).map_or("", |(name, _)| name);
        Failure::other(format!("an operand is not a number of the type {name}"))
    })
}

/// Formats a number of a type.
fn text(element: Element, bytes: &[u8]) -> String {
    fn read<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
    match element {
        Element::U8 => u8::from_le_bytes(read(bytes)).to_string(),
        Element::U16 => u16::from_le_bytes(read(bytes)).to_string(),
        Element::U32 => u32::from_le_bytes(read(bytes)).to_string(),
        Element::U64 => u64::from_le_bytes(read(bytes)).to_string(),
        Element::I8 => i8::from_le_bytes(read(bytes)).to_string(),
        Element::I16 => i16::from_le_bytes(read(bytes)).to_string(),
        Element::I32 => i32::from_le_bytes(read(bytes)).to_string(),
        Element::I64 => i64::from_le_bytes(read(bytes)).to_string(),
        Element::F32 => f32::from_le_bytes(read(bytes)).to_string(),
        Element::F64 => f64::from_le_bytes(read(bytes)).to_string(),
    }
}
