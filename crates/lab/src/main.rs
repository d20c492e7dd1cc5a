//! The command `honeycomb-bench`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use honeycomb_lab::adapters::{Contents, Peer};
use honeycomb_lab::compare::{self, compare};
use honeycomb_lab::durability::{self, DurabilityArguments};
use honeycomb_lab::figures::FIGURES;
use honeycomb_lab::leaf_forms::{self, LeafFormsArguments};
use honeycomb_lab::limits::{self, Limits};
use honeycomb_lab::map::Failure;
use honeycomb_lab::memory::available_bytes;
use honeycomb_lab::open_loop::Disturbance;
use honeycomb_lab::output::print;
use honeycomb_lab::plan::Plan;
use honeycomb_lab::report::Report;
use honeycomb_lab::unordered::{self, UnorderedArguments};
use honeycomb_lab::{figure_text, figures, runner, table, worker};
use honeycomb_workload::{Distribution, Sizes, Workload};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Compare Honeycomb with other ordered maps
#[derive(Parser)]
#[command(name = "honeycomb-bench", version, after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Compare two bench.json files and print the changes beyond noise
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"])]
    compare: Vec<PathBuf>,
    /// Print all changes as JSON
    #[arg(long, requires = "compare")]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  honeycomb-bench run --out out/bench              everything: 20 million pairs, about ten minutes
  honeycomb-bench run --quick                      a first impression: 1 million pairs, half a minute
  honeycomb-bench run --peers honeycomb,masstree --workloads ycsb-a,scan4,cloud80 --threads 1
  honeycomb-bench run --peers honeycomb,honeycomb:log=1024,honeycomb:node=4096:mvcc=off --access-stats
  honeycomb-bench run --pairs 1000000,16000000 --sizes 8+8,16+16,mixed --batches 1,16,64
  honeycomb-bench run --workloads get --open-loads 10,50,70,90 --disturbances none,apart
  honeycomb-bench figure all --quick               all figures, and the page that shows them
  honeycomb-bench figure ablations                 the effect of each layout option
  perf record -g honeycomb-bench run --peers honeycomb --workloads get --seconds-per-slice 5
  honeycomb-bench --compare before/bench.json after/bench.json";

#[derive(Subcommand)]
enum Command {
    /// Measure workloads
    Run(Box<RunArguments>),
    /// Measure figures of the paper, or our own
    Figure(Box<FigureArguments>),
    /// Compare the unordered index with other hash maps
    Unordered(UnorderedArguments),
    /// Measure what a log, checkpoints and readers of changes cost
    Durability(DurabilityArguments),
    /// Compare forms of the sorted block of a leaf
    LeafForms(LeafFormsArguments),
    /// Run the worker process of one map
    #[command(hide = true)]
    Worker { peer: Peer, pairs: u64, sizes: Sizes },
    /// Measure the limits of the machine
    #[command(hide = true)]
    Limits { request: limits::Request },
}

/// The size of a measurement.
#[derive(Args)]
struct Scale {
    /// Run for half a minute: fewer pairs, fewer repetitions and shorter slices by default
    #[arg(long, conflicts_with = "smoke")]
    quick: bool,
    /// Run for a few seconds, to check that everything works; the numbers mean nothing
    #[arg(long)]
    smoke: bool,
    /// Pairs to load [default: 20000000]
    #[arg(long, value_delimiter = ',')]
    pairs: Vec<u64>,
    /// Bytes of keys, 8 to 460, and values, 8 to 16384, such as 16+16; a kind of keys, paths+16; or mixed
    #[arg(long, value_delimiter = ',', default_values_t = [Sizes::DEFAULT])]
    sizes: Vec<Sizes>,
    /// Maps to measure; options of Honeycomb are part of its name, such as honeycomb:log=1024:mvcc=off
    /// (docs/design/benchmark.md lists them)
    #[arg(long, value_delimiter = ',', default_values_t = Peer::DEFAULT)]
    peers: Vec<Peer>,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<usize>,
    /// Operations of a thread that execute together
    #[arg(long, value_delimiter = ',', default_values_t = [1])]
    batches: Vec<usize>,
    /// Number of measurements of each combination [default: 5]
    #[arg(long)]
    repetitions: Option<u64>,
    /// Seconds to measure a map before the next one [default: 0.5]
    #[arg(long)]
    seconds_per_slice: Option<f64>,
    /// Seed of all random values
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Memory for all loaded maps, in GiB; if they need more, they are measured in groups
    #[arg(long, default_value_t = 18.0)]
    memory: f64,
    /// Revision of the sources, for the report
    #[arg(long, env = "HONEYCOMB_REVISION")]
    revision: Option<String>,
}

#[derive(Args)]
struct RunArguments {
    #[command(flatten)]
    scale: Scale,
    /// Workloads in addition to the load: get, update, insert, hot-leaf, ycsb-a to ycsb-f, scanN (scans of N
    /// pairs), cloudN (N % scans)
    #[arg(long, value_delimiter = ',', default_values_t = Workload::DEFAULT)]
    workloads: Vec<Workload>,
    /// Distributions of the pairs that operations choose
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = Distribution::DEFAULT)]
    distributions: Vec<Distribution>,
    /// Loads of open loops, in per cent of the maximum rate; latencies count from the due time
    #[arg(long, value_delimiter = ',')]
    open_loads: Vec<u32>,
    /// Disturbances of open loops: one more thread scans 10,000 pairs at a time, and another one inserts
    #[arg(long, value_delimiter = ',', value_enum, requires = "open_loads")]
    #[arg(default_values_t = [Disturbance::None])]
    disturbances: Vec<Disturbance>,
    /// Count the bytes and lines that searches in Honeycomb access, with at most a million pairs
    #[arg(long)]
    access_stats: bool,
    /// Folder for bench.json and bench.csv
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct FigureArguments {
    /// 10 to 17 of the paper, `ablations` and `latency` of our own, `all`, or `none` to write only the page
    name: String,
    #[command(flatten)]
    scale: Scale,
    /// Folder of the measurements and of figures.md, the page that shows them
    #[arg(long, default_value = "out/figures")]
    out: PathBuf,
}

fn main() -> ExitCode {
    let Arguments { command, compare, json } = Arguments::parse();
    let result = match command {
        Some(Command::Run(arguments)) => run(*arguments),
        Some(Command::Figure(arguments)) => figure(*arguments),
        Some(Command::Unordered(arguments)) => unordered::run(&arguments).and_then(|text| print(&text)),
        Some(Command::Durability(arguments)) => durability::run(&arguments).and_then(|text| print(&text)),
        Some(Command::LeafForms(arguments)) => leaf_forms::run(&arguments).and_then(|text| print(&text)),
        Some(Command::Limits { request }) => print_limits(&request),
        Some(Command::Worker { peer, pairs, sizes }) => worker::serve(peer, Contents { pairs, sizes }),
        None => compare_files(&compare, json),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("honeycomb-bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: RunArguments) -> Result<(), Failure> {
    let RunArguments { scale, workloads, distributions, open_loads, disturbances, access_stats, out, json } =
        arguments;
    let plan = Plan {
        workloads: unique(workloads),
        distributions: unique(distributions),
        open_loads: unique(open_loads),
        disturbances: unique(disturbances),
        access_stats,
        ..scale.plan()?
    };
    let report = runner::run(plan, memory_bytes(scale.memory)?, scale.revision)?;
    if let Some(folder) = &out {
        report.write(folder)?;
    }
    print(&if json { report.json()? + "\n" } else { table::render(&report) })?;
    all_ran(&report)
}

fn figure(arguments: FigureArguments) -> Result<(), Failure> {
    let FigureArguments { name, scale, out } = arguments;
    let mut failed = Vec::new();
    for figure in figure_text::select(&FIGURES, &name, |figure| figure.text)? {
        let Some(plan) = figure.plan(&scale.plan()?)? else {
            print(&format!("{}: {}\n", figure.text.heading(), figure.text.reason))?;
            continue;
        };
        let report = runner::run(plan, memory_bytes(scale.memory)?, scale.revision.clone())?;
        figure.write(&report, &out)?;
        print(&format!("{}\n{}\n", figure.text.heading(), table::render(&report)))?;
        failed.extend(all_ran(&report).err());
    }
    std::fs::create_dir_all(&out)?;
    std::fs::write(out.join("figures.md"), figures::page(&out)?)?;
    failed.pop().map_or(Ok(()), Err)
}

fn all_ran(report: &Report) -> Result<(), Failure> {
    if report.failures.is_empty() { Ok(()) } else { Err("some maps failed".into()) }
}

impl Scale {
    /// Returns a plan without workloads.
    fn plan(&self) -> Result<Plan, Failure> {
        let (pairs, repetitions, seconds) = match self {
            Scale { smoke: true, .. } => (20_000, 1, 0.002),
            Scale { quick: true, .. } => (1_000_000, 3, 0.05),
            _ => (20_000_000, 5, 0.5),
        };
        Ok(Plan {
            pairs: if self.pairs.is_empty() { vec![pairs] } else { unique(self.pairs.clone()) },
            sizes: unique(self.sizes.clone()),
            peers: unique(self.peers.clone()),
            workloads: Vec::new(),
            distributions: Vec::new(),
            threads: unique(self.threads.clone()),
            batches: unique(self.batches.clone()),
            open_loads: Vec::new(),
            disturbances: vec![Disturbance::None],
            access_stats: false,
            repetitions: self.repetitions.unwrap_or(repetitions),
            slice: Duration::try_from_secs_f64(self.seconds_per_slice.unwrap_or(seconds))
                .map_err(|error| format!("--seconds-per-slice: {error}"))?,
            seed: self.seed,
        })
    }
}

/// Removes duplicates.
fn unique<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values.dedup();
    values
}

/// Returns the allowed memory, at most what the machine has available.
fn memory_bytes(allowed_gib: f64) -> Result<u64, Failure> {
    let available = available_bytes()? / 10 * 9;
    Ok(available.min((allowed_gib * f64::from(1 << 30)) as u64))
}

fn compare_files(files: &[PathBuf], json: bool) -> Result<(), Failure> {
    let [before, after] = files else { return Err("--compare requires two files".into()) };
    let changes = compare(&Report::read(before)?, &Report::read(after)?);
    if json {
        print(&(serde_json::to_string_pretty(&changes)? + "\n"))
    } else {
        print(&compare::render(&changes))
    }
}

fn print_limits(request: &limits::Request) -> Result<(), Failure> {
    print(&serde_json::to_string(&Limits::measure(request)?)?)
}
