//! A walk through an unordered table, one page at a time. The pages are of different moments.

use std::ops::ControlFlow;

use honeycomb_store::unordered::WalkedPairs;
use honeycomb_store::{TableHandle, UnorderedTable};

use crate::envelope::{Envelope, HEADER_BYTES_MAX};
use crate::failure::Failure;
use crate::transaction::OptimisticTransaction;

/// Maximum number of pairs of a page, approximately, and of chains of buckets that it visits.
const PAGE_PAIRS: usize = 256;

/// A walk that continues where its last page ended.
pub(crate) struct TableWalk {
    table: UnorderedTable,
    cursor: u64,
    /// Pairs, or chains without pairs, that the walk may still visit.
    remaining: usize,
    pairs: WalkedPairs,
}

impl TableWalk {
    /// Returns a walk from a cursor on that visits about `count` pairs, or as many chains of buckets.
    pub(crate) fn new(table: &UnorderedTable, cursor: u64, count: usize) -> Self {
        Self { table: table.clone(), cursor, remaining: count, pairs: WalkedPairs::default() }
    }

    /// Returns a new walk from the current cursor on.
    pub(super) fn rest(&self) -> Self {
        Self::new(&self.table, self.cursor, self.remaining)
    }

    /// Returns the bytes of memory in use.
    pub(super) fn memory_bytes(&self) -> usize {
        self.pairs.memory_bytes()
    }

    /// Returns the cursor of the next page; 0 at the end.
    pub(super) fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Passes the keys of the next page whose pairs have not expired to `visit`, until it breaks. A walk in a
    /// transaction omits the pairs that it deletes, and its last page has those that it adds. Returns `None`
    /// when pages are left. Otherwise returns whether the table has more pairs.
    pub(super) fn page(
        &mut self,
        now: u64,
        transaction: Option<&mut OptimisticTransaction>,
        mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<Option<bool>, Failure> {
        let count = self.remaining.min(PAGE_PAIRS);
        self.cursor = self.table.walk_beginnings(self.cursor, count, HEADER_BYTES_MAX, &mut self.pairs);
        self.remaining -= count;
        let is_broken = match transaction {
            None => self.visit(now, |_| false, &mut visit),
            Some(transaction) => {
                let handle = TableHandle::Unordered(self.table.clone());
                let mut is_deleted = |key: &[u8]| transaction.change(&handle, key) == Some(None);
                let flow = self.visit(now, &mut is_deleted, &mut visit);
                let added = if self.cursor == 0 { transaction.added_keys(&handle)? } else { Vec::new() };
                if flow.is_break() { flow } else { added.iter().try_for_each(|key| visit(key)) }
            }
        }
        .is_break();
        let ends = is_broken || self.cursor == 0 || self.remaining == 0;
        Ok(ends.then_some(is_broken || self.cursor != 0))
    }

    fn visit(
        &self,
        now: u64,
        mut is_deleted: impl FnMut(&[u8]) -> bool,
        visit: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let is_alive = |value| Envelope::open(value).is_some_and(|envelope| envelope.is_alive(now));
        let mut alive = self.pairs.iter().filter(|(_, value)| is_alive(value));
        alive.try_for_each(|(key, _)| if is_deleted(key) { ControlFlow::Continue(()) } else { visit(key) })
    }
}
