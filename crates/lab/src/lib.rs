//! Honeycomb beside other ordered maps: the same workloads on all of them, in turn, on one machine.
//!
//! [`plan`] says what is done in which order, [`runner`] does it with a [`worker`] process for each map of
//! [`adapters`], [`report`] and [`table`] tell what was measured, [`compare`] what changed since.

pub mod adapters;
pub mod compare;
pub mod cores;
pub mod counters;
pub mod driver;
pub mod figures;
pub mod limits;
pub mod machine;
pub mod map;
pub mod memory;
pub mod open;
pub mod plan;
pub mod report;
pub mod runner;
pub mod slice;
pub mod summary;
pub mod table;
pub mod touched;
pub mod worker;
