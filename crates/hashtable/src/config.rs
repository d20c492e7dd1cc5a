//! The parameters of a table.

use honeycomb_layout::{ALLOCATION_UNIT_BYTES, BUCKET_SLOTS, INLINE_PAIR_BYTES_MAX, bucket};

use crate::bucket::inline_slots;
use crate::error::Error;
use crate::form::{Form, class_bytes};

/// The parameters of a table.
#[derive(Debug, Clone)]
pub struct TableConfig {
    /// Number of buckets at first: a power of two up to 2^24. Default 1024, one page.
    pub buckets: usize,
    /// Maximum length of key and value together of a pair in the slots of a bucket, 0 to 50 bytes; longer
    /// pairs are in slabs, and so are shorter ones whose bucket has free slots, but too few of them. Default
    /// 30: six slots, so that a bucket has room for other pairs. At each fill, inline pairs need fewer
    /// accesses; pairs of more than 20 bytes need less memory in slabs.
    pub inline_pair_bytes_max: usize,
    /// Share of the slots in use at which the table adds buckets, in percent: 1 to 100. It determines the
    /// ratio of index to slabs. `None`: the number of buckets never changes. Default 60.
    pub fill_percent: Option<usize>,
    /// Seed of the hash, which clients must not know.
    pub seed: u64,
}

impl Default for TableConfig {
    fn default() -> Self {
        Self { buckets: 1024, inline_pair_bytes_max: 30, fill_percent: Some(60), seed: 0 }
    }
}

/// Maximum number of buckets at first.
const BUCKETS_MAX: usize = 1 << 24;
const PERCENT_MAX: usize = 100;

impl TableConfig {
    /// Bytes that a pair occupies, by the lengths of its key and its value: its slots, its slab, and the
    /// buffer of an overflow value. Free slots and slabs do not count. A short pair counts as an inline one.
    #[must_use]
    pub fn pair_bytes(&self, key_bytes: usize, value_bytes: usize) -> usize {
        let of_slots = |slots: usize| (slots * bucket::SIZE).div_ceil(BUCKET_SLOTS);
        if key_bytes + value_bytes <= self.inline_pair_bytes_max {
            return of_slots(inline_slots(key_bytes + value_bytes));
        }
        let buffer = value_bytes.next_multiple_of(ALLOCATION_UNIT_BYTES);
        let of_overflow = || Form::of_reference(key_bytes).map(|form| (form, buffer));
        let slab = Form::of(key_bytes, value_bytes).map(|form| (form, 0)).or_else(of_overflow);
        of_slots(1) + slab.map_or(0, |(form, buffer)| class_bytes(form.class()) + buffer)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let invalid = |name, value, allowed| Err(Error::InvalidConfig { name, value, allowed });
        if !self.buckets.is_power_of_two() || self.buckets > BUCKETS_MAX {
            return invalid("buckets", self.buckets, "a power of two from 1 to 16777216");
        }
        if self.inline_pair_bytes_max > INLINE_PAIR_BYTES_MAX {
            return invalid("inline_pair_bytes_max", self.inline_pair_bytes_max, "from 0 to 50");
        }
        match self.fill_percent {
            Some(percent) if !(1..=PERCENT_MAX).contains(&percent) => {
                invalid("fill_percent", percent, "from 1 to 100")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_pairs_at_the_limits_of_their_forms() {
        let config = TableConfig::default();
        let cases = [
            // Inline: slots of 6.4 bytes for five bytes.
            ((1, 0), 7),
            ((5, 0), 7),
            ((5, 1), 13),
            ((10, 20), 39),
            // In a slab, with two bytes of header, besides a slot.
            ((10, 19), 39),
            ((10, 21), 7 + 64),
            // Without a header, which has no room for a longer key.
            ((10, 22), 7 + 32),
            ((31, 1), 7 + 32),
            ((32, 0), 7 + 64),
            ((10, 23), 7 + 64),
            ((10, 52), 7 + 64),
            ((10, 53), 7 + 128),
            ((10, 500), 7 + 512),
            // An overflow value.
            ((10, 501), 7 + 32 + 512),
            ((10, 513), 7 + 32 + 1024),
        ];
        for ((key, value), expected) in cases {
            assert_eq!(config.pair_bytes(key, value), expected, "{key} + {value}");
        }
    }
}
