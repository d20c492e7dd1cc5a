//! Values stored under conditions and with an expiry.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options};
use crate::command::{Command, CommandForm, Keys, Put};
use crate::commands::conditions::Condition;
use crate::commands::expiry::{self, Expiry};
use crate::commands::strings::get;
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
        summary: "Stores a value that expires in so many seconds.",
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
        summary: "Stores a value that expires in so many milliseconds.",
    },
    Command {
        name: "getset",
        arity: 3,
        keys: Keys::First,
        form: CommandForm::Update(getset),
        usage: "key value",
        summary: "Stores a value and returns the one before.",
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
        summary: "The value of a key, whose expiry is changed.",
    },
];

/// When a value may be stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When<'a> {
    Always,
    Absent,
    Present,
    If(Condition<'a>),
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
                b"GET" => how.get = true,
                b"KEEPTTL" if how.expiry.is_none() => how.keep = true,
                word => how.parse_with_argument(word, &mut options)?,
            }
        }
        Ok(how)
    }

    fn parse_with_argument(&mut self, word: &[u8], options: &mut Options<'a>) -> Result<(), Failure> {
        if self.when == When::Always
            && let Some(condition) = Condition::parse(word, options)?
        {
            self.when = When::If(condition);
        } else if self.keep {
            return Err(Failure::Syntax);
        } else {
            self.expiry = Some(Expiry::parse(word, options, self.expiry)?);
        }
        Ok(())
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
            When::If(condition) => condition.holds(found),
        }
    }
}

fn set(keyspace: &mut Keyspace<'_>, arguments: &Arguments<'_>, replies: &mut Replies) -> Result<(), Failure> {
    let how = How::parse(arguments)?;
    let (key, value) = (&arguments[1], &arguments[2]);
    let mut expires_at = how.expiry.map(|expiry| expiry.time(keyspace.now(), "set")).transpose()?;
    if !how.looks() {
        replies.ok();
        return keyspace.put(key, value, expires_at);
    }
    let found = if how.get { keyspace.get(key)? } else { keyspace.get_to_write(key)? };
    if how.keep {
        expires_at = found.and_then(|found| found.expires_at);
    }
    let allowed = how.allows(found.map(|found| found.data));
    match (how.get, allowed) {
        (true, _) => replies.bulk_or_null(found.map(|found| found.data)),
        (false, true) => replies.ok(),
        (false, false) => replies.null(),
    }
    if allowed { keyspace.put(key, value, expires_at) } else { Ok(()) }
}

/// What a `SET` with options puts, unless what is there matters or it is refused.
fn plain_set<'a>(arguments: &Arguments<'a>, now: u64) -> Option<Put<'a>> {
    let how = How::parse(arguments).ok().filter(|how| !how.looks())?;
    let expires_at = how.expiry.map(|expiry| expiry.time(now, "set")).transpose().ok()?;
    Some(Put { value: arguments.get(2)?, expires_at }).filter(|put| put.is_alive(now))
}

/// What `SETEX` or `PSETEX` puts, unless it is refused.
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
    let is_there = keyspace.get_to_write(&arguments[1])?.is_some();
    match expiry.filter(|_| is_there).map(|expiry| expiry.time(keyspace.now(), "getex")).transpose()? {
        None if !lasts => Ok(()),
        expires_at => expiry::change(keyspace, &arguments[1], |_| Some(expires_at)).map(drop),
    }
}
