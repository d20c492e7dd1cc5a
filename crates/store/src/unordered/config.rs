//! The parameters of an unordered table.

use honeycomb_hashtable::TableConfig;
use honeycomb_layout::wal_unordered as bytes;

/// The parameters of an unordered table. They cannot change after it is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnorderedConfig {
    /// Number of buckets of 64 bytes at first: a power of two up to 2^24. A table takes whole pages of 1,024
    /// buckets. Default 1024.
    pub buckets: usize,
    /// Maximum length of key and value together of a pair inside its bucket, 0 to 50 bytes; longer pairs take
    /// one more memory access. Default 30.
    pub inline_pair_bytes_max: usize,
    /// Share of the slots in use at which the table adds buckets, in percent: 1 to 100. `None`: the number of
    /// buckets never changes. Default 60.
    pub fill_percent: Option<usize>,
}

impl Default for UnorderedConfig {
    fn default() -> Self {
        Self::of(&TableConfig::default())
    }
}

impl UnorderedConfig {
    pub(crate) fn of(table: &TableConfig) -> Self {
        let TableConfig { buckets, inline_pair_bytes_max, fill_percent, .. } = *table;
        Self { buckets, inline_pair_bytes_max, fill_percent }
    }

    /// The bytes of the parameters in logs and images. The table has checked them, so they fit.
    pub(crate) fn encode(self) -> [u8; bytes::SIZE] {
        let mut encoded = [0; bytes::SIZE];
        let buckets = self.buckets as u32;
        encoded[bytes::BUCKETS_OFFSET..][..bytes::BUCKETS_BYTES].copy_from_slice(&buckets.to_le_bytes());
        encoded[bytes::INLINE_PAIR_BYTES_OFFSET] = self.inline_pair_bytes_max as u8;
        encoded[bytes::FILL_PERCENT_OFFSET] = self.fill_percent.unwrap_or(0) as u8;
        encoded
    }

    /// The parameters of these bytes; `None` if the length is wrong.
    pub(crate) fn decode(encoded: &[u8]) -> Option<Self> {
        let encoded: &[u8; bytes::SIZE] = encoded.try_into().ok()?;
        let buckets = encoded[bytes::BUCKETS_OFFSET..].first_chunk().map_or(0, |it| u32::from_le_bytes(*it));
        let fill_percent = usize::from(encoded[bytes::FILL_PERCENT_OFFSET]);
        Some(Self {
            buckets: buckets as usize,
            inline_pair_bytes_max: usize::from(encoded[bytes::INLINE_PAIR_BYTES_OFFSET]),
            fill_percent: (fill_percent > 0).then_some(fill_percent),
        })
    }

    pub(crate) fn with_seed(self, seed: u64) -> TableConfig {
        let Self { buckets, inline_pair_bytes_max, fill_percent } = self;
        TableConfig { buckets, inline_pair_bytes_max, fill_percent, seed }
    }
}
