//! The queue of the two background threads, which take turns: an entry names the thread that executes it, the
//! entries leave in order, and only one of the threads executes an entry at any time. An entry that waits for
//! something enters the queue again after a pause, in which the others execute.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The pause of an entry that waits, and its addition for each other one. So those that wait take a small
/// part of the time of the threads, however many they are.
const PAUSE: Duration = Duration::from_millis(1);
const PAUSE_EACH: Duration = Duration::from_micros(10);

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
    /// The entries that wait, and the times at which they enter the queue again.
    waiting: VecDeque<(Instant, Role, T)>,
    /// A thread executes an entry.
    is_busy: bool,
    is_closed: bool,
}

impl<T> Turns<T> {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State::new()), changed: Condvar::new() }
    }

    /// Adds an entry.
    pub(super) fn push(&self, role: Role, entry: T) {
        self.state().entries.push_back((role, entry));
        // Either thread may be the one of the entry.
        self.changed.notify_all();
    }

    /// Adds an entry after a pause.
    pub(super) fn push_later(&self, role: Role, entry: T) {
        self.state().delay(Instant::now(), role, entry);
        self.changed.notify_all();
    }

    /// Removes and returns the first entry with a property.
    pub(super) fn remove(&self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let mut state = self.state();
        let entry = state.remove(is_it);
        self.changed.notify_all();
        entry
    }

    /// Waits for the next entry of a thread and executes it. Returns false when the queue is closed and
    /// empty.
    pub(super) fn execute_next(&self, role: Role, execute: impl FnOnce(T)) -> bool {
        let mut state = self.state();
        let entry = loop {
            if state.admit(Instant::now()) {
                self.changed.notify_all();
            }
            if let Some(entry) = state.begin(role) {
                break entry;
            }
            if state.has_ended() {
                return false;
            }
            state = self.wait(state, role);
        };
        drop(state);
        let _turn = Turn(self);
        execute(entry);
        true
    }

    /// Waits for a change, or until the next entry of the thread has waited long enough.
    fn wait<'s>(&self, state: MutexGuard<'s, State<T>>, role: Role) -> MutexGuard<'s, State<T>> {
        let next = state.waiting.front().filter(|(_, other, _)| *other == role).map(|(at, ..)| *at);
        let Some(at) = next else {
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        let pause = at.saturating_duration_since(Instant::now());
        self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Makes the threads end after the entries, which it passes to `each`. None waits any more.
    pub(super) fn close(&self, each: impl Fn(&T)) {
        let mut state = self.state();
        state.is_closed = true;
        state.admit_all();
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
    fn new() -> Self {
        Self { entries: VecDeque::new(), waiting: VecDeque::new(), is_busy: false, is_closed: false }
    }

    /// Makes an entry wait from a time on.
    fn delay(&mut self, now: Instant, role: Role, entry: T) {
        if self.is_closed {
            return self.entries.push_back((role, entry));
        }
        let others = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        let pause = PAUSE + PAUSE_EACH.saturating_mul(others);
        self.waiting.push_back((now + pause, role, entry));
    }

    /// Moves the entries that have waited long enough to the queue. Returns whether there were any.
    fn admit(&mut self, now: Instant) -> bool {
        let before = self.entries.len();
        while self.waiting.front().is_some_and(|(at, ..)| *at <= now) {
            self.entries.extend(self.waiting.pop_front().map(|(_, role, entry)| (role, entry)));
        }
        self.entries.len() > before
    }

    fn admit_all(&mut self) {
        self.entries.extend(self.waiting.drain(..).map(|(_, role, entry)| (role, entry)));
    }

    /// Removes and returns the first entry with a property.
    fn remove(&mut self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        if let Some(at) = self.entries.iter().position(|(_, entry)| is_it(entry)) {
            return self.entries.remove(at).map(|(_, entry)| entry);
        }
        let at = self.waiting.iter().position(|(.., entry)| is_it(entry))?;
        self.waiting.remove(at).map(|(.., entry)| entry)
    }

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
        self.is_closed && self.entries.is_empty() && self.waiting.is_empty() && !self.is_busy
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const ROLES: [Role; 2] = [Role::Background, Role::Exclusive];

    #[test]
    fn entries_that_wait_come_after_a_pause_behind_the_others() {
        let (mut state, now) = (State::new(), Instant::now());
        (0..100).for_each(|entry| state.delay(now, Role::Background, entry));
        state.entries.push_back((Role::Background, 1000));
        assert!(!state.admit(now) && state.remove(|entry| *entry == 50) == Some(50));
        assert!(state.admit(now + PAUSE), "one has waited long enough, and the others a bit longer");
        assert_eq!(state.entries.iter().map(|(_, entry)| *entry).collect::<Vec<_>>(), [1000, 0]);
        assert!(state.admit(now + PAUSE + 99 * PAUSE_EACH) && state.waiting.is_empty());
        assert_eq!(state.entries.len(), 100);
    }

    #[test]
    fn nothing_waits_in_a_closed_queue() {
        let turns = Turns::new();
        turns.push_later(Role::Exclusive, 1);
        turns.close(|_| ());
        turns.push_later(Role::Exclusive, 2);
        for expected in [1, 2] {
            assert!(turns.execute_next(Role::Exclusive, |entry| assert_eq!(entry, expected)));
        }
        assert!(!turns.execute_next(Role::Exclusive, |_| ()));
    }

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
