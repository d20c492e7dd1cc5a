//! The state of the reaper.

use honeycomb_memory::sync::{AtomicU64, Ordering};
use honeycomb_store::Pairs;

use crate::deadlines::Deadlines;
use crate::glimpse::Glimpse;

/// A debt that is worth a step.
pub(super) const DEBT_MIN: u64 = 256;

/// When the next step is due.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    pub(super) next: AtomicU64,
}

/// What steps need, one after the other.
#[derive(Debug)]
pub(crate) struct Reaper {
    /// When entries were last looked at in any case.
    pub(super) last: u64,
    /// The key of the entry after which stale ones are looked for.
    pub(super) checked: Vec<u8>,
    /// The pass over pairs that were in the store before the server was, until it is done.
    pub(super) pass: Option<Pass>,
    pub(super) entries: Pairs,
    pub(super) glimpse: Glimpse,
}

/// Where the pass is.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub(super) slot: usize,
    /// The key after which it goes on.
    pub(super) after: Vec<u8>,
}

impl Schedule {
    /// Whether a core is to take a step.
    #[inline]
    pub(crate) fn is_due(&self, deadlines: &Deadlines, now: u64) -> bool {
        now >= self.next.load(Ordering::Relaxed) || deadlines.debt() >= DEBT_MIN || Deadlines::has_found()
    }
}

impl Reaper {
    /// One for a store, whose pairs it passes over if there are any.
    pub(crate) fn new(deadlines: &Deadlines) -> Self {
        let has_pairs = deadlines.tables().iter().any(|table| table.pair_count() > 0);
        let pass = has_pairs.then(Pass::default);
        let (entries, glimpse) = (Pairs::default(), Glimpse::default());
        Self { last: 0, checked: Vec::new(), pass, entries, glimpse }
    }
}
