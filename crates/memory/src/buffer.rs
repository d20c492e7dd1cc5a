//! Allocations before their publication. Only the owner can access them, and dropping them frees them.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::{mem, slice};

use honeycomb_layout::node_header;

use crate::address::{BusAddress, Lid};
use crate::ledger::{Extent, Kind};
use crate::memory::Memory;
use crate::page_table::State;

/// The buffer of a node during its construction. Its header is zeroed at first; the other bytes have
/// arbitrary contents.
#[derive(Debug)]
pub struct NodeBuffer<'m> {
    memory: &'m Memory,
    unit: usize,
    /// The first of `node_bytes` initialised bytes of the arena that only this owner can access.
    start: NonNull<u8>,
}

// SAFETY: only the owner accesses the bytes, on any thread.
unsafe impl Send for NodeBuffer<'_> {}
// SAFETY: `&NodeBuffer` gives read access to plain bytes only.
unsafe impl Sync for NodeBuffer<'_> {}

impl<'m> NodeBuffer<'m> {
    /// # Safety
    /// A buffer of `node_bytes` bytes and kind `PrivateNode` begins at `unit` and at `start`, and only the
    /// caller owns it.
    pub(crate) unsafe fn new(memory: &'m Memory, unit: usize, start: NonNull<u8>) -> Self {
        let mut buffer = Self { memory, unit, start };
        buffer[..node_header::SIZE].fill(0);
        buffer
    }

    /// The bus address of the node.
    #[must_use]
    pub fn address(&self) -> BusAddress {
        BusAddress::of_unit(self.unit)
    }

    pub(crate) fn memory(&self) -> &'m Memory {
        self.memory
    }

    /// Turns the buffer into that of a published node.
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
        // SAFETY: the invariant of `start`.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.memory.node_bytes()) }
    }
}

impl DerefMut for NodeBuffer<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the invariant of `start`, and the owner is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.memory.node_bytes()) }
    }
}

impl Drop for NodeBuffer<'_> {
    fn drop(&mut self) {
        self.memory.free_node(self.unit, Kind::PrivateNode);
    }
}

/// The buffer of a value that no node refers to yet.
#[derive(Debug)]
pub struct ValueBuffer<'m> {
    memory: &'m Memory,
    extent: Extent,
    bytes: usize,
}

impl<'m> ValueBuffer<'m> {
    /// `extent` is of kind `PrivateValue`, and only the caller owns it.
    pub(crate) fn new(memory: &'m Memory, extent: Extent, bytes: usize) -> Self {
        Self { memory, extent, bytes }
    }

    /// The bus address of the value.
    #[must_use]
    pub fn address(&self) -> BusAddress {
        BusAddress::of_unit(self.extent.start)
    }

    /// Length of the value in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "the length of the value, not of a collection")]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Makes the buffer live: it remains until it is retired.
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

/// A reserved LID that is not mapped yet.
#[derive(Debug)]
pub struct LidReservation<'m> {
    memory: &'m Memory,
    lid: Lid,
}

impl<'m> LidReservation<'m> {
    /// The caller has reserved `lid`.
    pub(crate) fn new(memory: &'m Memory, lid: Lid) -> Self {
        Self { memory, lid }
    }

    /// The reserved LID.
    #[must_use]
    pub fn lid(&self) -> Lid {
        self.lid
    }

    /// Makes the LID live: it remains until it is retired.
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
