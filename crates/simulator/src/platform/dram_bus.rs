//! The times between commands to different banks of a DRAM channel: they share the data bus and the current
//! that activations take.

use super::dram_place::GROUPS;
use super::dram_timing::DramTiming;

/// The times from which a channel accepts commands, as far as they depend on commands to all of its banks.
/// All times are cycles of the channel.
#[derive(Debug, Clone, Default)]
pub(super) struct Bus {
    activations: Commands,
    /// For each of the last four activations, the end of the window in which it counts.
    windows: [u64; 4],
    /// The oldest of these windows.
    oldest: usize,
    reads: Commands,
    writes: Commands,
}

/// The times from which a kind of command is accepted.
#[derive(Debug, Clone, Default)]
struct Commands {
    in_any_group: u64,
    in_group: [u64; GROUPS],
}

impl Commands {
    fn from(&self, group: usize) -> u64 {
        self.in_any_group.max(self.in_group[group])
    }

    /// Delays commands in any group, and those in one group.
    fn delay(&mut self, any: u64, group: usize, same: u64) {
        self.in_any_group = self.in_any_group.max(any);
        self.in_group[group] = self.in_group[group].max(same);
    }
}

impl Bus {
    /// Returns the time from which a group accepts an activation.
    pub(super) fn activate_at(&self, group: usize) -> u64 {
        self.activations.from(group).max(self.windows[self.oldest])
    }

    /// Returns the time from which a group accepts a read or a write.
    pub(super) fn transfer_at(&self, is_write: bool, group: usize) -> u64 {
        if is_write { self.writes.from(group) } else { self.reads.from(group) }
    }

    pub(super) fn activate(&mut self, group: usize, now: u64, timing: &DramTiming) {
        self.activations.delay(now + timing.rrd_s, group, now + timing.rrd_l);
        self.windows[self.oldest] = now + timing.faw;
        self.oldest = (self.oldest + 1) % self.windows.len();
    }

    pub(super) fn transfer(&mut self, is_write: bool, group: usize, now: u64, timing: &DramTiming) {
        let (next, same) = (now + timing.burst, now + timing.ccd_l);
        if is_write {
            let written = now + timing.cwl + timing.burst;
            self.writes.delay(next, group, same);
            self.reads.delay(written + timing.wtr_s, group, written + timing.wtr_l);
        } else {
            let turned = now + timing.read_to_write();
            self.reads.delay(next, group, same);
            self.writes.delay(turned, group, turned);
        }
    }
}
