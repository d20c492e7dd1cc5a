//! The figures of the Honeycomb paper (arXiv 2303.14259) on the CPU, and two of our own. Each states the
//! claim of the paper, the measurement that corresponds to it, and the differences.

mod ablations;
mod latency;

use std::fmt::Write;
use std::path::Path;

use honeycomb_workload::{Distribution, Workload};
use serde::Serialize;

use crate::adapters::Peer;
use crate::cores::count_threads;
use crate::figure_text::{self, FigureText, NOT_MEASURED};
use crate::map::Failure;
use crate::plan::Plan;
use crate::report::{Latency, Measurement, Report, Subject};

/// A figure. The paper prints no values with figures 10 to 17 except those that the texts quote.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Its text.
    pub text: FigureText,
    /// How it is drawn, and from which measurements.
    pub shape: Shape,
}

/// How a figure is drawn, and from which measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Bars of all maps for each workload.
    Workloads,
    /// Throughput of all maps over the number in the name of the workload.
    Numbers,
    /// Throughput of Honeycomb over the size of its log block.
    LogBlock,
    /// Throughput with and without versions over the number of threads.
    Versions,
    /// Latency over throughput.
    Latency,
    /// Throughput with one option, relative to the default.
    Ablations,
    /// Latency over load, with and without disturbances.
    Disturbances,
    /// Not measured here, because the figure concerns the accelerator.
    Elsewhere,
}

/// A store with fewer pairs fits into the processor caches, or almost.
const PAIRS_MIN: u64 = 10_000_000;
/// Most claims of the paper compare servers, of which one has an accelerator.
const IN_PROCESS: &str = "Honeycomb runs on the CPU inside one process, without network and accelerator, \
    next to the crate `masstree`. The paper compares servers, and its accelerator executes gets and scans.";
const OF_THE_RTL: &str = "This figure concerns the accelerator's memory. `honeycomb-simulation` \
    measures it; see the [results](../README.md) of the simulated accelerator.";

/// All figures.
pub const FIGURES: [Figure; 10] = [
    Figure {
        text: FigureText {
            name: "10",
            title: "YCSB",
            claim: "Throughput is 1.9 times that of eRPC-Masstree in B, C and D with uniform keys and 1.8 \
                times with Zipf or latest; up to 2.9 times in E.",
            reason: IN_PROCESS,
        },
        shape: Shape::Workloads,
    },
    Figure {
        text: FigureText {
            name: "11",
            title: "cloud storage by share of scans",
            claim: "With at least 80 % scans of 3 or 4 pairs, throughput is 2.3 times that of eRPC-Masstree \
                with uniform keys and 2.0 times with Zipf; with 50 % scans 1.2 times; with inserts alone \
                0.58 times.",
            reason: IN_PROCESS,
        },
        shape: Shape::Numbers,
    },
    Figure {
        text: FigureText {
            name: "12",
            title: "length of scans",
            claim: "With scans of 24 pairs, throughput is 4.0 times that of eRPC-Masstree.",
            reason: IN_PROCESS,
        },
        shape: Shape::Numbers,
    },
    Figure {
        text: FigureText {
            name: "13",
            title: "latency over throughput",
            claim: "The paper prints no values.",
            reason: "Our latency is the time from when an operation is due until it ends, without a network.",
        },
        shape: Shape::Latency,
    },
    Figure {
        text: FigureText {
            name: "14",
            title: "size of the log block",
            claim: "A log block of 512 bytes costs scans 8 %.",
            reason: "On the CPU each scan reads the log block from one more place in memory and merges it \
                with the sorted block. Without a log block each write rebuilds its leaf.",
        },
        shape: Shape::LogBlock,
    },
    Figure {
        text: FigureText {
            name: "15",
            title: "versions by number of threads",
            claim: "Up to 14 % more throughput without versions, where inserts are the limit.",
            reason: "Honeycomb releases versions through a ring, so a writer does not spin for its \
                predecessor.",
        },
        shape: Shape::Versions,
    },
    Figure {
        text: FigureText {
            name: "16",
            title: "the accelerator's cache",
            claim: "A cache of 256 MB, for all interior nodes, gives 2.5 times the throughput; the root on \
                chip gives 30 %.",
            reason: OF_THE_RTL,
        },
        shape: Shape::Elsewhere,
    },
    Figure {
        text: FigureText {
            name: "17",
            title: "balance of load between PCIe and on-board memory",
            claim: "8.0 million scans a second without the load balancer, 9.1 million with it, all interior \
                nodes in the cache.",
            reason: OF_THE_RTL,
        },
        shape: Shape::Elsewhere,
    },
    ablations::FIGURE,
    latency::FIGURE,
];

impl Figure {
    /// Returns the plan of its measurements, with the parameters of `base`. `None` if it is not measured
    /// here.
    pub fn plan(&self, base: &Plan) -> Result<Option<Plan>, Failure> {
        let most = base.threads.iter().copied().max().unwrap_or(1);
        let base = Plan { distributions: Distribution::DEFAULT.to_vec(), ..base.clone() };
        let uniform = vec![Distribution::Uniform];
        Ok(Some(match self.shape {
            Shape::Workloads => {
                use Workload::{YcsbA, YcsbB, YcsbC, YcsbD, YcsbE, YcsbF};
                let workloads = vec![YcsbA, YcsbB, YcsbC, YcsbD, YcsbE, YcsbF];
                Plan { workloads, threads: vec![most], ..base }
            }
            Shape::Numbers => Plan { workloads: self.numbered(), threads: vec![most], ..base },
            Shape::Latency => {
                let (peers, workloads) = (vec![Peer::HONEYCOMB, Peer::Masstree], vec![Workload::Get]);
                Plan { peers, workloads, threads: vec![1], open_loads: latency::loads(), ..base }
            }
            Shape::LogBlock => {
                let logs = [0, 64, 128, 256, 1024, 2048].map(|bytes| format!("log={bytes}"));
                let peers = beside_honeycomb(&logs)?;
                let workloads = vec![Workload::Scan(4), Workload::Update, Workload::Insert];
                Plan { peers, workloads, distributions: uniform, threads: vec![1], ..base }
            }
            Shape::Versions => {
                let peers = beside_honeycomb(&["mvcc=off"])?;
                let workloads = vec![Workload::Scan(4), Workload::Cloud(50), Workload::Insert];
                Plan { peers, workloads, distributions: uniform, ..base }
            }
            Shape::Ablations => ablations::plan(base)?,
            Shape::Disturbances => latency::plan(base)?,
            Shape::Elsewhere => return Ok(None),
        }))
    }

    fn numbered(&self) -> Vec<Workload> {
        if self.text.name == "11" {
            [0, 50, 60, 70, 80, 90, 100].map(Workload::Cloud).to_vec()
        } else {
            [1, 4, 8, 16, 24, 50, 100].map(Workload::Scan).to_vec()
        }
    }

    /// Writes the input of its drawing into its folder.
    pub fn write(&self, report: &Report, folder: &Path) -> Result<(), Failure> {
        report.write(&folder.join(self.text.stem()))?;
        let json = serde_json::json!({ "heading": self.text.heading(), "shape": self.shape });
        self.text.write_json(&json, folder)
    }

    fn section(&self, report: Option<&Report>) -> String {
        let results = match (self.shape, report) {
            (Shape::Elsewhere, _) => String::new(),
            (_, None) => NOT_MEASURED.into(),
            (_, Some(report)) => {
                let FigureText { title, .. } = self.text;
                format!("![{title}](figures/{}.svg)\n\n{}\n", self.text.stem(), self.results(report))
            }
        };
        self.text.section(&results)
    }

    fn results(&self, report: &Report) -> String {
        let setup = &report.setup;
        let pairs: Vec<String> = setup.plan.pairs.iter().map(u64::to_string).collect();
        let (machine, date) = (&setup.machine, setup.date.split('T').next().unwrap_or_default());
        let cores = machine.cores;
        let mut text =
            format!("*Ours:* {} pairs; {}, {cores} cores; {date}.", pairs.join(", "), machine.processor);
        let batches: Vec<String> = setup.plan.batches.iter().map(usize::to_string).collect();
        let _ = write!(text, " Operations that run together: {}.", batches.join(", "));
        if setup.plan.pairs.iter().all(|pairs| *pairs < PAIRS_MIN) {
            text.push_str(" **Too few pairs to mean anything: it only shows the form.**");
        }
        let rows = match self.shape {
            Shape::Latency => latencies(report),
            Shape::Ablations => ablations::rows(report),
            Shape::Disturbances => latency::rows(report),
            Shape::LogBlock | Shape::Versions => ratios(report, "over Honeycomb", |ratio| ratio),
            _ => {
                text.push_str(" Honeycomb over each other map.");
                ratios(report, "Honeycomb over", |ratio| 1.0 / ratio)
            }
        };
        text + "\n\n" + &figure_text::table(&rows)
    }
}

/// Returns the page of all figures, with the reports in `folder`.
pub fn page(folder: &Path) -> Result<String, Failure> {
    let mut text = String::from(
        "# Figures\n\n`make figures` measures, draws and writes this page. `honeycomb-bench figure NAME` \
         measures one figure: a number names a figure of the paper, and `ablations` and `latency` name \
         our own. The page on the [benchmark](../../design/benchmark.md) describes the method. This page \
         quotes all values that the paper prints with its figures; we inferred from their topics which \
         figure has which number.\n",
    );
    for figure in FIGURES {
        let path = folder.join(figure.text.stem()).join("bench.json");
        let report = if path.exists() { Some(Report::read(&path)?) } else { None };
        text.push_str(&figure.section(report.as_ref()));
    }
    Ok(text)
}

/// Returns Honeycomb with its defaults, and one Honeycomb for each option.
fn beside_honeycomb(choices: &[impl AsRef<str>]) -> Result<Vec<Peer>, Failure> {
    let chosen = choices.iter().map(|choice| format!("{}:{}", Peer::HONEYCOMB, choice.as_ref()).parse());
    std::iter::once(Ok(Peer::HONEYCOMB)).chain(chosen).collect()
}

/// Returns a row for each workload, distribution and number of threads, with a column for each other map.
fn ratios(report: &Report, what: &str, shown: impl Fn(f64) -> f64) -> Vec<Vec<String>> {
    let others: Vec<Peer> =
        report.setup.plan.peers.iter().copied().filter(|peer| *peer != Peer::HONEYCOMB).collect();
    let mut rows = vec![[what, "Honeycomb, M/s", "of the limit"].map(String::from).to_vec()];
    rows[0].extend(others.iter().map(|peer| format!("`{peer}`")));
    let ours =
        |one: &&Measurement| one.subject.peer == Peer::HONEYCOMB && one.subject.workload != Workload::Load;
    for one in report.measurements.iter().filter(ours) {
        let Subject { workload, distribution, threads, .. } = one.subject;
        let limit = report.of_limit(one).map_or_else(String::new, |part| format!("{:.0} %", 100.0 * part));
        let mut row = vec![
            format!("{workload}, {}, {}", distribution.name(), count_threads(threads)),
            format!("{:.3}", one.summary.median / 1e6),
            limit,
        ];
        row.extend(others.iter().map(|peer| {
            let ratio = report.ratio(&Subject { peer: *peer, ..one.subject });
            ratio.map_or_else(String::new, |ratio| format!("{:.2}", shown(ratio)))
        }));
        rows.push(row);
    }
    rows
}

fn latencies(report: &Report) -> Vec<Vec<String>> {
    let names = ["load", "map", "done, M/s", "p50, µs", "p99, µs", "p99.9, µs"];
    let mut rows = vec![names.map(String::from).to_vec()];
    let shown = |one: &&Latency| [10, 50, 70, 90].contains(&one.load);
    for one in report.latencies.iter().filter(shown) {
        let Subject { peer, distribution, .. } = one.subject;
        let mut row = vec![format!("{} %, {}", one.load, distribution.name()), peer.to_string()];
        row.push(format!("{:.3}", one.done / 1e6));
        row.extend([one.p50, one.p99, one.p999].map(|time| format!("{:.1}", time as f64 / 1e3)));
        rows.push(row);
    }
    rows
}
