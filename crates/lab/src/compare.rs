//! Changes between two reports beyond noise.
//!
//! The speed of a machine varies from day to day. So each ratio is divided by the drift: the median change of
//! the other maps that both reports measured for the same workload. A change is significant if the samples of
//! the two reports do not overlap (with five samples each, this happens by chance in one of a hundred cases)
//! and if the medians differ by more than [`CHANGE_MIN`].

use serde::Serialize;

use crate::report::{Measurement, Report, Subject};
use crate::summary::median;
use crate::table::columns;

/// Smaller changes are not significant.
pub const CHANGE_MIN: f64 = 0.03;

/// The change of one number.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The measured subject.
    #[serde(flatten)]
    pub subject: Subject,
    /// Earlier median in operations per second.
    pub before: f64,
    /// Later median in operations per second.
    pub after: f64,
    /// Change of the other maps; 1 without other maps.
    pub drift: f64,
    /// `after` over `before`, divided by the drift.
    pub ratio: f64,
    /// Whether the change is significant.
    pub verdict: Verdict,
}

/// Whether a change is significant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Significantly faster.
    Faster,
    /// Significantly slower.
    Slower,
    /// Within noise.
    Same,
}

/// Compares all measurements that both reports contain, in the order of `before`.
pub fn compare(before: &Report, after: &Report) -> Vec<Change> {
    let pairs: Vec<_> =
        before.measurements.iter().filter_map(|one| Some((one, after.measurement(&one.subject)?))).collect();
    pairs.iter().map(|(before, after)| change(before, after, drift(&before.subject, &pairs))).collect()
}

/// Returns the significant changes as text, and the number of others.
pub fn render(changes: &[Change]) -> String {
    let names = ["changed beyond noise", "before", "after", "drift", "change", ""].map(String::from);
    let mut rows = vec![names.to_vec()];
    let significant = changes.iter().filter(|change| change.verdict != Verdict::Same);
    rows.extend(significant.map(row));
    let same = changes.len() + 1 - rows.len();
    let mut text = if rows.len() > 1 { columns(&rows) } else { String::new() };
    text.push_str(&format!("{same} of {} numbers did not change beyond noise.\n", changes.len()));
    text
}

fn row(change: &Change) -> Vec<String> {
    let name = change.subject.to_string();
    let million = |rate: f64| format!("{:.3} M/s", rate / 1e6);
    let percent = |ratio: f64| format!("{:+.1} %", 100.0 * (ratio - 1.0));
    let verdict = if change.verdict == Verdict::Faster { "faster" } else { "SLOWER" };
    let numbers =
        [million(change.before), million(change.after), percent(change.drift), percent(change.ratio)];
    [vec![name], numbers.to_vec(), vec![verdict.into()]].concat()
}

fn drift(subject: &Subject, pairs: &[(&Measurement, &Measurement)]) -> f64 {
    let is_other =
        |other: &Subject| other.peer != subject.peer && Subject { peer: subject.peer, ..*other } == *subject;
    let others = pairs.iter().filter(|(before, _)| is_other(&before.subject));
    let ratios: Vec<f64> =
        others.map(|(before, after)| after.summary.median / before.summary.median).collect();
    if ratios.is_empty() { 1.0 } else { median(&ratios) }
}

fn change(before: &Measurement, after: &Measurement, drift: f64) -> Change {
    let (old, new) = (before.summary, after.summary);
    let ratio = new.median / old.median / drift;
    let verdict = if ratio > 1.0 + CHANGE_MIN && new.min / drift > old.max {
        Verdict::Faster
    } else if ratio < 1.0 - CHANGE_MIN && new.max / drift < old.min {
        Verdict::Slower
    } else {
        Verdict::Same
    };
    Change { subject: before.subject, before: old.median, after: new.median, drift, ratio, verdict }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use honeycomb_workload::{Distribution, Sizes, Workload};

    use super::*;
    use crate::adapters::Peer;
    use crate::machine::Machine;
    use crate::map::Failure;
    use crate::plan::Plan;
    use crate::report::Setup;
    use crate::summary::Summary;

    const HONEYCOMB: Peer = Peer::HONEYCOMB;

    /// Returns a report with measurements of gets.
    fn report(samples: &[(Peer, &[f64])]) -> Result<Report, Failure> {
        let (workloads, distributions, peers, threads, batches, open_loads) = Default::default();
        let plan = Plan {
            pairs: vec![1_000],
            sizes: vec![Sizes::DEFAULT],
            peers,
            workloads,
            distributions,
            threads,
            batches,
            open_loads,
            disturbances: Vec::new(),
            access_stats: false,
            repetitions: 3,
            slice: Duration::from_secs(1),
            seed: 1,
        };
        let (date, revision, no_counters, overhead) = Default::default();
        let machine = Machine::current()?;
        let setup = Setup { date, revision, no_counters, plan, machine, overhead };
        let (distribution, workload) = (Distribution::Uniform, Workload::Get);
        let (pairs, sizes) = (1_000, Sizes::DEFAULT);
        let measurement = |&(peer, samples): &(Peer, &[f64])| Measurement {
            subject: Subject { group: 1, pairs, sizes, threads: 1, batch: 1, distribution, workload, peer },
            summary: Summary::of(samples),
            counts: None,
            samples: samples.to_vec(),
        };
        let measurements = samples.iter().map(measurement).collect();
        let (latencies, limits, memory, access_stats, skipped, failures) = Default::default();
        Ok(Report { setup, measurements, latencies, limits, memory, access_stats, skipped, failures })
    }

    /// Returns the verdict on Honeycomb, and its ratio in per cent.
    fn verdict(before: &[(Peer, &[f64])], after: &[(Peer, &[f64])]) -> Result<(Verdict, f64), Failure> {
        let changes = compare(&report(before)?, &report(after)?);
        let change = changes.iter().find(|change| change.subject.peer == HONEYCOMB).ok_or("no change")?;
        Ok((change.verdict, (change.ratio * 100.0).round()))
    }

    #[test]
    fn samples_that_do_not_overlap_are_significant() -> Result<(), Failure> {
        let before = [(HONEYCOMB, &[100.0, 105.0, 95.0][..])];
        assert_eq!(verdict(&before, &[(HONEYCOMB, &[110.0, 120.0, 106.0])])?, (Verdict::Faster, 110.0));
        assert_eq!(verdict(&before, &[(HONEYCOMB, &[110.0, 120.0, 104.0])])?, (Verdict::Same, 110.0));
        assert_eq!(verdict(&before, &[(HONEYCOMB, &[90.0, 94.0, 80.0])])?, (Verdict::Slower, 90.0));
        assert_eq!(verdict(&before, &[(HONEYCOMB, &[90.0, 96.0, 80.0])])?, (Verdict::Same, 90.0));
        Ok(())
    }

    #[test]
    fn a_small_change_is_not_significant() -> Result<(), Failure> {
        let before = [(HONEYCOMB, &[100.0, 100.0][..])];
        assert_eq!(verdict(&before, &[(HONEYCOMB, &[102.0, 102.0])])?, (Verdict::Same, 102.0));
        assert_eq!(verdict(&before, &[(HONEYCOMB, &[104.0, 104.0])])?, (Verdict::Faster, 104.0));
        Ok(())
    }

    #[test]
    fn a_faster_machine_is_not_significant() -> Result<(), Failure> {
        let peers = [Peer::Masstree, Peer::Congee, Peer::BTreeMap];
        let before = [(HONEYCOMB, 100.0), (peers[0], 50.0), (peers[1], 70.0), (peers[2], 80.0)];
        let samples = before.map(|(peer, median)| (peer, [median - 1.0, median, median + 1.0]));
        let twice = samples.map(|(peer, rates)| (peer, rates.map(|rate| 2.0 * rate)));
        let (before, mut after) = (samples.each_ref().map(slices), twice.each_ref().map(slices));
        assert_eq!(verdict(&before, &after)?, (Verdict::Same, 100.0));
        // One unchanged map does not affect the median of the others.
        after[1].1 = before[1].1;
        assert_eq!(verdict(&before, &after)?, (Verdict::Same, 100.0));
        after[0].1 = before[0].1;
        assert_eq!(verdict(&before, &after)?, (Verdict::Slower, 50.0));
        Ok(())
    }

    fn slices((peer, rates): &(Peer, [f64; 3])) -> (Peer, &[f64]) {
        (*peer, rates)
    }

    #[test]
    fn the_text_lists_significant_changes_and_counts_the_others() -> Result<(), Failure> {
        let before = report(&[(HONEYCOMB, &[1e6]), (Peer::Masstree, &[2e6])])?;
        let after = report(&[(HONEYCOMB, &[2e6]), (Peer::Congee, &[2e6])])?;
        let text = render(&compare(&before, &after));
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let expected = "honeycomb get, uniform, 1 thread 1.000 M/s 2.000 M/s +0.0 % +100.0 % faster";
        assert_eq!(lines[1], expected.split(' ').collect::<Vec<_>>(), "{text}");
        assert!(text.ends_with("0 of 1 numbers did not change beyond noise.\n"), "{text}");
        Ok(())
    }
}
