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

/// Words of the set: a bit for each address, so that a look at it needs no comparison with its size.
const WORDS: usize = PAGES_MAX / u64::BITS as usize;

/// The set of live pages of an arena.
#[derive(Debug)]
pub(crate) struct TablePages {
    bits: MappedSlice<MappedWord>,
    /// Words of the pages of the arena. The system commits no memory for the others.
    words: usize,
}

/// The set of live pages of an arena, for looks at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LivePages<'s>(&'s [MappedWord; WORDS]);

impl LivePages<'_> {
    /// Whether the page with a number modulo the greatest one is live.
    #[inline(always)]
    pub(crate) fn contains(&self, page: usize) -> bool {
        let word = &self.0[page / u64::BITS as usize % WORDS];
        // Acquire: the counterpart of the release in `insert`.
        word.load(Ordering::Acquire) >> (page % u64::BITS as usize) & 1 == 1
    }
}

impl TablePages {
    pub(crate) fn new(arena_bytes: usize) -> Result<Self, MemoryError> {
        let pages = (arena_bytes / PAGE_BYTES).clamp(1, PAGES_MAX);
        let bits = MappedSlice::new(WORDS, MappingHints::default())?;
        Ok(Self { bits, words: pages.div_ceil(u64::BITS as usize) })
    }

    #[inline]
    pub(crate) fn live(&self) -> LivePages<'_> {
        LivePages(self.bits.first_chunk().expect("the set has all its words"))
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
        self.words * size_of::<MappedWord>()
    }
}
