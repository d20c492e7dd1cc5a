//! Reads that run together.

use honeycomb_accelerator::{Completion, Completions, Read, Request, Requests};

use crate::error::Error;
use crate::lanes::{Lanes, Source, check};
use crate::scan::Scan;
use crate::table::Table;

/// Many gets and scans, over any tables, in one call: [`Store::read`](crate::Store::read) has them all on
/// their way at once, which takes a fraction of the time of one after the other. Each is linearizable for
/// itself.
///
/// Made to be used again: once its buffers have grown, nothing is allocated.
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
/// assert_eq!(reads.value(0), Some(&b"red"[..]));
/// assert_eq!(reads.value(1), None);
/// assert_eq!(reads.pairs(2).next(), Some((&b"pear"[..], &b"green"[..])));
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Reads {
    requests: Requests,
    /// How many there are, those included that find nothing without being asked.
    count: usize,
    /// The tables they read, to keep their numbers; one that comes again right after itself is kept once.
    tables: Vec<Table>,
    completions: Completions,
    /// Of each read: where its first completion is.
    first: Vec<Option<usize>>,
    /// Read and place of the completions that continue others, in their order.
    continued: Vec<(usize, usize)>,
}

impl Reads {
    /// Removes all reads and keeps the buffers.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.count = 0;
        self.tables.clear();
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
    pub fn get(&mut self, table: &Table, key: &[u8]) -> Result<(), Error> {
        table.check_key(key)?;
        self.push(table, Read::Get(key))
    }

    /// Adds a scan, which returns at most [`Config::scan_pairs_max`](crate::Config::scan_pairs_max) pairs.
    ///
    /// # Errors
    /// None at present.
    pub fn scan(&mut self, table: &Table, scan: &Scan<'_>) -> Result<(), Error> {
        match table.request(scan) {
            Some(scan) => self.push(table, Read::Scan { scan, bytes_max: u32::MAX }),
            None => {
                // No key can be in the range: there is nothing to ask for.
                self.count += 1;
                Ok(())
            }
        }
    }

    /// The value that a get has found.
    #[must_use]
    pub fn value(&self, index: usize) -> Option<&[u8]> {
        self.completions.at((*self.first.get(index)?)?)?.value()
    }

    /// The pairs that a scan has found, in order.
    pub fn pairs(&self, index: usize) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.parts(index).flat_map(|completion| completion.pairs())
    }

    /// Whether a scan found more than it was allowed to return.
    #[must_use]
    pub fn more(&self, index: usize) -> bool {
        self.parts(index).last().is_some_and(|completion| completion.more)
    }

    /// Has all of them run.
    pub(crate) fn run(&mut self, lanes: &Lanes) -> Result<(), Error> {
        self.forget_answers();
        lanes.with(|lane| lane.run(&self.requests, &mut self.completions));
        self.first.resize(self.count, None);
        let mut offset = 0;
        for completion in &self.completions {
            check(completion.status)?;
            let index = usize::try_from(completion.identifier).unwrap_or(usize::MAX);
            match self.first.get_mut(index) {
                Some(first @ None) => *first = Some(offset),
                Some(Some(_)) => self.continued.push((index, offset)),
                None => return Err(Error::Accelerator("it completed what it was not asked")),
            }
            offset += completion.length();
        }
        Ok(())
    }

    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn push(&mut self, table: &Table, read: Read<'_>) -> Result<(), Error> {
        let (identifier, Source { table: number, version }) = (self.count as u64, table.source());
        self.requests.push(&Request { identifier, table: number, version, read })?;
        if !self.tables.last().is_some_and(|last| last.is_same_as(table)) {
            self.tables.push(table.clone());
        }
        self.count += 1;
        Ok(())
    }

    fn parts(&self, index: usize) -> impl Iterator<Item = Completion<'_>> {
        let first = self.first.get(index).copied().flatten();
        let from = if first.is_some() { 0 } else { self.continued.len() };
        let further = self.continued[from..].iter().filter(move |(of, _)| *of == index);
        let offsets = first.into_iter().chain(further.map(|(_, offset)| *offset));
        offsets.filter_map(|offset| self.completions.at(offset))
    }

    fn forget_answers(&mut self) {
        self.completions.clear();
        self.first.clear();
        self.continued.clear();
    }
}
