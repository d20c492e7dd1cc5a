//! Cursors of `SCAN`: numbers that stand for the keys after which scans continue, because clients require
//! numbers.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Maximum number of valid cursors. Older ones become invalid.
const CURSORS_MAX: usize = 1 << 16;

/// The keys of the valid cursors.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The number of cursors that have become invalid.
    forgotten: u64,
    keys: VecDeque<Vec<u8>>,
}

impl Cursors {
    /// Returns a cursor for the keys after a key. It is never 0, which denotes the beginning and the end.
    pub(crate) fn issue(&self, key: &[u8]) -> u64 {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.keys.len() == CURSORS_MAX {
            kept.keys.pop_front();
            kept.forgotten += 1;
        }
        kept.keys.push_back(key.to_vec());
        kept.forgotten + kept.keys.len() as u64
    }

    /// Returns the key of a cursor.
    pub(crate) fn key(&self, cursor: u64) -> Option<Vec<u8>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let index = cursor.checked_sub(kept.forgotten + 1)?;
        kept.keys.get(usize::try_from(index).ok()?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept() {
        let cursors = Cursors::default();
        let first = cursors.issue(b"first");
        assert_eq!(cursors.key(first).unwrap(), b"first");
        for _ in 1..CURSORS_MAX {
            cursors.issue(b"more");
        }
        assert_eq!(cursors.key(first).unwrap(), b"first");
        let last = cursors.issue(b"last");
        assert_eq!(cursors.key(first), None);
        assert_eq!(cursors.key(last).unwrap(), b"last");
        assert_eq!(cursors.key(last + 1), None);
        assert_eq!(cursors.key(0), None);
    }
}
