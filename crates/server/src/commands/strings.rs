//! Values as strings of bytes.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options, integer};
use crate::command::{Command, Keys, Run};
use crate::commands::expiry::{self, Expiry};
use crate::envelope::{DATA_BYTES_MAX, Envelope};
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "get",
        arity: 2,
        keys: Keys::First,
        run: Run::Values(get),
        usage: "key",
        summary: "The value of a key.",
    },
    Command {
        name: "mget",
        arity: -2,
        keys: Keys::All,
        run: Run::Values(mget),
        usage: "key [key ...]",
        summary: "The values of several keys.",
    },
    Command {
        name: "strlen",
        arity: 2,
        keys: Keys::First,
        run: Run::Read(strlen),
        usage: "key",
        summary: "How many bytes a value has.",
    },
    Command {
        name: "getrange",
        arity: 4,
        keys: Keys::First,
        run: Run::Read(getrange),
        usage: "key start end",
        summary: "A part of a value; places count from 0, or back from -1.",
    },
    Command {
        name: "set",
        arity: -3,
        keys: Keys::First,
        run: Run::Write(set, |arguments| arguments.len() == 3),
        usage: "key value [NX | XX | IFEQ value] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]",
        summary: "Stores a value.",
    },
    Command {
        name: "setnx",
        arity: 3,
        keys: Keys::First,
        run: Run::Update(setnx),
        usage: "key value",
        summary: "Stores a value if the key is absent.",
    },
    Command {
        name: "mset",
        arity: -3,
        keys: Keys::EveryOther,
        run: Run::Update(mset),
        usage: "key value [key value ...]",
        summary: "Stores several values at one moment.",
    },
    Command {
        name: "msetnx",
        arity: -3,
        keys: Keys::EveryOther,
        run: Run::Update(msetnx),
        usage: "key value [key value ...]",
        summary: "Stores several values at one moment if all their keys are absent.",
    },
    Command {
        name: "getset",
        arity: 3,
        keys: Keys::First,
        run: Run::Update(getset),
        usage: "key value",
        summary: "Stores a value and returns the one before.",
    },
    Command {
        name: "getdel",
        arity: 2,
        keys: Keys::First,
        run: Run::Update(getdel),
        usage: "key",
        summary: "Deletes a pair and returns its value.",
    },
    Command {
        name: "getex",
        arity: -2,
        keys: Keys::First,
        run: Run::Update(getex),
        usage: "key [EX s | PX ms | EXAT s | PXAT ms | PERSIST]",
        summary: "The value of a key, whose expiry is changed.",
    },
    Command {
        name: "append",
        arity: 3,
        keys: Keys::First,
        run: Run::Update(append),
        usage: "key value",
        summary: "Appends to a value, or stores it: its length.",
    },
    Command {
        name: "setrange",
        arity: 4,
        keys: Keys::First,
        run: Run::Update(setrange),
        usage: "key offset value",
        summary: "Writes over a part of a value, which grows if need be: its length.",
    },
];

fn get(keyspace: &mut Keyspace<'_>, arguments: &Arguments<'_>, replies: &mut Replies) -> Result<(), Failure> {
    let found = keyspace.get(&arguments[1])?;
    replies.bulk_or_null(found.map(|found| found.data));
    Ok(())
}

fn mget(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    replies.array(arguments.len() - 1);
    for key in arguments.from(1).iter() {
        let found = keyspace.get(key)?;
        replies.bulk_or_null(found.map(|found| found.data));
    }
    Ok(())
}

fn strlen(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let bytes = keyspace.get(&arguments[1])?.map_or(0, |found| found.data.len());
    replies.integer(bytes as i64);
    Ok(())
}

fn getrange(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (start, end) = (integer(&arguments[2])?, integer(&arguments[3])?);
    let data = keyspace.get(&arguments[1])?.map_or(&[][..], |found| found.data);
    replies.bulk(part(data, start, end));
    Ok(())
}

/// The bytes from one place to another, both included; negative places count back from the end.
fn part(data: &[u8], start: i64, end: i64) -> &[u8] {
    let length = data.len() as i64;
    let place = |place: i64| if place < 0 { place.saturating_add(length) } else { place };
    let (start, end) = (place(start).max(0), place(end).min(length - 1));
    if start > end { &[] } else { &data[start as usize..=end as usize] }
}

/// When a value may be stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When<'a> {
    Always,
    Absent,
    Present,
    Equal(&'a [u8]),
}

/// What is said after the value of a `SET`.
struct How<'a> {
    when: When<'a>,
    get: bool,
    expiry: Option<Expiry<'a>>,
    keep: bool,
}

impl<'a> How<'a> {
    fn parse(arguments: &Arguments<'a>) -> Result<Self, Failure> {
        let mut how = Self { when: When::Always, get: false, expiry: None, keep: false };
        let mut options = Options::from(arguments, 3);
        while let Some(word) = options.word() {
            match &*word {
                b"NX" if matches!(how.when, When::Always | When::Absent) => how.when = When::Absent,
                b"XX" if matches!(how.when, When::Always | When::Present) => how.when = When::Present,
                b"IFEQ" if how.when == When::Always => how.when = When::Equal(options.argument()?),
                b"GET" => how.get = true,
                b"KEEPTTL" if how.expiry.is_none() => how.keep = true,
                word if !how.keep => how.expiry = Some(Expiry::parse(word, &mut options, how.expiry)?),
                _ => return Err(Failure::Syntax),
            }
        }
        Ok(how)
    }

    /// Whether the value that is there matters.
    fn looks(&self) -> bool {
        self.get || self.keep || self.when != When::Always
    }

    fn allows(&self, found: Option<&[u8]>) -> bool {
        match self.when {
            When::Always => true,
            When::Absent => found.is_none(),
            When::Present => found.is_some(),
            When::Equal(value) => found == Some(value),
        }
    }
}

fn set(keyspace: &mut Keyspace<'_>, arguments: &Arguments<'_>, replies: &mut Replies) -> Result<(), Failure> {
    let how = How::parse(arguments)?;
    let (key, value) = (&arguments[1], &arguments[2]);
    let mut expires_at = how.expiry.map(|expiry| expiry.time(keyspace.now(), "set")).transpose()?;
    if !how.looks() {
        replies.simple("OK");
        return keyspace.put(key, value, expires_at);
    }
    let found = keyspace.get(key)?;
    if how.keep {
        expires_at = found.and_then(|found| found.expires_at);
    }
    let allowed = how.allows(found.map(|found| found.data));
    match (how.get, allowed) {
        (true, _) => replies.bulk_or_null(found.map(|found| found.data)),
        (false, true) => replies.simple("OK"),
        (false, false) => replies.null(),
    }
    if allowed { keyspace.put(key, value, expires_at) } else { Ok(()) }
}

fn setnx(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let absent = keyspace.get(&arguments[1])?.is_none();
    replies.integer(i64::from(absent));
    if absent { keyspace.put(&arguments[1], &arguments[2], None) } else { Ok(()) }
}

fn mset(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    replies.simple("OK");
    put_all(keyspace, arguments)
}

fn msetnx(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    for key in arguments.from(1).iter().step_by(2) {
        if keyspace.get(key)?.is_some() {
            replies.integer(0);
            return Ok(());
        }
    }
    replies.integer(1);
    put_all(keyspace, arguments)
}

fn put_all(keyspace: &mut Keyspace<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    // All or none, also within a transaction that goes on.
    if arguments.from(1).iter().any(|argument| argument.len() > DATA_BYTES_MAX) {
        return Err(Failure::TooLong);
    }
    let (keys, values) = (arguments.from(1), arguments.from(2));
    let mut pairs = keys.iter().step_by(2).zip(values.iter().step_by(2));
    pairs.try_for_each(|(key, value)| keyspace.put(key, value, None))
}

fn getset(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    get(keyspace, arguments, replies)?;
    keyspace.put(&arguments[1], &arguments[2], None)
}

fn getdel(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let found = keyspace.get(&arguments[1])?;
    let there = found.is_some();
    replies.bulk_or_null(found.map(|found| found.data));
    if there {
        keyspace.delete(&arguments[1]);
    }
    Ok(())
}

fn getex(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (mut options, mut lasts, mut expiry) = (Options::from(arguments, 2), false, None);
    while let Some(word) = options.word() {
        match &*word {
            b"PERSIST" if expiry.is_none() => lasts = true,
            word if !lasts => expiry = Some(Expiry::parse(word, &mut options, expiry)?),
            _ => return Err(Failure::Syntax),
        }
    }
    get(keyspace, arguments, replies)?;
    let is_there = keyspace.get(&arguments[1])?.is_some();
    match expiry.filter(|_| is_there).map(|expiry| expiry.time(keyspace.now(), "getex")).transpose()? {
        None if !lasts => Ok(()),
        expires_at => expiry::change(keyspace, &arguments[1], |_| Some(expires_at)).map(drop),
    }
}

fn append(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    edit(keyspace, &arguments[1], replies, |data| {
        data.extend_from_slice(&arguments[2]);
        Ok(true)
    })
}

fn setrange(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (offset, bytes) = (integer(&arguments[2])?, &arguments[3]);
    let offset = usize::try_from(offset).map_err(|_| Failure::Offset)?;
    let end = offset.checked_add(bytes.len()).filter(|end| *end <= DATA_BYTES_MAX);
    edit(keyspace, &arguments[1], replies, |data| {
        if bytes.is_empty() {
            return Ok(false);
        }
        let end = end.ok_or(Failure::TooLong)?;
        data.resize(data.len().max(end), 0);
        data[offset..end].copy_from_slice(bytes);
        Ok(true)
    })
}

/// Has a value changed, which keeps its expiry, unless the function says that nothing has. Replies how many
/// bytes it has.
fn edit(
    keyspace: &mut Keyspace<'_>,
    key: &[u8],
    replies: &mut Replies,
    change: impl FnOnce(&mut Vec<u8>) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let found = keyspace.get(key)?;
    let Envelope { data, expires_at } = found.unwrap_or(Envelope { data: &[], expires_at: None });
    let mut data = data.to_vec();
    let changed = change(&mut data)?;
    replies.integer(data.len() as i64);
    if changed { keyspace.put(key, &data, expires_at) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_value() {
        let cases: [(i64, i64, &[u8]); 8] = [
            (0, 1, b"va"),
            (0, -1, b"value"),
            (-3, -1, b"lue"),
            (-9, 0, b"v"),
            (3, 9, b"ue"),
            (3, 2, b""),
            (9, 10, b""),
            (i64::MIN, i64::MAX, b"value"),
        ];
        for (start, end, expected) in cases {
            assert_eq!(part(b"value", start, end), expected, "{start} {end}");
            assert_eq!(part(b"", start, end), b"");
        }
    }
}
