//! Random pairs of tables.

use honeycomb_layout::KEY_BYTES_MAX;
use honeycomb_store::unordered::WalkedPairs;
use honeycomb_store::{Pairs, Scan, Table, TableHandle, UnorderedTable};

use crate::glimpse::Glimpse;

/// A key and a value.
pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// Draws random pairs. Keeps its buffers between calls.
#[derive(Debug)]
pub(crate) struct Sampler {
    random: u64,
    pairs: Pairs,
    walked: WalkedPairs,
    pub(super) glimpse: Glimpse,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            random: 0x9e37_79b9_7f4a_7c15,
            pairs: Pairs::default(),
            walked: WalkedPairs::default(),
            glimpse: Glimpse::default(),
        }
    }
}

impl Sampler {
    /// Returns the first pair of a table.
    pub(super) fn first(&mut self, table: &Table) -> Result<Option<Pair>, honeycomb_store::Error> {
        table.scan_into(&Scan::all().limit(1), &mut self.pairs)?;
        Ok(self.pairs.first().map(|(key, value)| (key.to_vec(), value.to_vec())))
    }

    /// Returns the position of a random table, weighted by the number of pairs.
    pub(super) fn weighted(&mut self, tables: &[TableHandle]) -> Option<usize> {
        let all: u64 = tables.iter().map(TableHandle::pair_count).sum();
        let mut place = self.draw().checked_rem(all)?;
        tables.iter().position(|table| {
            let pairs = table.pair_count();
            let is_here = place < pairs;
            place = place.saturating_sub(pairs);
            is_here
        })
    }

    /// Returns a random pair with at most the first bytes of its value. These include the whole value of an
    /// index entry.
    pub(super) fn sample(&mut self, table: &Table) -> Option<Pair> {
        let mut found = None;
        let mut take = |key: &[u8], value: &[u8]| {
            found = Some((key.to_vec(), value[..value.len().min(KEY_BYTES_MAX)].to_vec()));
        };
        table.sample_leaf(1, &mut |below| (self.draw() % below as u64) as usize, &mut take);
        found
    }

    /// Returns a random key of a table of either kind.
    pub(super) fn key(&mut self, table: &TableHandle) -> Option<Vec<u8>> {
        match table {
            TableHandle::Ordered(table) => self.sample(table).map(|(key, _)| key),
            TableHandle::Unordered(table) => self.unordered_key(table),
        }
    }

    fn unordered_key(&mut self, table: &UnorderedTable) -> Option<Vec<u8>> {
        let mut walked = std::mem::take(&mut self.walked);
        let mut draw = |below| (self.draw() % below as u64) as usize;
        let key = table.sample(&mut draw, 0, &mut walked).then(|| {
            let at = draw(walked.len());
            walked.iter().nth(at).map(|(key, _)| key.to_vec())
        });
        self.walked = walked;
        key.flatten()
    }

    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
