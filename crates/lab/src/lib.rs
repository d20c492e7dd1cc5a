//! Compares Honeycomb with other ordered maps: the same workloads on all maps, alternately, on one machine.
//!
//! [`plan`] defines the steps, [`runner`] executes them with a [`worker`] process for each map of
//! [`adapters`], [`report`] and [`table`] present the results, and [`compare`] finds changes between two
//! runs.

pub mod access_stats;
pub mod adapters;
pub mod compare;
pub mod cores;
pub mod counters;
pub mod driver;
pub mod durability;
pub mod figure_text;
pub mod figures;
pub mod leaf_forms;
pub mod limits;
pub mod machine;
pub mod map;
pub mod memory;
pub mod open_loop;
pub mod output;
pub mod plan;
mod progress;
pub mod report;
pub mod runner;
pub mod slice;
pub mod summary;
pub mod table;
pub mod unordered;
pub mod worker;
