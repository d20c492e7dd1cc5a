//! The arguments of `honeycomb-simulation`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use honeycomb_simulation::figures::Scale;
use honeycomb_simulation::measure::{Dataset, Recording, Traffic};
use honeycomb_simulator::platform::Platform;
use honeycomb_simulator::{Balance, REQUEST_SLOTS, Simulator};
use honeycomb_workload::{Distribution, Sizes, Workload};

/// Simulate the accelerator in SystemVerilog: run a workload on a tree, with writes on the CPU
#[derive(Parser)]
#[command(name = "honeycomb-simulation", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure the figures that docs/results shows in rtl-figures.md
    Figures(FigureArguments),
}

#[derive(Args)]
pub(crate) struct FigureArguments {
    /// Name of a figure, `all`, or `none` to write only the page
    #[arg(default_value = "all")]
    pub(crate) name: String,
    /// Folder of the measurements and of rtl-figures.md, the page that shows them
    #[arg(long, default_value = "out/rtl-figures")]
    pub(crate) out: PathBuf,
    /// Run for a few seconds, to check that everything works; the numbers mean nothing
    #[arg(long)]
    smoke: bool,
}

impl FigureArguments {
    pub(crate) fn scale(&self) -> Scale {
        if self.smoke { Scale::Smoke } else { Scale::Full }
    }
}

#[derive(Args)]
pub(crate) struct RunArguments {
    /// Machine around the accelerator: paper, narrow, gen5 or ideal
    #[arg(long, default_value = "paper", value_parser = |name: &str| Platform::named(name))]
    platform: Platform,
    /// Pairs in the tree
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pairs: u64,
    /// Bytes of keys, 8 to 460, and values, 8 to 16384, such as 16+16; a kind of keys, paths+16; or mixed
    #[arg(long, default_value_t = Sizes::DEFAULT)]
    sizes: Sizes,
    /// Bytes of a node; smaller nodes make a higher tree
    #[arg(long, default_value_t = 8192)]
    node_bytes: usize,
    /// Most bytes of a log block
    #[arg(long, default_value_t = Dataset::default().log_bytes)]
    log_bytes: usize,
    /// Write without versions
    #[arg(long)]
    no_mvcc: bool,
    /// get, update, insert, hot-leaf, ycsb-a to ycsb-f, scanN (scans of N pairs), cloudN (N % scans)
    #[arg(long, default_value_t = Workload::Get)]
    workload: Workload,
    /// Distribution of the pairs that operations choose
    #[arg(long, value_enum, default_value_t = Distribution::Uniform)]
    distribution: Distribution,
    /// Operations that end before the measurement starts
    #[arg(long, default_value_t = 1_000)]
    warm_up: u64,
    /// Operations that end during the measurement
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    operations: u64,
    /// Operations in flight
    #[arg(long, default_value_t = 128)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=REQUEST_SLOTS as i64))]
    in_flight: u16,
    /// CPU cores that execute writes
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    writers: u16,
    /// Nanoseconds that a write occupies a core
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    write_nanoseconds: u64,
    /// Seed of all random values
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Do not cache interior nodes in on-board memory
    #[arg(long)]
    no_cache: bool,
    /// How often the capacity of the cache is halved
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=10))]
    cache_halvings: u8,
    /// Read all cached nodes from on-board memory, whatever its backlog
    #[arg(long)]
    no_balance: bool,
    /// Lines in flight from on-board memory beyond which it has a backlog
    #[arg(long, value_name = "LINES", conflicts_with = "no_balance")]
    #[arg(default_value_t = Balance::default().on_board_lines)]
    #[arg(value_parser = clap::value_parser!(u16).range(..=i64::from(Balance::LINES_MAX)))]
    on_board_lines: u16,
    /// Lines in flight from host memory beyond which it has a backlog
    #[arg(long, value_name = "LINES", conflicts_with = "no_balance")]
    #[arg(default_value_t = Balance::default().host_lines)]
    #[arg(value_parser = clap::value_parser!(u16).range(..=i64::from(Balance::LINES_MAX)))]
    host_lines: u16,
    /// Levels of interior nodes on chip: 0, 1 (the root) or 2 (and its children)
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(..=2))]
    levels_on_chip: u8,
    /// Do not keep columns of leaves in on-board memory
    #[arg(long)]
    no_leaf_columns: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print all events of this operation, counted from 0 at the start of the measurement
    #[arg(long, value_name = "OPERATION")]
    explain: Option<u64>,
    /// Write the life of that operation as JSON, which `python3 -m honeycomb_plots life FILE` draws
    #[arg(long, value_name = "FILE", requires = "explain")]
    pub(crate) life: Option<PathBuf>,
    /// Write a waveform as FST; requires a build with --features trace
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

impl RunArguments {
    pub(crate) fn simulator(&self) -> Simulator {
        let balance = Balance { on_board_lines: self.on_board_lines, host_lines: self.host_lines };
        Simulator {
            platform: self.platform,
            seed: self.seed,
            cache: !self.no_cache,
            cache_halvings: self.cache_halvings,
            balance: (!self.no_balance).then_some(balance),
            levels_on_chip: self.levels_on_chip,
            leaf_columns: !self.no_leaf_columns,
            ..Simulator::default()
        }
    }

    pub(crate) fn dataset(&self) -> Dataset {
        let Self { pairs, sizes, node_bytes, log_bytes, no_mvcc, .. } = *self;
        Dataset { pairs, sizes, node_bytes, log_bytes, mvcc: !no_mvcc }
    }

    pub(crate) fn traffic(&self) -> Traffic {
        let Self { workload, distribution, warm_up, operations, write_nanoseconds, seed, .. } = *self;
        let (in_flight, writers) = (self.in_flight.into(), self.writers.into());
        Traffic { workload, distribution, warm_up, operations, in_flight, writers, write_nanoseconds, seed }
    }

    pub(crate) fn recording(&self) -> Recording {
        Recording { explained: self.explain, waveform: self.trace.clone() }
    }
}
