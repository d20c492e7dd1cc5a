//! The snapshots that clients hold by tokens.
//!
//! Each client may hold a few snapshots, and all clients together half of the default maximum of a store. The
//! other half is for commands, so that they never lack one. If clients have taken all, the client with the
//! most snapshots loses its oldest one. A later use of it fails because it is too old.

use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_store::{Snapshot, SnapshotToken, Store};

use crate::failure::Failure;

/// Maximum number of snapshots of all clients.
const ALL_MAX: usize = 32;

/// The tokens of all clients, oldest first.
#[derive(Debug, Default)]
pub(crate) struct ClientSnapshots {
    held: Mutex<Vec<(u64, SnapshotToken)>>,
}

impl ClientSnapshots {
    /// Takes a snapshot for a client that may hold `client_max`.
    pub(crate) fn take(
        &self,
        store: &Store,
        client: u64,
        client_max: usize,
    ) -> Result<SnapshotToken, Failure> {
        let mut held = self.lock();
        held.retain(|(_, token)| store.resume(*token).is_ok());
        if held.iter().filter(|(holder, _)| *holder == client).count() >= client_max {
            let message =
                format!("the client holds as many snapshots as client-snapshots allows: {client_max}");
            return Err(Failure::other(message));
        }
        while held.len() >= ALL_MAX {
            release_one(&mut held, store);
        }
        let token = match store.snapshot() {
            Err(honeycomb_store::Error::TooManySnapshots { .. }) if !held.is_empty() => {
                release_one(&mut held, store);
                store.snapshot()?.token()
            }
            taken => taken?.token(),
        };
        held.push((client, token));
        Ok(token)
    }

    /// Removes the token of a released snapshot.
    pub(crate) fn forget(&self, token: SnapshotToken) {
        self.lock().retain(|(_, held)| *held != token);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, SnapshotToken)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Releases the oldest snapshot of the client that holds the most. Among several such clients it chooses the
/// one with the oldest snapshot.
fn release_one(held: &mut Vec<(u64, SnapshotToken)>, store: &Store) {
    let count = |client: u64| held.iter().filter(|(holder, _)| *holder == client).count();
    let most = held.iter().map(|(client, _)| count(*client)).max().unwrap_or(0);
    let Some(oldest) = held.iter().position(|(client, _)| count(*client) == most) else { return };
    let (_, token) = held.remove(oldest);
    store.resume(token).into_iter().for_each(Snapshot::release);
}

#[cfg(test)]
mod tests {
    use honeycomb_store::Config;

    use super::*;

    #[test]
    fn clients_with_the_most_snapshots_lose_them_to_others() {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        let snapshots = ClientSnapshots::default();
        let first = snapshots.take(&store, 1, 8).unwrap();
        for _ in 1..8 {
            snapshots.take(&store, 1, 8).unwrap();
        }
        assert!(snapshots.take(&store, 1, 8).unwrap_err().to_string().contains("client-snapshots allows: 8"));
        store.resume(first).unwrap().release();
        let oldest = snapshots.take(&store, 1, 8).unwrap();
        let others: Vec<_> = (2..200).map(|client| snapshots.take(&store, client, 8).unwrap()).collect();
        assert!(
            store.resume(oldest).is_err(),
            "the client with the most snapshots has lost all but the newest"
        );
        assert!(others[others.len() - ALL_MAX + 1..].iter().all(|token| store.resume(*token).is_ok()));
        assert!(store.snapshot().is_ok());
    }

    #[test]
    fn a_dropped_snapshot_frees_its_slot() {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        let snapshots = ClientSnapshots::default();
        for _ in 0..9 {
            let token = snapshots.take(&store, 1, 1).unwrap();
            assert!(snapshots.take(&store, 1, 1).is_err());
            store.resume(token).unwrap().release();
            snapshots.forget(token);
        }
    }
}
