//! Commands that increment or decrement a decimal number in a value.

use honeycomb_protocol::resp::{Replies, format_decimal};

use crate::arguments::{Arguments, integer};
use crate::command::{Command, CommandForm, Keys};
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::long_double::{self, LongDouble, Parsed};

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "incr",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Update(|keyspace, arguments, replies| add(keyspace, &arguments[1], 1, replies)),
        usage: "key",
        summary: "Adds 1 to a number; an absent value counts as 0.",
    },
    Command {
        name: "decr",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Update(|keyspace, arguments, replies| add(keyspace, &arguments[1], -1, replies)),
        usage: "key",
        summary: "Subtracts 1 from a number; an absent value counts as 0.",
    },
    Command {
        name: "incrby",
        arity: 3,
        keys: Keys::First,
        form: CommandForm::Update(incrby),
        usage: "key increment",
        summary: "Adds to a number; an absent value counts as 0.",
    },
    Command {
        name: "decrby",
        arity: 3,
        keys: Keys::First,
        form: CommandForm::Update(decrby),
        usage: "key decrement",
        summary: "Subtracts from a number; an absent value counts as 0.",
    },
    Command {
        name: "incrbyfloat",
        arity: 3,
        keys: Keys::First,
        form: CommandForm::Update(incrbyfloat),
        usage: "key increment",
        summary: "Adds to a number that may have a fraction; an absent value counts as 0.",
    },
];

fn incrby(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    add(keyspace, &arguments[1], integer(&arguments[2])?, replies)
}

fn decrby(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let delta = integer(&arguments[2])?.checked_neg();
    let delta = delta.ok_or_else(|| Failure::other("decrement would overflow"))?;
    add(keyspace, &arguments[1], delta, replies)
}

fn add(keyspace: &mut Keyspace<'_>, key: &[u8], delta: i64, replies: &mut Replies) -> Result<(), Failure> {
    let (number, expires_at) = match keyspace.get_to_write(key)? {
        Some(envelope) => (integer(envelope.data)?, envelope.expires_at),
        None => (0, None),
    };
    let sum = number.checked_add(delta).ok_or(Failure::Overflow)?;
    replies.integer(sum);
    keyspace.put(key, &format_decimal(sum), expires_at)
}

fn incrbyfloat(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let parse = |text| long_double::parse(text).ok_or(Failure::NotFloat);
    let (before, expires_at) = match keyspace.get_to_write(&arguments[1])? {
        Some(envelope) => (parse(envelope.data)?, envelope.expires_at),
        None => (Parsed::Finite(LongDouble::zero()), None),
    };
    let sum = match (before, parse(&arguments[2])?) {
        (Parsed::Finite(before), Parsed::Finite(increment)) => before.add(&increment),
        _ => None,
    };
    let sum = sum.ok_or_else(|| Failure::other("increment would produce NaN or Infinity"))?.to_string();
    replies.bulk(sum.as_bytes());
    keyspace.put(&arguments[1], sum.as_bytes(), expires_at)
}
