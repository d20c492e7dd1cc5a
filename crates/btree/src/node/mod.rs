//! The layout of a node: reads, searches and builds the bytes of one buffer. This module never follows a LID.

pub(crate) mod candidates;
pub(crate) mod columns;
pub(crate) mod consolidation;
pub(crate) mod counts;
pub(crate) mod fences;
pub(crate) mod header;
pub(crate) mod in_node;
pub(crate) mod item;
pub(crate) mod item_run;
pub(crate) mod key;
pub(crate) mod live;
pub(crate) mod log;
pub(crate) mod log_entry;
pub(crate) mod places;
pub(crate) mod plan;
pub(crate) mod search;
pub(crate) mod shape;
pub(crate) mod size;
pub(crate) mod suffix;
pub(crate) mod view;
