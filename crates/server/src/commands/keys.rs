//! Commands on pairs that do not depend on their values: delete, exists, touch, type.

use honeycomb_protocol::resp::Replies;

use crate::arguments::Arguments;
use crate::command::{Command, CommandForm, Keys};
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::recency;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "del",
        arity: -2,
        keys: Keys::All,
        form: CommandForm::Update(delete),
        usage: "key [key ...]",
        summary: "Deletes pairs atomically; returns how many existed.",
    },
    Command {
        name: "unlink",
        arity: -2,
        keys: Keys::All,
        form: CommandForm::Update(delete),
        usage: "key [key ...]",
        summary: "Deletes pairs atomically; returns how many existed.",
    },
    Command {
        name: "exists",
        arity: -2,
        keys: Keys::All,
        form: CommandForm::Read(exists),
        usage: "key [key ...]",
        summary: "Returns how many of the keys exist; a repeated key counts repeatedly.",
    },
    Command {
        name: "touch",
        arity: -2,
        keys: Keys::All,
        form: CommandForm::Read(touch),
        usage: "key [key ...]",
        summary: "Updates the access statistics of the keys; returns how many exist.",
    },
    Command {
        name: "type",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Read(kind),
        usage: "key",
        summary: "Returns the type of a value: string, or none for an absent key.",
    },
];

fn delete(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let mut deleted = 0;
    for key in arguments.from(1).iter() {
        if keyspace.get_to_write(key)?.is_some() {
            keyspace.delete(key);
            deleted += 1;
        }
    }
    replies.integer(deleted);
    Ok(())
}

fn exists(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    replies.integer(keyspace.count_existing(&arguments.from(1))?);
    Ok(())
}

fn touch(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    arguments.from(1).iter().for_each(|key| recency::note(keyspace.table(), key));
    exists(keyspace, arguments, replies)
}

fn kind(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let exists = keyspace.peek(&arguments[1])?.is_some();
    replies.simple(if exists { "string" } else { "none" });
    Ok(())
}
