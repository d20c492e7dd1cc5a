//! The state that all cores of a server share.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};
use honeycomb_memory::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use honeycomb_protocol::batch::Tokens;
use honeycomb_protocol::resp::ChunkPool;
use honeycomb_store::{Store, TableHandle};
use mio::Waker;

use crate::backups::Backups;
use crate::change_streams::ChangeStreams;
use crate::client_snapshots::ClientSnapshots;
use crate::clients::{ClientLimit, Clients};
use crate::config::Config;
use crate::counts::Counts;
use crate::cursors::Cursors;
use crate::databases::Databases;
use crate::deadlines::Deadlines;
use crate::digest::Digests;
use crate::eviction::sampler::Sampler;
use crate::failure::Failure;
use crate::held::HoldingCores;
use crate::latency::Latency;
use crate::monitors::Monitors;
use crate::notifications::Notifications;
use crate::notifications::events::Event;
use crate::pace::Pace;
use crate::pause::Pause;
use crate::reaper::state::{Reaper, Schedule};
use crate::recency::Recencies;
use crate::shutdown::PendingShutdown;
use crate::slow_log::SlowLog;
use crate::time::Time;
use crate::totals::{self, Totals};
use crate::watches::Watches;

/// The store, its numbered tables, and the state of clients and background work.
#[derive(Debug)]
pub(crate) struct ServerState {
    config: ArcSwap<Config>,
    /// Serializes changes of the parameters.
    config_lock: Mutex<()>,
    pub(crate) store: Store,
    pub(crate) time: Box<dyn Time>,
    /// The cores that hold replies until they are durable.
    pub(crate) holding: HoldingCores,
    pub(crate) started: u64,
    pub(crate) stopping: AtomicBool,
    pub(crate) cursors: Cursors,
    pub(crate) digests: Digests,
    pub(crate) snapshots: ClientSnapshots,
    /// Each function on a range that executes has a clone.
    pub(crate) range_functions: Arc<()>,
    pub(crate) backups: Backups,
    pub(crate) change_streams: ChangeStreams,
    pub(crate) watches: Arc<Watches>,
    pub(crate) tokens: Tokens,
    pub(crate) expired: AtomicU64,
    pub(crate) evicted: AtomicU64,
    pub(crate) deadlines: Deadlines,
    pub(crate) recencies: Recencies,
    pub(crate) sampler: Mutex<Sampler>,
    /// Locked by the core that executes a step of it.
    pub(crate) reaper: Mutex<Reaper>,
    pub(crate) schedule: Schedule,
    pub(crate) connections: AtomicUsize,
    pub(crate) clients: Clients,
    /// Rate limits of the warnings about failed and rejected connections, and about those with HTTP requests.
    pub(crate) accept_warning: RateLimit,
    pub(crate) rejection_warning: RateLimit,
    pub(crate) http_warning: RateLimit,
    pub(crate) slow_log: SlowLog,
    pub(crate) latency: Latency,
    pub(crate) monitors: Monitors,
    pub(crate) notifications: Notifications,
    pub(crate) pause: Pause,
    pub(crate) pace: Pace,
    /// Forty hexadecimal digits that identify this start of the server.
    pub(crate) run_id: String,
    /// One waker for each core.
    wakers: Mutex<Vec<Arc<Waker>>>,
    /// Stops the server on the request of a client.
    shutdown_hook: Mutex<Option<ShutdownHook>>,
    pub(crate) shutdown: PendingShutdown,
    /// The counts of each core.
    pub(crate) counts: Vec<Arc<Counts>>,
    /// The totals at the last reset. Totals for clients are relative to them.
    pub(crate) totals_at_reset: Mutex<Option<Totals>>,
    pub(crate) databases: Databases,
    pub(crate) command_table: CommandTable,
    /// Memory that replies reuse.
    pub(crate) reply_chunks: Arc<ChunkPool>,
}

/// The properties of the table of commands that the shared state needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandTable {
    pub(crate) count: usize,
    /// Returns the name of a command by its number, and of its subcommand by a second number.
    pub(crate) full_name: fn(usize, usize) -> &'static str,
}

/// Maximum number of bytes of chunks that the pool keeps for the replies of all cores.
const REPLY_CHUNKS_BYTES_MAX: usize = 16 << 20;

impl ServerState {
    pub(crate) fn new(
        config: Config,
        store: Store,
        time: Box<dyn Time>,
        tokens: Tokens,
        command_table: CommandTable,
    ) -> Result<Self, honeycomb_store::Error> {
        let databases = Databases::open(&store, &config)?;
        let deadlines = Deadlines::open(&store, databases.tables(), config.cores)?;
        Ok(Self {
            databases,
            reply_chunks: Arc::new(ChunkPool::new(REPLY_CHUNKS_BYTES_MAX)),
            reaper: Mutex::new(Reaper::new(&deadlines)),
            schedule: Schedule::default(),
            deadlines,
            holding: HoldingCores::new(config.cores),
            started: time.milliseconds(),
            stopping: AtomicBool::new(false),
            cursors: Cursors::default(),
            digests: Digests::default(),
            snapshots: ClientSnapshots::default(),
            range_functions: Arc::default(),
            backups: Backups::default(),
            change_streams: ChangeStreams::default(),
            watches: Arc::default(),
            tokens,
            expired: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            recencies: Recencies::default(),
            sampler: Mutex::default(),
            connections: AtomicUsize::new(0),
            clients: Clients::default(),
            accept_warning: RateLimit::default(),
            rejection_warning: RateLimit::default(),
            http_warning: RateLimit::default(),
            slow_log: SlowLog::default(),
            latency: Latency::default(),
            monitors: Monitors::default(),
            notifications: Notifications::default(),
            pause: Pause::default(),
            pace: Pace::default(),
            run_id: run_id(),
            wakers: Mutex::default(),
            shutdown_hook: Mutex::default(),
            shutdown: PendingShutdown::default(),
            counts: (0..config.cores).map(|_| Arc::new(Counts::new(command_table.count))).collect(),
            totals_at_reset: Mutex::default(),
            command_table,
            config: ArcSwap::from_pointee(config),
            config_lock: Mutex::default(),
            store,
            time,
        })
    }

    /// Returns the table of a valid number.
    pub(crate) fn table(&self, number: usize) -> &TableHandle {
        self.databases.table(number)
    }

    /// Returns the totals since the start of the server.
    pub(crate) fn totals(&self) -> Totals {
        let (expired, evicted) = (self.expired.load(Ordering::Relaxed), self.evicted.load(Ordering::Relaxed));
        Totals::of(&self.counts, expired, evicted)
    }

    /// Returns the totals since the last `CONFIG RESETSTAT`.
    pub(crate) fn totals_since_reset(&self) -> Totals {
        // The lock comes first: totals that another core stores meanwhile are later than these.
        let totals_at_reset = self.totals_at_reset.lock().unwrap_or_else(PoisonError::into_inner);
        let mut totals = self.totals();
        if let Some(totals_at_reset) = &*totals_at_reset {
            totals.subtract(totals_at_reset);
        }
        totals
    }

    /// Resets the totals that clients see. Metrics continue, because collectors expect counters never to
    /// decrease.
    pub(crate) fn reset_totals(&self) {
        let mut totals_at_reset = self.totals_at_reset.lock().unwrap_or_else(PoisonError::into_inner);
        *totals_at_reset = Some(self.totals());
    }

    /// Returns the number of executed commands and the bytes of the arena in use.
    pub(crate) fn measure(&self) -> (u64, usize) {
        let (free_bytes, _) = self.store.free_and_retired_bytes();
        (totals::executed(&self.counts), self.config().memory_bytes - free_bytes)
    }

    /// Converts the number of a table, as clients send it, to an index.
    pub(crate) fn database(&self, number: i64) -> Result<usize, Failure> {
        self.databases.number(number)
    }

    /// Returns all tables, in no particular order.
    pub(crate) fn tables(&self) -> &[TableHandle] {
        self.databases.tables()
    }

    /// Returns the current parameters.
    #[inline]
    pub(crate) fn config(&self) -> Guard<Arc<Config>> {
        self.config.load()
    }

    /// Changes parameters atomically, and passes those of durability to the store. On an error no parameter
    /// changes.
    pub(crate) fn change_config<E>(
        &self,
        change: impl FnOnce(&mut Config) -> Result<(), E>,
    ) -> Result<(), E> {
        let _locked = self.config_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut config = Config::clone(&self.config());
        change(&mut config)?;
        let config = Arc::new(config);
        self.config.store(config.clone());
        // Under the lock, so that the store has the parameters of the last change.
        self.apply_durability(&config);
        Ok(())
    }

    /// Passes the parameters of durability to the store.
    fn apply_durability(&self, config: &Config) {
        if self.store.sync_policy().is_some() {
            // Fails only if the store is in memory only.
            let _ = self.store.set_sync_policy(config.durability);
            let _ = self.store.set_checkpoint_interval(config.interval());
            let _ = self.store.set_old_values(config.old_values);
        }
    }

    /// Adds the waker of the next core.
    pub(crate) fn add_waker(&self, waker: Arc<Waker>) {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Wakes a core, so that it handles work that other cores left for it.
    pub(crate) fn wake(&self, core: usize) {
        let wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Err(error)) = wakers.get(core).map(|waker| waker.wake()) {
            tracing::warn!(core, %error, "cannot wake a core");
        }
    }

    /// Returns whether changes of keys have to be reported.
    #[inline]
    pub(crate) fn notifies(&self) -> bool {
        self.notifications.are_wanted(self.config().notify)
    }

    /// Returns the memory of all clients, and its limit.
    pub(crate) fn client_limit(&self) -> ClientLimit<'_> {
        self.clients.limited(self.config().clients_bytes_max)
    }

    /// Reports changes of keys to the clients that have subscribed to them.
    pub(crate) fn notify(&self, events: &[Event]) {
        let cores = self.notifications.publish(self.config().notify, events, self.client_limit());
        cores.into_iter().for_each(|core| self.wake(core));
    }

    /// Sends a message to the clients that have subscribed to its channel. Returns the number of their
    /// subscriptions that match.
    pub(crate) fn send_message(&self, channel: &[u8], content: &[u8]) -> usize {
        let (receivers, cores) = self.notifications.send(channel, content, self.client_limit());
        cores.into_iter().for_each(|core| self.wake(core));
        receivers
    }

    /// Sets the function that stops the server on the request of a client.
    pub(crate) fn set_shutdown_hook(&self, hook: impl Fn() + Send + 'static) {
        *self.shutdown_hook.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(ShutdownHook(Box::new(hook)));
    }

    /// Requests the program to stop the server. Returns false if clients may not stop the server.
    pub(crate) fn request_shutdown(&self) -> bool {
        let hook = self.shutdown_hook.lock().unwrap_or_else(PoisonError::into_inner);
        hook.as_ref().map(|hook| (hook.0)()).is_some()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}

/// A function that stops the server.
struct ShutdownHook(Box<dyn Fn() + Send>);

impl fmt::Debug for ShutdownHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShutdownHook")
    }
}

fn run_id() -> String {
    let mut bytes = [0; 20];
    // The identifier only distinguishes starts of servers and protects nothing, so zeros are acceptable.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A rate limit: one event per second.
#[derive(Debug, Default)]
pub(crate) struct RateLimit(AtomicU64);

impl RateLimit {
    /// Returns whether the event is due again. Only one thread gets `true`. `now` is in milliseconds.
    pub(crate) fn is_time(&self, now: u64) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        let is_time = now.saturating_sub(last) >= 1000;
        is_time && self.0.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::thread;

    use honeycomb_store::{DurabilityConfig, SyncPolicy};
    use honeycomb_testing::SimulatedDisk;

    use super::*;
    use crate::commands;

    /// A clock that stands still, so that a slow machine does not raise the budget of a step.
    #[derive(Debug)]
    struct StoppedTime;

    impl Time for StoppedTime {
        fn milliseconds(&self) -> u64 {
            1_000_000
        }
    }

    /// The state of a server of one core.
    pub(crate) fn state() -> ServerState {
        let config = Config { memory_bytes: 16 << 20, cores: 1, ..Config::default() };
        let store = config.open_store().unwrap();
        state_of(config, store)
    }

    fn state_of(config: Config, store: Store) -> ServerState {
        ServerState::new(config, store, Box::new(StoppedTime), Tokens::new(&[0; 16]), commands::table())
            .unwrap()
    }

    /// Clients change the policy at the same time. Each looks at the store before its change.
    #[test]
    fn the_store_has_the_policy_of_the_configuration() {
        let durability = DurabilityConfig::with_storage(Arc::new(SimulatedDisk::default()));
        let store = honeycomb_store::Config {
            memory_bytes: 16 << 20,
            durability: Some(durability),
            ..honeycomb_store::Config::default()
        };
        let store = Store::open(store).unwrap();
        let durability = store.sync_policy().unwrap();
        let config = Config { memory_bytes: 16 << 20, cores: 1, durability, ..Config::default() };
        let state = &state_of(config, store);
        let change = |policy| {
            let set = |config: &mut Config| {
                let before = std::mem::replace(&mut config.durability, policy);
                (state.store.sync_policy() == Some(before)).then_some(()).ok_or(before)
            };
            assert_eq!(state.change_config(set), Ok(()));
        };
        thread::scope(|scope| {
            for policy in [SyncPolicy::Always, SyncPolicy::EverySecond, SyncPolicy::Never] {
                scope.spawn(move || (0..20_000).for_each(|_| change(policy)));
            }
        });
        assert_eq!(state.store.sync_policy(), Some(state.config().durability));
    }

    /// Totals of one core while another one counts and resets them.
    #[test]
    fn totals_since_a_reset_are_never_negative() {
        let (state, resets) = (&state(), 20_000);
        thread::scope(|scope| {
            let resetting = scope.spawn(move || {
                for _ in 0..resets {
                    state.expired.fetch_add(1, Ordering::Relaxed);
                    state.reset_totals();
                }
            });
            while !resetting.is_finished() {
                assert!(state.totals_since_reset().expired <= resets);
            }
        });
        assert_eq!((state.totals_since_reset().expired, state.totals().expired), (0, resets));
    }
}
