//! The figures of the Honeycomb paper (arXiv 2303.14259) about the accelerator, on the simulated accelerator,
//! and some of our own. Each states the claim of the paper, the measurement that corresponds to it, and the
//! differences.

mod page;
mod points;
mod stored;

use std::iter;
use std::path::Path;

use honeycomb_lab::figure_text::{self, FigureText};
use honeycomb_simulator::Simulator;
use honeycomb_workload::Failure;
use serde::Serialize;

use crate::measure::{Dataset, Recording, Simulation, Traffic};
use crate::report::Report;
use page::Column;
use points::Point;
use stored::Row;

/// A figure about the accelerator.
#[derive(Clone, Copy)]
struct Figure {
    text: FigureText,
    /// Label of its axis and of the first column of its table.
    axis: &'static str,
    shape: Shape,
    columns: &'static [&'static [Column]],
    points: fn(Scale) -> Vec<Point>,
}

/// How a figure is drawn.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Shape {
    /// Throughput over a number, a line for each series.
    Lines,
    /// Latency over throughput, lines for each series.
    Latency,
    /// Bars of throughput, those of a series in one color.
    Bars,
    /// Throughput, bandwidth and accesses over a number, by where the bytes come from.
    Sources,
    /// Shares of time, or of units, that are busy.
    Utilisation,
}

/// The size of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// The measurements of the published figures.
    Full,
    /// A check that everything works. The numbers mean nothing.
    Smoke,
}

const FIGURES: [Figure; 11] = [
    Figure {
        text: FigureText {
            name: "workloads",
            title: "the suite",
            claim: "Does a workload of 95 % scans of 3 or 4 pairs and 5 % inserts (`cloud95`) run \
                concurrently with writers without stalls other than those that bandwidth explains?",
            reason: "Reads limit the rate of read-heavy workloads. The 8 simulated writer cores limit \
                write-heavy workloads to 8 million operations a second, which is a parameter and not a \
                measurement. `requests held` is the only effect of writers on reads besides the interfaces \
                that both share: a read that follows a write waits until the accelerator has received the \
                write's updates.",
        },
        axis: "workload",
        shape: Shape::Bars,
        columns: &[page::RATES, page::LIMITS, page::WRITES],
        points: points::workloads,
    },
    Figure {
        text: FigureText {
            name: "12",
            title: "length of scans",
            claim: "With scans of 24 pairs, throughput is 4.0 times that of eRPC-Masstree. The paper prints \
                no rates.",
            reason: "The paper compares servers; this figure shows the accelerator alone. Slots limit short \
                scans. A scan keeps its range scan unit for each of its pairs: from 16 pairs on, units are \
                busy for nearly all of the time.",
        },
        axis: "pairs of a scan",
        shape: Shape::Lines,
        columns: &[page::RATES, page::LIMITS],
        points: points::scan_lengths,
    },
    Figure {
        text: FigureText {
            name: "13",
            title: "latency over throughput",
            claim: "The paper prints no values.",
            reason: "The loop is closed and has no network. Latency counts from when the loop generates an \
                operation until it completes. Operations beyond those that the units can hold wait in front \
                of the units, so beyond the knee only latency grows.",
        },
        axis: "operations in flight",
        shape: Shape::Latency,
        columns: &[page::RATES, page::LIMITS],
        points: points::loads,
    },
    Figure {
        text: FigureText {
            name: "14",
            title: "size of the log block",
            claim: "A log block of 512 bytes costs scans 8 %.",
            reason: "This figure shows the cost of the log block for the accelerator: a scan reads the used \
                part of it and sorts its entries. Without a log block each write replaces its leaf and sends \
                a mapping. The figures of the [software accelerator](../README.md) show the cost of \
                consolidating logs on the CPU.",
        },
        axis: "bytes of the log block",
        shape: Shape::Lines,
        columns: &[page::RATES, page::LIMITS, page::WRITES],
        points: points::log_blocks,
    },
    Figure {
        text: FigureText {
            name: "15",
            title: "versions",
            claim: "Up to 14 % more throughput without versions, where inserts are the limit.",
            reason: "With versions, each write sends a read version to the accelerator, and reads check the \
                versions of log entries. The 14 % of the paper are a cost of the CPU, where a writer waits \
                to release its version; see the figures of the [software accelerator](../README.md).",
        },
        axis: "workload",
        shape: Shape::Bars,
        columns: &[page::RATES, page::LIMITS, page::WRITES],
        points: points::versions,
    },
    Figure {
        text: FigureText {
            name: "16",
            title: "size of the cache",
            claim: "A cache of 256 MB, for all interior nodes, gives 2.5 times the throughput without a \
                cache.",
            reason: "The 256 MB of the paper hold all interior nodes of 128 million pairs. The tree and the \
                cache in this figure are smaller; the share of interior nodes that fit into the cache \
                decides.",
        },
        axis: "nodes that the cache has room for",
        shape: Shape::Sources,
        columns: &[page::RATES, page::LIMITS, page::SOURCES],
        points: points::cache_sizes,
    },
    Figure {
        text: FigureText {
            name: "17",
            title: "load balancer, levels on chip, cache",
            claim: "Scans of one pair on the accelerator alone, with all interior nodes in the cache: 8.0 \
                million a second without load balancing, 9.1 million with it (+13 %). The root on chip, \
                without a cache: +30 %. The cache: 2.5 times.",
            reason: "On-board memory has more than twice the bandwidth of the links, and nodes in columns \
                need few of its lines, so it has no backlog that a read of host memory would shorten. In \
                the paper on-board memory was the narrower interface, because 4 GB/s of PCIe were unused. \
                The rows `narrow` have on-board memory with less bandwidth than the links.",
        },
        axis: "on",
        shape: Shape::Bars,
        columns: &[page::RATES, page::LIMITS, page::SOURCES],
        points: points::switches,
    },
    Figure {
        text: FigureText {
            name: "key-size",
            title: "size of keys",
            claim: "How does the size of keys affect gets and scans?",
            reason: "The head decides most comparisons of long keys, whatever their length. Longer keys make \
                items and completions longer.",
        },
        axis: "bytes of a key",
        shape: Shape::Lines,
        columns: &[page::RATES, page::LIMITS],
        points: points::key_sizes,
    },
    Figure {
        text: FigureText {
            name: "value-size",
            title: "size of values",
            claim: "How does the size of values affect gets and scans?",
            reason: "Values of up to 469 bytes are in their leaf. Longer ones are overflow values, \
                which [arrive behind the range scan unit](\
                ../../decisions/0229-overflow-values-arrive-behind-the-unit.md).",
        },
        axis: "bytes of a value",
        shape: Shape::Lines,
        columns: &[page::RATES, page::LIMITS],
        points: points::value_sizes,
    },
    Figure {
        text: FigureText {
            name: "limits",
            title: "what limits gets and scans",
            claim: "Which interface or which units limit gets and scans of 1, 4 and 24 pairs, in \
                trees with two and three levels of interior nodes?",
            reason: "The [results](../README.md) include an analysis of these limits.",
        },
        axis: "nodes",
        shape: Shape::Utilisation,
        columns: &[page::RATES, page::LIMITS, page::INTERFACES],
        points: points::limits,
    },
    Figure {
        text: FigureText {
            name: "platforms",
            title: "clock and links",
            claim: "How do gets and scans change with the clock of the logic, and with the links and the \
                on-board memory of a current device?",
            reason: "The platform `gen5` has one PCIe Gen5 x16 with 768 tags and two thirds of the latency, \
                and four channels of on-board memory. [Timing](../../design/timing.md) states the clocks \
                that the engines are granted.",
        },
        axis: "workload",
        shape: Shape::Bars,
        columns: &[page::RATES, page::LIMITS],
        points: points::platforms,
    },
];

/// Measures the figures with a name, `all` or `none`, into a folder, and writes the page of all figures in
/// it. Measurements of builds with other units stay.
///
/// # Errors
/// Fails if no figure has this name, if a measurement fails, or if a file cannot be written.
pub fn run(name: &str, scale: Scale, folder: &Path) -> Result<(), Failure> {
    for figure in figure_text::select(&FIGURES, name, |figure| figure.text)? {
        stored::write(figure, &figure.measure(scale)?, folder)?;
    }
    page::write(folder)
}

impl Figure {
    fn measure(&self, scale: Scale) -> Result<Vec<Row>, Failure> {
        let mut previous = None;
        (self.points)(scale).iter().map(|point| self.row(point, &mut previous)).collect()
    }

    /// Measures a point. Reuses the simulation of the previous point if only switches differ.
    fn row(&self, point: &Point, previous: &mut Option<Reusable>) -> Result<Row, Failure> {
        let Point { simulator, dataset, traffic, .. } = point;
        let mut simulation = match previous.take() {
            Some(reusable) if reusable.matches(simulator, dataset) => reusable.simulation,
            _ => Simulation::new(simulator, dataset)?,
        };
        simulation.switch(simulator);
        if dataset.pairs > WARMED_PAIRS || simulator.leaf_columns {
            warm(&mut simulation, traffic)?;
        }
        let measured = simulation.measure(traffic, &Recording::default())?;
        *previous = Some(Reusable { simulator: *simulator, dataset: *dataset, simulation });
        let report = Report::new(simulator, dataset, traffic, &measured);
        let rate = report.million_operations_a_second;
        eprintln!("{}: {}, {}: {rate:.2} million a second", self.text.heading(), point.series, point.x);
        Ok(Row { series: point.series.clone(), x: point.x.clone(), report })
    }
}

/// Repeats the operations of a measurement until on-board memory is warm: hardly more lines of interior nodes
/// and of columns come from it than in the repetition before. Both are compared, because columns are a small
/// share of all lines and are copied one leaf at a time.
fn warm(simulation: &mut Simulation, traffic: &Traffic) -> Result<(), Failure> {
    let mut before = [0; 2];
    for _ in 0..WARM_UPS_MAX {
        let lines = simulation.measure(traffic, &Recording::default())?.lines;
        let on_board = [lines.cache, lines.columns];
        if iter::zip(on_board, before).all(|(lines, before)| lines <= before + before / WARM_SHARE) {
            break;
        }
        before = on_board;
    }
    Ok(())
}

/// Most repetitions for a warm-up.
const WARM_UPS_MAX: usize = 60;
/// On-board memory is warm when a repetition adds no more than one of this number of lines.
const WARM_SHARE: u64 = 100;

/// The simulation of a point.
struct Reusable {
    simulator: Simulator,
    dataset: Dataset,
    simulation: Simulation,
}

impl Reusable {
    fn matches(&self, simulator: &Simulator, dataset: &Dataset) -> bool {
        let Simulator { cache, balance, levels_on_chip, leaf_columns, .. } = self.simulator;
        let switched = Simulator { cache, balance, levels_on_chip, leaf_columns, ..*simulator };
        *dataset == self.dataset && self.simulator == switched
    }
}

/// The warm-up of a point brings nearly all interior nodes of trees with at most this many pairs into the
/// cache.
const WARMED_PAIRS: u64 = 1_000_000;

impl Scale {
    fn traffic(self) -> Traffic {
        let traffic = Traffic::default();
        match self {
            Self::Full => Traffic { warm_up: 600, operations: 1_500, ..traffic },
            Self::Smoke => Traffic { warm_up: 5, operations: 20, in_flight: 16, ..traffic },
        }
    }

    fn dataset(self, dataset: Dataset) -> Dataset {
        match self {
            Self::Full => dataset,
            Self::Smoke => Dataset { pairs: 300, ..dataset },
        }
    }
}
