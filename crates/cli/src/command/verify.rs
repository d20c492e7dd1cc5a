//! `honeycomb verify`: checks every invariant of a store.

use std::time::Instant;

use honeycomb_store::{Error as StoreError, Verified};
use serde::Serialize;

use crate::arguments::VerifyArguments;
use crate::error::Error;
use crate::report::{self, Report, ReportText, duration};
use crate::{Status, image};

#[derive(Default, Serialize)]
struct VerifyResult {
    good: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<CheckedCounts>,
    seconds: f64,
}

#[derive(Serialize)]
struct CheckedCounts {
    pairs: u64,
    leaves: u64,
    interior_nodes: u64,
    tree_height: u64,
    log_entries: u64,
    overflow_values: u64,
    key_bytes: u64,
    value_bytes: u64,
}

/// Runs the command.
///
/// # Errors
/// The store cannot be loaded.
pub(crate) fn run(arguments: &VerifyArguments) -> Result<Status, Error> {
    let mut store = image::load(&arguments.image)?;
    let start = Instant::now();
    let verified = store.verify();
    let seconds = start.elapsed().as_secs_f64();
    let result = match verified {
        Ok(verified) => {
            VerifyResult { good: true, checked: Some(verified.into()), seconds, ..VerifyResult::default() }
        }
        Err(StoreError::Corrupt(violation)) => {
            VerifyResult { violation: Some(violation), seconds, ..VerifyResult::default() }
        }
        Err(error) => return Err(error.into()),
    };
    report::print(&result, arguments.json.json)?;
    Ok(if result.good { Status::Success } else { Status::Negative })
}

impl From<Verified> for CheckedCounts {
    fn from(verified: Verified) -> CheckedCounts {
        CheckedCounts {
            pairs: verified.pairs,
            leaves: verified.leaves,
            interior_nodes: verified.interior_nodes,
            tree_height: verified.height,
            log_entries: verified.log_entries,
            overflow_values: verified.overflow_values,
            key_bytes: verified.key_bytes,
            value_bytes: verified.value_bytes,
        }
    }
}

impl CheckedCounts {
    fn write_text(&self, text: &mut ReportText) {
        let mut row = |label, count, about| text.count(label, count, about);
        row("interior nodes", self.interior_nodes, "fence keys, key ranges and levels of their children");
        row("leaves", self.leaves, "fence keys, siblings, columns, fingerprints, order hints, versions");
        row("tree height", self.tree_height, "levels of the highest tree; all leaves are on one level");
        row("pairs", self.pairs, "keys ascend strictly");
        row("log entries", self.log_entries, "their positions relative to the sorted block");
        row("values", self.overflow_values, "overflow values");
        row("bytes", self.key_bytes + self.value_bytes, "in keys and values");
        text.line("every live buffer, LID and overflow value is reachable from a root");
    }
}

impl Report for VerifyResult {
    fn write_text(&self, text: &mut ReportText) {
        let time = duration(self.seconds);
        if let Some(violation) = &self.violation {
            text.line(format!("ERROR after {time}: {violation}"));
        }
        if let Some(checked) = &self.checked {
            text.line(format!("checked in {time}"));
            checked.write_text(text);
            text.line("no invariant is violated");
        }
    }
}
