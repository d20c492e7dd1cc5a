//! Commands on whole tables: `DBSIZE`, `FLUSHDB`, `FLUSHALL`, `KEYS` and `SCAN`.

use std::ops::{Bound, ControlFlow};

use honeycomb_protocol::resp::{OpenArray, Replies};
use honeycomb_store::{Table, prefix_end};

use crate::arguments::{Arguments, Options, integer, is};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::ordered::count_within;
use crate::commands::range::{Range, Walk};
use crate::context::Context;
use crate::failure::Failure;
use crate::glob;
use crate::task::walking::{Sink, Walking};

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "dbsize",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, _| {
            let pairs = pair_count(context)?;
            context.replies.integer(pairs);
            Ok(())
        }),
        usage: "",
        summary: "Returns the number of pairs in the table; expired pairs may be included.",
    },
    Command {
        name: "flushdb",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, arguments| {
            check_mode(arguments)?;
            delete_all(context, context.table())?;
            context.replies.ok();
            Ok(())
        }),
        usage: "[ASYNC | SYNC]",
        summary: "Deletes all pairs of the table atomically.",
    },
    Command {
        name: "flushall",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, arguments| {
            check_mode(arguments)?;
            for table in context.shared.tables() {
                delete_all(context, table)?;
            }
            context.replies.ok();
            Ok(())
        }),
        usage: "[ASYNC | SYNC]",
        summary: "Deletes all pairs of all tables, each table atomically.",
    },
    Command {
        name: "keys",
        arity: 2,
        keys: Keys::None,
        form: CommandForm::Walk(keys),
        usage: "pattern",
        summary: "Returns the keys that match a pattern, in order, all of one version.",
    },
    Command {
        name: "scan",
        arity: -2,
        keys: Keys::None,
        form: CommandForm::Walk(scan),
        usage: "cursor [MATCH pattern] [COUNT count] [TYPE type]",
        summary: "Returns a page of keys in order; keys that exist throughout a full scan are returned once.",
    },
];

/// Validates the mode, which has no effect: both modes delete synchronously.
fn check_mode(arguments: &Arguments<'_>) -> Result<(), Failure> {
    let is_known = match arguments.len() {
        1 => true,
        2 => is(&arguments[1], "async") || is(&arguments[1], "sync"),
        _ => false,
    };
    if is_known { Ok(()) } else { Err(Failure::Syntax) }
}

/// Returns the range of keys with a prefix. `end` is its excluded upper bound, if one exists.
fn with_prefix<'a>(prefix: &'a [u8], end: Option<&'a [u8]>) -> Range<'a> {
    let upper = end.map_or(Bound::Unbounded, Bound::Excluded);
    Range { lower: Bound::Included(prefix), upper, ..Range::all() }
}

fn pair_count(context: &mut Context<'_>) -> Result<i64, Failure> {
    let (table, now) = (context.table(), context.now);
    let stored = table.pair_count() as i64;
    let Some(transaction) = context.transaction.as_deref_mut() else { return Ok(stored) };
    match transaction.added_pairs(table)? {
        Some(added) => Ok(stored + added),
        None => count_within(transaction, table, &Range::all(), now),
    }
}

fn delete_all(context: &mut Context<'_>, table: &Table) -> Result<(), Failure> {
    match context.transaction.as_deref_mut() {
        Some(transaction) => transaction.delete_range(table, &Range::all()),
        None => drop(table.delete_range::<[u8]>(..)?),
    }
    Ok(())
}

fn keys(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Walking, Failure> {
    let pattern = arguments[1].to_vec();
    let prefix = glob::prefix(&arguments[1]);
    let walk = Walk::new(context.table(), &with_prefix(prefix, prefix_end(prefix).as_deref()));
    Ok(Walking::new(walk, KeysReply { pattern, array: None, count: 0 }, context))
}

/// Writes the keys that match a pattern.
struct KeysReply {
    pattern: Vec<u8>,
    array: Option<OpenArray>,
    count: usize,
}

impl Sink for KeysReply {
    fn begin(&mut self, replies: &mut Replies) {
        (self.array, self.count) = (Some(replies.begin_array()), 0);
    }

    fn visit(&mut self, key: &[u8], _: &[u8], replies: &mut Replies) -> ControlFlow<()> {
        if glob::matches(&self.pattern, key) {
            replies.bulk(key);
            self.count += 1;
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self, _: bool, context: &mut Context<'_>) -> Result<(), Failure> {
        let array = self.array.take();
        array.into_iter().for_each(|array| context.replies.end_array(array, self.count));
        Ok(())
    }
}

/// Maximum number of keys that one `SCAN` examines, even with a larger `COUNT`.
const COUNT_MAX: usize = 1 << 16;

fn scan(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Walking, Failure> {
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
    let (prefix, end) = (glob::prefix(pattern), prefix_end(glob::prefix(pattern)));
    let mut range = Range { limit, ..with_prefix(prefix, end.as_deref()) };
    if let Some(after) = &after {
        range.lower = Bound::Excluded(after);
    }
    let sink = ScanReply { pattern: pattern.to_vec(), strings, keys: Vec::new(), last: None };
    Ok(Walking::new(Walk::new(context.table(), &range), sink, context))
}

/// Writes a page of `SCAN`: a cursor, and the keys that match a pattern.
struct ScanReply {
    pattern: Vec<u8>,
    /// Whether `TYPE` includes strings. All values are strings.
    strings: bool,
    keys: Vec<Vec<u8>>,
    /// The last key examined.
    last: Option<Vec<u8>>,
}

impl Sink for ScanReply {
    fn begin(&mut self, _: &mut Replies) {
        self.keys.clear();
        self.last = None;
    }

    fn visit(&mut self, key: &[u8], _: &[u8], _: &mut Replies) -> ControlFlow<()> {
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        if self.strings && glob::matches(&self.pattern, key) {
            self.keys.push(key.to_vec());
        }
        ControlFlow::Continue(())
    }

    fn end(&mut self, more: bool, context: &mut Context<'_>) -> Result<(), Failure> {
        let last = self.last.as_ref().filter(|_| more);
        let next = last.map_or(0, |last| context.shared.cursors.issue(last));
        context.replies.array(2);
        context.replies.bulk(next.to_string().as_bytes());
        context.replies.array(self.keys.len());
        self.keys.iter().for_each(|key| context.replies.bulk(key));
        Ok(())
    }
}
