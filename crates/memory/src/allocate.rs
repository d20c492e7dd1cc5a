//! Allocation of nodes, values and LIDs, and the publication of nodes.

use std::ptr::NonNull;

use honeycomb_layout as layout;

use crate::address::Lid;
use crate::buffer::{LidReservation, NodeBuffer, ValueBuffer};
use crate::error::MemoryError;
use crate::ledger::Extent;
use crate::lock_word::LockAndSize;
use crate::memory::{Memory, UNIT, value_units};

impl Memory {
    /// Allocates the buffer of a node. Its header is zeroed.
    ///
    /// # Errors
    /// [`MemoryError::Exhausted`] if there is no room even after reclaiming.
    pub fn allocate_node(&self) -> Result<NodeBuffer<'_>, MemoryError> {
        let unit = self.allocate("node", self.node_bytes, || self.allocator.allocate_node())?;
        // SAFETY: the unit is the start of a whole buffer in the arena, and the allocator has given it to
        // this owner only.
        Ok(unsafe { NodeBuffer::new(self, unit, self.at(unit * UNIT)) })
    }

    /// Reserves a free LID.
    ///
    /// # Errors
    /// [`MemoryError::Exhausted`] if no LID is free even after reclaiming.
    pub fn reserve_lid(&self) -> Result<LidReservation<'_>, MemoryError> {
        let lid = self.allocate("LID", size_of::<u64>(), || self.page_table.reserve())?;
        Ok(LidReservation::new(self, lid))
    }

    /// Allocates a buffer and copies a value into it.
    ///
    /// # Errors
    /// [`MemoryError::ValueLength`] if the value is too long; [`MemoryError::Exhausted`] if there is no
    /// contiguous room even after reclaiming.
    pub fn allocate_value(&self, value: &[u8]) -> Result<ValueBuffer<'_>, MemoryError> {
        let (bytes, max) = (value.len(), layout::VALUE_BYTES_MAX);
        if bytes > max {
            return Err(MemoryError::ValueLength { bytes, max });
        }
        let units = value_units(bytes);
        let allocate = || {
            self.allocator.allocate_value(units).or_else(|| {
                self.allocator.flush_all();
                self.allocator.allocate_value(units)
            })
        };
        let start = self.allocate("value", bytes, allocate)?;
        // SAFETY: the units are in the arena and have room for `bytes`; the allocator has given them to this
        // owner only.
        unsafe { self.at(start * UNIT).copy_from_nonoverlapping(NonNull::from(value).cast(), bytes) };
        Ok(ValueBuffer::new(self, Extent { start, units }, bytes))
    }

    pub(crate) fn allocate<T>(
        &self,
        what: &'static str,
        wanted_bytes: usize,
        allocate: impl Fn() -> Option<T>,
    ) -> Result<T, MemoryError> {
        let retry = || {
            self.reclaim();
            allocate()
        };
        let allocated = if self.faults.hit() { None } else { allocate().or_else(retry) };
        allocated.ok_or_else(|| self.exhausted(what, wanted_bytes))
    }

    pub(crate) fn exhausted(&self, what: &'static str, wanted_bytes: usize) -> MemoryError {
        MemoryError::Exhausted { what, wanted_bytes, arena_bytes: self.arena.bytes() }
    }

    /// Publishes a node: maps the LID to this buffer.
    ///
    /// # Panics
    /// If the LID is not live, the buffer belongs to another memory, or its lock-and-size word is not that of
    /// an unlocked node of 64 to `node_bytes` bytes.
    pub fn map(&self, lid: Lid, buffer: NodeBuffer<'_>) {
        assert!(std::ptr::eq(buffer.memory(), self), "the buffer belongs to another memory");
        let word = u64::from_le_bytes(std::array::from_fn(|at| buffer[at]));
        let state = LockAndSize::from(word);
        let sizes = layout::node_header::SIZE..=self.size_max(state.log_count());
        assert!(!state.locked() && sizes.contains(&state.size()), "cannot publish a node with {state:?}");
        let address = buffer.into_live();
        // Devices receive the mapping before the page table has it: see `control`.
        self.controls.notify(|control| control.map(lid, address));
        self.page_table.store(lid, address);
    }
}
