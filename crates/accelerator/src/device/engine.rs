//! What a driver needs of a device: the engine, and what an engine needs of the machine it is in.

use std::fmt::Debug;

use honeycomb_btree::{Shape, Version};
use honeycomb_memory::{BusAddress, Lid, MemoryError};

use crate::accelerator::Error;

/// Makes engines: what kind of device there is.
pub trait Engines: Debug + Send + Sync {
    /// An engine for trees of nodes of this shape. It knows no roots and no mappings, and reads version 0.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the parameter that is not allowed.
    fn engine(&self, shape: &Shape) -> Result<Box<dyn Engine>, Error>;
}

/// A device as its driver sees it, or a model of one.
///
/// 1. What the driver tells and submits is taken in in that order: an operation finds in force all that
///    was told before it was submitted.
/// 2. What was told before bytes of the host's memory were read is in force before these bytes are used.
///    A bus does so: answers to reads do not overtake what was written before.
/// 3. An operation is in the window from its submission on until its last completion was handed out. It
///    takes its read version and its root in a later step.
/// 4. Of a node, the lock-and-size word, or the line that it is in, is read before the other lines, and
///    no byte past the size in it is used.
/// 5. Whatever is read, each request is completed in the end. What is no node leads to the status `fault`.
pub trait Engine: Send {
    /// The root of a table from now on.
    fn set_root(&mut self, table: u16, root: Option<Lid>);

    /// Where the node of a LID is from now on. What the engine keeps of the node that was there before is
    /// out of date for operations that read the newest version.
    fn map(&mut self, lid: Lid, address: BusAddress);

    /// All writes up to this version can be read from now on. Versions may come in any order.
    fn publish(&mut self, version: Version);

    /// Takes a request, unless there is no room; then it is false. The request is whole and allowed, the
    /// version that it names is held, and no other in flight has its identifier.
    fn submit(&mut self, request: &[u8]) -> bool;

    /// Goes on for a little, and hands each completion that is ready to `done`.
    fn step(&mut self, memory: &dyn HostMemory, done: &mut dyn FnMut(&[u8]));

    /// The operations in flight.
    fn window(&self) -> Window;
}

/// The operations of an engine, which numbers them from 1 in the order of their submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The oldest in flight; one more than the newest started if there is none.
    pub oldest_in_flight: u64,
    /// The newest that was submitted.
    pub newest_started: u64,
}

/// The memory of the host, as an engine reads it over the bus.
pub trait HostMemory {
    /// Reads bytes at a bus address. They need not be of one moment; words of a header are whole, and in
    /// ascending order.
    ///
    /// # Errors
    /// [`MemoryError`] if they cannot be read.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError>;
}
