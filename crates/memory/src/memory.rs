//! The memory of a store: allocation, mapping, retiring, reclaiming.
//!
//! The states of a buffer, and the threads that may access its bytes:
//! 1. Free: none.
//! 2. Private, from allocation to publication: only its owner, as plain bytes.
//! 3. Live, from `map` or `keep` on: all threads, by the protocol of nodes; the bytes of values do not
//!    change.
//! 4. Retired: only the operations that were in flight when its batch was closed, as before.
//! 5. Free again, once all these operations have ended.
//!
//! The caller is responsible for the step from 3 to 4: later operations must not be able to reach a retired
//! buffer.

use std::ptr::NonNull;
use std::slice;

use honeycomb_layout as layout;

use crate::accounting::Accounting;
use crate::address::{BusAddress, Lid};
use crate::allocator::Allocator;
use crate::arena::{Mapping, MappingHints};
use crate::config::MemoryConfig;
use crate::control::{Control, Controls};
use crate::device::Device;
use crate::epochs::{Epochs, Pin};
use crate::error::MemoryError;
use crate::faults::Faults;
use crate::lease::Lease;
use crate::ledger::{Extent, Kind, Ledger};
use crate::node::Node;
use crate::page_set::{PAGE_BYTES, TablePages};
use crate::page_table::{PageTable, State};
use crate::retire::{RetireLists, Retired};
use crate::sync::{Arc, AtomicU64, Ordering, Padded, thread_number};

/// Arena, page table, allocator and epochs. Dropping it returns all memory to the system.
// Fields that change often are padded, here and in the parts: readers use the other fields all the time.
#[derive(Debug)]
pub struct Memory {
    pub(crate) arena: Mapping,
    pub(crate) page_table: PageTable,
    pub(crate) controls: Controls,
    epochs: Arc<Epochs>,
    pub(crate) node_bytes: usize,
    pub(crate) allocator: Allocator,
    retire_lists: RetireLists,
    retired_bytes: Padded<AtomicU64>,
    pub(crate) faults: Faults,
    pub(crate) table_pages: TablePages,
}

pub(crate) const UNIT: usize = layout::ALLOCATION_UNIT_BYTES;

/// Number of LIDs in addition to the number of nodes, for reserved and retired LIDs: nodes are exhausted
/// first.
fn spare_lids(nodes: usize) -> usize {
    nodes / 8 + 1024
}

/// Number of stripes of free lists, retire lists and counters: one per core, at most 64.
fn stripes() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().next_power_of_two().min(64))
}

impl Memory {
    /// Reserves the arena.
    ///
    /// # Errors
    /// [`MemoryError::InvalidConfig`] names the invalid parameter; [`MemoryError::Reserve`] if the system
    /// cannot reserve the address space.
    pub fn new(config: MemoryConfig) -> Result<Self, MemoryError> {
        config.check()?;
        let nodes = config.arena_bytes / config.node_bytes;
        let arena_bytes = nodes * config.node_bytes;
        let stripes = stripes();
        let hints = MappingHints { huge_pages: config.huge_pages, interleave: config.interleave };
        let pins = config.participants.next_power_of_two();
        Ok(Self {
            arena: Mapping::new(arena_bytes, hints)?,
            page_table: PageTable::new(nodes + spare_lids(nodes), hints)?,
            controls: Controls::new(config.devices),
            epochs: Arc::new(Epochs::new(pins, config.leases, config.devices)),
            node_bytes: config.node_bytes,
            allocator: Allocator::new(arena_bytes / UNIT, config.node_bytes / UNIT, stripes)?,
            retire_lists: RetireLists::new(stripes),
            retired_bytes: Padded(AtomicU64::new(0)),
            faults: config.faults,
            table_pages: TablePages::new(arena_bytes)?,
        })
    }

    /// Size of the buffer of a node in bytes.
    #[must_use]
    #[inline]
    pub fn node_bytes(&self) -> usize {
        self.node_bytes
    }

    /// The greatest size of a node with this number of log entries.
    #[inline]
    pub(crate) fn size_max(&self, log_count: usize) -> usize {
        self.node_bytes.saturating_sub(log_count * size_of::<u64>())
    }

    /// Begins an operation. Memory that it can reach is not reclaimed before the pin is dropped. Waits while
    /// the maximum number of operations ([`MemoryConfig::participants`]) is in flight. So threads that hold
    /// pins and wait for further ones can deadlock; the parts of an operation share a pin
    /// ([`AnyPin`](crate::AnyPin)).
    #[inline]
    pub fn pin(&self) -> Pin<'_> {
        self.epochs.pin(thread_number())
    }

    /// Creates a lease: a long-lived pin that can be revoked.
    ///
    /// # Errors
    /// [`MemoryError::TooManyLeases`].
    pub fn lease(&self) -> Result<Lease, MemoryError> {
        Lease::new(Arc::clone(&self.epochs))
    }

    /// Adds a device to the participants.
    ///
    /// # Errors
    /// [`MemoryError::TooManyDevices`].
    pub fn device(&self) -> Result<Device, MemoryError> {
        Device::new(Arc::clone(&self.epochs))
    }

    /// Registers a device for the notifications of all mappings and versions.
    ///
    /// # Errors
    /// [`MemoryError::RegisteredTooLate`] if a LID is already mapped; [`MemoryError::TooManyDevices`].
    pub fn register(&self, control: std::sync::Arc<dyn Control>) -> Result<(), MemoryError> {
        self.controls.register(control)
    }

    /// Notifies all devices that the writes up to a version are in memory. A writer calls it before new
    /// readers have the version.
    #[inline]
    pub fn publish(&self, version: u64) {
        self.controls.notify(|control| control.publish(version));
    }

    /// Returns the current node of a LID.
    ///
    /// # Panics
    /// If the LID is not mapped, or the pin belongs to another memory.
    #[must_use]
    #[inline]
    pub fn node<'p>(&'p self, pin: &'p Pin<'_>, lid: Lid) -> Node<'p> {
        assert!(pin.guards(&self.epochs), "the pin belongs to another memory");
        self.current(lid)
    }

    /// Returns the current node of a LID. The caller has a pin of this memory during the lifetime of the
    /// reference.
    #[inline]
    pub(crate) fn current(&self, lid: Lid) -> Node<'_> {
        let address = self.page_table.load(lid);
        assert!(address != 0, "LID {} is not mapped", lid.get());
        // SAFETY: the page table maps LIDs to published nodes in the arena; the node was reachable after the
        // pin began, so it is not reclaimed before the pin ends.
        unsafe { Node::new(self, self.at(address as usize)) }
    }

    /// Prefetches the entry of the page table of a LID.
    #[inline]
    pub fn prefetch_entry(&self, lid: Lid) {
        self.page_table.prefetch(lid);
    }

    /// Returns an overflow value.
    ///
    /// # Panics
    /// If there is no such value, or the pin belongs to another memory.
    #[must_use]
    #[inline]
    pub fn value<'p>(&'p self, pin: &'p Pin<'_>, address: BusAddress, length: usize) -> &'p [u8] {
        assert!(pin.guards(&self.epochs), "the pin belongs to another memory");
        let extent = value_extent(address, length);
        assert!(self.allocator.ledger.is_value(extent), "no value of {length} bytes at {address:?}");
        // SAFETY: these are bytes of the buffer of a value. The caller has read its address before the buffer
        // was retired, so it is not reclaimed before the pin ends; and the bytes do not change.
        unsafe { slice::from_raw_parts(self.at(extent.start * UNIT).as_ptr(), length) }
    }

    /// Whether any LID is in use, and not retired.
    #[must_use]
    pub fn is_live_lid(&self, lid: Lid) -> bool {
        self.page_table.is_live(lid)
    }

    /// Whether an overflow value of a length that is in use, and not retired, begins at any address.
    #[must_use]
    pub fn is_live_value(&self, address: BusAddress, length: usize) -> bool {
        let is_of_unit = address.get().is_multiple_of(UNIT as u64);
        is_of_unit && self.allocator.ledger.is(value_extent(address, length), Kind::LiveValue)
    }

    /// Retires buffers and LIDs that no later operation can reach. They are reclaimed after the operations in
    /// flight have ended.
    ///
    /// # Panics
    /// If a buffer or LID is not in use, or is retired already.
    pub fn retire(&self, retired: impl IntoIterator<Item = Retired>) {
        let (mut bytes, mut closed) = (0, false);
        for entry in retired {
            let entry_bytes = self.mark_retired(entry);
            bytes += entry_bytes;
            closed |= self.retire_lists.push(entry, entry_bytes, &self.epochs);
        }
        self.retired_bytes.0.fetch_add(bytes as u64, Ordering::Relaxed);
        while closed && let Some(batch) = self.retire_lists.take_own(&self.epochs) {
            self.free_batch(batch);
        }
    }

    /// Reclaims all retired memory that no operation in flight can reach. Returns the number of freed bytes.
    pub fn reclaim(&self) -> usize {
        let batches = std::iter::from_fn(|| self.retire_lists.take_any(&self.epochs));
        batches.map(|batch| self.free_batch(batch)).sum()
    }

    /// Bytes of all buffers that have ever been retired.
    #[must_use]
    pub fn retired_bytes_total(&self) -> u64 {
        self.retired_bytes.0.load(Ordering::Relaxed)
    }

    /// Counts the bytes of the arena by their use. Exact only while no thread allocates or frees memory.
    #[must_use]
    pub fn accounting(&self) -> Accounting {
        let usage = |kind| self.allocator.ledger.usage(kind);
        let bytes = |kind| usage(kind).units * UNIT;
        let count = |kind| usage(kind).buffers;
        Accounting {
            arena_bytes: self.arena.bytes(),
            reserved_bytes: UNIT,
            free_bytes: self.allocator.free_units() * UNIT,
            free_list_bytes: bytes(Kind::FreeNode),
            free_list_nodes: count(Kind::FreeNode),
            private_node_bytes: bytes(Kind::PrivateNode),
            private_nodes: count(Kind::PrivateNode),
            live_node_bytes: bytes(Kind::LiveNode),
            live_nodes: count(Kind::LiveNode),
            retired_node_bytes: bytes(Kind::RetiredNode),
            retired_nodes: count(Kind::RetiredNode),
            private_value_bytes: bytes(Kind::PrivateValue),
            private_values: count(Kind::PrivateValue),
            live_value_bytes: bytes(Kind::LiveValue),
            live_values: count(Kind::LiveValue),
            retired_value_bytes: bytes(Kind::RetiredValue),
            retired_values: count(Kind::RetiredValue),
            live_table_page_bytes: bytes(Kind::LiveTablePage),
            retired_table_page_bytes: bytes(Kind::RetiredTablePage),
            free_lids: self.page_table.count(State::Free),
            reserved_lids: self.page_table.count(State::Reserved),
            live_lids: self.page_table.count(State::Live),
            retired_lids: self.page_table.count(State::Retired),
            page_table_bytes: self.page_table.used_bytes(),
            committed_bytes: self.allocator.commit_ahead.committed() * UNIT,
            overhead_bytes: self.allocator.overhead_bytes()
                + self.page_table.overhead_bytes()
                + self.table_pages.overhead_bytes(),
        }
    }

    fn mark_retired(&self, entry: Retired) -> usize {
        match entry {
            Retired::Node(address) => {
                self.change_node(address.unit(), Kind::LiveNode, Kind::RetiredNode);
                self.node_bytes
            }
            Retired::Value(address, bytes) => {
                let extent = value_extent(address, bytes);
                self.allocator.ledger.check(extent, Kind::LiveValue);
                self.change(extent, Kind::LiveValue, Kind::RetiredValue);
                extent.units * UNIT
            }
            Retired::Lid(lid) => {
                self.page_table.change(lid, State::Live, State::Retired);
                0
            }
            Retired::TablePage(address) => {
                self.change(self.close_table_page(address), Kind::LiveTablePage, Kind::RetiredTablePage);
                PAGE_BYTES
            }
        }
    }

    fn free_batch(&self, batch: Vec<Retired>) -> usize {
        let free = |entry| match entry {
            Retired::Node(address) => {
                self.free_node(address.unit(), Kind::RetiredNode);
                self.node_bytes
            }
            Retired::Value(address, bytes) => {
                let extent = value_extent(address, bytes);
                self.free_value(extent, Kind::RetiredValue);
                extent.units * UNIT
            }
            Retired::Lid(lid) => {
                self.page_table.free(lid, State::Retired);
                0
            }
            Retired::TablePage(address) => {
                self.free_table_page(address);
                PAGE_BYTES
            }
        };
        batch.into_iter().map(free).sum()
    }

    /// Returns the node at an address, which is the previous version in the header of another node.
    pub(crate) fn node_at(&self, address: BusAddress) -> Node<'_> {
        let unit = address.unit();
        assert!(self.allocator.ledger.is_node(unit), "{address:?} is not the address of a node");
        // SAFETY: a published node that is not reclaimed begins there. It was reachable from the other node,
        // so the pin of that node guards it too.
        unsafe { Node::new(self, self.at(unit * UNIT)) }
    }

    pub(crate) fn address_of(&self, at: NonNull<u8>) -> BusAddress {
        let offset = at.as_ptr().addr() - self.arena.start().as_ptr().addr();
        BusAddress::new(offset as u64).expect("no buffer begins at the start of the arena")
    }

    pub(crate) fn epochs(&self) -> &Epochs {
        &self.epochs
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.allocator.ledger
    }

    pub(crate) fn arena_bytes(&self) -> usize {
        self.arena.bytes()
    }

    pub(crate) fn page_table(&self) -> &PageTable {
        &self.page_table
    }

    pub(crate) fn change_node(&self, unit: usize, from: Kind, to: Kind) {
        self.change(self.allocator.node(unit), from, to);
    }

    pub(crate) fn free_node(&self, unit: usize, from: Kind) {
        self.allocator.free_node(unit, from);
    }

    pub(crate) fn keep_value(&self, extent: Extent) {
        self.change(extent, Kind::PrivateValue, Kind::LiveValue);
    }

    pub(crate) fn free_value(&self, extent: Extent, from: Kind) {
        self.allocator.free_value(extent, from);
    }

    fn change(&self, extent: Extent, from: Kind, to: Kind) {
        self.allocator.ledger.change(thread_number(), extent, from, to);
    }

    #[inline]
    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset < self.arena.bytes());
        // SAFETY: the offset is within the arena: callers derive it from a unit of the arena, or have
        // compared it with the arena's size.
        unsafe { self.arena.start().add(offset) }
    }
}

/// Number of units of the buffer of a value. An empty value has one unit.
pub(crate) fn value_units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT).max(1)
}

fn value_extent(address: BusAddress, bytes: usize) -> Extent {
    Extent { start: address.unit(), units: value_units(bytes) }
}
