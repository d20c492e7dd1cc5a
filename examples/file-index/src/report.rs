//! The report of an index run: text for people through `Display`, JSON for programs through serde.

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::compare::Comparison;
use crate::escape;
use crate::exceptions::Exceptions;
use crate::fill::FillStatistics;
use crate::rows::{self, per_second};
use crate::samples::Samples;
use crate::walk::{KindCounts, Walk};

/// The report of an index run.
#[derive(Debug)]
pub struct IndexReport {
    /// The walk and the stored pairs.
    pub storage: StorageReport,
    /// The answers of the store, compared with the file system.
    pub answers: AnswerReport,
}

/// The walk and the stored pairs.
#[derive(Debug, Serialize)]
pub struct StorageReport {
    walk: WalkReport,
    stored: FillReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
}

/// The answers of the store, compared with the file system.
#[derive(Debug, Serialize)]
pub struct AnswerReport {
    /// One answer to each kind of query.
    #[serde(rename = "shown")]
    pub(crate) samples: Samples,
    /// The seed of the random queries.
    pub(crate) seed: u64,
    /// The result of the comparison.
    pub(crate) comparison: Comparison,
}

/// The files of the walk.
#[derive(Debug, Serialize)]
struct WalkReport {
    directory: String,
    #[serde(flatten)]
    kinds: KindCounts,
    file_bytes: u64,
    seconds: f64,
    too_long: Exceptions,
    unreadable: Exceptions,
    other_file_systems: Exceptions,
}

/// The stored pairs.
#[derive(Debug, Serialize)]
struct FillReport {
    #[serde(rename = "forgotten")]
    removed: u64,
    files: u64,
    chunks: u64,
    raw_bytes: u64,
    read_bytes: u64,
    threads: usize,
    seconds: f64,
    store_seconds: f64,
    unreadable: Exceptions,
    changed: Exceptions,
}

impl StorageReport {
    pub(crate) fn new(
        walk: &Walk,
        filled: &FillStatistics,
        removed: u64,
        server: Option<SocketAddr>,
    ) -> StorageReport {
        StorageReport {
            walk: WalkReport::new(walk),
            stored: FillReport::new(filled, removed),
            server: server.map(|address| address.to_string()),
        }
    }
}

impl AnswerReport {
    /// Returns whether all answers are correct.
    #[must_use]
    pub fn is_correct(&self) -> bool {
        self.comparison.is_correct()
    }
}

impl WalkReport {
    fn new(walk: &Walk) -> WalkReport {
        WalkReport {
            directory: escape::path(&walk.root),
            kinds: walk.kinds,
            file_bytes: walk.file_bytes,
            seconds: walk.time.as_secs_f64(),
            too_long: walk.too_long.clone(),
            unreadable: walk.unreadable.clone(),
            other_file_systems: walk.mounted.clone(),
        }
    }
}

impl FillReport {
    fn new(filled: &FillStatistics, removed: u64) -> FillReport {
        FillReport {
            removed,
            files: filled.files,
            chunks: filled.chunks,
            raw_bytes: filled.raw_bytes,
            read_bytes: filled.read_bytes,
            threads: rayon::current_num_threads(),
            seconds: filled.time.as_secs_f64(),
            store_seconds: filled.store_time.as_secs_f64(),
            unreadable: filled.unreadable.clone(),
            changed: filled.changed.clone(),
        }
    }
}

impl Display for StorageReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.walk, self.stored)?;
        self.server.iter().try_for_each(|server| writeln!(f, "stored by the server at {server}"))
    }
}

impl Display for WalkReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} walked in {}", self.directory, duration(self.seconds))?;
        rows::count(f, "files", self.kinds.files, HumanBytes(self.file_bytes))?;
        rows::count(f, "directories", self.kinds.directories, "")?;
        rows::count(f, "others", self.kinds.others, "links, sockets, devices")?;
        rows::exceptions(f, "path too long", &self.too_long)?;
        rows::exceptions(f, "unreadable", &self.unreadable)?;
        rows::exceptions(f, "not entered", &self.other_file_systems)
    }
}

impl Display for FillReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let pairs = self.files + self.chunks;
        let (time, store_time) =
            (Duration::from_secs_f64(self.seconds), Duration::from_secs_f64(self.store_seconds));
        writeln!(f, "stored in {} by {} threads", duration(self.seconds), self.threads)?;
        if self.removed > 0 {
            rows::count(f, "removed first", self.removed, "files of an earlier index")?;
        }
        rows::count(f, "pairs", pairs, format_args!("{} of keys and values", HumanBytes(self.raw_bytes)))?;
        rows::count(f, "files", self.files, "path -> attributes")?;
        rows::count(f, "chunks", self.chunks, "(file, offset) -> length, checksum")?;
        let read_rate = HumanBytes(per_second(self.read_bytes, time));
        rows::bytes(f, "read", self.read_bytes, format_args!("{read_rate} a second"))?;
        let total_rate = HumanCount(per_second(pairs, time));
        let about = format_args!("a second and thread in the store; {total_rate} a second in total");
        rows::count(f, "writes", per_second(pairs, store_time), about)?;
        rows::exceptions(f, "unreadable", &self.unreadable)?;
        rows::exceptions(f, "changed", &self.changed)
    }
}

impl Display for AnswerReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.samples)?;
        let comparison = &self.comparison;
        let time = duration(comparison.seconds);
        writeln!(f, "compared with the file system in {time}, seed {}", self.seed)?;
        rows::count(f, "listings", comparison.listings.agree, &comparison.listings)?;
        rows::count(f, "byte ranges", comparison.ranges.agree, &comparison.ranges)?;
        rows::count(f, "largest files", comparison.largest.agree, &comparison.largest)?;
        let verdict = match (comparison.executed(), comparison.is_correct()) {
            (0, _) => "no answer was compared",
            (_, true) => "no answer differs from the file system",
            (_, false) => "ERROR: answers differ from the file system",
        };
        writeln!(f, "{verdict}")
    }
}

fn duration(seconds: f64) -> String {
    format!("{:.1?}", Duration::from_secs_f64(seconds))
}
