//! A bank of DRAM: the open row, and the times from which it accepts commands.

use super::dram_timing::DramTiming;

/// A bank. All times are cycles of the channel.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bank {
    /// The open row.
    pub(super) row: Option<u64>,
    /// The bank accepts an activation from this time on, if no row is open.
    pub(super) activate_at: u64,
    /// The bank accepts reads and writes of the open row from this time on.
    pub(super) column_at: u64,
    /// The bank accepts a precharge, which closes the row, from this time on.
    pub(super) precharge_at: u64,
}

impl Bank {
    pub(super) fn activate(&mut self, row: u64, now: u64, timing: &DramTiming) {
        self.row = Some(row);
        self.column_at = now + timing.rcd;
        self.precharge_at = now + timing.ras;
    }

    pub(super) fn transfer(&mut self, is_write: bool, now: u64, timing: &DramTiming) {
        let write = timing.cwl + timing.burst + timing.wr;
        self.precharge_at = self.precharge_at.max(now + if is_write { write } else { timing.rtp });
    }

    pub(super) fn precharge(&mut self, now: u64, timing: &DramTiming) {
        self.row = None;
        self.activate_at = now + timing.rp;
    }
}
