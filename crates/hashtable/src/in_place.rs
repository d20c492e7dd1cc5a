//! Writes that replace an inline value by one of the same length: the commonest write,
//! with one load of the bucket and a store of the words that change.
//!
//! The writer searches the bucket as a reader. Then it locks the stripe, if its number is still that of the
//! beginning, so that the bucket is still as it was loaded. Otherwise, and for all other writes, the caller
//! executes the operation as `write` has it.

use honeycomb_memory::{LineWords, SequenceLock};

use crate::access::Access;
use crate::bucket::{Bucket, InlinePair};
use crate::hash::HashedKey;
use crate::index::Index;
use crate::operation::{Effect, Operation, Outcome, Scratch, decide};
use crate::read::{Next, Pending, append_inline, begin_beyond};

/// A pair that a writer has found in a bucket, which it has not locked yet.
struct Place<'a> {
    bucket: Bucket<LineWords<'a>>,
    pair: InlinePair,
    lock: &'a SequenceLock,
    number: u64,
}

impl Index {
    /// Executes an operation that writes, which is checked, if it replaces a value by one of the same length
    /// in the first bucket, which has this address in a `state` of the directory. Otherwise changes nothing,
    /// prefetches what the search for the key reads next, and returns where it goes on.
    #[inline]
    pub(crate) fn write_in_place(
        &self,
        access: Access<'_>,
        (address, state): (u32, u64),
        key: &HashedKey<'_>,
        operation: &Operation<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, Pending> {
        let lock = &self.stripe(key.hash).lock;
        let number = lock.begin();
        if state != self.directory.state() {
            return Err(Pending::default());
        }
        let Some(bucket) = access.try_bucket(address) else { return Err(Pending::default()) };
        let Some(pair) = bucket.find_inline(key) else {
            return begin_beyond(access, lock, number, &bucket, key).and(Err(Pending::default()));
        };
        let place = Place { bucket, pair, lock, number };
        self.replace(place, key, operation, scratch, out).ok_or(Pending::default())
    }

    /// As [`write_in_place`](Self::write_in_place), in a chained bucket, where it has ended.
    pub(crate) fn write_in_chain(
        &self,
        access: Access<'_>,
        Pending { number, next }: Pending,
        key: &HashedKey<'_>,
        operation: &Operation<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<Outcome> {
        let Next::Chained(address) = next else { return None };
        let lock = &self.stripe(key.hash).lock;
        let bucket = access.try_bucket(address)?;
        let pair = bucket.find_inline(key)?;
        self.replace(Place { bucket, pair, lock, number }, key, operation, scratch, out)
    }

    #[inline(always)]
    fn replace(
        &self,
        Place { mut bucket, pair, lock, number }: Place<'_>,
        key: &HashedKey<'_>,
        operation: &Operation<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<Outcome> {
        let Scratch { current, computed } = scratch;
        current.clear();
        if operation.needs_value() {
            append_inline(&bucket, pair.value, pair.value_length, current);
        }
        let _guard = lock.lock_if_unchanged(number)?;
        let start = out.len();
        let (effect, outcome) = decide(operation, Some(current), &self.functions, computed, out);
        let value = match effect {
            Effect::Nothing => return Some(outcome),
            Effect::Store(value) if value.len() == pair.value_length => value,
            Effect::StoreComputed if computed.len() == pair.value_length => computed,
            _ => {
                out.truncate(start);
                return None;
            }
        };
        bucket.patch(pair.value, value);
        self.recording.record(key.bytes, effect, value);
        Some(outcome)
    }
}
