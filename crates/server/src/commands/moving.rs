//! Commands that move or copy pairs to another key or table, and `SWAPDB`.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options, integer};
use crate::command::{Command, CommandForm, Keys};
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "rename",
        arity: 3,
        keys: Keys::FirstTwo,
        form: CommandForm::Update(rename),
        usage: "key new-key",
        summary: "Moves a value and its expiry to another key and replaces the pair there.",
    },
    Command {
        name: "renamenx",
        arity: 3,
        keys: Keys::FirstTwo,
        form: CommandForm::Update(renamenx),
        usage: "key new-key",
        summary: "Moves a value and its expiry to another key if that key is absent.",
    },
    Command {
        name: "copy",
        arity: -3,
        keys: Keys::FirstTwo,
        form: CommandForm::Update(copy),
        usage: "source destination [DB number] [REPLACE]",
        summary: "Copies a value and its expiry to another key if that key is absent, or with REPLACE.",
    },
    Command {
        name: "move",
        arity: 3,
        keys: Keys::First,
        form: CommandForm::Update(move_to),
        usage: "key number",
        summary: "Moves a pair to another table if its key is absent there.",
    },
    Command {
        name: "swapdb",
        arity: 3,
        keys: Keys::None,
        form: CommandForm::Update(swapdb),
        usage: "number number",
        summary: "Exchanges two tables atomically for all clients.",
    },
];

/// A value and its expiry in milliseconds since 1970.
type Value = (Vec<u8>, Option<u64>);

fn to_value(envelope: Option<Envelope<'_>>) -> Option<Value> {
    envelope.map(|envelope| (envelope.data.to_vec(), envelope.expires_at))
}

fn rename(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (data, expires_at) = to_value(keyspace.get_to_write(&arguments[1])?).ok_or(Failure::NoSuchKey)?;
    replies.ok();
    if arguments[1] == arguments[2] {
        return Ok(());
    }
    keyspace.put(&arguments[2], &data, expires_at)?;
    keyspace.delete(&arguments[1]);
    Ok(())
}

fn renamenx(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (data, expires_at) = to_value(keyspace.get_to_write(&arguments[1])?).ok_or(Failure::NoSuchKey)?;
    let renames = keyspace.get_to_write(&arguments[2])?.is_none();
    replies.integer(i64::from(renames));
    if renames {
        keyspace.put(&arguments[2], &data, expires_at)?;
        keyspace.delete(&arguments[1]);
    }
    Ok(())
}

fn copy(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (mut number, mut replaces) = (keyspace.number(), false);
    let mut options = Options::from(arguments, 3);
    while let Some(word) = options.word() {
        match &*word {
            b"REPLACE" => replaces = true,
            b"DB" => number = keyspace.other_number(options.integer()?)?,
            _ => return Err(Failure::Syntax),
        }
    }
    let (source, destination) = (&arguments[1], &arguments[2]);
    if number == keyspace.number() && source == destination {
        return Err(Failure::SameKey);
    }
    let Some((data, expires_at)) = to_value(keyspace.get(source)?) else {
        replies.integer(0);
        return Ok(());
    };
    let mut other = keyspace.of(number);
    let copies = replaces || other.get_to_write(destination)?.is_none();
    replies.integer(i64::from(copies));
    if copies { other.put(destination, &data, expires_at) } else { Ok(()) }
}

fn move_to(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (key, number) = (&arguments[1], keyspace.other_number(integer(&arguments[2])?)?);
    if number == keyspace.number() {
        return Err(Failure::SameKey);
    }
    let existing = to_value(keyspace.get_to_write(key)?);
    let mut other = keyspace.of(number);
    let moved = match existing {
        Some(value) if other.get_to_write(key)?.is_none() => Some(value),
        _ => None,
    };
    replies.integer(i64::from(moved.is_some()));
    if let Some((data, expires_at)) = moved {
        other.put(key, &data, expires_at)?;
        keyspace.delete(key);
    }
    Ok(())
}

fn swapdb(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let parse = |argument, which: &str| {
        integer(argument)
            .ok()
            .filter(|number| i32::try_from(*number).is_ok())
            .ok_or_else(|| Failure::other(format!("invalid {which} DB index")))
    };
    let (first, second) = (parse(&arguments[1], "first")?, parse(&arguments[2], "second")?);
    let (first, second) = (keyspace.other_number(first)?, keyspace.other_number(second)?);
    replies.ok();
    keyspace.swap(first, second)
}
