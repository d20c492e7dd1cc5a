//! What all cores of a server share.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};
use honeycomb_memory::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use honeycomb_protocol::batch::Tokens;
use honeycomb_protocol::resp::ChunkPool;
use honeycomb_store::{Store, Table};
use mio::Waker;

use crate::client_snapshots::ClientSnapshots;
use crate::clients::Clients;
use crate::config::Config;
use crate::counts::Counts;
use crate::cursors::Cursors;
use crate::databases::Databases;
use crate::deadlines::Deadlines;
use crate::digest::Digests;
use crate::eviction::sampler::Sampler;
use crate::failure::Failure;
use crate::latency::Latency;
use crate::monitors::Monitors;
use crate::pace::Pace;
use crate::pause::Pause;
use crate::reaper::state::{Reaper, Schedule};
use crate::recency::Recencies;
use crate::slow_log::SlowLog;
use crate::time::Time;
use crate::totals::{self, Totals};

/// The store, its tables by number, and counts.
#[derive(Debug)]
pub(crate) struct ServerState {
    config: ArcSwap<Config>,
    /// Held by who changes the config.
    changing: Mutex<()>,
    pub(crate) store: Store,
    pub(crate) time: Box<dyn Time>,
    pub(crate) started: u64,
    pub(crate) stopping: AtomicBool,
    pub(crate) cursors: Cursors,
    pub(crate) digests: Digests,
    pub(crate) snapshots: ClientSnapshots,
    pub(crate) tokens: Tokens,
    pub(crate) expired: AtomicU64,
    pub(crate) evicted: AtomicU64,
    pub(crate) deadlines: Deadlines,
    pub(crate) recencies: Recencies,
    pub(crate) sampler: Mutex<Sampler>,
    /// Held by the core that takes a step of it.
    pub(crate) reaper: Mutex<Reaper>,
    pub(crate) schedule: Schedule,
    pub(crate) connections: AtomicUsize,
    pub(crate) clients: Clients,
    /// When it was last logged that a connection was refused, or closed since it spoke HTTP.
    pub(crate) refusal_warned: Seldom,
    pub(crate) intrusion_warned: Seldom,
    pub(crate) slow_log: SlowLog,
    pub(crate) latency: Latency,
    pub(crate) monitors: Arc<Monitors>,
    pub(crate) pause: Pause,
    pub(crate) pace: Pace,
    /// Forty hexadecimal digits that no other start of a server has.
    pub(crate) run_id: String,
    /// What wakes each core up.
    wakers: Mutex<Vec<Arc<Waker>>>,
    /// What ends the server if a client asks for it.
    ending: Mutex<Option<Ending>>,
    /// Of each core.
    pub(crate) counts: Vec<Arc<Counts>>,
    /// What is subtracted from totals that clients are shown: they were counted before a reset.
    pub(crate) forgotten: Mutex<Option<Totals>>,
    pub(crate) databases: Databases,
    pub(crate) command_table: CommandTable,
    /// Memory that replies have used and will use again.
    pub(crate) reply_chunks: Arc<ChunkPool>,
}

/// The properties of the table of commands that the shared state needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandTable {
    pub(crate) count: usize,
    /// Returns the name of a command by its number, and of its subcommand by a second number.
    pub(crate) full_name: fn(usize, usize) -> &'static str,
}

/// Bytes of chunks that are kept for replies, by all cores together.
const REPLY_CHUNKS_BYTES_MAX: usize = 16 << 20;

impl ServerState {
    pub(crate) fn new(
        config: Config,
        store: Store,
        time: Box<dyn Time>,
        tokens: Tokens,
        command_table: CommandTable,
    ) -> Result<Self, honeycomb_store::Error> {
        let databases = Databases::open(&store, config.databases)?;
        let deadlines = Deadlines::open(&store, databases.tables(), config.cores)?;
        Ok(Self {
            databases,
            reply_chunks: Arc::new(ChunkPool::new(REPLY_CHUNKS_BYTES_MAX)),
            reaper: Mutex::new(Reaper::new(&deadlines)),
            schedule: Schedule::default(),
            deadlines,
            started: time.milliseconds(),
            stopping: AtomicBool::new(false),
            cursors: Cursors::default(),
            digests: Digests::default(),
            snapshots: ClientSnapshots::default(),
            tokens,
            expired: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            recencies: Recencies::default(),
            sampler: Mutex::default(),
            connections: AtomicUsize::new(0),
            clients: Clients::default(),
            refusal_warned: Seldom::default(),
            intrusion_warned: Seldom::default(),
            slow_log: SlowLog::default(),
            latency: Latency::default(),
            monitors: Arc::default(),
            pause: Pause::default(),
            pace: Pace::default(),
            run_id: run_id(),
            wakers: Mutex::default(),
            ending: Mutex::default(),
            counts: (0..config.cores).map(|_| Arc::new(Counts::new(command_table.count))).collect(),
            forgotten: Mutex::default(),
            command_table,
            config: ArcSwap::from_pointee(config),
            changing: Mutex::default(),
            store,
            time,
        })
    }

    /// The table of a number that was checked.
    pub(crate) fn table(&self, number: usize) -> &Table {
        self.databases.table(number)
    }

    /// Returns the totals since the start of the server.
    pub(crate) fn totals(&self) -> Totals {
        let (expired, evicted) = (self.expired.load(Ordering::Relaxed), self.evicted.load(Ordering::Relaxed));
        Totals::of(&self.counts, expired, evicted)
    }

    /// Returns the totals since the last `CONFIG RESETSTAT`.
    pub(crate) fn totals_since_reset(&self) -> Totals {
        let mut totals = self.totals();
        let forgotten = self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(forgotten) = &*forgotten {
            totals.subtract(forgotten);
        }
        totals
    }

    /// Resets the totals that clients see. Metrics continue, because collectors expect counters never to
    /// decrease.
    pub(crate) fn reset_totals(&self) {
        let now = self.totals();
        *self.forgotten.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Returns the number of executed commands and the bytes of the arena in use.
    pub(crate) fn measure(&self) -> (u64, usize) {
        let memory = self.store.statistics().memory;
        (totals::executed(&self.counts), memory.arena_bytes - memory.free_bytes)
    }

    /// The number of a table, as clients write it.
    pub(crate) fn database(&self, number: i64) -> Result<usize, Failure> {
        self.databases.number(number)
    }

    /// All tables, in no particular order.
    pub(crate) fn tables(&self) -> &[Table] {
        self.databases.tables()
    }

    /// The parameters as they are now.
    #[inline]
    pub(crate) fn config(&self) -> Guard<Arc<Config>> {
        self.config.load()
    }

    /// Changes parameters: all that `change` does or, on an error, none.
    pub(crate) fn change_config<E>(
        &self,
        change: impl FnOnce(&mut Config) -> Result<(), E>,
    ) -> Result<(), E> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut config = Config::clone(&self.config());
        change(&mut config)?;
        self.config.store(Arc::new(config));
        Ok(())
    }

    /// Adds what wakes the next core up.
    pub(crate) fn add_waker(&self, waker: Arc<Waker>) {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Has a core look at what was left for it.
    pub(crate) fn wake(&self, core: usize) {
        let wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Err(error)) = wakers.get(core).map(|waker| waker.wake()) {
            tracing::warn!(core, %error, "a core was not woken up");
        }
    }

    /// Says what ends the server if a client asks for it.
    pub(crate) fn set_ending(&self, ending: impl Fn() + Send + 'static) {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some(Ending(Box::new(ending)));
    }

    /// Has the program end the server: whether it lets clients do that.
    pub(crate) fn ask_to_end(&self) -> bool {
        let ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        ending.as_ref().map(|ending| (ending.0)()).is_some()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}

/// Ends the server.
struct Ending(Box<dyn Fn() + Send>);

impl fmt::Debug for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ending")
    }
}

fn run_id() -> String {
    let mut bytes = [0; 20];
    // The number tells starts of a server from each other and protects nothing: without it they are alike.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// When something was last done that is done once a second at most.
#[derive(Debug, Default)]
pub(crate) struct Seldom(AtomicU64);

impl Seldom {
    /// Whether it is time to do it again: only one thread is told so. `now` is in milliseconds.
    pub(crate) fn is_time(&self, now: u64) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        let is_time = now.saturating_sub(last) >= 1000;
        is_time && self.0.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}
