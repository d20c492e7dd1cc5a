//! Every answer of the store against the file system, which is asked again.
//!
//! An answer that is not what the file system says now counts as *changed*, and not as wrong, only if it is
//! what the walk saw and the file system shows that something changed since: other facts of a file, or of a
//! directory that has other files now.

mod largest;
mod listings;
mod ranges;
#[cfg(test)]
mod tests;

use super::{answers::Answers, walk::Walk};
use crate::{error::Error, noted::Noted, units};
use serde::Serialize;
use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

pub(crate) use largest::LARGEST;

/// What to compare and for how long.
pub(crate) struct Plan {
    /// Seed of every random choice.
    pub(crate) seed: u64,
    /// How many byte ranges to ask for.
    pub(crate) ranges: u64,
    /// How long to compare at most. Each kind of question gets a third, and what the ones before it left.
    pub(crate) time: Duration,
}

/// What comparing found.
#[derive(Serialize)]
pub(crate) struct Comparison {
    /// Largest files below directories.
    pub(crate) largest: Compared,
    /// Directories listed.
    pub(crate) listings: Compared,
    /// Chunks of byte ranges.
    pub(crate) ranges: Compared,
    /// How long it took, in seconds.
    pub(crate) seconds: f64,
}

/// How the answers to one kind of question compare.
#[derive(Default, Serialize)]
pub(crate) struct Compared {
    /// How many questions there are.
    pub(crate) planned: u64,
    /// How many were asked before the time was over.
    pub(crate) asked: u64,
    /// Answers that are what the file system says.
    pub(crate) agree: u64,
    /// Questions about files that changed since the walk.
    pub(crate) changed: Noted,
    /// Questions about files that cannot be read, so that there is nothing to compare with.
    pub(crate) unreadable: Noted,
    /// Wrong answers.
    pub(crate) differ: Noted,
    /// How long threads waited for answers of the store, together, in seconds.
    pub(crate) store_seconds: f64,
}

/// How an answer compares.
#[derive(Debug, PartialEq, Eq)]
enum Judgement {
    /// It is what the file system says.
    Agrees,
    /// The file system changed since the walk.
    Changed,
    /// The file system does not say.
    Unreadable,
    /// It is wrong, and how.
    Differs(String),
}

/// Asks and compares as planned.
///
/// # Errors
/// The store refuses an answer.
pub(crate) fn compare(answers: &Answers<'_>, walk: &Walk, plan: &Plan) -> Result<Comparison, Error> {
    let start = Instant::now();
    let until = |thirds| start + plan.time * thirds / 3;
    let mut random = fastrand::Rng::with_seed(plan.seed);
    Ok(Comparison {
        largest: largest::compare(answers, walk, &mut random, until(1))?,
        listings: listings::compare(answers, walk, &mut random, until(2))?,
        ranges: ranges::compare(answers, walk, &mut random, plan.ranges, until(3))?,
        seconds: start.elapsed().as_secs_f64(),
    })
}

impl Comparison {
    /// Whether no answer was wrong.
    pub(crate) fn is_good(&self) -> bool {
        self.kinds().iter().all(|compared| compared.differ.count == 0)
    }

    /// How many answers were compared.
    pub(crate) fn asked(&self) -> u64 {
        self.kinds().iter().map(|compared| compared.asked).sum()
    }

    fn kinds(&self) -> [&Compared; 3] {
        [&self.listings, &self.ranges, &self.largest]
    }
}

impl Compared {
    /// What there is to say beside the number of answers that agree.
    pub(crate) fn about(&self) -> String {
        let rate = units::count(self.answers_per_second() as u64);
        let mut text = format!("of {} agree, {rate} a second from the store", units::count(self.asked));
        let left = self.planned - self.asked;
        if left > 0 {
            text += &format!(", no time for {} more", units::count(left));
        }
        let kinds = [("changed", &self.changed), ("unreadable", &self.unreadable), ("DIFFER", &self.differ)];
        for (kind, noted) in kinds.iter().filter(|(_, noted)| noted.count > 0) {
            text += &format!("; {kind} {}", noted.text());
        }
        text
    }

    /// Answers a second and thread, in the store alone.
    fn answers_per_second(&self) -> f64 {
        units::rate(self.asked, Duration::from_secs_f64(self.store_seconds))
    }
}

/// Where threads write their judgements down.
struct Ledger {
    compared: Mutex<Compared>,
}

impl Ledger {
    fn new(planned: usize) -> Ledger {
        Ledger { compared: Mutex::new(Compared { planned: planned as u64, ..Compared::default() }) }
    }

    /// Writes down the judgement on the answer about `name`, which took the store `time`.
    fn write(&self, judgement: Judgement, time: Duration, name: impl FnOnce() -> String) {
        let mut compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        compared.asked += 1;
        compared.store_seconds += time.as_secs_f64();
        match judgement {
            Judgement::Agrees => compared.agree += 1,
            Judgement::Changed => compared.changed.note(name),
            Judgement::Unreadable => compared.unreadable.note(name),
            Judgement::Differs(how) => compared.differ.note(|| format!("{} ({how})", name())),
        }
    }

    fn close(self) -> Compared {
        self.compared.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
