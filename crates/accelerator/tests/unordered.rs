//! Operations on unordered tables in the software accelerator: batches, records of writes, and a full memory.
#![allow(missing_docs)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use honeycomb_accelerator::{
    Accelerator, Backend, Completions, Queue, Read, Request, Requests, Software, Status, UnorderedTable,
};
use honeycomb_btree::{Config, Forest};
use honeycomb_hashtable::{
    self as hashtable, Answers, Before, BuiltIn, Element, Functions, Operation, Recorder, Table, TableConfig,
};
use honeycomb_memory::{Memory, MemoryConfig};
use honeycomb_testing::{Random, seed};

const ONE: [u8; 8] = 1_u64.to_le_bytes();
const ADD: Operation<'_> =
    Operation::UpdateScalar { function: BuiltIn::Add.number(Element::U64), operands: &ONE };

fn accelerator() -> Box<dyn Accelerator> {
    let forest = Arc::new(Forest::new(Config::default()).unwrap());
    Software::default().attach(&forest, &Arc::default()).unwrap()
}

/// A table in an arena of its own.
fn table(arena_bytes: usize) -> Table<Arc<Memory>> {
    let config = MemoryConfig { arena_bytes, huge_pages: false, ..MemoryConfig::default() };
    let memory = Arc::new(Memory::new(config).unwrap());
    Table::new(memory, TableConfig::default(), Functions::default()).unwrap()
}

fn push(requests: &mut Requests, identifier: u64, table: u16, key: &[u8], operation: Operation<'_>) {
    let read = Read::Unordered(hashtable::Request { key, operation });
    requests.push(&Request { identifier, table, version: None, read }).unwrap();
}

/// Executes requests that fit into the queue. Returns the status and the value of each by identifier.
fn execute(queue: &mut dyn Queue, requests: &Requests) -> HashMap<u64, (Status, Vec<u8>)> {
    let mut completions = Completions::default();
    assert_eq!(queue.submit(requests.bytes()), requests.bytes().len());
    assert_eq!(queue.poll(&mut completions), 0);
    let value = |value: Option<&[u8]>| value.unwrap_or_default().to_vec();
    completions.iter().map(|it| (it.identifier, (it.status, value(it.value())))).collect()
}

/// A table that notes the number of operations of each batch.
struct Counted {
    table: Table<Arc<Memory>>,
    batches: Mutex<Vec<usize>>,
}

impl UnorderedTable for Counted {
    fn execute(&self, requests: &[hashtable::Request<'_>], answers: &mut Answers) {
        self.batches.lock().unwrap().push(requests.len());
        self.table.execute(requests, answers);
    }
}

/// Reads of ordered tables do not end a batch; another table, or as many operations as a station has, do.
#[test]
fn consecutive_operations_of_a_table_are_one_batch() {
    let accelerator = accelerator();
    let tables = [1, 2].map(|number| {
        let counted = Arc::new(Counted { table: table(8 << 20), batches: Mutex::default() });
        accelerator.set_unordered(number, Some(counted.clone()));
        counted
    });
    let (mut queue, mut requests) = (accelerator.queue(), Requests::default());
    push(&mut requests, 0, 1, b"counter", Operation::Put(&[0; 8]));
    for identifier in 1..=2_500 {
        push(&mut requests, identifier, 1, b"counter", ADD);
        let read = Read::Get(b"key");
        requests.push(&Request { identifier: 0, table: 7, version: None, read }).unwrap();
    }
    for (identifier, number) in (3_000..).zip([2, 2, 1, 2]) {
        push(&mut requests, identifier, number, b"counter", Operation::Get);
    }
    let answers = execute(&mut *queue, &requests);
    for identifier in 1..=2_500_u64 {
        assert_eq!(answers[&identifier], (Status::Original, (identifier - 1).to_le_bytes().to_vec()));
    }
    let batches = tables.map(|counted| counted.batches.lock().unwrap().clone());
    assert_eq!(batches, [vec![1_024, 1_024, 453, 1], vec![2, 1]]);
}

/// Keeps the effects of writes, as a log does.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<HashMap<Vec<u8>, Vec<u8>>>>);

impl Recorder for Log {
    fn record(&self, key: &[u8], value: Option<&[u8]>, _before: Before<'_>) {
        let mut pairs = self.0.lock().unwrap();
        match value {
            Some(value) => drop(pairs.insert(key.to_vec(), value.to_vec())),
            None => drop(pairs.remove(key)),
        }
    }

    fn record_clear(&self) {
        self.0.lock().unwrap().clear();
    }
}

/// A replay of the records restores the table.
#[test]
fn the_recorder_of_a_table_receives_all_writes() {
    let (mut random, log) = (Random::new(seed()), Log::default());
    let table = Arc::new(table(8 << 20).recorded_by(Box::new(log.clone())));
    let accelerator = accelerator();
    accelerator.set_unordered(1, Some(table.clone()));
    let mut queue = accelerator.queue();
    for _ in 0..50 {
        let mut requests = Requests::default();
        for identifier in 0..100 {
            let (key, value) = ([random.below(20) as u8], random.next().to_le_bytes());
            let swap = Operation::CompareAndSwap { expected: &ONE, value: &value };
            let put_one = Operation::Put(&ONE);
            let all = [put_one, Operation::Insert(&value), Operation::Delete, swap, ADD, Operation::Get];
            push(&mut requests, identifier, 1, &key, random.pick(&all));
        }
        execute(&mut *queue, &requests);
        let pairs = log.0.lock().unwrap();
        assert_eq!(table.statistics().pairs, pairs.len() as u64);
        for (key, value) in &*pairs {
            let mut found = Vec::new();
            table.apply(key, Operation::Get, &mut found).unwrap();
            assert_eq!(found, *value);
        }
    }
}

/// A write without memory has a status of its own, and changes nothing. Operations beside it execute.
#[test]
fn writes_without_memory_change_nothing() {
    let accelerator = accelerator();
    accelerator.set_unordered(1, Some(Arc::new(table(1 << 20))));
    let (mut queue, mut requests, value) = (accelerator.queue(), Requests::default(), [7; 20_000]);
    for number in 0..40_u64 {
        push(&mut requests, number, 1, &number.to_le_bytes(), Operation::Insert(&value));
    }
    let inserted = execute(&mut *queue, &requests);
    requests.clear();
    for number in 0..40_u64 {
        push(&mut requests, number, 1, &number.to_le_bytes(), Operation::Get);
    }
    let found = execute(&mut *queue, &requests);
    let mut exhausted = 0;
    for number in 0..40 {
        match inserted[&number].0 {
            Status::Inserted => assert_eq!(found[&number], (Status::Found, value.to_vec())),
            status => {
                assert_eq!((status, found[&number].0), (Status::OutOfMemory, Status::Absent));
                exhausted += 1;
            }
        }
    }
    assert!((1..40).contains(&exhausted), "{exhausted} writes found no memory");
}
