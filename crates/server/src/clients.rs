//! The connected clients.
//!
//! 1. The core of a client writes its variable state. Any core may read it, without consistency between
//!    numbers.
//! 2. Any core may mark a client as killed. The core of the client closes the connection when it wakes.

mod client;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_memory::sync::{AtomicU64, Ordering};

use crate::charge::{ByteTotal, Charge};
pub(crate) use client::{Activity, Client, Flag, Origin, STALL};

/// All clients, by identifier.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    connected: Mutex<BTreeMap<u64, Arc<Client>>>,
    last: AtomicU64,
    /// Bytes of memory that all clients use.
    bytes: ByteTotal,
    /// Bytes of memory of disconnected clients that the server has not freed yet.
    departed: ByteTotal,
}

/// The memory of all clients, and its limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientLimit<'c> {
    clients: &'c Clients,
    bytes_max: usize,
}

impl Clients {
    /// Returns a unique identifier for a client.
    pub(crate) fn next_id(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds a client.
    pub(crate) fn enter(&self, origin: Origin, now: u64) -> Arc<Client> {
        let client = Arc::new(Client::new(self.next_id(), origin, now));
        self.lock().insert(client.id, client.clone());
        client
    }

    /// Removes a client.
    pub(crate) fn leave(&self, client: &Client) {
        self.lock().remove(&client.id);
    }

    /// Returns the bytes of memory that all clients use. The cores update this number.
    pub(crate) fn bytes(&self) -> &ByteTotal {
        &self.bytes
    }

    /// Returns the bytes of memory of disconnected clients. Other clients must wait for this memory, but none
    /// is disconnected because of it.
    pub(crate) fn departed(&self) -> &ByteTotal {
        &self.departed
    }

    /// Returns the bytes of memory that clients use or have used.
    pub(crate) fn all_bytes(&self) -> usize {
        self.bytes.get() + self.departed.get()
    }

    /// Returns whether clients use so much more than their limit that they must not grow at all.
    pub(crate) fn are_far_above(&self, bytes_max: usize) -> bool {
        self.bytes.get() > bytes_max / 2 * 3
    }

    /// Returns the total together with its limit.
    pub(crate) fn limited(&self, bytes_max: usize) -> ClientLimit<'_> {
        ClientLimit { clients: self, bytes_max }
    }

    /// Returns the client to evict. Clients that do not read their replies come first, then clients whose
    /// request is still arriving, because the others can complete without more memory; among equals the
    /// largest comes first. Skips clients marked no-evict, unless these use more than half of the limit
    /// together: then the eviction of other clients would not suffice for long.
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

    /// Returns all clients in the order of their connects.
    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientLimit<'_> {
    /// Returns the limit.
    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Returns a charge for some bytes of clients.
    pub(crate) fn charge(&self, bytes: usize) -> Charge {
        Charge::new(&self.clients.bytes, bytes)
    }

    /// Returns whether clients use more than the limit, or have used it.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.clients.all_bytes() > self.bytes_max
    }

    /// Returns whether clients use so much more that they must not grow at all.
    pub(crate) fn is_far_exceeded(&self) -> bool {
        self.clients.are_far_above(self.bytes_max)
    }
}
