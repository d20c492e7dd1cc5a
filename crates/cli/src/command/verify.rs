//! `honeycomb verify`: every invariant of a store.

use crate::{
    Verdict,
    arguments::Verify,
    error::Error,
    image,
    output::{self, Report, Sheet},
    units,
};
use honeycomb_store::{Error as StoreError, Verified};
use serde::Serialize;
use std::time::{Duration, Instant};

#[derive(Default, Serialize)]
struct Checked {
    good: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<Counts>,
    seconds: f64,
}

#[derive(Serialize)]
struct Counts {
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
pub(crate) fn run(arguments: &Verify) -> Result<Verdict, Error> {
    let mut store = image::open_image(&arguments.image)?;
    let start = Instant::now();
    let verified = store.verify();
    let seconds = start.elapsed().as_secs_f64();
    let report = match verified {
        Ok(verified) => Checked { good: true, checked: Some(verified.into()), seconds, ..Checked::default() },
        Err(StoreError::Corrupt(what)) => Checked { violation: Some(what), seconds, ..Checked::default() },
        Err(error) => return Err(error.into()),
    };
    output::print(&report, arguments.json.json)?;
    Ok(if report.good { Verdict::Good } else { Verdict::Bad })
}

impl From<Verified> for Counts {
    fn from(verified: Verified) -> Counts {
        Counts {
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

impl Counts {
    fn sheet(&self, sheet: &mut Sheet) {
        let mut row = |label, count, about| sheet.number(label, &units::count(count), about);
        row("interior nodes", self.interior_nodes, "fence keys, ranges of children, one level below each");
        row("leaves", self.leaves, "fence keys, siblings, shortcuts, tags, order hints, versions");
        row("tree height", self.tree_height, "levels of the highest tree, all leaves on one level");
        row("pairs", self.pairs, "keys ascend strictly");
        row("log entries", self.log_entries, "each with its place in the sorted block");
        row("values", self.overflow_values, "out of line");
        row("bytes", self.key_bytes + self.value_bytes, "in keys and values");
        sheet.line("and no buffer, LID or value is live but those that a root leads to");
    }
}

impl Report for Checked {
    fn sheet(&self, sheet: &mut Sheet) {
        let time = units::time(Duration::from_secs_f64(self.seconds));
        if let Some(violation) = &self.violation {
            sheet.line(&format!("WRONG after {time}: {violation}"));
        }
        if let Some(checked) = &self.checked {
            sheet.line(&format!("checked in {time}"));
            checked.sheet(sheet);
            sheet.line("every invariant holds");
        }
    }
}
