//! The effect of each option of layout and pipeline.

use honeycomb_workload::{Distribution, Workload};

use super::{Figure, FigureText, Shape, beside_honeycomb};
use crate::access_stats::{AccessStats, SearchAccess};
use crate::adapters::Peer;
use crate::map::Failure;
use crate::plan::Plan;
use crate::report::{Measurement, MemoryUse, Moment, Report, Subject};

pub(super) const FIGURE: Figure = Figure {
    text: FigureText {
        name: "ablations",
        title: "Effect of layout options",
        claim: "How much does each option contribute alone: node size, \
            log block, versions, requests in flight, and pairs per quantum of a scan?",
        reason: "Each row is a Honeycomb that differs from the default in one option. Runs of both \
            alternate. The numbers are its throughput divided by that of the default, one operation at a \
            time / 64 together. Brackets mark ratios whose samples overlap with those of the default and may \
            be noise. Bytes and lines are those that a search for a key accesses, counted in a tree of at \
            most a million pairs; for a scan they are counted up to its first pair.",
    },
    shape: Shape::Ablations,
};

/// One row each, compared with the default.
const OPTIONS: [&str; 18] = [
    "node=1024",
    "node=2048",
    "node=4096",
    "node=16384",
    "log=0",
    "log=128",
    "log=256",
    "log=1024",
    "log=2048",
    "mvcc=off",
    "huge-pages=off",
    "in-flight=1",
    "in-flight=4",
    "in-flight=8",
    "in-flight=32",
    "in-flight=64",
    "quantum=8",
    "quantum=1024",
];

const WORKLOADS: [Workload; 5] =
    [Workload::Get, Workload::Scan(4), Workload::Scan(24), Workload::Update, Workload::Insert];
/// Single operations, and batches.
const BATCHES: [usize; 2] = [1, 64];

pub(super) fn plan(base: Plan) -> Result<Plan, Failure> {
    Ok(Plan {
        peers: beside_honeycomb(&OPTIONS)?,
        workloads: WORKLOADS.to_vec(),
        distributions: vec![Distribution::Uniform],
        threads: vec![1],
        batches: BATCHES.to_vec(),
        access_stats: true,
        ..base
    })
}

pub(super) fn rows(report: &Report) -> Vec<Vec<String>> {
    let mut names = vec!["option".to_string()];
    names.extend(WORKLOADS.iter().map(Workload::to_string));
    names.extend(["bytes, lines of a get", "of a scan's start", "bytes per pair"].map(String::from));
    let peers = report.setup.plan.peers.iter();
    std::iter::once(names).chain(peers.map(|peer| row(report, *peer))).collect()
}

fn row(report: &Report, peer: Peer) -> Vec<String> {
    let name = peer.to_string();
    let mut row =
        vec![name.split_once(':').map_or("default, M/s".into(), |(_, option)| format!("`{option}`"))];
    row.extend(WORKLOADS.iter().map(|workload| {
        let cells = BATCHES.map(|batch| cell(report, peer, *workload, batch).unwrap_or_default());
        cells.join(" / ")
    }));
    let stats = report.access_stats.iter().find(|one| one.peer == peer);
    let search = |search: SearchAccess| format!("{:.0}, {:.1}", search.bytes, search.lines);
    row.push(stats.map_or_else(String::new, |AccessStats { get, .. }| search(*get)));
    row.push(stats.map_or_else(String::new, |AccessStats { scan, .. }| search(*scan)));
    let is_loaded = |one: &&MemoryUse| one.peer == peer && one.moment == Moment::Loaded;
    let bytes = report.memory.iter().find(is_loaded).map(|one| &one.memory);
    row.push(bytes.map_or_else(String::new, |memory| {
        format!("{:.1}", memory.accounted_bytes.unwrap_or_default() as f64 / memory.pairs as f64)
    }));
    row
}

/// Returns the throughput of the default, or the ratio of another Honeycomb to it.
fn cell(report: &Report, peer: Peer, workload: Workload, batch: usize) -> Option<String> {
    let matches = |one: &&Measurement| {
        (one.subject.peer, one.subject.workload, one.subject.batch) == (peer, workload, batch)
    };
    let one = report.measurements.iter().find(matches)?;
    if peer == Peer::HONEYCOMB {
        return Some(format!("{:.2}", one.summary.median / 1e6));
    }
    let default = report.measurement(&Subject { peer: Peer::HONEYCOMB, ..one.subject })?.summary;
    let ratio = format!("{:.2}", one.summary.median / default.median);
    let overlap = one.summary.min <= default.max && default.min <= one.summary.max;
    Some(if overlap { format!("({ratio})") } else { ratio })
}
