//! Commands that read and edit values as byte strings.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, integer};
use crate::command::{Command, CommandForm, Keys};
use crate::envelope::{DATA_BYTES_MAX, Envelope};
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "get",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Values(get),
        usage: "key",
        summary: "Returns the value of a key.",
    },
    Command {
        name: "mget",
        arity: -2,
        keys: Keys::All,
        form: CommandForm::Values(mget),
        usage: "key [key ...]",
        summary: "Returns the values of several keys.",
    },
    Command {
        name: "strlen",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Read(strlen),
        usage: "key",
        summary: "Returns the length of a value in bytes.",
    },
    Command {
        name: "getrange",
        arity: 4,
        keys: Keys::First,
        form: CommandForm::Read(getrange),
        usage: "key start end",
        summary: "Returns a part of a value; negative indices count from the end.",
    },
    Command {
        name: "substr",
        arity: 4,
        keys: Keys::First,
        form: CommandForm::Read(getrange),
        usage: "key start end",
        summary: "Former name of GETRANGE.",
    },
    Command {
        name: "append",
        arity: 3,
        keys: Keys::First,
        form: CommandForm::Update(append),
        usage: "key value",
        summary: "Appends to a value, or stores it if the key is absent; returns the new length.",
    },
    Command {
        name: "setrange",
        arity: 4,
        keys: Keys::First,
        form: CommandForm::Update(setrange),
        usage: "key offset value",
        summary: "Overwrites a part of a value, extends it if necessary, and returns the new length.",
    },
];

pub(super) fn get(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let existing = keyspace.get(&arguments[1])?;
    replies.bulk_or_null(existing.map(|envelope| envelope.data));
    Ok(())
}

fn mget(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    replies.array(arguments.len() - 1);
    for key in arguments.from(1).iter() {
        let existing = keyspace.get(key)?;
        replies.bulk_or_null(existing.map(|envelope| envelope.data));
    }
    Ok(())
}

fn strlen(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let bytes = keyspace.get(&arguments[1])?.map_or(0, |envelope| envelope.data.len());
    replies.integer(bytes as i64);
    Ok(())
}

fn getrange(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (start, end) = (integer(&arguments[2])?, integer(&arguments[3])?);
    let data = keyspace.get(&arguments[1])?.map_or(&[][..], |envelope| envelope.data);
    replies.bulk(part(data, start, end));
    Ok(())
}

/// Returns the bytes between two indices, both included. Negative indices count from the end.
fn part(data: &[u8], start: i64, end: i64) -> &[u8] {
    let length = data.len() as i64;
    let resolve = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
    let (start, end) = (resolve(start).max(0), resolve(end).min(length - 1));
    if start > end { &[] } else { &data[start as usize..=end as usize] }
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
    keyspace.check_budget(end.unwrap_or(0))?;
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

/// Changes a value, keeps its expiry, and returns its length in bytes to the client. `change` returns whether
/// it changed the value.
fn edit(
    keyspace: &mut Keyspace<'_>,
    key: &[u8],
    replies: &mut Replies,
    change: impl FnOnce(&mut Vec<u8>) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let existing = keyspace.get_to_write(key)?;
    let Envelope { data, expires_at } = existing.unwrap_or(Envelope { data: &[], expires_at: None });
    let mut data = data.to_vec();
    let changed = change(&mut data)?;
    replies.integer(data.len() as i64);
    if changed { keyspace.put(key, &data, expires_at) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_resolves_and_clamps_indices() {
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
