//! What `honeycomb-simulate` can be asked for.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use honeycomb_simulator::Simulator;
use honeycomb_simulator::figures::Scale;
use honeycomb_simulator::measure::{Data, Observed, Traffic};
use honeycomb_simulator::platform::Platform;
use honeycomb_workload::{Distribution, Sizes, Workload};

/// Simulate the accelerator in SystemVerilog: a workload on a tree, with writes beside it
#[derive(Parser)]
#[command(name = "honeycomb-simulate", version, args_conflicts_with_subcommands = true)]
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
    /// Which: a name, all, or none to write only the page of what is there
    #[arg(default_value = "all")]
    pub(crate) which: String,
    /// Folder for what is measured, and for rtl-figures.md, which shows it
    #[arg(long, default_value = "out/rtl-figures")]
    pub(crate) out: PathBuf,
    /// A few seconds, only to see that everything runs: the numbers mean nothing
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
    /// The machine around it: paper, gen5 or ideal
    #[arg(long, default_value = "paper", value_parser = |name: &str| Platform::named(name))]
    platform: Platform,
    /// Pairs in the tree
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pairs: u64,
    /// Bytes of keys and values, 8 to 460 each, or `mixed`
    #[arg(long, default_value_t = Sizes::DEFAULT)]
    sizes: Sizes,
    /// Bytes of a node: smaller ones make a higher tree
    #[arg(long, default_value_t = 8192)]
    node_bytes: usize,
    /// Bytes that a log block may grow to
    #[arg(long, default_value_t = Data::default().log_bytes)]
    log_bytes: usize,
    /// Writes have no versions
    #[arg(long)]
    no_mvcc: bool,
    /// get, update, insert, hot-leaf, ycsb-a to ycsb-f, scanN of N pairs, cloudN with N % scans
    #[arg(long, default_value_t = Workload::Get)]
    workload: Workload,
    /// How pairs are chosen
    #[arg(long, value_enum, default_value_t = Distribution::Uniform)]
    distribution: Distribution,
    /// Operations before those that are measured
    #[arg(long, default_value_t = 1_000)]
    warm_up: u64,
    /// Operations
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    operations: u64,
    /// Operations in flight
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u16).range(1..=128))]
    in_flight: u16,
    /// CPU cores that write
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    writers: u16,
    /// Nanoseconds that a write keeps one
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    write_nanoseconds: u64,
    /// What is random follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep no interior nodes in on-board memory
    #[arg(long)]
    no_cache: bool,
    /// How often the number of nodes that the cache has room for is halved
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=10))]
    cache_halvings: u8,
    /// Read all that is kept there from there, however much host memory has to do
    #[arg(long)]
    no_balance: bool,
    /// Do not keep the root on chip
    #[arg(long)]
    no_root_on_chip: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the life of this operation, counted from 0, event by event
    #[arg(long, value_name = "OPERATION")]
    explain: Option<u64>,
    /// Draw that life, too, as SVG
    #[arg(long, value_name = "FILE", requires = "explain")]
    pub(crate) picture: Option<PathBuf>,
    /// Write a waveform as FST; needs a build with --features trace
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

impl RunArguments {
    pub(crate) fn simulator(&self) -> Simulator {
        Simulator {
            platform: self.platform,
            seed: self.seed,
            cache: !self.no_cache,
            cache_halvings: self.cache_halvings,
            balance: !self.no_balance,
            root_on_chip: !self.no_root_on_chip,
            ..Simulator::default()
        }
    }

    pub(crate) fn data(&self) -> Data {
        let Self { pairs, sizes, node_bytes, log_bytes, no_mvcc, .. } = *self;
        Data { pairs, sizes, node_bytes, log_bytes, mvcc: !no_mvcc }
    }

    pub(crate) fn traffic(&self) -> Traffic {
        let Self { workload, distribution, warm_up, operations, write_nanoseconds, seed, .. } = *self;
        let (in_flight, writers) = (self.in_flight.into(), self.writers.into());
        Traffic { workload, distribution, warm_up, operations, in_flight, writers, write_nanoseconds, seed }
    }

    pub(crate) fn observed(&self) -> Observed {
        Observed { explained: self.explain, waveform: self.trace.clone() }
    }
}
