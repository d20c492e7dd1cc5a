//! What a run measured, as JSON and as CSV.

use std::fmt;
use std::fs;
use std::path::Path;

use honeycomb_workload::{Distribution, Sizes, Workload};
use serde::{Deserialize, Serialize};

use crate::adapters::Peer;
use crate::cores::count_threads;
use crate::counters::Counts;
use crate::limits::Limits;
use crate::machine::Machine;
use crate::map::Failure;
use crate::open::Disturbance;
use crate::plan::Plan;
use crate::summary::Summary;
use crate::touched::AccessStats;
use crate::worker::Memory;

/// All of a run; `bench.json` is this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What was measured, and where.
    pub setup: Setup,
    /// Operations a second.
    pub measurements: Vec<Measurement>,
    /// How late operations of open loops were.
    pub latencies: Vec<Latency>,
    /// What the machine itself can do.
    pub limits: Vec<Limits>,
    /// Memory of the maps.
    pub memory: Vec<MemoryUse>,
    /// What searches touch in Honeycombs.
    pub touched: Vec<AccessStats>,
    /// Maps that were left out because they cannot hold such pairs.
    pub skipped: Vec<Skipped>,
    /// Maps that failed; what they did until then is kept.
    pub failures: Vec<FailedPeer>,
}

/// What was measured, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// When the run began, RFC 3339.
    pub date: String,
    /// Revision of the sources, if known.
    pub revision: Option<String>,
    /// The parameters.
    pub plan: Plan,
    /// The machine.
    pub machine: Machine,
    /// Why there are no counts of the processor, if there are none.
    pub no_counters: Option<String>,
    /// What the benchmark itself costs a get, included in every number.
    pub overhead: Vec<Overhead>,
}

/// What choosing a pair and making its key costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// How long keys are.
    pub sizes: Sizes,
    /// How pairs are chosen.
    pub distribution: Distribution,
    /// Time an operation.
    pub nanoseconds: f64,
}

/// What the samples of one number are of. Only numbers of one group can be divided by each other: maps of
/// different groups did not run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// Number of the group of maps that were loaded at once, from 1.
    pub group: usize,
    /// How many pairs were loaded.
    pub pairs: u64,
    /// How long keys and values were.
    pub sizes: Sizes,
    /// How many threads.
    pub threads: usize,
    /// How many operations of a thread ran together.
    pub batch: usize,
    /// How pairs were chosen.
    pub distribution: Distribution,
    /// The mix of operations.
    pub workload: Workload,
    /// The map.
    pub peer: Peer,
}

/// Operations a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Of what.
    #[serde(flatten)]
    pub subject: Subject,
    /// Over all samples.
    #[serde(flatten)]
    pub summary: Summary,
    /// What the processor counted for an operation, where it can be read.
    pub counts: Option<Counts>,
    /// In the order measured.
    pub samples: Vec<f64>,
}

/// How late operations were that were due at times drawn beforehand. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Of what.
    #[serde(flatten)]
    pub subject: Subject,
    /// How many came due, in per cent of what an open loop with this map can do.
    pub load: u32,
    /// What went on beside.
    pub disturbance: Disturbance,
    /// How many came due a second.
    pub due: f64,
    /// How many were done a second.
    pub done: f64,
    /// How many were timed.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// Half were at most so late.
    pub p50: u64,
    /// 90 % were.
    pub p90: u64,
    /// 99 % were.
    pub p99: u64,
    /// 99.9 % were.
    pub p999: u64,
    /// The latest.
    pub max: u64,
}

/// Memory of a map.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// The group in which it was loaded.
    pub group: usize,
    /// The map.
    pub peer: Peer,
    /// When.
    pub moment: Moment,
    /// How much.
    #[serde(flatten)]
    pub memory: Memory,
}

/// When memory was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// After the load.
    Loaded,
    /// After all workloads.
    End,
}

/// A map that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The map.
    pub peer: Peer,
    /// The pairs it cannot hold.
    pub sizes: Sizes,
    /// Why.
    pub reason: String,
}

/// A map that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedPeer {
    /// The map.
    pub peer: Peer,
    /// Doing what, and why.
    pub reason: String,
}

impl Report {
    /// Reads a `bench.json`.
    pub fn read(path: &Path) -> Result<Report, Failure> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| named(&error))?;
        Ok(serde_json::from_str(&text).map_err(|error| named(&error))?)
    }

    /// Writes `bench.json`, `bench.csv` and, of open loops, `latency.csv` into a folder, which is made if it
    /// is not there.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(|error| named(&error))?;
        let write =
            |name: &str, text: String| fs::write(folder.join(name), text).map_err(|error| named(&error));
        write("bench.json", self.json()? + "\n")?;
        write("bench.csv", self.csv()?)?;
        if !self.latencies.is_empty() {
            write("latency.csv", csv_of(self.latencies.iter().map(latency_record), LATENCY_COLUMNS)?)?;
        }
        Ok(())
    }

    /// All of it.
    pub fn json(&self) -> Result<String, Failure> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// The measurements, a line each.
    pub fn csv(&self) -> Result<String, Failure> {
        csv_of(self.measurements.iter().map(|one| self.record(one)), COLUMNS)
    }

    fn record(&self, measurement: &Measurement) -> Vec<String> {
        let Measurement { subject, summary, counts, samples } = measurement;
        let fraction = |part: Option<f64>| part.map_or_else(String::new, |part| format!("{part:.3}"));
        let numbers = [summary.median, summary.min, summary.max, summary.deviation];
        let mut record = subject.record();
        record.push(samples.len().to_string());
        record.extend(numbers.map(|number| format!("{number:.0}")));
        record.push(fraction(self.ratio(subject)));
        record.push(fraction(self.of_limit(measurement)));
        let counts = counts.map(|one| [one.instructions, one.lines, one.memory_lines]);
        let none = [String::new(), String::new(), String::new()];
        record.extend(counts.map_or(none, |counts| counts.map(|count| format!("{count:.2}"))));
        record
    }

    /// The measurement of a subject.
    pub fn measurement(&self, subject: &Subject) -> Option<&Measurement> {
        self.measurements.iter().find(|one| one.subject == *subject)
    }

    /// A median over Honeycomb's of the same group.
    pub fn ratio(&self, subject: &Subject) -> Option<f64> {
        let honeycomb = self.measurement(&Subject { peer: Peer::HONEYCOMB, ..*subject })?;
        Some(self.measurement(subject)?.summary.median / honeycomb.summary.median)
    }

    /// The part of what the machine could do that a measurement reached; of batches and single operations
    /// alike.
    pub fn of_limit(&self, measurement: &Measurement) -> Option<f64> {
        let subject = &measurement.subject;
        let same = |one: &&Limits| (one.pairs, one.sizes, one.threads) == subject.contents_and_threads();
        let limits = self.limits.iter().find(same)?;
        Some(measurement.summary.median / limits.rate(subject.workload))
    }
}

const COLUMNS: &str = "group,peer,pairs,sizes,workload,distribution,threads,batch,\
    samples,median,min,max,deviation,to_honeycomb,of_limit,instructions,lines,memory_lines";
const LATENCY_COLUMNS: &str = "group,peer,pairs,sizes,workload,distribution,threads,batch,\
    load,disturbance,due,done,count,mean,p50,p90,p99,p999,max";

impl fmt::Display for Subject {
    /// What tells it from others of a run with few parameters, and what is unusual.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Subject { group, sizes, threads, batch, distribution, workload, peer, .. } = self;
        write!(formatter, "{peer} {workload}, {}, {}", distribution.name(), count_threads(*threads))?;
        if *batch > 1 {
            write!(formatter, ", batch {batch}")?;
        }
        if *sizes != Sizes::DEFAULT {
            write!(formatter, ", {sizes}")?;
        }
        if *group > 1 {
            write!(formatter, ", group {group}")?;
        }
        Ok(())
    }
}

impl Subject {
    /// What the machine's limits depend on.
    fn contents_and_threads(&self) -> (u64, Sizes, usize) {
        (self.pairs, self.sizes, self.threads)
    }

    /// The first columns of a CSV.
    fn record(&self) -> Vec<String> {
        let Subject { group, pairs, sizes, threads, batch, distribution, workload, peer } = self;
        let names = [peer.to_string(), pairs.to_string(), sizes.to_string(), workload.to_string()];
        let rest = [distribution.name().to_string(), threads.to_string(), batch.to_string()];
        [vec![group.to_string()], names.to_vec(), rest.to_vec()].concat()
    }
}

fn latency_record(latency: &Latency) -> Vec<String> {
    let Latency { load, disturbance, due, done, count, mean, p50, p90, p99, p999, max, .. } = latency;
    let mut record = latency.subject.record();
    record.extend([load.to_string(), disturbance.name().to_string()]);
    record.extend([due, done, mean].map(|number| format!("{number:.0}")));
    record.insert(record.len() - 1, count.to_string());
    record.extend([p50, p90, p99, p999, max].map(u64::to_string));
    record
}

fn csv_of(records: impl Iterator<Item = Vec<String>>, columns: &str) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.split(','))?;
    for record in records {
        writer.write_record(record)?;
    }
    Ok(String::from_utf8(writer.into_inner().map_err(|error| error.to_string())?)?)
}
