//! The snapshots that clients hold by their tokens.
//!
//! A client holds a few at most, and all clients together half of those that a store has by default: the
//! others are for commands, which never fail for want of one. If all are taken, the client that holds the
//! most gives up its oldest. Whoever uses that one finds it too old.

use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_store::{Snapshot, SnapshotToken, Store};

use crate::failure::Failure;

/// Snapshots that all clients hold together.
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
            give_up_one(&mut held, store);
        }
        let token = match store.snapshot() {
            Err(honeycomb_store::Error::TooManySnapshots { .. }) if !held.is_empty() => {
                give_up_one(&mut held, store);
                store.snapshot()?.token()
            }
            taken => taken?.token(),
        };
        held.push((client, token));
        Ok(token)
    }

    /// Forgets a token, whose snapshot has been released.
    pub(crate) fn forget(&self, token: SnapshotToken) {
        self.lock().retain(|(_, held)| *held != token);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, SnapshotToken)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Releases the oldest snapshot of the client that holds the most; of several such, of the one whose is the
/// oldest.
fn give_up_one(held: &mut Vec<(u64, SnapshotToken)>, store: &Store) {
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
    fn a_client_holds_no_more_than_it_may_and_others_still_get_theirs() {
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
        assert!(store.resume(oldest).is_err(), "the client with most has given up all but the newest");
        assert!(others[others.len() - ALL_MAX + 1..].iter().all(|token| store.resume(*token).is_ok()));
        assert!(store.snapshot().is_ok());
    }

    #[test]
    fn a_snapshot_that_was_dropped_makes_room() {
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
