//! Latency of gets during long scans and inserts.

use honeycomb_workload::{Distribution, Workload};

use super::{Figure, FigureText, Shape};
use crate::adapters::Peer;
use crate::map::Failure;
use crate::open_loop::Disturbance;
use crate::plan::Plan;
use crate::report::{Latency, Report, Subject};

pub(super) const FIGURE: Figure = Figure {
    text: FigureText {
        name: "latency",
        title: "Latency of gets during long scans and inserts",
        claim: "At 70 % of the maximum rate of gets, is the 99.9th percentile of their latency below 10 \
            times the undisturbed median, while one thread scans 10,000 pairs at a time and another inserts?",
        reason: "`nothing` is an adapter that does no work. It shows the delays of the operating system, the \
            machine and the measuring loop. `during scans and inserts` runs three threads on the cores of \
            the machine; on two cores they wait for each other, with `nothing` as with a map. `on other \
            cores` reserves a core for the gets, so that scans and inserts affect them only through the \
            store and its memory. 100 % is the undisturbed rate of the loop.",
    },
    shape: Shape::Disturbances,
};

/// The load of the question, in per cent.
const LOAD: u32 = 70;
/// The limit, in multiples of the undisturbed median.
const TIMES: f64 = 10.0;

/// Returns the loads, in per cent of the maximum rate.
pub(super) fn loads() -> Vec<u32> {
    (1..10).map(|tenth| 10 * tenth).collect()
}

pub(super) fn plan(base: Plan) -> Result<Plan, Failure> {
    Ok(Plan {
        peers: vec![Peer::HONEYCOMB, Peer::Nothing],
        workloads: vec![Workload::Get],
        distributions: vec![Distribution::Uniform],
        threads: vec![1],
        open_loads: loads(),
        disturbances: Disturbance::possible(1)?,
        ..base
    })
}

pub(super) fn rows(report: &Report) -> Vec<Vec<String>> {
    let names = ["load", "disturbance", "p50, µs", "p99, µs", "p99.9, µs", "over p50 undisturbed"];
    let mut rows = vec![names.map(String::from).to_vec()];
    rows[0].extend(["under 10 times", "p99.9 of `nothing`, µs"].map(String::from));
    let shown =
        |one: &&Latency| one.subject.peer == Peer::HONEYCOMB && [10, 50, LOAD, 90].contains(&one.load);
    for one in report.latencies.iter().filter(shown) {
        let microseconds = |nanoseconds: u64| format!("{:.1}", nanoseconds as f64 / 1e3);
        let undisturbed = same(report, Peer::HONEYCOMB, Disturbance::None, one).map_or(0, |none| none.p50);
        let times = one.p999 as f64 / undisturbed as f64;
        let mut row = vec![format!("{} %", one.load), one.disturbance.name().into()];
        row.extend([one.p50, one.p99, one.p999].map(microseconds));
        row.push(format!("{times:.0}"));
        row.push(if one.load == LOAD { verdict(times) } else { "" }.into());
        let baseline = same(report, Peer::Nothing, one.disturbance, one);
        row.push(baseline.map_or_else(String::new, |baseline| microseconds(baseline.p999)));
        rows.push(row);
    }
    rows
}

fn verdict(times: f64) -> &'static str {
    if times < TIMES { "yes" } else { "no" }
}

/// Returns the latency with the same parameters except for the map and the disturbance.
fn same<'r>(
    report: &'r Report,
    peer: Peer,
    disturbance: Disturbance,
    other: &Latency,
) -> Option<&'r Latency> {
    let wanted = (Subject { peer, ..other.subject }, other.load, disturbance);
    report.latencies.iter().find(|one| (one.subject, one.load, one.disturbance) == wanted)
}
