//! The interface between the driver and a device: the engine, and the memory that the engine reads.

use std::fmt::Debug;

use honeycomb_btree::Version;
use honeycomb_memory::{BusAddress, Lid, MemoryError};

use crate::accelerator::Error;

/// Creates engines. Each kind of device implements it.
pub trait Engines: Debug + Send + Sync {
    /// Creates an engine for trees whose nodes have `node_bytes` bytes. It has no roots and no mappings, and
    /// its read version is 0.
    ///
    /// # Errors
    /// [`Error::Parameter`] if a parameter of the device is invalid.
    fn engine(&self, node_bytes: usize) -> Result<Box<dyn Engine>, Error>;
}

/// A device, or a model of one, as its driver uses it.
///
/// 1. The engine processes notifications and requests in the order of the calls: every notification before
///    the submission of an operation is in effect for that operation.
/// 2. A notification that precedes a read of host memory is in effect before the engine uses the bytes of
///    that read. A bus guarantees this: the data of a read never overtakes earlier writes.
/// 3. An operation is in the window from its submission until the engine has emitted its last completion. The
///    engine reads its root and chooses its read version in a later step.
/// 4. The engine reads the lock-and-size word of a node, or the line that contains it, before the other lines
///    of the node, and uses no byte past the size in that word.
/// 5. Every request completes, whatever bytes the engine reads. Bytes that are not a node lead to the status
///    `fault`.
pub trait Engine: Send {
    /// Sets the root of a table; `None` removes the table.
    fn set_root(&mut self, table: u16, root: Option<Lid>);

    /// Maps a LID to the bus address of its node. If the engine caches the former node of the LID, it must
    /// invalidate it: operations that read the newest version may not use it.
    fn map(&mut self, lid: Lid, address: BusAddress);

    /// Makes all writes up to a version visible to later operations. Versions can arrive in any order.
    fn publish(&mut self, version: Version);

    /// Accepts a request. Returns false if the engine is full. The request is a complete and valid get or
    /// scan, the version that it names is pinned, and no other request in flight has the same identifier.
    fn submit(&mut self, request: &[u8]) -> bool;

    /// Advances the operations a little. Passes each available completion to `complete`. The step that
    /// completes the last operation also empties the window, because its caller may never step again.
    fn step(&mut self, memory: &dyn HostMemory, complete: &mut dyn FnMut(&[u8]));

    /// The operations in flight.
    fn window(&self) -> Window;
}

/// The operations of an engine, which numbers them from 1 in the order of their submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The oldest operation in flight; `newest_started + 1` if there is none.
    pub oldest_in_flight: u64,
    /// The newest submitted operation.
    pub newest_started: u64,
}

/// The memory of the host, as an engine reads it over the bus.
pub trait HostMemory {
    /// Reads bytes at a bus address. The bytes need not be from one moment, but each word of a header is read
    /// whole, and words in ascending order.
    ///
    /// # Errors
    /// [`MemoryError`] if the bytes cannot be read.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError>;
}
