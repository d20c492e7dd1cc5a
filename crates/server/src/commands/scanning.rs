//! Tables as wholes.

use std::ops::Bound;

use honeycomb_protocol::resp::Replies;
use honeycomb_store::end_of_prefix;

use crate::arguments::{Arguments, Options, integer, is};
use crate::command::{Command, Keys, Run};
use crate::commands::range::Range;
use crate::failure::Failure;
use crate::glob;
use crate::session::Context;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "dbsize",
        arity: 1,
        keys: Keys::None,
        run: Run::Serve(|context, _| {
            let pairs = context.table().pair_count();
            context.replies.integer(pairs as i64);
            Ok(())
        }),
        usage: "",
        summary: "How many pairs the table has; one that has expired may be counted.",
    },
    Command {
        name: "flushdb",
        arity: -1,
        keys: Keys::None,
        run: Run::Serve(|context, arguments| {
            check_mode(arguments)?;
            context.table().delete_range::<[u8]>(..)?;
            context.replies.simple("OK");
            Ok(())
        }),
        usage: "[ASYNC | SYNC]",
        summary: "Deletes all pairs of the table, at one moment.",
    },
    Command {
        name: "flushall",
        arity: -1,
        keys: Keys::None,
        run: Run::Serve(|context, arguments| {
            check_mode(arguments)?;
            for table in context.shared.tables() {
                table.delete_range::<[u8]>(..)?;
            }
            context.replies.simple("OK");
            Ok(())
        }),
        usage: "[ASYNC | SYNC]",
        summary: "Deletes all pairs of all tables, of each at one moment.",
    },
    Command {
        name: "keys",
        arity: 2,
        keys: Keys::None,
        run: Run::Serve(keys),
        usage: "pattern",
        summary: "The keys of a pattern, in order, as they are at one moment.",
    },
    Command {
        name: "scan",
        arity: -2,
        keys: Keys::None,
        run: Run::Serve(scan),
        usage: "cursor [MATCH pattern] [COUNT count] [TYPE type]",
        summary: "Keys in order, a page at a time: each that is there throughout comes once.",
    },
];

/// Refuses all but a word that says whether to wait: all is deleted at once either way.
fn check_mode(arguments: &Arguments<'_>) -> Result<(), Failure> {
    let known = match arguments.len() {
        1 => true,
        2 => is(&arguments[1], "async") || is(&arguments[1], "sync"),
        _ => false,
    };
    if known { Ok(()) } else { Err(Failure::Syntax) }
}

/// The keys with a prefix, which ends there if anywhere.
fn with_prefix<'a>(prefix: &'a [u8], end: Option<&'a [u8]>) -> Range<'a> {
    let upper = end.map_or(Bound::Unbounded, Bound::Excluded);
    Range { lower: Bound::Included(prefix), upper, ..Range::all() }
}

fn keys(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let prefix = glob::prefix(&arguments[1]);
    let found = context.source().collect(&with_prefix(prefix, end_of_prefix(prefix).as_deref()))?;
    let keys = found.pairs.iter().map(|(key, _)| key).filter(|key| glob::matches(&arguments[1], key));
    let keys: Vec<_> = keys.collect();
    reply(&keys, context.replies);
    Ok(())
}

fn reply(keys: &[&Vec<u8>], replies: &mut Replies) {
    replies.array(keys.len());
    keys.iter().for_each(|key| replies.bulk(key));
}

/// Most keys that a page of `SCAN` looks at, whatever is asked for.
const COUNT_MAX: usize = 1 << 16;

fn scan(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let cursor = integer(&arguments[1]).ok().and_then(|cursor| u64::try_from(cursor).ok());
    let cursor = cursor.ok_or(Failure::Cursor)?;
    let (mut pattern, mut count, mut strings) = (&b"*"[..], 10, true);
    let mut options = Options::from(arguments, 2);
    while let Some(word) = options.word() {
        match &*word {
            b"MATCH" => pattern = options.argument()?,
            b"COUNT" => count = usize::try_from(options.integer()?).map_err(|_| Failure::Syntax)?,
            b"TYPE" => strings = options.argument()?.eq_ignore_ascii_case(b"string"),
            _ => return Err(Failure::Syntax),
        }
    }
    let limit = if count > 0 { count.min(COUNT_MAX) } else { return Err(Failure::Syntax) };
    let after = match cursor {
        0 => None,
        cursor => Some(context.shared.cursors.key(cursor).ok_or(Failure::Cursor)?),
    };
    let (prefix, end) = (glob::prefix(pattern), end_of_prefix(glob::prefix(pattern)));
    let mut range = Range { limit, ..with_prefix(prefix, end.as_deref()) };
    if let Some(after) = &after {
        range.lower = Bound::Excluded(after);
    }
    let found = context.source().collect(&range)?;
    let next = match found.pairs.last() {
        Some((key, _)) if found.more => context.shared.cursors.give(key),
        _ => 0,
    };
    let keys = found.pairs.iter().map(|(key, _)| key);
    let keys: Vec<_> = keys.filter(|key| strings && glob::matches(pattern, key)).collect();
    context.replies.array(2);
    context.replies.bulk(next.to_string().as_bytes());
    reply(&keys, context.replies);
    Ok(())
}
