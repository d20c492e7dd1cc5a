//! What an allocation is before it is published: its owner's alone, and given back on drop.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::{mem, slice};

use honeycomb_layout::node_header;

use crate::address::{BusAddress, Lid};
use crate::ledger::{Extent, Kind};
use crate::memory::Memory;
use crate::page_table::State;

/// The buffer of a node that is being built: all its bytes, the header zeroed, the rest whatever was there.
#[derive(Debug)]
pub struct NodeBuffer<'m> {
    memory: &'m Memory,
    unit: usize,
    /// The first of `node_bytes` initialised bytes of the arena that only this owner can reach.
    start: NonNull<u8>,
}

// SAFETY: the bytes are the owner's alone, on whatever thread it is.
unsafe impl Send for NodeBuffer<'_> {}
// SAFETY: `&NodeBuffer` gives read access to plain bytes only.
unsafe impl Sync for NodeBuffer<'_> {}

impl<'m> NodeBuffer<'m> {
    /// # Safety
    /// `unit` begins a buffer of `node_bytes` at `start` that is of kind `PrivateNode` and the caller's
    /// alone.
    pub(crate) unsafe fn new(memory: &'m Memory, unit: usize, start: NonNull<u8>) -> Self {
        let mut buffer = Self { memory, unit, start };
        buffer[..node_header::SIZE].fill(0);
        buffer
    }

    /// Where the node will be.
    #[must_use]
    pub fn address(&self) -> BusAddress {
        BusAddress::of_unit(self.unit)
    }

    pub(crate) fn memory(&self) -> &'m Memory {
        self.memory
    }

    /// The buffer becomes a published node's.
    pub(crate) fn into_live(self) -> BusAddress {
        let address = self.address();
        self.memory.change_node(self.unit, Kind::PrivateNode, Kind::LiveNode);
        mem::forget(self);
        address
    }
}

impl Deref for NodeBuffer<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` says it.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.memory.node_bytes()) }
    }
}

impl DerefMut for NodeBuffer<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: `start` says it, and the owner is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.memory.node_bytes()) }
    }
}

impl Drop for NodeBuffer<'_> {
    fn drop(&mut self) {
        self.memory.free_node(self.unit, Kind::PrivateNode);
    }
}

/// The buffer of a value that nothing names yet.
#[derive(Debug)]
pub struct ValueBuffer<'m> {
    memory: &'m Memory,
    extent: Extent,
    bytes: usize,
}

impl<'m> ValueBuffer<'m> {
    /// `extent` is of kind `PrivateValue` and the caller's alone.
    pub(crate) fn new(memory: &'m Memory, extent: Extent, bytes: usize) -> Self {
        Self { memory, extent, bytes }
    }

    /// Where the value is.
    #[must_use]
    pub fn address(&self) -> BusAddress {
        BusAddress::of_unit(self.extent.start)
    }

    /// Bytes of the value.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "the length of the value, not of a collection")]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Keeps the buffer until it is retired.
    pub fn keep(self) -> BusAddress {
        let address = self.address();
        self.memory.keep_value(self.extent);
        mem::forget(self);
        address
    }
}

impl Drop for ValueBuffer<'_> {
    fn drop(&mut self) {
        self.memory.free_value(self.extent, Kind::PrivateValue);
    }
}

/// A LID that nothing names yet.
#[derive(Debug)]
pub struct LidReservation<'m> {
    memory: &'m Memory,
    lid: Lid,
}

impl<'m> LidReservation<'m> {
    /// `lid` is reserved by the caller.
    pub(crate) fn new(memory: &'m Memory, lid: Lid) -> Self {
        Self { memory, lid }
    }

    /// The LID.
    #[must_use]
    pub fn lid(&self) -> Lid {
        self.lid
    }

    /// Keeps the LID until it is retired.
    pub fn keep(self) -> Lid {
        let lid = self.lid;
        self.memory.page_table().change(lid, State::Reserved, State::Live);
        mem::forget(self);
        lid
    }
}

impl Drop for LidReservation<'_> {
    fn drop(&mut self) {
        self.memory.page_table().free(self.lid, State::Reserved);
    }
}
