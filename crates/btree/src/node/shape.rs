//! The parameters of nodes, and the limits that follow from them.

use std::ops::Range;

use honeycomb_layout as layout;

use crate::error::Error;
use crate::node::key_hash::KeyHash;

/// Maximum difference between the version of a write and the newest version that it has seen (see
/// [`honeycomb_memory::Versions`]).
pub(crate) const VERSION_SLACK: u64 = honeycomb_memory::VERSION_RING as u64;

/// The parameters of all nodes of a store, fixed at its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a node's buffer: a power of two, 1 KiB to 16 KiB. Default 8 KiB.
    pub node_bytes: usize,
    /// Size at which a log block is consolidated. Default 512; 0 consolidates at every write.
    pub log_threshold_bytes: usize,
    /// Minimum size of a segment. Default 128.
    pub segment_bytes_min: usize,
    /// Bytes of the shortcut block: a multiple of 64, up to half the node. Default 448.
    pub shortcut_block_bytes: usize,
    /// Bytes of the fingerprint directory of a leaf: a multiple of 64; together with the shortcut block up to
    /// half the node. With a directory, gets read fewer bytes, but pairs take more bytes and writes more
    /// time. Default 0: no directory.
    pub tag_directory_bytes: usize,
    /// Maximum difference between the version of a log entry and its node version, at most 2^40 - 1.
    pub version_delta_max: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            node_bytes: layout::NODE_BYTES_DEFAULT,
            log_threshold_bytes: layout::LOG_THRESHOLD_BYTES_DEFAULT,
            segment_bytes_min: layout::SEGMENT_BYTES_MIN_DEFAULT,
            shortcut_block_bytes: layout::SHORTCUT_BLOCK_BYTES_DEFAULT,
            tag_directory_bytes: 0,
            version_delta_max: VERSION_DELTA_MAX,
        }
    }
}

/// Bytes of a line of a fingerprint directory.
const LINE: usize = layout::directory_line::SIZE;
const VERSION_DELTA_MAX: u64 = (1 << (8 * layout::log_entry_header::VERSION_DELTA_BYTES)) - 1;

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
        let (block, max) = (self.shortcut_block_bytes, self.node_bytes / 2);
        if block == 0 || !block.is_multiple_of(64) || block > max {
            return invalid(format!(
                "shortcut block of {block} bytes must be a multiple of 64 from 64 to {max}"
            ));
        }
        let (directory, max) = (self.tag_directory_bytes, self.node_bytes / 2 - block);
        if !directory.is_multiple_of(LINE) || directory > max {
            return invalid(format!(
                "fingerprint directory of {directory} bytes must be a multiple of {LINE} from 0 to {max}"
            ));
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

    /// Returns the maximum length of a key: 460 bytes, or less in small nodes, which must have space for two
    /// fence keys and two items.
    #[must_use]
    pub fn key_bytes_max(&self) -> usize {
        let block = self.block_bytes(LEAF).min(self.block_bytes(LEAF + 1));
        (block / 7).min(layout::KEY_BYTES_MAX)
    }

    /// Returns the maximum length of an inline value: 469 bytes, or less in small nodes. Longer values are
    /// overflow values.
    #[must_use]
    pub fn inline_value_bytes_max(&self) -> usize {
        let rest = self.block_bytes(LEAF) - 4 * self.key_bytes_max() - 18;
        (rest / 2).min(layout::INLINE_VALUE_BYTES_MAX)
    }

    /// Returns the bytes that the sorted block and the log block of a node share.
    pub(crate) fn block_bytes(&self, level: usize) -> usize {
        self.node_bytes - self.geometry().sorted_start(level)
    }

    pub(crate) fn geometry(&self) -> Geometry {
        let capacity = (self.shortcut_block_bytes / layout::SHORTCUT_BYTES).min(255);
        let shortcuts_end = layout::node_header::SIZE + self.shortcut_block_bytes;
        Geometry {
            shortcuts_end: shortcuts_end as u16,
            directory_lines: (self.tag_directory_bytes / LINE) as u8,
            shortcut_capacity: capacity as u8,
        }
    }
}

/// Offsets of the blocks of a node: the part of the shape that a reader needs.
///
/// ```text
/// 0        64                 64 + 8 c             64 + 10 c                     sorted_start
/// | header | c heads, 8 bytes | c offsets, 2 bytes | pad | fingerprint directory | fence keys, items ...
/// ```
/// Interior nodes have no fingerprint directory. The size is only four bytes because each view contains it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    shortcuts_end: u16,
    directory_lines: u8,
    shortcut_capacity: u8,
}

/// The level of leaves.
pub(crate) const LEAF: usize = 0;

impl Geometry {
    /// Returns the offset of the sorted block of a node of this level.
    #[inline]
    pub(crate) fn sorted_start(self, level: usize) -> usize {
        if level == LEAF { self.tag_directory().end } else { self.shortcuts_end() }
    }

    #[inline]
    pub(crate) fn shortcuts_end(self) -> usize {
        usize::from(self.shortcuts_end)
    }

    #[inline]
    pub(crate) fn has_tag_directory(self) -> bool {
        self.directory_lines > 0
    }

    /// Returns the range of the fingerprint directory of a leaf.
    #[inline]
    pub(crate) fn tag_directory(self) -> Range<usize> {
        self.shortcuts_end()..self.shortcuts_end() + LINE * usize::from(self.directory_lines)
    }

    /// Returns the offset of the directory line of a key hash.
    #[inline]
    pub(crate) fn directory_line(self, hash: KeyHash) -> usize {
        self.shortcuts_end() + LINE * hash.line(usize::from(self.directory_lines))
    }

    pub(crate) fn shortcut_capacity(self) -> usize {
        usize::from(self.shortcut_capacity)
    }

    /// Returns the offset of head `index`.
    pub(crate) fn head_offset(self, index: usize) -> usize {
        layout::node_header::SIZE + 8 * index
    }

    /// Returns the offset of the field with the start of segment `index`.
    pub(crate) fn segment_field_offset(self, index: usize) -> usize {
        self.head_offset(self.shortcut_capacity()) + 2 * index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_shape_has_the_papers_limits() {
        let shape = Shape::default();
        shape.check().unwrap();
        assert_eq!(shape.key_bytes_max(), 460);
        assert_eq!(shape.inline_value_bytes_max(), 469);
        assert_eq!(shape.geometry().sorted_start(LEAF), 512);
        assert_eq!(shape.geometry().shortcut_capacity(), 44);
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
        assert!(with(|s| s.shortcut_block_bytes = 64));
        assert!(with(|s| s.shortcut_block_bytes = 4096));
        assert!(!with(|s| s.shortcut_block_bytes = 4160));
        assert!(!with(|s| s.shortcut_block_bytes = 0));
        assert!(!with(|s| s.shortcut_block_bytes = 100));
        assert!(with(|s| s.tag_directory_bytes = 4096 - 448));
        assert!(!with(|s| s.tag_directory_bytes = 4096 - 384));
        assert!(!with(|s| s.tag_directory_bytes = 100));
        assert!(with(|s| s.log_threshold_bytes = 0));
        assert!(with(|s| s.log_threshold_bytes = 4096));
        assert!(!with(|s| s.log_threshold_bytes = 4097));
        assert!(with(|s| s.version_delta_max = VERSION_SLACK + 1));
        assert!(!with(|s| s.version_delta_max = VERSION_SLACK));
        assert!(!with(|s| s.version_delta_max = 1 << 40));
    }

    #[test]
    fn every_allowed_shape_holds_a_node_of_longest_keys() {
        for node_bytes in [1024_usize, 2048, 4096, 8192, 16384] {
            for block in (64..=node_bytes / 2).step_by(64) {
                for tag_directory_bytes in [0, node_bytes / 2 - block] {
                    let shape = Shape {
                        node_bytes,
                        shortcut_block_bytes: block,
                        tag_directory_bytes,
                        ..Shape::default()
                    };
                    shape.check().unwrap();
                    let (key, value) = (shape.key_bytes_max(), shape.inline_value_bytes_max());
                    assert!(value > layout::value_reference::SIZE, "{shape:?}");
                    assert!(4 + 2 * key + 2 * (key + 9) <= shape.block_bytes(1), "{shape:?}");
                    assert!(4 + 2 * key + (3 + key + value) <= shape.block_bytes(LEAF), "{shape:?}");
                }
            }
        }
    }
}
