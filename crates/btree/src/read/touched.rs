//! What looking for keys touches of memory: nodes, bytes and cache lines, by level and block. Counted for
//! those who ask for it.

use honeycomb_memory::LINE_BYTES;
use honeycomb_memory::sync::{AtomicU64, Ordering};

/// Levels that are told apart; those above count as the highest.
const LEVELS: usize = 8;

/// Counts of what the readers that were given it have touched when they looked for keys. What scans read
/// beyond the first segment is not in it.
#[derive(Debug, Default)]
pub struct Touched {
    levels: [Level; LEVELS],
    log_blocks_skipped: AtomicU64,
}

#[derive(Debug, Default)]
struct Level {
    nodes: AtomicU64,
    blocks: [Block; PARTS],
}

#[derive(Debug, Default)]
struct Block {
    bytes: AtomicU64,
    lines: AtomicU64,
}

/// A part of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum NodePart {
    /// Header and shortcut block.
    Shortcuts,
    TagDirectory,
    /// Segments of the sorted block, or items of it.
    Segments,
    Log,
}

const PARTS: usize = NodePart::Log as usize + 1;

/// What was touched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TouchedCounts {
    /// By level: leaves first, then the parents of leaves, and so on up to the highest level that was
    /// reached.
    pub levels: Vec<LevelCounts>,
    /// Log blocks that a get did not read, since no tag of theirs was that of the key.
    pub log_blocks_skipped: u64,
}

/// What was touched on one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelCounts {
    /// Nodes that a key was looked for in.
    pub nodes: u64,
    /// Of headers and shortcut blocks.
    pub shortcuts: BlockCounts,
    /// Of tag directories.
    pub tag_directory: BlockCounts,
    /// Of sorted blocks.
    pub segments: BlockCounts,
    /// Of log blocks.
    pub log: BlockCounts,
}

/// What was touched of one kind of block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockCounts {
    /// Bytes.
    pub bytes: u64,
    /// Cache lines of 64 bytes.
    pub lines: u64,
}

impl LevelCounts {
    /// Bytes that a search in one node touches, on average.
    #[must_use]
    pub fn bytes_per_node(&self) -> f64 {
        let parts = [self.shortcuts, self.tag_directory, self.segments, self.log];
        parts.iter().map(|part| part.bytes).sum::<u64>() as f64 / self.nodes.max(1) as f64
    }
}

impl Touched {
    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> TouchedCounts {
        let levels: Vec<LevelCounts> = self.levels.iter().map(Level::counts).collect();
        let reached = levels.iter().rposition(|level| level.nodes > 0).map_or(0, |highest| highest + 1);
        let log_blocks_skipped = self.log_blocks_skipped.load(Ordering::Relaxed);
        TouchedCounts { levels: levels[..reached].to_vec(), log_blocks_skipped }
    }

    /// A key is looked for in a node.
    pub(crate) fn node(&self, level: usize) {
        self.levels[level.min(LEVELS - 1)].nodes.fetch_add(1, Ordering::Relaxed);
    }

    /// The bytes of a node from one offset to another are read.
    pub(crate) fn bytes(&self, level: usize, part: NodePart, from: usize, to: usize) {
        if from < to {
            let block = &self.levels[level.min(LEVELS - 1)].blocks[part as usize];
            block.bytes.fetch_add((to - from) as u64, Ordering::Relaxed);
            block.lines.fetch_add((to.div_ceil(LINE_BYTES) - from / LINE_BYTES) as u64, Ordering::Relaxed);
        }
    }

    /// A log block is not read, since no tag is that of the key.
    pub(crate) fn log_skipped(&self) {
        self.log_blocks_skipped.fetch_add(1, Ordering::Relaxed);
    }
}

impl Level {
    fn counts(&self) -> LevelCounts {
        let [shortcuts, tag_directory, segments, log] = std::array::from_fn(|part| BlockCounts {
            bytes: self.blocks[part].bytes.load(Ordering::Relaxed),
            lines: self.blocks[part].lines.load(Ordering::Relaxed),
        });
        LevelCounts { nodes: self.nodes.load(Ordering::Relaxed), shortcuts, tag_directory, segments, log }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_that_bytes_lie_in() {
        let touched = Touched::default();
        assert!(touched.counts().levels.is_empty());
        touched.node(1);
        touched.bytes(1, NodePart::Segments, 63, 65);
        touched.bytes(1, NodePart::Segments, 128, 192);
        touched.bytes(1, NodePart::Log, 200, 200);
        touched.node(LEVELS + 3);
        let counts = touched.counts();
        assert_eq!(counts.levels.len(), LEVELS);
        let level = counts.levels[1];
        assert_eq!((level.nodes, level.segments), (1, BlockCounts { bytes: 66, lines: 3 }));
        assert_eq!(level.log, BlockCounts::default());
        assert!((level.bytes_per_node() - 66.0).abs() < 1e-9);
    }
}
