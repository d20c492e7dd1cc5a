//! The lists of retired buffers and LIDs that are not reclaimed yet.
//!
//! A thread appends entries to the open batch of its stripe. A batch is closed when it is full, or when a
//! thread reclaims memory: it receives a stamp of the operations in flight. The stamps of a stripe are in
//! ascending order, so its batches become reclaimable in the order in which they were closed.
//!
//! 1. A thread accesses the lists of a stripe only under the lock of the stripe.
//! 2. A thread that has removed a batch from the lists owns it.

use std::collections::VecDeque;

use crate::address::{BusAddress, Lid};
use crate::epochs::{Epochs, Stamp};
use crate::sync::{Mutex, Padded, lock, thread_number};

/// A buffer or LID that no later operation can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retired {
    /// The buffer of a replaced node.
    Node(BusAddress),
    /// The LID of a removed node.
    Lid(Lid),
    /// The buffer of a value, and the value's length in bytes.
    Value(BusAddress, usize),
    /// A page of an unordered table.
    TablePage(BusAddress),
}

/// A batch with this number of entries is full.
const BATCH_ENTRIES: usize = 64;
/// A batch with this number of bytes is full, even if it has fewer entries.
const BATCH_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct RetireLists {
    stripes: Box<[Padded<Mutex<Lists>>]>,
}

#[derive(Debug, Default)]
struct Lists {
    open: Vec<Retired>,
    open_bytes: usize,
    closed: VecDeque<(Stamp, Vec<Retired>)>,
}

impl Lists {
    fn close(&mut self, epochs: &Epochs) {
        let batch = std::mem::replace(&mut self.open, Vec::with_capacity(BATCH_ENTRIES));
        self.open_bytes = 0;
        self.closed.push_back((epochs.stamp(), batch));
    }
}

impl RetireLists {
    pub(crate) fn new(stripes: usize) -> Self {
        Self { stripes: (0..stripes).map(|_| Padded(Mutex::new(Lists::default()))).collect() }
    }

    /// Appends an entry of `bytes` bytes. Returns whether it has closed a batch of this thread's stripe.
    pub(crate) fn push(&self, entry: Retired, bytes: usize, epochs: &Epochs) -> bool {
        let mut lists = lock(self.stripe(thread_number()));
        lists.open.push(entry);
        lists.open_bytes += bytes;
        let full = lists.open.len() >= BATCH_ENTRIES || lists.open_bytes >= BATCH_BYTES;
        if full {
            lists.close(epochs);
        }
        full
    }

    /// Removes the oldest batch of this thread's stripe if it is reclaimable.
    pub(crate) fn take_own(&self, epochs: &Epochs) -> Option<Vec<Retired>> {
        take(&mut lock(self.stripe(thread_number())), epochs)
    }

    /// Closes open batches and removes a batch that is reclaimable.
    pub(crate) fn take_any(&self, epochs: &Epochs) -> Option<Vec<Retired>> {
        self.stripes.iter().find_map(|stripe| {
            let mut lists = lock(&stripe.0);
            if !lists.open.is_empty() {
                lists.close(epochs);
            }
            take(&mut lists, epochs)
        })
    }

    fn stripe(&self, number: usize) -> &Mutex<Lists> {
        &self.stripes[number % self.stripes.len()].0
    }
}

fn take(lists: &mut Lists, epochs: &Epochs) -> Option<Vec<Retired>> {
    let (stamp, _) = lists.closed.front()?;
    if !epochs.passed(stamp) {
        return None;
    }
    lists.closed.pop_front().map(|(_, batch)| batch)
}

#[cfg(all(test, loom))]
mod models {
    use loom::thread;

    use super::*;
    use crate::epochs::models::GuardedBuffer;
    use crate::sync::Arc;

    /// One thread retires a buffer and another one reclaims it: the lock orders making it unreachable before
    /// the stamp. Fails if the fence in `Epochs::stamp` is omitted.
    #[test]
    fn loom_one_thread_reclaims_what_another_retired() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = GuardedBuffer::new(1, 0, 0);
            let lists = Arc::new(RetireLists::new(1));
            let reader = thread::spawn({
                let shared = shared.clone();
                move || {
                    let _pin = shared.epochs.pin(0);
                    shared.read();
                }
            });
            let writer = thread::spawn({
                let (shared, lists) = (shared.clone(), lists.clone());
                move || {
                    shared.make_unreachable();
                    let address = BusAddress::new(512).unwrap();
                    assert!(!lists.push(Retired::Node(address), 0, &shared.epochs));
                }
            });
            if lists.take_any(&shared.epochs).is_some() {
                shared.write();
            }
            reader.join().unwrap();
            writer.join().unwrap();
        });
    }
}
