//! The points of each figure.

use honeycomb_simulator::platform::Platform;
use honeycomb_simulator::{Balance, CACHE_NODES, REQUEST_SLOTS, Simulator};
use honeycomb_workload::{Distribution, Sizes, Workload};

use super::Scale;
use crate::measure::{Dataset, Traffic};
use crate::report;

/// A point of a figure.
pub(super) struct Point {
    /// Its series.
    pub(super) series: String,
    /// Its position on the axis.
    pub(super) x: String,
    pub(super) simulator: Simulator,
    pub(super) dataset: Dataset,
    pub(super) traffic: Traffic,
}

/// Where samples, heads and offsets of leaves are read.
#[derive(Clone, Copy, PartialEq)]
enum Columns {
    InHostMemory,
    OnBoard,
}

/// Pairs and nodes as in the paper: three levels of interior nodes.
const PAPER: Dataset = Dataset { pairs: 128_000_000, ..tree(8192) };
/// Nodes as in the paper, in a smaller tree with two levels of interior nodes.
const PAPER_NODES: Dataset = Dataset { pairs: 160_000, ..tree(8192) };
/// Smaller nodes, also with two levels of interior nodes.
const MIDDLE: Dataset = Dataset { pairs: 60_000, ..tree(2048) };
/// Small nodes, so that a small tree is as high as the tree of the paper.
const HIGH: Dataset = Dataset { pairs: 24_000, ..tree(1024) };

const fn tree(node_bytes: usize) -> Dataset {
    let sizes = Sizes::Fixed { key: 16, value: 16 };
    Dataset {
        pairs: 0,
        sizes,
        node_bytes,
        log_bytes: honeycomb_layout::LOG_THRESHOLD_BYTES_DEFAULT,
        mvcc: true,
    }
}

impl Scale {
    fn point(self, series: impl ToString, x: impl ToString, dataset: Dataset, workload: Workload) -> Point {
        let traffic = Traffic { workload, ..self.traffic() };
        let (series, x) = (series.to_string(), x.to_string());
        // The accelerator of the paper has no copies of leaves.
        let simulator = Simulator { leaf_columns: false, ..Simulator::default() };
        Point { series, x, simulator, dataset: self.dataset(dataset), traffic }
    }

    /// Returns traffic that uses all request slots. It has more operations than other traffic, so that a
    /// measurement is many times as long as an operation.
    fn saturating(self, traffic: Traffic) -> Traffic {
        match self {
            Self::Full => {
                let (warm_up, operations) = (2 * traffic.warm_up, 4 * traffic.operations);
                Traffic { warm_up, operations, in_flight: REQUEST_SLOTS, ..traffic }
            }
            Self::Smoke => traffic,
        }
    }
}

pub(super) fn workloads(scale: Scale) -> Vec<Point> {
    use Workload::{Cloud, Get, Insert, Update, YcsbA, YcsbB, YcsbC, YcsbD, YcsbE, YcsbF};
    let all = [Get, YcsbA, YcsbB, YcsbC, YcsbD, YcsbE, YcsbF, Cloud(100), Cloud(95), Cloud(80), Cloud(50)];
    let all = all.into_iter().chain([Update, Insert]);
    let both = all.flat_map(|workload| {
        let distributions = workload.distributions(&Distribution::DEFAULT);
        distributions.into_iter().map(move |distribution| (workload, distribution))
    });
    both.map(|(workload, distribution)| {
        let skewed = if distribution == Distribution::Uniform { "uniform" } else { "Zipf, latest for D" };
        let point = scale.point(skewed, workload, PAPER_NODES, workload);
        Point { traffic: Traffic { distribution, ..point.traffic }, ..point }
    })
    .collect()
}

pub(super) fn scan_lengths(scale: Scale) -> Vec<Point> {
    let lengths = [1, 4, 8, 16, 24, 50, 100];
    let both = Distribution::DEFAULT.into_iter().flat_map(|one| lengths.map(|pairs| (one, pairs)));
    both.map(|(distribution, pairs)| {
        let point = scale.point(distribution.name(), pairs, PAPER_NODES, Workload::Scan(pairs));
        // A long scan takes as long as several short ones.
        let operations = point.traffic.operations / (1 + pairs as u64 / 25);
        Point { traffic: Traffic { distribution, operations, ..point.traffic }, ..point }
    })
    .collect()
}

pub(super) fn loads(scale: Scale) -> Vec<Point> {
    let all = [Workload::Get, Workload::Scan(4), Workload::Cloud(95)];
    let both = all.into_iter().flat_map(|one| [1, 8, 32, 64, 96, 128].map(|load| (one, load)));
    both.map(|(workload, in_flight)| {
        let point = scale.point(workload, in_flight, PAPER_NODES, workload);
        // Few operations in flight take long.
        let [warm_up, operations] =
            [point.traffic.warm_up, point.traffic.operations].map(|count| count.min(150 * in_flight as u64));
        Point { traffic: Traffic { in_flight, warm_up, operations, ..point.traffic }, ..point }
    })
    .collect()
}

pub(super) fn log_blocks(scale: Scale) -> Vec<Point> {
    let sizes = [0, 64, 128, 256, 512, 1024].into_iter();
    let all = [Workload::Scan(4), Workload::Cloud(50), Workload::YcsbA];
    let both = sizes.flat_map(|bytes| all.map(|one| (bytes, one)));
    both.map(|(log_bytes, workload)| {
        scale.point(workload, log_bytes, Dataset { log_bytes, ..PAPER_NODES }, workload)
    })
    .collect()
}

pub(super) fn versions(scale: Scale) -> Vec<Point> {
    let all = [Workload::Scan(4), Workload::Cloud(95), Workload::Cloud(50), Workload::Insert];
    let both =
        [(true, "with versions"), (false, "without")].into_iter().flat_map(|way| all.map(|one| (way, one)));
    both.map(|((mvcc, series), workload)| {
        scale.point(series, workload, Dataset { mvcc, ..PAPER_NODES }, workload)
    })
    .collect()
}

pub(super) fn cache_sizes(scale: Scale) -> Vec<Point> {
    let sizes = [(false, 10), (true, 10), (true, 8), (true, 7), (true, 6), (true, 5)];
    let both = sizes.into_iter().flat_map(|size| Distribution::DEFAULT.map(|one| (one, size)));
    both.map(|(distribution, (cache, cache_halvings))| {
        let nodes = if cache { CACHE_NODES >> cache_halvings } else { 0 };
        let point = scale.point(distribution.name(), nodes, HIGH, Workload::Scan(1));
        // Nodes on chip would not depend on the size of the cache.
        let simulator = Simulator { cache, cache_halvings, levels_on_chip: 0, ..point.simulator };
        Point { simulator, traffic: Traffic { distribution, ..point.traffic }, ..point }
    })
    .collect()
}

pub(super) fn switches(scale: Scale) -> Vec<Point> {
    let (build, balance) = (report::this_build(), Some(Balance::default()));
    let (paper, narrow) = (Platform::PAPER, Platform::NARROW);
    // Channels of 16 bits limit the rate, and are busy with these lines.
    let few = Some(Balance { on_board_lines: 32, ..Balance::default() });
    let all = [
        ("nothing", paper, false, None, 0, false),
        ("root on chip", paper, false, None, 1, false),
        ("two levels on chip", paper, false, None, 2, false),
        ("cache", paper, true, None, 0, false),
        ("cache, balancer", paper, true, balance, 0, false),
        ("cache, root on chip", paper, true, None, 1, false),
        ("cache, two levels on chip", paper, true, None, 2, false),
        ("cache, balancer, two levels", paper, true, balance, 2, false),
        ("all, columns of leaves", paper, true, balance, 2, true),
        ("narrow: cache", narrow, true, None, 0, false),
        ("narrow: cache, balancer", narrow, true, few, 0, false),
    ];
    all.into_iter()
        .map(|(name, platform, cache, balance, levels_on_chip, leaf_columns)| {
            let point = scale.point(&build, name, PAPER, Workload::Scan(1));
            let simulator =
                Simulator { platform, cache, balance, levels_on_chip, leaf_columns, ..point.simulator };
            Point { simulator, ..point }
        })
        .collect()
}

pub(super) fn key_sizes(scale: Scale) -> Vec<Point> {
    let sizes = [8, 16, 32, 64, 128, 256, 460].into_iter();
    let all = [Workload::Get, Workload::Scan(4)];
    let both = sizes.flat_map(|key| all.map(|one| (key, one)));
    both.map(|(key, workload)| {
        let sizes = Sizes::Fixed { key, value: 16 };
        // About the same number of nodes for all sizes.
        let dataset = Dataset { sizes, pairs: 5_000_000 / (key as u64 + 30), ..PAPER_NODES };
        scale.point(workload, key, dataset, workload)
    })
    .collect()
}

pub(super) fn value_sizes(scale: Scale) -> Vec<Point> {
    let sizes = [16, 64, 256, 460, 512, 1024, 2048, 4096].into_iter();
    let all = [Workload::Get, Workload::Scan(4)];
    let both = sizes.flat_map(|value| all.map(|one| (value, one)));
    both.map(|(value, workload)| {
        let dataset = Dataset { sizes: Sizes::Fixed { key: 16, value }, ..PAPER_NODES };
        scale.point(workload, value, dataset, workload)
    })
    .collect()
}

pub(super) fn limits(scale: Scale) -> Vec<Point> {
    let trees = [
        (PAPER, "8 KiB, 3 levels", Columns::InHostMemory),
        (PAPER, "8 KiB, 3 levels, columns on board", Columns::OnBoard),
        (PAPER_NODES, "8 KiB, 2 levels", Columns::InHostMemory),
        (PAPER_NODES, "8 KiB, 2 levels, columns on board", Columns::OnBoard),
        (MIDDLE, "2 KiB, 2 levels", Columns::InHostMemory),
        (HIGH, "1 KiB, 3 levels", Columns::InHostMemory),
    ];
    let all = [Workload::Get, Workload::Scan(1), Workload::Scan(4), Workload::Scan(24)];
    let both = trees.into_iter().flat_map(|tree| all.map(|one| (tree, one)));
    both.map(|((dataset, nodes, columns), workload)| {
        let point = scale.point(workload, nodes, dataset, workload);
        let simulator = Simulator { leaf_columns: columns == Columns::OnBoard, ..point.simulator };
        Point { simulator, traffic: scale.saturating(point.traffic), ..point }
    })
    .collect()
}

pub(super) fn platforms(scale: Scale) -> Vec<Point> {
    let machines = [("paper, 220 MHz", Platform::PAPER), ("gen5, 250 MHz", Platform::GEN5)];
    let all = [Workload::Get, Workload::Scan(1), Workload::Scan(4), Workload::Scan(24), Workload::Cloud(95)];
    let both = machines.into_iter().flat_map(|machine| all.map(|one| (machine, one)));
    both.map(|((series, platform), workload)| {
        let point = scale.point(series, workload, PAPER_NODES, workload);
        Point { simulator: Simulator { platform, ..point.simulator }, ..point }
    })
    .collect()
}
