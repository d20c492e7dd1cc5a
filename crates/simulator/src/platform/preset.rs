//! The machines that the figures show.

use super::{DramTiming, Link, OnBoard, Picoseconds, Quantiles};

/// A machine around the accelerator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platform {
    /// Its name on the command line.
    pub name: &'static str,
    /// Length of a cycle of the accelerator.
    pub cycle: Picoseconds,
    /// The links to host memory.
    pub link: Link,
    /// On-board memory.
    pub on_board: OnBoard,
}

/// The error for an unknown platform name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown platform {name}; expected paper, narrow, gen5 or ideal")]
pub struct UnknownPreset {
    /// The unknown name.
    pub name: String,
}

/// The latency that KV-Direct measured, in picoseconds by thousandths. The largest value, 1364 ns, is the
/// maximum.
const MEASURED: Quantiles = Quantiles(&[
    (0, 728_000),
    (10, 744_000),
    (50, 776_000),
    (100, 832_000),
    (250, 892_000),
    (500, 968_000),
    (750, 1_036_000),
    (900, 1_108_000),
    (950, 1_156_000),
    (990, 1_232_000),
    (1000, 1_364_000),
]);

impl Platform {
    /// The platform of the paper: 220 MHz, two PCIe Gen3 x8, two channels of DDR4-2133 (Honeycomb, section
    /// 5). The links transfer 13.0 GB/s in packets of 256 bytes, as the paper measured. A line in a closed
    /// row takes 120 ns.
    pub const PAPER: Self = Self {
        name: "paper",
        cycle: 4_545,
        link: Link {
            ports: 2,
            tags: 64,
            bandwidth: 7_160_000_000,
            overhead_bytes: 26,
            packet_bytes_max: 256,
            request_bytes_max: 512,
            latency: MEASURED,
        },
        on_board: OnBoard { channels: 2, timing: DramTiming::DDR4_2133, latency: 88_000 },
    };

    /// The platform of the paper with channels of 16 bits. They have 8.5 GB/s together, less than the links.
    pub const NARROW: Self = Self {
        name: "narrow",
        on_board: OnBoard { timing: DramTiming::DDR4_2133_X16, ..Self::PAPER.on_board },
        ..Self::PAPER
    };

    /// A current device: 250 MHz, one PCIe Gen5 x16 with 768 tags and two thirds of the latency.
    pub const GEN5: Self = Self {
        name: "gen5",
        cycle: 4_000,
        link: Link {
            ports: 1,
            tags: 768,
            bandwidth: 61_600_000_000,
            latency: Quantiles(&[(0, 480_000), (500, 640_000), (900, 740_000), (1000, 900_000)]),
            ..Self::PAPER.link
        },
        on_board: OnBoard { channels: 4, timing: DramTiming::DDR4_3200, ..Self::PAPER.on_board },
    };

    /// Memory that responds in the next cycle, which shows the limit of the accelerator itself.
    pub const IDEAL: Self = Self {
        name: "ideal",
        cycle: 4_545,
        link: Link {
            ports: 1,
            tags: 4_096,
            bandwidth: 1_000_000_000_000,
            latency: Quantiles(&[(0, 1_000), (1000, 1_000)]),
            ..Self::PAPER.link
        },
        on_board: OnBoard { channels: 1, timing: DramTiming::IDEAL, latency: 1_000 },
    };

    /// Returns the platform with a name.
    ///
    /// # Errors
    /// [`UnknownPreset`] lists the valid names.
    pub fn named(name: &str) -> Result<Self, UnknownPreset> {
        let presets = [Self::PAPER, Self::NARROW, Self::GEN5, Self::IDEAL];
        presets
            .into_iter()
            .find(|preset| preset.name == name)
            .ok_or_else(|| UnknownPreset { name: name.into() })
    }

    /// Returns the clock frequency in Hz.
    #[must_use]
    pub fn cycles_a_second(&self) -> f64 {
        1e12 / self.cycle as f64
    }
}
