//! Values as Redis writes them down, to be moved to and from it.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options, integer};
use crate::command::{Command, CommandForm, Keys};
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::payload;
use crate::recency::{self, Known};

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "dump",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Read(dump),
        usage: "key",
        summary: "A value in the form that RESTORE takes, also that of Redis.",
    },
    Command {
        name: "restore",
        arity: -4,
        keys: Keys::First,
        form: CommandForm::Update(restore),
        usage: "key ttl payload [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
        summary: "Stores a string that DUMP returned, also that of Redis.",
    },
];

fn dump(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    match keyspace.get(&arguments[1])? {
        Some(found) => replies.bulk(&payload::write(found.data)),
        None => replies.null(),
    }
    Ok(())
}

/// What is said after the payload of a `RESTORE`.
#[derive(Default)]
struct How {
    replaces: bool,
    is_absolute: bool,
    idle: Option<i64>,
    frequency: Option<i64>,
}

impl How {
    fn parse(arguments: &Arguments<'_>) -> Result<Self, Failure> {
        let (mut how, mut options) = (Self::default(), Options::from(arguments, 4));
        while let Some(word) = options.word() {
            match &*word {
                b"REPLACE" => how.replaces = true,
                b"ABSTTL" => how.is_absolute = true,
                b"IDLETIME" if how.frequency.is_none() => {
                    let idle = options.integer()?;
                    how.idle = Some(idle);
                    check(idle >= 0, "Invalid IDLETIME value, must be >= 0")?;
                }
                b"FREQ" if how.idle.is_none() => {
                    let frequency = options.integer()?;
                    how.frequency = Some(frequency);
                    check((0..=255).contains(&frequency), "Invalid FREQ value, must be >= 0 and <= 255")?;
                }
                _ => return Err(Failure::Syntax),
            }
        }
        Ok(how)
    }
}

impl How {
    /// What the pair is to be known by.
    fn known(&self) -> Option<Known> {
        let idle = self.idle.map(|seconds| Known::IdleSeconds(seconds.unsigned_abs()));
        idle.or(self.frequency.and_then(|count| Some(Known::Frequency(count.try_into().ok()?))))
    }
}

fn check(holds: bool, message: &str) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::other(message)) }
}

fn restore(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let how = How::parse(arguments)?;
    let key = &arguments[1];
    if !how.replaces && keyspace.get_to_write(key)?.is_some() {
        return Err(Failure::BusyKey);
    }
    let ttl = integer(&arguments[2])?;
    let ttl = u64::try_from(ttl).map_err(|_| Failure::other("Invalid TTL value, must be >= 0"))?;
    let data = payload::read(&arguments[3])?;
    let from = if how.is_absolute { 0 } else { keyspace.now() };
    let expires_at = (ttl > 0).then(|| ttl.saturating_add(from));
    replies.ok();
    keyspace.put(key, &data, expires_at)?;
    how.known().into_iter().for_each(|known| recency::set(keyspace.table(), key, known));
    Ok(())
}
