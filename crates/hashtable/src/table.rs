//! The public type of a table: an index and its memory.

use std::ops::Deref;
use std::sync::Arc;

use honeycomb_layout::{BUCKET_SLOTS, bucket};
use honeycomb_memory::sync::{AtomicU64, Ordering};
use honeycomb_memory::{AnyPin, Memory, Pin};

use crate::access::Access;
use crate::batch::Answers;
use crate::cleared::Cleared;
use crate::config::TableConfig;
use crate::error::Error;
use crate::expected::Expected;
use crate::functions::Functions;
use crate::hash::HashedKey;
use crate::index::{Index, Stripe, check_key};
use crate::operation::{Operation, Outcome, Request, Scratch};
use crate::read::{Pending, short_value};
use crate::recorder::Recorder;
use crate::short_value::ShortValue;
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
        self.session_with(AnyPin::Own(self.memory.pin()))
    }

    /// Begins a session under a pin of the caller, which must be of the memory of the table. Sessions of
    /// several tables at one time share a pin, because a thread that holds one must not wait for another one.
    pub fn session_under<'t>(&'t self, pin: &'t Pin<'t>) -> Session<'t> {
        self.session_with(AnyPin::Borrowed(pin))
    }

    #[inline(always)]
    fn session_with<'t>(&'t self, pin: AnyPin<'t>) -> Session<'t> {
        let (scratch, expected) = (Scratch::default(), Expected::default());
        Session { memory: &self.memory, index: &self.index, pin, scratch, expected }
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

    /// Bytes of the pages of the table that new pairs use before it takes further pages: slots up to the
    /// share at which it grows, and free slabs.
    pub fn reusable_bytes(&self) -> usize {
        let TableStatistics { buckets, used_slots, slabs, .. } = self.statistics();
        let percent = self.index.config.fill_percent.unwrap_or(100) as u64;
        let slots = (buckets * BUCKET_SLOTS as u64 * percent / 100).saturating_sub(used_slots) as usize;
        slots * bucket::SIZE / BUCKET_SLOTS + slabs.pool_bytes + slabs.cached_bytes
    }

    /// Executes a step of maintenance: merges free slabs of up to `pages` pages, and gives free pages back to
    /// the memory. Does nothing if operations have needed many slabs or freed many since the previous step.
    /// Returns whether a further step would find work now.
    pub fn maintain(&self, pages: usize) -> bool {
        self.index.slabs.maintain(&self.memory, pages)
    }

    /// Merges all free slabs and gives free pages back to the memory. It takes time in proportion to the size
    /// of the table.
    pub fn merge_slabs(&self) {
        let _no_clear = self.index.lock_growth();
        self.index.slabs.flush(&self.memory);
    }

    /// Checks every rule of the stored bytes, and counts what a walk over all buckets finds. No other
    /// thread may use the table.
    ///
    /// # Errors
    /// A description of the first broken rule.
    pub fn verify(&self) -> Result<Census, String> {
        let pin = self.memory.pin();
        self.index.verify(Access::new(&self.memory, &pin))
    }

    /// Executes the operations of a batch, with the same answers as if it executed them one by one in their
    /// order. Operations on one key are combined, and the others are interleaved.
    pub fn execute(&self, requests: &[Request<'_>], answers: &mut Answers) {
        let pin = self.memory.pin();
        self.index.execute(Access::new(&self.memory, &pin), requests, answers);
    }

    /// Appends the value of a key to `out`, but at most the first `value_bytes_max` bytes of a value that is
    /// too long for a slab. Returns whether the key exists.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get_beginning(
        &self,
        key: &[u8],
        value_bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        self.session().get_beginning(key, value_bytes_max, out)
    }

    /// Removes all pairs at one moment. Other threads wait for a time that does not depend on the number of
    /// pairs; if the table does not grow, on that of its buckets. It needs no memory in the arena. The memory
    /// of the removed pairs is free after [`Cleared::free`].
    pub fn clear(&self) -> Cleared {
        let pin = self.memory.pin();
        self.index.clear(Access::new(&self.memory, &pin))
    }
}

/// Several operations under one pin. The processor overlaps the gets of a session, which it cannot do if each
/// has a pin of its own: a pin is a full fence.
#[derive(Debug)]
pub struct Session<'t> {
    memory: &'t Memory,
    pub(crate) index: &'t Index,
    pin: AnyPin<'t>,
    scratch: Scratch,
    expected: Expected,
}

impl Session<'_> {
    #[inline]
    pub(crate) fn access(&self) -> Access<'_> {
        Access::new(self.memory, &self.pin)
    }

    /// Returns the access together with the lengths that the next search expects.
    #[inline]
    pub(crate) fn access_expecting(&mut self) -> (Access<'_>, &mut Expected) {
        (Access::new(self.memory, &self.pin), &mut self.expected)
    }

    /// Memory for a value.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.scratch.current
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
        if matches!(operation, Operation::Get)
            && let Ok(key) = <&[u8; 8]>::try_from(key)
        {
            return Ok(self.get_short(key, out));
        }
        check_key(key)?;
        let key = HashedKey::new(self.index.config.seed, key);
        let access = Access::new(self.memory, &self.pin);
        if matches!(operation, Operation::Get) {
            return Ok(self.index.get(access, &key, out).map_or(Outcome::Absent, Outcome::Found));
        }
        operation.check(&self.index.functions)?;
        if operation.writes() {
            return self.index.write(access, &key, &operation, &mut self.scratch, out);
        }
        self.index.apply(access, &key, &operation, &mut self.scratch, out)
    }

    /// As [`Table::get_beginning`].
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get_beginning(
        &self,
        key: &[u8],
        value_bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        check_key(key)?;
        let key = HashedKey::new(self.index.config.seed, key);
        let access = Access { value_bytes_max, ..self.access() };
        Ok(self.index.get(access, &key, out).is_some())
    }
}

impl Session<'_> {
    /// Gets the value of a key of eight bytes, the commonest length: the compiler keeps such a key in
    /// registers.
    #[inline(always)]
    fn get_short(&mut self, key: &[u8; 8], out: &mut Vec<u8>) -> Outcome {
        let hashed = HashedKey::new(self.index.config.seed, key);
        let (index, mut value) = (self.index, ShortValue::default());
        let (access, expected) = self.access_expecting();
        let first = index.first(access, hashed.hash);
        match short_value(access, first, &hashed, &mut value, expected) {
            Ok(is_found) if is_found => Outcome::Found(value.append(out)),
            Ok(_) => Outcome::Absent,
            Err(pending) => self.finish_short(pending, hashed.hash, key, out),
        }
    }

    /// The rest of `get_short`, after the first bucket.
    #[inline(never)]
    fn finish_short(&self, pending: Pending, hash: u64, key: &[u8; 8], out: &mut Vec<u8>) -> Outcome {
        let found = self.index.finish_get(self.access(), pending, &HashedKey::with_hash(hash, key), out);
        found.map_or(Outcome::Absent, Outcome::Found)
    }
}

impl<M: Deref<Target = Memory>> Drop for Table<M> {
    fn drop(&mut self) {
        let pin = self.memory.pin();
        self.index.retire_values(Access::new(&self.memory, &pin));
        drop(pin);
        self.index.slabs.retire_all(&self.memory);
        self.index.directory.retire_all(&self.memory);
    }
}
