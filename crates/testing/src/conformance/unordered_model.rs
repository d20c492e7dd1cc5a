//! Unordered tables with the expected pairs, and the expected answers to operations on them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use honeycomb_accelerator::Status;
use honeycomb_hashtable::{Functions, Operation, Outcome, Table, TableConfig};
use honeycomb_memory::{Memory, MemoryConfig};

use crate::conformance::answers::Answer;

/// The unordered tables that the accelerator has. The operations of the suite execute on their models when
/// they are created, because a queue executes them in this order.
#[derive(Default)]
pub(super) struct UnorderedModel {
    tables: BTreeMap<u16, (SharedTable, Pairs)>,
    /// The expected answers by the identifiers of their requests.
    expected: HashMap<u64, Expected>,
}

pub(super) type SharedTable = Arc<Table<Arc<Memory>>>;
type Pairs = HashMap<Vec<u8>, Vec<u8>>;

/// The status of an answer, and its value.
#[derive(Debug, PartialEq)]
struct Expected(Status, Vec<u8>);

/// Creates a table that grows from its first pairs on, in a memory of its own.
pub(super) fn new_table(functions: &Arc<Functions>) -> SharedTable {
    let config = MemoryConfig { arena_bytes: 64 << 20, huge_pages: false, ..MemoryConfig::default() };
    let memory = Arc::new(Memory::new(config).expect("the configuration is valid"));
    let config = TableConfig { buckets: 1, ..TableConfig::default() };
    Arc::new(Table::new(memory, config, functions.clone()).expect("there is room"))
}

impl UnorderedModel {
    pub(super) fn add(&mut self, number: u16, table: SharedTable) {
        self.tables.insert(number, (table, Pairs::new()));
    }

    pub(super) fn remove(&mut self, number: u16) {
        self.tables.remove(&number);
    }

    pub(super) fn value(&self, table: u16, key: &[u8]) -> Option<&Vec<u8>> {
        self.tables.get(&table)?.1.get(key)
    }

    /// Executes an operation on the model, and keeps the answer.
    pub(super) fn execute(
        &mut self,
        functions: &Functions,
        (identifier, table): (u64, u16),
        key: &[u8],
        operation: &Operation<'_>,
    ) {
        let expected = match self.tables.get_mut(&table) {
            Some((_, pairs)) => expected(pairs, functions, key, operation),
            None => Expected(Status::UnknownTable, Vec::new()),
        };
        self.expected.insert(identifier, expected);
    }

    /// Returns the expectation that an answer does not meet; `None` if it is correct. Operations that have
    /// not executed on the model, such as mutated requests, have no table.
    pub(super) fn error_of(&self, identifier: u64, answer: &Answer) -> Option<String> {
        let unknown = Expected(Status::UnknownTable, Vec::new());
        let expected = self.expected.get(&identifier).unwrap_or(&unknown);
        let is_equal = answer.status == Some(expected.0) && answer.value == expected.1;
        let has_no_other = answer.pairs.is_empty() && !answer.more;
        let is_correct = is_equal && has_no_other && (answer.read_version, answer.pair_version) == (0, 0);
        (!is_correct).then(|| format!("expected {expected:?}, not the value {:?}", answer.value))
    }

    /// Checks the pairs of all tables.
    pub(super) fn check_tables(&self) {
        for (table, pairs) in self.tables.values() {
            table.verify().expect("the table is correct");
            assert_eq!(table.statistics().pairs, pairs.len() as u64);
            for (key, value) in pairs {
                let mut found = Vec::new();
                table.apply(key, Operation::Get, &mut found).expect("the key is valid");
                assert_eq!(found, *value, "the value of {key:?}");
            }
        }
    }
}

/// Executes an operation on the pairs of a model. The crate of the functions tests them beside plain loops.
fn expected(pairs: &mut Pairs, functions: &Functions, key: &[u8], operation: &Operation<'_>) -> Expected {
    let empty = |status| Expected(status, Vec::new());
    if operation.check(functions).is_err() {
        return empty(Status::InvalidFunction);
    }
    let Some(current) = pairs.get_mut(key) else {
        let (Operation::Put(value) | Operation::Insert(value)) = operation else {
            return empty(Status::Absent);
        };
        pairs.insert(key.to_vec(), value.to_vec());
        return empty(Status::Inserted);
    };
    let (mut computed, mut answer) = (Vec::new(), Vec::new());
    let outcome = operation.execute(current, functions, &mut computed, &mut answer);
    match outcome.expect("the operation is valid") {
        Outcome::Found(_) => Expected(Status::Found, answer),
        Outcome::Mismatch(_) => Expected(Status::Mismatch, answer),
        Outcome::Original(_) => {
            *current = computed;
            Expected(Status::Original, answer)
        }
        Outcome::Updated => {
            *current = new_value(operation).to_vec();
            empty(Status::Updated)
        }
        Outcome::Deleted => {
            pairs.remove(key);
            empty(Status::Deleted)
        }
        Outcome::Exists => empty(Status::Exists),
        Outcome::NotElements { .. } => empty(Status::NotElements),
        Outcome::Absent | Outcome::Inserted => panic!("the key exists"),
    }
}

fn new_value<'o>(operation: &Operation<'o>) -> &'o [u8] {
    match operation {
        Operation::Put(value) | Operation::Update(value) | Operation::CompareAndSwap { value, .. } => value,
        _ => panic!("{operation:?} does not replace a value"),
    }
}
