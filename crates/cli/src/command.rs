//! The subcommands, one file each.

pub(crate) mod backup;
pub(crate) mod get;
pub(crate) mod index;
pub(crate) mod load;
pub(crate) mod log;
pub(crate) mod restore;
pub(crate) mod scan;
pub(crate) mod serve;
pub(crate) mod stats;
pub(crate) mod tour;
pub(crate) mod verify;
