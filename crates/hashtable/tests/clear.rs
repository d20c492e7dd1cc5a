//! Clearing a table: all pairs disappear at one moment, and their memory becomes free in steps.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use honeycomb_hashtable::{Answers, Operation, Outcome, Request, TableConfig, WalkedPairs};
use honeycomb_memory::Memory;

use common::{TestTable, memory, table};

/// Pairs inside buckets, in slabs, and with overflow values.
const LENGTHS: [usize; 4] = [8, 60, 400, 3000];

fn config() -> TableConfig {
    TableConfig { buckets: 4, ..TableConfig::default() }
}

fn put(table: &TestTable<'_>, key: &[u8], value: &[u8]) {
    table.apply(key, Operation::Put(value), &mut Vec::new()).unwrap();
}

fn get(table: &TestTable<'_>, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    let outcome = table.apply(key, Operation::Get, &mut value).unwrap();
    (outcome != Outcome::Absent).then_some(value)
}

fn clear(table: &TestTable<'_>, memory: &Memory, chains: usize) -> usize {
    let (mut cleared, mut steps) = (table.clear(), 1);
    while cleared.free(memory, chains) {
        steps += 1;
    }
    steps
}

#[test]
fn a_cleared_table_is_empty_and_all_its_memory_becomes_free() {
    let memory = memory(32 << 20);
    let table = table(&memory, &config());
    let initial = memory.accounting().live_table_page_bytes;
    for chains in [1, 64, usize::MAX] {
        for number in 0..3000_u32 {
            put(&table, &number.to_le_bytes(), &vec![7; LENGTHS[number as usize % LENGTHS.len()]]);
        }
        assert_eq!(table.verify().unwrap().pairs, 3000);
        let steps = clear(&table, &memory, chains);
        assert!(chains == usize::MAX || steps > 10, "{steps} steps");
        assert_eq!((table.statistics().pairs, get(&table, &7_u32.to_le_bytes())), (0, None));
        assert_eq!(table.verify().unwrap().pairs, 0);
        memory.reclaim();
        let accounting = memory.accounting();
        assert_eq!((accounting.live_table_page_bytes, accounting.live_value_bytes), (initial, 0));
    }
    put(&table, b"key", b"value");
    assert_eq!(get(&table, b"key").as_deref(), Some(&b"value"[..]));
}

/// Writers store ascending numbers while another thread clears the table. Whatever was stored before a clear
/// must not return after it, and what was stored after it must stay.
#[test]
fn no_write_before_a_clear_survives_it_and_none_after_it_is_lost() {
    let memory = memory(64 << 20);
    let table = &table(&memory, &config());
    let (stop, clears) = (&AtomicBool::new(false), &AtomicU64::new(0));
    let written = &[const { AtomicU64::new(0) }; 2];
    thread::scope(|scope| {
        for (writer, written) in written.iter().enumerate() {
            scope.spawn(move || {
                let mut answers = Answers::default();
                for number in 1_u64.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let mut value = number.to_le_bytes().to_vec();
                    value.resize(LENGTHS[number as usize % LENGTHS.len()], 0);
                    let keys: Vec<_> = (0..20_u8).map(|key| [writer as u8, key]).collect();
                    let puts = keys.iter().map(|key| Request { key, operation: Operation::Put(&value) });
                    let before = clears.load(Ordering::SeqCst);
                    table.execute(&puts.collect::<Vec<_>>(), &mut answers);
                    answers.outcomes().unwrap();
                    let found = get(table, &keys[number as usize % 20]);
                    // The number is even while no thread clears.
                    if before % 2 == 0 && clears.load(Ordering::SeqCst) == before {
                        assert_eq!(found, Some(value), "writer {writer}");
                    }
                    written.store(number, Ordering::SeqCst);
                }
            });
        }
        for _ in 0..300 {
            let before: Vec<u64> = written.iter().map(|written| written.load(Ordering::SeqCst)).collect();
            clears.fetch_add(1, Ordering::SeqCst);
            let mut cleared = table.clear();
            clears.fetch_add(1, Ordering::SeqCst);
            for (writer, before) in before.iter().enumerate() {
                for key in 0..20 {
                    let Some(value) = get(table, &[writer as u8, key]) else { continue };
                    let number = u64::from_le_bytes(*value.first_chunk().unwrap());
                    assert!(number > *before, "writer {writer}: {number} was stored before the clear");
                }
            }
            while cleared.free(&memory, 16) {}
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(table.verify().unwrap().pairs <= 40);
}

#[test]
fn samples_come_from_the_pairs_of_the_table() {
    let memory = memory(32 << 20);
    let table = table(&memory, &config());
    let (mut pairs, mut random) = (WalkedPairs::default(), honeycomb_testing::Random::new(5));
    let mut draw = |below: usize| random.below(below);
    assert!(!table.session().sample(&mut draw, 0, &mut pairs) && pairs.is_empty());
    for number in 0..2000_u32 {
        put(&table, &number.to_le_bytes(), &[1; 3000]);
    }
    (0..2000_u32).filter(|number| *number != 77).for_each(|number| {
        table.apply(&number.to_le_bytes(), Operation::Delete, &mut Vec::new()).unwrap();
    });
    assert!(table.session().sample(&mut draw, 5, &mut pairs));
    assert_eq!(pairs.iter().collect::<Vec<_>>(), [(&77_u32.to_le_bytes()[..], &[1; 5][..])]);
    // Numbers that are too large do no harm.
    for excess in [0, 1, usize::MAX / 2] {
        assert!(table.session().sample(&mut |limit| limit + excess, 5, &mut pairs));
    }
}
