//! Who is connected.
//!
//! 1. A client's core writes what changes of it; anybody reads, numbers that need not fit together.
//! 2. Anybody may mark a client as one to end. Its core sees the mark when it is woken up.

mod client;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_memory::sync::{AtomicU64, AtomicUsize, Ordering};

pub(crate) use client::{Activity, Client, Flag, Origin, STALL};

/// All clients, by number.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    connected: Mutex<BTreeMap<u64, Arc<Client>>>,
    last: AtomicU64,
    /// Bytes of memory that they all take.
    bytes: AtomicUsize,
}

impl Clients {
    /// A number that no other client has or will have.
    pub(crate) fn next_id(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A client has come.
    pub(crate) fn enter(&self, origin: Origin, now: u64) -> Arc<Client> {
        let client = Arc::new(Client::new(self.next_id(), origin, now));
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

    /// Returns the client to evict. Clients that do not read their replies come first, then clients whose
    /// request is still arriving, because the others can finish without more memory; among equals the
    /// largest comes first. Clients marked no-evict are passed over, unless together they take more than
    /// half of the limit: evicting the others would then not be enough for long.
    pub(crate) fn largest(&self, now: u64, bytes_max: usize) -> Option<Arc<Client>> {
        let clients = self.lock();
        let is_spared = |client: &&Arc<Client>| client.is(Flag::NoEvict);
        let spared_bytes: usize =
            clients.values().filter(is_spared).map(|client| client.memory_bytes()).sum();
        let key =
            |client: &&Arc<Client>| (client.is_stalled(now), client.is_uploading(), client.memory_bytes());
        let may_go = clients.values().filter(|client| is_spared(client) == (spared_bytes > bytes_max / 2));
        may_go.max_by_key(key).cloned()
    }

    /// All of them, in the order in which they came.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
