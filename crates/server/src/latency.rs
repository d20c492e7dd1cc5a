//! Latency events for `LATENCY`: batches and commands that took longer than `latency-monitor-threshold`.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of entries of an event.
const ENTRIES_MAX: usize = 160;

/// The newest events. The only kind is `command`, for a batch of commands or one command.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    recorded: Mutex<RecordedEvents>,
}

/// The history of an event.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordedEvents {
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
        let mut recorded = self.lock();
        recorded.longest = recorded.longest.max(milliseconds);
        match recorded.entries.back_mut() {
            Some((last, longest)) if *last == at => *longest = (*longest).max(milliseconds),
            _ => recorded.entries.push_back((at, milliseconds)),
        }
        if recorded.entries.len() > ENTRIES_MAX {
            recorded.entries.pop_front();
        }
    }

    pub(crate) fn events(&self) -> RecordedEvents {
        self.lock().clone()
    }

    /// Removes all events. Returns whether there were any.
    pub(crate) fn clear(&self) -> bool {
        !std::mem::take(&mut *self.lock()).entries.is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, RecordedEvents> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_has_the_longest_event_of_each_of_the_newest_seconds() {
        let latency = Latency::default();
        [(1, 5), (1, 9), (1, 7), (2, 3)].iter().for_each(|(at, took)| latency.note(*at, *took));
        assert_eq!(latency.events().entries, [(1, 9), (2, 3)]);
        (3..3 + ENTRIES_MAX as u64).for_each(|at| latency.note(at, 1));
        let recorded = latency.events();
        assert_eq!((recorded.entries.len(), recorded.entries[0], recorded.longest), (ENTRIES_MAX, (3, 1), 9));
        assert!(latency.clear() && !latency.clear());
        assert_eq!(latency.events().longest, 0);
    }
}
