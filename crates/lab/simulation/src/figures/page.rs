//! The page of all figures.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use honeycomb_lab::figure_text::{self, FigureText, NOT_MEASURED};
use honeycomb_workload::Failure;

use super::stored::{self, Row};
use super::{FIGURES, Figure};
use crate::report::Report;

/// A column of a table: its title, and the format of its cells.
pub(super) type Column = (&'static str, fn(&Report) -> String);

pub(super) const RATES: &[Column] = &[
    ("million/s", |of| format!("{:.2}", of.million_operations_a_second)),
    ("median, ns", |of| format!("{:.0}", of.nanoseconds(of.median))),
    ("99 %, ns", |of| format!("{:.0}", of.nanoseconds(of.percentile_99))),
];

pub(super) const LIMITS: &[Column] = &[
    ("host GB/s", |of| format!("{:.1}", gigabytes(of, of.host_bytes))),
    ("links busy", |of| percent(of.links_busy)),
    ("host reads in flight", |of| format!("{:.0}", of.host_reads_in_flight)),
    ("ns each", |of| format!("{:.0}", of.host_read_nanoseconds)),
    ("channels busy", |of| percent(of.channels_busy)),
    ("search units busy", |of| format!("{:.1} of {}", of.search_units_busy, of.search_units)),
    ("descents", |of| format!("{:.1} of {}", of.descents, of.search_descents)),
    ("scan units busy", |of| format!("{:.1} of {}", of.scan_units_busy, of.scan_units)),
    ("scan slots", |of| format!("{:.1} of {}", of.scan_requests, of.scan_slots)),
];

pub(super) const INTERFACES: &[Column] = &[
    ("link bytes an operation", |of| format!("{:.0}", of.link_bytes)),
    ("on-board lines", |of| format!("{:.1}", of.on_board_lines)),
    ("rows activated", |of| format!("{:.1}", of.activations)),
    ("row conflicts", |of| format!("{:.1}", of.row_conflicts)),
    ("bus turns", |of| format!("{:.2}", of.turns)),
    ("refreshing", |of| percent(of.refreshing)),
];

pub(super) const SOURCES: &[Column] = &[
    ("host reads, million/s", |of| format!("{:.1}", of.host_reads * of.million_operations_a_second)),
    ("on-board GB/s", |of| format!("{:.1}", gigabytes(of, 64.0 * of.on_board_lines))),
    ("on-board reads, million/s", |of| format!("{:.1}", of.on_board_reads * of.million_operations_a_second)),
    ("chip GB/s", |of| format!("{:.1}", gigabytes(of, of.chip_bytes))),
    ("hits", |of| percent(of.hit_share())),
];

pub(super) const WRITES: &[Column] = &[
    ("writes, million/s", |of| format!("{:.2}", of.writes * of.million_operations_a_second)),
    ("mappings a write", |of| format!("{:.2}", of.mappings / of.writes.max(f64::MIN_POSITIVE))),
    ("registers busy", |of| percent(of.control_busy)),
    ("requests held", |of| percent(of.requests_held)),
];

const HEAD: &str = "# Figures on the simulated accelerator\n\n`make rtl-figures` measures, draws and \
    writes this page: figures 12 to 17 of the paper and some of our own, on the accelerator in \
    SystemVerilog ([pipeline](../../design/pipeline.md)) behind models of the paper's machine: 220 MHz, \
    two PCIe Gen3 x8 with 13.0 GB/s, two channels of DDR4-2133 with \
    [banks, rows, refresh and turns](../../decisions/0194-banks-and-rows.md). It has as many units as \
    [fit the paper's device](../../decisions/0149-units-that-fit.md). Where an engine is granted a lower \
    [clock](../../design/timing.md) than 220 MHz, a rate is at least its share of the one below. \
    `honeycomb-simulation figures NAME` measures one figure. \
    The figures of the [software accelerator](../README.md) have the same numbers.\n\nUnless a figure \
    says otherwise, 128 operations are in flight in a closed loop, and the store has 160,000 pairs of 16 \
    + 16 bytes in nodes of 8 KiB, so there are two levels of interior nodes above the leaves. Cache, load \
    balancer and levels on chip are on. Columns of leaves in on-board memory, which the paper does not \
    have, are off where a row does not name them. Figure 17 and a part of the figure of limits use a store \
    as large as that of the paper, 128 million pairs, whose tree has three levels of interior nodes; their \
    operations repeat beforehand until on-board memory serves hardly more lines of nodes and of columns. \
    In figure 16, 24,000 pairs in nodes of 1 KiB make a tree of the \
    same height. Pairs were inserted one by one, so leaves have logs. The accelerator executes reads. The \
    code of the CPU executes writes at the same time, on 8 cores that each take 1 µs for a write; this \
    time is a parameter and not a measurement. Updates of writers reach the accelerator through its \
    registers, except for the nodes that exist at the start, whose words the simulator writes into the page \
    table. \
    Times are simulated and the same on every machine. A measurement counts 1,500 operations that end while \
    the loop is full, after 600 others; in the figure of limits 6,000 with 256 in flight, after 1,200.\n";

/// Writes the page of all measurements in a folder.
pub(super) fn write(folder: &Path) -> Result<(), Failure> {
    let mut text = String::from(HEAD);
    let mut cycles = (0.0, 0.0);
    for figure in &FIGURES {
        let rows = stored::read(figure, folder)?;
        for Row { report, .. } in &rows {
            cycles.0 += report.cycles as f64;
            cycles.1 += report.cycles as f64 / report.simulated_cycles_a_second;
        }
        text.push_str(&section(figure, &rows));
    }
    let speed = cycles.0 / cycles.1 / 1e3;
    let (millions, minutes) = (cycles.0 / 1e6, cycles.1 / 60.0);
    let _ = write!(
        text,
        "\n## Speed of the simulation\n\nThe simulator executed {millions:.1} million measured cycles in \
         {minutes:.0} minutes, {speed:.1} thousand a second. This excludes building trees and loading the \
         accelerator.\n"
    );
    Ok(fs::write(folder.join("rtl-figures.md"), text)?)
}

fn section(figure: &Figure, rows: &[Row]) -> String {
    let FigureText { title, .. } = figure.text;
    if rows.is_empty() {
        return figure.text.section(NOT_MEASURED);
    }
    let table = table(figure, rows);
    figure.text.section(&format!("![{title}](figures/rtl-{}.svg)\n\n{table}\n", figure.text.stem()))
}

fn table(figure: &Figure, rows: &[Row]) -> String {
    let columns = || figure.columns.iter().copied().flatten();
    let titles = ["", figure.axis].into_iter().chain(columns().map(|(title, _)| *title));
    let rows = rows.iter().map(|Row { series, x, report }| {
        let names = [series.clone(), x.clone()].into_iter();
        names.chain(columns().map(|(_, format)| format(report))).collect()
    });
    let all: Vec<Vec<String>> = std::iter::once(titles.map(str::to_owned).collect()).chain(rows).collect();
    figure_text::table(&all)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Returns gigabytes per second.
fn gigabytes(of: &Report, bytes_an_operation: f64) -> f64 {
    bytes_an_operation * of.million_operations_a_second / 1e3
}
