//! The change streams of clients that poll.
//!
//! A poll names the position that the client has reached, so it needs no state of its connection. But a new
//! stream reads a log file from its beginning, so the server keeps streams for the next poll.

use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_store::{ChangePosition, ChangeStream, Store, TableHandle};

use crate::failure::Failure;

/// Maximum number of streams that are kept.
const STREAMS_MAX: usize = 64;
/// Maximum number of bytes of memory of all streams that are kept. Each has a part of a log file: 256 KiB, or
/// one longer record.
const BYTES_MAX: usize = 32 << 20;
/// Milliseconds after which an unused stream is closed.
const UNUSED_TIME: u64 = 10_000;

/// The keys whose changes a client polls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) table: String,
    pub(crate) lower: Bound<Vec<u8>>,
    pub(crate) upper: Bound<Vec<u8>>,
}

/// Streams that wait for their next poll, the least recently used one first.
#[derive(Debug, Default)]
pub(crate) struct ChangeStreams(Mutex<Vec<Kept>>);

#[derive(Debug)]
struct Kept {
    used_at: u64,
    subject: Subject,
    stream: ChangeStream,
}

impl ChangeStreams {
    /// Returns a stream of the changes after a position.
    pub(crate) fn take(
        &self,
        (store, table): (&Store, &TableHandle),
        subject: &Subject,
        after: ChangePosition,
    ) -> Result<ChangeStream, Failure> {
        let mut kept = self.lock();
        let is_it = |one: &Kept| one.stream.position() == after && one.subject == *subject;
        if let Some(at) = kept.iter().position(is_it) {
            return Ok(kept.remove(at).stream);
        }
        drop(kept);
        let (lower, upper) = (subject.lower.as_ref(), subject.upper.as_ref());
        let bounds = (lower.map(Vec::as_slice), upper.map(Vec::as_slice));
        Ok(store.changes::<[u8]>(table, bounds, after)?)
    }

    /// Keeps a stream for the next poll, and closes the least recently used ones beyond the limits.
    pub(crate) fn keep(&self, subject: Subject, stream: ChangeStream, now: u64) {
        if stream.memory_bytes() > BYTES_MAX {
            return;
        }
        let mut kept = self.lock();
        kept.push(Kept { used_at: now, subject, stream });
        let bytes = |kept: &[Kept]| kept.iter().map(|one| one.stream.memory_bytes()).sum::<usize>();
        while kept.len() > STREAMS_MAX || bytes(&kept) > BYTES_MAX {
            kept.remove(0);
        }
    }

    /// Closes streams that nobody has used for some time.
    pub(crate) fn close_unused(&self, now: u64) {
        self.lock().retain(|one| now.saturating_sub(one.used_at) < UNUSED_TIME);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
