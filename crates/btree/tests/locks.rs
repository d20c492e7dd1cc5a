//! A leaf that stays locked does not affect readers, and writers that wait for it hold no other locks.
#![allow(missing_docs)]

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_btree::{BatchOperation, Forest, Operation, Root};
use honeycomb_memory::{LockedNode, Node, Pin};
use honeycomb_testing::index::{MIB, everything, forest, tiny};

/// Time within which an expected event must occur.
const SOON: Duration = Duration::from_secs(20);

/// Returns a forest with two trees of one leaf each.
fn two_trees() -> (Arc<Forest>, Root, Root) {
    let forest = Arc::new(forest(tiny(128), 4 * MIB, true));
    let (first, second) = (forest.create_tree().unwrap(), forest.create_tree().unwrap());
    for root in [first, second] {
        forest.write(root, b"key", Operation::Put(b"value")).unwrap();
    }
    (forest, first, second)
}

fn leaf<'p>(forest: &'p Forest, pin: &'p Pin<'_>, root: Root) -> Node<'p> {
    forest.memory().node(pin, root.lid())
}

fn lock<'p>(forest: &'p Forest, pin: &'p Pin<'_>, root: Root) -> LockedNode<'p> {
    let leaf = leaf(forest, pin, root);
    leaf.try_lock(leaf.lock_and_size()).unwrap()
}

fn begin(forest: &Arc<Forest>, work: impl FnOnce(&Forest) + Send + 'static) -> Receiver<()> {
    let ((sender, receiver), forest) = (channel(), forest.clone());
    thread::spawn(move || {
        work(&forest);
        sender.send(())
    });
    receiver
}

fn wait_until(reached: impl Fn() -> bool) {
    let began = Instant::now();
    while !reached() {
        assert!(began.elapsed() < SOON);
        thread::yield_now();
    }
}

#[test]
fn readers_do_not_wait_for_a_lock() {
    let (forest, root, _) = two_trees();
    let pin = forest.memory().pin();
    let _locked = lock(&forest, &pin, root);
    let answer = begin(&forest, move |forest| {
        let reader = forest.reader();
        assert_eq!(reader.get(root, b"key").unwrap().value, b"value");
        assert_eq!(everything(&reader, root).len(), 1);
    });
    answer.recv_timeout(SOON).unwrap();
}

#[test]
fn a_writer_releases_its_locks_before_it_waits() {
    let (forest, first, second) = two_trees();
    let pin = forest.memory().pin();
    let locked = lock(&forest, &pin, second);
    let answer = begin(&forest, move |forest| {
        let put = |root| BatchOperation { root, key: b"key", operation: Operation::Put(b"new") };
        forest.apply(&[put(first), put(second)]).unwrap();
    });
    // The batch locks the first leaf, fails to lock the second, and releases the first. The test may not
    // observe the first lock.
    wait_until(|| forest.statistics().retries > 0);
    wait_until(|| !leaf(&forest, &pin, first).lock_and_size().locked());
    assert_eq!(forest.reader().get(first, b"key").unwrap().value, b"value");
    drop(locked);
    answer.recv_timeout(SOON).unwrap();
    assert_eq!(forest.reader().get(first, b"key").unwrap().value, b"new");
}
