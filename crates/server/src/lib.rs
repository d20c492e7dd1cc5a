//! A server that gives many clients access to a Honeycomb store: Redis clients over TCP, and clients that
//! send Open Compute Storage Messages or batches as datagrams.
//!
//! ```text
//!  sockets ─> core ─> batch: reads of all connections together ─> store ─> accelerator
//!             core           writes of all connections together ─> store
//! ```
//! Each core has one thread with an event loop. An iteration of the loop collects the requests of all
//! connections and executes their reads as one batch and their writes as another, because an accelerator is
//! fast only with many requests in flight. The commands of one connection execute in order, and their replies
//! have the same order.
//!
//! To read the code: [`Server`] starts the cores; `core` waits for sockets; `batch` executes requests and
//! replies; `commands` defines the effect of each command on a `keyspace`; `transaction` makes commands
//! atomic; `datagrams` serves clients without a connection.
#![forbid(unsafe_code)]

mod addresses;
mod arguments;
mod awaited_checkpoint;
mod background;
mod backups;
mod batch;
mod bits;
mod budget;
mod change_messages;
mod change_streams;
mod charge;
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
mod embedder;
mod envelope;
mod error;
mod eviction;
mod eviction_policy;
mod exporter;
mod exposition;
mod failure;
mod glimpse;
mod glob;
mod held;
mod keyspace;
mod latency;
mod letters;
mod listening;
mod long_double;
mod lost_writes;
mod lzf;
mod memory_limit;
mod memory_usage;
mod metrics;
mod monitors;
mod needed_version;
mod notifications;
mod open_files;
mod pace;
mod parameters;
mod pause;
mod payload;
mod placement;
mod process;
mod push_queue;
mod reaper;
mod recency;
mod registry;
mod server;
mod server_state;
mod session;
mod shutdown;
mod slow_log;
mod stopwatch;
mod subsequence;
mod tally;
mod task;
mod time;
mod totals;
mod transaction;
mod watches;

pub use addresses::{ADDRESS, resolve};
pub use config::{Accelerator, Config, Datagrams, LogFormat};
pub use error::Error;
pub use eviction_policy::{Eviction, Policy};
pub use notifications::events::Notify;
pub use parameters::{InvalidParameter, PARAMETERS, Parameter};
pub use server::Server;
pub use time::{SystemTime, Time};

/// The version of Redis whose string commands this server implements. Clients see it in `INFO` and `HELLO`.
pub(crate) const VERSION_OF_REDIS: &str = "8.0.0";
