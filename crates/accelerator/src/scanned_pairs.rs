//! The pairs that direct scans find.

use std::ops::ControlFlow;

use honeycomb_btree::{Emit, Pair, PairRun};

use crate::buffer::Buffer;
use crate::limits::Limits;
use crate::pair::{PairsOf, push_pair, push_run};

/// The pairs of direct scans in a buffer of the reader. A reader reuses it: once the buffer has grown,
/// further scans need no allocation.
#[derive(Debug, Clone)]
pub struct ScannedPairs {
    buffer: Buffer,
    bytes_max: usize,
}

/// The result of a direct scan: the place of its pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scanned {
    start: usize,
    end: usize,
    /// Number of pairs.
    pub pair_count: usize,
    /// Whether a limit ended the scan before its range ended.
    pub more: bool,
}

impl Scanned {
    /// Bytes of the pairs and of their lengths.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> usize {
        self.end - self.start
    }
}

impl Default for ScannedPairs {
    /// Pairs without a limit.
    fn default() -> Self {
        Self::with_bytes_max(usize::MAX)
    }
}

impl ScannedPairs {
    /// Creates an empty buffer with room for about `bytes_max` bytes: a scan that begins while there is room
    /// can exceed it, up to its own limit.
    #[must_use]
    pub fn with_bytes_max(bytes_max: usize) -> Self {
        Self { buffer: Buffer::doubling_up_to(bytes_max), bytes_max }
    }

    /// Removes all pairs. Frees the memory if it is more than twice the limit.
    pub fn clear(&mut self) {
        self.buffer.clear();
    }

    /// Bytes of allocated memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Bytes of the pairs.
    #[must_use]
    #[inline]
    pub fn used(&self) -> usize {
        self.buffer.len()
    }

    /// Whether there is room for a further scan.
    #[inline]
    pub(crate) fn have_room(&self) -> bool {
        self.used() < self.bytes_max
    }

    /// The pairs that a scan has found, in its order.
    #[must_use]
    #[inline]
    pub fn of(&self, scanned: &Scanned) -> PairsOf<'_> {
        PairsOf::new(&self.buffer.bytes()[scanned.start..scanned.end])
    }

    /// Appends the pairs that a scan emits, within its limits. To show whether the range has ended, the scan
    /// emits one pair more than its limit allows.
    #[inline]
    pub(crate) fn append(&mut self, limits: Limits, scan: impl FnOnce(&mut Appended<'_>)) -> Scanned {
        let start = self.buffer.len();
        let mut appended = Appended { buffer: &mut self.buffer, left: limits, more: false };
        scan(&mut appended);
        let (pair_count, more) = (limits.pairs - appended.left.pairs, appended.more);
        Scanned { start, end: self.buffer.len(), pair_count, more }
    }
}

/// The pairs of a scan in progress.
pub(crate) struct Appended<'b> {
    buffer: &'b mut Buffer,
    left: Limits,
    more: bool,
}

impl Emit for Appended<'_> {
    #[inline]
    fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        if self.refuses_next() {
            return ControlFlow::Break(());
        }
        push_pair(self.buffer, pair);
        self.left.count(pair.key_len(), pair.value_len());
        ControlFlow::Continue(())
    }

    #[inline]
    fn refuses_next(&mut self) -> bool {
        self.more = self.left.are_reached();
        self.more
    }

    #[inline]
    fn run(&mut self, run: &mut PairRun<'_>) {
        let Limits { pairs, bytes } = self.left;
        let written = push_run(self.buffer, run, pairs, bytes);
        self.left = Limits { pairs: pairs - written.pairs, bytes: bytes - written.pair_bytes() };
    }
}
