//! The replay of puts and deletions by several threads: all changes of a key by the same one, in order.
//!
//! A thread gets whole batches, so the caller decodes the next records while all threads apply the earlier
//! ones.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Scope, available_parallelism};

use crate::batch::Batch;
use crate::error::Error;
use crate::store_state::StoreState;
use crate::table_handle::TableRef;

/// Entries of a batch, and its bytes.
const BATCH_ENTRIES: usize = 512;
const BATCH_BYTES: usize = 1 << 20;
/// Batches that wait for a thread.
const BATCHES_AHEAD: usize = 4;
/// More threads would wait for the caller, who decodes the log.
const THREADS_MAX: usize = 8;

/// Pairs in the store for each thread: threads that write to few leaves wait for each other.
const PAIRS_EACH: u64 = 1 << 16;

/// The threads. They end when this is dropped.
pub(crate) struct Appliers {
    lanes: Vec<Lane>,
    /// The number of threads that get changes.
    used: usize,
}

/// A thread, with the changes that it has not received yet.
struct Lane {
    batch: Batch,
    batches: SyncSender<Batch>,
    /// The batches that the thread has applied, empty.
    applied: Receiver<Result<Batch, Error>>,
    /// The number of batches that were sent but not received back.
    pending: usize,
}

impl Appliers {
    /// Starts the threads.
    pub(crate) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        state: &'env Arc<StoreState>,
    ) -> Self {
        let threads = available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let lane = |_| {
            let (batches, received) = sync_channel(BATCHES_AHEAD);
            let (sender, applied) = channel();
            scope.spawn(move || apply_all(state, &received, &sender));
            Lane { batch: Batch::default(), batches, applied, pending: 0 }
        };
        Self { lanes: (0..threads).map(lane).collect(), used: 1 }
    }

    /// Uses as many threads as a store with this number of pairs keeps busy.
    pub(crate) fn widen(&mut self, pairs: u64) -> Result<(), Error> {
        let used = usize::try_from(pairs / PAIRS_EACH).map_or(self.lanes.len(), |used| used);
        if used > self.used && self.used < self.lanes.len() {
            // From now on other threads get the changes of a key.
            self.finish()?;
            self.used = used.min(self.lanes.len());
        }
        Ok(())
    }

    /// Adds a put.
    pub(crate) fn put(
        &mut self,
        (tree, table): (u64, TableRef<'_>),
        key: &[u8],
        value: &[u8],
    ) -> Result<(), Error> {
        let lane = self.lane(tree, key);
        lane.batch.put(table, key, value);
        lane.send_if_full()
    }

    /// Adds a deletion.
    pub(crate) fn delete(&mut self, (tree, table): (u64, TableRef<'_>), key: &[u8]) -> Result<(), Error> {
        let lane = self.lane(tree, key);
        lane.batch.delete(table, key);
        lane.send_if_full()
    }

    /// Returns when all changes are applied.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.lanes.iter_mut().try_for_each(Lane::send)?;
        self.lanes.iter_mut().try_for_each(Lane::finish)
    }

    fn lane(&mut self, tree: u64, key: &[u8]) -> &mut Lane {
        let lane =
            if self.used == 1 { 0 } else { crc32c::crc32c_append(tree as u32, key) as usize % self.used };
        &mut self.lanes[lane]
    }
}

impl Lane {
    fn send_if_full(&mut self) -> Result<(), Error> {
        let is_full = self.batch.len() >= BATCH_ENTRIES || self.batch.bytes() >= BATCH_BYTES;
        if is_full { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), Error> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let mut next = Batch::default();
        while let Ok(applied) = self.applied.try_recv() {
            self.pending -= 1;
            next = applied?;
        }
        // A thread ends early only by a panic, which the scope passes on.
        let sent = self.batches.send(std::mem::replace(&mut self.batch, next));
        self.pending += usize::from(sent.is_ok());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        while self.pending > 0
            && let Ok(applied) = self.applied.recv()
        {
            self.pending -= 1;
            applied?;
        }
        Ok(())
    }
}

fn apply_all(state: &StoreState, batches: &Receiver<Batch>, applied: &Sender<Result<Batch, Error>>) {
    for mut batch in batches {
        let result = apply(state, &batch);
        // The batch has handles to tables, and a later change may drop one.
        batch.clear();
        if applied.send(result.map(|()| batch)).is_err() {
            return;
        }
    }
}

fn apply(state: &StoreState, batch: &Batch) -> Result<(), Error> {
    let mut failed = None;
    state.apply_each(batch, |_, outcome| {
        if let Err(error) = outcome {
            failed.get_or_insert(error);
        }
    })?;
    failed.map_or(Ok(()), Err)
}
