//! The command `honeycomb-simulate`.

mod report;

use std::process::ExitCode;

use clap::Parser;
use honeycomb_simulator::Simulator;
use honeycomb_simulator::measure::{Workload, measure};
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
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Arguments { platform, pairs, requests, scan, in_flight, seed, .. } = arguments;
    let simulator = Simulator {
        platform,
        seed,
        in_flight: in_flight.into(),
        cache: !arguments.no_cache,
        balance: !arguments.no_balance,
        root_on_chip: !arguments.no_root_on_chip,
        ..Simulator::default()
    };
    let begun = std::time::Instant::now();
    let measured = match measure(&simulator, &Workload { pairs, requests, scan_pairs: scan, seed }) {
        Ok(measured) => measured,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let report = Report::new(&simulator, &measured);
    if arguments.json {
        println!("{}", serde_json::json!(report));
    } else {
        print!("{report}");
        let (cycles, seconds) = (measured.cycles, begun.elapsed().as_secs_f64());
        println!("simulated     {cycles:8} cycles in {seconds:.1} s, loading and mappings included");
    }
    ExitCode::SUCCESS
}
