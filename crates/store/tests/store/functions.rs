//! Functions on values of ordered tables.

use std::sync::Arc;

use honeycomb_store::unordered::{BuiltIn, Element, Functions};
use honeycomb_store::{Batch, BatchOutcome, Config, Error, Existing, Outcome, Store, UnorderedConfig};

use super::{MIB, config, store};

/// Applies functions to values of a table of one kind; both kinds have methods of the same names.
macro_rules! check_functions {
    ($open:expr) => {{
        let mut functions = Functions::default();
        let double = functions.register_update(Element::U16, 1, Box::new(|it, by| 2 * it + by[0])).unwrap();
        let store = Store::open(Config { functions: Arc::new(functions), ..config() }).unwrap();
        let table = $open(&store);
        table.put(b"v", &[1, 0, 2, 0]).unwrap();
        assert_eq!(table.update_vector_with_scalar(b"v", double, &[1, 0]).unwrap(), Some(vec![1, 0, 2, 0]));
        let add = BuiltIn::Add.number(Element::U16);
        table.update_vector_with_vector(b"v", add, &[1, 0, 10, 0]).unwrap();
        assert_eq!(table.get(b"v").unwrap().unwrap(), [4, 0, 15, 0]);
        assert_eq!(table.reduce(b"v", add, &[0, 1]).unwrap(), Some(vec![19, 1]));
        let greater = BuiltIn::Greater.number(Element::U16);
        assert_eq!(table.filter(b"v", greater, &[4, 0]).unwrap(), Some(vec![15, 0]));
        assert_eq!(table.reduce(b"absent", add, &[0, 0]).unwrap(), None);
        assert_eq!(table.update_scalar(b"absent", add, &[0, 0]).unwrap(), None);
        assert!(matches!(table.update_scalar(b"v", add, &[1, 0]), Err(Error::NotElements { bytes: 4 })));
        assert!(matches!(table.update_scalar(b"v", 9999, &[]), Err(Error::Function(_))));
        assert!(matches!(table.filter(b"v", add, &[1, 0]), Err(Error::Function(_))));
        assert!(matches!(table.update_scalar(b"", add, &[1, 0]), Err(Error::KeyLength { .. })));
        assert_eq!(table.pair_count(), 1);
    }};
}

#[test]
fn functions_of_ordered_tables() {
    check_functions!(|store: &Store| store.table("ordered").unwrap());
}

#[test]
fn functions_of_unordered_tables() {
    let few = UnorderedConfig { buckets: 4, ..UnorderedConfig::default() };
    check_functions!(|store: &Store| store.unordered_table("unordered", few).unwrap());
}

/// Values with buffers of their own, and snapshots from before an update.
#[test]
fn functions_change_long_values() {
    let mut store = store();
    let table = store.table("ordered").unwrap();
    table.put(b"v", &vec![1; MIB]).unwrap();
    let snapshot = store.snapshot().unwrap();
    let add = BuiltIn::Add.number(Element::U8);
    assert_eq!(table.update_vector_with_scalar(b"v", add, &[2]).unwrap(), Some(vec![1; MIB]));
    assert_eq!(table.get(b"v").unwrap(), Some(vec![3; MIB]));
    assert_eq!(snapshot.get(&table, b"v").unwrap(), Some(vec![1; MIB]));
    drop((snapshot, table));
    assert_eq!(store.verify().unwrap().overflow_values, 1);
}

#[test]
fn an_invalid_function_fails_alone_in_a_list() {
    let store = store();
    let table = store.table("ordered").unwrap();
    table.put(b"n", &[5]).unwrap();
    let add = BuiltIn::Add.number(Element::U8);
    let mut batch = Batch::default();
    batch.put(&table, b"a", b"1").update_scalar(&table, b"n", 9999, &[1]).update_scalar(
        &table,
        b"n",
        add,
        &[1],
    );
    let mut outcomes = Vec::new();
    store.apply_each(&batch, |index, outcome| outcomes.push((index, outcome))).unwrap();
    let original = Outcome::Original(Box::new(Existing { value: vec![5], version: 0 }));
    assert!(matches!(&outcomes[..], [
        (0, Ok(Outcome::Inserted)),
        (1, Err(Error::Function(_))),
        (2, Ok(last)),
    ] if *last == original));
    // Together nothing takes effect.
    assert!(matches!(store.apply(&batch), Err(Error::Function(_))));
    assert_eq!(table.get(b"n").unwrap(), Some(vec![6]));
    assert_eq!(batch.bytes(), "a1nn".len() + 2);
}

/// Four threads add to two counters of different tables in batches, and none is lost.
#[test]
fn functions_of_several_threads_are_atomic() {
    let store = store();
    let (table, other) = (store.table("one").unwrap(), store.table("other").unwrap());
    let add = BuiltIn::Add.number(Element::U32);
    let one = 1_u32.to_le_bytes();
    [&table, &other].iter().for_each(|table| table.put(b"n", &[0; 4]).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let mut batch = Batch::default();
                    batch.update_scalar(&table, b"n", add, &one).update_scalar(&other, b"n", add, &one);
                    let BatchOutcome::Applied { outcomes, .. } = store.apply(&batch).unwrap() else {
                        panic!()
                    };
                    assert_eq!(outcomes[0], outcomes[1], "both counters had the same value");
                }
            });
        }
    });
    assert_eq!(table.get(b"n").unwrap(), Some(2000_u32.to_le_bytes().to_vec()));
}
