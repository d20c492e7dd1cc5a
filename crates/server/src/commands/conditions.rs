//! `DELEX` and `DIGEST`, and the conditions on existing values that `DELEX` and `SET` share.

use honeycomb_protocol::resp::Replies;
use xxhash_rust::xxh3::xxh3_64;

use crate::arguments::{Arguments, Options};
use crate::command::{Command, CommandForm, Keys};
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "delex",
        arity: -2,
        keys: Keys::First,
        form: CommandForm::Update(delex),
        usage: "key [IFEQ value | IFNE value | IFDEQ digest | IFDNE digest]",
        summary: "Deletes a pair if its value meets a condition; returns 1 if it did.",
    },
    Command {
        name: "digest",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Read(digest),
        usage: "key",
        summary: "Returns the XXH3 hash of a value as 16 hexadecimal digits.",
    },
];

/// Length of a digest in hexadecimal digits.
const DIGEST_DIGITS: usize = 16;

/// A condition on the existing value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition<'a> {
    Equal(&'a [u8]),
    NotEqual(&'a [u8]),
    DigestEqual(u64),
    DigestNotEqual(u64),
}

impl<'a> Condition<'a> {
    /// Parses the condition named `word` and its argument. Returns `None` when no condition has this name.
    pub(super) fn parse(word: &[u8], options: &mut Options<'a>) -> Result<Option<Self>, Failure> {
        Ok(Some(match word {
            b"IFEQ" => Self::Equal(options.argument()?),
            b"IFNE" => Self::NotEqual(options.argument()?),
            b"IFDEQ" => Self::DigestEqual(parse_digest(options.argument()?)?),
            b"IFDNE" => Self::DigestNotEqual(parse_digest(options.argument()?)?),
            _ => return Ok(None),
        }))
    }

    /// Returns whether the existing value meets the condition. An absent value equals no other value.
    pub(super) fn is_met_by(self, existing: Option<&[u8]>) -> bool {
        match self {
            Self::Equal(value) => existing == Some(value),
            Self::NotEqual(value) => existing != Some(value),
            Self::DigestEqual(digest) => existing.map(xxh3_64) == Some(digest),
            Self::DigestNotEqual(digest) => existing.map(xxh3_64) != Some(digest),
        }
    }
}

fn parse_digest(argument: &[u8]) -> Result<u64, Failure> {
    let malformed =
        || Failure::other(format!("a digest must be exactly {DIGEST_DIGITS} hexadecimal characters"));
    let is_digest = argument.len() == DIGEST_DIGITS && argument.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(argument).ok().filter(|_| is_digest).ok_or_else(malformed)?;
    u64::from_str_radix(text, 16).map_err(|_| malformed())
}

fn delex(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let mut options = Options::from(arguments, 2);
    let condition = match options.word() {
        None => None,
        Some(_) if arguments.len() != 4 => return Err(Failure::Arity("delex")),
        Some(word) => {
            let unknown = || Failure::other("Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
            Some(Condition::parse(&word, &mut options)?.ok_or_else(unknown)?)
        }
    };
    let existing = keyspace.get_to_write(&arguments[1])?.map(|envelope| envelope.data);
    let deletes = existing.is_some() && condition.is_none_or(|condition| condition.is_met_by(existing));
    replies.integer(i64::from(deletes));
    if deletes {
        keyspace.delete(&arguments[1]);
    }
    Ok(())
}

fn digest(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    match keyspace.get(&arguments[1])? {
        Some(envelope) => replies.bulk(format!("{:016x}", xxh3_64(envelope.data)).as_bytes()),
        None => replies.null(),
    }
    Ok(())
}
