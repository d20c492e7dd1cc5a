//! Deletes pairs that have expired, a few at a time.

use honeycomb_memory::sync::Ordering;
use honeycomb_store::{Pairs, Scan, Table};

use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::shared::Shared;

/// Pairs that are looked at in a step.
const PAIRS_A_STEP: usize = 256;
/// Bytes of them; the last may go beyond.
const BYTES_A_STEP: usize = 1 << 20;
/// Milliseconds between two steps.
const INTERVAL: u64 = 10;

/// A pass over all tables that begins again at its end.
#[derive(Debug, Default)]
pub(crate) struct Reaper {
    table: usize,
    /// The key after which it goes on.
    after: Vec<u8>,
    next: u64,
    pairs: Pairs,
}

impl Reaper {
    /// Looks at some more pairs, if it is time to.
    pub(crate) fn step(&mut self, shared: &Shared, now: u64) {
        if now < self.next {
            return;
        }
        self.next = now + INTERVAL;
        let table = shared.table(self.table);
        match self.reap(table, now) {
            Ok(expired) => drop(shared.expired.fetch_add(expired, Ordering::Relaxed)),
            Err(failure) => tracing::warn!(%failure, "expired pairs were not deleted"),
        }
        match self.pairs.last() {
            Some((key, _)) if self.pairs.more() => self.after = key.to_vec(),
            _ => {
                self.after.clear();
                self.table = (self.table + 1) % shared.tables().len();
            }
        }
    }

    fn reap(&mut self, table: &Table, now: u64) -> Result<u64, Failure> {
        let from = (std::ops::Bound::Excluded(&*self.after), std::ops::Bound::Unbounded);
        let some = Scan::range::<[u8]>(from).limit(PAIRS_A_STEP).bytes_max(BYTES_A_STEP);
        table.scan_into(&some, &mut self.pairs)?;
        let mut expired = 0;
        for (key, value) in &self.pairs {
            if Envelope::open(value).is_none_or(|envelope| envelope.is_alive(now)) {
                continue;
            }
            // Only what is there still: it may have been written anew.
            expired += u64::from(table.compare_and_delete(key, value)?);
        }
        Ok(expired)
    }
}
