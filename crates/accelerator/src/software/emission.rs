//! What a scan finds, on its way into completions: where limits end it.

use std::ops::ControlFlow;

use honeycomb_btree::{Pair, Scan, Version};

use crate::completion::{Completions, ScanWriter};
use crate::long_scan::Limits;

/// The completions of a scan, or of one turn of it, while they are written.
pub(super) struct Emission<'c> {
    writer: ScanWriter<'c>,
    left: Limits,
    pairs_left_this_turn: usize,
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
        Self { writer, left, pairs_left_this_turn: pairs_this_turn, ended: Ended::Range }
    }

    /// The same scan for one pair more, which says that there are more. Limits are looked after here.
    #[inline]
    pub(super) fn scan<'s>(&self, scan: &Scan<'s>) -> Scan<'s> {
        Scan { limit: scan.limit.saturating_add(1), ..*scan }
    }

    /// Takes a pair, or ends the scan before it.
    #[inline]
    pub(super) fn push(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        if self.left.are_reached() {
            self.ended = Ended::Limit;
            return ControlFlow::Break(());
        }
        if self.pairs_left_this_turn == 0 {
            self.ended = Ended::Turn;
            return ControlFlow::Break(());
        }
        self.writer.push(pair);
        self.left.take(pair.key_len(), pair.value().len());
        self.pairs_left_this_turn -= 1;
        ControlFlow::Continue(())
    }

    /// What may still be emitted.
    pub(super) fn left(&self) -> Limits {
        self.left
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
