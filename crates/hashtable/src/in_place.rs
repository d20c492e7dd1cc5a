//! Writes that replace a value in a bucket or a slab by one of the same length: the commonest writes,
//! with one load of the bucket and a store of the words that change.
//!
//! The writer searches the pair as a reader. Then it locks the stripe, if its number is still that of the
//! beginning, so that the pair is still as it was loaded. Otherwise, and for all other writes, the caller
//! executes the operation as `write` has it.

use honeycomb_memory::{PageWords, SequenceLock};

use crate::access::Access;
use crate::batch::Answers;
use crate::bucket::{Bucket, InlinePair, Slab, WordsMut};
use crate::error::Error;
use crate::hash::HashedKey;
use crate::index::Index;
use crate::operation::{Effect, Operation, Outcome, Scratch, decide};
use crate::read::{First, Next, Pending, Step, append_inline, begin_beyond};
use crate::recorder::Before;
use crate::slab_words::Match;

/// A value in its place.
trait Place {
    fn length(&self) -> usize;
    /// Appends the value.
    fn append(&self, out: &mut Vec<u8>);
    /// Replaces the value by one of the same length. The caller has locked the stripe.
    fn replace(&mut self, value: &[u8]);
}

/// The value of an inline pair.
struct Inline<W> {
    bucket: Bucket<W>,
    value: usize,
    length: usize,
}

impl<W> Inline<W> {
    fn new(bucket: Bucket<W>, pair: InlinePair) -> Self {
        Self { bucket, value: pair.value, length: pair.value_length }
    }
}

impl<W: WordsMut> Place for Inline<W> {
    #[inline(always)]
    fn length(&self) -> usize {
        self.length
    }

    #[inline(always)]
    fn append(&self, out: &mut Vec<u8>) {
        append_inline(&self.bucket, self.value, self.length, out);
    }

    #[inline(always)]
    fn replace(&mut self, value: &[u8]) {
        self.bucket.patch(self.value, value);
    }
}

/// The value in a slab.
struct InSlab<'a> {
    words: PageWords<'a>,
    offset: usize,
    length: usize,
}

impl<'a> InSlab<'a> {
    /// The value in a slab, if the slab has the key.
    #[inline(always)]
    fn find(access: Access<'a>, slab: Slab, key: &HashedKey<'_>) -> Option<Self> {
        let slab = access.try_slab(slab)?;
        let Some(Match::Value { offset, length }) = slab.compare(key) else { return None };
        Some(Self { words: slab.words, offset, length })
    }
}

impl Place for InSlab<'_> {
    #[inline(always)]
    fn length(&self) -> usize {
        self.length
    }

    #[inline(always)]
    fn append(&self, out: &mut Vec<u8>) {
        self.words.append_to(out, self.offset, self.length);
    }

    #[inline(always)]
    fn replace(&mut self, value: &[u8]) {
        self.words.store_bytes(self.offset, value);
    }
}

impl Index {
    /// Executes an operation that writes, which is checked, if it replaces a value by one of the same length
    /// in the first bucket. Otherwise changes nothing, prefetches what the search for the key reads next, and
    /// returns where it goes on.
    #[inline(always)]
    pub(crate) fn write_in_place(
        &self,
        access: Access<'_>,
        first: Option<First<'_>>,
        key: &HashedKey<'_>,
        operation: &Operation<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, Pending> {
        let Some(first) = first else { return Err(Pending::default()) };
        let First { bucket, lock, number } = first;
        let Some(pair) = bucket.find_inline(key) else {
            return Err(begin_beyond(access, lock, number, &bucket, key).unwrap_or_default());
        };
        let place = Inline::new(bucket, pair);
        self.replace((lock, number), place, key, operation, scratch, out).ok_or(Pending::default())
    }

    /// The third step of a write in a batch that executes in order.
    #[inline(always)]
    pub(crate) fn write_seen(
        &self,
        access: Access<'_>,
        Step { key, bucket, pending }: &Step<'_>,
        operation: &Operation<'_>,
        answers: &mut Answers,
    ) -> Result<Outcome, Error> {
        if let (Next::Inline(value, length), Some(bucket)) = (pending.next(), bucket) {
            let (place, lock) = (Inline { bucket: *bucket, value, length }, &self.stripe(key.hash).lock);
            let Answers { bytes, scratch, .. } = &mut *answers;
            let outcome = self.replace((lock, pending.number), place, key, operation, scratch, bytes);
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
        }
        self.finish_write(access, *pending, key, operation, answers)
    }

    /// The third step of a write in a batch.
    pub(crate) fn finish_write(
        &self,
        access: Access<'_>,
        pending: Pending,
        key: &HashedKey<'_>,
        operation: &Operation<'_>,
        Answers { bytes, scratch, .. }: &mut Answers,
    ) -> Result<Outcome, Error> {
        if let Some(outcome) = self.write_beyond(access, pending, key, operation, scratch, bytes) {
            return Ok(outcome);
        }
        let is_seen = !matches!(pending.next(), Next::Beginning | Next::Absent);
        if is_seen && !self.stripe(key.hash).lock.unchanged(pending.number) {
            return self.write_again(access, key, operation, scratch, bytes);
        }
        self.apply(access, key, operation, scratch, bytes)
    }

    /// As [`write`](Self::write), if another write to the stripe has interfered, perhaps one of the same
    /// batch.
    #[cold]
    #[inline(never)]
    fn write_again(
        &self,
        access: Access<'_>,
        key: &HashedKey<'_>,
        operation: &Operation<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, Error> {
        self.write(access, key, operation, scratch, out)
    }

    /// Executes an operation that writes, which is checked.
    #[inline]
    pub(crate) fn write(
        &self,
        access: Access<'_>,
        key: &HashedKey<'_>,
        operation: &Operation<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, Error> {
        let first = self.first(access, key.hash);
        let outcome = match self.write_in_place(access, first, key, operation, scratch, out) {
            Ok(outcome) => Some(outcome),
            Err(pending) => self.write_beyond(access, pending, key, operation, scratch, out),
        };
        outcome.map_or_else(|| self.apply(access, key, operation, scratch, out), Ok)
    }

    /// As [`write_in_place`](Self::write_in_place), in the slab or the chained bucket, where it has ended.
    pub(crate) fn write_beyond(
        &self,
        access: Access<'_>,
        pending: Pending,
        key: &HashedKey<'_>,
        operation: &Operation<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<Outcome> {
        let (lock, number) = (&self.stripe(key.hash).lock, pending.number);
        match pending.next() {
            Next::Beginning | Next::Inline(..) | Next::Absent => None,
            Next::Chained(address) => {
                let bucket = access.try_bucket(address)?;
                if let Some(pair) = bucket.find_inline(key) {
                    let place = Inline::new(bucket, pair);
                    return self.replace((lock, number), place, key, operation, scratch, out);
                }
                let place = InSlab::find(access, bucket.find_slab(key.second(), 0)?.slab, key)?;
                self.replace((lock, number), place, key, operation, scratch, out)
            }
            Next::Slab(slab) => {
                let place = InSlab::find(access, slab, key)?;
                self.replace((lock, number), place, key, operation, scratch, out)
            }
        }
    }

    #[inline(always)]
    fn replace(
        &self,
        (lock, number): (&SequenceLock, u64),
        mut place: impl Place,
        key: &HashedKey<'_>,
        operation: &Operation<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<Outcome> {
        let needs_before = self.recording.needs_values_before();
        if let Operation::Put(value) | Operation::Update(value) = operation
            && !needs_before
        {
            // The commonest writes, which do not depend on the value that they replace.
            if value.len() != place.length() {
                return None;
            }
            let _guard = lock.lock_if_unchanged(number)?;
            place.replace(value);
            self.recording.record(key.bytes, Effect::Store(value), value, Before::Unknown);
            return Some(Outcome::Updated);
        }
        let Scratch { current, computed } = scratch;
        current.clear();
        if needs_before || operation.needs_value() {
            place.append(current);
        }
        let _guard = lock.lock_if_unchanged(number)?;
        let start = out.len();
        let (effect, outcome) = decide(operation, Some(current), &self.functions, computed, out);
        let value = match effect {
            Effect::Nothing => return Some(outcome),
            Effect::Store(value) if value.len() == place.length() => value,
            Effect::StoreComputed if computed.len() == place.length() => computed,
            _ => {
                out.truncate(start);
                return None;
            }
        };
        place.replace(value);
        self.recording.record(key.bytes, effect, value, Before::of(needs_before, true, current));
        Some(outcome)
    }
}
