//! The set of the live pages of unordered tables. The rules of access are those of `table_page`.

use honeycomb_layout as layout;

use crate::arena::{MappedSlice, MappedWord, MappingHints};
use crate::error::MemoryError;
use crate::sync::Ordering;

/// Bytes of a page.
pub const PAGE_BYTES: usize = layout::TABLE_PAGE_BYTES;
/// Addresses of slabs have 31 bits, in units of 32 bytes.
pub(crate) const PAGES_MAX: usize =
    (layout::SLAB_UNIT_BYTES << layout::bucket_slot::ADDRESS_BITS) / PAGE_BYTES;

/// The set of live pages of an arena.
#[derive(Debug)]
pub(crate) struct TablePages {
    bits: MappedSlice<MappedWord>,
}

impl TablePages {
    pub(crate) fn new(arena_bytes: usize) -> Result<Self, MemoryError> {
        let pages = (arena_bytes / PAGE_BYTES).clamp(1, PAGES_MAX);
        Ok(Self { bits: MappedSlice::new(pages.div_ceil(u64::BITS as usize), MappingHints::default())? })
    }

    /// Whether a page is live. False for a page outside the arena.
    #[inline]
    pub(crate) fn contains(&self, page: usize) -> bool {
        let word = self.bits.get(page / u64::BITS as usize);
        // Acquire: the counterpart of the release in `insert`.
        word.is_some_and(|word| word.load(Ordering::Acquire) >> (page % u64::BITS as usize) & 1 == 1)
    }

    pub(crate) fn insert(&self, page: usize) {
        self.bits[page / u64::BITS as usize].fetch_or(1 << (page % u64::BITS as usize), Ordering::Release);
    }

    /// Removes a page. Returns whether it was a member. The caller has a full fence between this call and its
    /// next stamp.
    pub(crate) fn remove(&self, page: usize) -> bool {
        let bit = 1 << (page % u64::BITS as usize);
        let Some(word) = self.bits.get(page / u64::BITS as usize) else { return false };
        word.fetch_and(!bit, Ordering::Relaxed) & bit != 0
    }

    pub(crate) fn overhead_bytes(&self) -> usize {
        self.bits.bytes()
    }
}
