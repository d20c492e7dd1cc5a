//! A version that was taken and is never released, since its writer broke down in between. All later writes
//! are published and wait behind it: here one sees who waits and who does not.
//!
//! Nothing that a caller does makes a writer break down: the test retires the LID of a tree's root under it.
#![allow(missing_docs)]

use std::ops::Bound;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_btree::{BatchOperation, Forest, Operation, Root};
use honeycomb_memory::Retired;
use honeycomb_testing::index::{MIB, everything, forest, tiny};

/// How long one looks at what must wait.
const WHILE: Duration = Duration::from_millis(100);
/// What is published takes less.
const SOON: Duration = Duration::from_secs(10);

/// Does not fit the log: the leaf is merged.
const LONG: [u8; 120] = [7; 120];

struct Open {
    forest: Arc<Forest>,
    /// Three pairs in one leaf.
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

    /// Begins something in a thread of its own, which may never end; says when it does.
    fn begin(&self, work: fn(&Forest, Root)) -> Receiver<()> {
        let (forest, root) = (self.forest.clone(), self.root);
        let (sender, receiver) = channel();
        thread::spawn(move || {
            work(&forest, root);
            sender.send(())
        });
        receiver
    }

    /// Begins a write and waits until it is published.
    fn publish(&self, write: fn(&Forest, Root)) -> Receiver<()> {
        let state = || {
            let pin = self.forest.memory().pin();
            let leaf = self.forest.memory().node(&pin, self.root.lid());
            (leaf.address(), leaf.lock_and_size().sequence())
        };
        let (before, began) = (state(), Instant::now());
        let answer = self.begin(write);
        while state() == before {
            assert!(began.elapsed() < SOON, "the write is not published");
            thread::yield_now();
        }
        answer
    }

    fn waits(&self, answer: &Receiver<()>) {
        assert!(answer.recv_timeout(WHILE).is_err(), "answered, although what it saw or did is not visible");
        assert_eq!(self.forest.read_version(), self.version);
    }
}

/// Has a writer take a version and panic before it has published anything.
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

/// A batch that changes the leaf before one of its operations is refused.
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
        let answer = open.publish(write);
        open.waits(&answer);
        assert_eq!(retired(), before, "who begins now still needs the buffer that was replaced");
        let reader = open.forest.reader();
        assert_eq!(reader.get(open.root, b"a").unwrap().value, b"old");
        assert!(everything(&reader, open.root).iter().all(|(_, value)| value == b"old"));
    }
}

#[test]
fn a_refused_write_waits_for_its_reason() {
    for write in [put_short, put_long] {
        let open = Open::new();
        open.publish(write);
        let refused = [
            insert,
            insert_each,
            |forest: &Forest, root| apply(forest, root, Operation::Insert(b"")),
            |forest: &Forest, root| after_others(forest, root, b"other"),
            |forest: &Forest, root| after_others(forest, root, &LONG),
        ];
        let answers = refused.map(|write| open.begin(write));
        answers.iter().for_each(|answer| open.waits(answer));
    }
}

#[test]
fn a_delete_of_nothing_waits_for_its_reason() {
    let open = Open::new();
    open.publish(delete);
    let delete_range = |forest: &Forest, root| {
        let bounds = (Bound::Included(&b"a"[..]), Bound::Excluded(&b"b"[..]));
        forest.delete_range(root, bounds.0, bounds.1).unwrap();
    };
    let absent = [delete, delete_range, |forest: &Forest, root| apply(forest, root, Operation::Delete)];
    let answers = absent.map(|delete| open.begin(delete));
    answers.iter().for_each(|answer| open.waits(answer));
}
