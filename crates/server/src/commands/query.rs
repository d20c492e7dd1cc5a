//! What a client asks of a range of keys, and what it is replied.

use std::ops::ControlFlow;

use honeycomb_protocol::resp::{OpenArray, Replies};
use honeycomb_store::{Error, Reads, Snapshot, SnapshotToken, Store, Table};

use crate::arguments::{Arguments, Options, integer, is};
use crate::commands::range::{PAIRS_AT_ONCE, Range, Walk};
use crate::context::Context;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::task::walking::{Sink, Walking};

/// A range, what to reply of its pairs, and when they are looked at.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    pub(super) range: Range<'a>,
    fields: Fields,
    /// The token of a snapshot; none for now.
    snapshot: Option<&'a [u8]>,
}

/// What to reply of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fields {
    Key,
    Value,
    Both,
}

/// A query whose pairs were looked for together with other reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    fields: Fields,
    limit: usize,
}

impl<'a> Query<'a> {
    /// What the arguments from `from` on say of a range.
    pub(super) fn parse(range: Range<'a>, arguments: &Arguments<'a>, from: usize) -> Result<Self, Failure> {
        let mut query = Self { range, fields: Fields::Both, snapshot: None };
        let mut options = Options::from(arguments, from);
        while let Some(word) = options.word() {
            match &*word {
                b"COUNT" => query.range.limit = positive(options.integer()?)?,
                b"REVERSE" => query.range.backward = true,
                b"FLOOR" => query.range.floor_start = true,
                b"FIELDS" => query.fields = fields(options.argument()?)?,
                b"SNAPSHOT" => query.snapshot = Some(options.argument()?),
                _ => return Err(Failure::Syntax),
            }
        }
        let both = query.range.backward && query.range.floor_start;
        if both { Err(Failure::Syntax) } else { Ok(query) }
    }

    /// Has its pairs looked for together with other reads: at most how many they are. None if it is of a
    /// snapshot.
    pub(crate) fn read_ahead(&self, table: &Table, reads: &mut Reads) -> Option<(Page, usize)> {
        if self.snapshot.is_some() {
            return None;
        }
        reads.scan(table, &self.range.scan(PAIRS_AT_ONCE)).ok()?;
        Some((self.page(), self.range.limit.min(PAIRS_AT_ONCE)))
    }

    /// The walk that replies its pairs.
    pub(crate) fn walking(&self, context: &Context<'_>) -> Result<Box<Walking>, Failure> {
        let sink = PairsReply { page: self.page(), array: None, count: 0 };
        self.walk(sink, context).map(Box::new)
    }

    /// A walk that passes its pairs to a sink.
    pub(super) fn walk(&self, sink: impl Sink + 'static, context: &Context<'_>) -> Result<Walking, Failure> {
        let snapshot = self.snapshot.map(|token| snapshot(&context.shared.store, token)).transpose()?;
        Ok(Walking::new(Walk::new(context.table(), &self.range), sink, context).of(snapshot))
    }

    fn page(&self) -> Page {
        Page { fields: self.fields, limit: self.range.limit }
    }
}

/// Replies the pairs of a walk.
struct PairsReply {
    page: Page,
    array: Option<OpenArray>,
    count: usize,
}

impl Sink for PairsReply {
    fn begin(&mut self, replies: &mut Replies) {
        (self.array, self.count) = (Some(replies.begin_array()), 0);
    }

    fn take(&mut self, key: &[u8], data: &[u8], replies: &mut Replies) -> ControlFlow<()> {
        self.page.write(key, data, replies);
        self.count += 1;
        ControlFlow::Continue(())
    }

    fn end(&mut self, _: bool, context: &mut Context<'_>) -> Result<(), Failure> {
        let array = self.array.take();
        array.into_iter().for_each(|array| context.replies.end_array(array, self.page.length(self.count)));
        Ok(())
    }
}

impl Page {
    /// Replies the pairs that a read has found. False if they are not all, and nothing is replied: some have
    /// expired, or there are more than are read at once, or there was no room for them.
    pub(crate) fn reply(
        self,
        reads: &Reads,
        read: usize,
        now: u64,
        replies: &mut Replies,
    ) -> Result<bool, Failure> {
        let alive = |value| Envelope::open(value).filter(|envelope| envelope.is_alive(now));
        let mut count = 0;
        let mut pairs = match reads.pairs(read) {
            Err(Error::NoRoom) => return Ok(false),
            pairs => pairs?,
        };
        let all_alive = pairs.all(|(_, value)| {
            count += 1;
            alive(value).is_some()
        });
        if !all_alive || count < self.limit && reads.more(read)? {
            return Ok(false);
        }
        replies.array(self.length(count));
        let pairs = reads.pairs(read)?.filter_map(|(key, value)| Some((key, alive(value)?.data)));
        pairs.for_each(|(key, data)| self.write(key, data, replies));
        Ok(true)
    }

    /// Replies of so many pairs.
    fn length(self, pairs: usize) -> usize {
        if self.fields == Fields::Both { 2 * pairs } else { pairs }
    }

    #[inline]
    fn write(self, key: &[u8], data: &[u8], replies: &mut Replies) {
        if self.fields != Fields::Value {
            replies.bulk(key);
        }
        if self.fields != Fields::Key {
            replies.bulk(data);
        }
    }
}

/// The snapshot of a token.
pub(super) fn snapshot(store: &Store, token: &[u8]) -> Result<Snapshot, Failure> {
    let number = u64::try_from(integer(token)?).map_err(|_| Failure::Snapshot)?;
    Ok(store.resume(SnapshotToken::new(number))?)
}

fn fields(argument: &[u8]) -> Result<Fields, Failure> {
    let named = [("key", Fields::Key), ("value", Fields::Value), ("both", Fields::Both)];
    let found = named.iter().find(|(name, _)| is(argument, name));
    found.map(|(_, fields)| *fields).ok_or(Failure::Syntax)
}

fn positive(number: i64) -> Result<usize, Failure> {
    usize::try_from(number).ok().filter(|number| *number > 0).ok_or(Failure::NotInteger)
}
