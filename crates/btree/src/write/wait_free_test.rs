//! Stops a writer at each stage of each kind of write. Readers must continue: they see the state before the
//! write until its version is released, and the state after it from then on.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::mpsc::{Receiver, Sender, channel};

use honeycomb_memory::MemoryConfig;

use crate::write::stages::{Stage, hook};
use crate::{BatchOperation, Config, Forest, Operation, Root, Scan, Shape};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn forest() -> Forest {
    let memory = MemoryConfig { arena_bytes: 4 << 20, huge_pages: false, ..MemoryConfig::default() };
    let shape = Shape { node_bytes: 1024, log_threshold_bytes: 128, ..Shape::default() };
    Forest::new(Config { memory, shape, ..Config::default() }).unwrap()
}

fn key(number: u32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn contents(forest: &Forest, root: Root) -> Model {
    let reader = forest.reader();
    let mut forward = Model::new();
    reader.scan(root, &Scan::default(), |pair| {
        forward.insert(pair.key(), pair.value().to_vec());
        ControlFlow::Continue(())
    });
    let mut backward = 0;
    reader.scan(root, &Scan { backward: true, ..Scan::default() }, |_| {
        backward += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(forward.len(), backward);
    for number in (0..2000).step_by(3) {
        let found = reader.get(root, &key(number)).map(|found| found.value.to_vec());
        assert_eq!(found, forward.get(&key(number)).cloned());
    }
    forward
}

/// Makes this thread's writer stop at its `nth` stage until it receives a message on `resumed`. It sends the
/// stage and whether it has released a version.
fn stop_at(nth: usize, stopped: Sender<(Stage, bool)>, resumed: Receiver<()>) {
    let (mut passed, mut released) = (0, false);
    hook::set(move |stage| {
        released |= stage == Stage::Released;
        if passed == nth {
            stopped.send((stage, released)).unwrap();
            resumed.recv().unwrap();
        }
        passed += 1;
    });
}

/// Returns a forest of `count` pairs.
fn filled_forest(count: u32) -> (Forest, Root) {
    let forest = forest();
    let root = forest.create_tree().unwrap();
    for number in 0..count {
        forest.write(root, &key(number), Operation::Put(&[1; 20])).unwrap();
    }
    (forest, root)
}

/// Runs `write` once for each of its stages, stopped there, on a forest of `count` pairs. Returns the number
/// of stages.
fn stopped_everywhere(count: u32, write: fn(&Forest, Root)) -> usize {
    for nth in 0.. {
        let (forest, root) = filled_forest(count);
        let before = contents(&forest, root);
        let (stopped, at_stage) = channel();
        let (resume, resumed) = channel();
        let reached = std::thread::scope(|scope| {
            let forest = &forest;
            let writer = scope.spawn(move || {
                stop_at(nth, stopped, resumed);
                write(forest, root);
            });
            let stopped = at_stage.recv().ok().map(|(stage, released)| {
                let now = contents(forest, root);
                assert_eq!(now == before, !released, "stopped at stage {nth}, {stage:?}");
                resume.send(()).unwrap();
                released.then_some(now)
            });
            writer.join().unwrap();
            stopped
        });
        forest.verify(&[root]).unwrap();
        let after = contents(&forest, root);
        match reached {
            None => {
                assert_ne!(after, before);
                return nth;
            }
            Some(seen) => assert!(seen.is_none_or(|seen| seen == after), "a part is visible at stage {nth}"),
        }
    }
    unreachable!("every write has a last stage")
}

#[test]
fn a_log_append() {
    assert!(
        stopped_everywhere(1, |forest, root| {
            forest.write(root, b"new", Operation::Put(b"value")).unwrap();
        }) >= 4
    );
}

#[test]
fn consolidations_splits_and_growth() {
    for count in 20..40 {
        stopped_everywhere(count, |forest, root| {
            forest.write(root, &key(7), Operation::Put(&[2; 100])).unwrap();
        });
    }
}

#[test]
fn splits_of_interior_nodes() {
    stopped_everywhere(1500, |forest, root| {
        let keys: Vec<Vec<u8>> = (0..60_u32).map(|low| [key(700), key(low)].concat()).collect();
        let batch: Vec<_> = keys
            .iter()
            .map(|key| BatchOperation { root, key, operation: Operation::Put(&[3; 180]) })
            .collect();
        forest.apply(&batch).unwrap();
        assert!(forest.statistics().interior_splits > 0);
    });
}

#[test]
fn merges_and_range_deletes() {
    stopped_everywhere(600, |forest, root| {
        let (lower, upper) = (key(31), key(577));
        let bounds = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
        assert_eq!(forest.delete_range(root, bounds.0, bounds.1).unwrap(), 577 - 31);
    });
}

#[test]
fn a_batch_over_many_leaves() {
    stopped_everywhere(300, |forest, root| {
        let keys: Vec<Vec<u8>> = (0..300).step_by(25).map(key).collect();
        let batch: Vec<_> =
            keys.iter().map(|key| BatchOperation { root, key, operation: Operation::Delete }).collect();
        forest.apply(&batch).unwrap();
    });
}

/// A compaction pass never changes what readers see.
#[test]
fn a_pass_that_merges_leaves_and_interior_nodes() {
    for nth in (0..).step_by(3) {
        let (forest, root) = filled_forest(1500);
        (0..1500).filter(|number| number % 5 > 1).for_each(|number| {
            forest.write(root, &key(number), Operation::Delete).unwrap();
        });
        let before = contents(&forest, root);
        let (stopped, at_stage) = channel();
        let (resume, resumed) = channel();
        let reached = std::thread::scope(|scope| {
            let forest = &forest;
            scope.spawn(move || {
                stop_at(nth, stopped, resumed);
                assert!(forest.compact(root, &mut Vec::new(), 10_000).unwrap().freed > 5);
            });
            let stopped = at_stage.recv().ok();
            if let Some((stage, _)) = stopped {
                assert_eq!(contents(forest, root), before, "stopped at stage {nth}, {stage:?}");
                resume.send(()).unwrap();
            }
            stopped
        });
        forest.verify(&[root]).unwrap();
        assert_eq!(contents(&forest, root), before);
        if reached.is_none() {
            return;
        }
    }
}
