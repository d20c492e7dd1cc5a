//! Retired buffers and LIDs on their way to be reclaimed.
//!
//! Entries gather in the open batch of their thread's stripe. A batch that is full, or that somebody wants to
//! reclaim, is closed: stamped with the operations in flight. The stamps of a stripe only grow, so its batches pass in
//! the order in which they were closed.
//!
//! 1. A stripe's lists: under its lock.
//! 2. What was taken out of the lists is the taker's alone.

use std::collections::VecDeque;

use crate::address::{BusAddress, Lid};
use crate::epochs::{Epochs, Stamp};
use crate::sync::{Mutex, Padded, lock, thread_number};

/// Something that no operation which begins from now on can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retired {
    /// The buffer of a node that was replaced.
    Node(BusAddress),
    /// The LID of a node that is gone.
    Lid(Lid),
    /// The buffer of a value, and the value's length in bytes.
    Value(BusAddress, usize),
}

/// Entries of a full batch.
const BATCH: usize = 64;

#[derive(Debug)]
pub(crate) struct RetireLists {
    stripes: Box<[Padded<Mutex<Lists>>]>,
}

#[derive(Debug, Default)]
struct Lists {
    open: Vec<Retired>,
    closed: VecDeque<(Stamp, Vec<Retired>)>,
}

impl Lists {
    fn close(&mut self, epochs: &Epochs) {
        let batch = std::mem::replace(&mut self.open, Vec::with_capacity(BATCH));
        self.closed.push_back((epochs.stamp(), batch));
    }
}

impl RetireLists {
    pub(crate) fn new(stripes: usize) -> Self {
        Self { stripes: (0..stripes).map(|_| Padded(Mutex::new(Lists::default()))).collect() }
    }

    /// Adds an entry. True if that closed a batch of this thread's stripe.
    pub(crate) fn push(&self, entry: Retired, epochs: &Epochs) -> bool {
        let mut lists = lock(self.stripe(thread_number()));
        lists.open.push(entry);
        let full = lists.open.len() >= BATCH;
        if full {
            lists.close(epochs);
        }
        full
    }

    /// Takes the oldest batch of this thread's stripe if all have passed it.
    pub(crate) fn take_own(&self, epochs: &Epochs) -> Option<Vec<Retired>> {
        take(&mut lock(self.stripe(thread_number())), epochs)
    }

    /// Closes all open batches and takes one that all have passed.
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
