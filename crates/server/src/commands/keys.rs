//! Pairs as such.

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
        summary: "Deletes pairs at one moment: how many there were.",
    },
    Command {
        name: "unlink",
        arity: -2,
        keys: Keys::All,
        form: CommandForm::Update(delete),
        usage: "key [key ...]",
        summary: "Deletes pairs at one moment: how many there were.",
    },
    Command {
        name: "exists",
        arity: -2,
        keys: Keys::All,
        form: CommandForm::Read(exists),
        usage: "key [key ...]",
        summary: "How many of the keys exist; one that is named twice counts twice.",
    },
    Command {
        name: "touch",
        arity: -2,
        keys: Keys::All,
        form: CommandForm::Read(touch),
        usage: "key [key ...]",
        summary: "How many of the keys exist; they are used now.",
    },
    Command {
        name: "type",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Read(kind),
        usage: "key",
        summary: "The type of a value: string, or none if the key is absent.",
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
    let mut found = 0;
    for key in arguments.from(1).iter() {
        found += i64::from(keyspace.peek(key)?.is_some());
    }
    replies.integer(found);
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
    let there = keyspace.peek(&arguments[1])?.is_some();
    replies.simple(if there { "string" } else { "none" });
    Ok(())
}
