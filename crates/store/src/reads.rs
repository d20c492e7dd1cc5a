//! Batches of reads.

use std::ops::Range;

use honeycomb_accelerator::{
    Completion, Completions, DirectReader, DirectScan, Get, PairsOf, Read, Request, Requests, Scanned, Status,
};

use crate::error::Error;
use crate::lanes::{Lanes, ReadSource, check};
use crate::ordered_gets::OrderedGets;
use crate::ordered_scans::OrderedScans;
use crate::scan::Scan;
use crate::snapshot::Snapshot;
use crate::table::Table;
use crate::table_handle::TableRef;
use crate::unordered::gets::UnorderedGets;
use crate::values::{Found, Values};

/// A batch of gets and scans on any tables. [`Store::read`](crate::Store::read) executes all of them
/// concurrently, which takes a fraction of the time of single calls. Each read is linearizable on its own;
/// all reads of one snapshot see the moment of that snapshot.
///
/// The gets may be from unordered tables. Such a batch is the fastest way to read these, too.
///
/// A `Reads` can be reused: once its buffers have grown, it allocates nothing. Until it is cleared it counts
/// as a handle to its tables and snapshots. Add the reads of one snapshot one after the other: this is
/// fastest.
///
/// ```
/// use honeycomb_store::{Config, Reads, Scan, Store};
///
/// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
/// let fruit = store.table("fruit")?;
/// fruit.put(b"apple", b"red")?;
/// fruit.put(b"pear", b"green")?;
/// let mut reads = Reads::default();
/// reads.get(&fruit, b"apple")?;
/// reads.get(&fruit, b"plum")?;
/// reads.scan(&fruit, &Scan::from("b"))?;
/// store.read(&mut reads)?;
/// assert_eq!(reads.value(0)?, Some(&b"red"[..]));
/// assert_eq!(reads.value(1)?, None);
/// assert_eq!(reads.pairs(2)?.next(), Some((&b"pear"[..], &b"green"[..])));
///
/// let snapshot = store.snapshot()?;
/// fruit.put(b"apple", b"eaten")?;
/// reads.clear();
/// reads.get(&fruit, b"apple")?;
/// reads.get_at(&snapshot, &fruit, b"apple")?;
/// store.read(&mut reads)?;
/// assert_eq!(reads.value(0)?, Some(&b"eaten"[..]));
/// assert_eq!(reads.value(1)?, Some(&b"red"[..]));
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Reads {
    requests: Requests,
    /// The number of reads, including those that are not requested because their range is empty.
    count: usize,
    /// The tables of the reads, which keep the numbers of the tables allocated. Consecutive reads of one
    /// table share an element.
    tables: Vec<Table>,
    /// The snapshots of the reads, each with a range of consecutive reads.
    snapshots: Vec<(Snapshot, Range<usize>)>,
    completions: Completions,
    results: Vec<ReadResult>,
    /// The read and the offset of each completion that continues an earlier one, in their order.
    continued: Vec<(usize, usize)>,
    /// The gets and scans of ordered tables while the batch has no reads of snapshots. With these, all are
    /// requests in the order of their addition.
    gets: OrderedGets,
    scans: OrderedScans,
    unordered: UnorderedGets,
    /// The values of these gets.
    values: Values,
}

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ReadResult {
    /// There is none: the read was not executed, or no key can be in its range.
    None,
    /// The offset of its first completion.
    At(usize),
    /// The value that a get without a request has found, as a range of the values.
    Value { start: usize, end: usize },
    /// The pairs that a direct scan has found.
    Scanned(Scanned),
    /// The snapshot of the read has ended.
    TooOld,
    /// The results exceed their limit of bytes.
    NoRoom,
}

impl ReadResult {
    #[inline]
    fn of(found: Found) -> Self {
        match found {
            Found::Absent => Self::None,
            Found::At { start, end } => Self::Value { start, end },
            Found::NoRoom => Self::NoRoom,
        }
    }

    /// Updates the result with a completion of the read. Returns whether it does not continue an earlier one.
    #[inline(never)]
    fn is_first(&mut self, offset: usize, status: Status) -> Result<bool, Error> {
        match (check(status), *self) {
            (Err(Error::SnapshotTooOld), _) | (Ok(()), Self::TooOld) => *self = Self::TooOld,
            (Err(Error::NoRoom), _) | (Ok(()), Self::NoRoom) => *self = Self::NoRoom,
            (Err(error), _) => return Err(error),
            (Ok(()), Self::None) => *self = Self::At(offset),
            (Ok(()), _) => return Ok(false),
        }
        Ok(true)
    }
}

impl Reads {
    /// Creates an empty batch whose results have at most `bytes_max` bytes in total, with values of at most
    /// `value_bytes_max` bytes. A get whose value exceeds either limit fails with [`Error::NoRoom`] and needs
    /// no memory; every read fails this way once the total is used up. The first value may have any length,
    /// so that a single read always succeeds. A scan that starts while there is room may exceed the total, up
    /// to its own limits.
    ///
    /// ```
    /// use honeycomb_store::{Config, Error, Reads, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let table = store.table("letters")?;
    /// table.put(b"a", &[b'a'; 1000])?;
    /// table.put(b"b", &[b'b'; 100_000])?;
    /// let mut reads = Reads::with_limits(2500, 10_000);
    /// reads.get(&table, b"b")?;
    /// (0..3).try_for_each(|_| reads.get(&table, b"a"))?;
    /// store.read(&mut reads)?;
    /// assert!(matches!(reads.value(0), Err(Error::NoRoom)), "value too long");
    /// assert_eq!(reads.value(2)?, Some(&[b'a'; 1000][..]));
    /// assert!(matches!(reads.value(3), Err(Error::NoRoom)), "total too long");
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_limits(bytes_max: usize, value_bytes_max: usize) -> Self {
        Self {
            completions: Completions::with_limits(bytes_max, value_bytes_max),
            scans: OrderedScans::with_bytes_max(bytes_max),
            values: Values::with_limits(bytes_max, value_bytes_max),
            ..Self::default()
        }
    }

    /// Creates an empty batch with a limit on the total bytes of its results, as [`Reads::with_limits`] does.
    #[must_use]
    pub fn with_bytes_max(bytes_max: usize) -> Self {
        Self::with_limits(bytes_max, usize::MAX)
    }

    /// Returns the bytes of memory that the results occupy.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.completions.memory_bytes() + self.scans.memory_bytes() + self.values.memory_bytes()
    }

    /// Returns the bytes of the results that count towards the limit.
    #[must_use]
    pub fn found_bytes(&self) -> usize {
        self.completions.used() + self.scans.bytes() + self.values.bytes()
    }

    /// Removes all reads and keeps the buffers.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.count = 0;
        self.tables.clear();
        self.gets.clear();
        self.scans.clear();
        self.unordered.clear();
        self.snapshots.clear();
        self.clear_results();
    }

    /// Returns the number of reads.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no reads.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a get.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    #[inline(always)]
    pub fn get<'t>(&mut self, table: impl Into<TableRef<'t>>, key: &[u8]) -> Result<(), Error> {
        match table.into() {
            TableRef::Ordered(table) => {
                table.check_key(key)?;
                if !self.requests.bytes().is_empty() {
                    return self.push(table, table.source(), Read::Get(key));
                }
                self.gets.push(table.source().table, self.count, key);
                self.count_read(table);
                Ok(())
            }
            TableRef::Unordered(table) => {
                table.check_key(key)?;
                self.unordered.push(table, self.count, key);
                self.count += 1;
                Ok(())
            }
        }
    }

    /// Adds a get at a snapshot.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ForeignTable`].
    pub fn get_at(&mut self, snapshot: &Snapshot, table: &Table, key: &[u8]) -> Result<(), Error> {
        table.check_key(key)?;
        snapshot.check_table(table)?;
        self.push(table, table.source_at(snapshot.version()), Read::Get(key))?;
        self.note_snapshot(snapshot);
        Ok(())
    }

    /// Adds a scan, which returns at most [`Config::scan_pairs_max`](crate::Config::scan_pairs_max) pairs.
    ///
    /// # Errors
    /// Currently always succeeds.
    pub fn scan(&mut self, table: &Table, scan: &Scan<'_>) -> Result<(), Error> {
        self.push_scan(table, table.source(), scan)
    }

    /// Adds a scan at a snapshot, with the same limit on pairs as [`Reads::scan`].
    ///
    /// # Errors
    /// [`Error::ForeignTable`].
    pub fn scan_at(&mut self, snapshot: &Snapshot, table: &Table, scan: &Scan<'_>) -> Result<(), Error> {
        snapshot.check_table(table)?;
        self.push_scan(table, table.source_at(snapshot.version()), scan)?;
        self.note_snapshot(snapshot);
        Ok(())
    }

    /// Returns the value that the get at `index` found, or `None` if its key is absent.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`] if the snapshot of the get has ended, [`Error::NoRoom`].
    #[inline]
    pub fn value(&self, index: usize) -> Result<Option<&[u8]>, Error> {
        match self.results.get(index) {
            Some(&ReadResult::Value { start, end }) => Ok(Some(self.values.value(start, end))),
            _ => Ok(self.first(index)?.and_then(|first| self.completions.value_at(first))),
        }
    }

    /// Iterates over the pairs that the scan at `index` found, in the order of the scan.
    ///
    /// # Errors
    /// The same as for [`Reads::value`]. [`Error::SnapshotTooOld`] also if the snapshot ended in the middle
    /// of the scan.
    pub fn pairs(&self, index: usize) -> Result<impl Iterator<Item = (&[u8], &[u8])>, Error> {
        let direct = self.scanned(index).map(|(_, pairs)| pairs).unwrap_or_default();
        Ok(direct.chain(self.parts(index)?.flat_map(|completion| completion.pairs())))
    }

    /// Returns the number of pairs that the scan at `index` found.
    ///
    /// # Errors
    /// The same as for [`Reads::pairs`].
    pub fn pair_count(&self, index: usize) -> Result<usize, Error> {
        match self.scanned(index) {
            Some((scanned, _)) => Ok(scanned.pair_count),
            None => Ok(self.parts(index)?.map(|completion| completion.pair_count).sum()),
        }
    }

    /// Returns whether a limit of the scan at `index` left out further pairs.
    ///
    /// # Errors
    /// The same as for [`Reads::pairs`].
    pub fn more(&self, index: usize) -> Result<bool, Error> {
        match self.scanned(index) {
            Some((scanned, _)) => Ok(scanned.more),
            None => Ok(self.parts(index)?.last().is_some_and(|completion| completion.more)),
        }
    }

    /// Returns the result of the scan at `index` and its pairs, which are contiguous. `None` if requests were
    /// necessary for it, or it has no result: then [`Reads::pairs`] returns its pairs, or an error.
    #[must_use]
    #[inline]
    pub fn scanned(&self, index: usize) -> Option<(&Scanned, PairsOf<'_>)> {
        match self.results.get(index) {
            Some(ReadResult::Scanned(scanned)) => Some((scanned, self.scans.pairs(scanned))),
            _ => None,
        }
    }

    /// Executes all reads.
    pub(crate) fn run(&mut self, lanes: &Lanes) -> Result<(), Error> {
        self.clear_results();
        self.results.resize(self.count, ReadResult::None);
        // The accelerator knows a lease only by its version, so it would accept a lease that has ended if
        // another one has the same version.
        for (snapshot, reads) in &self.snapshots {
            if snapshot.enter().is_err() {
                self.results[reads.clone()].fill(ReadResult::TooOld);
            }
        }
        if self.gets.is_empty() && self.scans.is_empty() {
            // There are only reads of other kinds.
        } else if let Some(reader) = lanes.accelerator().direct_reader().filter(|one| self.scans.suit(one)) {
            self.run_direct(&reader)?;
        } else {
            self.request_all()?;
        }
        if !self.requests.bytes().is_empty() {
            lanes.with(|lane| lane.run(&self.requests, &mut self.completions));
            self.note_completions()?;
        }
        let used = self.completions.used() + self.scans.bytes();
        let Self { unordered, values, results, .. } = self;
        unordered.run(values, used, |read, found| results[read] = ReadResult::of(found));
        Ok(())
    }

    /// Executes the gets and the scans, all at one version.
    fn run_direct(&mut self, reader: &DirectReader<'_>) -> Result<(), Error> {
        let Self { gets, scans, values, results, .. } = self;
        scans.run(reader, |read, found| {
            results[read] = found.map_or(ReadResult::NoRoom, ReadResult::Scanned);
        })?;
        gets.run(reader, values, scans.bytes(), |read, found| results[read] = ReadResult::of(found))
    }

    /// Encodes the gets and scans so far as requests, in the order of their addition.
    #[cold]
    fn request_all(&mut self) -> Result<(), Error> {
        let Self { gets, scans, requests, .. } = self;
        let mut push = |read: usize, table, operation| {
            let request = Request { identifier: read as u64, table, version: None, read: operation };
            Ok::<(), Error>(requests.push(&request)?)
        };
        let mut left = gets.iter().peekable();
        for (read, DirectScan { table, scan, bytes_max }) in scans.iter() {
            while let Some((earlier, Get { table, key })) = left.next_if(|(get, _)| *get < read) {
                push(earlier, table, Read::Get(key))?;
            }
            push(read, table, Read::Scan { scan, bytes_max })?;
        }
        left.try_for_each(|(read, Get { table, key })| push(read, table, Read::Get(key)))?;
        drop(left);
        self.gets.clear();
        self.scans.clear();
        Ok(())
    }

    /// Notes the places of the completions.
    fn note_completions(&mut self) -> Result<(), Error> {
        let mut offset = 0;
        for completion in &self.completions {
            let index = usize::try_from(completion.identifier).unwrap_or(usize::MAX);
            match self.results.get_mut(index) {
                Some(result @ ReadResult::None) if completion.status.is_executed() => {
                    *result = ReadResult::At(offset);
                }
                Some(result) => {
                    if !result.is_first(offset, completion.status)? {
                        self.continued.push((index, offset));
                    }
                }
                None => return Err(Error::Accelerator("it returned a completion for an unknown request")),
            }
            offset += completion.length();
        }
        Ok(())
    }

    /// Whether some of the reads are of unordered tables.
    pub(crate) fn has_unordered(&self) -> bool {
        !self.unordered.is_empty()
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = TableRef<'_>> {
        let ordered = self.tables.iter().map(TableRef::Ordered);
        ordered.chain(self.unordered.tables().map(TableRef::Unordered))
    }

    fn push_scan(&mut self, table: &Table, source: ReadSource, scan: &Scan<'_>) -> Result<(), Error> {
        let Some(request) = table.request(scan) else {
            // No key can be in the range, so there is nothing to execute.
            self.count += 1;
            return Ok(());
        };
        if source.version.is_some() || !self.requests.bytes().is_empty() {
            return self.push(table, source, Read::Scan { scan: request, bytes_max: scan.bytes_max });
        }
        self.scans.push(self.count, source.table, &request, scan.bytes_max);
        self.count_read(table);
        Ok(())
    }

    #[inline(always)]
    fn push(&mut self, table: &Table, source: ReadSource, read: Read<'_>) -> Result<(), Error> {
        let ReadSource { table: number, version } = source;
        self.request_all()?;
        self.requests.push(&Request { identifier: self.count as u64, table: number, version, read })?;
        self.count_read(table);
        Ok(())
    }

    /// Counts a read of a table that was just added.
    #[inline(always)]
    fn count_read(&mut self, table: &Table) {
        if !self.tables.last().is_some_and(|last| last.is_same_as(table)) {
            self.tables.push(table.clone());
        }
        self.count += 1;
    }

    /// Notes the snapshot of the read that was just added.
    fn note_snapshot(&mut self, snapshot: &Snapshot) {
        let end = self.count;
        match self.snapshots.last_mut() {
            Some((last, reads)) if reads.end == end - 1 && last.is_same_as(snapshot) => reads.end = end,
            _ => self.snapshots.push((snapshot.clone(), end - 1..end)),
        }
    }

    /// Returns the offset of the first completion of a read.
    #[inline]
    fn first(&self, index: usize) -> Result<Option<usize>, Error> {
        match self.results.get(index) {
            Some(ReadResult::At(first)) => Ok(Some(*first)),
            Some(ReadResult::TooOld) => Err(Error::SnapshotTooOld),
            Some(ReadResult::NoRoom) => Err(Error::NoRoom),
            _ => Ok(None),
        }
    }

    fn parts(&self, index: usize) -> Result<impl Iterator<Item = Completion<'_>>, Error> {
        let first = self.first(index)?;
        let from = if first.is_some() { 0 } else { self.continued.len() };
        let further = self.continued[from..].iter().filter(move |(of, _)| *of == index);
        let offsets = first.into_iter().chain(further.map(|(_, offset)| *offset));
        Ok(offsets.filter_map(|offset| self.completions.at(offset)))
    }

    fn clear_results(&mut self) {
        self.completions.clear();
        self.values.clear();
        self.scans.clear_pairs();
        self.results.clear();
        self.continued.clear();
    }
}

#[cfg(test)]
mod tests {
    use honeycomb_accelerator::parse_request;

    use super::*;
    use crate::{Config, Store};

    /// Reads of a connection execute in order, so none may see an earlier version than the one before it. All
    /// direct reads see one version, and requests have the order of the reads.
    #[test]
    fn gets_beside_long_scans_are_requests_in_their_order() {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        let table = store.table("table").unwrap();
        for (limit, expected) in [(128, &[][..]), (129, &[0, 1, 2, 3, 4])] {
            let mut reads = Reads::default();
            reads.get(&table, b"a").unwrap();
            reads.get(&table, b"b").unwrap();
            reads.scan(&table, &Scan::all().limit(limit)).unwrap();
            reads.get(&table, b"c").unwrap();
            reads.scan(&table, &Scan::all().limit(1)).unwrap();
            for _ in 0..2 {
                store.read(&mut reads).unwrap();
                assert_eq!((reads.value(3).unwrap(), reads.pair_count(4).unwrap()), (None, 0));
                assert_eq!(requested(&reads), expected);
            }
        }
    }

    #[test]
    fn reads_beside_those_of_a_snapshot_are_requests_in_their_order() {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        let (table, snapshot) = (store.table("table").unwrap(), store.snapshot().unwrap());
        for last_is_get in [false, true] {
            let mut reads = Reads::default();
            reads.scan(&table, &Scan::all().limit(1)).unwrap();
            reads.get(&table, b"a").unwrap();
            reads.get_at(&snapshot, &table, b"b").unwrap();
            if last_is_get {
                reads.get(&table, b"c").unwrap();
            } else {
                reads.scan(&table, &Scan::all().limit(1)).unwrap();
            }
            store.read(&mut reads).unwrap();
            assert_eq!(requested(&reads), [0, 1, 2, 3]);
        }
    }

    /// The identifiers of the requests of a batch.
    fn requested(reads: &Reads) -> Vec<u64> {
        let (mut rest, mut identifiers) = (reads.requests.bytes(), Vec::new());
        while !rest.is_empty() {
            let (request, length) = parse_request(rest);
            identifiers.push(request.unwrap().identifier);
            rest = &rest[length..];
        }
        identifiers
    }
}
