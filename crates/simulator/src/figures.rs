//! The figures of the Honeycomb paper (arXiv 2303.14259) that are about the accelerator, on the simulated
//! one: for each what the paper says, what is measured in its place, and what differs. And some of our own.

mod page;
mod points;
mod stored;

use std::path::Path;

use honeycomb_workload::Failure;
use serde::Serialize;

use crate::engine::Simulator;
use crate::measure::{Data, Observed, Scene, Traffic};
use crate::report::Report;
use page::Column;
use points::Point;
use stored::Row;

/// A figure.
struct Figure {
    /// Its name: a number if it is the paper's, as in docs/figures.md; else a word.
    name: &'static str,
    /// What it shows.
    title: &'static str,
    /// What the paper says, or what is asked of ours.
    claim: &'static str,
    /// What differs, and why.
    reason: &'static str,
    /// What stands below it, and in the first column of its table.
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
    /// Which share of the time or of the units is busy.
    Utilisation,
}

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// What the figures are made from.
    Full,
    /// Only to see that everything runs: the numbers mean nothing.
    Smoke,
}

const FIGURES: [Figure; 9] = [
    Figure {
        name: "workloads",
        title: "the suite",
        claim: "A workload of 95 % scans of 3 or 4 pairs and 5 % inserts (`cloud95`) runs beside writers \
            without a stall that bandwidth does not explain.",
        reason: "The rate of a workload of mostly reads is that of its reads; one of mostly writes is \
            bound by the 8 cores of 1 µs, 8 million a second, which is no measurement. `requests \
            held` is all that writers do to reads beside the interfaces that both use: a read that \
            comes after a write waits until the accelerator was told of it.",
        axis: "workload",
        shape: Shape::Bars,
        columns: &[page::RATES, page::LIMITS, page::WRITES],
        points: points::workloads,
    },
    Figure {
        name: "12",
        title: "length of scans",
        claim: "24 pairs: 4.0 times eRPC-Masstree. No rates printed.",
        reason: "The paper compares servers; this is the accelerator alone. A scan takes a line of 64 \
            bytes for each further pair or two, so what the links carry is the end: they are busy for 97 % \
            of the time with scans of one pair and more. Of scans of 100 pairs half go on to a sibling, \
            and keep the turn of their unit while it comes: 93 %.",
        axis: "pairs of a scan",
        shape: Shape::Lines,
        columns: &[page::RATES, page::LIMITS],
        points: points::scan_lengths,
    },
    Figure {
        name: "13",
        title: "latency over throughput",
        claim: "No values printed.",
        reason: "A closed loop, without a network: latency is from when an operation is drawn until it is \
            done. More in flight than units can work on wait before them, so beyond the knee only \
            latency grows.",
        axis: "operations in flight",
        shape: Shape::Latency,
        columns: &[page::RATES, page::LIMITS],
        points: points::loads,
    },
    Figure {
        name: "14",
        title: "size of the log block",
        claim: "512 bytes cost scans 8 % against none.",
        reason: "What is seen here is what the log block costs the accelerator: 512 bytes 20 % of scans \
            of four pairs, as a scan reads what is there of it, 290 bytes on average, and the links are \
            full. Without one each write replaces its leaf, and tells a mapping: half of the rate with \
            as many writes as reads. What merging costs the CPU is in [figures](figures.md).",
        axis: "bytes of the log block",
        shape: Shape::Lines,
        columns: &[page::RATES, page::LIMITS, page::WRITES],
        points: points::log_blocks,
    },
    Figure {
        name: "15",
        title: "versions",
        claim: "Without versions up to 14 % more where inserts are the bound.",
        reason: "With versions, each write tells the accelerator a read version, and reads look at the \
            versions of log entries. That is all that is seen here: the paper's 14 % are the CPU's, \
            which waits for its turn to release a version; ours is in [figures](figures.md).",
        axis: "workload",
        shape: Shape::Bars,
        columns: &[page::RATES, page::LIMITS, page::WRITES],
        points: points::versions,
    },
    Figure {
        name: "16",
        title: "size of the cache",
        claim: "256 MB for all interior nodes: 2.5 times the throughput without a cache.",
        reason: "The paper's 256 MB hold all interior nodes of 128 million pairs. Here a smaller tree has \
            a smaller cache: what counts is the share of the interior nodes that it has room for. All of \
            them are worth 2.5 times, half of them 2.3 times.",
        axis: "nodes that the cache has room for",
        shape: Shape::Sources,
        columns: &[page::RATES, page::LIMITS, page::SOURCES],
        points: points::cache_sizes,
    },
    Figure {
        name: "17",
        title: "load balancer, root on chip, cache",
        claim: "Scans of one pair, the accelerator alone, all interior nodes in the cache: 8.0 million a \
            second without balancing, 9.1 with it (+13 %). The root on chip against no cache: +30 %. \
            The cache: 2.5 times.",
        reason: "The cache brings 2.7 times. Without one the key search units are the end of it: each has \
            three descents, and its one finder of children waits for the segment of one, 1.2 µs of host \
            memory, before it searches a node of the others; links are busy for 89 % of the time. The root \
            on chip, one of three levels, then brings 21 %, as 2.6 KB of host memory are read for a scan \
            and not 3.2 (the paper 30 %). With the cache it brings 5 %: links, busy for 95 % of the time \
            without it, are the end. The balancer brings 4 % where the root is not on chip, some of it \
            for a cache that was warmer in that run, and nothing where it is; the paper has 13 %. It spares \
            on-board memory, which is at two thirds of what it carries, for links that are full. In the \
            paper on-board memory was the narrower one, as 4 GB/s of PCIe were left unused.",
        axis: "on",
        shape: Shape::Bars,
        columns: &[page::RATES, page::LIMITS, page::SOURCES],
        points: points::switches,
    },
    Figure {
        name: "key-size",
        title: "size of keys",
        claim: "No values printed.",
        reason: "Of a long key its head decides most comparisons, whatever its length; what grows is the \
            bytes of a segment and of a completion.",
        axis: "bytes of a key",
        shape: Shape::Lines,
        columns: &[page::RATES, page::LIMITS],
        points: points::key_sizes,
    },
    Figure {
        name: "limits",
        title: "what limits gets and scans",
        claim: "Asked: which interface or which units are full, for gets and scans of 1, 4 and 24 pairs, \
            in trees of one to three levels of interior nodes.",
        reason: "[limits](limits.md) says what follows from it.",
        axis: "nodes",
        shape: Shape::Utilisation,
        columns: &[page::RATES, page::LIMITS],
        points: points::limits,
    },
];

/// Measures the figures of a name, all or none, into a folder, and writes the page that shows all that is
/// there. What was measured by a build with other units stays.
///
/// # Errors
/// It says what there is no figure of, what was not measured, or which file was not written.
pub fn run(which: &str, scale: Scale, folder: &Path) -> Result<(), Failure> {
    let asked: Vec<&Figure> =
        FIGURES.iter().filter(|figure| which == "all" || which == figure.name).collect();
    if asked.is_empty() && which != "none" {
        let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        return Err(format!("no figure {which}: there are {}, all and none", names.join(", ")).into());
    }
    for figure in asked {
        stored::write(figure, &figure.measure(scale)?, folder)?;
    }
    page::write(folder)
}

impl Figure {
    fn measure(&self, scale: Scale) -> Result<Vec<Row>, Failure> {
        let mut stage = None;
        (self.points)(scale).iter().map(|point| self.row(point, &mut stage)).collect()
    }

    /// Measures a point, on the stage of the one before if it is the same but for what is switched.
    fn row(&self, point: &Point, stage: &mut Option<Stage>) -> Result<Row, Failure> {
        let Point { simulator, data, traffic, .. } = point;
        let mut scene = match stage.take() {
            Some(same) if same.serves(simulator, data) => same.scene,
            _ => Scene::new(simulator, data)?,
        };
        scene.switch(simulator);
        if data.pairs > WARMED_PAIRS {
            // Then the same operations come to nodes that are all in the cache, if there is one.
            scene.measure(traffic, &Observed::default())?;
        }
        let measured = scene.measure(traffic, &Observed::default())?;
        *stage = Some(Stage { simulator: *simulator, data: *data, scene });
        let report = Report::new(simulator, data, traffic, &measured);
        let rate = report.million_operations_a_second;
        eprintln!("{}: {}, {}: {rate:.2} million a second", self.heading(), point.series, point.x);
        Ok(Row { series: point.series.clone(), x: point.x.clone(), report })
    }

    /// What stands above it.
    fn heading(&self) -> String {
        if self.is_of_paper() { format!("Figure {}: {}", self.name, self.title) } else { self.title.into() }
    }

    fn is_of_paper(&self) -> bool {
        self.name.parse::<u32>().is_ok()
    }

    /// The name of its folder and of its drawing.
    fn stem(&self) -> String {
        format!("figure-{}", self.name)
    }
}

/// What a point was measured on.
struct Stage {
    simulator: Simulator,
    data: Data,
    scene: Scene,
}

impl Stage {
    fn serves(&self, simulator: &Simulator, data: &Data) -> bool {
        let Simulator { cache, balance, root_on_chip, .. } = self.simulator;
        *data == self.data && self.simulator == Simulator { cache, balance, root_on_chip, ..*simulator }
    }
}

/// Pairs of a tree all of whose interior nodes are in the cache after a point's warm-up, or so, at most.
const WARMED_PAIRS: u64 = 1_000_000;

impl Scale {
    fn traffic(self) -> Traffic {
        let traffic = Traffic::default();
        match self {
            Self::Full => Traffic { warm_up: 300, operations: 1_500, ..traffic },
            Self::Smoke => Traffic { warm_up: 5, operations: 20, ..traffic },
        }
    }

    fn data(self, data: Data) -> Data {
        match self {
            Self::Full => data,
            Self::Smoke => Data { pairs: 300, ..data },
        }
    }
}
