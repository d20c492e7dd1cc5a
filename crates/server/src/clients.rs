//! Who is connected, as `CLIENT LIST` shows it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use honeycomb_memory::sync::{AtomicU64, AtomicUsize, Ordering};

use crate::config::Config;

/// All clients, by number.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    connected: Mutex<BTreeMap<u64, Arc<Client>>>,
    last: AtomicU64,
    /// Bytes of memory that they all take.
    bytes: AtomicUsize,
}

/// What all may know of a client. Its core writes, anybody reads: numbers that need not fit together.
#[derive(Debug)]
pub(crate) struct Client {
    /// Unique in the server's life.
    pub(crate) id: u64,
    pub(crate) address: String,
    /// The number of the core that serves it.
    core: usize,
    /// Milliseconds since 1970.
    since: u64,
    active: AtomicU64,
    name: Mutex<Vec<u8>>,
    database: AtomicUsize,
    request_bytes: AtomicUsize,
    reply_bytes: AtomicUsize,
    memory_bytes: AtomicUsize,
    /// Milliseconds since 1970 when it last took a part of its replies while others wait; 0 if none wait.
    stalled_since: AtomicU64,
}

/// Milliseconds after which a client that takes none of its replies is stalled.
const STALL: u64 = 100;

/// What changes of a client from turn to turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Activity {
    pub(crate) database: usize,
    /// Bytes that have arrived and wait.
    pub(crate) request_bytes: usize,
    /// Bytes of replies that wait.
    pub(crate) reply_bytes: usize,
    /// Bytes of memory for both.
    pub(crate) memory_bytes: usize,
}

impl Clients {
    /// A number that no other client has or will have.
    pub(crate) fn next_id(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A client has come.
    pub(crate) fn enter(&self, address: String, core: usize, now: u64) -> Arc<Client> {
        let client = Arc::new(Client {
            id: self.next_id(),
            address,
            core,
            since: now,
            active: AtomicU64::new(now),
            name: Mutex::default(),
            database: AtomicUsize::new(0),
            request_bytes: AtomicUsize::new(0),
            reply_bytes: AtomicUsize::new(0),
            memory_bytes: AtomicUsize::new(0),
            stalled_since: AtomicU64::new(0),
        });
        self.lock().insert(client.id, client.clone());
        client
    }

    /// A client has gone.
    pub(crate) fn leave(&self, client: &Client) {
        self.lock().remove(&client.id);
    }

    /// Bytes of memory that all clients take; the cores add to it.
    pub(crate) fn bytes(&self) -> &AtomicUsize {
        &self.bytes
    }

    /// Whether they take more memory than they may.
    pub(crate) fn take_too_much(&self, config: &Config) -> bool {
        self.bytes.load(Ordering::Relaxed) > config.clients_bytes_max
    }

    /// The number of the client that takes the most memory; of those that do not take their replies, if there
    /// are such.
    pub(crate) fn largest(&self, now: u64) -> Option<u64> {
        let clients = self.lock();
        let bytes = |client: &Client| client.memory_bytes.load(Ordering::Relaxed);
        clients.values().max_by_key(|client| (client.is_stalled(now), bytes(client))).map(|client| client.id)
    }

    /// A line for each client.
    pub(crate) fn lines(&self, now: u64) -> String {
        self.lock().values().map(|client| client.line(now)).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// A line about it.
    pub(crate) fn line(&self, now: u64) -> String {
        let seconds = |from: u64| now.saturating_sub(from) / 1000;
        let load = |number: &AtomicUsize| number.load(Ordering::Relaxed);
        let mut line = format!("id={} addr={} name=", self.id, self.address);
        line.push_str(&String::from_utf8_lossy(&self.name()));
        let (age, idle) = (seconds(self.since), seconds(self.active.load(Ordering::Relaxed)));
        let _ = write!(line, " age={age} idle={idle} db={} io-thread={} ", load(&self.database), self.core);
        let [requests, replies] = [load(&self.request_bytes), load(&self.reply_bytes)];
        let _ = writeln!(line, "qbuf={requests} omem={replies} tot-mem={}", load(&self.memory_bytes));
        line
    }

    /// Something has arrived of it.
    pub(crate) fn is_active(&self, now: u64) {
        self.active.store(now, Ordering::Relaxed);
    }

    /// Notes that it takes its replies, since a time in milliseconds since 1970 if some wait; 0 if none do.
    pub(crate) fn takes_replies(&self, since: u64) {
        self.stalled_since.store(since, Ordering::Relaxed);
    }

    fn is_stalled(&self, now: u64) -> bool {
        let since = self.stalled_since.load(Ordering::Relaxed);
        since > 0 && now.saturating_sub(since) >= STALL
    }

    /// Milliseconds since something arrived of it.
    pub(crate) fn silence(&self, now: u64) -> u64 {
        now.saturating_sub(self.active.load(Ordering::Relaxed))
    }

    pub(crate) fn note(&self, activity: Activity) {
        self.database.store(activity.database, Ordering::Relaxed);
        self.request_bytes.store(activity.request_bytes, Ordering::Relaxed);
        self.reply_bytes.store(activity.reply_bytes, Ordering::Relaxed);
        self.memory_bytes.store(activity.memory_bytes, Ordering::Relaxed);
    }

    pub(crate) fn name(&self) -> Vec<u8> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_name(&self, name: &[u8]) {
        *self.name.lock().unwrap_or_else(PoisonError::into_inner) = name.to_vec();
    }
}
