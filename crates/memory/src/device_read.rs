//! Reads of the arena by devices: bytes at a bus address, as over a bus.
//!
//! 1. A device reads only while it has operations in flight, and only memory that these can reach. So the
//!    memory is not reclaimed during the read.
//! 2. The words of a header, and the published log words, are loaded as atomic words, in ascending order and
//!    each with acquire.
//! 3. The other bytes of a node below the published size are copied: they do not change. Only the lock holder
//!    accesses the bytes between that size and the published log words, so the device receives a filler
//!    instead.
//! 4. The bytes of values do not change.
//! 5. A device reads no page of an unordered table, live or retired.
//!
//! A device loads the lock-and-size word, or the line that contains it, before the other lines of a node, and
//! uses no byte past the size in it except the log words of the entries that it counts. It needs no other
//! order, and the bytes of a read need not be from one moment: everything that its read version includes was
//! in memory before the device chose that version. Later changes are newer than the read version: entries
//! past the size that the device has loaded, the fingerprints of such entries, and siblings that lead to
//! newer leaves.

use std::ptr::NonNull;

use honeycomb_layout::node_header as header;

use crate::arena::MappedWord;
use crate::device::Device;
use crate::error::MemoryError;
use crate::lock_word::LockWord;
use crate::memory::{Memory, UNIT};
use crate::sync::Ordering;

/// The filler for each byte of a node past its size.
const FILLER: u8 = 0xee;
const WORD: usize = size_of::<u64>();

impl Memory {
    /// Reads bytes at a bus address for a device.
    ///
    /// # Errors
    /// [`MemoryError::NoneInFlight`]; [`MemoryError::Unreadable`] if some of the bytes are not part of nodes
    /// or values in use.
    ///
    /// # Panics
    /// If the device belongs to another memory.
    pub fn read(&self, device: &Device, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        assert!(device.is_guarded_by(self.epochs()), "the device belongs to another memory");
        if !device.is_in_flight() {
            return Err(MemoryError::NoneInFlight);
        }
        let bytes = into.len();
        let read = usize::try_from(address).ok().and_then(|offset| self.read_at(offset, into));
        read.ok_or(MemoryError::Unreadable { address, bytes })
    }

    fn read_at(&self, mut offset: usize, mut into: &mut [u8]) -> Option<()> {
        let end = offset.checked_add(into.len())?;
        if end > self.arena_bytes() {
            return None;
        }
        while offset < end {
            let slot = offset - offset % self.node_bytes();
            let (part, rest) = into.split_at_mut((slot + self.node_bytes()).min(end) - offset);
            self.read_in_slot(slot, offset, part)?;
            offset += part.len();
            into = rest;
        }
        Some(())
    }

    /// Reads bytes between two consecutive multiples of the node size: bytes of one node, or of values.
    fn read_in_slot(&self, slot: usize, offset: usize, into: &mut [u8]) -> Option<()> {
        let ledger = self.ledger();
        if ledger.is_in_table_page(slot / UNIT) {
            return None;
        }
        if !ledger.is_node(slot / UNIT) {
            let units = offset / UNIT..(offset + into.len()).div_ceil(UNIT);
            return ledger.are_parts_of_values(slot / UNIT, units).then(|| self.copy(offset, into));
        }
        let state = LockWord(self.word_at(slot)).load();
        let words_start = slot + self.size_max(state.log_count());
        let (in_header, rest) = split(into, (slot + header::SIZE).saturating_sub(offset));
        self.load_words(offset, in_header);
        let offset = offset + in_header.len();
        let (below_size, past) = split(rest, (slot + state.size()).saturating_sub(offset));
        self.copy(offset, below_size);
        let offset = offset + below_size.len();
        let (free, words) = split(past, words_start.saturating_sub(offset));
        free.fill(FILLER);
        self.load_words(offset + free.len(), words);
        Some(())
    }

    /// Loads bytes of a published header or of published log words, each word only once: a word that is
    /// loaded twice can change between the two loads.
    fn load_words(&self, mut offset: usize, mut into: &mut [u8]) {
        while !into.is_empty() {
            let from = offset % WORD;
            let word = self.word_at(offset - from).load(Ordering::Acquire).to_le_bytes();
            let (part, rest) = split(into, WORD - from);
            part.copy_from_slice(&word[from..from + part.len()]);
            offset += part.len();
            into = rest;
        }
    }

    /// Copies bytes that do not change.
    fn copy(&self, offset: usize, into: &mut [u8]) {
        let to = NonNull::from(&mut *into).cast();
        // SAFETY: `read_at` has checked the range. Memory that an operation in flight can reach is not
        // reclaimed, so these are bytes of a value, or bytes of a node below its published size, and do not
        // change.
        unsafe { self.at(offset).copy_to_nonoverlapping(to, into.len()) };
    }

    /// The word of a published header, or a published log word, at an offset.
    fn word_at(&self, offset: usize) -> &MappedWord {
        // SAFETY: according to the ledger, the word is part of a published node, whose header and published
        // log words are initialised and are accessed as atomic words only.
        unsafe { self.at(offset).cast::<MappedWord>().as_ref() }
    }
}

/// Splits off the first `count` bytes, or all bytes if there are fewer.
fn split(bytes: &mut [u8], count: usize) -> (&mut [u8], &mut [u8]) {
    bytes.split_at_mut(count.min(bytes.len()))
}
