//! The specification of the commands of a history: a few keys, and the watched keys of each client.

use honeycomb_testing::linearizability::{self, Sequential};

pub(crate) const CLIENTS: usize = 4;
pub(crate) const KEYS: [&str; 3] = ["a", "b", "c"];

/// The value of a pair, and its deadline in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    value: i64,
    deadline: Option<u64>,
}

/// The pairs, and the watched keys of each client with the pairs that they had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Keyspace {
    pairs: [Option<Pair>; KEYS.len()],
    watched: [Vec<(usize, Option<Pair>)>; CLIENTS],
}

/// An operation of a client. Keys are indices into `KEYS`.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Get(usize),
    Set(usize, i64),
    /// A set with a deadline in milliseconds since 1970.
    SetUntil(usize, i64, u64),
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
    /// It is this time now, in milliseconds since 1970. No operation is in progress.
    Time(u64),
    /// A transaction.
    Execute(Vec<Operation>),
}

/// The answer to an operation that got none.
pub(crate) const NO_ANSWER: &str = "(no answer)";

/// An operation and its answer, formatted as `common::show` does.
pub(crate) type Event = linearizability::Event<Operation, String>;

impl Keyspace {
    /// Pairs without deadlines.
    pub(crate) fn of(values: [Option<i64>; KEYS.len()]) -> Self {
        let pair = |value: i64| Pair { value, deadline: None };
        Self { pairs: values.map(|value| value.map(pair)), ..Self::default() }
    }

    /// Executes a transaction. It does nothing if and only if a watched key has changed.
    fn execute(&mut self, client: usize, operations: &[Operation]) -> String {
        let watched = std::mem::take(&mut self.watched[client]);
        if watched.iter().any(|&(key, seen)| self.pairs[key] != seen) {
            return "nil".to_owned();
        }
        let answers: Vec<_> = operations.iter().map(|operation| self.apply(client, operation)).collect();
        format!("[{}]", answers.join(" "))
    }
}

impl Sequential for Keyspace {
    type Operation = Operation;
    type Answer = String;

    fn is_read(operation: &Operation) -> bool {
        matches!(operation, Operation::Get(_) | Operation::Range { .. })
    }

    fn is_missing(answer: &String) -> bool {
        answer == NO_ANSWER
    }

    fn apply(&mut self, client: usize, operation: &Operation) -> String {
        let text = |pair: Option<Pair>| pair.map_or("nil".to_owned(), |pair| format!("'{}'", pair.value));
        let mut put = |key: usize, value, deadline| {
            self.pairs[key] = Some(Pair { value, deadline });
            "OK".to_owned()
        };
        match *operation {
            Operation::Get(key) => text(self.pairs[key]),
            Operation::Set(key, value) => put(key, value, None),
            Operation::SetUntil(key, value, deadline) => put(key, value, Some(deadline)),
            Operation::Delete(key) => u8::from(self.pairs[key].take().is_some()).to_string(),
            Operation::Increment(key) => {
                let pair = self.pairs[key].get_or_insert(Pair { value: 0, deadline: None });
                pair.value += 1;
                pair.value.to_string()
            }
            Operation::Range { .. } => {
                let pairs = KEYS.iter().zip(self.pairs).filter(|(_, pair)| pair.is_some());
                let pairs: Vec<_> = pairs.map(|(key, pair)| format!("'{key}' {}", text(pair))).collect();
                format!("[{}]", pairs.join(" "))
            }
            Operation::Watch(key) => {
                self.watched[client].push((key, self.pairs[key]));
                "OK".to_owned()
            }
            Operation::Connect => {
                self.watched[client].clear();
                String::new()
            }
            Operation::Time(now) => {
                let is_over = |pair: &mut Pair| pair.deadline.is_some_and(|deadline| deadline <= now);
                self.pairs.iter_mut().for_each(|pair| _ = pair.take_if(is_over));
                String::new()
            }
            Operation::Execute(ref operations) => self.execute(client, operations),
        }
    }
}
