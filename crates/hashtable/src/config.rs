//! The parameters of a table.

use honeycomb_layout::INLINE_PAIR_BYTES_MAX;

use crate::error::Error;

/// The parameters of a table.
#[derive(Debug, Clone)]
pub struct TableConfig {
    /// Number of buckets at first: a power of two up to 2^24. Default 1024, one page.
    pub buckets: usize,
    /// Maximum length of key and value together of a pair in the slots of a bucket, 0 to 50 bytes; longer
    /// pairs are in slabs. Default 30: six slots, so that a bucket has room for other pairs.
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
