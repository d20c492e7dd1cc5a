//! `DUMP` and `RESTORE`: values in the serialization format of Redis, for transfers in both directions.

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
        summary: "Serializes a value for RESTORE, also for that of Redis.",
    },
    Command {
        name: "restore",
        arity: -4,
        keys: Keys::First,
        form: CommandForm::Update(restore),
        usage: "key ttl payload [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]",
        summary: "Stores a string that DUMP serialized, also that of Redis.",
    },
];

fn dump(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    match keyspace.get(&arguments[1])? {
        Some(envelope) => replies.bulk(&payload::write(envelope.data)),
        None => replies.null(),
    }
    Ok(())
}

/// The options of `RESTORE`.
#[derive(Default)]
struct RestoreOptions {
    replaces: bool,
    is_absolute: bool,
    idle: Option<i64>,
    frequency: Option<i64>,
}

impl RestoreOptions {
    fn parse(arguments: &Arguments<'_>) -> Result<Self, Failure> {
        let (mut parsed, mut options) = (Self::default(), Options::from(arguments, 4));
        while let Some(word) = options.word() {
            match &*word {
                b"REPLACE" => parsed.replaces = true,
                b"ABSTTL" => parsed.is_absolute = true,
                b"IDLETIME" if parsed.frequency.is_none() => {
                    let idle = options.integer()?;
                    parsed.idle = Some(idle);
                    check(idle >= 0, "Invalid IDLETIME value, must be >= 0")?;
                }
                b"FREQ" if parsed.idle.is_none() => {
                    let frequency = options.integer()?;
                    parsed.frequency = Some(frequency);
                    check((0..=255).contains(&frequency), "Invalid FREQ value, must be >= 0 and <= 255")?;
                }
                _ => return Err(Failure::Syntax),
            }
        }
        Ok(parsed)
    }
}

impl RestoreOptions {
    /// Returns the access statistics to set for the pair.
    fn access_stats(&self) -> Option<Known> {
        let idle = self.idle.map(|seconds| Known::IdleSeconds(seconds.unsigned_abs()));
        idle.or(self.frequency.and_then(|count| Some(Known::Frequency(count.try_into().ok()?))))
    }
}

fn check(is_valid: bool, message: &str) -> Result<(), Failure> {
    if is_valid { Ok(()) } else { Err(Failure::other(message)) }
}

/// Returns a time in milliseconds since 1970, which clients see as a signed number.
fn time_after(base: u64, ttl: u64) -> Result<u64, Failure> {
    base.checked_add(ttl).filter(|time| i64::try_from(*time).is_ok()).ok_or(Failure::Expiry("restore"))
}

fn restore(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let options = RestoreOptions::parse(arguments)?;
    let key = &arguments[1];
    if !options.replaces && keyspace.get_to_write(key)?.is_some() {
        return Err(Failure::BusyKey);
    }
    let ttl = integer(&arguments[2])?;
    let ttl = u64::try_from(ttl).map_err(|_| Failure::other("Invalid TTL value, must be >= 0"))?;
    let base = if options.is_absolute { 0 } else { keyspace.now() };
    let expires_at = (ttl > 0).then(|| time_after(base, ttl)).transpose()?;
    keyspace.check_budget(payload::expanded_bytes(&arguments[3]))?;
    let data = payload::read(&arguments[3])?;
    replies.ok();
    keyspace.put(key, &data, expires_at)?;
    options.access_stats().into_iter().for_each(|known| recency::set(keyspace.table(), key, known));
    Ok(())
}
