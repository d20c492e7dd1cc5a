//! The check of a whole table, and the census of its buckets.

use std::collections::{HashMap, HashSet};

use honeycomb_layout::{ALLOCATION_UNIT_BYTES, BUCKET_SLOTS, SLAB_UNIT_BYTES, bucket};
use honeycomb_memory::sync::Ordering;
use honeycomb_memory::{BusAddress, Memory};

use crate::access::{Access, BUCKET_CLASS};
use crate::bucket::{Bucket, Entry, InlinePair, SlabSlot, Stored};
use crate::directory::number_of;
use crate::form::{Form, class_bytes};
use crate::hash::{hash, second_hash};
use crate::index::Index;
use crate::page_map::PAGE_UNITS;
use crate::record::{Record, Reference, SlabValue};

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
    owned: OwnedUnits,
    overflow_values: HashSet<BusAddress>,
}

impl Walk {
    /// Counts an overflow value. Returns false if there is none, or another pair has it.
    fn add_overflow(&mut self, memory: &Memory, reference: Reference) -> bool {
        self.census.overflow_pairs += 1;
        let buffer = reference.length.next_multiple_of(ALLOCATION_UNIT_BYTES);
        self.census.overflow_buffer_bytes += buffer as u64;
        memory.is_live_value(reference.address, reference.length)
            && self.overflow_values.insert(reference.address)
    }
}

/// The slab units that buckets and slabs consist of: a bit for each unit of each page.
#[derive(Default)]
struct OwnedUnits(HashMap<u32, [u64; PAGE_UNITS as usize / 64]>);

impl OwnedUnits {
    /// Adds the units of some bytes. Returns false if another bucket or slab has one of them.
    fn add(&mut self, address: u32, bytes: usize) -> bool {
        let mut units = address..address + (bytes / SLAB_UNIT_BYTES) as u32;
        units.all(|unit| self.add_unit(unit))
    }

    fn add_unit(&mut self, unit: u32) -> bool {
        let at = unit % PAGE_UNITS;
        let bits = self.0.entry(unit / PAGE_UNITS).or_insert([0; PAGE_UNITS as usize / 64]);
        let (word, bit) = (&mut bits[at as usize / 64], 1 << (at % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// A bucket with its place.
struct Place<'b> {
    bucket: &'b Bucket,
    /// The number of the first bucket of its chain.
    number: u64,
    /// The number of buckets up to this one.
    length: usize,
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
        let mut next = Some(self.directory.address(number));
        while let Some(address) = next {
            length += 1;
            let is_aligned = address.is_multiple_of((bucket::SIZE / SLAB_UNIT_BYTES) as u32);
            let words = access.try_bucket(address).filter(|_| is_aligned);
            let bucket = words.ok_or_else(|| format!("bucket {length} of the chain has no page"))?.loaded();
            // A chain with a cycle ends here.
            check(walk.owned.add(address, bucket::SIZE), || {
                format!("bucket {length} of the chain overlaps another bucket or a slab")
            })?;
            check(length == 1 || bucket.used() > 0, || "a chained bucket is empty".into())?;
            self.verify_bucket(access, &Place { bucket: &bucket, number, length }, &mut keys, walk)?;
            next = bucket.next();
        }
        walk.slab_bytes += (length - 1) * class_bytes(BUCKET_CLASS);
        walk.census.chained_buckets += length as u64 - 1;
        walk.census.longest_chain = walk.census.longest_chain.max(length);
        Ok(())
    }

    fn verify_bucket(
        &self,
        access: Access<'_>,
        place: &Place<'_>,
        keys: &mut HashSet<Vec<u8>>,
        walk: &mut Walk,
    ) -> Result<(), String> {
        let Place { bucket, number, length } = *place;
        let stripe = number as usize % self.stripes.len();
        let (mut rebuilt, mut used) = (Bucket::default(), 0);
        for pair in bucket.pairs() {
            let (at, slots) = pair.slots();
            check(at == used, || format!("slot {at} follows slot {used}"))?;
            used += slots;
            let (key, entry) = self.verify_pair(access, bucket, pair, walk)?;
            rebuilt.push(&entry);
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
        rebuilt.set_next(bucket.next());
        check(rebuilt == *bucket, || "the bucket has bits of no pair".into())?;
        walk.used_slots[stripe] += used as u64;
        Ok(())
    }

    /// Checks a pair and counts it. Returns its key, and the slots that it should have.
    fn verify_pair(
        &self,
        access: Access<'_>,
        bucket: &Bucket,
        pair: Stored,
        walk: &mut Walk,
    ) -> Result<(Vec<u8>, Entry), String> {
        walk.census.pairs += 1;
        match pair {
            Stored::Inline(pair, key_length) => self.verify_inline(bucket, pair, key_length, walk),
            Stored::Slab(slab) => self.verify_slab(access, bucket, slab, walk),
        }
    }

    fn verify_inline(
        &self,
        bucket: &Bucket,
        pair: InlinePair,
        key_length: usize,
        walk: &mut Walk,
    ) -> Result<(Vec<u8>, Entry), String> {
        walk.census.inline_pairs += 1;
        walk.census.pair_bytes += (key_length + pair.value_length) as u64;
        check(key_length + pair.value_length <= self.config.inline_pair_bytes_max, || {
            format!("slot {} has a pair that is too long for a bucket", pair.slot())
        })?;
        let bytes = bucket.bytes();
        let (key, value) = (&bytes[pair.offset..pair.value], &bytes[pair.value..][..pair.value_length]);
        Ok((key.to_vec(), Entry::inline(key, value)))
    }

    fn verify_slab(
        &self,
        access: Access<'_>,
        bucket: &Bucket,
        slab: SlabSlot,
        walk: &mut Walk,
    ) -> Result<(Vec<u8>, Entry), String> {
        let slab_bytes = class_bytes(slab.slab.form.class());
        walk.slab_bytes += slab_bytes;
        check(walk.owned.add(slab.slab.address, slab_bytes), || {
            format!("the slab of slot {} overlaps a bucket or another slab", slab.slot)
        })?;
        let record = access.try_record(slab.slab);
        let decoded = record.as_ref().and_then(Record::pair);
        let decoded = decoded.ok_or_else(|| format!("slot {} has no valid slab", slab.slot))?;
        let key_length = decoded.key.len();
        let (length, form) = match decoded.value {
            SlabValue::InSlab(value) => (value.len(), Form::of(key_length, value.len())),
            SlabValue::Overflow(reference) => {
                let rule = || format!("slot {} refers to no value of its own", slab.slot);
                check(walk.add_overflow(access.memory, reference), rule)?;
                let form = Form::of_reference(key_length);
                (reference.length, form.filter(|_| Form::of(key_length, reference.length).is_none()))
            }
        };
        check(form == Some(slab.slab.form), || format!("slot {} has a slab of a wrong form", slab.slot))?;
        walk.census.pair_bytes += (key_length + length) as u64;
        let second = second_hash(hash(self.config.seed, decoded.key));
        let found = bucket.find_slab(second, slab.slot);
        check(found == Some(slab), || format!("slot {} has a wrong second hash", slab.slot))?;
        Ok((decoded.key.to_vec(), Entry::slab(slab.slab, second)))
    }
}

fn check(holds: bool, rule: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule()) }
}

#[cfg(all(test, not(loom)))]
mod tests;
