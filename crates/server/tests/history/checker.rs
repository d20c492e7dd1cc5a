//! A linearizability checker. A history is linearizable if some order of its operations explains all answers.
//! This order must keep the order of each client, and must not place an operation before another that ended
//! before it began. The checker is the search of Wing and Gong, and memoizes states without a solution.

use std::collections::HashSet;

pub(crate) const CLIENTS: usize = 4;
pub(crate) const KEYS: [&str; 3] = ["a", "b", "c"];

/// The value of a key.
pub(crate) type Value = Option<i64>;

/// The pairs, and the watched keys of each client with the values that they had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    values: [Value; KEYS.len()],
    watched: [Vec<(usize, Value)>; CLIENTS],
}

/// An operation of a client. Keys are indices into `KEYS`.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Get(usize),
    Set(usize, i64),
    Delete(usize),
    Increment(usize),
    /// All pairs.
    Range,
    Watch(usize),
    /// A transaction.
    Execute(Vec<Operation>),
}

/// An operation, its interval and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) operation: Operation,
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) answer: String,
}

impl State {
    pub(crate) fn of(values: [Value; KEYS.len()]) -> Self {
        Self { values, ..Self::default() }
    }
}

impl Operation {
    /// Applies the operation to a state and returns its answer, formatted as `common::show` does.
    pub(crate) fn apply(&self, client: usize, state: &mut State) -> String {
        let text = |value: Value| value.map_or("nil".to_owned(), |value| format!("'{value}'"));
        match *self {
            Self::Get(key) => text(state.values[key]),
            Self::Set(key, value) => {
                state.values[key] = Some(value);
                "OK".to_owned()
            }
            Self::Delete(key) => u8::from(state.values[key].take().is_some()).to_string(),
            Self::Increment(key) => {
                let value = state.values[key].unwrap_or(0) + 1;
                state.values[key] = Some(value);
                value.to_string()
            }
            Self::Range => {
                let pairs = KEYS.iter().zip(state.values).filter(|(_, value)| value.is_some());
                let pairs: Vec<_> = pairs.map(|(key, value)| format!("'{key}' {}", text(value))).collect();
                format!("[{}]", pairs.join(" "))
            }
            Self::Watch(key) => {
                state.watched[client].push((key, state.values[key]));
                "OK".to_owned()
            }
            Self::Execute(ref operations) => execute(operations, client, state),
        }
    }
}

/// Executes a transaction. It does nothing if and only if a watched key has changed.
fn execute(operations: &[Operation], client: usize, state: &mut State) -> String {
    let watched = std::mem::take(&mut state.watched[client]);
    if watched.iter().any(|&(key, seen)| state.values[key] != seen) {
        return "nil".to_owned();
    }
    let answers: Vec<_> = operations.iter().map(|operation| operation.apply(client, state)).collect();
    format!("[{}]", answers.join(" "))
}

/// Returns whether a history that begins in a state is linearizable.
pub(crate) fn is_linearizable(history: &[Vec<Event>; CLIENTS], begin: State) -> bool {
    search(history, [0; CLIENTS], begin, &mut HashSet::new())
}

/// Returns whether the rest of a history is linearizable after `done` operations of each client.
fn search(
    history: &[Vec<Event>; CLIENTS],
    done: [usize; CLIENTS],
    state: State,
    unsolvable: &mut HashSet<([usize; CLIENTS], State)>,
) -> bool {
    let next = |client: usize| history[client].get(done[client]);
    let pending: Vec<(usize, &Event)> =
        (0..CLIENTS).filter_map(|client| Some((client, next(client)?))).collect();
    if pending.is_empty() {
        return true;
    }
    if unsolvable.contains(&(done, state.clone())) {
        return false;
    }
    for &(client, event) in &pending {
        let must_follow = pending.iter().any(|(_, other)| other.ended < event.began);
        let mut after = state.clone();
        if must_follow || event.operation.apply(client, &mut after) != event.answer {
            continue;
        }
        let mut done_after = done;
        done_after[client] += 1;
        if search(history, done_after, after, unsolvable) {
            return true;
        }
    }
    unsolvable.insert((done, state));
    false
}
