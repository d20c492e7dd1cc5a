//! The command `honeycomb-simulate`.

mod report;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use honeycomb_simulator::Simulator;
use honeycomb_simulator::measure::{Observed, Workload, measure};
use honeycomb_simulator::picture::svg;
use honeycomb_simulator::platform::Platform;
use report::Report;

/// Simulate the accelerator in SystemVerilog: gets or scans of random pairs of 16 + 16 bytes
#[derive(Parser)]
#[command(name = "honeycomb-simulate", version)]
struct Arguments {
    /// The machine around it: paper, gen5 or ideal
    #[arg(long, default_value = "paper", value_parser = |name: &str| Platform::named(name))]
    platform: Platform,
    /// Pairs in the tree
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pairs: u64,
    /// Bytes of a node: smaller ones make a higher tree
    #[arg(long, default_value_t = 8192)]
    node_bytes: usize,
    /// Requests before those that are measured
    #[arg(long, default_value_t = 1_000)]
    warm_up: u64,
    /// Requests
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    requests: u64,
    /// Pairs of a scan; without it, gets
    #[arg(long)]
    scan: Option<usize>,
    /// Requests in flight
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u16).range(1..=128))]
    in_flight: u16,
    /// What is random follows from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep no interior nodes in on-board memory
    #[arg(long)]
    no_cache: bool,
    /// Read all that is kept there from there, however much host memory has to do
    #[arg(long)]
    no_balance: bool,
    /// Do not keep the root on chip
    #[arg(long)]
    no_root_on_chip: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show the life of this request, counted from 0, event by event
    #[arg(long, value_name = "REQUEST")]
    explain: Option<u64>,
    /// Draw that life, too, as SVG
    #[arg(long, value_name = "FILE", requires = "explain")]
    picture: Option<PathBuf>,
    /// Write a waveform as FST; needs a build with --features trace
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { platform, pairs, node_bytes, warm_up, requests, scan, in_flight, seed, .. } = arguments;
    let simulator = Simulator {
        platform,
        seed,
        in_flight: in_flight.into(),
        cache: !arguments.no_cache,
        balance: !arguments.no_balance,
        root_on_chip: !arguments.no_root_on_chip,
        ..Simulator::default()
    };
    let workload = Workload { pairs, node_bytes, warm_up, requests, scan_pairs: scan, seed };
    let begun = Instant::now();
    let observed = Observed { explained: arguments.explain, waveform: arguments.trace };
    let measured = measure(&simulator, &workload, &observed)?;
    let report = Report::new(&simulator, &measured);
    if arguments.json {
        println!("{}", serde_json::json!(report));
    } else {
        print!("{report}");
        let (cycles, seconds) = (measured.cycles, begun.elapsed().as_secs_f64());
        println!("simulated     {cycles:8} cycles in {seconds:.1} s, loading and mappings included");
    }
    let Some(life) = &measured.life else { return Ok(()) };
    if !arguments.json {
        print!("\n{life}");
    }
    if let Some(path) = arguments.picture {
        let written = fs::write(&path, svg(life));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}
