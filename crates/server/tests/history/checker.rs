//! Whether a history of clients is linearizable: whether in some order of their operations, in which those of
//! a client are in theirs and none comes before one that had ended when it began, all answers are right (a
//! search by Wing and Gong, which remembers where it was in vain).

use std::collections::HashSet;

pub(crate) const CLIENTS: usize = 4;
pub(crate) const KEYS: [&str; 3] = ["a", "b", "c"];

/// What a key holds.
pub(crate) type Value = Option<i64>;

/// The pairs, and what clients watch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    values: [Value; KEYS.len()],
    watched: [Vec<(usize, Value)>; CLIENTS],
}

/// What a client asks for, by the number of a key.
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

/// An operation, when it was, and what was answered.
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
    /// What it does to a state: what is answered, as texts of tests show it.
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

/// A transaction does nothing if what is watched has changed, and only then.
fn execute(operations: &[Operation], client: usize, state: &mut State) -> String {
    let watched = std::mem::take(&mut state.watched[client]);
    if watched.iter().any(|&(key, seen)| state.values[key] != seen) {
        return "nil".to_owned();
    }
    let answers: Vec<_> = operations.iter().map(|operation| operation.apply(client, state)).collect();
    format!("[{}]", answers.join(" "))
}

/// Whether a history that begins in a state is linearizable.
pub(crate) fn is_linearizable(history: &[Vec<Event>; CLIENTS], begin: State) -> bool {
    search(history, [0; CLIENTS], begin, &mut HashSet::new())
}

/// Whether what is left of a history is, once so many operations of each client were.
fn search(
    history: &[Vec<Event>; CLIENTS],
    done: [usize; CLIENTS],
    state: State,
    in_vain: &mut HashSet<([usize; CLIENTS], State)>,
) -> bool {
    let next = |client: usize| history[client].get(done[client]);
    let left: Vec<(usize, &Event)> =
        (0..CLIENTS).filter_map(|client| Some((client, next(client)?))).collect();
    if left.is_empty() {
        return true;
    }
    if in_vain.contains(&(done, state.clone())) {
        return false;
    }
    for &(client, event) in &left {
        let is_late = left.iter().any(|(_, other)| other.ended < event.began);
        let mut after = state.clone();
        if is_late || event.operation.apply(client, &mut after) != event.answer {
            continue;
        }
        let mut further = done;
        further[client] += 1;
        if search(history, further, after, in_vain) {
            return true;
        }
    }
    in_vain.insert((done, state));
    false
}
