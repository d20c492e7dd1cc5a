//! The interface of a backend: the accelerator for the store, and its queues for readers.

use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::sync::Arc;

use honeycomb_btree::{AccessCounts, Forest, Reader, Root, Version};
use honeycomb_hashtable::Functions;
use honeycomb_memory::{Lease, LeaseUse};

use crate::completion::Completions;
use crate::direct_reader::DirectReader;
use crate::unordered_tables::UnorderedTable;

/// Creates accelerators. The configuration of a store names a backend.
pub trait Backend: Debug + Send + Sync {
    /// Creates an accelerator for the trees of a forest. Requests choose from these functions by number.
    ///
    /// # Errors
    /// [`Error::Parameter`] if a parameter of the backend is invalid; [`Error::Device`] if the forest accepts
    /// no further device.
    fn attach(&self, forest: &Arc<Forest>, functions: &Arc<Functions>)
    -> Result<Box<dyn Accelerator>, Error>;
}

/// Executes reads on the trees of one forest, and operations on unordered tables.
///
/// The store notifies the accelerator of roots and pinned versions. The accelerator either reads the other
/// state of writers where they change it, or writers notify it through
/// [`Control`](honeycomb_memory::Control).
pub trait Accelerator: Debug + Send + Sync {
    /// Sets the root of a table; `None` removes the table. A request in flight reads either the old root or
    /// the new one.
    fn set_root(&self, table: u16, root: Option<Root>);

    /// Pins a version that a lease guards: from now on the accelerator accepts requests that name the
    /// version. Once every lease of the version is revoked or unpinned, the accelerator rejects such requests
    /// and ends its scans of the version.
    fn pin_version(&self, version: Version, lease: &Arc<Lease>);

    /// Undoes [`Accelerator::pin_version`] with the same lease.
    fn unpin_version(&self, version: Version, lease: &Arc<Lease>);

    /// Returns the memory that searches have accessed so far, if the accelerator counts it.
    fn access_counts(&self) -> Option<AccessCounts>;

    /// Creates a queue for one reader.
    fn queue(&self) -> Box<dyn Queue>;

    /// Returns a reader of the newest visible version, if the accelerator runs on the CPU of the reader.
    fn direct_reader(&self) -> Option<DirectReader<'_>> {
        None
    }

    /// Sets the unordered table of a number; `None` removes it. Its number is independent of those of tables
    /// with roots. A request in flight uses either the old table or the new one. A queue may execute a batch
    /// of a table while it reads trees, so each queue needs two pins of the memory.
    fn set_unordered(&self, _number: u16, _table: Option<Arc<dyn UnorderedTable>>) {}

    /// Whether the accelerator executes operations on unordered tables. Otherwise it rejects them with
    /// [`Status::UnknownOpcode`](crate::Status::UnknownOpcode).
    fn executes_unordered(&self) -> bool {
        false
    }

    /// Returns a reader with which the calling thread visits [pages of ranges](crate::RangePage): of a
    /// version under its lease, or of the newest visible version. `None` if the accelerator executes no
    /// [functions over ranges](crate::RangeFunction): then it rejects them with
    /// [`Status::UnknownOpcode`](crate::Status::UnknownOpcode).
    fn page_reader<'a>(&'a self, _leased: Option<(&'a LeaseUse<'a>, Version)>) -> Option<Reader<'a>> {
        None
    }
}

/// Accepts requests and returns completions.
pub trait Queue: Debug + Send {
    /// Accepts as many whole requests from the front of `requests` as the queue has room for. Returns their
    /// number of bytes. The queue also accepts invalid requests and completes them with an error. After a
    /// truncated request it accepts nothing before the next poll.
    ///
    /// A request without a version reads a version that is visible at some moment after this call. The
    /// operations on a key of an unordered table execute in the order of their submission.
    fn submit(&mut self, requests: &[u8]) -> usize;

    /// Executes submitted requests and appends their completions. Returns the number of requests that are
    /// still in flight. Every request ends with one completion, or with several that continue each other. All
    /// requests but long scans end in one call.
    fn poll(&mut self, completions: &mut Completions) -> usize;
}

/// Why a backend cannot be attached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is invalid.
    #[error("{name} is {value}: allowed are {allowed}")]
    Parameter {
        /// The name of the parameter.
        name: &'static str,
        /// Its value.
        value: usize,
        /// The allowed values.
        allowed: String,
    },
    /// The forest accepts no device, or no further one. The text is the error of its memory.
    #[error("cannot attach a device: {0}")]
    Device(String),
}

/// Checks a parameter of a backend. A range that ends with `usize::MAX` has no upper limit.
///
/// # Errors
/// [`Error::Parameter`].
pub fn check_parameter(
    name: &'static str,
    value: usize,
    allowed: RangeInclusive<usize>,
) -> Result<(), Error> {
    if allowed.contains(&value) {
        return Ok(());
    }
    let allowed = match (allowed.start(), *allowed.end()) {
        (first, usize::MAX) => format!("{first} and more"),
        (first, last) => format!("{first} to {last}"),
    };
    Err(Error::Parameter { name, value, allowed })
}
