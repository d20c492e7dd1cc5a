//! How a server is set up.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use honeycomb_protocol::PAYLOAD_BYTES;
use honeycomb_protocol::resp::Limits;
use honeycomb_store::{Backend, Software, Store};

use crate::eviction_policy::Eviction;
use crate::parameters::Refused;

/// Maximum number of tasks of a core that execute concurrently. Each may use a snapshot.
pub(crate) const ACTIVE_TASKS_MAX: usize = 4;

/// The parameters of a server. Files, the environment, flags and `CONFIG` name them as
/// [`PARAMETERS`](crate::PARAMETERS) does, which also says what they may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where it listens. Default: port 6379 of the loopback address.
    pub address: SocketAddr,
    /// Threads, each with connections of its own. Default: one a core of the machine.
    pub cores: usize,
    /// Whether each thread stays on a core of the machine, if there are as many threads as cores that the
    /// process may use. Default: no.
    pub cpu_affinity: bool,
    /// Memory of the store that [`Config::open_store`] opens; of a running server, that of its store.
    /// Default: 1 GiB.
    pub memory_bytes: usize,
    /// Bytes of it that the store may use; none for all of it. Default: none.
    pub memory_limit: Option<usize>,
    /// Which pairs go for others once there is no memory left. Default: none.
    pub eviction: Eviction,
    /// Numbered tables that `SELECT` chooses from. Default: 16.
    pub databases: usize,
    /// What `AUTH` must say before anything else; none lets everybody in. Default: none.
    pub password: Option<String>,
    /// Connections at one time, over all cores. Further ones are told so and closed. Default: 10,000.
    pub connections_max: usize,
    /// How long a client may be silent before its connection is closed; zero for as long as it likes.
    /// Default: zero.
    pub silence_max: Duration,
    /// What one request may be.
    pub request: Limits,
    /// Bytes of replies that a client may leave unread before its further commands wait. Default: 1 MiB.
    pub unsent_bytes_max: usize,
    /// Bytes of replies for one client. The reply that goes beyond them is replaced by an error, and the
    /// connection is closed. Default: 128 MiB.
    pub reply_bytes_max: usize,
    /// Bytes of memory that all clients may take together, for requests, replies, queued commands and watched
    /// pairs. Beyond them the client that takes the most is disconnected. Default: 256 MiB.
    pub clients_bytes_max: usize,
    /// Snapshots that a client may hold by `RI.SNAPSHOT TAKE`. Default: 8.
    pub client_snapshots_max: usize,
    /// Commands that take so long are events for `LATENCY`; none notes nothing. Default: none.
    pub latency_threshold: Option<Duration>,
    /// Commands that take longer are noted in the slow log; none notes nothing. Default: 10 ms.
    pub slow: Option<Duration>,
    /// Entries that the slow log keeps. Default: 128.
    pub slow_log_entries_max: usize,
    /// Where the metrics are; none for nowhere. Default: none.
    pub metrics: Option<SocketAddr>,
    /// What runs the reads of the store that [`Config::open_store`] opens. Default: software.
    pub accelerator: Accelerator,
    /// Whether the accelerator of that store counts what it touches of memory; only that in software does.
    /// Default: no.
    pub count_touched: bool,
    /// How who runs the server is to write what happens. Default: as text.
    pub log_format: LogFormat,
    /// How much of what happens is to be written. Default: information, warnings and errors.
    pub log_level: tracing::Level,
    /// How long a server that stops goes on with what it has received. Default: 2 seconds.
    pub grace: Duration,
    /// What comes without a connection. Default: nothing does.
    pub datagrams: Datagrams,
}

/// The parameters of a server's datagrams. They carry no password: not to be had together with one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datagrams {
    /// Where Open Compute Storage Messages arrive; none: nowhere. Default: none.
    pub ocsm: Option<SocketAddr>,
    /// Where batch datagrams arrive; none: nowhere. Default: none.
    pub batch: Option<SocketAddr>,
    /// Bytes of the longest payload of a datagram, arriving or sent. Default: 1,472, what an Ethernet frame
    /// of 1,514 bytes has room for.
    pub payload_bytes: usize,
    /// Datagrams of a reply to a batch. Default: 8.
    pub reply_datagrams_max: u8,
    /// Sessions of a core; a further one ends the one that was not used for longest. Default: 1,024.
    pub sessions_max: usize,
    /// What tokens are made with; none: what the system draws. Default: none.
    pub secret: Option<[u8; 16]>,
}

impl Datagrams {
    /// Bytes of the longest reply.
    pub(crate) fn reply_bytes_max(&self) -> usize {
        self.payload_bytes * usize::from(self.reply_datagrams_max)
    }
}

impl Default for Datagrams {
    fn default() -> Self {
        let (payload_bytes, reply_datagrams_max, sessions_max) = (PAYLOAD_BYTES, 8, 1024);
        Self { ocsm: None, batch: None, payload_bytes, reply_datagrams_max, sessions_max, secret: None }
    }
}

/// A kind of accelerator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// The one in software, on the cores of the server.
    Software,
    /// The one in SystemVerilog, simulated cycle by cycle: right, and slow.
    #[cfg(feature = "rtl")]
    Rtl,
}

/// A form of what is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// A line for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// Bytes that the writes of a transaction may always take: the longest value, in any case.
const TRANSACTION_BYTES_MIN: usize = 32 << 20;

impl Default for Config {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 6379)),
            cores,
            cpu_affinity: false,
            memory_bytes: 1 << 30,
            memory_limit: None,
            eviction: Eviction::default(),
            databases: 16,
            password: None,
            connections_max: 10_000,
            silence_max: Duration::ZERO,
            request: Limits::default(),
            unsent_bytes_max: 1 << 20,
            reply_bytes_max: 128 << 20,
            clients_bytes_max: 256 << 20,
            client_snapshots_max: 8,
            latency_threshold: None,
            slow: Some(Duration::from_millis(10)),
            slow_log_entries_max: 128,
            metrics: None,
            accelerator: Accelerator::Software,
            count_touched: false,
            log_format: LogFormat::Text,
            log_level: tracing::Level::INFO,
            grace: Duration::from_secs(2),
            datagrams: Datagrams::default(),
        }
    }
}

impl Config {
    /// Bytes of the store's memory that it may use.
    pub(crate) fn memory_limit_bytes(&self) -> usize {
        self.memory_limit.unwrap_or(self.memory_bytes)
    }

    /// Has the limit be a number, once the memory of the store is known, and refuses one beyond that memory.
    pub(crate) fn settle_memory_limit(&mut self) -> Result<(), Refused> {
        let (limit, memory) = (self.memory_limit_bytes(), self.memory_bytes);
        self.memory_limit = Some(limit);
        if limit <= memory { Ok(()) } else { Err(Refused::MemoryLimit { limit, memory }) }
    }

    /// Bytes that the writes of one transaction may take before it commits.
    pub(crate) fn transaction_bytes_max(&self) -> usize {
        self.request.request_bytes_max.min(self.clients_bytes_max / 4).max(TRANSACTION_BYTES_MIN)
    }

    /// An empty store of [`Config::memory_bytes`] bytes.
    ///
    /// # Errors
    /// The system does not give the memory.
    pub fn open_store(&self) -> Result<Store, honeycomb_store::Error> {
        let default = honeycomb_store::Config::default();
        let snapshots_max = default.snapshots_max + self.cores * (1 + ACTIVE_TASKS_MAX);
        let config = honeycomb_store::Config { memory_bytes: self.memory_bytes, snapshots_max, ..default };
        let accelerator: Arc<dyn Backend> = match self.accelerator {
            Accelerator::Software => {
                Arc::new(Software { count_touched: self.count_touched, ..Software::default() })
            }
            #[cfg(feature = "rtl")]
            Accelerator::Rtl => {
                Arc::new(honeycomb_accelerator::DeviceBackend::<honeycomb_simulator::Simulator>::default())
            }
        };
        Store::open(honeycomb_store::Config { accelerator, ..config })
    }
}
