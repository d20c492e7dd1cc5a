//! Writes: under the lock of the stripe. A write allocates everything that it needs before it changes
//! anything, so a write that fails has no effect.

use honeycomb_memory::sync::{AtomicU64, Ordering};
use honeycomb_memory::{Retired, ValueBuffer};

use crate::access::{Access, BUCKET_CLASS};
use crate::bucket::{Bucket, Entry, Slab, Stored, inline_slots};
use crate::error::Error;
use crate::form::Form;
use crate::hash::HashedKey;
use crate::index::Index;
use crate::operation::{Effect, Operation, Outcome, Scratch, append, decide};
use crate::read::append_inline;
use crate::record::{Reference, SlabValue};
use crate::recorder::Before;
use crate::slab_words::Match;

/// A pair that a writer has found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    /// The bucket with the pair, and the one before it in the chain.
    address: u32,
    previous: Option<u32>,
    bucket: Bucket,
    stored: Stored,
    /// The reference to the value, if it is an overflow value.
    reference: Option<Reference>,
}

/// The memory for a new pair. Dropping it frees what is not in use yet.
#[derive(Debug)]
pub(crate) struct Prepared<'i> {
    index: &'i Index,
    access: Access<'i>,
    pub(crate) entry: Entry,
    /// The slab of the pair.
    slab: Option<Slab>,
    /// The value, if it is an overflow value.
    buffer: Option<ValueBuffer<'i>>,
}

impl Index {
    /// Executes one operation, which is checked.
    pub(crate) fn apply(
        &self,
        access: Access<'_>,
        key: &HashedKey<'_>,
        operation: &Operation<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, Error> {
        let Scratch { current, computed } = scratch;
        if !operation.writes() {
            let current = self.look_at(access, key, current);
            return Ok(decide(operation, current, &self.functions, computed, out).1);
        }
        current.clear();
        let stripe = self.stripe(key.hash);
        let (start, guard) = (out.len(), stripe.lock.lock());
        let needs_before = self.recording.needs_values_before();
        let wanted = (needs_before || operation.needs_value()).then_some(&mut *current);
        let head = self.head(access, key.hash);
        let found = self.find_from(access, head, key, wanted);
        let (effect, outcome) =
            decide(operation, found.map(|_| &current[..]), &self.functions, computed, out);
        let result = match effect {
            Effect::Nothing => Ok(()),
            Effect::Store(value) => self.store(access, key, head, found, value),
            Effect::StoreComputed => self.store(access, key, head, found, computed),
            Effect::Delete => found.map_or(Ok(()), |found| {
                self.remove(access, key, &found);
                self.pull_in(access, key);
                Ok(())
            }),
        };
        if result.is_ok() {
            let before = Before::of(needs_before, found.is_some(), current);
            self.recording.record(key.bytes, effect, computed, before);
        }
        drop(guard);
        match outcome {
            Outcome::Inserted if result.is_ok() => self.grow_if_full(access, self.stripe_number(key.hash)),
            Outcome::Deleted => self.shrink_if_sparse(access, self.stripe_number(key.hash)),
            _ => {}
        }
        result.map(|()| outcome).inspect_err(|_| out.truncate(start))
    }

    /// Finds a pair, and copies its value into `value`. The caller has locked the stripe.
    #[inline]
    pub(crate) fn find(
        &self,
        access: Access<'_>,
        key: &HashedKey<'_>,
        value: Option<&mut Vec<u8>>,
    ) -> Option<Found> {
        self.find_from(access, self.head(access, key.hash), key, value)
    }

    /// As [`find`](Self::find), for a caller that has loaded the first bucket of the chain.
    #[inline]
    pub(crate) fn find_from(
        &self,
        access: Access<'_>,
        (mut address, mut bucket): (u32, Bucket),
        key: &HashedKey<'_>,
        mut value: Option<&mut Vec<u8>>,
    ) -> Option<Found> {
        let mut previous = None;
        loop {
            if let Some(pair) = bucket.find_inline(key) {
                if let Some(value) = value {
                    append_inline(&bucket, pair.value, pair.value_length, value);
                }
                let stored = Stored::Inline(pair, key.bytes.len());
                return Some(Found { address, previous, bucket, stored, reference: None });
            }
            let mut after = 0;
            while let Some(slab) = bucket.find_slab(key.second(), after) {
                after = slab.slot + 1;
                let words = access.slab(slab.slab);
                let reference = match words.compare(key) {
                    Some(Match::Value { offset, length }) => {
                        value.take().map(|value| words.append_value(offset, length, value));
                        None
                    }
                    Some(Match::Overflow) => copy_overflow(access, slab.slab, value.take()),
                    _ => continue,
                };
                return Some(Found { address, previous, bucket, stored: Stored::Slab(slab), reference });
            }
            previous = Some(address);
            address = bucket.next()?;
            bucket = access.bucket(address);
        }
    }

    /// Stores a value for a key: instead of the pair that was found, or as a new pair. `head` is the first
    /// bucket of the chain.
    pub(crate) fn store(
        &self,
        access: Access<'_>,
        key: &HashedKey<'_>,
        head: (u32, Bucket),
        found: Option<Found>,
        value: &[u8],
    ) -> Result<(), Error> {
        let stripe = self.stripe(key.hash);
        let Some(found) = found else {
            let mut prepared = self.prepare(access, key, value, head.1.free())?;
            let slots = prepared.entry.slots;
            self.place(access, head, &prepared.entry)?;
            prepared.finish(key.bytes, value);
            add(&stripe.pairs, 1);
            add(&stripe.used_slots, slots as i64);
            return Ok(());
        };
        if self.store_in_place(access, key, &found, value)? {
            return Ok(());
        }
        let (at, slots) = found.stored.slots();
        let mut bucket = found.bucket;
        bucket.remove(at, slots);
        // The pair had a slot, so there is one for a slab.
        let mut prepared = self.prepare(access, key, value, bucket.free())?;
        bucket.push(&prepared.entry);
        access.store_bucket(found.address, &bucket);
        add(&stripe.used_slots, prepared.entry.slots as i64 - slots as i64);
        prepared.finish(key.bytes, value);
        self.free_stored(access, &found);
        Ok(())
    }

    /// Whether [`store_in_place`](Self::store_in_place) can store a value without memory. Writes to other
    /// keys do not change that.
    pub(crate) fn has_place(&self, key: &HashedKey<'_>, found: &Found, value: &[u8]) -> bool {
        match found.stored {
            Stored::Inline(pair, _) => pair.value_length == value.len(),
            Stored::Slab(slab) => Form::of(key.bytes.len(), value.len()) == Some(slab.slab.form),
        }
    }

    /// Stores a value over the current one, if it needs as many slots or the same form of slab. Returns
    /// whether it has done so.
    pub(crate) fn store_in_place(
        &self,
        access: Access<'_>,
        key: &HashedKey<'_>,
        found: &Found,
        value: &[u8],
    ) -> Result<bool, Error> {
        let length = key.bytes.len() + value.len();
        let is_inline = length <= self.config.inline_pair_bytes_max;
        match found.stored {
            Stored::Inline(pair, _) if pair.value_length == value.len() => {
                let mut bucket = found.bucket;
                bucket.patch(pair.value, value);
                access.store_bucket(found.address, &bucket);
                Ok(true)
            }
            Stored::Inline(pair, _) if is_inline && inline_slots(length) == pair.slots() => {
                let mut bucket = found.bucket;
                bucket.replace(pair.slot(), &Entry::inline(key.bytes, value));
                access.store_bucket(found.address, &bucket);
                Ok(true)
            }
            Stored::Slab(slab) if Form::of_any(key.bytes.len(), value.len()) == slab.slab.form => {
                let buffer = overflow_buffer(access, key, value)?;
                access.store_slab(slab.slab, key.bytes, value, buffer);
                self.retire_value(access, found);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Removes a pair. The caller has locked the stripe.
    pub(crate) fn remove(&self, access: Access<'_>, key: &HashedKey<'_>, found: &Found) {
        let stripe = self.stripe(key.hash);
        add(&stripe.pairs, -1);
        add(&stripe.used_slots, -(found.stored.slots().1 as i64));
        self.take_out(access, found);
        self.free_stored(access, found);
    }

    /// Removes the slots of a pair from its bucket. A chained bucket that is empty afterwards leaves the
    /// chain.
    fn take_out(&self, access: Access<'_>, found: &Found) {
        let (at, slots) = found.stored.slots();
        let mut bucket = found.bucket;
        bucket.remove(at, slots);
        match found.previous {
            Some(previous) if bucket.used() == 0 => {
                let mut before = access.bucket(previous);
                before.set_next(bucket.next());
                access.store_bucket(previous, &before);
                self.slabs.free(access.memory, BUCKET_CLASS, found.address);
            }
            _ => access.store_bucket(found.address, &bucket),
        }
    }

    /// Frees the slab and the overflow value of a pair that no bucket refers to any more.
    fn free_stored(&self, access: Access<'_>, found: &Found) {
        self.retire_value(access, found);
        if let Stored::Slab(slab) = found.stored {
            self.slabs.free(access.memory, slab.slab.form.class(), slab.slab.address);
        }
    }

    fn retire_value(&self, access: Access<'_>, found: &Found) {
        if let Some(reference) = found.reference {
            access.memory.retire([Retired::Value(reference.address, reference.length)]);
        }
    }

    /// Appends an entry to the first bucket of a chain that has room for it, or to a new one.
    fn place(&self, access: Access<'_>, head: (u32, Bucket), entry: &Entry) -> Result<(), Error> {
        if let Some(last) = Self::place_in_chain(access, head, entry) {
            let address = self.slabs.allocate(access.memory, BUCKET_CLASS)?;
            Self::add_chained(access, last, address, entry);
        }
        Ok(())
    }

    /// Appends an entry to the first bucket of a chain that has room for it. If there is none, returns the
    /// last bucket of the chain.
    pub(crate) fn place_in_chain(
        access: Access<'_>,
        (mut address, mut bucket): (u32, Bucket),
        entry: &Entry,
    ) -> Option<(u32, Bucket)> {
        while bucket.free() < entry.slots {
            let Some(next) = bucket.next() else { return Some((address, bucket)) };
            (address, bucket) = (next, access.bucket(next));
        }
        bucket.push(entry);
        access.store_bucket(address, &bucket);
        None
    }

    /// Appends a chained bucket with an entry after the last bucket of a chain.
    pub(crate) fn add_chained(
        access: Access<'_>,
        (last, mut bucket): (u32, Bucket),
        address: u32,
        entry: &Entry,
    ) {
        let mut chained = Bucket::default();
        chained.push(entry);
        access.store_bucket(address, &chained);
        bucket.set_next(Some(address));
        access.store_bucket(last, &bucket);
    }

    /// Allocates the memory of a new pair, for a bucket with `free` slots.
    #[inline]
    pub(crate) fn prepare<'a>(
        &'a self,
        access: Access<'a>,
        key: &HashedKey<'_>,
        value: &[u8],
        free: usize,
    ) -> Result<Prepared<'a>, Error> {
        if self.is_inline(key.bytes.len() + value.len(), free) {
            let entry = Entry::inline(key.bytes, value);
            return Ok(Prepared { index: self, access, entry, slab: None, buffer: None });
        }
        let buffer = overflow_buffer(access, key, value)?;
        let form = Form::of_any(key.bytes.len(), value.len());
        let slab = Slab { form, address: self.slabs.allocate(access.memory, form.class())? };
        let entry = Entry::slab(slab, key.second());
        Ok(Prepared { index: self, access, entry, slab: Some(slab), buffer })
    }
}

impl Prepared<'_> {
    /// Stores the pair, whose entry the caller has placed, into its slab. Key and value are those for which
    /// it is prepared.
    pub(crate) fn finish(&mut self, key: &[u8], value: &[u8]) {
        if let Some(slab) = self.slab.take() {
            self.access.store_slab(slab, key, value, self.buffer.take());
        }
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if let Some(slab) = self.slab {
            self.index.slabs.free(self.access.memory, slab.form.class(), slab.address);
        }
    }
}

/// A buffer with the value of a pair, if no slab has room for both.
fn overflow_buffer<'a>(
    access: Access<'a>,
    key: &HashedKey<'_>,
    value: &[u8],
) -> Result<Option<ValueBuffer<'a>>, Error> {
    if Form::of(key.bytes.len(), value.len()).is_some() {
        return Ok(None);
    }
    Ok(Some(access.memory.allocate_value(value)?))
}

/// Copies an overflow value into `into`. Returns its reference.
fn copy_overflow(access: Access<'_>, slab: Slab, into: Option<&mut Vec<u8>>) -> Option<Reference> {
    let record = access.record(slab);
    let SlabValue::Overflow(reference) = record.pair()?.value else { return None };
    if let Some(into) = into {
        append(into, access.overflow(reference));
    }
    Some(reference)
}

/// Changes a count of a stripe that the caller has locked.
pub(crate) fn add(count: &AtomicU64, delta: i64) {
    count.store(count.load(Ordering::Relaxed).wrapping_add_signed(delta), Ordering::Relaxed);
}
