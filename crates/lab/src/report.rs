//! The results of a run, as JSON and as CSV.

use std::path::Path;
use std::{fmt, fs};

use honeycomb_workload::{Distribution, Sizes, Workload};
use serde::{Deserialize, Serialize};

use crate::access_stats::AccessStats;
use crate::adapters::Peer;
use crate::cores::count_threads;
use crate::counters::Counts;
use crate::limits::Limits;
use crate::machine::Machine;
use crate::map::Failure;
use crate::open_loop::Disturbance;
use crate::plan::Plan;
use crate::summary::Summary;
use crate::worker::Memory;

/// The results of a run, the content of `bench.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The parameters and the machine.
    pub setup: Setup,
    /// Throughput.
    pub measurements: Vec<Measurement>,
    /// Latencies of open loops.
    pub latencies: Vec<Latency>,
    /// Limits of the machine.
    pub limits: Vec<Limits>,
    /// Memory of the maps.
    pub memory: Vec<MemoryUse>,
    /// Access statistics of Honeycombs.
    pub access_stats: Vec<AccessStats>,
    /// Maps that do not support some sizes.
    pub skipped: Vec<Skipped>,
    /// Maps that failed. The report contains their results before the failure.
    pub failures: Vec<FailedPeer>,
}

/// The parameters and the machine of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Start of the run, RFC 3339.
    pub date: String,
    /// Revision of the sources, if known.
    pub revision: Option<String>,
    /// The parameters.
    pub plan: Plan,
    /// The machine.
    pub machine: Machine,
    /// Why hardware counters are not available; `None` if they are.
    pub no_counters: Option<String>,
    /// Overhead of the benchmark for a get, which all results include.
    pub overhead: Vec<Overhead>,
}

/// The overhead to choose a pair and to generate its key.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// Sizes of keys and values.
    pub sizes: Sizes,
    /// Distribution of the chosen pairs.
    pub distribution: Distribution,
    /// Time per operation.
    pub nanoseconds: f64,
}

/// The subject of a measurement. Only measurements of one group are comparable, because maps of different
/// groups did not run alternately.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// Number of the group of maps that were loaded at the same time, from 1.
    pub group: usize,
    /// Number of loaded pairs.
    pub pairs: u64,
    /// Sizes of keys and values.
    pub sizes: Sizes,
    /// Number of threads.
    pub threads: usize,
    /// Operations of a thread that executed together.
    pub batch: usize,
    /// Distribution of the chosen pairs.
    pub distribution: Distribution,
    /// The mix of operations.
    pub workload: Workload,
    /// The map.
    pub peer: Peer,
}

/// Throughput, in operations per second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The subject.
    #[serde(flatten)]
    pub subject: Subject,
    /// Summary of all samples.
    #[serde(flatten)]
    pub summary: Summary,
    /// Hardware counts per operation, where available.
    pub counts: Option<Counts>,
    /// The samples in the order of measurement.
    pub samples: Vec<f64>,
}

/// Latency of an open loop, in nanoseconds from due time to end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The subject.
    #[serde(flatten)]
    pub subject: Subject,
    /// Load in per cent of the maximum rate of this map in an open loop.
    pub load: u32,
    /// The concurrent disturbance.
    pub disturbance: Disturbance,
    /// Operations due per second.
    pub due: f64,
    /// Completed operations per second.
    pub done: f64,
    /// Number of measured operations.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Maximum.
    pub max: u64,
}

/// Memory of a map.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Group in which it was loaded.
    pub group: usize,
    /// The map.
    pub peer: Peer,
    /// Time of the measurement.
    pub moment: Moment,
    /// Its memory.
    #[serde(flatten)]
    pub memory: Memory,
}

/// The time of a memory measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// After the load.
    Loaded,
    /// After all workloads.
    End,
}

/// A map that was omitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The map.
    pub peer: Peer,
    /// The sizes that it does not support.
    pub sizes: Sizes,
    /// The reason.
    pub reason: String,
}

/// A map that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedPeer {
    /// The map.
    pub peer: Peer,
    /// The step and the error.
    pub reason: String,
}

impl Report {
    /// Reads a `bench.json`.
    pub fn read(path: &Path) -> Result<Report, Failure> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(path).map_err(|error| named(&error))?;
        Ok(serde_json::from_str(&text).map_err(|error| named(&error))?)
    }

    /// Writes `bench.json`, `bench.csv` and, for open loops, `latency.csv` into a folder. Creates the folder
    /// if it does not exist.
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

    /// Returns the report as JSON.
    pub fn json(&self) -> Result<String, Failure> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// Returns the measurements as CSV.
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

    /// Returns the measurement of a subject.
    pub fn measurement(&self, subject: &Subject) -> Option<&Measurement> {
        self.measurements.iter().find(|one| one.subject == *subject)
    }

    /// Returns the ratio of a median to Honeycomb's in the same group.
    pub fn ratio(&self, subject: &Subject) -> Option<f64> {
        let honeycomb = self.measurement(&Subject { peer: Peer::HONEYCOMB, ..*subject })?;
        Some(self.measurement(subject)?.summary.median / honeycomb.summary.median)
    }

    /// Returns the share of the machine's limit that a measurement reached. The limit is the same for batches
    /// and single operations.
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
    /// Writes the parameters that usually vary, and the others only if they differ from the default.
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
    /// Returns the parameters that determine the machine's limits.
    fn contents_and_threads(&self) -> (u64, Sizes, usize) {
        (self.pairs, self.sizes, self.threads)
    }

    /// Returns the first columns of a CSV row.
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
