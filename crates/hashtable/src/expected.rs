//! The lengths that a search expects of a pair: those of the pairs that it has found before.
//!
//! Most pairs of a table have the same lengths. Then the first two pairs of a bucket begin at known offsets
//! and have known types and marks, so a comparison with constants replaces their computation. The processor
//! overlaps gets only as far as it can hold the instructions that wait for their buckets.

use std::hint::select_unpredictable;

use honeycomb_layout::{BUCKET_SLOTS, SLOT_CONTINUED, SLOT_INLINE, bucket, bucket_state};
use honeycomb_memory::LineOffset;

use crate::bucket::{Bucket, InlinePair, SLOT, Words, inline_slots};
use crate::hash::HashedKey;

/// The state and the marks of a bucket that has a pair at an offset, and the bits of both that tell.
#[derive(Debug, Clone, Copy)]
struct Place {
    offset: LineOffset,
    state: u64,
    state_mask: u64,
    marks: u64,
    marks_mask: u64,
}

impl Place {
    /// No bucket has a pair there: no bit of a state can be set beyond its mask.
    const NONE: Self = Self { offset: LineOffset::new(0), state: 1, state_mask: 0, marks: 0, marks_mask: 0 };

    /// The pair from a slot on.
    fn new(slot: usize, key_length: usize, value_length: usize) -> Self {
        let length = key_length + value_length;
        let slots = inline_slots(length);
        if slot + slots > BUCKET_SLOTS {
            return Self::NONE;
        }
        let types = (0..slots).map(|at| {
            let kind = if at == 0 { SLOT_INLINE } else { SLOT_CONTINUED };
            (kind as u64) << (3 * (slot + at))
        });
        let types = bucket_state::with_types(0, types.sum());
        let types_mask = bucket_state::with_types(0, ((1 << (3 * slots)) - 1) << (3 * slot));
        let marks = 1 << (key_length - 1) | 1 << (length - 1);
        let offset = slot * SLOT;
        Self {
            offset: LineOffset::new(offset),
            state: types,
            state_mask: types_mask,
            marks: marks << offset,
            marks_mask: ((1 << length) - 1) << offset,
        }
    }

    /// Zero if a bucket has a pair of the lengths here, whose key begins like another one.
    #[inline(always)]
    fn difference(
        &self,
        bucket: &Bucket<impl Words>,
        (state, marks): (u64, u64),
        key: &HashedKey<'_>,
    ) -> u64 {
        let mask = u64::MAX >> (64 - 8 * key.bytes.len().min(8));
        let first = (bucket.0.word_at(self.offset) ^ key.head) & mask;
        let lengths = (state & self.state_mask ^ self.state) | (marks & self.marks_mask ^ self.marks);
        let rest = if key.bytes.len() > 8 { bucket.rest_difference(self.offset.get(), key.bytes) } else { 0 };
        first | lengths | rest
    }
}

/// The lengths that a search expects of an inline pair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    key_length: usize,
    value_length: usize,
    first: Place,
    second: Place,
    /// The lengths of the latest pair that was not expected.
    latest: (usize, usize),
}

impl Default for Expected {
    /// Nothing: no key is empty.
    fn default() -> Self {
        let (first, second) = (Place::NONE, Place::NONE);
        Self { key_length: 0, value_length: 0, first, second, latest: (0, 0) }
    }
}

impl Expected {
    #[cold]
    #[inline(never)]
    fn new(key_length: usize, value_length: usize) -> Self {
        let slots = inline_slots(key_length + value_length);
        let place = |slot| Place::new(slot, key_length, value_length);
        let latest = (key_length, value_length);
        Self { key_length, value_length, first: place(0), second: place(slots), latest }
    }

    /// As [`Bucket::search`]: faster if one of the first two pairs of the bucket has the key, and both have
    /// the lengths of the pairs that were found before.
    #[inline(always)]
    pub(crate) fn search(&mut self, bucket: &Bucket<impl Words>, key: &HashedKey<'_>) -> (InlinePair, bool) {
        if key.bytes.len() == self.key_length {
            let words = (bucket.state(), bucket.word_at(bucket::MARKS_OFFSET));
            let first = self.first.difference(bucket, words, key);
            let second = self.second.difference(bucket, words, key);
            // The product is zero if one of them is: one branch instead of two.
            if u128::from(first) * u128::from(second) == 0 {
                let offset = select_unpredictable(first == 0, 0, self.second.offset.get());
                return (InlinePair::new(offset, key.bytes.len(), self.value_length), true);
            }
        }
        self.search_other(bucket, key)
    }

    /// Searches pairs of any lengths. Expects those of two pairs in succession: a single operation, and one
    /// in a table of many lengths, does not compute what it does not use.
    #[inline(always)]
    fn search_other(&mut self, bucket: &Bucket<impl Words>, key: &HashedKey<'_>) -> (InlinePair, bool) {
        let (pair, is_found) = bucket.search(key);
        // No mark shows an empty value.
        if is_found && pair.value_length > 0 {
            let lengths = (key.bytes.len(), pair.value_length);
            if self.latest != lengths {
                self.latest = lengths;
            } else if lengths != (self.key_length, self.value_length) {
                *self = Self::new(lengths.0, lengths.1);
            }
        }
        (pair, is_found)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::bucket::{Entry, Slab};
    use crate::form::Form;

    /// A number below a limit.
    fn below(state: &mut u64, limit: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 40) % limit
    }

    /// Bytes, most of which are zero, so that parts of pairs resemble keys.
    fn bytes(state: &mut u64, lengths: &[usize]) -> Vec<u8> {
        let length = lengths[below(state, lengths.len() as u64) as usize];
        (0..length).map(|_| u8::from(below(state, 8) == 0)).collect()
    }

    /// A bucket of slabs and pairs with different keys.
    fn bucket(state: &mut u64) -> (Bucket, Vec<Vec<u8>>) {
        let (mut bucket, mut keys) = (Bucket::default(), Vec::new());
        for _ in 0..6 {
            let key = bytes(state, &[1, 8, 8, 8, 8, 9, 16, 28]);
            let value = bytes(state, &[0, 1, 3, 8, 8, 8, 9]);
            let entry = match below(state, 9) {
                0 => Entry::slab(Slab { form: Form::new(2, 0), address: 0 }, 0),
                1 => Entry::slab(Slab { form: Form::new(0, 19), address: 0 }, 0),
                _ => Entry::inline(&key, &value),
            };
            if bucket.free() >= entry.slots && !keys.contains(&key) {
                bucket.push(&entry);
                keys.push(key);
            }
        }
        (bucket, keys)
    }

    #[test]
    fn an_expectation_does_not_change_what_a_search_finds() {
        let (mut state, mut expected, mut found) = (1, Expected::default(), 0);
        for _ in 0..100_000 {
            let (bucket, mut keys) = bucket(&mut state);
            keys.push(bytes(&mut state, &[8]));
            for key in &keys {
                let key = HashedKey::with_hash(0, key);
                let (result, wanted) = (expected.search(&bucket, &key), bucket.search(&key));
                assert_eq!(result.1, wanted.1, "{key:?} in {bucket:?} with {expected:?}");
                assert!(!result.1 || result.0 == wanted.0, "{result:?}, not {wanted:?}: {expected:?}");
                found += u32::from(result.1);
            }
        }
        assert!(found > 100_000);
    }

    #[test]
    fn a_search_expects_what_it_has_found() {
        let (mut bucket, mut expected) = (Bucket::default(), Expected::default());
        let value = [1; 8];
        bucket.push(&Entry::inline(b"aaaaaaaa", &value));
        bucket.push(&Entry::inline(b"bbbbbbbb", &value));
        for _ in 0..2 {
            assert_eq!(expected.key_length, 0);
            expected.search(&bucket, &HashedKey::with_hash(0, b"aaaaaaaa"));
        }
        assert_eq!((expected.key_length, expected.value_length), (8, 8));
        let words = (bucket.state(), bucket.word_at(bucket::MARKS_OFFSET));
        let key = HashedKey::with_hash(0, b"bbbbbbbb");
        assert_ne!(expected.first.difference(&bucket, words, &key), 0);
        assert_eq!(expected.second.difference(&bucket, words, &key), 0);
    }
}
