//! How many pairs of each table expire, and when, as `INFO keyspace` shows it.

use honeycomb_store::{Error, Pairs, Scan};

use crate::deadlines::{Deadlines, Due, deadline};

/// Entries that are looked at; of more than these the numbers are estimates.
const ENTRIES_MAX: usize = 1024;

/// What `INFO keyspace` shows of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// Pairs that expire.
    pub(crate) expires: u64,
    /// Milliseconds until they do, on average.
    pub(crate) average_ttl: u64,
}

impl Deadlines {
    /// Looks at the pairs of the first entries: by slot, how many expire. If there are more entries, as many
    /// of them are taken to be stale, and to be of each table, as of those that were looked at.
    pub(crate) fn survey(&self, now: u64) -> Result<Vec<Survey>, Error> {
        let mut found = Pairs::default();
        self.index().scan_into(&Scan::all().limit(ENTRIES_MAX), &mut found)?;
        let mut surveys = vec![Survey::default(); self.tables().len()];
        let mut value = Vec::new();
        for due in found.iter().filter_map(|(key, value)| Due::parse(key, value)) {
            let Some(table) = self.tables().get(due.slot) else { continue };
            let is_there = table.get_into(&due.key, &mut value)?;
            if is_there && due.deadline > now && deadline(Some(&value)) == Some(due.deadline) {
                let survey = &mut surveys[due.slot];
                survey.expires += 1;
                survey.average_ttl += due.deadline - now;
            }
        }
        let scale = if found.more() { self.entries() as f64 / found.len() as f64 } else { 1.0 };
        for survey in &mut surveys {
            survey.average_ttl = survey.average_ttl.checked_div(survey.expires).unwrap_or(0);
            survey.expires = (survey.expires as f64 * scale) as u64;
        }
        Ok(surveys)
    }
}
