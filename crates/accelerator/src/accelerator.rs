//! What a backend offers: an accelerator to a store, and a queue to whoever reads.

use std::fmt::Debug;
use std::sync::Arc;

use honeycomb_btree::{AccessCounts, Forest, Root, Version};
use honeycomb_memory::Lease;

use crate::completion::Completions;

/// Makes accelerators: what a store is told to run its reads on.
pub trait Backend: Debug + Send + Sync {
    /// An accelerator for the trees of a forest.
    ///
    /// # Errors
    /// [`Error::Parameter`] names the parameter of the backend that is not allowed.
    fn attach(&self, forest: &Arc<Forest>) -> Result<Box<dyn Accelerator>, Error>;
}

/// Runs reads over the trees of one forest: what the store tells it, and the queues.
///
/// What writers change it reads where they change it, or has them tell it by
/// [`Control`](honeycomb_memory::Control).
pub trait Accelerator: Debug + Send + Sync {
    /// The root of a table from now on; none if there is no such table any more. A request that is in flight
    /// meanwhile may find either.
    fn set_root(&self, table: u16, root: Option<Root>);

    /// Allows requests of a version that a lease guards. Once no lease that guards it is left, revoked or
    /// let go of, they are refused, and scans under way end so too.
    fn hold(&self, version: Version, lease: &Arc<Lease>);

    /// Ends what [`Accelerator::hold`] began.
    fn let_go(&self, version: Version, lease: &Arc<Lease>);

    /// What looking for keys has touched of memory so far, if the accelerator counts it.
    fn touched(&self) -> Option<AccessCounts>;

    /// A queue for one reader.
    fn queue(&self) -> Box<dyn Queue>;
}

/// Takes requests and gives completions.
pub trait Queue: Debug + Send {
    /// Takes requests from the front of `requests`: whole ones, as many as there is room for. Returns their
    /// bytes. What is no request is taken as well, and answered with an error; after one that is cut off
    /// nothing is taken before the next poll.
    ///
    /// A request that says "now" reads what is visible at some moment after this.
    fn submit(&mut self, requests: &[u8]) -> usize;

    /// Gets on with what was submitted, and appends what is done to `completions`. Returns how many requests
    /// are in flight still. Every request is completed in the end, each by one completion or by several that
    /// continue each other; all but scans of many pairs within one call.
    fn poll(&mut self, completions: &mut Completions) -> usize;
}

/// Why there is no accelerator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is not allowed.
    #[error("{name} is {value}: allowed are {allowed}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// What it is.
        value: usize,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The forest takes no device, or no further one: its memory says why.
    #[error("no place for a device: {0}")]
    Device(String),
}
