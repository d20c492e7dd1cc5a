//! Cursors of `SCAN`: numbers that stand for the keys after which scans continue, because clients require
//! numbers.
//!
//! Any client may use a cursor, because many libraries send each command of a scan on another connection. If
//! there are too many cursors, the client that has received the most loses its oldest one, so a client with
//! many scans invalidates only its own cursors.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of valid cursors.
const CURSORS_MAX: usize = 1 << 16;

/// The keys of the valid cursors.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The last cursor.
    last: u64,
    keys: HashMap<u64, Vec<u8>>,
    /// The valid cursors of each client, oldest first. No list is empty.
    of_clients: HashMap<u64, VecDeque<u64>>,
    /// The number of valid cursors of each client, and the client. Of several with the most, the last has
    /// been connected longest.
    counts: BTreeSet<(usize, Reverse<u64>)>,
}

impl Cursors {
    /// Returns a cursor of a client for the keys after a key. It is never 0, which denotes the beginning and
    /// the end.
    pub(crate) fn issue(&self, client: u64, key: &[u8]) -> u64 {
        let mut kept = self.lock();
        if kept.keys.len() == CURSORS_MAX {
            kept.forget_one();
        }
        kept.last += 1;
        let cursor = kept.last;
        kept.keys.insert(cursor, key.to_vec());
        kept.change(client, |cursors| cursors.push_back(cursor));
        cursor
    }

    /// Returns the key of a cursor.
    pub(crate) fn key(&self, cursor: u64) -> Option<Vec<u8>> {
        self.lock().keys.get(&cursor).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Invalidates the oldest cursor of the client that has the most.
    fn forget_one(&mut self) {
        let Some(&(_, Reverse(client))) = self.counts.last() else { return };
        let oldest = self.change(client, VecDeque::pop_front);
        oldest.into_iter().for_each(|oldest| drop(self.keys.remove(&oldest)));
    }

    /// Changes the list of the cursors of a client.
    fn change<T>(&mut self, client: u64, change: impl FnOnce(&mut VecDeque<u64>) -> T) -> T {
        let cursors = self.of_clients.entry(client).or_default();
        self.counts.remove(&(cursors.len(), Reverse(client)));
        let changed = change(cursors);
        match cursors.len() {
            0 => drop(self.of_clients.remove(&client)),
            count => drop(self.counts.insert((count, Reverse(client)))),
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_a_client_are_kept() {
        let cursors = Cursors::default();
        let first = cursors.issue(1, b"first");
        assert_eq!(cursors.key(first).unwrap(), b"first");
        for _ in 1..CURSORS_MAX {
            cursors.issue(1, b"more");
        }
        assert_eq!(cursors.key(first).unwrap(), b"first");
        let last = cursors.issue(1, b"last");
        assert_eq!(cursors.key(first), None);
        assert_eq!(cursors.key(last).unwrap(), b"last");
        assert_eq!(cursors.key(last + 1), None);
        assert_eq!(cursors.key(0), None);
    }

    #[test]
    fn a_client_with_many_cursors_invalidates_only_its_own() {
        let cursors = Cursors::default();
        let modest = cursors.issue(1, b"modest");
        let greedy: Vec<_> = (0..2 * CURSORS_MAX).map(|_| cursors.issue(2, b"greedy")).collect();
        assert_eq!(cursors.key(modest).unwrap(), b"modest");
        // A new client takes the room of the client that has the most.
        let new = cursors.issue(3, b"new");
        assert_eq!([modest, new].map(|cursor| cursors.key(cursor).unwrap()), [&b"modest"[..], b"new"]);
        let valid = greedy.iter().filter(|cursor| cursors.key(**cursor).is_some()).count();
        assert_eq!(valid, CURSORS_MAX - 2);
    }

    #[test]
    fn a_client_without_valid_cursors_uses_no_memory() {
        let cursors = Cursors::default();
        for client in 0..2 * CURSORS_MAX as u64 {
            cursors.issue(client, b"once");
        }
        let kept = cursors.lock();
        assert_eq!([kept.keys.len(), kept.of_clients.len(), kept.counts.len()], [CURSORS_MAX; 3]);
    }
}
