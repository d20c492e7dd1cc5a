//! What an ordered store can do beyond Redis: ranges of keys, all of one version.

use std::ops::Bound;

use honeycomb_store::{Snapshot, SnapshotToken};

use crate::arguments::{Arguments, Options, integer};
use crate::command::{Command, Keys, Run};
use crate::commands::range::{Found, Range, Source};
use crate::failure::Failure;
use crate::session::Context;

const BOUNDS: &str =
    "A bound is `-` (the first key), `+` (the last), `[key` (included) or `(key` (excluded).";

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "ri.scan",
        arity: -2,
        keys: Keys::None,
        run: Run::Serve(scan),
        usage: "start [COUNT n] [REVERSE | FLOOR] [FIELDS KEY | VALUE | BOTH] [SNAPSHOT token]",
        summary: "Pairs from a key on, in order, all of one version.",
    },
    Command {
        name: "ri.range",
        arity: -3,
        keys: Keys::None,
        run: Run::Serve(range),
        usage: "lower upper [COUNT n] [REVERSE | FLOOR] [FIELDS KEY | VALUE | BOTH] [SNAPSHOT token]",
        summary: "Pairs between two bounds, in order, all of one version.",
    },
    Command {
        name: "ri.count",
        arity: -3,
        keys: Keys::None,
        run: Run::Serve(count),
        usage: "lower upper [SNAPSHOT token]",
        summary: "How many pairs there are between two bounds.",
    },
    Command {
        name: "ri.delrange",
        arity: 3,
        keys: Keys::None,
        run: Run::Serve(delete_range),
        usage: "lower upper",
        summary: "Deletes the pairs between two bounds, at one moment: how many there were.",
    },
    Command {
        name: "ri.snapshot",
        arity: -2,
        keys: Keys::None,
        run: Run::Serve(snapshot),
        usage: "TAKE | RENEW token | DROP token",
        summary: "Takes a snapshot, whose token scans can name; it ends when its lease does.",
    },
];

/// What to reply of a pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fields {
    Key,
    Value,
    Both,
}

/// What follows the bounds.
struct How {
    range: Range,
    fields: Fields,
    snapshot: Option<Snapshot>,
}

/// Pairs of a scan that says no count.
const COUNT_DEFAULT: usize = 10;

impl How {
    fn parse(
        context: &Context<'_>,
        range: Range,
        arguments: &Arguments<'_>,
        from: usize,
    ) -> Result<Self, Failure> {
        let mut how = Self { range, fields: Fields::Both, snapshot: None };
        let mut options = Options::from(arguments, from);
        while let Some(word) = options.word() {
            match &*word {
                b"COUNT" => how.range.limit = positive(options.integer()?)?,
                b"REVERSE" => how.range.backward = true,
                b"FLOOR" => how.range.floor_start = true,
                b"FIELDS" => how.fields = fields(options.argument()?)?,
                b"SNAPSHOT" => how.snapshot = Some(named(context, options.argument()?)?),
                _ => return Err(Failure::Syntax),
            }
        }
        if how.range.backward && how.range.floor_start { Err(Failure::Syntax) } else { Ok(how) }
    }

    fn collect(&self, context: &Context<'_>) -> Result<Found, Failure> {
        let shared = context.shared;
        let now = shared.time.milliseconds();
        let source = Source { store: &shared.store, table: context.table(), now };
        match &self.snapshot {
            Some(snapshot) => source.collect_at(snapshot, &self.range),
            None => source.collect(&self.range),
        }
    }

    fn reply(&self, context: &mut Context<'_>) -> Result<(), Failure> {
        let found = self.collect(context)?;
        let each = if self.fields == Fields::Both { 2 } else { 1 };
        context.replies.array(each * found.pairs.len());
        for (key, value) in &found.pairs {
            if self.fields != Fields::Value {
                context.replies.bulk(key);
            }
            if self.fields != Fields::Key {
                context.replies.bulk(value);
            }
        }
        Ok(())
    }
}

fn scan(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let start = Bound::Included(arguments[1].to_vec());
    let mut how = How::parse(context, Range { limit: COUNT_DEFAULT, ..Range::all() }, arguments, 2)?;
    *(if how.range.backward { &mut how.range.upper } else { &mut how.range.lower }) = start;
    how.reply(context)
}

fn range(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    How::parse(context, between(arguments)?, arguments, 3)?.reply(context)
}

fn count(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let mut options = Options::from(arguments, 3);
    let is_snapshot = options.word().is_none_or(|word| word == b"SNAPSHOT");
    if !is_snapshot || arguments.len() > 5 {
        return Err(Failure::Syntax);
    }
    let found = How::parse(context, between(arguments)?, arguments, 3)?.collect(context)?;
    context.replies.integer(found.pairs.len() as i64);
    Ok(())
}

fn delete_range(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let Range { lower, upper, .. } = between(arguments)?;
    let bounds = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
    let deleted = context.table().delete_range::<[u8]>(bounds)?;
    context.replies.integer(deleted as i64);
    Ok(())
}

fn snapshot(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let mut options = Options::from(arguments, 1);
    match options.word().unwrap_or_default().as_slice() {
        b"TAKE" if arguments.len() == 2 => {
            let token = context.shared.store.snapshot()?.token().get();
            context.replies.integer(token as i64);
        }
        b"RENEW" if arguments.len() == 3 => {
            named(context, arguments[2])?.renew()?;
            context.replies.simple("OK");
        }
        b"DROP" if arguments.len() == 3 => {
            named(context, arguments[2])?.release();
            context.replies.simple("OK");
        }
        _ => return Err(Failure::Syntax),
    }
    Ok(())
}

/// The snapshot of a token.
fn named(context: &Context<'_>, token: &[u8]) -> Result<Snapshot, Failure> {
    let number = u64::try_from(integer(token)?).map_err(|_| Failure::Snapshot)?;
    Ok(context.shared.store.resume(SnapshotToken::new(number))?)
}

fn between(arguments: &Arguments<'_>) -> Result<Range, Failure> {
    Ok(Range { lower: bound(arguments[1], b"-")?, upper: bound(arguments[2], b"+")?, ..Range::all() })
}

fn bound(argument: &[u8], unbounded: &[u8]) -> Result<Bound<Vec<u8>>, Failure> {
    match argument {
        _ if argument == unbounded => Ok(Bound::Unbounded),
        [b'[', key @ ..] => Ok(Bound::Included(key.to_vec())),
        [b'(', key @ ..] => Ok(Bound::Excluded(key.to_vec())),
        _ => Err(Failure::other(BOUNDS)),
    }
}

fn fields(argument: &[u8]) -> Result<Fields, Failure> {
    match &*argument.to_ascii_uppercase() {
        b"KEY" => Ok(Fields::Key),
        b"VALUE" => Ok(Fields::Value),
        b"BOTH" => Ok(Fields::Both),
        _ => Err(Failure::Syntax),
    }
}

fn positive(number: i64) -> Result<usize, Failure> {
    usize::try_from(number).ok().filter(|number| *number > 0).ok_or(Failure::NotInteger)
}
