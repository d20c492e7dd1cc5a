//! What all cores of a server share.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};
use honeycomb_memory::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use honeycomb_protocol::batch::Tokens;
use honeycomb_store::{Store, Table};

use crate::client_snapshots::ClientSnapshots;
use crate::clients::Clients;
use crate::config::Config;
use crate::counts::Counts;
use crate::cursors::Cursors;
use crate::deadlines::Deadlines;
use crate::digest::Digests;
use crate::eviction::Evictor;
use crate::failure::Failure;
use crate::reaper::{Reaper, Schedule};
use crate::recency::Recencies;
use crate::slow_log::SlowLog;
use crate::time::Time;

/// The store, its tables by number, and counts.
#[derive(Debug)]
pub(crate) struct Shared {
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
    pub(crate) evictor: Mutex<Evictor>,
    /// Held by the core that takes a step of it.
    pub(crate) reaper: Mutex<Reaper>,
    pub(crate) schedule: Schedule,
    pub(crate) connections: AtomicUsize,
    pub(crate) clients: Clients,
    /// When it was last logged that a connection was refused, or closed since it spoke HTTP.
    pub(crate) refusal_warned: Seldom,
    pub(crate) intrusion_warned: Seldom,
    pub(crate) slow_log: SlowLog,
    /// Of each core.
    pub(crate) counts: Vec<Arc<Counts>>,
    /// What is subtracted from totals that clients are shown: they were counted before a reset.
    pub(crate) forgotten: Mutex<Option<crate::totals::Totals>>,
    tables: Vec<Table>,
}

impl Shared {
    pub(crate) fn new(
        config: Config,
        store: Store,
        time: Box<dyn Time>,
        tokens: Tokens,
    ) -> Result<Self, honeycomb_store::Error> {
        let tables = (0..config.databases).map(|number| store.table(&number.to_string()));
        let tables = tables.collect::<Result<Vec<_>, _>>()?;
        let deadlines = Deadlines::open(&store, &tables)?;
        Ok(Self {
            tables,
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
            evictor: Mutex::default(),
            connections: AtomicUsize::new(0),
            clients: Clients::default(),
            refusal_warned: Seldom::default(),
            intrusion_warned: Seldom::default(),
            slow_log: SlowLog::default(),
            counts: (0..config.cores).map(|_| Arc::default()).collect(),
            forgotten: Mutex::default(),
            config: ArcSwap::from_pointee(config),
            changing: Mutex::default(),
            store,
            time,
        })
    }

    /// The table of a number that was checked.
    pub(crate) fn table(&self, number: usize) -> &Table {
        &self.tables[number]
    }

    /// The number of a table, as clients write it.
    pub(crate) fn database(&self, number: i64) -> Result<usize, Failure> {
        let number = usize::try_from(number).map_err(|_| Failure::Database)?;
        if number < self.tables.len() { Ok(number) } else { Err(Failure::Database) }
    }

    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
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

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
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
