//! Random operations on small tables beside a hash map: long chains, full slabs, growth under way.

mod common;

use honeycomb_hashtable::{Answers, Functions, Request, TableConfig};
use honeycomb_testing::{Random, number, seed};

use common::{Model, OwnedOperation, is_exhausted, memory, operation, table};

/// An arena, and the number of keys of a table in it.
struct Room {
    arena_bytes: usize,
    keys: usize,
}

/// Enough for all pairs.
const ENOUGH: Room = Room { arena_bytes: 64 << 20, keys: 300 };
/// Too little for all pairs: five pages. Between 250 and 11,000 of 140,000 operations find no memory.
const LITTLE: Room = Room { arena_bytes: 5 << 16, keys: 1500 };

/// Five million operations, one at a time and in batches, with every threshold and number of buckets. In a
/// third of the tables some find no memory.
#[test]
fn agrees_with_a_map() {
    let mut random = Random::new(seed());
    let steps = number("HONEYCOMB_MODEL_STEPS", 140_000);
    let (mut rooms, mut failed) = ([ENOUGH, LITTLE, ENOUGH].iter().cycle(), 0);
    for buckets in [1, 2, 16] {
        for fill_percent in [None, Some(40), Some(90)] {
            for inline_pair_bytes_max in [0, 10, 30, 50] {
                let seed = random.next();
                let config = TableConfig { buckets, inline_pair_bytes_max, fill_percent, seed };
                println!("{config:?}");
                failed += run(&config, rooms.next().unwrap_or(&ENOUGH), steps, &mut random);
            }
        }
    }
    assert!(failed > steps / 20, "{failed} operations failed");
}

/// Returns the number of operations that have found no memory, which change nothing.
fn run(config: &TableConfig, room: &Room, steps: usize, random: &mut Random) -> usize {
    let memory = memory(room.arena_bytes);
    let table = table(&memory, config);
    let (mut model, mut answers) = (Model::default(), Answers::default());
    let (mut done, mut keys, mut failed) = (0, 1, 0);
    while done < steps {
        // The number of keys rises and falls.
        keys = (keys * 2).min(if random.chance(10) { 1 } else { room.keys });
        let batch = random.pick(&[1, 1, 2, 30, 200, 1500]);
        // A batch without functions needs no station.
        let kind = random.pick(&[gets as fn(&mut Random) -> _, without_functions, operation, operation]);
        let operations: Vec<_> =
            (0..batch).map(|_| (common::key(random.below(keys)), kind(random))).collect();
        let functions = common::functions().1;
        if batch == 1 {
            let (key, operation) = &operations[0];
            let mut out = vec![7];
            let outcome = table.apply(key, operation.borrow(&functions), &mut out);
            if is_exhausted(&outcome) {
                failed += 1;
            } else {
                common::assert_agrees(&mut model, key, operation, outcome.as_ref().copied(), &out);
            }
            assert_eq!(out[0], 7);
        } else {
            let requests: Vec<_> = operations
                .iter()
                .map(|(key, operation)| Request { key, operation: operation.borrow(&functions) })
                .collect();
            table.execute(&requests, &mut answers);
            assert_eq!(answers.len(), batch);
            for (index, (key, operation)) in operations.iter().enumerate() {
                match answers.outcome(index) {
                    outcome if is_exhausted(&outcome) => failed += 1,
                    outcome => {
                        common::assert_agrees(&mut model, key, operation, outcome, answers.bytes());
                    }
                }
            }
        }
        done += batch;
        if random.chance(5) {
            check(&table, &model);
        }
        if random.chance(1) {
            table.merge_slabs();
        }
    }
    check(&table, &model);
    for key in model.keys() {
        table.apply(&key, OwnedOperation::Delete.borrow(&[]), &mut Vec::new()).unwrap();
    }
    table.merge_slabs();
    let statistics = table.statistics();
    assert_eq!((statistics.pairs, statistics.used_slots), (0, 0));
    assert_eq!(statistics.slabs.page_bytes, 0, "an empty table has no slabs: {statistics:?}");
    drop(table);
    memory.reclaim();
    let accounting = memory.accounting();
    assert_eq!((accounting.live_table_page_bytes, accounting.live_values), (0, 0));
    accounting.assert_complete();
    failed
}

fn gets(_: &mut Random) -> OwnedOperation {
    OwnedOperation::Get
}

fn without_functions(random: &mut Random) -> OwnedOperation {
    loop {
        let operation = operation(random);
        if !operation.has_function() {
            return operation;
        }
    }
}

fn check(table: &common::TestTable<'_>, model: &Model) {
    let census = table.verify().unwrap();
    assert_eq!(census.pairs, model.len() as u64);
    assert_eq!(census.pair_bytes, model.bytes());
    assert_eq!(table.statistics().pairs, census.pairs);
}

/// A table that is dropped while it is full returns its pages and overflow values.
#[test]
fn dropping_a_table_frees_everything() {
    let memory = memory(16 << 20);
    let table = common::TestTable::new(&memory, TableConfig::default(), Functions::default()).unwrap();
    for number in 0..5000_usize {
        let value = vec![1; number % 700];
        let operation = honeycomb_hashtable::Operation::Put(&value);
        table.apply(&number.to_le_bytes(), operation, &mut Vec::new()).unwrap();
    }
    let census = table.verify().unwrap();
    assert!(census.overflow_pairs > 1000 && census.inline_pairs > 100, "{census:?}");
    assert!(table.statistics().buckets > 1024, "grown");
    drop(table);
    memory.reclaim();
    assert_eq!((memory.accounting().live_table_page_bytes, memory.accounting().live_values), (0, 0));
    memory.accounting().assert_complete();
}
