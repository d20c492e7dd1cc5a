//! Writes as transactions: single operations, batches, structural changes, compaction and bulk load.

pub(crate) mod apply;
pub(crate) mod batch;
pub(crate) mod children;
pub(crate) mod compact;
pub(crate) mod divide;
pub(crate) mod each;
pub(crate) mod journal;
pub(crate) mod level;
pub(crate) mod loader;
pub(crate) mod operation;
pub(crate) mod range;
pub(crate) mod restructure;
pub(crate) mod sparse;
pub(crate) mod stages;
pub(crate) mod transaction;
#[cfg(test)]
pub(crate) mod wait_free_test;
