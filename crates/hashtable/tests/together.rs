//! Writes to several keys together, reads of one moment, walks, and the recorder.

mod common;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::thread;

use honeycomb_hashtable::{
    Answers, Before, Error, Functions, LockedKeys, Operation, Recorder, Request, TableConfig, WalkedPairs,
};
use honeycomb_memory::sync::{AtomicBool, Ordering};
use honeycomb_memory::{Faults, Memory, MemoryConfig};
use honeycomb_testing::{Random, seed};

use common::{TestTable, memory};

type Pairs = HashMap<Vec<u8>, Vec<u8>>;

fn small(buckets: usize) -> TableConfig {
    TableConfig { buckets, fill_percent: Some(70), ..TableConfig::default() }
}

/// All pairs, by a walk.
fn pairs(table: &TestTable<'_>) -> Pairs {
    let (session, mut walked, mut cursor) = (table.session(), WalkedPairs::default(), 0);
    let mut all = Pairs::new();
    loop {
        walked.clear();
        cursor = session.walk(cursor, &mut walked);
        for (key, value) in walked.iter() {
            assert!(all.insert(key.to_vec(), value.to_vec()).is_none(), "a walk returns a pair once");
        }
        if cursor == 0 {
            return all;
        }
    }
}

fn prepare_all(locked: &mut LockedKeys<'_>, changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> Result<(), Error> {
    let mut changes = changes.iter().enumerate();
    changes.try_for_each(|(key, (_, value))| locked.prepare(key, value.as_deref()))
}

/// Random sets of changes beside a map. Each allocation of each set fails once: then nothing has changed.
#[test]
fn several_keys_change_together_or_not_at_all() {
    several_keys_change(&small(2));
}

/// Values that replace others in their places need no memory: inline, in slabs, and in one that had the
/// reference to an overflow value.
#[test]
fn values_in_their_places_need_no_memory() {
    let faults = Faults::default();
    let memory = MemoryConfig { arena_bytes: 16 << 20, huge_pages: false, ..Default::default() };
    let memory = Memory::new(MemoryConfig { faults: faults.clone(), ..memory }).unwrap();
    let table = common::table(&memory, &TableConfig { inline_pair_bytes_max: 20, ..small(2) });
    let lengths = [(0, 0), (12, 12), (100, 70), (600, 16), (13, 18)];
    for number in 0..200 {
        let before = vec![1; lengths[number % 5].0];
        table.apply(&number.to_le_bytes(), Operation::Put(&before), &mut Vec::new()).unwrap();
    }
    let keys: Vec<_> = (0..200).map(usize::to_le_bytes).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    faults.set(0);
    let session = table.session();
    let mut locked = session.lock_keys(&keys).unwrap();
    for number in 0..200 {
        locked.prepare(number, Some(&vec![2; lengths[number % 5].1])).unwrap();
    }
    locked.commit();
    faults.clear();
    let all = pairs(&table);
    (0..200)
        .for_each(|number: usize| assert_eq!(all[&number.to_le_bytes()[..]], vec![2; lengths[number % 5].1]));
    table.verify().unwrap();
}

/// A table that never grows has long chains, so that most sets need buckets for them.
#[test]
fn several_keys_change_in_long_chains() {
    several_keys_change(&TableConfig { fill_percent: None, ..small(2) });
}

fn several_keys_change(config: &TableConfig) {
    let (mut random, faults) = (Random::new(seed()), Faults::default());
    let memory = MemoryConfig { arena_bytes: 64 << 20, huge_pages: false, ..Default::default() };
    let memory = Memory::new(MemoryConfig { faults: faults.clone(), ..memory }).unwrap();
    let table = common::table(&memory, config);
    let (mut model, mut failures) = (Pairs::new(), 0);
    for step in 0..1500 {
        let mut changes = BTreeMap::new();
        for _ in 0..1 + random.below(12) {
            let value = (!random.chance(40)).then(|| common::value(&mut random));
            changes.insert(common::key(random.below(200)), value);
        }
        let changes: Vec<_> = changes.into_iter().collect();
        let keys: Vec<&[u8]> = changes.iter().map(|(key, _)| &key[..]).collect();
        for fault in 0.. {
            let session = table.session();
            faults.set(fault);
            let mut locked = session.lock_keys(&keys).unwrap();
            let prepared = prepare_all(&mut locked, &changes);
            if prepared.is_ok() {
                // A commit allocates nothing; the growth after it may fail.
                locked.commit();
            } else {
                drop(locked);
                failures += 1;
            }
            faults.clear();
            if prepared.is_ok() {
                break;
            }
            if step % 10 == 0 {
                drop(session);
                assert_eq!(table.verify().unwrap().pairs, model.len() as u64);
                assert_eq!(pairs(&table), model);
            }
        }
        for (key, value) in &changes {
            match value {
                Some(value) => _ = model.insert(key.clone(), value.clone()),
                None => _ = model.remove(key),
            }
        }
        if step % 50 == 0 {
            table.verify().unwrap();
            assert_eq!(pairs(&table), model);
        }
    }
    assert!(failures > 100, "{failures} failures");
    table.verify().unwrap();
    assert_eq!(pairs(&table), model);
    drop(table);
    memory.reclaim();
    memory.accounting().assert_complete();
    assert_eq!(memory.accounting().live_values, 0);
}

/// A writer moves a unit between keys of different stripes. Readers that watch all keys see one moment.
#[test]
fn watched_keys_are_read_at_one_moment() {
    const KEYS: [&[u8]; 4] = [b"a", b"bb", b"ccc", b"dddd"];
    let memory = memory(4 << 20);
    let table = common::table(&memory, &TableConfig::default());
    for key in KEYS {
        table.apply(key, Operation::Put(&[100, 0, 0, 0]), &mut Vec::new()).unwrap();
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(seed());
            while !stop.load(Ordering::Relaxed) {
                let session = table.session();
                let (from, to) = (random.below(4), random.below(4));
                let mut locked = session.lock_keys(&KEYS).unwrap();
                let mut value = Vec::new();
                assert!(locked.get(from, &mut value));
                if from == to || value[0] == 0 {
                    continue;
                }
                locked.prepare(from, Some(&[value[0] - 1, 0, 0, 0])).unwrap();
                let mut other = Vec::new();
                assert!(locked.get(to, &mut other));
                locked.prepare(to, Some(&[other[0].wrapping_add(1), 0, 0, 0])).unwrap();
                if other[0] < 255 {
                    locked.commit();
                }
            }
        });
        let mut seen = 0;
        while seen < 20_000 {
            let mut session = table.session();
            let watches: Vec<_> = KEYS.iter().map(|key| session.watch(key).unwrap()).collect();
            let mut values = Vec::new();
            for key in KEYS {
                session.apply(key, Operation::Get, &mut values).unwrap();
            }
            if watches.iter().all(|watch| session.is_unchanged(watch)) {
                let sum: u32 = values.chunks(4).map(|value| u32::from(value[0])).sum();
                assert_eq!(sum, 400, "units of one moment");
                seen += 1;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(table.verify().unwrap().pairs, 4);
}

/// A walk returns each pair that exists all the time once, while the table grows.
#[test]
fn a_walk_misses_nothing_while_the_table_grows() {
    let memory = memory(32 << 20);
    let table = common::table(&memory, &small(1));
    let put = |number: u32| {
        table.apply(&number.to_le_bytes(), Operation::Put(b"value"), &mut Vec::new()).unwrap();
    };
    (0..500).for_each(put);
    let (mut walked, mut cursor, mut next) = (WalkedPairs::default(), 0, 500);
    loop {
        cursor = table.session().walk(cursor, &mut walked);
        if cursor == 0 {
            break;
        }
        (next..next + 20).for_each(put);
        next += 20;
    }
    assert!(table.statistics().buckets > 1000, "the table has grown");
    let mut counts = HashMap::new();
    walked.iter().for_each(|(key, _)| *counts.entry(key.to_vec()).or_insert(0) += 1);
    assert!(counts.values().all(|&count| count == 1), "no pair is returned twice");
    assert!((0..500_u32).all(|number| counts.contains_key(&number.to_le_bytes()[..])), "none is missing");
}

/// The effects that a table has recorded.
#[derive(Clone, Default)]
struct Effects(Arc<Mutex<Pairs>>);

impl Recorder for Effects {
    fn needs_values_before(&self) -> bool {
        true
    }

    fn record(&self, key: &[u8], value: Option<&[u8]>, before: Before<'_>) {
        let mut pairs = self.0.lock().unwrap();
        let expected = pairs.get(key).map_or(Before::Absent, |value| Before::Value(value));
        assert_eq!(before, expected, "the value of {key:?} before the effect");
        match value {
            Some(value) => _ = pairs.insert(key.to_vec(), value.to_vec()),
            None => assert!(pairs.remove(key).is_some(), "only a removal is recorded"),
        }
    }

    fn record_clear(&self) {
        self.0.lock().unwrap().clear();
    }
}

/// The effects, replayed in the order of their arrival, give the table; also if several threads write. Each
/// has the value before it.
#[test]
fn the_recorder_receives_every_effect_in_order() {
    let (memory, effects) = (memory(32 << 20), Effects::default());
    let (functions, numbers) = common::functions();
    let table = TestTable::new(&memory, small(4), functions).unwrap().recorded_by(Box::new(effects.clone()));
    thread::scope(|scope| {
        for thread in 0..3 {
            let (table, numbers) = (&table, &numbers);
            scope.spawn(move || {
                let (mut random, mut answers) = (Random::new(seed() + thread), Answers::default());
                for _ in 0..300 {
                    let operations: Vec<_> = (0..random.pick(&[1, 1, 60]))
                        .map(|_| (common::key(random.below(30)), common::operation(&mut random)))
                        .collect();
                    if let [(key, operation)] = &operations[..] {
                        table.apply(key, operation.borrow(numbers), &mut Vec::new()).unwrap();
                        continue;
                    }
                    let requests: Vec<_> = operations
                        .iter()
                        .map(|(key, operation)| Request { key, operation: operation.borrow(numbers) })
                        .collect();
                    table.execute(&requests, &mut answers);
                    answers.outcomes().unwrap();
                }
            });
        }
    });
    assert_eq!(pairs(&table), *effects.0.lock().unwrap());
}

#[test]
fn a_failed_write_is_not_recorded() {
    let (memory, effects) = (memory(1 << 20), Effects::default());
    let table = TestTable::new(&memory, TableConfig::default(), Functions::default()).unwrap();
    let table = table.recorded_by(Box::new(effects.clone()));
    let value = vec![7; 2 << 20];
    assert!(table.apply(b"key", Operation::Put(&value), &mut Vec::new()).is_err());
    let puts = [Operation::Put(&value), Operation::Put(&value)];
    let requests = puts.map(|operation| Request { key: b"key", operation });
    let mut answers = Answers::default();
    table.execute(&requests, &mut answers);
    assert!(answers.outcomes().is_err());
    assert!(effects.0.lock().unwrap().is_empty());
}
