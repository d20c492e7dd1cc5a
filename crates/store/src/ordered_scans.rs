//! Scans of a batch of reads, of the newest version.

use std::ops::{Bound, Range};

use honeycomb_accelerator::{DirectReader, DirectScan, PairsOf, Scanned, ScannedPairs};
use honeycomb_btree::Scan;

use crate::error::Error;
use crate::lanes::check;

/// Scans in the order of their addition, and their pairs.
#[derive(Debug, Clone, Default)]
pub(crate) struct OrderedScans {
    scans: Vec<OrderedScan>,
    /// The concatenated bounds.
    keys: Vec<u8>,
    pairs: ScannedPairs,
    /// The greatest limit of all scans.
    longest: usize,
}

#[derive(Debug, Clone)]
struct OrderedScan {
    /// The position of the read in its batch.
    read: usize,
    /// The number of the table.
    table: u16,
    lower: Bound<Range<usize>>,
    upper: Bound<Range<usize>>,
    floor_start: bool,
    backward: bool,
    keys_only: bool,
    limit: usize,
    bytes_max: u32,
}

impl OrderedScans {
    pub(crate) fn with_bytes_max(bytes_max: usize) -> Self {
        Self { pairs: ScannedPairs::with_bytes_max(bytes_max), ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.scans.is_empty()
    }

    /// Bytes of the pairs.
    pub(crate) fn bytes(&self) -> usize {
        self.pairs.used()
    }

    /// Bytes of memory that the pairs occupy.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.pairs.memory_bytes()
    }

    /// The pairs of a scan.
    #[inline]
    pub(crate) fn pairs(&self, scanned: &Scanned) -> PairsOf<'_> {
        self.pairs.of(scanned)
    }

    /// Removes all scans and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        self.scans.clear();
        self.keys.clear();
        self.longest = 0;
    }

    /// Removes the pairs.
    pub(crate) fn clear_pairs(&mut self) {
        self.pairs.clear();
    }

    /// Adds a scan for the read at a position.
    #[inline]
    pub(crate) fn push(&mut self, read: usize, table: u16, scan: &Scan<'_>, bytes_max: u32) {
        let Scan { lower, upper, floor_start, backward, keys_only, limit } = *scan;
        let keys = &mut self.keys;
        let mut keep = |key: &[u8]| {
            let start = keys.len();
            keys.extend_from_slice(key);
            start..keys.len()
        };
        let (lower, upper) = (lower.map(&mut keep), upper.map(keep));
        let scan =
            OrderedScan { read, table, lower, upper, floor_start, backward, keys_only, limit, bytes_max };
        self.scans.push(scan);
        self.longest = self.longest.max(limit);
    }

    /// Iterates over the scans, each with its position in the batch.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, DirectScan<'_>)> {
        self.scans.iter().map(|scan| (scan.read, scan.of(&self.keys)))
    }

    /// Whether a reader can execute all scans directly.
    pub(crate) fn suit(&self, reader: &DirectReader<'_>) -> bool {
        self.longest <= reader.scan_pairs_max()
    }

    /// Executes all scans, and passes each read with its result to `done`: `None` if the pairs of earlier
    /// ones reach the limit of bytes.
    pub(crate) fn run(
        &mut self,
        reader: &DirectReader<'_>,
        mut done: impl FnMut(usize, Option<Scanned>),
    ) -> Result<(), Error> {
        let Self { scans, keys, pairs, .. } = self;
        let all = scans.iter().map(|scan| scan.of(keys));
        reader.scan_each(all, pairs, |index, found| done(scans[index].read, found)).or_else(check)
    }
}

impl OrderedScan {
    #[inline]
    fn of<'k>(&self, keys: &'k [u8]) -> DirectScan<'k> {
        let bound = |bound: &Bound<Range<usize>>| bound.as_ref().map(|key| &keys[key.clone()]);
        let Self { floor_start, backward, keys_only, limit, .. } = *self;
        let (lower, upper) = (bound(&self.lower), bound(&self.upper));
        let scan = Scan { lower, upper, floor_start, backward, keys_only, limit };
        DirectScan { table: self.table, scan, bytes_max: self.bytes_max }
    }
}
