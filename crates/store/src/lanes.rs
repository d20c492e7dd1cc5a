//! The way every read takes: a lane, which is a queue of the accelerator with buffers of its own.
//!
//! A thread has its lane for the time of a call, so no call waits for another. There are as many lanes as
//! threads have shown to need at once, up to a limit; beyond it a lane is made for the call.

use std::sync::{Arc, Mutex, TryLockError};

use honeycomb_accelerator::{Accelerator, Completion, Completions, Queue, Read, Request, Requests, Status};
use honeycomb_btree::Version;
use honeycomb_memory::sync::thread_number;

use crate::error::Error;

/// Lanes that are kept.
const LANES: usize = 64;
/// Most bytes of memory that a lane keeps for what its gets find.
const BYTES_KEPT: usize = 1 << 20;

pub(crate) struct Lanes {
    accelerator: Arc<dyn Accelerator>,
    lanes: Box<[LaneSlot]>,
}

/// Of lines of its own: each is mostly used by one core.
#[repr(align(128))]
#[derive(Default)]
struct LaneSlot(Mutex<Option<Lane>>);

pub(crate) struct Lane {
    queue: Box<dyn Queue>,
    requests: Requests,
    completions: Completions,
}

/// What to read: the number of a table, and the version if not what is visible now.
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

    /// Lends a lane to `use_lane`.
    #[inline]
    pub(crate) fn with<T>(&self, use_lane: impl FnOnce(&mut Lane) -> T) -> T {
        let first = thread_number() % LANES;
        for place in self.lanes[first..].iter().chain(&self.lanes[..first]) {
            let mut lane = match place.0.try_lock() {
                Ok(lane) => lane,
                // Whatever that call did, the next one begins anew.
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => continue,
            };
            let lane = lane.get_or_insert_with(|| self.lane());
            let used = use_lane(lane);
            lane.keep_little();
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
    /// Gives memory back that a long value took: lanes last as long as the store, and are many.
    #[inline]
    fn keep_little(&mut self) {
        if self.completions.memory_bytes() > BYTES_KEPT {
            self.completions.give_memory_back();
        }
    }

    /// Gets a key, of 1 to 460 bytes.
    #[inline]
    pub(crate) fn get(&mut self, source: ReadSource, key: &[u8]) -> Result<Completion<'_>, Error> {
        self.completions.clear();
        self.ask(source, Read::Get(key))?;
        drain(&mut *self.queue, self.requests.bytes(), &mut self.completions);
        answer(&self.completions)
    }

    /// Appends the completions of a scan to `completions`.
    #[inline]
    pub(crate) fn scan(
        &mut self,
        source: ReadSource,
        scan: &honeycomb_btree::Scan<'_>,
        bytes_max: u32,
        completions: &mut Completions,
    ) -> Result<(), Error> {
        self.ask(source, Read::Scan { scan: *scan, bytes_max })?;
        drain(&mut *self.queue, self.requests.bytes(), completions);
        completions.iter().try_for_each(|completion| check(completion.status))
    }

    /// Has many requests run, and appends their completions.
    pub(crate) fn run(&mut self, requests: &Requests, completions: &mut Completions) {
        drain(&mut *self.queue, requests.bytes(), completions);
    }

    #[inline]
    fn ask(&mut self, ReadSource { table, version }: ReadSource, read: Read<'_>) -> Result<(), Error> {
        self.requests.clear();
        Ok(self.requests.push(&Request { identifier: 0, table, version, read })?)
    }
}

/// Submits requests and polls until all are done.
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
    let completion = completions.iter().next().ok_or(Error::Accelerator("it gave no completion"))?;
    check(completion.status)?;
    Ok(completion)
}

/// Refuses what is no answer.
pub(crate) fn check(status: Status) -> Result<(), Error> {
    match status {
        Status::Found | Status::Absent => Ok(()),
        Status::VersionNotHeld => Err(Error::SnapshotTooOld),
        Status::NoRoom => Err(Error::NoRoom),
        Status::UnknownTable => Err(Error::Accelerator("it does not know the table")),
        Status::Fault => Err(Error::Accelerator("it could not read memory, or a node is too large for it")),
        _ => Err(Error::Accelerator("it did not understand a request")),
    }
}
