//! Unordered tables: kinds, operations, batches over both kinds, images, memory.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use honeycomb_store::unordered::{
    Answers, BuiltIn, Element, Operation, Outcome as TableOutcome, Request, WalkedPairs,
};
use honeycomb_store::{
    Batch, BatchOutcome, Config, Error, Existing, Faults, Outcome, Reads, Store, Table, TableHandle,
    TableKind, TableRef, UnorderedConfig, UnorderedTable, ValueSwap,
};
use honeycomb_testing::{Random, seed};

use super::{MIB, config, pairs, store};

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(store: &Store) -> UnorderedTable {
    store.unordered_table("unordered", UnorderedConfig { buckets: 4, ..UnorderedConfig::default() }).unwrap()
}

fn walk(table: &UnorderedTable) -> Pairs {
    let (mut walked, mut cursor, mut all) = (WalkedPairs::default(), 0, Pairs::new());
    loop {
        cursor = table.walk(cursor, 7, &mut walked);
        all.extend(walked.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
        if cursor == 0 {
            return all;
        }
    }
}

fn ordered(table: &Table) -> Pairs {
    pairs(table).into_iter().collect()
}

#[test]
fn tables_of_both_kinds_share_their_names() {
    let mut store = store();
    let (table, unordered) = (store.table("ordered").unwrap(), open(&store));
    assert_eq!(store.tables(), ["ordered", "unordered"]);
    assert_eq!(store.table_kind("ordered"), Some(TableKind::Ordered));
    assert_eq!(store.table_kind("unordered"), Some(TableKind::Unordered));
    assert_eq!(store.table_kind("other"), None);
    let wrong = store.table("unordered").unwrap_err();
    assert_eq!(wrong.to_string(), "table `unordered` is unordered, not ordered");
    let wrong = store.unordered_table("ordered", UnorderedConfig::default()).unwrap_err();
    assert_eq!(wrong.to_string(), "table `ordered` is ordered, not unordered");
    let name = "x".repeat(256);
    let long = store.unordered_table(&name, UnorderedConfig::default());
    assert!(matches!(long, Err(Error::TableName { bytes: 256 })));
    assert!(store.unordered_table(&name[1..], UnorderedConfig::default()).is_ok());
    let invalid = UnorderedConfig { buckets: 3, ..UnorderedConfig::default() };
    assert!(matches!(store.unordered_table("invalid", invalid), Err(Error::InvalidConfig(_))));
    assert_eq!(store.table_kind("invalid"), None);
    // A table that exists keeps its parameters.
    let again = store.unordered_table("unordered", UnorderedConfig::default()).unwrap();
    assert_eq!(again.config().buckets, 4);
    unordered.put(b"k", &[7; 3000]).unwrap();
    drop(again);
    assert!(matches!(store.drop_table("unordered"), Err(Error::TableInUse { .. })));
    drop((table, unordered));
    assert!(store.drop_table("unordered").unwrap());
    assert!(!store.drop_table("unordered").unwrap());
    assert!(store.drop_table(&name[1..]).unwrap());
    assert_eq!(store.verify().unwrap().pairs, 0);
    assert_eq!(store.statistics().memory.table_page_bytes, 0);
}

#[test]
fn operations_on_single_pairs() {
    let (store, table) = (store(), open(&store()));
    drop(store);
    assert_eq!(table.name(), "unordered");
    assert!(table.insert(b"k", b"1").unwrap() && !table.insert(b"k", b"2").unwrap());
    assert!(table.update(b"k", b"3").unwrap() && !table.update(b"other", b"3").unwrap());
    assert_eq!(table.compare_and_swap(b"k", b"3", b"4").unwrap(), ValueSwap::Swapped);
    assert_eq!(table.compare_and_swap(b"k", b"3", b"5").unwrap(), ValueSwap::Mismatch(b"4".to_vec()));
    assert_eq!(table.compare_and_swap(b"other", b"3", b"5").unwrap(), ValueSwap::Absent);
    assert_eq!(table.compare_and_delete(b"k", b"3").unwrap(), ValueSwap::Mismatch(b"4".to_vec()));
    assert_eq!(table.compare_and_delete(b"k", b"4").unwrap(), ValueSwap::Swapped);
    assert_eq!(table.get(b"k").unwrap(), None);
    table.put(b"k", &[1; 100_000]).unwrap();
    let mut value = b"old".to_vec();
    assert!(table.get_into(b"k", &mut value).unwrap() && value == [1; 100_000]);
    assert!(!table.get_into(b"other", &mut value).unwrap() && value.is_empty());
    assert!(table.contains(b"k").unwrap() && table.delete(b"k").unwrap() && !table.delete(b"k").unwrap());
    assert_eq!((table.add(b"n", 5).unwrap(), table.add(b"n", -7).unwrap()), (5, u64::MAX - 1));
    table.put(b"text", b"abc").unwrap();
    assert!(matches!(table.add(b"text", 1), Err(Error::NotCounter { bytes: 3 })));
    assert_eq!(table.pair_count(), 2);
}

#[test]
fn limits_of_keys_and_values() {
    let table = open(&store());
    for (bytes, valid) in [(0, false), (1, true), (460, true), (461, false)] {
        let put = table.put(&vec![1; bytes], b"v");
        assert_eq!((put.is_ok(), table.allows_key(&vec![1; bytes])), (valid, valid), "{bytes}");
        if !valid {
            assert!(matches!(put, Err(Error::KeyLength { max: 460, .. })));
            assert!(matches!(table.get(&vec![1; bytes]), Err(Error::KeyLength { .. })));
        }
    }
    table.put(b"k", &vec![2; 16 * MIB]).unwrap();
    assert!(matches!(table.put(b"k", &vec![2; 16 * MIB + 1]), Err(Error::ValueLength { .. })));
    assert_eq!(table.get(b"k").unwrap().unwrap().len(), 16 * MIB);
}

#[test]
fn visits_return_what_gets_return() {
    let table = open(&store());
    let keys: Vec<[u8; 4]> = (0..100_u32).map(u32::to_le_bytes).collect();
    for (key, length) in keys.iter().zip(0..).step_by(2) {
        table.put(key, &vec![7; length * 11]).unwrap();
    }
    let mut lengths = vec![None; keys.len()];
    table.get_many(&keys, |index, value| lengths[index] = value.map(<[u8]>::len)).unwrap();
    for (key, length) in keys.iter().zip(lengths) {
        assert_eq!(table.get(key).unwrap().map(|value| value.len()), length);
        assert_eq!(table.get_with(key, <[u8]>::len).unwrap(), length);
    }
    assert!(matches!(table.get_with(b"", <[u8]>::len), Err(Error::KeyLength { .. })));
}

#[test]
fn a_batch_of_operations_is_executed_in_order() {
    let table = open(&store());
    let add = BuiltIn::Add.number(Element::U32);
    let mut requests = vec![Request { key: b"n", operation: Operation::Put(&[0; 4]) }];
    let operands = 1_u32.to_le_bytes();
    let increment = Operation::UpdateScalar { function: add, operands: &operands };
    requests.extend((0..1000).map(|_| Request { key: b"n", operation: increment }));
    requests.push(Request { key: b"n", operation: Operation::Get });
    let mut answers = Answers::default();
    table.execute(&requests, &mut answers).unwrap();
    let Ok(TableOutcome::Found(span)) = answers.outcome(1001) else { panic!() };
    assert_eq!(answers.value(span), 1000_u32.to_le_bytes());
}

/// Adds a random write to a batch, and executes it in the model. Returns whether its condition holds.
fn add_random_write(
    batch: &mut Batch,
    table: TableRef<'_>,
    (key, value): (Vec<u8>, Vec<u8>),
    model: &mut Pairs,
    random: &mut Random,
) -> bool {
    let exists = model.contains_key(&key);
    let is_valid = match random.below(6) {
        0 => {
            batch.insert(table, &key, &value);
            !exists
        }
        1 => {
            batch.update(table, &key, &value);
            exists
        }
        2 => {
            batch.compare_and_swap(table, &key, model.get(&key).map_or(b"", |it| it), &value);
            exists
        }
        3 => {
            batch.delete(table, &key);
            model.remove(&key);
            return true;
        }
        _ => {
            batch.put(table, &key, &value);
            true
        }
    };
    model.insert(key, value);
    is_valid
}

/// Changes the pairs of a table from some to others.
fn change(table: TableHandle, from: &Pairs, to: &Pairs) {
    for (key, value) in to.iter().filter(|(key, value)| from.get(*key) != Some(value)) {
        table.put(key, value).unwrap();
    }
    from.keys().filter(|key| !to.contains_key(*key)).for_each(|key| assert!(table.delete(key).unwrap()));
}

/// A random batch, the pairs of both tables after it, and the first of its entries whose condition fails.
struct RandomBatch {
    batch: Batch,
    after: [Pairs; 2],
    expected: Option<usize>,
}

impl RandomBatch {
    fn new((table, unordered): (&Table, &UnorderedTable), models: &[Pairs; 2], random: &mut Random) -> Self {
        let mut new = Self { batch: Batch::default(), after: models.clone(), expected: None };
        for index in 0..1 + random.below(10) {
            let key = vec![random.below(80) as u8; 1 + random.below(2)];
            let length = random.pick(&[0, 8, 60, 700]);
            let value = random.bytes(length);
            let kind = random.below(2);
            let table: TableRef<'_> = if kind == 0 { table.into() } else { unordered.into() };
            if !add_random_write(&mut new.batch, table, (key, value), &mut new.after[kind], random) {
                new.expected.get_or_insert(index);
            }
        }
        new
    }
}

/// Random batches over both kinds beside two maps. For half of them, each allocation fails in turn.
#[test]
fn batches_over_both_kinds_are_applied_completely_or_not_at_all() {
    let (mut random, faults) = (Random::new(seed()), Faults::default());
    let mut store = Store::open(Config { node_bytes: 1024, faults: faults.clone(), ..config() }).unwrap();
    let mut models = [Pairs::new(), Pairs::new()];
    let (mut rejected, mut failed) = (0, 0);
    for step in 0..1500 {
        let (table, unordered) = (store.table("ordered").unwrap(), open(&store));
        let RandomBatch { batch, after, expected } =
            RandomBatch::new((&table, &unordered), &models, &mut random);
        for failing in 0.. {
            let seen = faults.seen();
            if step % 2 == 0 {
                faults.set(failing);
            }
            let outcome = store.apply(&batch);
            faults.clear();
            let has_failed = step % 2 == 0 && faults.seen() > seen + failing;
            let now = match outcome {
                Ok(BatchOutcome::Applied { outcomes, .. }) => {
                    assert_eq!((expected, outcomes.len()), (None, batch.len()));
                    &after
                }
                Ok(BatchOutcome::Rejected { .. }) => {
                    assert!(expected.is_some());
                    rejected += 1;
                    &models
                }
                Err(error) => {
                    assert!(matches!(error, Error::OutOfMemory { .. }) && has_failed, "{error}");
                    failed += 1;
                    &models
                }
            };
            assert_eq!(ordered(&table), now[0], "step {step}");
            assert_eq!(walk(&unordered), now[1], "step {step}");
            if !has_failed {
                models = now.clone();
                break;
            }
            change(TableHandle::Ordered(table.clone()), &now[0], &models[0]);
            change(TableHandle::Unordered(unordered.clone()), &now[1], &models[1]);
        }
        if step % 100 == 0 {
            drop((batch, table, unordered));
            let counts = store.verify().unwrap();
            let [ordered, unordered] = &models;
            assert_eq!(counts.pairs, (ordered.len() + unordered.len()) as u64);
            assert_eq!(counts.unordered_pairs, unordered.len() as u64);
        }
    }
    assert!(rejected > 100 && failed > 50, "{rejected} rejected, {failed} failed");
}

/// Calls a function with an empty store whose first allocation fails, then the second one, and so on, until
/// no allocation fails. The function returns whether it has succeeded. Returns the number of failures.
fn with_each_allocation_failing(mut call: impl FnMut(&mut Store, &dyn Fn()) -> bool) -> usize {
    let mut failures = 0;
    for failing in 0.. {
        let faults = Faults::default();
        let mut store = Store::open(Config { faults: faults.clone(), ..config() }).unwrap();
        let seen = faults.seen();
        faults.set(failing);
        let is_done = call(&mut store, &|| faults.clear());
        if faults.seen() <= seen + failing {
            assert!(is_done, "no allocation has failed");
            return failures;
        }
        failures += usize::from(!is_done);
    }
    unreachable!("the loop has no end")
}

#[test]
fn a_table_is_created_completely_or_not_at_all_if_an_allocation_fails() {
    let failures = with_each_allocation_failing(|store, end_failures| {
        // Four pages of buckets.
        let config = UnorderedConfig { buckets: 4096, ..UnorderedConfig::default() };
        let created = store.unordered_table("new", config);
        end_failures();
        let is_created = created.is_ok();
        match created {
            Ok(table) => table.put(b"k", b"v").unwrap(),
            Err(error) => assert!(matches!(error, Error::OutOfMemory { .. }), "{error}"),
        }
        assert_eq!(store.tables().len(), usize::from(is_created));
        assert_eq!(store.verify().unwrap().pairs, u64::from(is_created));
        is_created
    });
    assert!(failures > 0, "no allocation fails");
}

#[test]
fn an_image_of_an_unordered_table_is_loaded_completely_or_not_at_all_if_an_allocation_fails() {
    let from = store();
    let unordered = open(&from);
    for number in 0..200_u32 {
        let value = vec![number as u8; (number as usize * 7) % 900];
        unordered.put(&number.to_le_bytes(), &value).unwrap();
    }
    let (mut image, pairs) = (Vec::new(), walk(&unordered));
    from.save(&mut image).unwrap();
    let failures = with_each_allocation_failing(|store, end_failures| {
        let loaded = store.load(&image[..]);
        end_failures();
        match &loaded {
            Ok(count) => assert_eq!((*count, walk(&open(store))), (200, pairs.clone())),
            Err(error) => assert!(matches!(error, Error::OutOfMemory { .. }), "{error}"),
        }
        assert_eq!(store.tables().len(), usize::from(loaded.is_ok()));
        assert_eq!(store.verify().unwrap().pairs, loaded.as_ref().map_or(0, |count| *count));
        loaded.is_ok()
    });
    assert!(failures >= 10, "{failures} failures");
}

/// Functions of a batch see each other, return originals, and change nothing if the batch is rejected.
#[test]
fn a_batch_applies_functions() {
    let store = store();
    let ordered = store.table("numbers").unwrap();
    for changed in [TableHandle::Unordered(open(&store)), TableHandle::Ordered(ordered)] {
        applies_functions(&store, &changed);
    }
}

fn applies_functions(store: &Store, changed: &TableHandle) {
    let table = store.table("ordered").unwrap();
    table.delete(b"a").unwrap();
    let add = BuiltIn::Add.number(Element::U16);
    let bytes = |numbers: &[u16]| numbers.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let original =
        |numbers: &[u16]| Outcome::Original(Box::new(Existing { value: bytes(numbers), version: 0 }));
    changed.put(b"n", &bytes(&[5])).unwrap();
    changed.put(b"v", &bytes(&[1, 2])).unwrap();
    let mut batch = Batch::default();
    batch.update_scalar(changed, b"n", add, &bytes(&[2])).put(&table, b"a", b"1");
    batch.update_scalar(changed, b"n", add, &bytes(&[3]));
    batch.update_vector_with_scalar(changed, b"v", add, &bytes(&[10]));
    batch.update_vector_with_vector(changed, b"v", add, &bytes(&[1, 2]));
    let BatchOutcome::Applied { outcomes, .. } = store.apply(&batch).unwrap() else { panic!() };
    let expected =
        [original(&[5]), Outcome::Inserted, original(&[7]), original(&[1, 2]), original(&[11, 12])];
    assert_eq!(outcomes, expected);
    let value = |key: &[u8]| changed.get(key).unwrap().unwrap();
    assert_eq!((value(b"n"), value(b"v")), (bytes(&[10]), bytes(&[12, 14])));
    // As writes of their own they return the same.
    let mut each = Vec::new();
    store.apply_each(&batch, |_, outcome| each.push(outcome.unwrap())).unwrap();
    let updated =
        [original(&[10]), Outcome::Updated, original(&[12]), original(&[12, 14]), original(&[22, 24])];
    assert_eq!(each, updated);
    let before = (value(b"n"), value(b"v"));
    let rejects = |key: &[u8], vector: &[u16], expected: Outcome| {
        let mut batch = Batch::default();
        batch.update_scalar(changed, b"n", add, &bytes(&[2]));
        batch.update_vector_with_vector(changed, key, add, &bytes(vector));
        let rejected = BatchOutcome::Rejected { index: 1, outcome: expected };
        assert_eq!(store.apply(&batch).unwrap(), rejected);
    };
    rejects(b"absent", &[1, 2], Outcome::Absent);
    rejects(b"v", &[1], Outcome::NotElements { bytes: 4 });
    rejects(b"v", &[1, 2, 3], Outcome::NotElements { bytes: 4 });
    batch.clear();
    batch.update_scalar(changed, b"n", add, &bytes(&[2])).update_scalar(changed, b"n", add, &[1]);
    assert!(matches!(store.apply(&batch), Err(Error::Function(_))), "an operand of another length");
    assert_eq!((value(b"n"), value(b"v")), before);
}

#[test]
fn a_rejected_batch_names_its_entry() {
    let store = store();
    let (table, unordered) = (store.table("ordered").unwrap(), open(&store));
    unordered.put(b"k", b"v").unwrap();
    let mut batch = Batch::default();
    batch.put(&unordered, b"a", b"1").put(&table, b"a", b"1").insert(&unordered, b"k", b"2");
    let rejected = BatchOutcome::Rejected { index: 2, outcome: Outcome::Exists };
    assert_eq!(store.apply(&batch).unwrap(), rejected);
    batch.clear();
    batch.put(&unordered, b"a", b"1").put(&table, b"a", b"1").update(&table, b"b", b"2");
    let rejected = BatchOutcome::Rejected { index: 2, outcome: Outcome::Absent };
    assert_eq!(store.apply(&batch).unwrap(), rejected);
    assert_eq!((table.pair_count(), unordered.pair_count()), (0, 1));
    // Entries see the effects of earlier ones.
    batch.clear();
    batch.add(&unordered, b"n", 2).add(&unordered, b"n", 3).delete(&unordered, b"k");
    batch.insert(&unordered, b"k", b"new").compare_and_delete(&unordered, b"k", b"new");
    let BatchOutcome::Applied { outcomes, .. } = store.apply(&batch).unwrap() else { panic!() };
    let expected = [
        Outcome::AddedFirst { sum: 2 },
        Outcome::Added { sum: 5 },
        Outcome::Deleted,
        Outcome::Inserted,
        Outcome::Deleted,
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(unordered.get(b"k").unwrap(), None);
    let other = Store::open(config()).unwrap();
    assert!(matches!(other.apply(&batch), Err(Error::ForeignTable { .. })));
}

#[test]
fn independent_writes_of_both_kinds_keep_their_order() {
    let store = store();
    let (table, unordered) = (store.table("ordered").unwrap(), open(&store));
    let mut batch = Batch::default();
    batch.put(&table, b"k", b"1").insert(&unordered, b"k", b"1").insert(&unordered, b"k", b"2");
    batch.insert(&table, b"k", b"2").add(&unordered, b"n", 4).update(&unordered, b"k", b"3");
    batch.compare_and_swap(&unordered, b"k", b"1", b"4").delete(&unordered, b"absent").delete(&table, b"k");
    let mut outcomes = vec![None; batch.len()];
    store.apply_each(&batch, |index, outcome| outcomes[index] = Some(outcome.unwrap())).unwrap();
    let outcomes: Vec<_> = outcomes.into_iter().flatten().collect();
    let expected = [
        Outcome::Inserted,
        Outcome::Inserted,
        Outcome::Exists,
        Outcome::Exists,
        Outcome::AddedFirst { sum: 4 },
        Outcome::Updated,
        Outcome::Mismatch(Box::new(Existing { value: b"3".to_vec(), version: 0 })),
        Outcome::Absent,
        Outcome::Deleted,
    ];
    assert_eq!(outcomes, expected);
}

/// A writer stores a number under four keys of both kinds in one batch. Readers of one moment see one number.
#[test]
fn reads_together_see_batches_completely_or_not_at_all() {
    let store = store();
    let (table, unordered) = (store.table("ordered").unwrap(), open(&store));
    let write = |number: u32| {
        let (mut batch, value) = (Batch::default(), number.to_le_bytes());
        batch.put(&table, b"a", &value).put(&unordered, b"a", &value);
        batch.put(&table, b"z", &value).put(&unordered, b"another key", &value);
        store.apply(&batch).unwrap();
    };
    write(0);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..20_000 {
                write(number);
            }
            is_done.store(true, Ordering::Relaxed);
        });
        let keys: [(_, &[u8]); 5] = [
            ((&unordered).into(), b"a"),
            ((&table).into(), b"a"),
            ((&unordered).into(), b"another key"),
            ((&table).into(), b"z"),
            ((&unordered).into(), b"absent"),
        ];
        let mut last = 0;
        while !is_done.load(Ordering::Relaxed) {
            let values = store.get_together(&keys).unwrap();
            assert!(values[..4].iter().all(|value| *value == values[0]), "{values:?}");
            assert_eq!(values[4], None);
            let number = u32::from_le_bytes(values[0].as_deref().unwrap().try_into().unwrap());
            assert!(number >= last, "{number} after {last}");
            last = number;
        }
        assert!(last > 0);
    });
    let unversioned = Store::open(Config { mvcc: false, ..config() }).unwrap();
    let table = unversioned.table("ordered").unwrap();
    let keys: [(_, &[u8]); 2] = [((&table).into(), b"a"), ((&table).into(), b"b")];
    assert!(matches!(unversioned.get_together(&keys), Err(Error::MvccOff)));
    assert_eq!(unversioned.get_together(&keys[..1]).unwrap(), [None]);
    assert!(matches!(store.get_together(&keys[..1]), Err(Error::ForeignTable { .. })));
}

#[test]
fn the_beginnings_of_both_kinds_are_read_together() {
    let store = store();
    let tables =
        [TableHandle::Ordered(store.table("ordered").unwrap()), TableHandle::Unordered(open(&store))];
    for length in [0, 9, 400, 513, 5000] {
        for table in &tables {
            table.put(b"k", &vec![7; length]).unwrap();
        }
        let keys =
            [((&tables[0]).into(), &b"k"[..]), ((&tables[1]).into(), b"k"), ((&tables[1]).into(), b"no")];
        let found = store.get_beginnings_together(&keys, 9).unwrap();
        let expected = Some(vec![7; if length > 512 { 9 } else { length }]);
        assert_eq!(found, [expected.clone(), expected, None], "{length}");
    }
}

#[test]
fn an_image_has_tables_of_both_kinds() {
    let store = store();
    let (table, unordered) = (store.table("ordered").unwrap(), open(&store));
    for number in 0..3000_u32 {
        let value = vec![number as u8; (number as usize * 7) % 900];
        table.put(&number.to_be_bytes(), &value).unwrap();
        unordered.put(&number.to_le_bytes(), &value).unwrap();
    }
    unordered.put(b"long", &vec![1; 16 * MIB]).unwrap();
    store
        .unordered_table("empty", UnorderedConfig { fill_percent: None, ..UnorderedConfig::default() })
        .unwrap();
    let mut image = Vec::new();
    assert_eq!(store.save(&mut image).unwrap(), 6001);
    let mut loaded = Store::open(Config { memory_bytes: 64 * MIB, ..config() }).unwrap();
    assert_eq!(loaded.load(&image[..]).unwrap(), 6001);
    assert!(matches!(loaded.load(&image[..]), Err(Error::TableExists { .. })));
    assert_eq!(walk(&open(&loaded)), walk(&unordered));
    assert_eq!(open(&loaded).config(), unordered.config());
    assert_eq!(ordered(&loaded.table("ordered").unwrap()), ordered(&table));
    let empty = loaded.unordered_table("empty", UnorderedConfig::default()).unwrap();
    assert_eq!((empty.config().fill_percent, empty.pair_count()), (None, 0));
    drop(empty);
    assert_eq!(loaded.verify().unwrap().unordered_pairs, 3001);
    // A truncated image leaves nothing behind.
    let mut other = Store::open(Config { memory_bytes: 64 * MIB, ..config() }).unwrap();
    assert!(other.load(&image[..image.len() - 20]).is_err());
    assert!(other.tables().is_empty());
    assert_eq!(other.verify().unwrap().pairs, 0);
}

#[test]
fn statistics_and_the_check_count_both_kinds() {
    let mut store = store();
    let (table, unordered) = (store.table("ordered").unwrap(), open(&store));
    for number in 0..500_u32 {
        table.put(&number.to_be_bytes(), &[1; 600]).unwrap();
        unordered.put(&number.to_be_bytes(), &[1; 600]).unwrap();
    }
    let statistics = store.statistics();
    assert_eq!(statistics.pairs, 1000);
    let [first, second] = &statistics.tables[..] else { panic!() };
    assert_eq!((first.pairs, first.unordered), (500, None));
    let memory = second.unordered.unwrap();
    assert_eq!(second.pairs, 500);
    assert_eq!(memory.bucket_bytes + memory.slab_bytes, statistics.memory.table_page_bytes);
    assert!(memory.buckets > 4 && memory.used_slots >= 500, "{memory:?}");
    drop((table, unordered));
    let counts = store.verify().unwrap();
    assert_eq!((counts.pairs, counts.unordered_pairs, counts.overflow_values), (1000, 500, 1000));
    assert_eq!((counts.key_bytes, counts.value_bytes), (4000, 600_000));
    assert_eq!(counts.buckets, memory.buckets);
}

/// A write that finds no room at first does not follow a later write of the same key.
#[test]
fn writes_of_one_key_keep_their_order_without_room() {
    for later in [Some(&b"small"[..]), None] {
        let store = Store::open(Config { memory_bytes: 16 * MIB, ..Config::default() }).unwrap();
        let old = store.unordered_table("old", UnorderedConfig::default()).unwrap();
        let table = open(&store);
        table.put(b"key", b"first").unwrap();
        assert!((0..1000_u32).any(|number| old.put(&number.to_le_bytes(), &[7; 64 << 10]).is_err()));
        // Its memory becomes free when a write finds no room.
        old.clear().unwrap();
        let (mut batch, mut outcomes) = (Batch::default(), Vec::new());
        batch.put(&table, b"other", &[1; 64 << 10]).put(&table, b"key", &[1; 64 << 10]);
        match later {
            Some(value) => batch.put(&table, b"key", value),
            None => batch.delete(&table, b"key"),
        };
        store.apply_each(&batch, |_, outcome| outcomes.push(outcome.is_ok())).unwrap();
        assert_eq!(table.get(b"key").unwrap().as_deref(), later, "{outcomes:?}");
        assert!(outcomes[0] && outcomes[2], "{outcomes:?}");
    }
}

/// A full store fails writes of both kinds, keeps all pairs, and both kinds can be emptied.
#[test]
fn a_full_store_can_be_emptied() {
    for length in [10, 300, 2000] {
        let mut store = Store::open(Config { memory_bytes: 2 * MIB, ..Config::default() }).unwrap();
        let (table, unordered) = (store.table("ordered").unwrap(), open(&store));
        for _ in 0..2 {
            let value = vec![3; length];
            let mut count = 0_u32;
            while unordered.put(&count.to_le_bytes(), &value).is_ok() {
                if let Err(error) = table.put(&count.to_be_bytes(), &value) {
                    assert!(matches!(error, Error::OutOfMemory { .. }));
                    assert!(unordered.delete(&count.to_le_bytes()).unwrap());
                    break;
                }
                count += 1;
            }
            assert!(count > 100, "{count}");
            let error = unordered.put(b"key", &vec![0; MIB]).unwrap_err();
            assert!(matches!(error, Error::OutOfMemory { .. }));
            assert_eq!((table.pair_count(), unordered.pair_count()), (count.into(), count.into()));
            for number in 0..count {
                assert_eq!(unordered.get(&number.to_le_bytes()).unwrap().as_deref(), Some(&value[..]));
                assert!(table.delete(&number.to_be_bytes()).unwrap());
                assert!(unordered.delete(&number.to_le_bytes()).unwrap());
            }
        }
        drop((table, unordered));
        assert_eq!(store.verify().unwrap().pairs, 0);
    }
}

/// A store that one table fills can be cleared, and the memory is free for the other kind.
#[test]
fn a_full_store_can_be_cleared() {
    for length in [10, 300, 2000] {
        let mut store = Store::open(Config { memory_bytes: 2 * MIB, ..Config::default() }).unwrap();
        let (table, unordered) = (store.table("ordered").unwrap(), open(&store));
        let mut count = 0_u32;
        while unordered.put(&count.to_le_bytes(), &vec![3; length]).is_ok() {
            count += 1;
        }
        unordered.clear().unwrap();
        assert_eq!((unordered.pair_count(), unordered.get(&0_u32.to_le_bytes()).unwrap()), (0, None));
        let fits = (0..count / 3).all(|number| table.put(&number.to_be_bytes(), &vec![3; length]).is_ok());
        assert!(fits, "{length}");
        unordered.put(b"key", b"value").unwrap();
        drop((table, unordered));
        assert_eq!(store.verify().unwrap().unordered_pairs, 1);
    }
}

#[test]
fn maintenance_frees_the_memory_of_a_cleared_table_in_steps() {
    let store = Store::open(Config { memory_bytes: 32 * MIB, ..Config::default() }).unwrap();
    let table = open(&store);
    for number in 0..20_000_u32 {
        table.put(&number.to_le_bytes(), &[1; 100]).unwrap();
    }
    let full = store.statistics().memory.table_page_bytes;
    table.clear().unwrap();
    let (mut steps, mut before) = (0, full);
    while store.maintain(64) {
        steps += 1;
        let after = store.statistics().memory.table_page_bytes;
        assert!(before - after <= 64 << 16, "a step frees at most one page for four chains");
        before = after;
    }
    assert!(steps > 20, "{steps} steps");
    assert!(store.statistics().memory.table_page_bytes < full / 10);
}

/// A table that is idle after deletes keeps no page of slabs.
#[test]
fn maintenance_gives_the_pages_of_an_idle_table_back() {
    let store = Store::open(Config { memory_bytes: 32 * MIB, ..Config::default() }).unwrap();
    let table = open(&store);
    for number in 0..5000_u32 {
        table.put(&number.to_le_bytes(), &[1; 100]).unwrap();
    }
    (0..5000_u32).for_each(|number| assert!(table.delete(&number.to_le_bytes()).unwrap()));
    let slab_bytes = || store.statistics().tables[0].unordered.unwrap().slab_bytes;
    while store.maintain(1) {}
    assert!(slab_bytes() > 0, "the table was in use until the first step");
    while store.maintain(1) {}
    assert_eq!(slab_bytes(), 0);
}

#[test]
fn a_batch_reads_both_kinds_within_its_limits() {
    let store = store();
    let (ordered, unordered) = (store.table("ordered").unwrap(), open(&store));
    for (key, length) in [(b"a", 10), (b"b", 1000), (b"c", 1001)] {
        ordered.put(key, &vec![key[0]; length]).unwrap();
        unordered.put(key, &vec![key[0]; length]).unwrap();
    }
    let mut reads = Reads::with_limits(100_000, 1000);
    for _ in 0..2 {
        for key in [&b"a"[..], b"b", b"c", b"absent"] {
            reads.get(&unordered, key).unwrap();
            reads.get(&ordered, key).unwrap();
        }
        assert!(matches!(reads.get(&unordered, b""), Err(Error::KeyLength { bytes: 0, .. })));
        assert!(matches!(reads.get(&unordered, &[0; 461]), Err(Error::KeyLength { bytes: 461, max: 460 })));
        store.read(&mut reads).unwrap();
        for (index, value) in [(0, Some(vec![b'a'; 10])), (2, Some(vec![b'b'; 1000])), (6, None)] {
            assert_eq!(reads.value(index).unwrap(), value.as_deref());
            assert_eq!(reads.value(index + 1).unwrap(), value.as_deref());
        }
        assert!(matches!(reads.value(4), Err(Error::NoRoom)), "the value is too long");
        assert_eq!(reads.clone().value(2).unwrap(), Some(&[b'b'; 1000][..]));
        reads.clear();
    }
    // A batch ends at its limit, which values of both kinds share. The first value may exceed it.
    let mut reads = Reads::with_limits(30_000, 1000);
    (0..10).for_each(|_| reads.get(&ordered, b"b").unwrap());
    (0..1000).for_each(|_| reads.get(&unordered, b"b").unwrap());
    store.read(&mut reads).unwrap();
    let found = (0..1010).filter(|index| reads.value(*index).is_ok()).count();
    assert_eq!((found, reads.found_bytes()), (30, 30_000));
    assert!(matches!(reads.value(1009), Err(Error::NoRoom)));
    for key in [&b"a"[..], b"b"] {
        let mut reads = Reads::with_bytes_max(9);
        (0..2).for_each(|_| reads.get(&unordered, key).unwrap());
        store.read(&mut reads).unwrap();
        assert!(reads.value(0).unwrap().is_some());
        assert!(matches!(reads.value(1), Err(Error::NoRoom)));
    }
}
