//! A linearizability checker. A history is linearizable if some order of its operations explains all answers.
//! This order must keep the order of each client, and must not place an operation before another that ended
//! before it began. The checker is the search of Wing and Gong, and memoizes states without a solution.

use std::collections::HashSet;
use std::hash::Hash;

/// A sequential object: the specification of the operations that clients execute concurrently.
pub trait Sequential: Clone + Eq + Hash {
    /// An operation.
    type Operation;
    /// The answer to an operation.
    type Answer: PartialEq;

    /// Applies an operation of a client, and returns its answer.
    fn apply(&mut self, client: usize, operation: &Self::Operation) -> Self::Answer;

    /// Returns whether an operation changes no state. Then the search tries no other order of it.
    fn is_read(_: &Self::Operation) -> bool {
        false
    }

    /// Returns whether an answer stands for none, after a crash for example: then the operation has had its
    /// effect or has had none.
    fn is_missing(_: &Self::Answer) -> bool {
        false
    }
}

/// An operation of a client, its interval and its answer. A shared clock defines `began` and `ended`.
#[derive(Debug, Clone)]
pub struct Event<O, A> {
    /// The operation.
    pub operation: O,
    /// The time before the client sent it.
    pub began: u64,
    /// The time after the client received the answer.
    pub ended: u64,
    /// The answer.
    pub answer: A,
}

/// The operations of each client, in the order in which the client sent them.
pub type History<S> = [Vec<Event<<S as Sequential>::Operation, <S as Sequential>::Answer>>];

/// Returns whether a history that begins in a state is linearizable.
pub fn is_linearizable<S: Sequential>(history: &History<S>, begin: S) -> bool {
    search(history, vec![0; history.len()], begin, &mut HashSet::new())
}

/// Returns whether the rest of a history is linearizable after `done` operations of each client.
///
/// A read with the answer of the state is the next operation, and no other is tried: in any order that has it
/// later, it can be moved to here.
fn search<S: Sequential>(
    history: &History<S>,
    done: Vec<usize>,
    state: S,
    unsolvable: &mut HashSet<(Vec<usize>, S)>,
) -> bool {
    let next = |client: usize| Some((client, history[client].get(done[client])?));
    let pending: Vec<_> = (0..history.len()).filter_map(next).collect();
    if pending.is_empty() {
        return true;
    }
    if unsolvable.contains(&(done.clone(), state.clone())) {
        return false;
    }
    let must_follow =
        |event: &Event<S::Operation, S::Answer>| pending.iter().any(|(_, other)| other.ended < event.began);
    let mut after = Vec::new();
    for &(client, event) in pending.iter().filter(|(_, event)| !must_follow(event)) {
        let mut done = done.clone();
        done[client] += 1;
        let states = states_after(&state, client, event);
        if S::is_read(&event.operation) && !states.is_empty() {
            return search(history, done, state, unsolvable);
        }
        after.extend(states.into_iter().map(|state| (done.clone(), state)));
    }
    if after.into_iter().any(|(done, state)| search(history, done, state, unsolvable)) {
        return true;
    }
    unsolvable.insert((done, state));
    false
}

/// Returns the states that an operation may leave behind if it is the next one of the order. There is no such
/// state if its answer would differ.
fn states_after<S: Sequential>(state: &S, client: usize, event: &Event<S::Operation, S::Answer>) -> Vec<S> {
    let mut after = state.clone();
    let answer = after.apply(client, &event.operation);
    debug_assert!(!S::is_read(&event.operation) || after == *state);
    if S::is_missing(&event.answer) {
        return vec![after, state.clone()];
    }
    Vec::from_iter((answer == event.answer).then_some(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
    struct Register(u8);

    #[derive(Debug, Clone)]
    enum Operation {
        Read,
        Write(u8),
    }

    impl Sequential for Register {
        type Operation = Operation;
        type Answer = u8;

        fn is_read(operation: &Operation) -> bool {
            matches!(operation, Operation::Read)
        }

        fn apply(&mut self, _: usize, operation: &Operation) -> u8 {
            if let Operation::Write(value) = operation {
                self.0 = *value;
            }
            self.0
        }
    }

    fn event(operation: Operation, began: u64, ended: u64, answer: u8) -> Event<Operation, u8> {
        Event { operation, began, ended, answer }
    }

    fn is_fine(clients: &[&[Event<Operation, u8>]]) -> bool {
        let history: Vec<_> = clients.iter().map(|events| events.to_vec()).collect();
        is_linearizable(&history, Register::default())
    }

    #[test]
    fn a_completed_write_is_visible() {
        let write = [event(Operation::Write(7), 0, 1, 7)];
        assert!(is_fine(&[&write, &[event(Operation::Read, 2, 3, 7)]]));
        assert!(!is_fine(&[&write, &[event(Operation::Read, 2, 3, 0)]]));
    }

    #[test]
    fn a_concurrent_write_is_visible_or_not() {
        let write = [event(Operation::Write(7), 0, 3, 7)];
        assert!(is_fine(&[&write, &[event(Operation::Read, 1, 2, 0)]]));
        assert!(is_fine(&[&write, &[event(Operation::Read, 1, 2, 7)]]));
        assert!(!is_fine(&[&write, &[event(Operation::Read, 1, 2, 7), event(Operation::Read, 2, 2, 0)]]));
    }
}
