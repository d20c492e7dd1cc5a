//! Walks over all pairs, one chain at a time, while other threads read and write.
//!
//! The cursor of a walk is a class of hashes: all hashes with these lowest bits. The walk visits the classes
//! in the order of their reversed bits, as Redis does. If the table has grown meanwhile, a class has become
//! several, which follow each other in this order. If it has shrunk, several have become one, and the walk
//! omits the hashes before the cursor in this order. So it visits each hash exactly once: it returns every
//! pair that exists from its begin to its end once.

use honeycomb_memory::sync::Ordering;

use crate::access::Access;
use crate::bucket::Stored;
use crate::hash::hash;
use crate::index::Index;
use crate::record::{Reference, SlabValue};
use crate::table::Session;

/// Draws of a stripe, and of a chain of it, before a sample takes the next one with pairs.
const STRIPE_DRAWS: usize = 1024;
const CHAIN_DRAWS: usize = 16;

/// The pairs of one or more steps of a walk.
#[derive(Debug, Default)]
pub struct WalkedPairs {
    bytes: Vec<u8>,
    /// The end of each key and of its value.
    ends: Vec<(usize, usize)>,
}

impl WalkedPairs {
    /// Returns the bytes of memory in use.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<(usize, usize)>()
    }

    /// Returns the keys and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(key_end, end)| {
            let pair = (&self.bytes[start..key_end], &self.bytes[key_end..end]);
            start = end;
            pair
        })
    }

    /// Number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all keys and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Removes all pairs.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }
}

impl Session<'_> {
    /// Appends the pairs of one class of hashes to `pairs`, and returns the cursor of the next class; 0 at
    /// the end. The first cursor is 0, and any number is valid. It locks the stripe of the class meanwhile.
    pub fn walk(&self, cursor: u64, pairs: &mut WalkedPairs) -> u64 {
        self.walk_beginnings(cursor, usize::MAX, pairs)
    }

    /// As [`Session::walk`], but copies at most `value_bytes_max` bytes of values that are too long for
    /// a slab.
    pub fn walk_beginnings(&self, cursor: u64, value_bytes_max: usize, pairs: &mut WalkedPairs) -> u64 {
        self.index.walk(Access { value_bytes_max, ..self.access() }, cursor, pairs)
    }

    /// Appends the pairs of a random chain that has some, as [`Session::walk_beginnings`] does. Returns false
    /// if the table has no pairs. `draw(n)` must return a uniformly distributed random number below `n`.
    /// After 1,024 draws of stripes without pairs, or 16 of chains, it takes the next one with pairs, so the
    /// distribution is approximate in a table with few pairs.
    pub fn sample(
        &self,
        draw: &mut dyn FnMut(usize) -> usize,
        value_bytes_max: usize,
        pairs: &mut WalkedPairs,
    ) -> bool {
        let (stripes, before) = (&self.index.stripes, pairs.len());
        // Below the limit even if `draw` is incorrect.
        let mut draw = |limit: usize| draw(limit) % limit;
        let has_pairs = |at: &usize| stripes[*at].pairs.load(Ordering::Relaxed) > 0;
        let Some(stripe) = (0..STRIPE_DRAWS).map(|_| draw(stripes.len())).find(has_pairs).or_else(|| {
            let first = draw(stripes.len());
            (first..stripes.len()).chain(0..first).find(has_pairs)
        }) else {
            return false;
        };
        let chains = (self.index.directory.count() as usize - stripe).div_ceil(stripes.len());
        let mut visit = |chain: usize| {
            self.walk_beginnings((stripe + chain * stripes.len()) as u64, value_bytes_max, pairs);
            pairs.len() > before
        };
        let is_drawn = (0..CHAIN_DRAWS).any(|_| visit(draw(chains)));
        let first = draw(chains);
        is_drawn || (first..chains).chain(0..first).any(visit)
    }
}

impl Index {
    fn walk(&self, access: Access<'_>, cursor: u64, pairs: &mut WalkedPairs) -> u64 {
        let guard = self.stripes[self.stripe_number(cursor)].lock.lock();
        let class = Class::of(cursor, self.directory.count());
        let mut overflow = Vec::new();
        let is_next = |key: &[u8]| class.is_whole(cursor) || is_from(cursor, hash(self.config.seed, key));
        for (_, bucket) in Self::chain(access, self.directory.address(class.bits)) {
            let bytes = bucket.bytes();
            for stored in bucket.pairs() {
                match stored {
                    Stored::Inline(pair, key_length) => {
                        let (key, value) = (pair.value - key_length, pair.value);
                        if is_next(&bytes[key..value]) {
                            pairs.push(&bytes[key..value], &bytes[value..value + pair.value_length]);
                        }
                    }
                    Stored::Slab(slab) => {
                        let record = access.record(slab.slab);
                        let pair = record.pair().filter(|pair| is_next(pair.key));
                        match pair.map(|pair| (pair.key, pair.value)) {
                            Some((key, SlabValue::InSlab(value))) => pairs.push(key, value),
                            Some((key, SlabValue::Overflow(reference))) => {
                                overflow.push((key.to_vec(), reference));
                            }
                            None => {}
                        }
                    }
                }
            }
        }
        drop(guard);
        push_overflow(access, &overflow, pairs);
        class.next()
    }
}

/// Copies overflow values after the stripe is free again: they may be long, and the pin keeps them.
fn push_overflow(access: Access<'_>, overflow: &[(Vec<u8>, Reference)], pairs: &mut WalkedPairs) {
    for (key, reference) in overflow {
        pairs.push(key, access.beginning(*reference));
    }
}

/// All hashes whose lowest bits, those of `mask`, are `bits`. They belong to the bucket of this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Class {
    bits: u64,
    mask: u64,
}

impl Class {
    /// The class at a cursor in a table of `count` buckets.
    fn of(cursor: u64, count: u64) -> Self {
        let (top, half) = (count.next_power_of_two(), count.next_power_of_two() / 2);
        let low = cursor & half.saturating_sub(1);
        // If the bucket with the highest bit does not exist yet, its keys are in the one without it.
        let mask = if top == count || low + half < count { top - 1 } else { half - 1 };
        Self { bits: cursor & mask, mask }
    }

    /// Whether a cursor is at the first hash of the class.
    fn is_whole(self, cursor: u64) -> bool {
        cursor & !self.mask == 0
    }

    /// The cursor of the next class in the order of reversed bits.
    fn next(self) -> u64 {
        (self.bits | !self.mask).reverse_bits().wrapping_add(1).reverse_bits()
    }
}

/// Whether a hash is at or after a cursor in the order of reversed bits.
fn is_from(cursor: u64, hash: u64) -> bool {
    hash.reverse_bits() >= cursor.reverse_bits()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::directory::number_of;

    /// A walk over a table that grows or shrinks at every step visits each hash of 12 bits exactly once.
    #[test]
    fn a_walk_visits_each_hash_once_while_the_table_is_resized() {
        let growing = [(1, 0), (1, 1), (4, 3), (5, 0), (16, 7), (1000, 1), (64, 64)];
        let shrinking = [(4096, -1), (4096, -7), (1000, -3), (64, -1), (2048, -2047), (5, -1)];
        for (first, step) in growing.into_iter().chain(shrinking) {
            let mut visits = vec![0; 4096];
            let (mut cursor, mut count) = (0, first);
            loop {
                let class = Class::of(cursor, count);
                for hash in (0..4096_u64).filter(|hash| hash & class.mask == class.bits) {
                    assert_eq!(number_of(hash, count), class.bits, "bucket of {hash} of {count}");
                    visits[hash as usize] += usize::from(class.is_whole(cursor) || is_from(cursor, hash));
                }
                cursor = class.next();
                if cursor == 0 {
                    break;
                }
                count = count.saturating_add_signed(step).clamp(1, 4096);
            }
            assert!(visits.iter().all(|&visits| visits == 1), "from {first} buckets by {step}");
        }
    }

    #[test]
    fn any_cursor_is_in_a_table() {
        for count in [1, 2, 3, 1000, 1024] {
            for cursor in [u64::MAX, 1 << 63, 12_345] {
                assert!(Class::of(cursor, count).bits < count);
            }
        }
    }
}
