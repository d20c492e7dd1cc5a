//! The specification of the commands of a history: a few keys, and the watched keys of each client.

use honeycomb_testing::linearizability::{self, Sequential};

pub(crate) const CLIENTS: usize = 4;
pub(crate) const KEYS: [&str; 3] = ["a", "b", "c"];

/// The value of a key.
pub(crate) type Value = Option<i64>;

/// The pairs, and the watched keys of each client with the values that they had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Keyspace {
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
    Range {
        /// Whether its limit is small.
        is_short: bool,
    },
    Watch(usize),
    /// The client connects again, so it watches nothing.
    Connect,
    /// A transaction.
    Execute(Vec<Operation>),
}

/// The answer to an operation that got none.
pub(crate) const NO_ANSWER: &str = "(no answer)";

/// An operation and its answer, formatted as `common::show` does.
pub(crate) type Event = linearizability::Event<Operation, String>;

impl Keyspace {
    pub(crate) fn of(values: [Value; KEYS.len()]) -> Self {
        Self { values, ..Self::default() }
    }

    /// Executes a transaction. It does nothing if and only if a watched key has changed.
    fn execute(&mut self, client: usize, operations: &[Operation]) -> String {
        let watched = std::mem::take(&mut self.watched[client]);
        if watched.iter().any(|&(key, seen)| self.values[key] != seen) {
            return "nil".to_owned();
        }
        let answers: Vec<_> = operations.iter().map(|operation| self.apply(client, operation)).collect();
        format!("[{}]", answers.join(" "))
    }
}

impl Sequential for Keyspace {
    type Operation = Operation;
    type Answer = String;

    fn is_missing(answer: &String) -> bool {
        answer == NO_ANSWER
    }

    fn apply(&mut self, client: usize, operation: &Operation) -> String {
        let text = |value: Value| value.map_or("nil".to_owned(), |value| format!("'{value}'"));
        match *operation {
            Operation::Get(key) => text(self.values[key]),
            Operation::Set(key, value) => {
                self.values[key] = Some(value);
                "OK".to_owned()
            }
            Operation::Delete(key) => u8::from(self.values[key].take().is_some()).to_string(),
            Operation::Increment(key) => {
                let value = self.values[key].unwrap_or(0) + 1;
                self.values[key] = Some(value);
                value.to_string()
            }
            Operation::Range { .. } => {
                let pairs = KEYS.iter().zip(self.values).filter(|(_, value)| value.is_some());
                let pairs: Vec<_> = pairs.map(|(key, value)| format!("'{key}' {}", text(value))).collect();
                format!("[{}]", pairs.join(" "))
            }
            Operation::Watch(key) => {
                self.watched[client].push((key, self.values[key]));
                "OK".to_owned()
            }
            Operation::Connect => {
                self.watched[client].clear();
                String::new()
            }
            Operation::Execute(ref operations) => self.execute(client, operations),
        }
    }
}
