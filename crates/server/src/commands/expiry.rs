//! When pairs expire.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options, integer, is};
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
        summary: "Has a pair expire in so many seconds.",
    },
    Command {
        name: "pexpire",
        arity: -3,
        keys: Keys::First,
        form: CommandForm::Update(|keyspace, arguments, replies| {
            expire(keyspace, arguments, replies, "pexpire", b"PX")
        }),
        usage: "key milliseconds [NX | XX | GT | LT]",
        summary: "Has a pair expire in so many milliseconds.",
    },
    Command {
        name: "expireat",
        arity: -3,
        keys: Keys::First,
        form: CommandForm::Update(|keyspace, arguments, replies| {
            expire(keyspace, arguments, replies, "expireat", b"EXAT")
        }),
        usage: "key seconds-since-1970 [NX | XX | GT | LT]",
        summary: "Has a pair expire at a time in seconds.",
    },
    Command {
        name: "pexpireat",
        arity: -3,
        keys: Keys::First,
        form: CommandForm::Update(|keyspace, arguments, replies| {
            expire(keyspace, arguments, replies, "pexpireat", b"PXAT")
        }),
        usage: "key milliseconds-since-1970 [NX | XX | GT | LT]",
        summary: "Has a pair expire at a time in milliseconds.",
    },
    Command {
        name: "persist",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Update(persist),
        usage: "key",
        summary: "Has a pair last: 1 if it would have expired.",
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
        summary: "Seconds until a pair expires; -1 if it lasts, -2 if it is absent.",
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
        summary: "Milliseconds until a pair expires; -1 if it lasts, -2 if it is absent.",
    },
    Command {
        name: "expiretime",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Read(|keyspace, arguments, replies| {
            expires(keyspace, arguments, replies, 0, 1000)
        }),
        usage: "key",
        summary: "When a pair expires, in seconds since 1970; -1 if it lasts, -2 if it is absent.",
    },
    Command {
        name: "pexpiretime",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Read(|keyspace, arguments, replies| expires(keyspace, arguments, replies, 0, 1)),
        usage: "key",
        summary: "When a pair expires, in milliseconds since 1970; -1 if it lasts, -2 if it is absent.",
    },
];

/// A time as an option says it. Its amount is looked at only once all options are known.
#[derive(Clone, Copy)]
pub(super) struct Expiry<'a> {
    amount: &'a [u8],
    unit: Unit,
}

/// What an amount counts, and from when.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Unit {
    milliseconds_each: i64,
    from_now: bool,
}

impl<'a> Expiry<'a> {
    /// `EX`, `PX`, `EXAT` or `PXAT`, and its amount. The same may come again, in place of the one before.
    pub(super) fn parse(
        word: &[u8],
        options: &mut Options<'a>,
        before: Option<Self>,
    ) -> Result<Self, Failure> {
        let unit = Unit::named(word).filter(|unit| before.is_none_or(|before| before.unit == *unit));
        Ok(Self { unit: unit.ok_or(Failure::Syntax)?, amount: options.argument()? })
    }

    /// The time in milliseconds since 1970, as a command has to be told it: it lies after that.
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

    /// The time, which may lie in the past: then it is the beginning of 1970 at the earliest. None if it
    /// cannot be said.
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
        conditions.iter().all(|holds| holds(expires_at, time)).then_some(Some(time))
    })?;
    replies.integer(i64::from(changed));
    Ok(())
}

/// Whether a pair of one expiry may have another one. A pair that lasts expires later than any.
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
        _ => Err(Failure::other(format!("Unsupported option {}", String::from_utf8_lossy(option)))),
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

/// Gives a pair the expiry that the function makes of the one it has, if it makes one: whether it did.
pub(super) fn change(
    keyspace: &mut Keyspace<'_>,
    key: &[u8],
    expiry: impl FnOnce(Option<u64>) -> Option<Option<u64>>,
) -> Result<bool, Failure> {
    let Some(found) = keyspace.get_to_write(key)? else { return Ok(false) };
    let Some(expires_at) = expiry(found.expires_at) else { return Ok(false) };
    let data = found.data.to_vec();
    keyspace.put(key, &data, expires_at)?;
    Ok(true)
}

/// Replies when a pair expires, counted from `since` in units of so many milliseconds.
fn expires(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
    since: u64,
    milliseconds_each: u64,
) -> Result<(), Failure> {
    let counted = match keyspace.peek(&arguments[1])? {
        None => -2,
        Some(found) => match found.expires_at {
            None => -1,
            Some(time) => ((time - since + milliseconds_each / 2) / milliseconds_each) as i64,
        },
    };
    replies.integer(counted);
    Ok(())
}
