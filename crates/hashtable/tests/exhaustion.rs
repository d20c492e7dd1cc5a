//! Every allocation fails once: the operation reports it and leaves the table as it was.

mod common;

use honeycomb_hashtable::{Answers, Functions, Operation, TableConfig};
use honeycomb_memory::{Faults, Memory, MemoryConfig};
use honeycomb_testing::{Random, seed};

use common::{
    Answer, Model, OwnedOperation, TestTable, answer, assert_agrees, is_exhausted, memory, operation,
    requests, table,
};

/// Returns memory, and the faults of its allocations.
fn failing_memory() -> (Memory, Faults) {
    let faults = Faults::default();
    let config = MemoryConfig { arena_bytes: 64 << 20, huge_pages: false, ..Default::default() };
    (Memory::new(MemoryConfig { faults: faults.clone(), ..config }).unwrap(), faults)
}

/// Returns the parameters of a table that grows from the first pairs on.
fn growing() -> TableConfig {
    TableConfig { buckets: 2, fill_percent: Some(70), ..TableConfig::default() }
}

/// Repeats operations, and makes the next allocation of each fail, then the second, and so on, until the
/// operation succeeds. If the table cannot grow, the operation succeeds.
#[test]
fn a_failed_allocation_changes_nothing() {
    let mut random = Random::new(seed());
    let (memory, faults) = failing_memory();
    let table = table(&memory, &growing());
    let (mut model, mut failures) = (Model::default(), 0);
    let numbers = common::functions().1;
    for step in 0..6000 {
        let (key, operation) = (common::key(random.below(600)), operation(&mut random));
        for fault in 0.. {
            if step % 3 == 0 {
                // Empty caches, so that slabs come from new pages.
                table.merge_slabs();
            }
            let before = table.statistics();
            faults.set(fault);
            let mut out = Vec::new();
            let outcome = table.apply(&key, operation.borrow(&numbers), &mut out);
            faults.clear();
            if !is_exhausted(&outcome) {
                assert_agrees(&mut model, &key, &operation, outcome.as_ref().copied(), &out);
                break;
            }
            failures += 1;
            let after = table.statistics();
            assert_eq!((after.pairs, after.used_slots), (before.pairs, before.used_slots));
            assert_eq!(after.slabs.live_bytes(), before.slabs.live_bytes());
            assert!(out.is_empty(), "a failed operation has no answer");
        }
        if step % 100 == 0 {
            assert_eq!(table.verify().unwrap().pairs, model.len() as u64);
        }
    }
    assert!(failures > 100, "{failures} failures");
    for key in model.keys() {
        let mut out = Vec::new();
        let outcome = table.apply(&key, Operation::Get, &mut out);
        assert_agrees(&mut model, &key, &OwnedOperation::Get, outcome.as_ref().copied(), &out);
    }
    assert_eq!(memory.accounting().live_values as u64, table.verify().unwrap().overflow_pairs);
    memory.accounting().assert_complete();
}

/// Makes each allocation of a batch fail in turn. Each request either has failed, and then has no effect, or
/// agrees with an execution one by one.
#[test]
fn a_failed_allocation_of_a_batch_fails_single_requests() {
    let mut random = Random::new(seed());
    let (memory, faults) = failing_memory();
    let table = table(&memory, &growing());
    // Failures of batches without functions, which execute in order, and of others.
    let (mut model, mut failures) = (Model::default(), [0, 0]);
    for step in 0..3000 {
        let (batch, has_functions) = batch(&mut random);
        let before = model.clone();
        for fault in 0.. {
            restore(&table, &before, &batch);
            model = before.clone();
            if step % 3 == 0 {
                table.merge_slabs();
            }
            let seen = faults.seen();
            faults.set(fault);
            failures[usize::from(has_functions)] += execute(&table, &mut model, &batch);
            faults.clear();
            if faults.seen() <= seen + fault {
                break;
            }
        }
        assert_eq!(table.verify().unwrap().pair_bytes, model.bytes(), "step {step}");
    }
    assert!(failures.iter().all(|count| *count > 500), "{failures:?} failures");
    memory.reclaim();
    assert_eq!(memory.accounting().live_values as u64, table.verify().unwrap().overflow_pairs);
    memory.accounting().assert_complete();
}

type KeyOperation = (Vec<u8>, OwnedOperation);

/// Returns 1 to 30 operations on few keys, and whether some have functions.
fn batch(random: &mut Random) -> (Vec<KeyOperation>, bool) {
    let (count, with_functions) = (1 + random.below(30), random.chance(50));
    let mut batch = Vec::new();
    while batch.len() < count {
        let (key, operation) = (common::key(random.below(100)), operation(random));
        if with_functions || !operation.has_function() {
            batch.push((key, operation));
        }
    }
    let has_functions = batch.iter().any(|(_, operation)| operation.has_function());
    (batch, has_functions)
}

/// Gives the keys of a batch the values of a model.
fn restore(table: &TestTable<'_>, model: &Model, batch: &[KeyOperation]) {
    for (key, _) in batch {
        let operation = model.get(key).map_or(Operation::Delete, |value| Operation::Put(value));
        table.apply(key, operation, &mut Vec::new()).unwrap();
    }
}

/// Executes a batch, and each request that has not failed on the model. Returns the number of failures.
fn execute(table: &TestTable<'_>, model: &mut Model, batch: &[KeyOperation]) -> usize {
    let (mut answers, numbers) = (Answers::default(), common::functions().1);
    table.execute(&requests(batch, &numbers), &mut answers);
    let mut failed = 0;
    for (index, (key, operation)) in batch.iter().enumerate() {
        match answers.outcome(index) {
            outcome if is_exhausted(&outcome) => failed += 1,
            outcome => assert_agrees(model, key, operation, outcome, answers.bytes()),
        }
    }
    failed
}

/// In a full arena, some writes of a batch fail. The others have the effect that they have one by one.
#[test]
fn a_full_table_accepts_what_has_room() {
    let memory = memory(1 << 20);
    let config = TableConfig { buckets: 64, ..TableConfig::default() };
    let table = table(&memory, &config);
    let mut model = Model::default();
    let mut random = Random::new(seed());
    let (mut answers, mut failed) = (Answers::default(), 0);
    let numbers = common::functions().1;
    for round in 0..60 {
        let mut operations: Vec<_> = (0..300)
            .map(|_| {
                let length = random.below(2000);
                (random.below(2000).to_le_bytes(), OwnedOperation::Put(random.bytes(length)))
            })
            .collect();
        if round % 2 == 0 {
            // A batch with a function is executed through the station.
            operations.push((random.below(2000).to_le_bytes(), OwnedOperation::Filter(vec![0; 2])));
        }
        table.execute(&requests(&operations, &numbers), &mut answers);
        for (index, (key, operation)) in operations.iter().enumerate() {
            let outcome = answers.outcome(index);
            if is_exhausted(&outcome) {
                failed += 1;
            } else {
                assert_agrees(&mut model, key, operation, outcome, answers.bytes());
            }
        }
        assert_eq!(table.verify().unwrap().pair_bytes, model.bytes());
    }
    assert!(failed > 1000, "{failed} failed");
    for key in model.keys() {
        let mut out = Vec::new();
        let outcome = table.apply(&key, Operation::Delete, &mut out);
        assert_eq!(answer(outcome.as_ref().copied(), &out), Answer::Deleted, "a delete needs no memory");
    }
    assert_eq!(table.verify().unwrap().pairs, 0);
    table.apply(b"key", Operation::Put(&[1; 500]), &mut Vec::new()).unwrap();
}

#[test]
fn a_table_without_room_for_its_buckets_is_an_error() {
    let memory = memory(1 << 20);
    let config = TableConfig { buckets: 1 << 14, ..TableConfig::default() };
    let table = common::TestTable::new(&memory, config, Functions::default());
    assert!(is_exhausted(&table));
    memory.reclaim();
    assert_eq!(memory.accounting().live_table_page_bytes, 0);
}
