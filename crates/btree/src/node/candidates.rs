//! The log entries that may have a key: those with its fingerprint, and those whose fingerprint is unknown.

use honeycomb_layout::node_header::TAGS_COUNT;
use honeycomb_memory::equal_bytes_of_two;

use crate::node::key::{SearchKey, tag};

/// A set of log entries: one bit for each of the first entries, which have fingerprints, and one for all
/// later entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidates(u32);

/// The later entries.
const UNTAGGED: u32 = 1 << TAGS_COUNT;

impl Candidates {
    /// All entries.
    pub(crate) const ALL: Self = Self(UNTAGGED | (UNTAGGED - 1));
    const NONE: Self = Self(0);

    /// Returns the entries that may have a key, among `count` entries with these fingerprints.
    #[inline(always)]
    pub(crate) fn among(count: usize, tags: impl FnOnce() -> [u64; 2], search_key: SearchKey<'_>) -> Self {
        if count == 0 {
            return Self::NONE;
        }
        let equal = equal_bytes_of_two(tags(), tag(search_key.suffix));
        let present = (1 << count.min(TAGS_COUNT + 1)) - 1;
        Self((equal | UNTAGGED) & present)
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(crate) fn contain(self, index: usize) -> bool {
        self.0 >> index.min(TAGS_COUNT) & 1 == 1
    }
}
