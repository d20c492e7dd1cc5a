//! Compares answers of the store with the file system.
//!
//! If an answer differs from the current file system, it counts as *changed* instead of incorrect only under
//! two conditions: it matches the walk, and the file system shows a change since the walk, such as different
//! attributes of a file or of its parent directory.

mod largest;
mod listings;
mod ranges;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::HumanCount;
use serde::Serialize;

use crate::Error;
use crate::answers::Answers;
use crate::exceptions::Exceptions;
use crate::progress::StartPhase;
use crate::rows::per_second;
use crate::walk::Walk;
pub(crate) use largest::LARGEST;

/// The parameters of a comparison.
pub(crate) struct Plan {
    /// The seed of all random choices.
    pub(crate) seed: u64,
    /// The number of byte ranges.
    pub(crate) ranges: u64,
    /// The time limit. Each kind of query gets a third, plus the time that the previous kinds did not use.
    pub(crate) time: Duration,
    /// Receives the progress.
    pub(crate) start_phase: StartPhase,
}

/// The result of a comparison.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    /// The largest files below directories.
    pub(crate) largest: QueryCounts,
    /// Listings of directories.
    pub(crate) listings: QueryCounts,
    /// Chunks of byte ranges.
    pub(crate) ranges: QueryCounts,
    /// The duration in seconds.
    pub(crate) seconds: f64,
}

/// The results of one kind of query.
#[derive(Debug, Default, Serialize)]
pub(crate) struct QueryCounts {
    /// Planned queries.
    pub(crate) planned: u64,
    /// Queries that were executed within the time limit.
    pub(crate) executed: u64,
    /// Answers that match the file system.
    pub(crate) agree: u64,
    /// Queries about files that changed since the walk.
    pub(crate) changed: Exceptions,
    /// Queries about files that cannot be read. There is nothing to compare their answers with.
    pub(crate) unreadable: Exceptions,
    /// Incorrect answers.
    pub(crate) differ: Exceptions,
    /// The time in the store, summed over all threads, in seconds.
    pub(crate) store_seconds: f64,
}

/// The result of one query.
#[derive(Debug, PartialEq, Eq)]
enum QueryResult {
    /// The answer matches the file system.
    Agrees,
    /// The file system has changed since the walk.
    Changed,
    /// The file system cannot be read.
    Unreadable,
    /// The answer is incorrect. The text describes the difference.
    Differs(String),
}

/// Executes the queries of `plan` and compares the answers with the file system.
///
/// # Errors
/// The store returns an error.
pub(crate) fn compare(answers: &Answers<'_>, walk: &Walk, plan: &Plan) -> Result<Comparison, Error> {
    let start = Instant::now();
    let until = |thirds| start + plan.time * thirds / 3;
    let mut random = fastrand::Rng::with_seed(plan.seed);
    Ok(Comparison {
        largest: largest::compare(answers, walk, &mut random, until(1))?,
        listings: listings::compare(answers, walk, plan, &mut random, until(2))?,
        ranges: ranges::compare(answers, walk, plan, &mut random, until(3))?,
        seconds: start.elapsed().as_secs_f64(),
    })
}

impl Comparison {
    /// Returns whether all executed queries returned correct answers.
    pub(crate) fn is_correct(&self) -> bool {
        self.kinds().iter().all(|counts| counts.differ.count == 0)
    }

    /// Returns the number of executed queries.
    pub(crate) fn executed(&self) -> u64 {
        self.kinds().iter().map(|counts| counts.executed).sum()
    }

    fn kinds(&self) -> [&QueryCounts; 3] {
        [&self.listings, &self.ranges, &self.largest]
    }
}

/// Writes the details next to the number of correct answers.
impl fmt::Display for QueryCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = per_second(self.executed, Duration::from_secs_f64(self.store_seconds));
        write!(f, "of {} agree; the store answers {} a second", HumanCount(self.executed), HumanCount(rate))?;
        let left = self.planned - self.executed;
        if left > 0 {
            write!(f, "; no time for {} more", HumanCount(left))?;
        }
        let kinds = [("changed", &self.changed), ("unreadable", &self.unreadable), ("DIFFER", &self.differ)];
        let mut kinds = kinds.into_iter().filter(|(_, exceptions)| exceptions.count > 0);
        kinds.try_for_each(|(kind, exceptions)| write!(f, "; {kind} {exceptions}"))
    }
}

/// Collects the results of one kind of query. Threads share it.
struct Collector {
    counts: Mutex<QueryCounts>,
}

impl Collector {
    fn new(planned: usize) -> Collector {
        Collector { counts: Mutex::new(QueryCounts { planned: planned as u64, ..QueryCounts::default() }) }
    }

    /// Adds the result of a query. `store_time` is the time in the store; `name` describes the query.
    fn add(&self, result: QueryResult, store_time: Duration, name: impl FnOnce() -> String) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.executed += 1;
        counts.store_seconds += store_time.as_secs_f64();
        match result {
            QueryResult::Agrees => counts.agree += 1,
            QueryResult::Changed => counts.changed.add(name),
            QueryResult::Unreadable => counts.unreadable.add(name),
            QueryResult::Differs(difference) => counts.differ.add(|| format!("{} ({difference})", name())),
        }
    }

    fn into_counts(self) -> QueryCounts {
        self.counts.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
