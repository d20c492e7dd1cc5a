//! Commands that set, remove or return the expiry of a pair, and the expiry options of other commands.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options, integer, is, shown};
use crate::command::{Command, CommandForm, Keys};
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "expire",
        arity: -3,
        keys: Keys::First,
        form: CommandForm::Update(|keyspace, arguments, replies| {
            expire(keyspace, arguments, replies, "expire", b"EX")
        }),
        usage: "key seconds [NX | XX | GT | LT]",
        summary: "Sets the time to live of a pair in seconds.",
    },
    Command {
        name: "pexpire",
        arity: -3,
        keys: Keys::First,
        form: CommandForm::Update(|keyspace, arguments, replies| {
            expire(keyspace, arguments, replies, "pexpire", b"PX")
        }),
        usage: "key milliseconds [NX | XX | GT | LT]",
        summary: "Sets the time to live of a pair in milliseconds.",
    },
    Command {
        name: "expireat",
        arity: -3,
        keys: Keys::First,
        form: CommandForm::Update(|keyspace, arguments, replies| {
            expire(keyspace, arguments, replies, "expireat", b"EXAT")
        }),
        usage: "key seconds-since-1970 [NX | XX | GT | LT]",
        summary: "Sets the expiry of a pair in seconds since 1970.",
    },
    Command {
        name: "pexpireat",
        arity: -3,
        keys: Keys::First,
        form: CommandForm::Update(|keyspace, arguments, replies| {
            expire(keyspace, arguments, replies, "pexpireat", b"PXAT")
        }),
        usage: "key milliseconds-since-1970 [NX | XX | GT | LT]",
        summary: "Sets the expiry of a pair in milliseconds since 1970.",
    },
    Command {
        name: "persist",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Update(persist),
        usage: "key",
        summary: "Removes the expiry of a pair; returns 1 if it had one.",
    },
    Command {
        name: "ttl",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Read(|keyspace, arguments, replies| {
            let now = keyspace.now();
            expires(keyspace, arguments, replies, now, 1000)
        }),
        usage: "key",
        summary: "Returns the seconds until a pair expires; -1 without expiry, -2 if it is absent.",
    },
    Command {
        name: "pttl",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Read(|keyspace, arguments, replies| {
            let now = keyspace.now();
            expires(keyspace, arguments, replies, now, 1)
        }),
        usage: "key",
        summary: "Returns the milliseconds until a pair expires; -1 without expiry, -2 if it is absent.",
    },
    Command {
        name: "expiretime",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Read(|keyspace, arguments, replies| {
            expires(keyspace, arguments, replies, 0, 1000)
        }),
        usage: "key",
        summary: "Returns the expiry of a pair in seconds since 1970; -1 without expiry, -2 if it is absent.",
    },
    Command {
        name: "pexpiretime",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Read(|keyspace, arguments, replies| expires(keyspace, arguments, replies, 0, 1)),
        usage: "key",
        summary: "Returns the expiry of a pair in milliseconds since 1970; -1 without expiry, -2 if absent.",
    },
];

/// An expiry option. Its amount is validated only after all options are parsed, as Redis does.
#[derive(Clone, Copy)]
pub(super) struct Expiry<'a> {
    amount: &'a [u8],
    unit: Unit,
}

/// The unit of an amount, and whether it counts from now or from 1970.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Unit {
    milliseconds_each: i64,
    from_now: bool,
}

impl<'a> Expiry<'a> {
    /// Parses `EX`, `PX`, `EXAT` or `PXAT`, and its amount. An option may repeat; the last amount counts.
    pub(super) fn parse(
        word: &[u8],
        options: &mut Options<'a>,
        before: Option<Self>,
    ) -> Result<Self, Failure> {
        let unit = Unit::named(word).filter(|unit| before.is_none_or(|before| before.unit == *unit));
        Ok(Self { unit: unit.ok_or(Failure::Syntax)?, amount: options.argument()? })
    }

    /// Returns the time in milliseconds since 1970. The amount must be positive.
    pub(super) fn time(self, now: u64, command: &'static str) -> Result<u64, Failure> {
        let amount = integer(self.amount)?;
        self.unit.time(amount, now).filter(|_| amount > 0).ok_or(Failure::Expiry(command))
    }
}

impl Unit {
    fn named(word: &[u8]) -> Option<Self> {
        let unit = |milliseconds_each, from_now| Some(Self { milliseconds_each, from_now });
        match word {
            b"EX" => unit(1000, true),
            b"PX" => unit(1, true),
            b"EXAT" => unit(1000, false),
            b"PXAT" => unit(1, false),
            _ => None,
        }
    }

    /// Returns the time in milliseconds since 1970, at least 0. It may lie in the past. Returns `None` on
    /// overflow.
    fn time(self, amount: i64, now: u64) -> Option<u64> {
        let base = if self.from_now { i64::try_from(now).ok()? } else { 0 };
        let time = amount.checked_mul(self.milliseconds_each)?.checked_add(base)?;
        Some(u64::try_from(time).unwrap_or(0))
    }
}

fn expire(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
    name: &'static str,
    unit: &[u8],
) -> Result<(), Failure> {
    let unit = Unit::named(unit).ok_or(Failure::Syntax)?;
    let conditions = conditions(&arguments.from(3))?;
    let time = unit.time(integer(&arguments[2])?, keyspace.now()).ok_or(Failure::Expiry(name))?;
    let changed = change(keyspace, &arguments[1], |expires_at| {
        conditions.iter().all(|allows| allows(expires_at, time)).then_some(Some(time))
    })?;
    replies.integer(i64::from(changed));
    Ok(())
}

/// Returns whether the second expiry may replace the first. A pair without expiry counts as expiring last.
type Condition = fn(Option<u64>, u64) -> bool;

fn conditions(options: &Arguments<'_>) -> Result<Vec<Condition>, Failure> {
    let conditions = options.iter().map(condition).collect::<Result<_, _>>()?;
    let has = |word| options.iter().any(|option| is(option, word));
    if has("nx") && (has("xx") || has("gt") || has("lt")) {
        let all = "NX and XX, GT or LT options at the same time are not compatible";
        return Err(Failure::other(all));
    }
    if has("gt") && has("lt") {
        return Err(Failure::other("GT and LT options at the same time are not compatible"));
    }
    Ok(conditions)
}

fn condition(option: &[u8]) -> Result<Condition, Failure> {
    match &*option.to_ascii_uppercase() {
        b"NX" => Ok(|old, _| old.is_none()),
        b"XX" => Ok(|old, _| old.is_some()),
        b"GT" => Ok(|old, new| old.is_some_and(|old| new > old)),
        b"LT" => Ok(|old, new| old.is_none_or(|old| new < old)),
        _ => Err(Failure::other(format!("Unsupported option {}", shown(option)))),
    }
}

fn persist(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let changed = change(keyspace, &arguments[1], |expires_at| expires_at.map(|_| None))?;
    replies.integer(i64::from(changed));
    Ok(())
}

/// Replaces the expiry of a pair by the one that `expiry` computes from it. Returns whether the pair exists
/// and `expiry` returned one.
pub(super) fn change(
    keyspace: &mut Keyspace<'_>,
    key: &[u8],
    expiry: impl FnOnce(Option<u64>) -> Option<Option<u64>>,
) -> Result<bool, Failure> {
    let Some(existing) = keyspace.get_to_write(key)? else { return Ok(false) };
    let Some(expires_at) = expiry(existing.expires_at) else { return Ok(false) };
    let data = existing.data.to_vec();
    keyspace.put(key, &data, expires_at)?;
    Ok(true)
}

/// Writes the time from `since` until a pair expires, in units of `milliseconds_each` milliseconds.
fn expires(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
    since: u64,
    milliseconds_each: u64,
) -> Result<(), Failure> {
    let remaining = match keyspace.peek(&arguments[1])? {
        None => -2,
        Some(envelope) => match envelope.expires_at {
            None => -1,
            Some(time) => ((time - since + milliseconds_each / 2) / milliseconds_each) as i64,
        },
    };
    replies.integer(remaining);
    Ok(())
}
