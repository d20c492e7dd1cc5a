//! Lanes: the path of every read. A lane is a queue of the accelerator with its own buffers.
//!
//! A thread owns a lane for the duration of a call, so no call waits for another one. The store creates lanes
//! on demand and keeps up to a fixed number of them. Further concurrent calls create a temporary lane.

use std::sync::{Arc, Mutex, TryLockError};

use honeycomb_accelerator::{Accelerator, Completion, Completions, Queue, Read, Request, Requests, Status};
use honeycomb_btree::Version;
use honeycomb_memory::sync::thread_number;

use crate::error::Error;

/// Most lanes that the store keeps.
const LANES: usize = 64;
/// Most bytes of memory that a lane keeps for completions between calls.
const BYTES_KEPT: usize = 1 << 20;

pub(crate) struct Lanes {
    accelerator: Arc<dyn Accelerator>,
    lanes: Box<[LaneSlot]>,
}

/// Aligned to cache lines of its own, because mostly one core uses each lane.
#[repr(align(128))]
#[derive(Default)]
struct LaneSlot(Mutex<Option<Lane>>);

pub(crate) struct Lane {
    queue: Box<dyn Queue>,
    requests: Requests,
    completions: Completions,
}

/// The number of a table, and the version to read, or `None` for the current state.
#[derive(Clone, Copy)]
pub(crate) struct ReadSource {
    pub(crate) table: u16,
    pub(crate) version: Option<Version>,
}

impl Lanes {
    pub(crate) fn new(accelerator: Arc<dyn Accelerator>) -> Self {
        Self { accelerator, lanes: (0..LANES).map(|_| LaneSlot::default()).collect() }
    }

    pub(crate) fn accelerator(&self) -> &dyn Accelerator {
        &*self.accelerator
    }

    /// Calls `use_lane` with a lane that no other call uses.
    #[inline]
    pub(crate) fn with<T>(&self, use_lane: impl FnOnce(&mut Lane) -> T) -> T {
        let first = thread_number() % LANES;
        for slot in self.lanes[first..].iter().chain(&self.lanes[..first]) {
            let mut lane = match slot.0.try_lock() {
                Ok(lane) => lane,
                // Every call clears the buffers first, so a panic in another call does no harm.
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => continue,
            };
            let lane = lane.get_or_insert_with(|| self.lane());
            let used = use_lane(lane);
            lane.trim();
            return used;
        }
        use_lane(&mut self.lane())
    }

    #[cold]
    fn lane(&self) -> Lane {
        let (requests, completions) = (Requests::default(), Completions::default());
        Lane { queue: self.accelerator.queue(), requests, completions }
    }
}

impl Lane {
    /// Frees the memory of a long value: lanes are many and live as long as the store.
    #[inline]
    fn trim(&mut self) {
        if self.completions.memory_bytes() > BYTES_KEPT {
            self.completions.free_memory();
        }
    }

    /// Executes a get. The key must have a valid length.
    #[inline]
    pub(crate) fn get(&mut self, source: ReadSource, key: &[u8]) -> Result<Completion<'_>, Error> {
        self.completions.clear();
        self.set_request(source, Read::Get(key))?;
        drain(&mut *self.queue, self.requests.bytes(), &mut self.completions);
        answer(&self.completions)
    }

    /// Executes a scan and appends its completions to `completions`.
    #[inline]
    pub(crate) fn scan(
        &mut self,
        source: ReadSource,
        scan: &honeycomb_btree::Scan<'_>,
        bytes_max: u32,
        completions: &mut Completions,
    ) -> Result<(), Error> {
        self.set_request(source, Read::Scan { scan: *scan, bytes_max })?;
        drain(&mut *self.queue, self.requests.bytes(), completions);
        completions.iter().try_for_each(|completion| check(completion.status))
    }

    /// Executes many requests and appends their completions.
    pub(crate) fn run(&mut self, requests: &Requests, completions: &mut Completions) {
        drain(&mut *self.queue, requests.bytes(), completions);
    }

    #[inline]
    fn set_request(
        &mut self,
        ReadSource { table, version }: ReadSource,
        read: Read<'_>,
    ) -> Result<(), Error> {
        self.requests.clear();
        Ok(self.requests.push(&Request { identifier: 0, table, version, read })?)
    }
}

/// Submits requests and polls until all are completed.
#[inline]
fn drain(queue: &mut dyn Queue, mut requests: &[u8], completions: &mut Completions) {
    loop {
        requests = &requests[queue.submit(requests)..];
        if queue.poll(completions) == 0 && requests.is_empty() {
            return;
        }
    }
}

fn answer(completions: &Completions) -> Result<Completion<'_>, Error> {
    let completion = completions.iter().next().ok_or(Error::Accelerator("it returned no completion"))?;
    check(completion.status)?;
    Ok(completion)
}

/// Returns the error that a status stands for, if it does.
pub(crate) fn check(status: Status) -> Result<(), Error> {
    match status {
        Status::Found | Status::Absent => Ok(()),
        Status::VersionNotPinned => Err(Error::SnapshotTooOld),
        Status::NoRoom => Err(Error::NoRoom),
        Status::UnknownTable => Err(Error::Accelerator("it does not know the table")),
        Status::Fault => Err(Error::Accelerator("it cannot read the memory, or a node exceeds its buffers")),
        _ => Err(Error::Accelerator("it rejected a request as invalid")),
    }
}

#[cfg(test)]
mod tests {
    use honeycomb_hashtable::{Operation, Request as Write};

    use super::*;
    use crate::{Config, Store, UnorderedConfig};

    /// Nobody would wait until the log has the writes of such requests.
    #[test]
    fn no_request_reaches_an_unordered_table() {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        let unordered = store.unordered_table("unordered", UnorderedConfig::default()).unwrap();
        let _ordered = store.table("ordered").unwrap();
        let (mut requests, mut completions) = (Requests::default(), Completions::default());
        for table in 0..=u16::MAX {
            let read = Read::Unordered(Write { key: b"key", operation: Operation::Put(b"value") });
            requests.push(&Request { identifier: 0, table, version: None, read }).unwrap();
        }
        store.state().lanes.with(|lane| lane.run(&requests, &mut completions));
        let rejected = completions.iter().filter(|completion| completion.status == Status::UnknownTable);
        assert_eq!((rejected.count(), unordered.pair_count()), (1 << 16, 0));
    }
}
