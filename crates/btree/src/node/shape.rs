//! The parameters of nodes, and the limits that follow from them.

use honeycomb_layout as layout;

use crate::error::Error;
use crate::node::columns::encoding::ALIGNMENT;
use crate::node::log_entry::EntryFormat;
use crate::node::suffix::HEAD_BYTES;

/// Maximum difference between the version of a write and the newest version that it has seen (see
/// [`honeycomb_memory::Versions`]).
pub(crate) const VERSION_SLACK: u64 = honeycomb_memory::VERSION_RING as u64;

/// The parameters of all nodes of a store, fixed at its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a node's buffer: a power of two, 1 KiB to 16 KiB. Default 8 KiB.
    pub node_bytes: usize,
    /// The layout of the sorted block. Default columns.
    pub layout: NodeLayout,
    /// Size at which a log block is consolidated. Default 512; 0 consolidates at every write.
    pub log_threshold_bytes: usize,
    /// Maximum difference between the version of a log entry and its node version, at most 2^31 - 1.
    pub version_delta_max: u64,
}

/// The layout of the sorted block of all nodes of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NodeLayout {
    /// Samples, heads, offsets or children, items. A search compares heads and goes to one item.
    #[default]
    Columns,
    /// Leaves have shortcuts and items of varying length, which a search walks; interior nodes are in
    /// columns. The simulated accelerator reads only this layout.
    Rows(RowShape),
}

/// The parameters of leaves in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowShape {
    /// Minimum size of a segment. Default 128.
    pub segment_bytes_min: usize,
    /// Bytes of the shortcut block: a multiple of 64, up to half the node. Default 448.
    pub shortcut_block_bytes: usize,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            node_bytes: layout::NODE_BYTES_DEFAULT,
            layout: NodeLayout::default(),
            log_threshold_bytes: layout::LOG_THRESHOLD_BYTES_DEFAULT,
            version_delta_max: VERSION_DELTA_MAX,
        }
    }
}

impl Default for RowShape {
    fn default() -> Self {
        Self {
            segment_bytes_min: layout::SEGMENT_BYTES_MIN_DEFAULT,
            shortcut_block_bytes: layout::SHORTCUT_BLOCK_BYTES_DEFAULT,
        }
    }
}

const VERSION_DELTA_MAX: u64 = layout::log_word::VERSION_DELTA_MASK;

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
        if let NodeLayout::Rows(RowShape { shortcut_block_bytes: block, .. }) = self.layout {
            let max = self.node_bytes / 2;
            if block == 0 || !block.is_multiple_of(64) || block > max {
                return invalid(format!(
                    "shortcut block of {block} bytes must be a multiple of 64 from 64 to {max}"
                ));
            }
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
        let smaller = self.block_bytes(LEAF).min(self.block_bytes(LEAF + 1));
        (smaller / 7).min(layout::KEY_BYTES_MAX)
    }

    /// Returns the maximum length of an inline value: 469 bytes, or less in small nodes. Longer values are
    /// overflow values.
    #[must_use]
    pub fn inline_value_bytes_max(&self) -> usize {
        let rest = self.block_bytes(LEAF) - 4 * self.key_bytes_max() - 18;
        (rest / 2).min(layout::INLINE_VALUE_BYTES_MAX)
    }

    /// Returns the bytes that the sorted block and the log block of a node of a level share.
    pub(crate) fn block_bytes(&self, level: usize) -> usize {
        self.node_bytes - self.geometry().at(level).block_start()
    }

    /// Returns the geometry of leaves.
    pub(crate) fn geometry(&self) -> Geometry {
        match self.layout {
            NodeLayout::Columns => COLUMNS,
            NodeLayout::Rows(rows) => Geometry {
                block_start: (layout::node_header::SIZE + rows.shortcut_block_bytes) as u16,
                shortcut_capacity: (rows.shortcut_block_bytes / layout::SHORTCUT_BYTES).min(255) as u8,
                is_columns: false,
            },
        }
    }
}

/// The part of the shape that a reader needs.
///
/// ```text
/// columns: 0        64                  192 = block_start
///          | header | columns, samples  | heads ...
/// rows:    0        64                 64 + 8 c             64 + 10 c   block_start
///          | header | c heads, 8 bytes | c offsets, 2 bytes | padding | fence keys, items ...
/// ```
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    block_start: u16,
    /// Capacity for shortcuts; rows only.
    shortcut_capacity: u8,
    is_columns: bool,
}

/// The geometry of nodes in columns.
const COLUMNS: Geometry =
    Geometry { block_start: layout::COLUMN_HEADS_OFFSET as u16, shortcut_capacity: 0, is_columns: true };

/// The level of leaves.
pub(crate) const LEAF: usize = 0;

impl Geometry {
    /// Returns the geometry of the nodes of a level, given that of leaves. All interior nodes are in columns.
    #[inline(always)]
    pub(crate) fn at(self, level: usize) -> Self {
        if level == LEAF { self } else { COLUMNS }
    }

    #[inline]
    pub(crate) fn is_columns(self) -> bool {
        self.is_columns
    }

    /// Returns the form of the log entries.
    #[inline]
    pub(crate) fn entry_format(self) -> EntryFormat {
        if self.is_columns { EntryFormat::Columns } else { EntryFormat::Rows }
    }

    /// Returns the offset of the sorted block: the end of the bytes that a search reads first.
    #[inline]
    pub(crate) fn block_start(self) -> usize {
        usize::from(self.block_start)
    }

    pub(crate) fn shortcut_capacity(self) -> usize {
        usize::from(self.shortcut_capacity)
    }

    /// Returns the offset of the head of shortcut `index`.
    pub(crate) fn shortcut_offset(self, index: usize) -> usize {
        debug_assert!(!self.is_columns);
        layout::node_header::SIZE + 8 * index
    }

    /// Returns the offset of the field with the start of segment `index`.
    pub(crate) fn segment_field_offset(self, index: usize) -> usize {
        self.shortcut_offset(self.shortcut_capacity()) + 2 * index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(segment_bytes_min: usize, shortcut_block_bytes: usize) -> NodeLayout {
        NodeLayout::Rows(RowShape { segment_bytes_min, shortcut_block_bytes })
    }

    #[test]
    fn default_shapes_have_the_papers_limits() {
        for layout in [NodeLayout::Columns, NodeLayout::Rows(RowShape::default())] {
            let shape = Shape { layout, ..Shape::default() };
            shape.check().unwrap();
            assert_eq!(shape.key_bytes_max(), 460);
            assert_eq!(shape.inline_value_bytes_max(), 469);
        }
        let shape = Shape { layout: NodeLayout::Rows(RowShape::default()), ..Shape::default() };
        assert_eq!(shape.geometry().block_start(), 512);
        assert_eq!(shape.geometry().shortcut_capacity(), 44);
        assert_eq!(Shape::default().geometry().block_start(), 192);
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
        assert!(with(|s| s.layout = rows(128, 64)));
        assert!(with(|s| s.layout = rows(128, 4096)));
        assert!(!with(|s| s.layout = rows(128, 4160)));
        assert!(!with(|s| s.layout = rows(128, 0)));
        assert!(!with(|s| s.layout = rows(128, 100)));
        assert!(with(|s| s.log_threshold_bytes = 0));
        assert!(with(|s| s.log_threshold_bytes = 4096));
        assert!(!with(|s| s.log_threshold_bytes = 4097));
        assert!(with(|s| s.version_delta_max = VERSION_SLACK + 1));
        assert!(!with(|s| s.version_delta_max = VERSION_SLACK));
        assert!(!with(|s| s.version_delta_max = 1 << 31));
        assert!(with(|s| s.version_delta_max = (1 << 31) - 1));
    }

    #[test]
    fn every_allowed_shape_holds_a_node_of_longest_keys() {
        for node_bytes in [1024_usize, 2048, 4096, 8192, 16384] {
            let blocks = (64..=node_bytes / 2).step_by(64);
            let layouts = blocks.map(|block| rows(128, block)).chain([NodeLayout::Columns]);
            for layout in layouts {
                let shape = Shape { node_bytes, layout, ..Shape::default() };
                shape.check().unwrap();
                let (key, value) = (shape.key_bytes_max(), shape.inline_value_bytes_max());
                assert!(value > honeycomb_layout::value_reference::SIZE, "{shape:?}");
                // In columns an item has a head, an offset or a child, a word, and up to three bytes of
                // padding; the children begin at a line.
                let columns = 8 + 8 + 4 + 3;
                let [leaf, parent] = [LEAF, LEAF + 1].map(|level| shape.block_bytes(level));
                assert!(64 + 4 + 2 * key + 2 * (key + columns) <= leaf.min(parent) + 64, "{shape:?}");
                assert!(4 + 2 * key + (columns + key + value) <= leaf, "{shape:?}");
            }
        }
    }
}
