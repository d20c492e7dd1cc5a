//! The number of pairs with a deadline in each table and their average time to live, for `INFO keyspace`.

use honeycomb_store::{Error, Pairs, Scan};

use crate::deadlines::{Deadlines, Due};
use crate::glimpse::Glimpse;

/// Maximum number of entries that are examined. With more entries the numbers are estimates.
const ENTRIES_MAX: usize = 1024;

/// The statistics of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// The number of pairs with a deadline.
    pub(crate) expires: u64,
    /// The average time until the deadline, in milliseconds.
    pub(crate) average_ttl: u64,
}

impl Deadlines {
    /// Examines the pairs of all entries, or of a random sample of many entries. Returns the statistics by
    /// slot.
    pub(crate) fn survey(&self, now: u64) -> Result<Vec<Survey>, Error> {
        let (entries, mut looked_at) = (self.entries(), 0);
        let mut surveys = vec![Survey::default(); self.tables().len()];
        let mut glimpse = Glimpse::default();
        for due in self.some_entries()? {
            looked_at += 1;
            let Some(table) = self.tables().get(due.slot) else { continue };
            if due.deadline > now && glimpse.read(table, &due.key)? == Some(Some(due.deadline)) {
                let survey = &mut surveys[due.slot];
                survey.expires += 1;
                survey.average_ttl += due.deadline - now;
            }
        }
        let scale = (entries as f64 / f64::from(looked_at.max(1))).max(1.0);
        for survey in &mut surveys {
            survey.average_ttl = survey.average_ttl.checked_div(survey.expires).unwrap_or(0);
            survey.expires = (survey.expires as f64 * scale).round() as u64;
        }
        Ok(surveys)
    }

    fn some_entries(&self) -> Result<Vec<Due>, Error> {
        let mut found = Pairs::default();
        self.index().scan_into(&Scan::all().limit(ENTRIES_MAX), &mut found)?;
        if !found.more() {
            return Ok(found.iter().filter_map(|(key, value)| Due::parse(key, value)).collect());
        }
        let (mut drawn, mut random) = (Vec::new(), 0x9e37_79b9_7f4a_7c15_u64);
        let mut draw = |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % below as u64) as usize
        };
        for _ in 0..ENTRIES_MAX {
            self.index().sample_leaf(1, &mut draw, &mut |key, value| drawn.extend(Due::parse(key, value)));
        }
        Ok(drawn)
    }
}
