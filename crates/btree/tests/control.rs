//! Notification of devices by writers: contents and order.
#![allow(missing_docs)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;

use honeycomb_btree::{BatchOperation, Error, Forest, Operation, Root};
use honeycomb_memory::{BusAddress, Control, Lid, MemoryError};
use honeycomb_testing::index::{Keys, MIB, forest, key, pick, tiny};
use honeycomb_testing::seed_or;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// The page table and the read version of a device.
#[derive(Debug, Default)]
struct Copies {
    mappings: Mutex<HashMap<Lid, BusAddress>>,
    version: AtomicU64,
    /// The forest to check at each notification.
    checked_forest: Mutex<Weak<Forest>>,
}

impl Copies {
    fn checked_forest(&self) -> Option<Arc<Forest>> {
        self.checked_forest.lock().unwrap().upgrade()
    }

    /// Checks that the copies match the CPU. No memory was reclaimed, so each LID is still mapped.
    fn check(&self, forest: &Forest) {
        let pin = forest.memory().pin();
        for (&lid, &address) in &*self.mappings.lock().unwrap() {
            assert_eq!(forest.memory().node(&pin, lid).address(), address, "{lid:?}");
        }
        assert_eq!(self.version.load(Ordering::SeqCst), forest.read_version());
    }
}

impl Control for Copies {
    fn map(&self, lid: Lid, address: BusAddress) {
        let replaced = self.mappings.lock().unwrap().insert(lid, address);
        if let (Some(forest), Some(replaced)) = (self.checked_forest(), replaced) {
            let node = forest.memory().node(&forest.memory().pin(), lid).address();
            assert_eq!(node, replaced, "the device is notified after the page table");
        }
    }

    fn publish(&self, version: u64) {
        let before = self.version.fetch_max(version, Ordering::SeqCst);
        if let Some(forest) = self.checked_forest() {
            assert_eq!(forest.read_version(), before, "the device is notified after readers");
            assert_eq!(version, before + 1);
        }
    }
}

/// Returns a forest that never reclaims memory, a tree, and the copies of a device.
fn registered(mvcc: bool) -> (Arc<Forest>, Root, Arc<Copies>) {
    let forest = Arc::new(forest(tiny(128), 512 * MIB, mvcc));
    let copies = Arc::new(Copies::default());
    forest.register(copies.clone()).unwrap();
    assert_eq!(copies.version.load(Ordering::SeqCst), forest.read_version());
    let root = forest.create_tree().unwrap();
    (forest, root, copies)
}

fn write(forest: &Forest, root: Root, rng: &mut StdRng, steps: usize) {
    for _ in 0..steps {
        let mut key = || key(Keys::Random, rng.random_range(0..200), 100);
        let keys = [key(), key(), key()];
        let value = [7; 40];
        match rng.random_range(0..20) {
            0 => {
                let operation = Operation::Put(&value);
                let batch = keys.each_ref().map(|key| BatchOperation { root, key, operation });
                forest.apply(&batch).unwrap();
            }
            1 => {
                let (lower, upper) = (keys[0].as_slice(), keys[1].as_slice());
                let bounds = (std::ops::Bound::Included(lower), std::ops::Bound::Excluded(upper));
                forest.delete_range(root, bounds.0, bounds.1).unwrap();
            }
            _ => {
                let operation = *pick(rng, &[Operation::Put(&value), Operation::Delete]);
                forest.write(root, &keys[0], operation).unwrap();
            }
        }
    }
}

#[test]
fn a_device_is_notified_before_readers_on_the_cpu() {
    for mvcc in [true, false] {
        let (forest, root, copies) = registered(mvcc);
        let _no_reclamation = forest.memory().lease().unwrap();
        *copies.checked_forest.lock().unwrap() = Arc::downgrade(&forest);
        write(&forest, root, &mut StdRng::seed_from_u64(seed_or(1)), 5_000);
        copies.check(&forest);
        assert!(forest.statistics().leaf_splits > 0 && forest.statistics().consolidations > 0);
    }
}

/// With several writers in few leaves, the last mapping that a device receives for a LID is the current one.
#[test]
fn a_device_matches_the_cpu_under_several_writers() {
    let (forest, root, copies) = registered(true);
    let _no_reclamation = forest.memory().lease().unwrap();
    let first_seed = seed_or(1);
    thread::scope(|scope| {
        for thread in 0..4 {
            let (forest, copies) = (&forest, &copies);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(first_seed + thread);
                for _ in 0..40 {
                    write(forest, root, &mut rng, 100);
                    let visible = forest.read_version();
                    assert!(copies.version.load(Ordering::SeqCst) >= visible);
                }
            });
        }
    });
    copies.check(&forest);
}

#[test]
fn a_waiter_may_release_a_version() {
    let (forest, root, copies) = registered(true);
    forest.write(root, b"key", Operation::Put(b"1")).unwrap();
    let visible = forest.read_version();
    forest.release_up_to(visible + 1);
    assert_eq!(forest.read_version(), visible, "a version was released before its write was done");
    *copies.checked_forest.lock().unwrap() = Arc::downgrade(&forest);
    forest.write(root, b"key", Operation::Put(b"2")).unwrap();
    forest.release_up_to(visible + 1);
    assert_eq!(forest.read_version(), visible + 1);
}

#[test]
fn devices_register_before_the_first_tree() {
    let (forest, ..) = registered(true);
    let rejected = forest.register(Arc::new(Copies::default()));
    assert!(matches!(rejected, Err(Error::Memory(MemoryError::RegisteredTooLate))), "{rejected:?}");
}
