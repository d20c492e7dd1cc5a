//! What devices read of the arena: bytes by bus address, as a bus gives them.
//!
//! 1. A device reads only while operations of it are in flight, and only what those can reach: so it is
//!    not reclaimed meanwhile.
//! 2. The words of a node's header are loaded as atomic words, in ascending order and each with acquire.
//! 3. Of the other bytes of a node those below the size that is published are copied: they do not change.
//!    Those past it are the lock holder's, and nobody else looks at them: in their place come bytes that
//!    tell nothing.
//! 4. The bytes of values do not change.
//!
//! A device loads the lock-and-size word, or the line it is in, before the other lines of a node, and
//! uses no byte past the size in it. It needs no other order, and a read of many words need not be of one
//! moment. For all that its read version counts was in memory before it took that version; what changes
//! meanwhile is newer: entries past the size that it has seen, tags of such entries, and siblings that
//! lead to leaves newer than its read version.

use std::ptr::NonNull;

use honeycomb_layout::node_header as header;

use crate::arena::MappedWord;
use crate::device::Device;
use crate::error::MemoryError;
use crate::lock_word::LockWord;
use crate::memory::{Memory, UNIT};
use crate::sync::Ordering;

/// Stands for each byte of a node past its size.
const NOTHING: u8 = 0xee;
const WORD: usize = size_of::<u64>();

impl Memory {
    /// Reads bytes at a bus address for a device.
    ///
    /// # Errors
    /// [`MemoryError::NoneInFlight`]; [`MemoryError::Unreadable`] if not all of it are bytes of nodes and
    /// values in use.
    ///
    /// # Panics
    /// If the device is not of this memory.
    pub fn read(&self, device: &Device, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        assert!(device.is_guarded_by(self.epochs()), "the device is not of this memory");
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

    /// Reads bytes between two multiples of the bytes of a node: of one node, or of values.
    fn read_in_slot(&self, slot: usize, offset: usize, into: &mut [u8]) -> Option<()> {
        let ledger = self.ledger();
        if !ledger.holds_node(slot / UNIT) {
            let units = offset / UNIT..(offset + into.len()).div_ceil(UNIT);
            return ledger.holds_parts_of_values(slot / UNIT, units).then(|| self.copy(offset, into));
        }
        let size = LockWord(self.word_at(slot)).load().size();
        let (in_header, rest) = split(into, (slot + header::SIZE).saturating_sub(offset));
        self.load_words(offset, in_header);
        let offset = offset + in_header.len();
        let (below_size, past) = split(rest, (slot + size).saturating_sub(offset));
        self.copy(offset, below_size);
        past.fill(NOTHING);
        Some(())
    }

    /// Bytes of a published header.
    fn load_words(&self, offset: usize, into: &mut [u8]) {
        for (at, byte) in (offset..).zip(into) {
            let word = self.word_at(at - at % WORD).load(Ordering::Acquire);
            *byte = word.to_le_bytes()[at % WORD];
        }
    }

    /// Bytes that do not change.
    fn copy(&self, offset: usize, into: &mut [u8]) {
        let to = NonNull::from(&mut *into).cast();
        // SAFETY: `read_at` has checked the range. What an operation in flight can reach is not
        // reclaimed, so these are bytes of a value, or of a node below a size that it has, and do not
        // change.
        unsafe { self.at(offset).copy_to_nonoverlapping(to, into.len()) };
    }

    /// A word of a published header.
    fn word_at(&self, offset: usize) -> &MappedWord {
        // SAFETY: the ledger says that a published node is there, whose header is initialised and is
        // accessed as atomic words only.
        unsafe { self.at(offset).cast::<MappedWord>().as_ref() }
    }
}

/// The first bytes of some, as many as there are, and the others.
fn split(bytes: &mut [u8], count: usize) -> (&mut [u8], &mut [u8]) {
    bytes.split_at_mut(count.min(bytes.len()))
}
