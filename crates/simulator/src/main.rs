//! The command `honeycomb-simulate`.

use std::process::ExitCode;

use clap::Parser;
use honeycomb_simulator::Simulator;
use honeycomb_simulator::measure::{Measured, Workload, measure};
use honeycomb_simulator::platform::Platform;

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
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Arguments { platform, pairs, requests, scan, in_flight, seed } = arguments;
    let simulator = Simulator { platform, seed, in_flight: in_flight.into(), ..Simulator::default() };
    let begun = std::time::Instant::now();
    match measure(&simulator, &Workload { pairs, requests, scan_pairs: scan, seed }) {
        Ok(measured) => print(&platform, &measured, begun.elapsed().as_secs_f64()),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn print(platform: &Platform, measured: &Measured, seconds: f64) {
    let Measured { cycles, latencies, link, on_board, nodes, search_busy, host_stalls } = measured;
    let requests = latencies.len() as f64;
    let time = (cycles * platform.cycle) as f64;
    let nanoseconds = |cycles: u64| cycles as f64 * platform.cycle as f64 / 1e3;
    let share = |busy: u64, of: usize| 100.0 * busy as f64 / (time * of as f64);
    println!("{}: {} MHz", platform.name, (platform.cycles_a_second() / 1e6).round());
    println!("throughput    {:8.2} million requests a second", requests * 1e6 / time);
    for (name, part) in [("median", 0.5), ("99 %", 0.99)] {
        let latency = latencies[((requests - 1.0) * part) as usize];
        println!("{name:13} {latency:8} cycles, {:.0} ns", nanoseconds(latency));
    }
    println!(
        "host memory   {:8.2} reads and {:.0} bytes a request, links {:.0} % busy",
        link.reads as f64 / requests,
        link.bytes as f64 / requests,
        share(link.busy, platform.link.ports),
    );
    println!(
        "on-board      {:8.2} lines a request, channels {:.0} % busy",
        on_board.lines_read as f64 / requests,
        share(on_board.busy, platform.on_board.channels),
    );
    println!(
        "searching     {:8.2} interior nodes a request, {:.2} units busy",
        *nodes as f64 / requests,
        *search_busy as f64 / *cycles as f64,
    );
    println!(
        "host memory did not take a read in {:.0} % of cycles",
        100.0 * *host_stalls as f64 / *cycles as f64
    );
    println!("simulated     {cycles:8} cycles in {seconds:.1} s, loading and mappings included");
}
