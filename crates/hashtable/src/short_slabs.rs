//! Short pairs in slabs. A short pair whose bucket has free slots, but too few of them, is in a slab: that
//! takes half of the bytes of a chained bucket. It returns to the slots when they have room: after the
//! removal of another pair, or when the table grows or shrinks.

use crate::access::Access;
use crate::bucket::{Entry, Slab, SlabSlot, Stored, inline_slots};
use crate::form::Form;
use crate::hash::HashedKey;
use crate::index::Index;
use crate::record::{Pair, SlabValue};
use crate::write::add;

impl Index {
    /// Whether a new pair of some length is inline in a bucket with `free` slots.
    pub(crate) fn is_inline(&self, length: usize, free: usize) -> bool {
        // If no slot is free, the pair is in a chained bucket anyway.
        length <= self.config.inline_pair_bytes_max && (free == 0 || inline_slots(length) <= free)
    }

    /// The number of slots that a pair in a slab would need, if it is short.
    #[inline]
    pub(crate) fn short_slots(&self, pair: &Pair<'_>) -> Option<usize> {
        let SlabValue::InSlab(value) = pair.value else { return None };
        let length = pair.key.len() + value.len();
        (length <= self.config.inline_pair_bytes_max).then(|| inline_slots(length))
    }

    /// The slots of a pair in a slab, if it is short and needs at most `free`.
    pub(crate) fn short_entry(&self, access: Access<'_>, slab: Slab, free: usize) -> Option<Entry> {
        access.with_pair(slab, |pair| {
            let SlabValue::InSlab(value) = pair.value else { return None };
            let fits = self.short_slots(&pair).is_some_and(|slots| slots <= free);
            fits.then(|| Entry::inline(pair.key, value))
        })
    }

    /// After the removal of a key: moves a short pair of its first bucket from a slab into the slots, if they
    /// have room for one. The caller has locked the stripe.
    pub(crate) fn pull_in(&self, access: Access<'_>, removed: &HashedKey<'_>) {
        let address = self.directory.address_of(removed.hash);
        let mut bucket = access.bucket(address);
        let form_max = Form::of(0, self.config.inline_pair_bytes_max);
        let short = bucket.pairs().find_map(|pair| {
            let Stored::Slab(slab) = pair else { return None };
            // Pairs in larger slabs are not short, so it does not load them.
            let is_small =
                form_max.is_some_and(|max| slab.slab.form.class() <= max.class()) && bucket.free() > 0;
            let entry = || self.short_entry(access, slab.slab, bucket.free() + 1);
            is_small.then(entry).flatten().map(|entry| (slab, entry))
        });
        let Some((SlabSlot { slot, slab }, entry)) = short else { return };
        bucket.remove(slot, 1);
        bucket.push(&entry);
        access.store_bucket(address, &bucket);
        self.count_pulled(access, removed.hash, slab, entry.slots);
    }

    /// Frees the slab of a pair that is in `slots` slots now.
    pub(crate) fn count_pulled(&self, access: Access<'_>, hash: u64, slab: Slab, slots: usize) {
        add(&self.stripe(hash).used_slots, slots as i64 - 1);
        self.slabs.free(access.memory, slab.form.class(), slab.address);
    }
}
