//! The roots of the tables.

use honeycomb_btree::Root;
use honeycomb_layout::TABLES_MAX;
use honeycomb_memory::Lid;
use honeycomb_memory::sync::{AtomicU64, Ordering};

/// The LID of the root of each table; 0 if the table does not exist. An operation loads a root under its own
/// pin, so the root is not reclaimed while the operation reads it.
pub(crate) struct Roots(Box<[AtomicU64]>);

impl Roots {
    pub(crate) fn new() -> Self {
        Self((0..TABLES_MAX).map(|_| AtomicU64::new(0)).collect())
    }

    pub(crate) fn set(&self, table: u16, root: Option<Root>) {
        let lid = root.map_or(0, |root| root.lid().get());
        // Release, with the acquire in `get`: a reader that loads the LID sees the mapping of the root.
        self.0[usize::from(table)].store(lid, Ordering::Release);
    }

    #[inline]
    pub(crate) fn get(&self, table: u16) -> Option<Root> {
        Lid::new(self.0[usize::from(table)].load(Ordering::Acquire)).map(Root::at)
    }
}
