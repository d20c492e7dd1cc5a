//! The parameters of nodes, and the limits that follow from them.

use honeycomb_layout as layout;

use crate::error::Error;
use crate::node::columns::encoding::ALIGNMENT;
use crate::node::log_entry;
use crate::node::suffix::HEAD_BYTES;

/// The most versions that threads have taken and not released at one time (see
/// [`honeycomb_memory::Versions`]).
pub(crate) const VERSION_SLACK: u64 = honeycomb_memory::VERSION_RING as u64;

/// The parameters of all nodes of a store, fixed at its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a node's buffer: a power of two, 1 KiB to 16 KiB. Default 8 KiB.
    pub node_bytes: usize,
    /// Size at which a log block is consolidated. Default 512; 0 consolidates at every write.
    pub log_threshold_bytes: usize,
    /// Maximum difference between the newest version and the version of a node that gets a log entry, at most
    /// 2^30. A log word has room for twice that, because other threads release further versions until the
    /// entry is committed.
    pub version_delta_max: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            node_bytes: layout::NODE_BYTES_DEFAULT,
            log_threshold_bytes: layout::LOG_THRESHOLD_BYTES_DEFAULT,
            version_delta_max: VERSION_DELTA_MAX,
        }
    }
}

const VERSION_DELTA_MAX: u64 = layout::log_word::VERSION_DELTA_MASK.div_ceil(2);

const _: () = {
    assert!(layout::NODE_BYTES_MAX / ALIGNMENT <= 1 << layout::log_word::ENTRY_OFFSET_BITS);
    // A pair takes its head and at least one unit of an item.
    assert!(layout::NODE_BYTES_MAX / (HEAD_BYTES + ALIGNMENT) < 1 << layout::log_word::BACK_POINTER_BITS);
};

impl Shape {
    /// Checks every parameter.
    ///
    /// # Errors
    /// [`Error::InvalidShape`] names the parameter and what is allowed.
    pub fn check(&self) -> Result<(), Error> {
        let invalid = |message: String| Err(Error::InvalidShape(message));
        let (bytes, min, max) = (self.node_bytes, layout::NODE_BYTES_MIN, layout::NODE_BYTES_MAX);
        if !bytes.is_power_of_two() || !(min..=max).contains(&bytes) {
            return invalid(format!("node size {bytes} must be a power of two from {min} to {max} bytes"));
        }
        if self.log_threshold_bytes > self.node_bytes / 2 {
            return invalid(format!(
                "log threshold of {} bytes must be at most {}",
                self.log_threshold_bytes,
                self.node_bytes / 2
            ));
        }
        if !(VERSION_SLACK + 1..=VERSION_DELTA_MAX).contains(&self.version_delta_max) {
            return invalid(format!(
                "largest version delta {} must be from {} to {VERSION_DELTA_MAX}",
                self.version_delta_max,
                VERSION_SLACK + 1
            ));
        }
        Ok(())
    }

    /// Returns the maximum size of another log entry, without its log word, in a leaf with a log block from
    /// `sorted_end` to `size`.
    #[inline]
    pub(crate) fn log_room(&self, sorted_end: usize, size: usize, log_count: usize) -> usize {
        // The threshold and the free bytes apply to entries and log words together.
        let words = log_entry::WORD_BYTES * (log_count + 1);
        let below_threshold = self.log_threshold_bytes.saturating_sub(size - sorted_end + words);
        below_threshold.min((self.node_bytes - size).saturating_sub(words))
    }

    /// Returns the maximum length of a key: 460 bytes, or less in small nodes, which must have space for two
    /// fence keys and two items.
    #[must_use]
    pub fn key_bytes_max(&self) -> usize {
        (self.block_bytes() / 7).min(layout::KEY_BYTES_MAX)
    }

    /// Returns the maximum length of an inline value: 469 bytes, or less in small nodes. Longer values are
    /// overflow values.
    #[must_use]
    pub fn inline_value_bytes_max(&self) -> usize {
        let rest = self.block_bytes() - 4 * self.key_bytes_max() - 18;
        (rest / 2).min(layout::INLINE_VALUE_BYTES_MAX)
    }

    /// Returns the bytes that the sorted block and the log block of a node share.
    pub(crate) fn block_bytes(&self) -> usize {
        self.node_bytes - BLOCK_START
    }
}

/// The offset of the sorted block: the end of the header and the samples, which a search reads first.
pub(crate) const BLOCK_START: usize = layout::COLUMN_HEADS_OFFSET;

/// The level of leaves.
pub(crate) const LEAF: usize = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_shape_has_the_papers_limits() {
        let shape = Shape::default();
        shape.check().unwrap();
        assert_eq!(shape.key_bytes_max(), 460);
        assert_eq!(shape.inline_value_bytes_max(), 469);
        assert_eq!(BLOCK_START, 192);
    }

    #[test]
    fn limits_are_checked_at_below_and_above() {
        let with = |change: fn(&mut Shape)| {
            let mut shape = Shape::default();
            change(&mut shape);
            shape.check().is_ok()
        };
        assert!(with(|s| s.node_bytes = 16384));
        assert!(!with(|s| s.node_bytes = 32768));
        assert!(!with(|s| s.node_bytes = 8191));
        assert!(!with(|s| s.node_bytes = 512));
        assert!(with(|s| s.log_threshold_bytes = 0));
        assert!(with(|s| s.log_threshold_bytes = 4096));
        assert!(!with(|s| s.log_threshold_bytes = 4097));
        assert!(with(|s| s.version_delta_max = VERSION_SLACK + 1));
        assert!(!with(|s| s.version_delta_max = VERSION_SLACK));
        assert!(!with(|s| s.version_delta_max = (1 << 30) + 1));
        assert!(with(|s| s.version_delta_max = 1 << 30));
    }

    #[test]
    fn every_allowed_shape_holds_a_node_of_longest_keys() {
        for node_bytes in [1024_usize, 2048, 4096, 8192, 16384] {
            let shape = Shape { node_bytes, ..Shape::default() };
            shape.check().unwrap();
            let (key, value) = (shape.key_bytes_max(), shape.inline_value_bytes_max());
            assert!(value > honeycomb_layout::value_reference::SIZE, "{shape:?}");
            // An item has a head, an offset or a child, a word, and up to three bytes of padding; the
            // children begin at a line.
            let (columns, block) = (8 + 8 + 4 + 3, shape.block_bytes());
            assert!(4 + 2 * key + 2 * (key + columns) <= block, "{shape:?}");
            assert!(4 + 2 * key + (columns + key + value) <= block, "{shape:?}");
        }
    }
}
