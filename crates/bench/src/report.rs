//! What a run measured, as JSON and as CSV.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::adapters::Peer;
use crate::machine::Machine;
use crate::map::Failure;
use crate::plan::Plan;
use crate::summary::Summary;
use crate::worker::Memory;
use crate::workload::{Distribution, Workload};

/// All of a run; `bench.json` is this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What was measured, and where.
    pub setup: Setup,
    /// Operations a second.
    pub measurements: Vec<Measurement>,
    /// Memory of the maps.
    pub memory: Vec<MemoryUse>,
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
    /// Bytes of a key.
    pub key_bytes: usize,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// The parameters.
    pub plan: Plan,
    /// The machine.
    pub machine: Machine,
    /// What the benchmark itself costs a get, included in every number.
    pub overhead: Vec<Overhead>,
}

/// What choosing a pair and making its key costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
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
    /// How many threads.
    pub threads: usize,
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
    /// In the order measured.
    pub samples: Vec<f64>,
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

    /// Writes `bench.json` and `bench.csv` into a folder, which is made if it is not there.
    pub fn write(&self, folder: &Path) -> Result<(), Failure> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(|error| named(&error))?;
        fs::write(folder.join("bench.json"), self.json()? + "\n").map_err(|error| named(&error))?;
        fs::write(folder.join("bench.csv"), self.csv()?).map_err(|error| named(&error))?;
        Ok(())
    }

    /// All of it.
    pub fn json(&self) -> Result<String, Failure> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// The measurements, a line each.
    pub fn csv(&self) -> Result<String, Failure> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let names = "group,peer,workload,distribution,threads,samples,median,min,max,deviation,to_honeycomb";
        writer.write_record(names.split(','))?;
        for Measurement { subject, summary, samples } in &self.measurements {
            let ratio = self.ratio(subject).map_or_else(String::new, |ratio| format!("{ratio:.3}"));
            let numbers = [summary.median, summary.min, summary.max, summary.deviation];
            let names = [subject.peer.name(), subject.workload.name(), subject.distribution.name().into()];
            let mut record = vec![subject.group.to_string()];
            record.extend(names);
            record.extend([subject.threads.to_string(), samples.len().to_string()]);
            record.extend(numbers.map(|number| format!("{number:.0}")));
            record.push(ratio);
            writer.write_record(record)?;
        }
        Ok(String::from_utf8(writer.into_inner().map_err(|error| error.to_string())?)?)
    }

    /// The measurement of a subject.
    pub fn measurement(&self, subject: &Subject) -> Option<&Measurement> {
        self.measurements.iter().find(|one| one.subject == *subject)
    }

    /// A median over Honeycomb's of the same group.
    pub fn ratio(&self, subject: &Subject) -> Option<f64> {
        let honeycomb = self.measurement(&Subject { peer: Peer::Honeycomb, ..*subject })?;
        Some(self.measurement(subject)?.summary.median / honeycomb.summary.median)
    }
}
