//! Unordered tables: the types that their operations use.
//!
//! An [`UnorderedTable`](crate::UnorderedTable) finds a pair with fewer memory accesses than a
//! [`Table`](crate::Table), changes values in place with functions, and executes operations on one key of a
//! batch together. It has no order, no scans and no snapshots.

pub(crate) mod batch;
pub(crate) mod config;
pub(crate) mod entry;
pub(crate) mod gets;
pub(crate) mod table;
pub(crate) mod together;
mod visits;

pub use honeycomb_hashtable::{
    Answers, Bits, BuiltIn, Element, Error as FunctionError, FIRST_REGISTERED, Functions, Operation, Outcome,
    Predicate, Request, Span, Update, WalkedPairs,
};

pub use config::UnorderedConfig;
