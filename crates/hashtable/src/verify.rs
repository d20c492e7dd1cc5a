//! The check of a whole table, and the census of its buckets.

use std::collections::HashSet;

use honeycomb_layout::{ALLOCATION_UNIT_BYTES, BUCKET_SLOTS};
use honeycomb_memory::sync::Ordering;

use crate::access::{Access, BUCKET_CLASS};
use crate::bucket::{Bucket, Stored};
use crate::directory::number_of;
use crate::form::{Form, class_bytes};
use crate::hash::{hash, second_hash};
use crate::index::Index;
use crate::record::SlabValue;

/// What a walk over all buckets finds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Census {
    /// Number of pairs.
    pub pairs: u64,
    /// Number of pairs in the slots of buckets.
    pub inline_pairs: u64,
    /// Number of pairs with an overflow value.
    pub overflow_pairs: u64,
    /// Number of buckets in chains, without the first of each chain.
    pub chained_buckets: u64,
    /// Number of buckets of the longest chain.
    pub longest_chain: usize,
    /// The sum over all pairs of the buckets and slabs that a get of the pair loads.
    pub get_accesses: u64,
    /// Bytes of all keys and values.
    pub pair_bytes: u64,
    /// Bytes of all keys.
    pub key_bytes: u64,
    /// Bytes of the buffers of overflow values, in whole allocation units.
    pub overflow_buffer_bytes: u64,
}

/// The census and the counts that it must agree with.
#[derive(Default)]
struct Walk {
    census: Census,
    slab_bytes: usize,
    pairs: Vec<u64>,
    used_slots: Vec<u64>,
}

impl Index {
    pub(crate) fn verify(&self, access: Access<'_>) -> Result<Census, String> {
        let stripes = self.stripes.len();
        let mut walk = Walk { pairs: vec![0; stripes], used_slots: vec![0; stripes], ..Walk::default() };
        for number in 0..self.directory.count() {
            self.verify_chain(access, number, &mut walk)
                .map_err(|error| format!("bucket {number}: {error}"))?;
        }
        for (index, stripe) in self.stripes.iter().enumerate() {
            let counted = (stripe.pairs.load(Ordering::Relaxed), stripe.used_slots.load(Ordering::Relaxed));
            let found = (walk.pairs[index], walk.used_slots[index]);
            check(counted == found, || format!("stripe {index} counts {counted:?}, but has {found:?}"))?;
        }
        let live = self.slabs.usage().live_bytes();
        check(live == walk.slab_bytes, || {
            format!("slabs of {live} bytes are allocated, but the table uses {}", walk.slab_bytes)
        })?;
        Ok(walk.census)
    }

    fn verify_chain(&self, access: Access<'_>, number: u64, walk: &mut Walk) -> Result<(), String> {
        let (mut keys, mut length) = (HashSet::new(), 0);
        let stripe = number as usize % self.stripes.len();
        let chain: Vec<Bucket> =
            Self::chain(access, self.directory.address(number)).map(|(_, bucket)| bucket).collect();
        for bucket in &chain {
            length += 1;
            check(length == 1 || bucket.used() > 0, || "a chained bucket is empty".into())?;
            let mut used = 0;
            for pair in bucket.pairs() {
                let (at, slots) = pair.slots();
                check(at == used, || format!("slot {at} follows slot {used}"))?;
                used += slots;
                let key = self.verify_pair(access, bucket, pair, walk)?;
                walk.census.key_bytes += key.len() as u64;
                let hash = hash(self.config.seed, &key);
                check(number_of(hash, self.directory.count()) == number, || {
                    format!("the key {key:?} belongs to another bucket")
                })?;
                walk.census.get_accesses += length as u64 + u64::from(matches!(pair, Stored::Slab(_)));
                walk.pairs[stripe] += 1;
                check(keys.insert(key), || "a key exists twice".into())?;
            }
            check(used == bucket.used() && used <= BUCKET_SLOTS, || "a slot is of no pair".into())?;
            walk.used_slots[stripe] += used as u64;
        }
        walk.slab_bytes += (length - 1) * class_bytes(BUCKET_CLASS);
        walk.census.chained_buckets += length as u64 - 1;
        walk.census.longest_chain = walk.census.longest_chain.max(length);
        Ok(())
    }

    /// Checks a pair, counts it and returns its key.
    fn verify_pair(
        &self,
        access: Access<'_>,
        bucket: &Bucket,
        pair: Stored,
        walk: &mut Walk,
    ) -> Result<Vec<u8>, String> {
        walk.census.pairs += 1;
        let slab = match pair {
            Stored::Inline(pair, key_length) => {
                walk.census.inline_pairs += 1;
                walk.census.pair_bytes += (key_length + pair.value_length) as u64;
                check(key_length + pair.value_length <= self.config.inline_pair_bytes_max, || {
                    format!("slot {} has a pair that is too long for a bucket", pair.slot())
                })?;
                return Ok(bucket.bytes()[pair.value - key_length..pair.value].to_vec());
            }
            Stored::Slab(slab) => slab,
        };
        walk.slab_bytes += class_bytes(slab.slab.form.class());
        let record = access.record(slab.slab);
        let decoded = record.pair().ok_or_else(|| format!("slot {} has no valid slab", slab.slot))?;
        let length = match decoded.value {
            SlabValue::InSlab(value) => value.len(),
            SlabValue::Overflow(reference) => {
                walk.census.overflow_pairs += 1;
                let buffer = reference.length.next_multiple_of(ALLOCATION_UNIT_BYTES);
                walk.census.overflow_buffer_bytes += buffer as u64;
                access.overflow(reference).len()
            }
        };
        let form = Form::of_any(decoded.key.len(), length);
        check(form == slab.slab.form, || format!("slot {} has a slab of a wrong form", slab.slot))?;
        walk.census.pair_bytes += (decoded.key.len() + length) as u64;
        let second = second_hash(hash(self.config.seed, decoded.key));
        let found = bucket.find_slab(second, slab.slot);
        check(found == Some(slab), || format!("slot {} has a wrong second hash", slab.slot))?;
        Ok(decoded.key.to_vec())
    }
}

fn check(holds: bool, rule: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule()) }
}
