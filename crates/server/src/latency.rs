//! Latency events for `LATENCY`: batches and commands that took longer than `latency-monitor-threshold`.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of entries of an event.
const ENTRIES_MAX: usize = 160;

/// The newest events. The only kind is `command`, for a batch of commands or one command.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    noted: Mutex<Noted>,
}

/// The history of an event.
#[derive(Debug, Clone, Default)]
pub(crate) struct Noted {
    /// Time in seconds since 1970 and duration in milliseconds, oldest first. Each second has only its
    /// longest event.
    pub(crate) entries: VecDeque<(u64, u64)>,
    /// The maximum duration in milliseconds.
    pub(crate) longest: u64,
}

/// The name of the event.
pub(crate) const EVENT: &str = "command";

impl Latency {
    /// Records an event at a time in seconds since 1970.
    pub(crate) fn note(&self, at: u64, milliseconds: u64) {
        let mut noted = self.lock();
        noted.longest = noted.longest.max(milliseconds);
        match noted.entries.back_mut() {
            Some((last, longest)) if *last == at => *longest = (*longest).max(milliseconds),
            _ => noted.entries.push_back((at, milliseconds)),
        }
        if noted.entries.len() > ENTRIES_MAX {
            noted.entries.pop_front();
        }
    }

    pub(crate) fn noted(&self) -> Noted {
        self.lock().clone()
    }

    /// Removes all events. Returns whether there were any.
    pub(crate) fn forget(&self) -> bool {
        !std::mem::take(&mut *self.lock()).entries.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_has_the_longest_event_of_each_of_the_newest_seconds() {
        let latency = Latency::default();
        [(1, 5), (1, 9), (1, 7), (2, 3)].iter().for_each(|(at, took)| latency.note(*at, *took));
        assert_eq!(latency.noted().entries, [(1, 9), (2, 3)]);
        (3..3 + ENTRIES_MAX as u64).for_each(|at| latency.note(at, 1));
        let noted = latency.noted();
        assert_eq!((noted.entries.len(), noted.entries[0], noted.longest), (ENTRIES_MAX, (3, 1), 9));
        assert!(latency.forget() && !latency.forget());
        assert_eq!(latency.noted().longest, 0);
    }
}
