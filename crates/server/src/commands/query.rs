//! What a client asks of a range of keys, and what it is replied.

use honeycomb_protocol::resp::Replies;
use honeycomb_store::{Reads, Snapshot, SnapshotToken, Store, Table};

use crate::arguments::{Arguments, Options, integer, is};
use crate::commands::range::{Found, PAGE, Range, Source};
use crate::envelope::Envelope;
use crate::failure::Failure;

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

/// Bytes of pairs that are looked for together with other reads: of more the query is carried out alone.
const PAGE_BYTES: usize = 1 << 18;

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
        let limit = self.range.limit.min(PAGE);
        reads.scan(table, &self.range.scan(limit).bytes_max(PAGE_BYTES)).ok()?;
        Some((self.page(), limit))
    }

    /// Carries it out alone.
    pub(crate) fn reply(&self, source: &Source<'_>, replies: &mut Replies) -> Result<(), Failure> {
        let found = self.collect(source)?;
        let pairs = found.pairs.iter().map(|(key, data)| (&key[..], &data[..]));
        self.page().write(found.pairs.len(), pairs, replies);
        Ok(())
    }

    pub(super) fn collect(&self, source: &Source<'_>) -> Result<Found, Failure> {
        match self.snapshot {
            Some(token) => source.collect_at(&snapshot(source.store, token)?, &self.range),
            None => source.collect(&self.range),
        }
    }

    fn page(&self) -> Page {
        Page { fields: self.fields, limit: self.range.limit }
    }
}

impl Page {
    /// Replies the pairs that a read has found. False if they are not all, and nothing is replied: some have
    /// expired, or there are more than are read at once.
    pub(crate) fn reply(
        self,
        reads: &Reads,
        read: usize,
        now: u64,
        replies: &mut Replies,
    ) -> Result<bool, Failure> {
        let alive = |value| Envelope::open(value).filter(|envelope| envelope.is_alive(now));
        let mut count = 0;
        let all_alive = reads.pairs(read)?.all(|(_, value)| {
            count += 1;
            alive(value).is_some()
        });
        if !all_alive || count < self.limit && reads.more(read)? {
            return Ok(false);
        }
        let pairs = reads.pairs(read)?.filter_map(|(key, value)| Some((key, alive(value)?.data)));
        self.write(count, pairs, replies);
        Ok(true)
    }

    fn write<'p>(
        self,
        count: usize,
        pairs: impl Iterator<Item = (&'p [u8], &'p [u8])>,
        replies: &mut Replies,
    ) {
        replies.array(if self.fields == Fields::Both { 2 * count } else { count });
        pairs.for_each(|(key, data)| {
            if self.fields != Fields::Value {
                replies.bulk(key);
            }
            if self.fields != Fields::Key {
                replies.bulk(data);
            }
        });
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
