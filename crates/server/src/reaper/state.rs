//! The state of the reaper.

use honeycomb_memory::sync::{AtomicU64, Ordering};
use honeycomb_store::Pairs;

use crate::deadlines::Deadlines;
use crate::glimpse::Glimpse;

/// The debt at which a step is due.
pub(super) const DEBT_MIN: u64 = 256;

/// The time of the next step.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    pub(super) next: AtomicU64,
}

/// The state between steps.
#[derive(Debug)]
pub(crate) struct Reaper {
    /// Time of the last regular check of entries.
    pub(super) last: u64,
    /// The search for stale entries continues after this key.
    pub(super) checked: Vec<u8>,
    /// The pass over pairs that existed before the server started, until it has completed.
    pub(super) pass: Option<Pass>,
    pub(super) entries: Pairs,
    pub(super) glimpse: Glimpse,
}

/// The position of the pass.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub(super) slot: usize,
    /// The pass continues after this key of an ordered table.
    pub(super) after: Vec<u8>,
    /// The pass continues at this cursor of an unordered table.
    pub(super) cursor: u64,
}

impl Schedule {
    /// Returns whether a step is due.
    #[inline]
    pub(crate) fn is_due(&self, deadlines: &Deadlines, now: u64) -> bool {
        now >= self.next.load(Ordering::Relaxed) || deadlines.debt() >= DEBT_MIN || Deadlines::has_recorded()
    }
}

impl Reaper {
    /// Returns the reaper of a store. It begins with a pass over existing pairs.
    pub(crate) fn new(deadlines: &Deadlines) -> Self {
        let has_pairs = deadlines.tables().iter().any(|table| table.pair_count() > 0);
        let pass = has_pairs.then(Pass::default);
        let (entries, glimpse) = (Pairs::default(), Glimpse::default());
        Self { last: 0, checked: Vec::new(), pass, entries, glimpse }
    }
}
