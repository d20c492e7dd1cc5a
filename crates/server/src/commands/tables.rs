//! Commands on whole tables: `DBSIZE`, `FLUSHDB`, `FLUSHALL`, `KEYS` and `SCAN`.

use std::ops::{Bound, ControlFlow};

use honeycomb_protocol::resp::{OpenArray, Replies};
use honeycomb_store::{Batch, TableHandle, prefix_end};

use crate::arguments::{Arguments, Options, is};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::ordered::count_within;
use crate::commands::range::{Range, Walk};
use crate::context::Context;
use crate::failure::Failure;
use crate::glob;
use crate::task::table_walk::TableWalk;
use crate::task::walking::{Sink, Walking};

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "dbsize",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Store(|context, _| {
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
        form: CommandForm::Store(|context, arguments| {
            check_mode(arguments)?;
            delete_all(context, &[context.table()])?;
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
        form: CommandForm::Store(|context, arguments| {
            check_mode(arguments)?;
            let tables: Vec<_> = context.shared.tables().iter().collect();
            delete_all(context, &tables)?;
            context.replies.ok();
            Ok(())
        }),
        usage: "[ASYNC | SYNC]",
        summary: "Deletes all pairs of all tables: of all ordered ones atomically, and of each unordered \
            one.",
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
    match (transaction.added_pairs(table)?, table.ordered()) {
        (None, Some(table)) => count_within(transaction, table, &Range::all(), now),
        (added, _) => Ok(stored + added.unwrap_or(0)),
    }
}

fn delete_all(context: &mut Context<'_>, tables: &[&TableHandle]) -> Result<(), Failure> {
    if context.transaction.is_some() && tables.iter().any(|table| table.unordered().is_some()) {
        return Err(Failure::other(
            "a transaction cannot delete all pairs of an unordered database: use FLUSHDB or FLUSHALL alone",
        ));
    }
    let pairs = tables.iter().map(|table| table.pair_count() as usize).sum();
    context.budget.check_pairs(tables.len().max(pairs))?;
    // One record, so that a crash leaves no ordered table deleted beside one that is not.
    let mut batch = Batch::default();
    for table in tables.iter().filter_map(|table| table.ordered()) {
        match context.transaction.as_deref_mut() {
            Some(transaction) => transaction.delete_range(table, &Range::all()),
            None => _ = batch.delete_range::<[u8]>(table, ..),
        }
    }
    if !batch.is_empty() {
        context.shared.store.apply(&batch)?;
    }
    tables.iter().filter_map(|table| table.unordered()).try_for_each(|table| Ok(table.clear()?))
}

fn keys(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Walking, Failure> {
    let pattern = glob::checked(&arguments[1])?;
    let prefix = glob::prefix(pattern);
    let sink = KeysReply { pattern: pattern.to_vec(), array: None, count: 0 };
    match context.table() {
        TableHandle::Ordered(table) => {
            let walk = Walk::new(table, &with_prefix(prefix, prefix_end(prefix).as_deref()));
            Ok(Walking::new(walk, sink, context))
        }
        TableHandle::Unordered(table) => {
            Ok(Walking::through(TableWalk::new(table, 0, usize::MAX), sink, context))
        }
    }
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

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.pattern.capacity()
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
    let cursor = str::from_utf8(&arguments[1]).ok().and_then(|cursor| cursor.parse().ok());
    let cursor: u64 = cursor.ok_or(Failure::Cursor)?;
    let (mut pattern, mut count, mut strings) = (&b"*"[..], 10, true);
    let mut options = Options::from(arguments, 2);
    while let Some(word) = options.word() {
        match &*word {
            b"MATCH" => pattern = glob::checked(options.argument()?)?,
            b"COUNT" => count = usize::try_from(options.integer()?).map_err(|_| Failure::Syntax)?,
            b"TYPE" => strings = options.argument()?.eq_ignore_ascii_case(b"string"),
            _ => return Err(Failure::Syntax),
        }
    }
    let limit = if count > 0 { count.min(COUNT_MAX) } else { return Err(Failure::Syntax) };
    let (pattern_of_reply, array) = (pattern.to_vec(), None);
    let sink = ScanReply { pattern: pattern_of_reply, strings, array, count: 0, last: None, cursor: None };
    let table = match context.table() {
        TableHandle::Ordered(table) => table,
        TableHandle::Unordered(table) => {
            return Ok(Walking::through(TableWalk::new(table, cursor, limit), sink, context));
        }
    };
    let after = match cursor {
        0 => None,
        cursor => Some(context.shared.cursors.key(cursor).ok_or(Failure::Cursor)?),
    };
    let (prefix, end) = (glob::prefix(pattern), prefix_end(glob::prefix(pattern)));
    let mut range = Range { limit, ..with_prefix(prefix, end.as_deref()) };
    if let Some(after) = &after {
        range.lower = Bound::Excluded(after);
    }
    Ok(Walking::new(Walk::new(table, &range), sink, context))
}

/// Writes a page of `SCAN`: a cursor, and the keys that match a pattern.
struct ScanReply {
    pattern: Vec<u8>,
    /// Whether `TYPE` includes strings. All values are strings.
    strings: bool,
    /// The place of cursor and length in front of the keys.
    array: Option<OpenArray>,
    count: usize,
    /// The last key examined.
    last: Option<Vec<u8>>,
    /// The next cursor of an unordered table.
    cursor: Option<u64>,
}

impl Sink for ScanReply {
    fn begin(&mut self, replies: &mut Replies) {
        (self.array, self.count, self.last) = (Some(replies.begin_array()), 0, None);
    }

    fn visit(&mut self, key: &[u8], _: &[u8], replies: &mut Replies) -> ControlFlow<()> {
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        if self.strings && glob::matches(&self.pattern, key) {
            replies.bulk(key);
            self.count += 1;
        }
        ControlFlow::Continue(())
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.pattern.capacity() + self.last.as_ref().map_or(0, Vec::capacity)
    }

    fn end_at(&mut self, cursor: u64) {
        self.cursor = Some(cursor);
    }

    fn end(&mut self, more: bool, context: &mut Context<'_>) -> Result<(), Failure> {
        let last = self.last.as_ref().filter(|_| more);
        let client = context.session.client.id;
        let shared = context.shared;
        let limit = shared.clients.limited(shared.config().clients_bytes_max);
        let issue = || last.map_or(0, |last| shared.cursors.issue(client, last, limit));
        let next = self.cursor.unwrap_or_else(issue);
        let mut before = Replies::new(context.replies.version());
        before.array(2);
        before.bulk(next.to_string().as_bytes());
        before.array(self.count);
        self.array.take().into_iter().for_each(|array| context.replies.insert(array, &before));
        Ok(())
    }
}
