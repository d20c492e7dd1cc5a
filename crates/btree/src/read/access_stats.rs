//! Counts the memory accesses of searches: nodes, bytes and cache lines, by level and by part of a node. Only
//! readers that request it count.

use std::ops::Range;

use honeycomb_memory::LINE_BYTES;
use honeycomb_memory::sync::{AtomicU64, Ordering};

/// Levels with separate counts. Higher levels count as the highest of them.
const LEVELS: usize = 8;

/// Counters of the accesses of searches by several readers. They exclude the bytes that scans read after the
/// first item.
#[derive(Debug, Default)]
pub struct AccessStats {
    levels: [LevelCounters; LEVELS],
    log_blocks_skipped: AtomicU64,
}

#[derive(Debug, Default)]
struct LevelCounters {
    nodes: AtomicU64,
    blocks: [PartCounters; PARTS],
}

#[derive(Debug, Default)]
struct PartCounters {
    bytes: AtomicU64,
    lines: AtomicU64,
}

/// A part of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum NodePart {
    /// Header and samples.
    Header,
    /// A group of heads, with its children or the offsets of its items.
    Columns,
    /// The item of the key.
    Items,
    Log,
}

const PARTS: usize = NodePart::Log as usize + 1;

/// A snapshot of [`AccessStats`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessCounts {
    /// One element for each level that was reached, leaves first.
    pub levels: Vec<LevelCounts>,
    /// Log blocks that gets skipped because no fingerprint matched.
    pub log_blocks_skipped: u64,
}

/// The accesses on one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelCounts {
    /// Nodes searched.
    pub nodes: u64,
    /// Accesses to headers and to the samples after them.
    pub header: BlockCounts,
    /// Accesses to heads, offsets and children.
    pub columns: BlockCounts,
    /// Accesses to items.
    pub items: BlockCounts,
    /// Accesses to log blocks.
    pub log: BlockCounts,
}

/// The accesses to one part of the nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockCounts {
    /// Bytes.
    pub bytes: u64,
    /// Cache lines of 64 bytes.
    pub lines: u64,
}

impl LevelCounts {
    /// Returns the average number of bytes that a search reads in one node.
    #[must_use]
    pub fn bytes_per_node(&self) -> f64 {
        let parts = [self.header, self.columns, self.items, self.log];
        parts.iter().map(|part| part.bytes).sum::<u64>() as f64 / self.nodes.max(1) as f64
    }
}

impl AccessStats {
    /// Returns a snapshot of the counters.
    #[must_use]
    pub fn counts(&self) -> AccessCounts {
        let levels: Vec<LevelCounts> = self.levels.iter().map(LevelCounters::counts).collect();
        let reached = levels.iter().rposition(|level| level.nodes > 0).map_or(0, |highest| highest + 1);
        let log_blocks_skipped = self.log_blocks_skipped.load(Ordering::Relaxed);
        AccessCounts { levels: levels[..reached].to_vec(), log_blocks_skipped }
    }

    /// Counts a search in a node.
    pub(crate) fn node(&self, level: usize) {
        self.levels[level.min(LEVELS - 1)].nodes.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a read of the bytes in a range of offsets.
    pub(crate) fn bytes(&self, level: usize, part: NodePart, range: Range<usize>) {
        if !range.is_empty() {
            let block = &self.levels[level.min(LEVELS - 1)].blocks[part as usize];
            let lines = range.end.div_ceil(LINE_BYTES) - range.start / LINE_BYTES;
            block.bytes.fetch_add(range.len() as u64, Ordering::Relaxed);
            block.lines.fetch_add(lines as u64, Ordering::Relaxed);
        }
    }

    /// Counts a log block that a get skipped because no fingerprint matched.
    pub(crate) fn log_skipped(&self) {
        self.log_blocks_skipped.fetch_add(1, Ordering::Relaxed);
    }
}

impl LevelCounters {
    fn counts(&self) -> LevelCounts {
        let [header, columns, items, log] = std::array::from_fn(|part| BlockCounts {
            bytes: self.blocks[part].bytes.load(Ordering::Relaxed),
            lines: self.blocks[part].lines.load(Ordering::Relaxed),
        });
        LevelCounts { nodes: self.nodes.load(Ordering::Relaxed), header, columns, items, log }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_byte_range() {
        let stats = AccessStats::default();
        assert!(stats.counts().levels.is_empty());
        stats.node(1);
        stats.bytes(1, NodePart::Items, 63..65);
        stats.bytes(1, NodePart::Items, 128..192);
        stats.bytes(1, NodePart::Log, 200..200);
        stats.node(LEVELS + 3);
        let counts = stats.counts();
        assert_eq!(counts.levels.len(), LEVELS);
        let level = counts.levels[1];
        assert_eq!((level.nodes, level.items), (1, BlockCounts { bytes: 66, lines: 3 }));
        assert_eq!(level.log, BlockCounts::default());
        assert!((level.bytes_per_node() - 66.0).abs() < 1e-9);
    }
}
