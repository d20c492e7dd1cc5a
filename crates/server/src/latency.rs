//! Latency events: what took longer than `latency-monitor-threshold`, for `LATENCY`.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Entries that an event keeps.
const ENTRIES_MAX: usize = 160;

/// The newest events. There is one kind of them: `command`, a batch of commands or one command.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    noted: Mutex<Noted>,
}

/// What was noted of an event.
#[derive(Debug, Clone, Default)]
pub(crate) struct Noted {
    /// Seconds since 1970, and milliseconds that it took; the oldest first. Of one second the longest.
    pub(crate) entries: VecDeque<(u64, u64)>,
    /// The longest of all, in milliseconds.
    pub(crate) longest: u64,
}

/// The name of the event.
pub(crate) const EVENT: &str = "command";

impl Latency {
    /// Notes that commands took so many milliseconds, at a time in seconds since 1970.
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

    /// Forgets everything: whether there was something.
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
    fn of_a_second_the_longest_is_kept_and_of_all_the_newest() {
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
