//! The roots of the tables.

use honeycomb_btree::Root;
use honeycomb_layout::TABLES_MAX;
use honeycomb_memory::Lid;
use honeycomb_memory::sync::{AtomicU64, Ordering};

/// The LID of each table's root; 0 for none. A root is loaded under the pin of the operation that reads it,
/// so it is not reclaimed meanwhile.
pub(crate) struct Roots(Box<[AtomicU64]>);

impl Roots {
    pub(crate) fn new() -> Self {
        Self((0..TABLES_MAX).map(|_| AtomicU64::new(0)).collect())
    }

    pub(crate) fn set(&self, table: u16, root: Option<Root>) {
        let lid = root.map_or(0, |root| root.lid().get());
        // Release: the root's node is mapped for who finds it here.
        self.0[usize::from(table)].store(lid, Ordering::Release);
    }

    #[inline]
    pub(crate) fn get(&self, table: u16) -> Option<Root> {
        Lid::new(self.0[usize::from(table)].load(Ordering::Acquire)).map(Root::at)
    }
}
