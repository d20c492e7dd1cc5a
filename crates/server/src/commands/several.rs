//! Several pairs stored at one moment.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options, integer};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::expiry::Expiry;
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "mset",
        arity: -3,
        keys: Keys::EveryOther,
        form: CommandForm::Update(mset),
        usage: "key value [key value ...]",
        summary: "Stores several values at one moment.",
    },
    Command {
        name: "msetnx",
        arity: -3,
        keys: Keys::EveryOther,
        form: CommandForm::Update(msetnx),
        usage: "key value [key value ...]",
        summary: "Stores several values at one moment if all their keys are absent.",
    },
    Command {
        name: "msetex",
        arity: -4,
        keys: Keys::Counted,
        form: CommandForm::Update(msetex),
        usage: "numkeys key value [key value ...] [NX | XX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]",
        summary: "Stores several values with one expiry at one moment, perhaps only if all keys are absent.",
    },
];

/// Pairs among the arguments of a command.
#[derive(Clone, Copy)]
struct Pairs<'a>(Arguments<'a>);

impl<'a> Pairs<'a> {
    fn places(self) -> impl Iterator<Item = usize> {
        (0..self.0.len()).step_by(2)
    }

    fn keys(self) -> impl Iterator<Item = &'a [u8]> {
        self.places().filter_map(move |place| self.0.get(place))
    }

    /// Stores all of them or, also within a transaction that goes on, none.
    fn put(
        self,
        keyspace: &mut Keyspace<'_>,
        mut expiry: impl FnMut(&mut Keyspace<'_>, &[u8]) -> Result<Option<u64>, Failure>,
    ) -> Result<(), Failure> {
        let pair = |place| (&self.0[place], &self.0[place + 1]);
        self.places().map(pair).try_for_each(|(key, value)| keyspace.check_pair(key, value))?;
        self.places().map(pair).try_for_each(|(key, value)| {
            let expires_at = expiry(keyspace, key)?;
            keyspace.put(key, value, expires_at)
        })
    }
}

fn mset(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    replies.ok();
    Pairs(arguments.from(1)).put(keyspace, |_, _| Ok(None))
}

fn msetnx(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let pairs = Pairs(arguments.from(1));
    for key in pairs.keys() {
        if keyspace.get_to_write(key)?.is_some() {
            replies.integer(0);
            return Ok(());
        }
    }
    replies.integer(1);
    pairs.put(keyspace, |_, _| Ok(None))
}

/// What is said after the pairs of an `MSETEX`.
#[derive(Default)]
struct How<'a> {
    /// Whether all keys must be there, or none.
    there: Option<bool>,
    expiry: Option<Expiry<'a>>,
    keep: bool,
}

impl<'a> How<'a> {
    fn parse(mut options: Options<'a>) -> Result<Self, Failure> {
        let mut how = Self::default();
        while let Some(word) = options.word() {
            match &*word {
                b"NX" if how.there != Some(true) => how.there = Some(false),
                b"XX" if how.there != Some(false) => how.there = Some(true),
                b"KEEPTTL" if how.expiry.is_none() => how.keep = true,
                word if !how.keep => how.expiry = Some(Expiry::parse(word, &mut options, how.expiry)?),
                _ => return Err(Failure::Syntax),
            }
        }
        Ok(how)
    }
}

fn msetex(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let count = integer(&arguments[1]).ok().and_then(|count| usize::try_from(count).ok());
    let count = count.filter(|count| *count > 0).ok_or_else(|| Failure::other("invalid numkeys value"))?;
    let end = count.checked_mul(2).and_then(|words| words.checked_add(2));
    let end = end.filter(|end| *end <= arguments.len());
    let end = end.ok_or_else(|| Failure::other("wrong number of key-value pairs"))?;
    let how = How::parse(Options::from(arguments, end))?;
    let expires_at = how.expiry.map(|expiry| expiry.time(keyspace.now(), "msetex")).transpose()?;
    let pairs = Pairs(arguments.part(2..end));
    if let Some(there) = how.there {
        for key in pairs.keys() {
            if keyspace.get_to_write(key)?.is_some() != there {
                replies.integer(0);
                return Ok(());
            }
        }
    }
    replies.integer(1);
    pairs.put(keyspace, |keyspace, key| match how.keep {
        true => Ok(keyspace.get_to_write(key)?.and_then(|found| found.expires_at)),
        false => Ok(expires_at),
    })
}
