//! What a scan finds, on its way into completions: where limits end it.

use std::ops::ControlFlow;

use honeycomb_btree::{Emit, Pair, PairRun, Scan, Version};

use crate::completion::{Completions, ScanWriter};
use crate::long_scan::Limits;

/// The completions of a scan, or of one turn of it, while they are written.
pub(super) struct Emission<'c> {
    writer: ScanWriter<'c>,
    /// What is left for this turn.
    left: Limits,
    /// Pairs left for later turns.
    later: usize,
    ended: Ended,
}

/// What ended a scan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ended {
    Range,
    Limit,
    Turn,
}

impl<'c> Emission<'c> {
    /// Of a scan that is done in one go.
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

    /// Of at most so many pairs before others have their turn.
    #[inline]
    pub(super) fn new(writer: ScanWriter<'c>, left: Limits, pairs_this_turn: usize) -> Self {
        let pairs = left.pairs.min(pairs_this_turn);
        let this_turn = Limits { pairs, ..left };
        Self { writer, left: this_turn, later: left.pairs - pairs, ended: Ended::Range }
    }

    /// The same scan for one pair more, which says that there are more. Limits are looked after here.
    #[inline]
    pub(super) fn scan<'s>(&self, scan: &Scan<'s>) -> Scan<'s> {
        Scan { limit: scan.limit.saturating_add(1), ..*scan }
    }

    /// What may still be emitted.
    pub(super) fn left(&self) -> Limits {
        Limits { pairs: self.left.pairs + self.later, ..self.left }
    }

    /// The key of the last pair.
    pub(super) fn last_key(&self) -> &[u8] {
        self.writer.last_key()
    }

    /// Ends the completion: what ended the scan.
    #[inline]
    pub(super) fn finish(self) -> Ended {
        self.writer.finish(self.ended == Ended::Turn, self.ended == Ended::Limit);
        self.ended
    }
}

impl Emit for Emission<'_> {
    #[inline]
    fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        if self.left.are_reached() {
            let is_turn = self.left.bytes > 0 && self.later > 0;
            self.ended = if is_turn { Ended::Turn } else { Ended::Limit };
            return ControlFlow::Break(());
        }
        self.writer.push(pair);
        self.left.take(pair.key_len(), pair.value_len());
        ControlFlow::Continue(())
    }

    #[inline]
    fn run(&mut self, run: &mut PairRun<'_>) {
        let Limits { pairs, bytes } = self.left;
        let written = self.writer.push_run(run, pairs, bytes);
        self.left = Limits { pairs: pairs - written.pairs, bytes: bytes - written.pair_bytes() };
    }
}
