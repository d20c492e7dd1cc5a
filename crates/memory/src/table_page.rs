//! Pages of unordered tables: memory that many threads read and write as atomic words.
//!
//! Nodes and values are published once. The buckets and slabs of a table change all the time, and readers
//! do not lock them. So every access to the bytes of a page is an access to an atomic word, and a reader
//! that has loaded words of two moments is not undefined behaviour: the table detects it with a
//! [`SequenceLock`](crate::SequenceLock).
//!
//! 1. A page is a buffer of the arena of 64 KiB at a multiple of 64 KiB. While it is live, the bit of the
//!    page is set in `bits`. Only [`Memory::allocate_table_page`] sets the bit, when no other thread can
//!    access the page, with release: the zeros of the page come first.
//! 2. Any thread with a pin may load and store the words of a page whose bit it has found set, with
//!    acquire, until the pin ends.
//! 3. The thread that retires a page clears the bit before the page receives its stamp. So the stamp
//!    contains every pin under which a thread has found the bit set (see `epochs`), and the memory of the
//!    page is reused only after these pins have ended.
//!
//! These rules hold for any address that a thread has loaded, even an invalid one. So the functions of this
//! module are safe without any rule for the caller.

use std::ptr::NonNull;
use std::slice;

use honeycomb_layout as layout;

use crate::accesses::{AccessKind, count};
use crate::address::BusAddress;
use crate::arena::MappedWord;
use crate::epochs::Pin;
use crate::error::MemoryError;
use crate::ledger::{Extent, Kind, PAGE_UNITS};
use crate::line_words::LineWords;
use crate::memory::{Memory, UNIT};
use crate::node::LINE_BYTES;
use crate::page_set::{LivePages, PAGE_BYTES, PAGES_MAX};
use crate::prefetch::prefetch_line;
use crate::sync::Ordering;
use crate::unaligned;

const WORD: usize = size_of::<u64>();

/// Atomic words of a page.
#[derive(Debug, Clone, Copy)]
pub struct PageWords<'p>(&'p [MappedWord]);

impl PageWords<'_> {
    /// Number of words.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "the number of words is never 0")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Loads the word at an index, relaxed.
    ///
    /// # Panics
    /// If the index is out of range.
    #[must_use]
    #[inline]
    pub fn load(&self, index: usize) -> u64 {
        count(AccessKind::Load, self.0.as_ptr());
        self.0[index].load(Ordering::Relaxed)
    }

    /// Loads the eight bytes at an offset, relaxed, little-endian, with zeros after the end.
    #[must_use]
    #[inline(always)]
    pub fn load_at(&self, offset: usize) -> u64 {
        count(AccessKind::Load, self.0.as_ptr());
        self.eight_at(offset)
    }

    /// As [`load_at`](Self::load_at), also for a store, which is not counted as a load.
    #[inline(always)]
    fn eight_at(&self, offset: usize) -> u64 {
        let last = self.0.len() * WORD - WORD;
        // SAFETY: the eight bytes are in the page, which is live. There is at least one word.
        let bytes = unsafe { unaligned::load(self.0, offset.min(last)) };
        let missing = offset.saturating_sub(last);
        if missing < WORD { bytes >> (8 * missing) } else { 0 }
    }

    /// Loads the first bytes, as many as the slice has, relaxed word by word, little-endian. The slice is
    /// filled to a multiple of eight bytes.
    ///
    /// # Panics
    /// If there are fewer bytes, or the length of the slice is not a multiple of 8.
    #[inline]
    pub fn load_bytes(&self, into: &mut [u8]) {
        assert!(into.len().is_multiple_of(WORD), "{} bytes are not whole words", into.len());
        count(AccessKind::Load, self.0.as_ptr());
        let words = &self.0[..into.len() / WORD];
        for (word, bytes) in words.iter().zip(into.chunks_exact_mut(WORD)) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
    }

    /// Appends bytes from an offset on to `out`, relaxed, eight at a time.
    ///
    /// # Panics
    /// If the words end before them.
    #[inline(always)]
    pub fn append_to(&self, out: &mut Vec<u8>, offset: usize, length: usize) {
        let end = offset.checked_add(length).filter(|end| *end <= self.0.len() * WORD);
        assert!(end.is_some(), "{length} bytes at {offset} end after {} words", self.0.len());
        count(AccessKind::Load, self.0.as_ptr());
        if length < WORD {
            let end = out.len() + length;
            out.extend_from_slice(&self.load_at(offset).to_le_bytes());
            return out.truncate(end);
        }
        out.reserve(length);
        let room = out.spare_capacity_mut().as_mut_ptr();
        // SAFETY: the eight bytes are among the words, and there is room for them.
        let copy = |at: usize| unsafe {
            room.add(at).cast::<[u8; WORD]>().write(unaligned::load(self.0, offset + at).to_le_bytes());
        };
        let last = length - WORD;
        let mut at = 0;
        while at < last {
            copy(at);
            at += WORD;
        }
        // The last eight bytes may overlap the ones before them.
        copy(last);
        // SAFETY: there is room for these bytes, and all are initialised.
        unsafe { out.set_len(out.len() + length) };
    }

    /// Stores words at the beginning, relaxed.
    ///
    /// # Panics
    /// If there are fewer words.
    #[inline]
    pub fn store(&self, words: &[u64]) {
        count(AccessKind::Store, self.0.as_ptr());
        for (word, value) in self.0[..words.len()].iter().zip(words) {
            word.store(*value, Ordering::Relaxed);
        }
    }

    /// Stores bytes from an offset on, relaxed, eight at a time. The caller excludes other threads that store
    /// the eight bytes around fewer than eight.
    ///
    /// # Panics
    /// If the words end before them.
    #[inline]
    pub fn store_bytes(&self, offset: usize, bytes: &[u8]) {
        let end = offset.checked_add(bytes.len()).filter(|end| *end <= self.0.len() * WORD);
        assert!(end.is_some(), "{} bytes at {offset} end after {} words", bytes.len(), self.0.len());
        count(AccessKind::Store, self.0.as_ptr());
        let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
            return self.store_few(offset, bytes);
        };
        // SAFETY: the eight bytes are among those of the slice, for which the words have room.
        let store = |at: usize, eight: &[u8; WORD]| unsafe {
            unaligned::store(self.0, offset + at, u64::from_le_bytes(*eight));
        };
        store(0, first);
        if bytes.len() > 2 * WORD {
            for (at, eight) in bytes.as_chunks().0.iter().enumerate().skip(1) {
                store(at * WORD, eight);
            }
        }
        // The last eight bytes may overlap the ones before them.
        store(bytes.len() - WORD, last);
    }

    /// Stores up to seven bytes, for which the words have room.
    fn store_few(&self, offset: usize, bytes: &[u8]) {
        let at = offset.min(self.0.len() * WORD - WORD);
        let mut eight = self.eight_at(at).to_le_bytes();
        eight[offset - at..][..bytes.len()].copy_from_slice(bytes);
        // SAFETY: the eight bytes are among the words.
        unsafe { unaligned::store(self.0, at, u64::from_le_bytes(eight)) };
    }
}

/// The offset in the arena of a slab. Addresses have 31 bits: the highest bit is ignored.
#[inline(always)]
fn offset_of(slab: u32) -> usize {
    (slab as usize & layout::bucket_slot::ADDRESS_MASK as usize) * layout::SLAB_UNIT_BYTES
}

/// The pages of a memory under a pin.
#[derive(Debug, Clone, Copy)]
pub struct Pages<'p> {
    arena: NonNull<u8>,
    live: LivePages<'p>,
}

impl<'p> Pages<'p> {
    /// Returns words of a page, from the slab with this address on, in units of 32 bytes. `None` if the words
    /// are not part of one live page, so that the address was invalid or torn.
    ///
    /// # Panics
    /// If `bytes` is 0 or not a multiple of 8.
    #[must_use]
    #[inline]
    pub fn words(&self, slab: u32, bytes: usize) -> Option<PageWords<'p>> {
        assert!(bytes > 0 && bytes.is_multiple_of(WORD), "{bytes} bytes are not whole words");
        let offset = offset_of(slab);
        if offset % PAGE_BYTES + bytes > PAGE_BYTES || !self.live.contains(offset / PAGE_BYTES) {
            return None;
        }
        // SAFETY: the words are in a live page, which is in the arena, aligned and initialised. All accesses
        // to it are atomic, and it is not reclaimed before the pin ends, by the rules above.
        Some(PageWords(unsafe {
            let start: NonNull<MappedWord> = self.arena.add(offset).cast();
            slice::from_raw_parts(start.as_ptr(), bytes / WORD)
        }))
    }

    /// Returns the line of a page that contains the slab with this address. `None` if the page is not live,
    /// so that the address was invalid or torn.
    #[must_use]
    #[inline(always)]
    pub fn line(&self, slab: u32) -> Option<LineWords<'p>> {
        let offset = offset_of(slab) / LINE_BYTES * LINE_BYTES;
        if !self.live.contains(offset / PAGE_BYTES) {
            return None;
        }
        // SAFETY: as above. A page has whole lines.
        Some(LineWords(unsafe { self.arena.add(offset).cast().as_ref() }))
    }
}

impl Memory {
    /// Allocates a page of zeros. It is live until it is retired as [`Retired::TablePage`](crate::Retired).
    ///
    /// # Errors
    /// [`MemoryError::Exhausted`] if there is no contiguous room even after reclaiming.
    pub fn allocate_table_page(&self) -> Result<BusAddress, MemoryError> {
        let allocate = || {
            self.allocator.allocate_table_page().or_else(|| {
                self.allocator.flush_all();
                self.allocator.allocate_table_page()
            })
        };
        let unit = self.allocate("table page", PAGE_BYTES, allocate)?;
        let page = unit / PAGE_UNITS;
        if page >= PAGES_MAX {
            self.allocator.free_value(Extent { start: unit, units: PAGE_UNITS }, Kind::LiveTablePage);
            return Err(self.exhausted("table page", PAGE_BYTES));
        }
        // SAFETY: the page is in the arena, and the allocator has given it to this thread only: its bit is
        // clear, and all pins that have found it set have ended.
        unsafe { self.at(unit * UNIT).write_bytes(0, PAGE_BYTES) };
        self.table_pages.insert(page);
        Ok(BusAddress::of_unit(unit))
    }

    /// Counts an allocation within the pages of a table, so that tests can make it fail.
    ///
    /// # Errors
    /// [`MemoryError::Exhausted`] if [`Faults`](crate::Faults) say so.
    pub fn count_slab_allocation(&self, wanted_bytes: usize) -> Result<(), MemoryError> {
        if self.faults.hit() { Err(self.exhausted("slab", wanted_bytes)) } else { Ok(()) }
    }

    /// Returns access to the pages of tables until the pin ends.
    ///
    /// # Panics
    /// If the pin belongs to another memory.
    #[must_use]
    #[inline]
    pub fn pages<'p>(&'p self, pin: &'p Pin<'_>) -> Pages<'p> {
        assert!(pin.guards(self.epochs()), "the pin belongs to another memory");
        Pages { arena: self.arena.start(), live: self.table_pages.live() }
    }

    /// Prefetches the cache line of a slab, which may have any address.
    #[inline]
    pub fn prefetch_slab(&self, slab: u32) {
        let words = self.arena.start().as_ptr().wrapping_add(slab as usize * layout::SLAB_UNIT_BYTES);
        count(AccessKind::Prefetch, words);
        prefetch_line(words);
    }

    /// Clears the bit of a page that is retired.
    ///
    /// # Panics
    /// If the page is not live.
    pub(crate) fn close_table_page(&self, address: BusAddress) -> Extent {
        let start = address.unit();
        assert!(self.table_pages.remove(start / PAGE_UNITS), "no table page at {address:?}");
        Extent { start, units: PAGE_UNITS }
    }

    pub(crate) fn free_table_page(&self, address: BusAddress) {
        let extent = Extent { start: address.unit(), units: PAGE_UNITS };
        self.allocator.free_value(extent, Kind::RetiredTablePage);
    }
}

const _: () = assert!(PAGE_BYTES.is_multiple_of(layout::NODE_BYTES_MAX), "a page has whole slots of nodes");
