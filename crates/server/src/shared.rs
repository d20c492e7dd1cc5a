//! What all cores of a server share.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use honeycomb_memory::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use honeycomb_store::{Store, Table};

use crate::config::Config;
use crate::cursors::Cursors;
use crate::failure::Failure;
use crate::time::Time;

/// The store, its tables by number, and counts.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) time: Box<dyn Time>,
    pub(crate) started: u64,
    pub(crate) stopping: AtomicBool,
    pub(crate) cursors: Cursors,
    pub(crate) commands: AtomicU64,
    pub(crate) expired: AtomicU64,
    pub(crate) connections: AtomicUsize,
    clients: Mutex<BTreeMap<u64, String>>,
    last_client: AtomicU64,
    tables: Vec<Table>,
}

impl Shared {
    pub(crate) fn new(
        config: Config,
        store: Store,
        time: Box<dyn Time>,
    ) -> Result<Self, honeycomb_store::Error> {
        let tables = (0..config.databases).map(|number| store.table(&number.to_string()));
        Ok(Self {
            tables: tables.collect::<Result<_, _>>()?,
            started: time.milliseconds(),
            stopping: AtomicBool::new(false),
            cursors: Cursors::default(),
            commands: AtomicU64::new(0),
            expired: AtomicU64::new(0),
            connections: AtomicUsize::new(0),
            clients: Mutex::default(),
            last_client: AtomicU64::new(0),
            config,
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

    pub(crate) fn next_client(&self) -> u64 {
        self.last_client.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Notes how a client is to be shown; none when it has gone.
    pub(crate) fn note_client(&self, id: u64, line: Option<String>) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        match line {
            Some(line) => drop(clients.insert(id, line)),
            None => drop(clients.remove(&id)),
        }
    }

    /// A line for each client.
    pub(crate) fn clients(&self) -> String {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).values().map(String::as_str).collect()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}
