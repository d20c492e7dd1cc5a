//! Writes the pairs of a scan into completions, and applies the limits of the scan.

use std::ops::ControlFlow;

use honeycomb_btree::{Emit, Pair, PairRun, Scan, Version};

use crate::completion::{Completions, ScanWriter};
use crate::limits::Limits;

/// The completions of a scan, or of one quantum of it, during their construction.
pub(super) struct Emission<'c> {
    writer: ScanWriter<'c>,
    /// The remaining pairs and bytes of this quantum.
    left: Limits,
    /// The pairs that remain for later quanta.
    later: usize,
    end: ScanEnd,
}

/// The cause of the end of a scan, or of a quantum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ScanEnd {
    Range,
    Limit,
    Quantum,
}

impl<'c> Emission<'c> {
    /// Begins the completions of a scan that executes in one quantum.
    #[inline]
    pub(super) fn of(
        completions: &'c mut Completions,
        identifier: u64,
        version: Version,
        scan: &Scan<'_>,
        bytes_max: u32,
    ) -> Self {
        let left = Limits { pairs: scan.limit, bytes: bytes_max as usize };
        Self::new(completions.begin_scan(identifier, version), left, usize::MAX)
    }

    /// Begins the completions of a quantum of at most `quantum_pairs` pairs.
    #[inline]
    pub(super) fn new(writer: ScanWriter<'c>, left: Limits, quantum_pairs: usize) -> Self {
        let pairs = left.pairs.min(quantum_pairs);
        let quantum = Limits { pairs, ..left };
        Self { writer, left: quantum, later: left.pairs - pairs, end: ScanEnd::Range }
    }

    /// Returns the same scan with a limit of one more pair. The additional pair shows that the range has not
    /// ended. The emission itself applies the limits.
    #[inline]
    pub(super) fn scan<'s>(&self, scan: &Scan<'s>) -> Scan<'s> {
        Scan { limit: scan.limit.saturating_add(1), ..*scan }
    }

    /// The pairs and bytes that the scan may still emit, in this quantum and in later ones.
    pub(super) fn left(&self) -> Limits {
        Limits { pairs: self.left.pairs + self.later, ..self.left }
    }

    /// The key of the last pair.
    pub(super) fn last_key(&self) -> &[u8] {
        self.writer.last_key()
    }

    /// Finishes the completion. Returns the cause of the end of the scan.
    #[inline]
    pub(super) fn finish(self) -> ScanEnd {
        self.writer.finish(self.end == ScanEnd::Quantum, self.end == ScanEnd::Limit);
        self.end
    }
}

impl Emit for Emission<'_> {
    #[inline]
    fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        if self.refuses_next() {
            return ControlFlow::Break(());
        }
        self.writer.push(pair);
        self.left.count(pair.key_len(), pair.value_len());
        ControlFlow::Continue(())
    }

    #[inline]
    fn refuses_next(&mut self) -> bool {
        let refuses = self.left.are_reached();
        if refuses {
            let is_quantum = self.left.bytes > 0 && self.later > 0;
            self.end = if is_quantum { ScanEnd::Quantum } else { ScanEnd::Limit };
        }
        refuses
    }

    #[inline]
    fn run(&mut self, run: &mut PairRun<'_>) {
        let Limits { pairs, bytes } = self.left;
        let written = self.writer.push_run(run, pairs, bytes);
        self.left = Limits { pairs: pairs - written.pairs, bytes: bytes - written.pair_bytes() };
    }
}
