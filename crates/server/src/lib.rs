//! A Honeycomb store for many clients: whoever speaks the protocol of Redis, over streams; and whoever sends
//! datagrams, of Open Compute Storage Messages or of batches.
//!
//! ```text
//!  sockets ─> core ─> turn: reads of all connections together ─> store ─> accelerator
//!             core          writes of all connections together ─> store
//! ```
//! One thread a core. Each turn of its loop gathers what all its connections have asked for, and runs their
//! reads as one batch and their writes as another: an accelerator is fast with many requests in flight, not
//! with one. A connection's commands are carried out in their order, and its replies are in that order.
//!
//! To read the code: [`Server`] starts the cores; `core` waits for sockets; `turn` gathers and answers;
//! `commands` says what each command does to a `keyspace`; `transaction` makes that atomic; `datagrams` is
//! all that comes without a connection.
#![forbid(unsafe_code)]

mod addresses;
mod arguments;
mod batch;
mod bits;
mod client_memory;
mod client_snapshots;
mod clients;
mod command;
mod commands;
mod config;
mod connection;
mod context;
mod core;
mod counts;
mod cross_protocol;
mod cursors;
mod databases;
mod datagrams;
mod deadlines;
mod digest;
mod envelope;
mod error;
mod eviction;
mod eviction_policy;
mod exporter;
mod exposition;
mod failure;
mod glimpse;
mod glob;
mod keyspace;
mod latency;
mod letters;
mod listening;
mod long_double;
mod lzf;
mod memory_usage;
mod metrics;
mod monitors;
mod open_files;
mod pace;
mod parameters;
mod pause;
mod payload;
mod placement;
mod process;
mod reaper;
mod recency;
mod room;
mod server;
mod server_state;
mod session;
mod slow_log;
mod stopwatch;
mod subsequence;
mod tally;
mod task;
mod time;
mod totals;
mod transaction;

pub use addresses::{ADDRESS, resolve};
pub use config::{Accelerator, Config, Datagrams, LogFormat};
pub use error::Error;
pub use eviction_policy::{Eviction, Policy};
pub use parameters::{PARAMETERS, Parameter, Refused};
pub use server::Server;
pub use time::{SystemTime, Time};

/// The version of Redis whose commands on strings this server has: what clients are told.
pub(crate) const VERSION_OF_REDIS: &str = "8.0.0";
