//! Gets: optimistic reads under the sequence lock of the stripe.
//!
//! A reader loads the number of the lock, then buckets and slabs, and at last the number again. Until then,
//! anything that it has loaded may be of two moments. So it follows the address of a chained bucket only
//! after it has validated the bucket that contains it; this bounds the walk. It follows the reference to an
//! overflow value only after it has validated the slab that contains it: a value that was referred to at a
//! moment after the pin began is not reclaimed before the pin ends.

use crate::access::Access;
use crate::bucket::Bucket;
use crate::hash::HashedKey;
use crate::index::Index;
use crate::operation::{Span, append};
use crate::record::SlabValue;

/// The words were of two moments: the reader must start again.
pub(crate) struct Torn;

impl Index {
    /// Appends the value of a key. `None` if the key is absent.
    #[inline]
    pub(crate) fn get(&self, access: Access<'_>, key: &HashedKey<'_>, out: &mut Vec<u8>) -> Option<Span> {
        loop {
            match self.try_get(access, key, out) {
                Ok(found) => return found,
                Err(Torn) => std::hint::spin_loop(),
            }
        }
    }

    /// As `get`, once. Appends nothing if it fails.
    #[inline]
    fn try_get(
        &self,
        access: Access<'_>,
        key: &HashedKey<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Span>, Torn> {
        let lock = &self.stripe(key.hash).lock;
        let number = lock.begin();
        let mut address = self.directory.address_of(key.hash);
        loop {
            let bucket = access.try_bucket(address).ok_or(Torn)?;
            if let Some(pair) = bucket.find_inline(key) {
                let span = append_inline(&bucket, pair.value, pair.value_length, out);
                return if lock.unchanged(number) { Ok(Some(span)) } else { discard(span, out) };
            }
            if let Some(span) = self.try_slabs(access, &bucket, key, number, out)? {
                return Ok(Some(span));
            }
            if !lock.unchanged(number) {
                return Err(Torn);
            }
            let Some(next) = bucket.next() else { return Ok(None) };
            address = next;
        }
    }

    /// Searches the slabs of a bucket whose second hash is that of the key.
    fn try_slabs(
        &self,
        access: Access<'_>,
        bucket: &Bucket,
        key: &HashedKey<'_>,
        number: u64,
        out: &mut Vec<u8>,
    ) -> Result<Option<Span>, Torn> {
        let lock = &self.stripe(key.hash).lock;
        let mut after = 0;
        while let Some(slab) = bucket.find_slab(key.second(), after) {
            after = slab.slot + 1;
            let record = access.try_record(slab).ok_or(Torn)?;
            let pair = record.pair().ok_or(Torn)?;
            if pair.key != key.bytes {
                continue;
            }
            return match pair.value {
                SlabValue::InSlab(value) => {
                    let span = append(out, value);
                    if lock.unchanged(number) { Ok(Some(span)) } else { discard(span, out) }
                }
                SlabValue::Overflow(_) if !lock.unchanged(number) => Err(Torn),
                SlabValue::Overflow(reference) => Ok(Some(append(out, access.overflow(reference)))),
            };
        }
        Ok(None)
    }
}

impl Index {
    /// The second step of a get in a batch, with the address of the bucket and the number of buckets in the
    /// first step. Appends the value if the first bucket of the key contains it. Returns `Some(None)` if
    /// the key is absent, and prefetches the slab if the pair may be in one. `None`: the get goes on in the
    /// third step.
    #[inline]
    pub(crate) fn get_inline(
        &self,
        access: Access<'_>,
        (bucket, count): (u32, u64),
        key: &HashedKey<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Option<Span>> {
        let lock = &self.stripe(key.hash).lock;
        let number = lock.begin();
        if count != self.directory.count() {
            return None;
        }
        let bucket = access.try_bucket(bucket)?;
        if let Some(pair) = bucket.find_inline(key) {
            let span = append_inline(&bucket, pair.value, pair.value_length, out);
            if lock.unchanged(number) {
                return Some(Some(span));
            }
            out.truncate(span.start);
            return None;
        }
        let absent = !prefetch_next(access, &bucket, key) && lock.unchanged(number);
        absent.then_some(None)
    }

    /// Prefetches the slab or chained bucket that the search for a key reads after the first bucket.
    #[inline]
    pub(crate) fn prefetch_slab(&self, access: Access<'_>, bucket: u32, key: &HashedKey<'_>) {
        if let Some(bucket) = access.try_bucket(bucket) {
            prefetch_next(access, &bucket, key);
        }
    }
}

/// Prefetches what a search reads after a bucket. Returns whether there is anything.
#[inline]
fn prefetch_next(access: Access<'_>, bucket: &Bucket, key: &HashedKey<'_>) -> bool {
    let slab = bucket.find_slab(key.second(), 0);
    if let Some(slab) = slab {
        // A pair in a larger slab has further lines, which the processor prefetches: they are adjacent.
        access.memory.prefetch_slab(slab.address);
    }
    let next = bucket.next();
    if let Some(next) = next {
        access.memory.prefetch_slab(next);
    }
    slab.is_some() || next.is_some()
}

fn discard(span: Span, out: &mut Vec<u8>) -> Result<Option<Span>, Torn> {
    out.truncate(span.start);
    Err(Torn)
}

/// Appends bytes of a bucket, sixteen at a time.
#[inline]
pub(crate) fn append_inline(bucket: &Bucket, offset: usize, length: usize, out: &mut Vec<u8>) -> Span {
    let span = Span { start: out.len(), end: out.len() + length };
    if length <= 8 {
        out.extend_from_slice(&bucket.word_at(offset).to_le_bytes());
        out.truncate(span.end);
        return span;
    }
    let mut at = 0;
    while at < length {
        let (low, high) = (bucket.word_at(offset + at), bucket.word_at(offset + at + 8));
        let sixteen = u128::from(low) | u128::from(high) << 64;
        out.extend_from_slice(&sixteen.to_le_bytes());
        at += 16;
    }
    out.truncate(span.end);
    span
}
