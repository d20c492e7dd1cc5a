//! The queue of the two background threads, which take turns: an entry names the thread that executes it, the
//! entries leave in order, and only one of the threads executes an entry at any time.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// One of the background threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Executes beside the cores, and has a lower priority than they have.
    Background,
    /// Executes while all cores wait, and has their priority.
    Exclusive,
}

/// The entries in order.
#[derive(Debug)]
pub(super) struct Turns<T> {
    state: Mutex<State<T>>,
    /// Notified after every change after which a thread may continue.
    changed: Condvar,
}

/// The turn of a thread. It ends when it is dropped, also if its entry panics: the other thread goes on.
struct Turn<'t, T>(&'t Turns<T>);

#[derive(Debug)]
struct State<T> {
    entries: VecDeque<(Role, T)>,
    /// A thread executes an entry.
    is_busy: bool,
    is_closed: bool,
}

impl<T> Turns<T> {
    pub(super) fn new() -> Self {
        let state = State { entries: VecDeque::new(), is_busy: false, is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds an entry.
    pub(super) fn push(&self, role: Role, entry: T) {
        self.state().entries.push_back((role, entry));
        // Either thread may be the one of the entry.
        self.changed.notify_all();
    }

    /// Removes and returns the first entry with a property.
    pub(super) fn remove(&self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let mut state = self.state();
        let at = state.entries.iter().position(|(_, entry)| is_it(entry))?;
        let entry = state.entries.remove(at);
        self.changed.notify_all();
        entry.map(|(_, entry)| entry)
    }

    /// Waits for the next entry of a thread and executes it. Returns false when the queue is closed and
    /// empty.
    pub(super) fn execute_next(&self, role: Role, execute: impl FnOnce(T)) -> bool {
        let mut state = self.state();
        let entry = loop {
            if let Some(entry) = state.begin(role) {
                break entry;
            }
            if state.has_ended() {
                return false;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        let _turn = Turn(self);
        execute(entry);
        true
    }

    /// Makes the threads end after the entries in the queue, which it passes to `each`.
    pub(super) fn close(&self, each: impl Fn(&T)) {
        let mut state = self.state();
        state.is_closed = true;
        state.entries.iter().for_each(|(_, entry)| each(entry));
        drop(state);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        self.0.state().is_busy = false;
        self.0.changed.notify_all();
    }
}

impl<T> State<T> {
    /// Removes and returns the first entry, if it is for this thread and the other one does not execute.
    fn begin(&mut self, role: Role) -> Option<T> {
        let is_next = self.entries.front().is_some_and(|(other, _)| *other == role);
        if self.is_busy || !is_next {
            return None;
        }
        self.is_busy = true;
        self.entries.pop_front().map(|(_, entry)| entry)
    }

    /// Whether no thread will execute an entry any more. One in progress may add another.
    fn has_ended(&self) -> bool {
        self.is_closed && self.entries.is_empty() && !self.is_busy
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const ROLES: [Role; 2] = [Role::Background, Role::Exclusive];

    #[test]
    fn the_thread_of_the_first_entry_executes_alone() {
        let turns = Turns::new();
        turns.push(Role::Background, 1);
        turns.push(Role::Exclusive, 2);
        let mut state = turns.state();
        assert_eq!(ROLES.map(|role| state.begin(role)), [Some(1), None]);
        assert_eq!(ROLES.map(|role| state.begin(role)), [None, None], "the other thread executes");
        state.is_busy = false;
        assert_eq!(ROLES.map(|role| state.begin(role)), [None, Some(2)]);
    }

    #[test]
    fn a_thread_ends_after_all_entries() {
        let turns = Turns::new();
        turns.push(Role::Background, 1);
        turns.close(|_| ());
        let mut state = turns.state();
        assert!(!state.has_ended());
        assert_eq!(state.begin(Role::Background), Some(1));
        assert!(!state.has_ended(), "the entry in progress may add another");
        state.is_busy = false;
        assert!(state.has_ended());
    }

    /// Each entry adds one for the other thread, until there were enough.
    #[test]
    fn both_threads_execute_all_entries_in_order() {
        let (turns, executed) = (&Turns::new(), &Mutex::new(Vec::new()));
        turns.push(Role::Background, 0);
        thread::scope(|scope| {
            for (role, other) in [(ROLES[0], ROLES[1]), (ROLES[1], ROLES[0])] {
                let execute = move |entry| {
                    executed.lock().unwrap().push((role, entry));
                    if entry < 100 { turns.push(other, entry + 1) } else { turns.close(|_| ()) }
                };
                scope.spawn(move || while turns.execute_next(role, execute) {});
            }
        });
        let expected: Vec<_> = (0..=100).map(|entry| (ROLES[entry % 2], entry)).collect();
        assert_eq!(*executed.lock().unwrap(), expected);
    }

    #[test]
    fn the_other_thread_goes_on_after_a_panic() {
        let turns = &Turns::new();
        turns.push(Role::Background, 1);
        turns.push(Role::Exclusive, 2);
        let panic = move || turns.execute_next(Role::Background, |_| panic!("an entry fails"));
        assert!(thread::scope(|scope| scope.spawn(panic).join()).is_err());
        assert_eq!(turns.state().begin(Role::Exclusive), Some(2));
    }

    #[test]
    fn an_entry_that_was_removed_does_not_execute() {
        let turns = Turns::new();
        (1..=3).for_each(|entry| turns.push(Role::Background, entry));
        assert_eq!([turns.remove(|entry| *entry == 2), turns.remove(|entry| *entry == 2)], [Some(2), None]);
        let mut state = turns.state();
        assert_eq!(state.begin(Role::Background), Some(1));
        state.is_busy = false;
        assert_eq!(state.begin(Role::Background), Some(3));
    }
}
