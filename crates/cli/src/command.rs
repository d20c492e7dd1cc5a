//! The commands that ask a saved store.

pub(crate) mod get;
pub(crate) mod scan;
pub(crate) mod stats;
pub(crate) mod verify;
