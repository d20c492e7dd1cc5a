//! Cursors of `SCAN`: numbers that stand for the keys after which scans continue, because clients require
//! numbers.
//!
//! Any client may use a cursor, because many libraries send each command of a scan on another connection. If
//! there are too many cursors, the client that has received the most loses its oldest one, so a client with
//! many scans invalidates only its own cursors. There are too many if their number or their memory exceeds a
//! limit. The memory counts as that of clients.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::charge::Charge;
use crate::clients::ClientLimit;

/// Maximum number of valid cursors.
const CURSORS_MAX: usize = 1 << 16;
/// Cursors take at most the limit of the memory of clients divided by this number.
const MEMORY_PART: usize = 16;
/// Bytes of memory of a cursor besides its key: its entries in all maps, as if each client had one cursor.
const CURSOR_BYTES: usize = 224;

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
    /// Bytes of memory.
    bytes: usize,
    charge: Charge,
}

impl Cursors {
    /// Returns a cursor of a client for the keys after a key. It is never 0, which denotes the beginning and
    /// the end.
    pub(crate) fn issue(&self, client: u64, key: &[u8], limit: ClientLimit<'_>) -> u64 {
        let mut kept = self.lock();
        let bytes = CURSOR_BYTES + key.len();
        let bytes_max = (limit.bytes_max() / MEMORY_PART).saturating_sub(bytes);
        while !kept.keys.is_empty() && (kept.keys.len() >= CURSORS_MAX || kept.bytes > bytes_max) {
            kept.forget_one();
        }
        kept.last += 1;
        let cursor = kept.last;
        kept.keys.insert(cursor, key.to_vec());
        kept.change(client, |cursors| cursors.push_back(cursor));
        kept.bytes += bytes;
        kept.charge = limit.charge(kept.bytes);
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
        let key = oldest.and_then(|oldest| self.keys.remove(&oldest));
        self.bytes -= key.map_or(0, |key| CURSOR_BYTES + key.len());
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
    use crate::clients::Clients;

    /// Cursors, and the clients whose memory they take.
    #[derive(Default)]
    struct Tested(Cursors, Clients);

    impl Tested {
        fn issue(&self, client: u64, key: &[u8]) -> u64 {
            self.issue_within(1 << 30, client, key)
        }

        fn issue_within(&self, bytes_max: usize, client: u64, key: &[u8]) -> u64 {
            self.0.issue(client, key, self.1.limited(bytes_max))
        }

        fn key(&self, cursor: u64) -> Option<Vec<u8>> {
            self.0.key(cursor)
        }

        fn bytes(&self) -> usize {
            self.1.bytes().get()
        }
    }

    #[test]
    fn the_newest_of_a_client_are_kept() {
        let cursors = Tested::default();
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
        let cursors = Tested::default();
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
        let cursors = Tested::default();
        for client in 0..2 * CURSORS_MAX as u64 {
            cursors.issue(client, b"once");
        }
        let kept = cursors.0.lock();
        assert_eq!([kept.keys.len(), kept.of_clients.len(), kept.counts.len()], [CURSORS_MAX; 3]);
    }

    /// Five cursors fit. A sixth, or a fifth with a key that is longer by a byte, invalidates the oldest.
    #[test]
    fn cursors_take_a_part_of_the_memory_of_clients() {
        let (each, cursors) = (CURSOR_BYTES + 460, Tested::default());
        let bytes_max = 5 * each * MEMORY_PART;
        let issue = |length| cursors.issue_within(bytes_max, 1, &vec![b'k'; length]);
        let first: Vec<_> = (0..5).map(|_| issue(460)).collect();
        let valid = |from: &[u64]| from.iter().filter(|cursor| cursors.key(**cursor).is_some()).count();
        assert_eq!((cursors.bytes(), valid(&first)), (5 * each, 5));
        issue(460);
        assert_eq!((cursors.bytes(), valid(&first)), (5 * each, 4));
        assert_eq!(cursors.key(first[0]), None);
        issue(461);
        assert_eq!((cursors.bytes(), valid(&first)), (4 * each + 1, 2));
        // With a lower limit the newest is valid all the same.
        let newest = cursors.issue_within(1, 2, b"newest");
        assert_eq!((cursors.bytes(), valid(&first)), (CURSOR_BYTES + 6, 0));
        assert_eq!(cursors.key(newest).unwrap(), b"newest");
        drop(cursors.0);
        assert_eq!(cursors.1.bytes().get(), 0);
    }
}
