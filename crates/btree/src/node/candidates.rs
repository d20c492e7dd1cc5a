//! The log entries that may have a key: those with its fingerprint, and those whose fingerprint is unknown.

use honeycomb_layout::node_header::TAGS_COUNT;
use honeycomb_memory::equal_bytes_of_two;

use crate::node::key::{SearchKey, tag};

/// A set of log entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidates {
    /// One bit for each of the first entries, which have fingerprints.
    tagged: u32,
    /// Whether all later entries are in the set.
    untagged: bool,
}

impl Candidates {
    /// All entries.
    pub(crate) const ALL: Self = Self { tagged: u32::MAX, untagged: true };
    const NONE: Self = Self { tagged: 0, untagged: false };

    /// Returns the entries that may have a key, among `count` entries with these fingerprints.
    #[inline(always)]
    pub(crate) fn among(count: usize, tags: impl FnOnce() -> [u64; 2], search_key: SearchKey<'_>) -> Self {
        if count == 0 {
            return Self::NONE;
        }
        let equal = equal_bytes_of_two(tags(), tag(search_key.suffix));
        let looked_at = (1 << count.min(TAGS_COUNT)) - 1;
        if count > TAGS_COUNT {
            return Self { tagged: equal & looked_at | u32::MAX << TAGS_COUNT, untagged: true };
        }
        Self { tagged: equal & looked_at, untagged: false }
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.tagged == 0 && !self.untagged
    }

    #[inline]
    pub(crate) fn contain(self, index: usize) -> bool {
        if index < TAGS_COUNT { self.tagged >> index & 1 == 1 } else { self.untagged }
    }
}
