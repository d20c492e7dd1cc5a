//! Queries over key ranges: their options, their execution as a scan or a walk, and their replies.

use std::ops::ControlFlow;

use honeycomb_protocol::resp::{OpenArray, Replies, ShortReply};
use honeycomb_store::{Error, Reads, Snapshot, SnapshotToken, Store, TableHandle};

use crate::arguments::{Arguments, Options, Word, integer};
use crate::commands::range::{PAIRS_AT_ONCE, Range, Walk};
use crate::context::Context;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::task::walking::{Sink, Walking};

/// A range, the fields to return, and the version to read.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    pub(super) range: Range<'a>,
    fields: Fields,
    /// The token of a snapshot, or `None` for the present version.
    snapshot: Option<&'a [u8]>,
}

/// The fields of a pair that a reply contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fields {
    Key,
    Value,
    Both,
}

/// A query whose scan was added to a batch of reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    fields: Fields,
    limit: usize,
}

impl<'a> Query<'a> {
    /// Parses the options from argument `from` on.
    // Inlining saves copies of the query.
    #[inline(always)]
    pub(super) fn parse(range: Range<'a>, arguments: &Arguments<'a>, from: usize) -> Result<Self, Failure> {
        let mut query = Self { range, fields: Fields::Both, snapshot: None };
        let mut options = Options::from(arguments, from);
        while let Some(word) = options.word() {
            match &*word {
                b"COUNT" => query.range.limit = positive(options.integer()?)?,
                b"REVERSE" => query.range.backward = true,
                b"FLOOR" => query.range.floor_start = true,
                b"FIELDS" => query.fields = fields(options.word())?,
                b"SNAPSHOT" => query.snapshot = Some(options.argument()?),
                _ => return Err(Failure::Syntax),
            }
        }
        let both = query.range.backward && query.range.floor_start;
        if both { Err(Failure::Syntax) } else { Ok(query) }
    }

    /// Adds a scan of the range to a batch of reads. Returns the maximum number of its pairs, too. Returns
    /// `None` when the query reads a snapshot, or the table has no order.
    pub(crate) fn read_ahead(&self, table: &TableHandle, reads: &mut Reads) -> Option<(Page, usize)> {
        if self.snapshot.is_some() {
            return None;
        }
        reads.scan(table.ordered()?, &self.range.scan(PAIRS_AT_ONCE)).ok()?;
        Some((self.page(), self.range.limit.min(PAIRS_AT_ONCE)))
    }

    /// Returns a walk that writes the pairs to a reply.
    pub(crate) fn walking(&self, context: &Context<'_>) -> Result<Box<Walking>, Failure> {
        let sink = PairsReply { page: self.page(), array: None, count: 0 };
        self.walk(sink, context).map(Box::new)
    }

    /// Returns a walk that passes the pairs to a sink.
    pub(super) fn walk(&self, sink: impl Sink + 'static, context: &Context<'_>) -> Result<Walking, Failure> {
        let table = context.ordered()?;
        let snapshot = self.snapshot.map(|token| snapshot(&context.shared.store, token)).transpose()?;
        Ok(Walking::new(Walk::new(table, &self.range), sink, context).of(snapshot))
    }

    fn page(&self) -> Page {
        Page { fields: self.fields, limit: self.range.limit }
    }
}

/// Writes the pairs of a walk to a reply.
struct PairsReply {
    page: Page,
    array: Option<OpenArray>,
    count: usize,
}

impl Sink for PairsReply {
    fn begin(&mut self, replies: &mut Replies) {
        (self.array, self.count) = (Some(replies.begin_array()), 0);
    }

    fn visit(&mut self, key: &[u8], data: &[u8], replies: &mut Replies) -> ControlFlow<()> {
        self.page.write(key, data, replies);
        self.count += 1;
        ControlFlow::Continue(())
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>()
    }

    fn end(&mut self, _: bool, context: &mut Context<'_>) -> Result<(), Failure> {
        let array = self.array.take();
        array.into_iter().for_each(|array| context.replies.end_array(array, self.page.length(self.count)));
        Ok(())
    }
}

impl Page {
    /// Writes the pairs that read number `read` returned. Returns false if these are not all pairs of the
    /// query, because some have expired, one scan does not read all, or the batch lacked room. The caller
    /// then removes what was written.
    pub(crate) fn reply(
        self,
        reads: &Reads,
        read: usize,
        now: u64,
        replies: &mut Replies,
    ) -> Result<bool, Failure> {
        if let Some((scanned, pairs)) = reads.scanned(read) {
            if scanned.pair_count < self.limit && scanned.more {
                return Ok(false);
            }
            let elements = self.length(scanned.pair_count);
            let write = |reply: &mut ShortReply<'_>| {
                reply.array(elements);
                self.write_alive(pairs, now, reply)
            };
            if let Some(whole) = replies.short((1 + elements, scanned.bytes()), write) {
                return Ok(whole);
            }
        }
        self.reply_in_parts(reads, read, now, replies)
    }

    /// Writes the pairs of a long reply, or of a scan that was requested. Otherwise like [`Page::reply`].
    #[inline(never)]
    fn reply_in_parts(
        self,
        reads: &Reads,
        read: usize,
        now: u64,
        replies: &mut Replies,
    ) -> Result<bool, Failure> {
        let count = match reads.pair_count(read) {
            Err(Error::NoRoom) => return Ok(false),
            count => count?,
        };
        if count < self.limit && reads.more(read)? {
            return Ok(false);
        }
        replies.array(self.length(count));
        Ok(self.write_alive(reads.pairs(read)?, now, replies))
    }

    /// Writes stored pairs up to the first one that has expired. Returns whether it has written all.
    #[inline]
    fn write_alive<'p>(
        self,
        mut pairs: impl Iterator<Item = (&'p [u8], &'p [u8])>,
        now: u64,
        out: &mut impl BulkStrings,
    ) -> bool {
        let written = pairs.try_for_each(|(key, value)| {
            let envelope = Envelope::open(value).filter(|envelope| envelope.is_alive(now))?;
            self.write(key, envelope.data, out);
            Some(())
        });
        written.is_some()
    }

    /// Returns the number of array elements in the reply of this many pairs.
    fn length(self, pairs: usize) -> usize {
        if self.fields == Fields::Both { 2 * pairs } else { pairs }
    }

    // On the path of every pair.
    #[inline(always)]
    fn write(self, key: &[u8], data: &[u8], out: &mut impl BulkStrings) {
        if self.fields != Fields::Value {
            out.append(key);
        }
        if self.fields != Fields::Key {
            out.append(data);
        }
    }
}

/// A reply of bulk strings.
trait BulkStrings {
    fn append(&mut self, bytes: &[u8]);
}

impl BulkStrings for Replies {
    fn append(&mut self, bytes: &[u8]) {
        self.bulk(bytes);
    }
}

impl BulkStrings for ShortReply<'_> {
    #[inline(always)]
    fn append(&mut self, bytes: &[u8]) {
        self.bulk(bytes);
    }
}

/// Returns the snapshot that a token identifies.
pub(super) fn snapshot(store: &Store, token: &[u8]) -> Result<Snapshot, Failure> {
    let number = u64::try_from(integer(token)?).map_err(|_| Failure::Snapshot)?;
    store.resume(SnapshotToken::new(number)).map_err(|error| match error {
        // Not `SnapshotLost`: a transaction that executed again would not find the snapshot either.
        Error::SnapshotTooOld => Failure::other("snapshot too old: its lease has ended"),
        error => error.into(),
    })
}

fn fields(word: Option<Word>) -> Result<Fields, Failure> {
    match &*word.unwrap_or_default() {
        b"KEY" => Ok(Fields::Key),
        b"VALUE" => Ok(Fields::Value),
        b"BOTH" => Ok(Fields::Both),
        _ => Err(Failure::Syntax),
    }
}

fn positive(number: i64) -> Result<usize, Failure> {
    usize::try_from(number).ok().filter(|number| *number > 0).ok_or(Failure::NotInteger)
}
