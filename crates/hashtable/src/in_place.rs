//! Writes that replace an inline value by one of the same length: the commonest write,
//! with one load of the bucket and a store of the words that change.
//!
//! The writer searches the bucket as a reader. Then it locks the stripe, if its number is still that of the
//! beginning, so that the bucket is still as it was loaded. Otherwise, and for all other writes, the caller
//! executes the operation as `write` has it.

use crate::access::Access;
use crate::batch::Answers;
use crate::bucket::InlinePair;
use crate::error::Error;
use crate::hash::HashedKey;
use crate::index::Index;
use crate::operation::{Effect, Operation, Outcome, Scratch, decide};
use crate::read::{First, Next, Pending, append_inline, begin_beyond};

impl Index {
    /// Executes an operation that writes, which is checked, if it replaces a value by one of the same length
    /// in the first bucket. Otherwise changes nothing, prefetches what the search for the key reads next, and
    /// returns where it goes on.
    #[inline]
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
        self.replace(first, pair, key, operation, scratch, out).ok_or(Pending::default())
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
        match self.write_in_chain(access, pending, key, operation, scratch, bytes) {
            Some(outcome) => Ok(outcome),
            None => self.apply(access, key, operation, scratch, bytes),
        }
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
        self.replace(First { bucket, lock, number }, pair, key, operation, scratch, out)
    }

    #[inline(always)]
    fn replace(
        &self,
        First { mut bucket, lock, number }: First<'_>,
        pair: InlinePair,
        key: &HashedKey<'_>,
        operation: &Operation<'_>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Option<Outcome> {
        if let Operation::Put(value) | Operation::Update(value) = operation {
            // The commonest writes, which do not depend on the value that they replace.
            if value.len() != pair.value_length {
                return None;
            }
            let _guard = lock.lock_if_unchanged(number)?;
            bucket.patch(pair.value, value);
            self.recording.record(key.bytes, Effect::Store(value), value);
            return Some(Outcome::Updated);
        }
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
