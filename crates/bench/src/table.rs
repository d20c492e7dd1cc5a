//! A report for readers.

use std::fmt::Write;

use crate::adapters::Peer;
use crate::report::{MemoryUse, Moment, Overhead, Report, Subject};
use crate::workload::{Distribution, Workload};

/// What the densest peer takes: HOT, 20 million pairs of 16 + 16 bytes.
const BYTES_PER_PAIR_BAR: f64 = 46.0;

/// All of a report as text.
pub fn render(report: &Report) -> String {
    let mut text = header(report);
    for (group, threads, distribution) in panels(report) {
        panel(&mut text, report, group, threads, distribution);
    }
    memory(&mut text, report);
    for failed in &report.failures {
        let _ = writeln!(text, "{} failed: {}", failed.peer.name(), failed.reason);
    }
    text
}

/// Lays out rows of cells in columns: the first to the left, the others to the right.
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

/// `1 thread`, `2 threads`.
pub fn count_threads(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

fn header(report: &Report) -> String {
    let (setup, plan, machine) = (&report.setup, &report.setup.plan, &report.setup.machine);
    let gib = machine.memory_bytes as f64 / f64::from(1 << 30);
    let overhead = |one: &Overhead| format!("{:.1} ns {}", one.nanoseconds, one.distribution.name());
    let overheads: Vec<String> = setup.overhead.iter().map(overhead).collect();
    format!(
        "{} pairs of {} + {} bytes, {} x {} s a workload, seed {}; {}, revision {}\n\
         {}, {} cores, {gib:.0} GiB, huge pages: {}, kernel {}, load before {:.1}\n\
         Million operations a second: median, half the spread, ratio to Honeycomb's median.\n\
         The benchmark itself takes {} of an operation.\n",
        plan.pairs,
        setup.key_bytes,
        setup.value_bytes,
        plan.repetitions,
        plan.slice.as_secs_f64(),
        plan.seed,
        setup.date,
        setup.revision.as_deref().unwrap_or("unknown"),
        machine.processor,
        machine.cores,
        machine.huge_pages,
        machine.kernel,
        machine.load,
        overheads.join(", "),
    )
}

/// What is shown in one table each.
fn panels(report: &Report) -> Vec<(usize, usize, Distribution)> {
    let key = |subject: &Subject| (subject.group, subject.threads, subject.distribution);
    let mut panels: Vec<_> = report.measurements.iter().map(|one| key(&one.subject)).collect();
    panels.sort_unstable();
    panels.dedup();
    panels
}

fn panel(text: &mut String, report: &Report, group: usize, threads: usize, distribution: Distribution) {
    let subject = |peer, workload| Subject { group, threads, distribution, workload, peer };
    let workloads =
        report.workloads(|one| (one.group, one.threads, one.distribution) == (group, threads, distribution));
    let mut title = format!("{}, {}", distribution.name(), count_threads(threads));
    if group > 1 {
        title.push_str(&format!(", group {group}"));
    }
    let mut rows = vec![vec![title]];
    rows[0].extend(workloads.iter().map(|workload| workload.name()));
    for peer in &report.setup.plan.peers {
        let cells: Vec<String> =
            workloads.iter().map(|workload| cell(report, &subject(*peer, *workload))).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            rows.push([vec![peer.name()], cells].concat());
        }
    }
    let _ = write!(text, "\n{}", columns(&rows));
}

fn cell(report: &Report, subject: &Subject) -> String {
    let Some(measurement) = report.measurement(subject) else {
        return String::new();
    };
    let summary = measurement.summary;
    let spread = 50.0 * (summary.max - summary.min) / summary.median;
    let ratio = match report.ratio(subject) {
        Some(ratio) if subject.peer != Peer::Honeycomb => format!("{ratio:.2}x"),
        _ => String::new(),
    };
    format!("{:.3} ±{spread:>2.0}% {ratio:>6}", summary.median / 1e6)
}

fn memory(text: &mut String, report: &Report) {
    let names = ["bytes a pair", "resident", "by its own account", "resident at the end"];
    let mut rows = vec![names.map(String::from).to_vec()];
    let a_pair = |bytes: u64, pairs: u64| format!("{:.1}", bytes as f64 / pairs as f64);
    for loaded in report.memory.iter().filter(|one| one.moment == Moment::Loaded) {
        let is_end =
            |one: &&MemoryUse| (one.group, one.peer, one.moment) == (loaded.group, loaded.peer, Moment::End);
        let end = report.memory.iter().find(is_end).map(|one| one.memory);
        rows.push(vec![
            loaded.peer.name(),
            a_pair(loaded.memory.resident_bytes, loaded.memory.pairs),
            loaded
                .memory
                .accounted_bytes
                .map_or_else(String::new, |bytes| a_pair(bytes, loaded.memory.pairs)),
            end.map_or_else(String::new, |memory| a_pair(memory.resident_bytes, memory.pairs)),
        ]);
    }
    let _ = write!(text, "\n{}", columns(&rows));
    let honeycomb = report.memory.iter().find(|one| one.peer == Peer::Honeycomb);
    if let Some(MemoryUse { memory, .. }) = honeycomb {
        let bytes = memory.resident_bytes as f64 / memory.pairs as f64;
        let _ = writeln!(
            text,
            "Honeycomb takes {bytes:.1} bytes a pair all told; the bar is {BYTES_PER_PAIR_BAR:.0}."
        );
    }
}

impl Report {
    /// The workloads of the measurements that `of` holds for, in order.
    fn workloads(&self, of: impl Fn(&Subject) -> bool) -> Vec<Workload> {
        let chosen = self.measurements.iter().map(|one| &one.subject).filter(|one| of(one));
        let mut workloads: Vec<Workload> = chosen.map(|one| one.workload).collect();
        workloads.sort_unstable();
        workloads.dedup();
        workloads
    }
}
