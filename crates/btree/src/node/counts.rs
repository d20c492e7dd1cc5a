//! The header word with the counts of a node.

use honeycomb_layout::node_header;

/// The header word with the fields `sorted_end` to `level`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts(pub(crate) u64);

impl Counts {
    /// Returns the word of a node that is built. `sorted` has the end of its sorted block and the number of
    /// items; `group_bits` is as [`Counts::group_bits`] returns it.
    pub(crate) fn new(
        level: usize,
        prefix_length: usize,
        (sorted_end, sorted_count): (usize, usize),
        group_bits: usize,
    ) -> Self {
        Self(
            count_field(node_header::SORTED_END_OFFSET, sorted_end)
                | count_field(node_header::SORTED_COUNT_OFFSET, sorted_count)
                | count_field(node_header::PREFIX_LENGTH_OFFSET, prefix_length)
                | count_field(node_header::GROUP_BITS_OFFSET, group_bits)
                | count_field(node_header::LEVEL_OFFSET, level),
        )
    }

    #[inline(always)]
    fn field(self, offset: usize, bytes: usize) -> usize {
        let shift = 8 * (offset - node_header::SORTED_END_OFFSET);
        (self.0 >> shift) as usize & ((1 << (8 * bytes)) - 1)
    }

    #[inline(always)]
    pub(crate) fn sorted_end(self) -> usize {
        self.field(node_header::SORTED_END_OFFSET, node_header::SORTED_END_BYTES)
    }

    #[inline(always)]
    pub(crate) fn sorted_count(self) -> usize {
        self.field(node_header::SORTED_COUNT_OFFSET, node_header::SORTED_COUNT_BYTES)
    }

    #[inline(always)]
    pub(crate) fn prefix_length(self) -> usize {
        self.field(node_header::PREFIX_LENGTH_OFFSET, node_header::PREFIX_LENGTH_BYTES)
    }

    /// Returns the binary logarithm of the number of heads in a group.
    #[inline(always)]
    pub(crate) fn group_bits(self) -> usize {
        self.field(node_header::GROUP_BITS_OFFSET, node_header::GROUP_BITS_BYTES)
    }

    #[inline(always)]
    pub(crate) fn level(self) -> usize {
        self.field(node_header::LEVEL_OFFSET, node_header::LEVEL_BYTES)
    }
}

/// Returns a field of the word.
fn count_field(offset: usize, value: usize) -> u64 {
    (value as u64) << (8 * (offset - node_header::SORTED_END_OFFSET))
}
