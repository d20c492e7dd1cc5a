//! The commands that ask a saved store, and the one that serves an empty one.

pub(crate) mod get;
pub(crate) mod scan;
pub(crate) mod serve;
pub(crate) mod stats;
pub(crate) mod verify;
