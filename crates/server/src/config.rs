//! The configuration of a server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use honeycomb_protocol::PAYLOAD_BYTES;
use honeycomb_protocol::resp::Limits;
use honeycomb_store::{
    Backend, DurabilityConfig, RecoveryProgress, Software, Store, SyncPolicy, UnorderedConfig,
};

use crate::eviction_policy::Eviction;
use crate::notifications::events::Notify;
use crate::parameters::InvalidParameter;

/// Maximum number of tasks of a core that execute concurrently. Each may use a snapshot.
pub(crate) const ACTIVE_TASKS_MAX: usize = 4;
/// Maximum number of functions on ranges that execute concurrently. Each uses a snapshot.
pub(crate) const RANGE_FUNCTIONS_MAX: usize = 8;

/// The parameters of a server. [`PARAMETERS`](crate::PARAMETERS) defines their names in files, environment
/// variables, flags and `CONFIG`, and their allowed values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The address for Redis clients. Default: port 6379 of the loopback address.
    pub address: SocketAddr,
    /// Threads, each with its own connections. Default: one per CPU.
    pub cores: usize,
    /// Pins each thread to a CPU, if there are as many threads as CPUs that the process may use. Default: no.
    pub cpu_affinity: bool,
    /// Memory of the store that [`Config::open_store`] opens, or of the store of a running server. Default: 1
    /// GiB.
    pub memory_bytes: usize,
    /// The directory that makes the store durable; `None`: it is in memory only. Default: `None`.
    pub directory: Option<PathBuf>,
    /// The directory to which a durable store copies full log files; `None`: it copies none. Default: `None`.
    pub archive: Option<PathBuf>,
    /// Whether the log of a durable store has the value before each change. Default: `false`.
    pub old_values: bool,
    /// When a write is durable, if there is a directory. Default: before its reply.
    pub durability: SyncPolicy,
    /// The time after which the server writes a checkpoint; zero: it depends only on the size of the log.
    /// Default: zero.
    pub checkpoint_interval: Duration,
    /// Bytes of memory that the store may use; `None` for all of it. Default: `None`.
    pub memory_limit: Option<usize>,
    /// The pairs that the server evicts when memory is exhausted. Default: none.
    pub eviction: Eviction,
    /// Numbered tables for `SELECT`. Default: 16.
    pub databases: usize,
    /// The numbers of those tables that are unordered. Default: none.
    pub unordered: Vec<usize>,
    /// The parameters of unordered tables that the server creates. Default: those of the store.
    pub unordered_tables: UnorderedConfig,
    /// The password that `AUTH` requires; with `None` all clients have access. Default: `None`.
    pub password: Option<String>,
    /// Maximum number of connections of all cores. The server replies an error to further ones and closes
    /// them. Default: 10,000.
    pub connections_max: usize,
    /// The server closes the connection of a client that is idle for this time; zero disables this. Default:
    /// zero.
    pub idle_timeout: Duration,
    /// Limits of a request.
    pub request: Limits,
    /// Bytes of unread replies of a client at which its further commands wait. Default: 1 MiB.
    pub unsent_bytes_max: usize,
    /// Bytes of replies for one client. An error replaces the reply that exceeds the limit, and the server
    /// closes the connection. Default: 128 MiB.
    pub reply_bytes_max: usize,
    /// Bytes of memory that all clients may use together, for requests, replies, queued commands and watched
    /// pairs. Beyond them the server disconnects the client that uses the most. Default: 256 MiB.
    pub clients_bytes_max: usize,
    /// Maximum number of snapshots of a client (`RI.SNAPSHOT TAKE`). Default: 8.
    pub client_snapshots_max: usize,
    /// Duration from which a command is an event for `LATENCY`; `None` disables these events. Default:
    /// `None`.
    pub latency_threshold: Option<Duration>,
    /// Duration from which the slow log records a command; `None` disables the log. Default: 10 ms.
    pub slow_log_threshold: Option<Duration>,
    /// Maximum number of entries of the slow log. Default: 128.
    pub slow_log_entries_max: usize,
    /// The events of keys that clients can subscribe to. Default: none.
    pub notify: Notify,
    /// The address of the metrics; `None` disables them. Default: `None`.
    pub metrics: Option<SocketAddr>,
    /// The accelerator that executes the reads of the store that [`Config::open_store`] opens. Default:
    /// software.
    pub accelerator: Accelerator,
    /// The accelerators that the parameter `accelerator` may choose. Default: software.
    pub accelerators: &'static [Accelerator],
    /// Whether the accelerator of this store counts its memory accesses. Only the software accelerator does.
    /// Default: no.
    pub count_accesses: bool,
    /// The format of the log. Default: text.
    pub log_format: LogFormat,
    /// The least severe level that is logged. Default: information.
    pub log_level: tracing::Level,
    /// Maximum time in which a stopping server executes the received requests and sends their replies.
    /// Default: 2 seconds.
    pub shutdown_timeout: Duration,
    /// Datagrams. Default: disabled.
    pub datagrams: Datagrams,
}

/// The parameters of datagrams. Datagrams carry no password, so they cannot be combined with one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagrams {
    /// The address for Open Compute Storage Messages; `None` disables them. Default: `None`.
    pub ocsm: Option<SocketAddr>,
    /// The database that is table 0 of storage messages; tables 1, 2 and so on are the databases after it.
    /// `None` is the last database as an unordered table; if it has pairs as an ordered one, it stays so.
    /// Default: `None`.
    pub ocsm_database: Option<usize>,
    /// The address for batch datagrams; `None` disables them. Default: `None`.
    pub batch: Option<SocketAddr>,
    /// Maximum bytes of the payload of a received or sent datagram. Default: 1,472, which fit an Ethernet
    /// frame of 1,514 bytes.
    pub payload_bytes: usize,
    /// Maximum number of datagrams in the reply to a batch. Default: 8.
    pub reply_datagrams_max: u8,
    /// Maximum number of sessions per core. A new session ends the least recently used one. Default: 1,024.
    pub sessions_max: usize,
    /// The secret for tokens; with `None` the server draws a random one. Default: `None`.
    pub secret: Option<[u8; 16]>,
}

impl Datagrams {
    /// Returns the maximum bytes of a reply.
    pub(crate) fn reply_bytes_max(&self) -> usize {
        self.payload_bytes * usize::from(self.reply_datagrams_max)
    }
}

impl Default for Datagrams {
    fn default() -> Self {
        let (payload_bytes, reply_datagrams_max, sessions_max) = (PAYLOAD_BYTES, 8, 1024);
        Self {
            ocsm: None,
            ocsm_database: None,
            batch: None,
            payload_bytes,
            reply_datagrams_max,
            sessions_max,
            secret: None,
        }
    }
}

/// An accelerator for the reads of a store: the name of the parameter's value, and a function that opens it.
#[derive(Debug, Clone, Copy)]
pub struct Accelerator {
    /// The name. No other accelerator of the configuration has it.
    pub name: &'static str,
    /// Returns a new accelerator for a store.
    pub open: fn(&Config) -> Arc<dyn Backend>,
}

impl Accelerator {
    /// The software accelerator, which uses the cores of the server.
    pub const SOFTWARE: Self = Self { name: "software", open: open_software };
}

fn open_software(config: &Config) -> Arc<dyn Backend> {
    Arc::new(Software { count_accesses: config.count_accesses, ..Software::default() })
}

impl PartialEq for Accelerator {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Accelerator {}

/// The format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Text lines.
    Text,
    /// One JSON object per line.
    Json,
}

/// Receives the progress of a recovery.
pub(crate) type Progress = Arc<dyn Fn(RecoveryProgress) + Send + Sync>;

/// Minimum for the bytes that the writes of a transaction may use. It allows the longest value in any case.
const TRANSACTION_BYTES_MIN: usize = 32 << 20;

impl Default for Config {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 6379)),
            cores,
            cpu_affinity: false,
            memory_bytes: 1 << 30,
            directory: None,
            archive: None,
            old_values: false,
            durability: SyncPolicy::Always,
            checkpoint_interval: Duration::ZERO,
            memory_limit: None,
            eviction: Eviction::default(),
            databases: 16,
            unordered: Vec::new(),
            unordered_tables: UnorderedConfig::default(),
            password: None,
            connections_max: 10_000,
            idle_timeout: Duration::ZERO,
            request: Limits::default(),
            unsent_bytes_max: 1 << 20,
            reply_bytes_max: 128 << 20,
            clients_bytes_max: 256 << 20,
            client_snapshots_max: 8,
            latency_threshold: None,
            slow_log_threshold: Some(Duration::from_millis(10)),
            slow_log_entries_max: 128,
            notify: Notify::default(),
            metrics: None,
            accelerator: Accelerator::SOFTWARE,
            accelerators: &[Accelerator::SOFTWARE],
            count_accesses: false,
            log_format: LogFormat::Text,
            log_level: tracing::Level::INFO,
            shutdown_timeout: Duration::from_secs(2),
            datagrams: Datagrams::default(),
        }
    }
}

impl Config {
    /// Returns the database that is table 0 of storage messages.
    pub(crate) fn ocsm_database(&self) -> usize {
        self.datagrams.ocsm_database.unwrap_or(self.databases - 1)
    }

    /// Returns the bytes of memory that the store may use.
    pub(crate) fn memory_limit_bytes(&self) -> usize {
        self.memory_limit.unwrap_or(self.memory_bytes)
    }

    /// Sets an explicit memory limit when the memory of the store is known. Rejects a limit above this
    /// memory.
    pub(crate) fn settle_memory_limit(&mut self) -> Result<(), InvalidParameter> {
        let (limit, memory) = (self.memory_limit_bytes(), self.memory_bytes);
        self.memory_limit = Some(limit);
        if limit <= memory { Ok(()) } else { Err(InvalidParameter::MemoryLimit { limit, memory }) }
    }

    /// Returns the bytes that the writes of one transaction may use before it commits.
    pub(crate) fn transaction_bytes_max(&self) -> usize {
        self.request.request_bytes_max.min(self.clients_bytes_max / 4).max(TRANSACTION_BYTES_MIN)
    }

    /// Returns the bytes of memory that the watched pairs and ranges of a client may use.
    pub(crate) fn watched_bytes_max(&self) -> usize {
        self.request.request_bytes_max.min(self.clients_bytes_max / 4)
    }

    /// Opens a store of [`Config::memory_bytes`] bytes: an empty one, or that of [`Config::directory`].
    ///
    /// # Errors
    /// The system cannot allocate the memory; the directory is in use, or its files are corrupt.
    pub fn open_store(&self) -> Result<Store, honeycomb_store::Error> {
        self.open_store_with(None)
    }

    /// Like [`Config::open_store`]; passes the progress of the recovery to `progress`.
    ///
    /// # Errors
    /// Those of [`Config::open_store`].
    pub fn open_store_with(
        &self,
        progress: Option<Arc<dyn Fn(RecoveryProgress) + Send + Sync>>,
    ) -> Result<Store, honeycomb_store::Error> {
        let default = honeycomb_store::Config::default();
        let of_tasks = self.cores * (1 + ACTIVE_TASKS_MAX) + RANGE_FUNCTIONS_MAX;
        let snapshots_max = default.snapshots_max + of_tasks;
        let config = honeycomb_store::Config { memory_bytes: self.memory_bytes, snapshots_max, ..default };
        let accelerator = (self.accelerator.open)(self);
        let durability =
            self.directory.as_ref().map(|path| self.durability_of(path, progress)).transpose()?;
        Store::open(honeycomb_store::Config { accelerator, durability, ..config })
    }

    fn durability_of(
        &self,
        path: &Path,
        progress: Option<Progress>,
    ) -> Result<DurabilityConfig, honeycomb_store::Error> {
        let durability = DurabilityConfig::directory(path)?;
        let durability = match &self.archive {
            Some(archive) => durability.archive_to(archive)?,
            None => durability,
        };
        Ok(DurabilityConfig {
            policy: self.durability,
            // The event loop holds replies instead.
            writes_wait: false,
            checkpoint_interval: self.interval(),
            old_values: self.old_values,
            progress,
            ..durability
        })
    }

    /// The time after which a checkpoint is due, if it depends on the time.
    pub(crate) fn interval(&self) -> Option<Duration> {
        Some(self.checkpoint_interval).filter(|interval| !interval.is_zero())
    }
}
