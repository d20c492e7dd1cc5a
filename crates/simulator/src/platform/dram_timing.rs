//! Times of a DDR4 channel, under the names of the standard (JESD79-4) without their `t`.

use super::Picoseconds;

/// Times between commands of a channel, in cycles of its clock, rounded up as a controller does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DramTiming {
    /// Length of a cycle (tCK), in picoseconds.
    pub ck: Picoseconds,
    /// Cycles that a line occupies the data bus, and least cycles between two lines (tCCD_S): a burst of
    /// eight transfers of 64 bits, two in a cycle.
    pub burst: u64,
    /// Cycles between two lines of one bank group.
    pub ccd_l: u64,
    /// Cycles from a read to its data.
    pub cl: u64,
    /// Cycles from a write to its data.
    pub cwl: u64,
    /// Cycles from the activation of a row to a read or write of it.
    pub rcd: u64,
    /// Cycles from the precharge of a bank to its next activation.
    pub rp: u64,
    /// Least cycles from the activation of a row to its precharge.
    pub ras: u64,
    /// Cycles between activations in different bank groups.
    pub rrd_s: u64,
    /// Cycles between activations in one bank group.
    pub rrd_l: u64,
    /// Cycles in which at most four rows are activated.
    pub faw: u64,
    /// Cycles from a read to the precharge of its bank.
    pub rtp: u64,
    /// Cycles from the data of a write to the precharge of its bank.
    pub wr: u64,
    /// Cycles from the data of a write to a read in another bank group.
    pub wtr_s: u64,
    /// Cycles from the data of a write to a read in the same bank group.
    pub wtr_l: u64,
    /// Cycles of a refresh, during which no bank has an open row.
    pub rfc: u64,
    /// Cycles between two refreshes.
    pub refi: u64,
}

impl DramTiming {
    /// DDR4-2133P, 17.06 GB/s: components of 8 Gbit, 8 bits wide.
    pub const DDR4_2133: Self = Self {
        ck: 938,
        burst: 4,
        ccd_l: 6,
        cl: 15,
        cwl: 11,
        rcd: 15,
        rp: 15,
        ras: 36,
        rrd_s: 4,
        rrd_l: 6,
        faw: 23,
        rtp: 8,
        wr: 16,
        wtr_s: 3,
        wtr_l: 8,
        rfc: 374,
        refi: 8_320,
    };

    /// DDR4-2133P with a data bus of 16 bits, 4.3 GB/s: a line takes four bursts.
    pub const DDR4_2133_X16: Self = Self { burst: 16, ccd_l: 24, ..Self::DDR4_2133 };

    /// DDR4-3200AA, 25.6 GB/s: the same components at a higher clock.
    pub const DDR4_3200: Self = Self {
        ck: 625,
        burst: 4,
        ccd_l: 8,
        cl: 22,
        cwl: 16,
        rcd: 22,
        rp: 22,
        ras: 52,
        rrd_s: 4,
        rrd_l: 8,
        faw: 34,
        rtp: 12,
        wr: 24,
        wtr_s: 4,
        wtr_l: 12,
        rfc: 560,
        refi: 12_480,
    };

    /// A terabyte a second: commands follow each other without any time between them.
    pub const IDEAL: Self = Self {
        ck: 64,
        burst: 1,
        ccd_l: 1,
        cl: 0,
        cwl: 0,
        rcd: 0,
        rp: 0,
        ras: 0,
        rrd_s: 0,
        rrd_l: 0,
        faw: 0,
        rtp: 0,
        wr: 0,
        wtr_s: 0,
        wtr_l: 0,
        rfc: 0,
        refi: u64::MAX,
    };

    /// Returns the cycles from a read to a write: its data follow those of the read after two idle cycles.
    pub(super) fn read_to_write(&self) -> u64 {
        self.cl + self.burst + 2 - self.cwl
    }
}
