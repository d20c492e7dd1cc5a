//! `KV.UPDATE`, `KV.REDUCE` and `KV.FILTER`: functions on the elements of a value.
//!
//! A value is a number or a vector of numbers of one type, little-endian and without padding. Clients send
//! operands as text. The functions are those of unordered tables, and work in databases of both kinds.

use honeycomb_protocol::resp::Replies;
use honeycomb_store::Error;
use honeycomb_store::unordered::{BuiltIn, Element, FIRST_REGISTERED, Functions, Operation, Outcome};

use crate::arguments::{Arguments, integer, is};
use crate::command::{Command, CommandForm, Keys};
use crate::embedder;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "kv.update",
        arity: -5,
        keys: Keys::First,
        form: CommandForm::Update(update),
        usage: "key type function SCALAR [operand [operand ...]] | EACH [operand [operand ...]] | VECTOR \
            bytes",
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
        arity: -4,
        keys: Keys::First,
        form: CommandForm::Read(filter),
        usage: "key type predicate [operand [operand ...]]",
        summary: "Returns the elements of a value that satisfy a predicate.",
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

fn update(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (element, function) = function_at(keyspace.functions(), arguments, 2)?;
    let form = &arguments[4];
    let operands = match arguments.get(5) {
        Some(vector) if is(form, "vector") => vector.to_vec(),
        _ => numbers(element, &arguments.from(5))?,
    };
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
            keyspace.put_with(&arguments[1], Envelope { data: &updated, expires_at }, false)?;
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
    let (element, function) = function_at(keyspace.functions(), arguments, 2)?;
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
    let (element, function) = function_at(keyspace.functions(), arguments, 2)?;
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
    let outcome = embedder::call(|| operation.execute(envelope.data, functions, updated, answer))?;
    match outcome.map_err(Error::from)? {
        Outcome::NotElements { bytes } => Err(Error::NotElements { bytes }.into()),
        _ => Ok(Some(envelope.expires_at)),
    }
}

/// Parses the name of a type.
pub(super) fn element(name: &[u8]) -> Result<Element, Failure> {
    let found = TYPES.iter().find(|(known, _)| is(name, known));
    found
        .map(|(_, element)| *element)
        .ok_or_else(|| Failure::other("unknown type: allowed are u8 to u64, i8 to i64, f32 and f64"))
}

/// Returns the name of a type.
fn name(element: Element) -> &'static str {
    TYPES.iter().find(|(_, known)| *known == element).map_or("", |(name, _)| name)
}

/// Parses the type at a position and the function after it. A function is a name or a number.
///
/// # Errors
/// A [`Failure`] also if a registered function has elements of another type: of two types of the same width,
/// the function would take the elements of one for those of the other.
pub(super) fn function_at(
    functions: &Functions,
    arguments: &Arguments<'_>,
    at: usize,
) -> Result<(Element, u32), Failure> {
    let element = element(&arguments[at])?;
    let number = number_of_function(element, &arguments[at + 1])?;
    match functions.element(number) {
        Some(registered) if registered != element => Err(Failure::other(format!(
            "function {number} has elements of the type {}, not {}",
            name(registered),
            name(element)
        ))),
        // The check of the operation returns an error if no function has the number.
        _ => Ok((element, number)),
    }
}

/// Parses a function of a type.
fn number_of_function(element: Element, function: &[u8]) -> Result<u32, Failure> {
    let by_name = NAMES.iter().position(|known| is(function, known));
    let by_number = || integer(function).ok().and_then(|number| usize::try_from(number).ok());
    match by_name.or_else(by_number) {
        Some(number) if number < NAMES.len() => Ok(BuiltIn::ALL[number].number(element)),
        Some(number) if (FIRST_REGISTERED as usize..=u32::MAX as usize).contains(&number) => {
            Ok(number as u32)
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
pub(super) fn numbers(element: Element, arguments: &Arguments<'_>) -> Result<Vec<u8>, Failure> {
    if arguments.len() > OPERANDS_MAX {
        return Err(Failure::other(format!(
            "{} operands: a function has 0 to {OPERANDS_MAX}",
            arguments.len()
        )));
    }
    let mut bytes = Vec::new();
    arguments.iter().try_for_each(|argument| number(element, argument).map(|number| bytes.extend(number)))?;
    Ok(bytes)
}

/// Evaluates an expression in which a name is the type of an element.
macro_rules! with_type {
    ($element:expr, $name:ident => $value:expr) => {
        with_type!($element, $name => $value, U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32,
            I64 i64, F32 f32, F64 f64)
    };
    ($element:expr, $name:ident => $value:expr, $($variant:ident $kind:ty),*) => {
        match $element {
            $(Element::$variant => {
                type $name = $kind;
                $value
            })*
        }
    };
}

/// Parses a number of a type.
pub(super) fn number(element: Element, argument: &[u8]) -> Result<Vec<u8>, Failure> {
    let text = str::from_utf8(argument).unwrap_or_default();
    let parsed = with_type!(element, T => text.parse::<T>().map(|number| number.to_le_bytes().to_vec()).ok());
    parsed.ok_or_else(|| Failure::other(format!("an operand is not a number of the type {}", name(element))))
}

/// Formats a number of a type.
pub(super) fn text(element: Element, bytes: &[u8]) -> String {
    fn read<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
    with_type!(element, T => T::from_le_bytes(read(bytes)).to_string())
}
