//! A cache line of a page, such as the bucket of an unordered table: words that many threads load and store.

use crate::accesses::{AccessKind, count};
use crate::arena::MappedWord;
use crate::equal_bytes::equal_bytes;
use crate::node::LINE_BYTES;
use crate::prefetch::prefetch_line;
use crate::sync::Ordering;
use crate::unaligned;

const WORD: usize = size_of::<u64>();
/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = LINE_BYTES / WORD;
/// The last offset of eight bytes.
const LAST: usize = LINE_BYTES - WORD;

/// The offset of eight bytes in a line: at most 56.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineOffset(u8);

impl LineOffset {
    /// The last offset.
    pub const LAST: Self = Self(LAST as u8);

    /// The offset, or the last one if it is greater.
    #[must_use]
    #[inline(always)]
    pub const fn new(offset: usize) -> Self {
        if offset < LAST { Self(offset as u8) } else { Self::LAST }
    }

    /// The offset as a number.
    #[must_use]
    #[inline(always)]
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// The eight atomic words of a cache line of a page.
#[derive(Debug, Clone, Copy)]
pub struct LineWords<'p>(pub(crate) &'p [MappedWord; LINE_WORDS]);

impl LineWords<'_> {
    /// Loads the word at an index modulo 8, relaxed.
    #[must_use]
    #[inline(always)]
    pub fn load(&self, index: usize) -> u64 {
        count(AccessKind::Load, self.0.as_ptr());
        self.0[index % LINE_WORDS].load(Ordering::Relaxed)
    }

    /// Loads the eight bytes at an offset, relaxed, little-endian.
    #[must_use]
    #[inline(always)]
    pub fn load_at(&self, offset: LineOffset) -> u64 {
        count(AccessKind::Load, self.0.as_ptr());
        // SAFETY: the eight bytes are in the line, which is part of a live page.
        unsafe { unaligned::load(self.0, offset.get()) }
    }

    /// Returns a bit for each byte, the first one lowest, which is set if the byte equals `byte`.
    #[must_use]
    #[inline(always)]
    pub fn equal_bytes(&self, byte: u8) -> u64 {
        count(AccessKind::Load, self.0.as_ptr());
        equal_bytes(self.0, byte)
    }

    /// Stores eight bytes at an offset, relaxed, little-endian.
    #[inline(always)]
    pub fn store_at(&self, offset: LineOffset, value: u64) {
        count(AccessKind::Store, self.0.as_ptr());
        // SAFETY: as above.
        unsafe { unaligned::store(self.0, offset.get(), value) };
    }

    /// Prefetches the line.
    #[inline(always)]
    pub fn prefetch(&self) {
        count(AccessKind::Prefetch, self.0.as_ptr());
        prefetch_line(self.0.as_ptr().cast());
    }
}
