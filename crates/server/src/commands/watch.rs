//! `RI.WATCHRANGE`: `EXEC` executes nothing if a pair of a watched range was added, deleted or changed.

use std::ops::{Bound, ControlFlow};

use honeycomb_protocol::resp::Replies;

use crate::arguments::Arguments;
use crate::command::{Command, CommandForm, Keys};
use crate::commands::ordered::between;
use crate::commands::range::{Range, Walk};
use crate::context::Context;
use crate::databases::Databases;
use crate::digest::RangeDigest;
use crate::failure::Failure;
use crate::session::WatchedRange;
use crate::task::walking::{Sink, Walking};

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "ri.watchrange",
    arity: 3,
    keys: Keys::None,
    form: CommandForm::Walk(watch_range),
    usage: "lower upper",
    summary: "Watches a range: EXEC executes nothing if a pair in it was added, deleted or changed.",
}];

/// Returns a walk through the present pairs of a watched range.
pub(crate) fn walk(range: &WatchedRange, databases: &Databases) -> Result<Walk, Failure> {
    let (lower, upper) = (range.lower.as_ref(), range.upper.as_ref());
    let (lower, upper) = (lower.map(Vec::as_slice), upper.map(Vec::as_slice));
    Ok(Walk::new(databases.ordered(range.database)?, &Range { lower, upper, ..Range::all() }))
}

/// Computes the digest of a range, then watches the range.
struct Watch {
    /// Its digest is 0 until the walk ends.
    range: Option<WatchedRange>,
    digest: RangeDigest,
    /// The digest without pairs, for a walk that begins anew.
    empty: RangeDigest,
}

fn watch_range(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Walking, Failure> {
    if context.session.queue.is_some() {
        return Err(Failure::other("RI.WATCHRANGE inside MULTI is not allowed"));
    }
    let range = between(arguments)?;
    let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
    let database = context.session.database;
    let walk = Walk::new(context.ordered()?, &range);
    let watched = WatchedRange { database, lower: owned(range.lower), upper: owned(range.upper), digest: 0 };
    let empty = context.shared.digests.begin();
    let sink = Watch { range: Some(watched), digest: empty.clone(), empty };
    Ok(Walking::new(walk, sink, context))
}

impl Sink for Watch {
    fn begin(&mut self, _: &mut Replies) {
        self.digest = self.empty.clone();
    }

    fn visit(&mut self, key: &[u8], data: &[u8], _: &mut Replies) -> ControlFlow<()> {
        self.digest.add(key, data)
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.range.as_ref().map_or(0, WatchedRange::memory_bytes)
    }

    fn end(&mut self, _: bool, context: &mut Context<'_>) -> Result<(), Failure> {
        if let Some(range) = self.range.take() {
            let range = WatchedRange { digest: self.digest.end(), ..range };
            context.session.watched.push_range(range, context.shared)?;
        }
        context.replies.ok();
        Ok(())
    }
}
