//! Traffic of on-board memory.

use super::DramCounts;

/// Traffic of on-board memory since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OnBoardCounts {
    /// Bursts read.
    pub reads: u64,
    /// Lines read.
    pub lines_read: u64,
    /// Lines written.
    pub lines_written: u64,
    /// Commands of the channels.
    pub channels: DramCounts,
}

impl OnBoardCounts {
    /// Returns the sum of both.
    #[must_use]
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            lines_read: self.lines_read + other.lines_read,
            lines_written: self.lines_written + other.lines_written,
            channels: self.channels.with(other.channels),
        }
    }

    /// Returns the difference to earlier counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            lines_read: self.lines_read - earlier.lines_read,
            lines_written: self.lines_written - earlier.lines_written,
            channels: self.channels.since(&earlier.channels),
        }
    }
}
