//! A report as tables.

use std::fmt::Write;

use honeycomb_workload::Workload;

use crate::access_stats::AccessStats;
use crate::adapters::Peer;
use crate::cores::count_threads;
use crate::counters::Counts;
use crate::report::{MemoryUse, Moment, Overhead, Report, Skipped, Subject};

/// Bytes per pair of HOT, the densest known map, with 20 million pairs of 16 + 16 bytes.
const BYTES_PER_PAIR_BAR: f64 = 46.0;

/// Returns a report as text.
pub fn render(report: &Report) -> String {
    let mut text = header(report);
    for shown in panels(report) {
        panel(&mut text, report, shown);
    }
    counts(&mut text, report);
    latencies(&mut text, report);
    limits(&mut text, report);
    memory(&mut text, report);
    access_stats(&mut text, report);
    for Skipped { peer, sizes, reason } in &report.skipped {
        let _ = writeln!(text, "{peer} does not support {sizes}: {reason}");
    }
    for failed in &report.failures {
        let _ = writeln!(text, "{} failed: {}", failed.peer, failed.reason);
    }
    text
}

/// Formats rows of cells as columns. The first column is left-aligned, the others are right-aligned.
pub fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| Some(row.get(column)?.chars().count())).max();
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cell = |(column, cell): (usize, &String)| match (column, widths[column]) {
            (0, width) => format!("{cell:width$}"),
            (_, width) => format!("  {cell:>width$}"),
        };
        let line: String = row.iter().enumerate().map(cell).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn header(report: &Report) -> String {
    let (setup, plan, machine) = (&report.setup, &report.setup.plan, &report.setup.machine);
    let gib = machine.memory_bytes as f64 / f64::from(1 << 30);
    let overhead =
        |one: &Overhead| format!("{:.1} ns {} {}", one.nanoseconds, one.distribution.name(), one.sizes);
    let overheads: Vec<String> = setup.overhead.iter().map(overhead).collect();
    format!(
        "{} pairs of {} bytes, {} x {} s a workload, seed {}; {}, revision {}\n\
         {}, {} cores, {} NUMA nodes, {gib:.0} GiB, huge pages: {}, kernel {}, load before {:.1}\n\
         Million operations per second: median, half the spread, and the ratio to Honeycomb's median; for\n\
         Honeycomb, the share of the rate that reads of the requested lines would allow.\n\
         The benchmark adds {} to each operation.\n",
        list(&plan.pairs),
        list(&plan.sizes),
        plan.repetitions,
        plan.slice.as_secs_f64(),
        plan.seed,
        setup.date,
        setup.revision.as_deref().unwrap_or("unknown"),
        machine.processor,
        machine.cores,
        machine.numa_nodes,
        machine.huge_pages,
        machine.kernel,
        machine.load,
        overheads.join(", "),
    )
}

fn list(values: &[impl ToString]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns the subject of each table, with any workload and map.
fn panels(report: &Report) -> Vec<Subject> {
    let (workload, peer) = (Workload::Load, Peer::HONEYCOMB);
    let mut panels: Vec<_> =
        report.measurements.iter().map(|one| Subject { workload, peer, ..one.subject }).collect();
    panels.sort_unstable();
    panels.dedup();
    panels
}

fn panel(text: &mut String, report: &Report, shown: Subject) {
    let workloads = report.workloads(shown);
    let Subject { pairs, sizes, threads, batch, distribution, group, .. } = shown;
    let mut title = format!("{}, {}", distribution.name(), count_threads(threads));
    if batch > 1 {
        title.push_str(&format!(", batch {batch}"));
    }
    if group > 1 {
        title.push_str(&format!(", group {group}: {pairs} pairs of {sizes}"));
    }
    let mut rows = vec![vec![title]];
    rows[0].extend(workloads.iter().map(Workload::to_string));
    for &peer in &report.setup.plan.peers {
        let cell = |&workload: &Workload| cell(report, &Subject { peer, workload, ..shown });
        let cells: Vec<String> = workloads.iter().map(cell).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            rows.push([vec![peer.to_string()], cells].concat());
        }
    }
    let _ = write!(text, "\n{}", columns(&rows));
}

fn counts(text: &mut String, report: &Report) {
    if let Some(reason) = &report.setup.no_counters {
        let _ = writeln!(text, "\nInstructions and lines are not available: {reason}.");
        return;
    }
    let names = ["hardware counters", "instructions", "lines", "lines of memory"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for one in &report.measurements {
        if let Some(Counts { instructions, lines, memory_lines }) = one.counts {
            let counts = [instructions, lines, memory_lines].map(|count| format!("{count:.1}"));
            rows.push([vec![one.subject.to_string()], counts.to_vec()].concat());
        }
    }
    let _ = write!(text, "\n{}", columns(&rows));
}

fn latencies(text: &mut String, report: &Report) {
    if report.latencies.is_empty() {
        return;
    }
    let names = ["latency in µs", "load", "due M/s", "done M/s", "p50", "p90", "p99", "p99.9", "max"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for one in &report.latencies {
        let name = format!("{}, {}", one.subject, one.disturbance.name());
        let mut row = vec![name, format!("{} %", one.load)];
        row.extend([one.due, one.done].map(|rate| format!("{:.3}", rate / 1e6)));
        let times = [one.p50, one.p90, one.p99, one.p999, one.max];
        row.extend(times.map(|nanoseconds| format!("{:.1}", nanoseconds as f64 / 1e3)));
        rows.push(row);
    }
    let _ = write!(text, "\n{}", columns(&rows));
}

fn limits(text: &mut String, report: &Report) {
    let mut rows = vec![vec!["limits of the machine".to_string()]];
    if let Some(first) = report.limits.first() {
        rows[0].extend(first.groups.iter().map(|group| format!("{} lines M/s", group.lines)));
        rows[0].extend(["chained ns", "GB/s", "new memory GB/s", "in huge pages"].map(String::from));
    }
    for one in &report.limits {
        let mut row = vec![format!("{} pairs of {}, {}", one.pairs, one.sizes, count_threads(one.threads))];
        row.extend(one.groups.iter().map(|group| format!("{:.1}", group.rate / 1e6)));
        let others = [one.chained_nanoseconds, one.sequential / 1e9, one.new_memory / 1e9];
        row.extend(others.map(|number| format!("{number:.1}")));
        row.push(format!("{:.0} %", 100.0 * one.in_huge_pages));
        rows.push(row);
    }
    let _ = write!(text, "\n{}", columns(&rows));
}

fn cell(report: &Report, subject: &Subject) -> String {
    let Some(measurement) = report.measurement(subject) else {
        return String::new();
    };
    let summary = measurement.summary;
    let spread = 50.0 * (summary.max - summary.min) / summary.median;
    let ratio = if subject.peer == Peer::HONEYCOMB {
        report.of_limit(measurement).map(|part| format!("{:.0}%", 100.0 * part))
    } else {
        report.ratio(subject).map(|ratio| format!("{ratio:.2}x"))
    };
    let ratio = ratio.unwrap_or_default();
    format!("{:.3} ±{spread:>2.0}% {ratio:>6}", summary.median / 1e6)
}

fn memory(text: &mut String, report: &Report) {
    let names = ["bytes per pair", "resident", "in huge pages", "accounted", "resident at the end"];
    let mut rows = vec![names.map(String::from).to_vec()];
    let per_pair = |bytes: u64, pairs: u64| format!("{:.1}", bytes as f64 / pairs as f64);
    for loaded in report.memory.iter().filter(|one| one.moment == Moment::Loaded) {
        let is_end =
            |one: &&MemoryUse| (one.group, one.peer, one.moment) == (loaded.group, loaded.peer, Moment::End);
        let end = report.memory.iter().find(is_end).map(|one| one.memory);
        rows.push(vec![
            loaded.peer.to_string(),
            per_pair(loaded.memory.resident_bytes, loaded.memory.pairs),
            per_pair(loaded.memory.huge_page_bytes, loaded.memory.pairs),
            loaded
                .memory
                .accounted_bytes
                .map_or_else(String::new, |bytes| per_pair(bytes, loaded.memory.pairs)),
            end.map_or_else(String::new, |memory| per_pair(memory.resident_bytes, memory.pairs)),
        ]);
    }
    let _ = write!(text, "\n{}", columns(&rows));
    let honeycomb = report.memory.iter().find(|one| one.peer == Peer::HONEYCOMB);
    if let Some(MemoryUse { memory, .. }) = honeycomb {
        let bytes = memory.resident_bytes as f64 / memory.pairs as f64;
        let _ = writeln!(
            text,
            "Honeycomb uses {bytes:.1} bytes per pair in total; the target is {BYTES_PER_PAIR_BAR:.0}."
        );
    }
}

fn access_stats(text: &mut String, report: &Report) {
    if report.access_stats.is_empty() {
        return;
    }
    let names =
        ["accesses of a search", "pairs", "bytes of a get", "lines", "bytes of a scan's start", "lines"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for AccessStats { peer, pairs, sizes, get, scan } in &report.access_stats {
        let mut row = vec![peer.to_string(), format!("{pairs} of {sizes}")];
        row.extend([get.bytes, get.lines, scan.bytes, scan.lines].map(|number| format!("{number:.1}")));
        rows.push(row);
    }
    let _ = write!(text, "\n{}", columns(&rows));
}

impl Report {
    /// Returns the workloads of a table, in order.
    fn workloads(&self, shown: Subject) -> Vec<Workload> {
        let is_shown =
            |one: &&Subject| Subject { workload: shown.workload, peer: shown.peer, ..**one } == shown;
        let subjects = self.measurements.iter().map(|one| &one.subject).filter(is_shown);
        let mut workloads: Vec<Workload> = subjects.map(|one| one.workload).collect();
        workloads.sort_unstable();
        workloads.dedup();
        workloads
    }
}
