//! The layout of a node: reads, searches and builds the bytes of one buffer. This module never follows a LID.

pub(crate) mod builder;
pub(crate) mod candidates;
pub(crate) mod equal_bytes;
pub(crate) mod fences;
pub(crate) mod in_node;
pub(crate) mod item;
pub(crate) mod item_run;
pub(crate) mod key;
pub(crate) mod key_hash;
pub(crate) mod live;
pub(crate) mod log;
pub(crate) mod log_entry;
pub(crate) mod patch;
pub(crate) mod segments;
pub(crate) mod shape;
pub(crate) mod tag_directory;
pub(crate) mod view;
