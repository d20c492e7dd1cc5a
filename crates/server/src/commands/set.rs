//! `SET`, its variants, and `GETSET`, `GETDEL` and `GETEX`.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options};
use crate::command::{Command, CommandForm, Keys, Put};
use crate::commands::conditions::Condition;
use crate::commands::expiry::{self, Expiry};
use crate::commands::strings::get;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "set",
        arity: -3,
        keys: Keys::First,
        form: CommandForm::Write(set, |arguments, now| match arguments.len() {
            3 => Some(Put { value: arguments.get(2)?, expires_at: None }),
            _ => plain_set(arguments, now),
        }),
        usage: "key value [NX | XX | IFEQ value | IFNE value | IFDEQ digest | IFDNE digest] [GET] \
                [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]",
        summary: "Stores a value.",
    },
    Command {
        name: "setnx",
        arity: 3,
        keys: Keys::First,
        form: CommandForm::Update(setnx),
        usage: "key value",
        summary: "Stores a value if the key is absent.",
    },
    Command {
        name: "setex",
        arity: 4,
        keys: Keys::First,
        form: CommandForm::Write(
            |keyspace, arguments, replies| set_until(keyspace, arguments, replies, "setex", b"EX"),
            |arguments, now| put_until(arguments, now, "setex", b"EX"),
        ),
        usage: "key seconds value",
        summary: "Stores a value with a time to live in seconds.",
    },
    Command {
        name: "psetex",
        arity: 4,
        keys: Keys::First,
        form: CommandForm::Write(
            |keyspace, arguments, replies| set_until(keyspace, arguments, replies, "psetex", b"PX"),
            |arguments, now| put_until(arguments, now, "psetex", b"PX"),
        ),
        usage: "key milliseconds value",
        summary: "Stores a value with a time to live in milliseconds.",
    },
    Command {
        name: "getset",
        arity: 3,
        keys: Keys::First,
        form: CommandForm::Update(getset),
        usage: "key value",
        summary: "Stores a value and returns the previous one.",
    },
    Command {
        name: "getdel",
        arity: 2,
        keys: Keys::First,
        form: CommandForm::Update(getdel),
        usage: "key",
        summary: "Deletes a pair and returns its value.",
    },
    Command {
        name: "getex",
        arity: -2,
        keys: Keys::First,
        form: CommandForm::Update(getex),
        usage: "key [EX s | PX ms | EXAT s | PXAT ms | PERSIST]",
        summary: "Returns a value and changes its expiry.",
    },
];

/// The condition under which `SET` stores a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When<'a> {
    Always,
    Absent,
    Present,
    If(Condition<'a>),
}

/// The options of `SET`.
struct SetOptions<'a> {
    when: When<'a>,
    get: bool,
    expiry: Option<Expiry<'a>>,
    keep_ttl: bool,
}

impl<'a> SetOptions<'a> {
    fn parse(arguments: &Arguments<'a>) -> Result<Self, Failure> {
        let mut parsed = Self { when: When::Always, get: false, expiry: None, keep_ttl: false };
        let mut options = Options::from(arguments, 3);
        while let Some(word) = options.word() {
            match &*word {
                b"NX" if matches!(parsed.when, When::Always | When::Absent) => parsed.when = When::Absent,
                b"XX" if matches!(parsed.when, When::Always | When::Present) => parsed.when = When::Present,
                b"GET" => parsed.get = true,
                b"KEEPTTL" if parsed.expiry.is_none() => parsed.keep_ttl = true,
                word => parsed.parse_with_argument(word, &mut options)?,
            }
        }
        Ok(parsed)
    }

    fn parse_with_argument(&mut self, word: &[u8], options: &mut Options<'a>) -> Result<(), Failure> {
        if self.when == When::Always
            && let Some(condition) = Condition::parse(word, options)?
        {
            self.when = When::If(condition);
        } else if self.keep_ttl {
            return Err(Failure::Syntax);
        } else {
            self.expiry = Some(Expiry::parse(word, options, self.expiry)?);
        }
        Ok(())
    }

    /// Returns whether the result depends on the existing value.
    fn needs_existing(&self) -> bool {
        self.get || self.keep_ttl || self.when != When::Always
    }

    fn allows(&self, existing: Option<&[u8]>) -> bool {
        match self.when {
            When::Always => true,
            When::Absent => existing.is_none(),
            When::Present => existing.is_some(),
            When::If(condition) => condition.is_met_by(existing),
        }
    }
}

fn set(keyspace: &mut Keyspace<'_>, arguments: &Arguments<'_>, replies: &mut Replies) -> Result<(), Failure> {
    let options = SetOptions::parse(arguments)?;
    let (key, value) = (&arguments[1], &arguments[2]);
    let mut expires_at = options.expiry.map(|expiry| expiry.time(keyspace.now(), "set")).transpose()?;
    if !options.needs_existing() {
        replies.ok();
        return keyspace.put(key, value, expires_at);
    }
    let existing = if options.get { keyspace.get(key)? } else { keyspace.get_to_write(key)? };
    if options.keep_ttl {
        expires_at = existing.and_then(|existing| existing.expires_at);
    }
    let allowed = options.allows(existing.map(|existing| existing.data));
    match (options.get, allowed) {
        (true, _) => replies.bulk_or_null(existing.map(|existing| existing.data)),
        (false, true) => replies.ok(),
        (false, false) => replies.null(),
    }
    let envelope = Envelope { data: value, expires_at };
    if allowed { keyspace.put_with(key, envelope, !options.keep_ttl) } else { Ok(()) }
}

/// Returns the put of a `SET` with options, or `None` when it depends on the existing value or is invalid.
fn plain_set<'a>(arguments: &Arguments<'a>, now: u64) -> Option<Put<'a>> {
    let options = SetOptions::parse(arguments).ok().filter(|options| !options.needs_existing())?;
    let expires_at = options.expiry.map(|expiry| expiry.time(now, "set")).transpose().ok()?;
    Some(Put { value: arguments.get(2)?, expires_at }).filter(|put| put.is_alive(now))
}

/// Returns the put of `SETEX` or `PSETEX`, or `None` when the command is invalid.
fn put_until<'a>(arguments: &Arguments<'a>, now: u64, name: &'static str, unit: &[u8]) -> Option<Put<'a>> {
    let expiry = Expiry::parse(unit, &mut Options::from(arguments, 2), None).ok()?;
    let put = Put { value: arguments.get(3)?, expires_at: Some(expiry.time(now, name).ok()?) };
    Some(put).filter(|put| arguments.len() == 4 && put.is_alive(now))
}

fn setnx(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let absent = keyspace.get_to_write(&arguments[1])?.is_none();
    replies.integer(i64::from(absent));
    if absent { keyspace.put(&arguments[1], &arguments[2], None) } else { Ok(()) }
}

fn set_until(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
    name: &'static str,
    unit: &[u8],
) -> Result<(), Failure> {
    let expiry = Expiry::parse(unit, &mut Options::from(arguments, 2), None)?;
    let expires_at = expiry.time(keyspace.now(), name)?;
    replies.ok();
    keyspace.put(&arguments[1], &arguments[3], Some(expires_at))
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
    let existing = keyspace.get(&arguments[1])?;
    let exists = existing.is_some();
    replies.bulk_or_null(existing.map(|existing| existing.data));
    if exists {
        keyspace.delete(&arguments[1]);
    }
    Ok(())
}

fn getex(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (mut options, mut persists, mut expiry) = (Options::from(arguments, 2), false, None);
    while let Some(word) = options.word() {
        match &*word {
            b"PERSIST" if expiry.is_none() => persists = true,
            word if !persists => expiry = Some(Expiry::parse(word, &mut options, expiry)?),
            _ => return Err(Failure::Syntax),
        }
    }
    get(keyspace, arguments, replies)?;
    let exists = keyspace.get_to_write(&arguments[1])?.is_some();
    let expiry = expiry.filter(|_| exists).map(|expiry| expiry.time(keyspace.now(), "getex")).transpose()?;
    match (expiry, persists) {
        (None, false) => Ok(()),
        (expires_at, _) => {
            let changes = |before: Option<u64>| before.is_some() || expires_at.is_some();
            let change = |before| changes(before).then_some(expires_at);
            expiry::change(keyspace, &arguments[1], change).map(drop)
        }
    }
}
