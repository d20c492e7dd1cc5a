//! A write version that is never released because its writer has panicked. All later writes are published but
//! stay invisible. The test checks which operations wait and which do not.
//!
//! No API call makes a writer panic: the test retires the LID of a tree's root during a write.
#![allow(missing_docs)]

use std::ops::Bound;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_btree::{BatchOperation, Forest, Operation, Root};
use honeycomb_memory::Retired;
use honeycomb_testing::index::{MIB, everything, forest, tiny};

/// Time for which the test observes an operation that must wait.
const WHILE: Duration = Duration::from_millis(100);
/// Time within which a write must be published.
const SOON: Duration = Duration::from_secs(10);

/// A value that does not fit the log block, so the leaf is consolidated.
const LONG: [u8; 120] = [7; 120];

struct Open {
    forest: Arc<Forest>,
    /// A tree of three pairs in one leaf.
    root: Root,
    /// The version before the open one.
    version: u64,
}

impl Open {
    fn new() -> Self {
        let forest = Arc::new(forest(tiny(128), 4 * MIB, true));
        let root = forest.create_tree().unwrap();
        for key in [b"a", b"b", b"c"] {
            forest.write(root, key, Operation::Insert(b"old")).unwrap();
        }
        let version = forest.read_version();
        break_a_writer(&forest);
        Self { forest, root, version }
    }

    /// Starts an operation in a separate thread, which may never end. The channel receives a message at its
    /// end.
    fn begin(&self, work: fn(&Forest, Root)) -> Receiver<()> {
        let (forest, root) = (self.forest.clone(), self.root);
        let (sender, receiver) = channel();
        thread::spawn(move || {
            work(&forest, root);
            sender.send(())
        });
        receiver
    }

    /// Starts a write and waits until it is published.
    fn publish(&self, write: fn(&Forest, Root)) -> Receiver<()> {
        let state = || {
            let pin = self.forest.memory().pin();
            let leaf = self.forest.memory().node(&pin, self.root.lid());
            (leaf.address(), leaf.lock_and_size().sequence())
        };
        let (before, began) = (state(), Instant::now());
        let operation = self.begin(write);
        while state() == before {
            assert!(began.elapsed() < SOON, "the write is not published");
            thread::yield_now();
        }
        operation
    }

    fn waits(&self, operation: &Receiver<()>) {
        assert!(operation.recv_timeout(WHILE).is_err(), "completed before its effect or reason was visible");
        assert_eq!(self.forest.read_version(), self.version);
    }
}

/// Makes a writer take a version and panic before it publishes anything.
fn break_a_writer(forest: &Arc<Forest>) {
    let broken = forest.create_tree().unwrap();
    let _pin = forest.memory().pin();
    forest.memory().retire([Retired::Lid(broken.lid())]);
    let shared = forest.clone();
    let writer = thread::spawn(move || shared.write(broken, b"key", Operation::Put(&LONG)).map(drop));
    assert!(writer.join().is_err());
}

fn put_long(forest: &Forest, root: Root) {
    forest.write(root, b"a", Operation::Put(&LONG)).unwrap();
}

fn put_short(forest: &Forest, root: Root) {
    forest.write(root, b"a", Operation::Put(b"new")).unwrap();
}

fn insert(forest: &Forest, root: Root) {
    forest.write(root, b"a", Operation::Insert(b"")).unwrap();
}

fn delete(forest: &Forest, root: Root) {
    forest.write(root, b"a", Operation::Delete).unwrap();
}

fn apply(forest: &Forest, root: Root, operation: Operation<'_>) {
    forest.apply(&[BatchOperation { root, key: b"a", operation }]).unwrap();
}

fn insert_each(forest: &Forest, root: Root) {
    let operation = Operation::Insert(b"");
    forest.write_each(&[BatchOperation { root, key: b"a", operation }], |_, outcome| drop(outcome.unwrap()));
}

fn put_each(forest: &Forest, root: Root) {
    let one = |key| BatchOperation { root, key, operation: Operation::Put(b"new") };
    forest.write_each(&[one(&b"a"[..]), one(b"b")], |_, outcome| drop(outcome.unwrap()));
}

/// Executes a batch that changes the leaf before one of its operations is rejected.
fn after_others(forest: &Forest, root: Root, value: &[u8]) {
    let one = |key, operation| BatchOperation { root, key, operation };
    let batch = [one(&b"Z"[..], Operation::Put(value)), one(b"a", Operation::Insert(b""))];
    forest.apply(&batch).unwrap();
}

#[test]
fn a_write_waits_to_be_visible() {
    for write in [put_short, put_long, put_each, delete] {
        let open = Open::new();
        let retired = || open.forest.memory().accounting().retired_nodes;
        let before = retired();
        let operation = open.publish(write);
        open.waits(&operation);
        assert_eq!(retired(), before, "a new reader still needs the replaced buffer");
        let reader = open.forest.reader();
        assert_eq!(reader.get(open.root, b"a").unwrap().value, b"old");
        assert!(everything(&reader, open.root).iter().all(|(_, value)| value == b"old"));
    }
}

#[test]
fn a_rejected_write_waits_until_its_reason_is_visible() {
    for write in [put_short, put_long] {
        let open = Open::new();
        open.publish(write);
        let rejected = [
            insert,
            insert_each,
            |forest: &Forest, root| apply(forest, root, Operation::Insert(b"")),
            |forest: &Forest, root| after_others(forest, root, b"other"),
            |forest: &Forest, root| after_others(forest, root, &LONG),
        ];
        let operations = rejected.map(|write| open.begin(write));
        operations.iter().for_each(|operation| open.waits(operation));
    }
}

#[test]
fn a_delete_of_an_absent_key_waits_until_the_absence_is_visible() {
    let open = Open::new();
    open.publish(delete);
    let delete_range = |forest: &Forest, root| {
        let bounds = (Bound::Included(&b"a"[..]), Bound::Excluded(&b"b"[..]));
        forest.delete_range(root, bounds.0, bounds.1).unwrap();
    };
    let absent = [delete, delete_range, |forest: &Forest, root| apply(forest, root, Operation::Delete)];
    let operations = absent.map(|delete| open.begin(delete));
    operations.iter().for_each(|operation| open.waits(operation));
}
