//! Commands that Redis does not have: scans, counts and deletions of key ranges, each of one version, and
//! snapshots.

use std::ops::{Bound, ControlFlow};

use honeycomb_layout::KEY_BYTES_MAX;
use honeycomb_protocol::resp::Replies;
use honeycomb_store::{Pairs, Table};

use crate::arguments::{Arguments, Options};
use crate::budget::PAIRS_MAX;
use crate::command::{Command, CommandForm, Keys};
use crate::commands::query::{Query, snapshot as snapshot_of};
use crate::commands::range::{Origin, Range, Walk};
use crate::commands::range_functions::count_range;
use crate::context::Context;
use crate::failure::Failure;
use crate::reaper;
use crate::task::walking::{Sink, Walking};
use crate::transaction::OptimisticTransaction;

const BOUNDS: &str =
    "A bound is `-` (the first key), `+` (the last), `[key` (included) or `(key` (excluded).";

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "ri.scan",
        arity: -2,
        keys: Keys::None,
        form: CommandForm::Range(scan),
        usage: "start [COUNT n] [REVERSE | FLOOR] [FIELDS KEY | VALUE | BOTH] [SNAPSHOT token]",
        summary: "Returns the pairs from a key on, in order, all of one version.",
    },
    Command {
        name: "ri.range",
        arity: -3,
        keys: Keys::None,
        form: CommandForm::Range(range),
        usage: "lower upper [COUNT n] [REVERSE | FLOOR] [FIELDS KEY | VALUE | BOTH] [SNAPSHOT token]",
        summary: "Returns the pairs between two bounds, in order, all of one version.",
    },
    Command {
        name: "ri.count",
        arity: -3,
        keys: Keys::None,
        form: CommandForm::Count(count, count_range),
        usage: "lower upper [SNAPSHOT token | WHERE offset type predicate [operand [operand ...]] \
            [WHERE offset type predicate [operand [operand ...]]] ...]",
        summary: "Returns the number of pairs between two bounds whose values satisfy all conditions, at one \
            version.",
    },
    Command {
        name: "ri.delrange",
        arity: 3,
        keys: Keys::None,
        form: CommandForm::Store(delete_range),
        usage: "lower upper",
        summary: "Deletes the pairs between two bounds atomically; returns how many existed.",
    },
    Command {
        name: "ri.snapshot",
        arity: -2,
        keys: Keys::None,
        form: CommandForm::Serve(snapshot),
        usage: "TAKE | RENEW token | DROP token",
        summary: "Takes, renews or drops a snapshot for scans; it expires with its lease.",
    },
];

/// Maximum number of pairs of a scan without `COUNT`.
const COUNT_DEFAULT: usize = 10;

fn scan<'a>(arguments: &Arguments<'a>) -> Result<Query<'a>, Failure> {
    let start = Bound::Included(shortened(arguments.get(1).unwrap_or_default()));
    let mut query = Query::parse(Range { limit: COUNT_DEFAULT, ..Range::all() }, arguments, 2)?;
    let range = &mut query.range;
    *(if range.backward { &mut range.upper } else { &mut range.lower }) = start;
    Ok(query)
}

fn range<'a>(arguments: &Arguments<'a>) -> Result<Query<'a>, Failure> {
    Query::parse(between(arguments)?, arguments, 3)
}

fn count(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Walking, Failure> {
    let mut options = Options::from(arguments, 3);
    let is_snapshot = options.word().is_none_or(|word| &*word == b"SNAPSHOT");
    if !is_snapshot || arguments.len() > 5 {
        return Err(Failure::Syntax);
    }
    Query::parse(between(arguments)?, arguments, 3)?.walk(Count(0), context)
}

/// Counts the pairs of a walk.
struct Count(i64);

impl Sink for Count {
    fn begin(&mut self, _: &mut Replies) {
        self.0 = 0;
    }

    fn visit(&mut self, _: &[u8], _: &[u8], _: &mut Replies) -> ControlFlow<()> {
        self.0 += 1;
        ControlFlow::Continue(())
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>()
    }

    fn end(&mut self, _: bool, context: &mut Context<'_>) -> Result<(), Failure> {
        context.replies.integer(self.0);
        Ok(())
    }
}

fn delete_range(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let range = between(arguments)?;
    let (table, now) = (context.ordered()?, context.now);
    if let Some(transaction) = context.transaction.as_deref_mut() {
        let deleted = count_within(transaction, table, &range, now)?;
        transaction.delete_range(table, &range);
        context.replies.integer(deleted);
        return Ok(());
    }
    context.budget.check_pairs(pairs_to(PAIRS_MAX + 1, table, &range)?)?;
    // The store counts expired pairs, too.
    reaper::catch_up(context.shared, now)?;
    let Range { lower, upper, .. } = range;
    let deleted = table.delete_range::<[u8]>((lower, upper))?;
    context.replies.integer(deleted as i64);
    Ok(())
}

/// Returns the number of stored pairs of a range, up to a maximum.
fn pairs_to(max: usize, table: &Table, range: &Range<'_>) -> Result<usize, Failure> {
    if table.pair_count() < max as u64 {
        return Ok(table.pair_count() as usize);
    }
    let mut pairs = Pairs::default();
    table.scan_into(&range.scan(max).keys_only(), &mut pairs)?;
    Ok(pairs.len())
}

fn snapshot(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let mut options = Options::from(arguments, 1);
    match &*options.word().unwrap_or_default() {
        b"TAKE" if arguments.len() == 2 => {
            let Context { shared, session, replies, .. } = context;
            let client_max = shared.config().client_snapshots_max;
            let token = shared.snapshots.take(&shared.store, session.client.id, client_max)?;
            replies.integer(token.get() as i64);
        }
        b"RENEW" if arguments.len() == 3 => {
            snapshot_of(&context.shared.store, &arguments[2])?.renew()?;
            context.replies.ok();
        }
        b"DROP" if arguments.len() == 3 => {
            let snapshot = snapshot_of(&context.shared.store, &arguments[2])?;
            context.shared.snapshots.forget(snapshot.token());
            snapshot.release();
            context.replies.ok();
        }
        _ => return Err(Failure::Syntax),
    }
    Ok(())
}

/// Returns the number of pairs of a range that a transaction sees.
pub(super) fn count_within(
    transaction: &mut OptimisticTransaction,
    table: &Table,
    range: &Range<'_>,
    now: u64,
) -> Result<i64, Failure> {
    let (mut walk, mut count) = (Walk::new(table, range), 0);
    let mut count_one = |_: &[u8], _: &[u8]| {
        count += 1;
        ControlFlow::Continue(())
    };
    while walk.page(&mut Origin::Transaction(transaction), now, &mut count_one)?.is_none() {
        // A page is the budget of a command on a core.
        transaction.check_budget(usize::MAX)?;
    }
    Ok(count)
}

/// Parses the two bounds after the command name.
#[inline(always)]
pub(super) fn between<'a>(arguments: &Arguments<'a>) -> Result<Range<'a>, Failure> {
    let bound_at = |index, unbounded| bound(arguments.get(index).unwrap_or_default(), unbounded);
    Ok(Range { lower: bound_at(1, b"-")?, upper: bound_at(2, b"+")?, ..Range::all() })
}

#[inline(always)]
fn bound<'a>(argument: &'a [u8], unbounded: &[u8]) -> Result<Bound<&'a [u8]>, Failure> {
    match argument {
        _ if argument == unbounded => Ok(Bound::Unbounded),
        [b'[', key @ ..] => Ok(Bound::Included(shortened(key))),
        [b'(', key @ ..] => Ok(Bound::Excluded(shortened(key))),
        _ => Err(Failure::other(BOUNDS)),
    }
}

/// Returns the beginning of the key of a bound. If it is longer than any key of a pair, its beginning
/// separates the same keys, and walks, watches and streams of changes keep copies of it.
#[inline(always)]
fn shortened(key: &[u8]) -> &[u8] {
    &key[..key.len().min(KEY_BYTES_MAX + 1)]
}

#[cfg(test)]
mod tests {
    use honeycomb_store::{Config, Store};

    use super::*;

    /// Keys around the longest bound that is not shortened, and bounds around the longest key.
    #[test]
    fn a_shortened_bound_separates_the_same_keys() {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        let table = store.table("pairs").unwrap();
        let longest = [b'b'; KEY_BYTES_MAX];
        let keys = [&longest[..KEY_BYTES_MAX - 1], &longest, b"a", b"c"];
        keys.iter().for_each(|key| table.put(key, b"v").unwrap());
        let bounds = [0, 1, KEY_BYTES_MAX, 10_000].map(|more| [&longest[..], &vec![b'b'; more]].concat());
        for bound in &bounds {
            for (first, expected) in [(b'[', *bound == longest), (b'(', false)] {
                let argument = [&[first], &bound[..]].concat();
                let (Bound::Included(key) | Bound::Excluded(key)) = super::bound(&argument, b"-").unwrap()
                else {
                    panic!("the bound has a key")
                };
                assert!(key.len() <= KEY_BYTES_MAX + 1);
                let lower = super::bound(&argument, b"-").unwrap();
                let found = table.scan(&Range { lower, ..Range::all() }.page()).unwrap();
                let found: Vec<_> = found.iter().map(|(key, _)| key).collect();
                assert_eq!(found.contains(&&longest[..]), expected, "{} bytes", bound.len());
                assert!(found.ends_with(&[b"c"]) && !found.contains(&&longest[1..]));
            }
        }
    }
}
