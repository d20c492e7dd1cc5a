//! The public type of a table: an index and its memory.

use std::ops::Deref;
use std::sync::Arc;

use honeycomb_memory::sync::{AtomicU64, Ordering};
use honeycomb_memory::{Memory, Pin};

use crate::access::Access;
use crate::batch::Answers;
use crate::config::TableConfig;
use crate::error::Error;
use crate::functions::Functions;
use crate::hash::HashedKey;
use crate::index::{Index, Stripe, check_key};
use crate::operation::{Operation, Outcome, Request, Scratch};
use crate::recorder::Recorder;
use crate::slabs::SlabUsage;
use crate::verify::Census;

/// An unordered table in the arena of a memory. Dropping it frees its pages.
#[derive(Debug)]
pub struct Table<M: Deref<Target = Memory>> {
    memory: M,
    pub(crate) index: Index,
}

/// The size of a table and its memory. Exact while no thread writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableStatistics {
    /// Number of pairs.
    pub pairs: u64,
    /// Number of buckets, without chained ones.
    pub buckets: u64,
    /// Number of slots in use.
    pub used_slots: u64,
    /// Bytes of the pages with buckets.
    pub bucket_page_bytes: usize,
    /// The memory of slabs and chained buckets.
    pub slabs: SlabUsage,
}

impl<M: Deref<Target = Memory>> Table<M> {
    /// Creates an empty table. `functions` are those that operations may use, besides the built-in ones.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] names the invalid parameter; [`Error::Memory`] if there is no room for the
    /// buckets.
    pub fn new(memory: M, config: TableConfig, functions: impl Into<Arc<Functions>>) -> Result<Self, Error> {
        let index = Index::new(&memory, config, functions.into())?;
        Ok(Self { memory, index })
    }

    /// Passes the effects of all writes to `recorder` from now on.
    #[must_use]
    pub fn recorded_by(mut self, recorder: Box<dyn Recorder>) -> Self {
        self.index.recording.set(recorder);
        self
    }

    /// The parameters of the table.
    pub fn config(&self) -> &TableConfig {
        &self.index.config
    }

    /// The memory of the table.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Executes one operation. Appends its answer to `out`, to which the outcome refers. Waits while another
    /// thread writes to the stripe of the key.
    ///
    /// # Errors
    /// [`Error`] if the arguments are invalid or the memory is full.
    #[inline]
    pub fn apply(&self, key: &[u8], operation: Operation<'_>, out: &mut Vec<u8>) -> Result<Outcome, Error> {
        self.session().apply(key, operation, out)
    }

    /// Begins a session: several operations, one at a time, under one pin. While it exists, no replaced value
    /// and no page of the memory is reclaimed, so it should be short.
    #[inline]
    pub fn session(&self) -> Session<'_> {
        Session {
            memory: &self.memory,
            index: &self.index,
            pin: self.memory.pin(),
            scratch: Scratch::default(),
        }
    }

    /// Counts pairs, buckets and memory.
    pub fn statistics(&self) -> TableStatistics {
        let sum = |count: fn(&Stripe) -> &AtomicU64| {
            self.index.stripes.iter().map(|stripe| count(stripe).load(Ordering::Relaxed)).sum()
        };
        TableStatistics {
            pairs: sum(|stripe| &stripe.pairs),
            buckets: self.index.directory.count(),
            used_slots: sum(|stripe| &stripe.used_slots),
            bucket_page_bytes: self.index.directory.page_bytes(),
            slabs: self.index.slabs.usage(),
        }
    }

    /// Merges all free slabs and gives free pages back to the memory. It takes time in proportion to the size
    /// of the table.
    pub fn merge_slabs(&self) {
        self.index.slabs.flush(&self.memory);
    }

    /// Checks every rule of the stored bytes, and counts what a walk over all buckets finds. No other
    /// thread may use the table.
    ///
    /// # Errors A description of the first broken rule.
    pub fn verify(&self) -> Result<Census, String> {
        let pin = self.memory.pin();
        self.index.verify(Access { memory: &self.memory, pin: &pin })
    }

    /// Executes the operations of a batch, with the same answers as if it executed them one by one in their
    /// order. Operations on one key are combined, and the others are interleaved.
    pub fn execute(&self, requests: &[Request<'_>], answers: &mut Answers) {
        let pin = self.memory.pin();
        self.index.execute(Access { memory: &self.memory, pin: &pin }, requests, answers);
    }
}

/// Several operations under one pin. The processor overlaps the gets of a session, which it cannot do if each
/// has a pin of its own: a pin is a full fence.
#[derive(Debug)]
pub struct Session<'t> {
    memory: &'t Memory,
    pub(crate) index: &'t Index,
    pin: Pin<'t>,
    scratch: Scratch,
}

impl Session<'_> {
    #[inline]
    pub(crate) fn access(&self) -> Access<'_> {
        Access { memory: self.memory, pin: &self.pin }
    }

    /// Executes one operation, as [`Table::apply`].
    ///
    /// # Errors
    /// [`Error`] if the arguments are invalid or the memory is full.
    #[inline]
    pub fn apply(
        &mut self,
        key: &[u8],
        operation: Operation<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, Error> {
        check_key(key)?;
        let key = HashedKey::new(self.index.config.seed, key);
        let access = Access { memory: self.memory, pin: &self.pin };
        if matches!(operation, Operation::Get) {
            return Ok(self.index.get(access, &key, out).map_or(Outcome::Absent, Outcome::Found));
        }
        operation.check(&self.index.functions)?;
        if operation.writes() {
            let (scratch, place) = (&mut self.scratch, self.index.directory.place_of(key.hash));
            let result = self.index.write_in_place(access, place, &key, &operation, scratch, out);
            let result = result.or_else(|pending| {
                self.index.write_in_chain(access, pending, &key, &operation, scratch, out).ok_or(pending)
            });
            if let Ok(outcome) = result {
                return Ok(outcome);
            }
        }
        self.index.apply(access, &key, &operation, &mut self.scratch, out)
    }
}

impl<M: Deref<Target = Memory>> Drop for Table<M> {
    fn drop(&mut self) {
        let pin = self.memory.pin();
        self.index.retire_values(Access { memory: &self.memory, pin: &pin });
        drop(pin);
        self.index.slabs.retire_all(&self.memory);
        self.index.directory.retire_all(&self.memory);
    }
}
