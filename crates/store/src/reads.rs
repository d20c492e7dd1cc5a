//! Reads that run together.

use std::ops::Range;

use honeycomb_accelerator::{Completion, Completions, Read, Request, Requests};

use crate::error::Error;
use crate::lanes::{Lanes, ReadSource, check};
use crate::scan::Scan;
use crate::snapshot::Snapshot;
use crate::table::Table;

/// Many gets and scans, over any tables, in one call: [`Store::read`](crate::Store::read) has them all on
/// their way at once, which takes a fraction of the time of one after the other. Each is linearizable for
/// itself; those of a snapshot are of its moment, all of them.
///
/// Made to be used again: once its buffers have grown, nothing is allocated. Until it is cleared it is a
/// handle on the tables and snapshots that it reads. Reads of one snapshot take least time if they follow
/// each other.
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
    /// How many there are, those included that find nothing without being asked.
    count: usize,
    /// The tables they read, to keep their numbers; one that comes again right after itself is kept once.
    tables: Vec<Table>,
    /// The snapshots that are read, each with a stretch of reads.
    snapshots: Vec<(Snapshot, Range<usize>)>,
    completions: Completions,
    answers: Vec<Answer>,
    /// Read and place of the completions that continue others, in their order.
    continued: Vec<(usize, usize)>,
}

/// What came of a read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Answer {
    /// Nothing: it was not run, or no key can be in its range.
    None,
    /// Its first completion is there.
    At(usize),
    /// Its snapshot has ended.
    TooOld,
    /// Those before have found as much as they may.
    NoRoom,
}

impl Reads {
    /// Reads that find so many bytes at most, and values of so many bytes each. A get whose value is longer,
    /// or longer than what is left, has [`Error::NoRoom`], and no memory is taken for it; so has what comes
    /// when nothing is left. The first value may be as long as values may be, so that a read that is alone
    /// succeeds. Scans that begin while there is room may go beyond it, as far as their own limits say.
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
    /// assert!(matches!(reads.value(0), Err(Error::NoRoom)), "too long a value");
    /// assert_eq!(reads.value(2)?, Some(&[b'a'; 1000][..]));
    /// assert!(matches!(reads.value(3), Err(Error::NoRoom)), "too many");
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn with_limits(bytes_max: usize, value_bytes_max: usize) -> Self {
        Self { completions: Completions::with_limits(bytes_max, value_bytes_max), ..Self::default() }
    }

    /// As [`Reads::with_limits`], with values of any length.
    #[must_use]
    pub fn with_bytes_max(bytes_max: usize) -> Self {
        Self::with_limits(bytes_max, usize::MAX)
    }

    /// Bytes of memory that what they have found takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.completions.memory_bytes()
    }

    /// Bytes of what they have found.
    #[must_use]
    pub fn found_bytes(&self) -> usize {
        self.completions.used()
    }

    /// Removes all reads and keeps the buffers.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.count = 0;
        self.tables.clear();
        self.snapshots.clear();
        self.forget_answers();
    }

    /// How many reads there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a get.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    #[inline(always)]
    pub fn get(&mut self, table: &Table, key: &[u8]) -> Result<(), Error> {
        table.check_key(key)?;
        self.push(table, table.source(), Read::Get(key))
    }

    /// Adds a get of what a snapshot sees.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ForeignTable`].
    pub fn get_at(&mut self, snapshot: &Snapshot, table: &Table, key: &[u8]) -> Result<(), Error> {
        table.check_key(key)?;
        snapshot.check_table(table)?;
        self.push(table, table.source_at(snapshot.version()), Read::Get(key))?;
        self.keep(snapshot);
        Ok(())
    }

    /// Adds a scan, which returns at most [`Config::scan_pairs_max`](crate::Config::scan_pairs_max) pairs.
    ///
    /// # Errors
    /// None at present.
    pub fn scan(&mut self, table: &Table, scan: &Scan<'_>) -> Result<(), Error> {
        self.push_scan(table, table.source(), scan)
    }

    /// Adds a scan of what a snapshot sees, which returns no more than [`Reads::scan`] does.
    ///
    /// # Errors
    /// [`Error::ForeignTable`].
    pub fn scan_at(&mut self, snapshot: &Snapshot, table: &Table, scan: &Scan<'_>) -> Result<(), Error> {
        snapshot.check_table(table)?;
        self.push_scan(table, table.source_at(snapshot.version()), scan)?;
        self.keep(snapshot);
        Ok(())
    }

    /// The value that a get has found.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`] if it was of a snapshot that has ended, [`Error::NoRoom`].
    #[inline]
    pub fn value(&self, index: usize) -> Result<Option<&[u8]>, Error> {
        let first = self.first(index)?;
        Ok(first.and_then(|first| self.completions.value_at(first)))
    }

    /// The pairs that a scan has found, in order.
    ///
    /// # Errors
    /// As [`Reads::value`]; so it is if the snapshot ended when some of the pairs had been found.
    pub fn pairs(&self, index: usize) -> Result<impl Iterator<Item = (&[u8], &[u8])>, Error> {
        Ok(self.parts(index)?.flat_map(|completion| completion.pairs()))
    }

    /// Whether a scan found more than it was allowed to return.
    ///
    /// # Errors
    /// As [`Reads::pairs`].
    pub fn more(&self, index: usize) -> Result<bool, Error> {
        Ok(self.parts(index)?.last().is_some_and(|completion| completion.more))
    }

    /// Has all of them run.
    pub(crate) fn run(&mut self, lanes: &Lanes) -> Result<(), Error> {
        self.forget_answers();
        self.answers.resize(self.count, Answer::None);
        // The accelerator would take a lease that ended for another one of the same version.
        for (snapshot, reads) in &self.snapshots {
            if snapshot.enter().is_err() {
                self.answers[reads.clone()].fill(Answer::TooOld);
            }
        }
        lanes.with(|lane| lane.run(&self.requests, &mut self.completions));
        let mut offset = 0;
        for completion in &self.completions {
            let index = usize::try_from(completion.identifier).unwrap_or(usize::MAX);
            let unasked = Error::Accelerator("it completed what it was not asked");
            let answer = self.answers.get_mut(index).ok_or(unasked)?;
            match (check(completion.status), *answer) {
                (Err(Error::SnapshotTooOld), _) | (Ok(()), Answer::TooOld) => *answer = Answer::TooOld,
                (Err(Error::NoRoom), _) | (Ok(()), Answer::NoRoom) => *answer = Answer::NoRoom,
                (Err(error), _) => return Err(error),
                (Ok(()), Answer::None) => *answer = Answer::At(offset),
                (Ok(()), Answer::At(_)) => self.continued.push((index, offset)),
            }
            offset += completion.length();
        }
        Ok(())
    }

    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn push_scan(&mut self, table: &Table, source: ReadSource, scan: &Scan<'_>) -> Result<(), Error> {
        match table.request(scan) {
            Some(request) => {
                self.push(table, source, Read::Scan { scan: request, bytes_max: scan.bytes_max })
            }
            None => {
                // No key can be in the range: there is nothing to ask for.
                self.count += 1;
                Ok(())
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, table: &Table, source: ReadSource, read: Read<'_>) -> Result<(), Error> {
        let ReadSource { table: number, version } = source;
        self.requests.push(&Request { identifier: self.count as u64, table: number, version, read })?;
        if !self.tables.last().is_some_and(|last| last.is_same_as(table)) {
            self.tables.push(table.clone());
        }
        self.count += 1;
        Ok(())
    }

    /// Keeps the snapshot of the read that was just added.
    fn keep(&mut self, snapshot: &Snapshot) {
        let end = self.count;
        match self.snapshots.last_mut() {
            Some((last, reads)) if reads.end == end - 1 && last.is_same_as(snapshot) => reads.end = end,
            _ => self.snapshots.push((snapshot.clone(), end - 1..end)),
        }
    }

    /// Where the first completion of a read is.
    #[inline]
    fn first(&self, index: usize) -> Result<Option<usize>, Error> {
        match self.answers.get(index) {
            None | Some(Answer::None) => Ok(None),
            Some(Answer::At(first)) => Ok(Some(*first)),
            Some(Answer::TooOld) => Err(Error::SnapshotTooOld),
            Some(Answer::NoRoom) => Err(Error::NoRoom),
        }
    }

    fn parts(&self, index: usize) -> Result<impl Iterator<Item = Completion<'_>>, Error> {
        let first = self.first(index)?;
        let from = if first.is_some() { 0 } else { self.continued.len() };
        let further = self.continued[from..].iter().filter(move |(of, _)| *of == index);
        let offsets = first.into_iter().chain(further.map(|(_, offset)| *offset));
        Ok(offsets.filter_map(|offset| self.completions.at(offset)))
    }

    fn forget_answers(&mut self) {
        self.completions.clear();
        self.answers.clear();
        self.continued.clear();
    }
}
