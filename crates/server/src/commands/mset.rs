//! `MSET`, `MSETNX` and `MSETEX`: atomic writes of several pairs.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options, integer};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::expiry::Expiry;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::keyspace::Keyspace;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "mset",
        arity: -3,
        keys: Keys::EveryOther,
        form: CommandForm::Update(mset),
        usage: "key value [key value ...]",
        summary: "Stores several values atomically.",
    },
    Command {
        name: "msetnx",
        arity: -3,
        keys: Keys::EveryOther,
        form: CommandForm::Update(msetnx),
        usage: "key value [key value ...]",
        summary: "Stores several values atomically if all keys are absent.",
    },
    Command {
        name: "msetex",
        arity: -4,
        keys: Keys::Counted,
        form: CommandForm::Update(msetex),
        usage: "numkeys key value [key value ...] [NX | XX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]",
        summary: "Stores several values with one expiry atomically, optionally if all or no keys exist.",
    },
];

/// Alternating keys and values among the arguments of a command.
#[derive(Clone, Copy)]
struct Pairs<'a>(Arguments<'a>);

impl<'a> Pairs<'a> {
    fn key_indices(self) -> impl Iterator<Item = usize> {
        (0..self.0.len()).step_by(2)
    }

    fn keys(self) -> impl Iterator<Item = &'a [u8]> {
        self.key_indices().filter_map(move |index| self.0.get(index))
    }

    /// Stores all pairs or none, even within a transaction that continues after an error. `expiry` returns
    /// the expiry of each pair, which the command sets or keeps.
    fn put(
        self,
        keyspace: &mut Keyspace<'_>,
        sets_expiry: bool,
        mut expiry: impl FnMut(&mut Keyspace<'_>, &[u8]) -> Result<Option<u64>, Failure>,
    ) -> Result<(), Failure> {
        let pair = |index| (&self.0[index], &self.0[index + 1]);
        self.key_indices().map(pair).try_for_each(|(key, value)| keyspace.check_pair(key, value))?;
        let mut puts = Vec::with_capacity(self.0.len() / 2);
        for (key, data) in self.key_indices().map(pair) {
            puts.push((key, Envelope { data, expires_at: expiry(keyspace, key)? }));
        }
        keyspace.check_written(puts.iter().map(|(key, envelope)| key.len() + envelope.bytes()).sum())?;
        puts.into_iter().try_for_each(|(key, envelope)| keyspace.put_with(key, envelope, sets_expiry))
    }
}

fn mset(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    replies.ok();
    Pairs(arguments.from(1)).put(keyspace, true, |_, _| Ok(None))
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
    pairs.put(keyspace, true, |_, _| Ok(None))
}

/// The options of `MSETEX`.
#[derive(Default)]
struct MsetexOptions<'a> {
    /// `Some(true)` if all keys must exist, `Some(false)` if none may exist.
    must_exist: Option<bool>,
    expiry: Option<Expiry<'a>>,
    keep_ttl: bool,
}

impl<'a> MsetexOptions<'a> {
    fn parse(mut options: Options<'a>) -> Result<Self, Failure> {
        let mut parsed = Self::default();
        while let Some(word) = options.word() {
            match &*word {
                b"NX" if parsed.must_exist != Some(true) => parsed.must_exist = Some(false),
                b"XX" if parsed.must_exist != Some(false) => parsed.must_exist = Some(true),
                b"KEEPTTL" if parsed.expiry.is_none() => parsed.keep_ttl = true,
                word if !parsed.keep_ttl => {
                    parsed.expiry = Some(Expiry::parse(word, &mut options, parsed.expiry)?)
                }
                _ => return Err(Failure::Syntax),
            }
        }
        Ok(parsed)
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
    let options = MsetexOptions::parse(Options::from(arguments, end))?;
    let expires_at = options.expiry.map(|expiry| expiry.time(keyspace.now(), "msetex")).transpose()?;
    let pairs = Pairs(arguments.part(2..end));
    if let Some(must_exist) = options.must_exist {
        for key in pairs.keys() {
            if keyspace.get_to_write(key)?.is_some() != must_exist {
                replies.integer(0);
                return Ok(());
            }
        }
    }
    replies.integer(1);
    pairs.put(keyspace, !options.keep_ttl, |keyspace, key| match options.keep_ttl {
        true => Ok(keyspace.get_to_write(key)?.and_then(|envelope| envelope.expires_at)),
        false => Ok(expires_at),
    })
}
