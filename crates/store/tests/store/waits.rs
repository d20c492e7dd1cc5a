//! Operations that need several stripes or pins do not wait for each other, or for themselves, for ever.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use honeycomb_store::unordered::{Element, Functions};
use honeycomb_store::{Batch, Config, Store, UnorderedConfig, UnorderedTable};
use honeycomb_testing::{Gate, within};

use super::{config, key};

/// Fails if `work` does not end.
fn must_end(work: impl FnOnce() + Send + 'static) {
    within(work).expect("operations wait for ever");
}

fn table(store: &Store, name: &str, buckets: usize) -> UnorderedTable {
    store.unordered_table(name, UnorderedConfig { buckets, ..UnorderedConfig::default() }).unwrap()
}

/// A store with a function that waits for the other thread, and then for a time in which this thread can lock
/// stripes.
fn store_with_pause(meeting: Arc<Barrier>) -> (Store, u32) {
    let mut functions = Functions::default();
    let pause = move |value, _: &[u64]| {
        meeting.wait();
        thread::sleep(Duration::from_millis(2));
        value
    };
    let pause = functions.register_update(Element::U8, 1, Box::new(pause)).unwrap();
    let config = Config { functions: Arc::new(functions), hash_seed: Some(1), ..config() };
    (Store::open(config).unwrap(), pause)
}

/// The first batch of each round pauses while it holds one of two stripes of `a` and the stripe of `b`. Then
/// the second one often locks the other stripe of `a`, and waits for `b`. If `a` grows after the first batch,
/// it may need this stripe.
#[test]
fn a_table_grows_after_the_last_stripe_of_its_batch_is_free() {
    const ROUNDS: u64 = 200;
    must_end(|| {
        let meeting = Arc::new(Barrier::new(2));
        let (store, pause) = store_with_pause(meeting.clone());
        let (a, b) = (table(&store, "a", 2), table(&store, "b", 1));
        b.put(b"pause", &[0]).unwrap();
        let apply = |number: u64, pauses: bool| {
            let (key, mut batch) = (key(number), Batch::default());
            batch.put(&a, &key, &[1; 16]).put(&b, b"last", &key);
            if pauses {
                batch.update_scalar(&b, b"pause", pause, &[0]);
            } else {
                meeting.wait();
            }
            store.apply(&batch).unwrap();
            // The next batch must not meet the other thread while that waits for its stripes.
            meeting.wait();
        };
        thread::scope(|scope| {
            scope.spawn(|| (0..ROUNDS).for_each(|round| apply(2 * round, true)));
            scope.spawn(|| (0..ROUNDS).for_each(|round| apply(2 * round + 1, false)));
        });
        assert_eq!(a.pair_count(), 2 * ROUNDS);
    });
}

/// A writer that is stopped inside its function holds one stripe: gets of other stripes go on, and one of the
/// same stripe waits until the writer has stored the value.
#[test]
fn gets_of_other_stripes_do_not_wait_for_a_stopped_writer() {
    must_end(|| {
        let (gate, mut functions) = (Gate::default(), Functions::default());
        let passage = gate.passage();
        let increment = Box::new(move |value, _: &[u64]| (passage(), value + 1).1);
        let increment = functions.register_update(Element::U8, 0, increment).unwrap();
        let config = Config { functions: Arc::new(functions), hash_seed: Some(1), ..config() };
        let store = Store::open(config).unwrap();
        let table = table(&store, "table", 1024);
        // With this seed, no other key has the stripe of the first one.
        (0..100).for_each(|number| table.put(&key(number), &[0]).unwrap());
        let begins = Barrier::new(2);
        gate.close();
        thread::scope(|scope| {
            scope.spawn(|| table.update_scalar(&key(0), increment, &[]).unwrap());
            gate.wait_until_reached();
            for number in 1..100 {
                assert_eq!(table.get(&key(number)).unwrap(), Some(vec![0]), "{number}");
            }
            let same = scope.spawn(|| {
                begins.wait();
                table.get(&key(0)).unwrap()
            });
            begins.wait();
            // In this time, the get reaches the stripe.
            thread::sleep(Duration::from_millis(20));
            assert!(!same.is_finished());
            gate.open();
            assert_eq!(same.join().unwrap(), Some(vec![1]));
        });
    });
}

/// A batch and a read of several keys need one pin each, whatever the number of their tables.
#[test]
fn operations_over_several_tables_need_one_pin() {
    must_end(|| {
        let store = Store::open(Config { concurrent_operations: 1, ..config() }).unwrap();
        let ordered = store.table("ordered").unwrap();
        let (a, b) = (table(&store, "a", 1), table(&store, "b", 1));
        let mut batch = Batch::default();
        batch.put(&a, b"k", b"1").put(&b, b"k", b"2").put(&ordered, b"k", b"3");
        store.apply(&batch).unwrap();
        let keys = [((&a).into(), &b"k"[..]), ((&b).into(), b"k"), ((&ordered).into(), b"k")];
        let values = [b"1", b"2", b"3"].map(|value| Some(value.to_vec()));
        assert_eq!(store.get_together(&keys).unwrap(), values);
    });
}

/// The leaves that a batch leaves sparse are merged without a further pin.
#[test]
fn a_batch_that_leaves_leaves_sparse_needs_one_pin() {
    must_end(|| {
        let store = Store::open(Config { concurrent_operations: 1, ..config() }).unwrap();
        let (ordered, a) = (store.table("ordered").unwrap(), table(&store, "a", 1));
        (0..2000).for_each(|number| ordered.put(&key(number), &[1; 100]).unwrap());
        let mut batch = Batch::default();
        batch.put(&a, b"k", b"1");
        (0..1990).for_each(|number| _ = batch.delete(&ordered, &key(number)));
        store.apply(&batch).unwrap();
        assert_eq!((ordered.pair_count(), a.pair_count()), (10, 1));
    });
}
