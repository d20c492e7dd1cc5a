//! Recovery: loads the checkpoint and replays the log after it.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::thread;

use honeycomb_btree::Version;
use honeycomb_log::{Change, CheckpointReader, Directory, LogError, Record, Replayed, Tail, changes};

use super::config::{DurabilityConfig, RecoveryProgress};
use super::loading::{Loading, create, create_unordered, rule_of};
use super::runs::Runs;
use super::statistics::Recovery;
use super::table_ids::TableIds;
use crate::error::Error;
use crate::range::{self, Bounds};
use crate::store_state::StoreState;
use crate::table_handle::TableHandle;
use crate::unordered::table::UnorderedTable;

/// Records between two reports of the progress.
const REPORT_RECORDS: u64 = 1 << 12;

/// Loads the checkpoint, if there is one, and replays the log. The store is empty, and only this thread uses
/// it.
pub(crate) fn recover(
    state: &Arc<StoreState>,
    (directory, checkpoint): (&Directory, Option<CheckpointReader>),
    (config, memory_bytes): (&DurabilityConfig, usize),
    table_ids: &TableIds,
) -> Result<(Recovery, Replayed, Vec<Tail>), Error> {
    let version = directory.manifest().version;
    table_ids.begin(version);
    let mut tables = HashMap::new();
    let pairs_total = directory.manifest().pairs;
    let report = |pairs| config.report(RecoveryProgress { pairs, pairs_total, records: 0 });
    let created = |tree, created: TableHandle| {
        table_ids.add(version, tree, created.name());
        tables.insert(tree, created);
    };
    let pairs = match checkpoint {
        Some(mut checkpoint) => {
            thread::scope(|scope| Loading::new(scope, state).load(&mut checkpoint, created, report))?
        }
        None => 0,
    };
    let (replayed, tails) = thread::scope(|scope| {
        let runs = Runs::new(scope, state, memory_bytes);
        let progress = RecoveryProgress { pairs, pairs_total, records: 0 };
        let mut replay = Replay { state, config, table_ids, last: version, progress, tables, runs };
        let replayed = directory.replay(|number, record| replay.record(number, record))?;
        replay.runs.finish()?;
        config.report(replay.progress);
        Ok::<_, Error>(replayed)
    })?;
    let Replayed { records, version, cut_bytes, .. } = replayed;
    Ok((Recovery { pairs, records, version, cut_bytes }, replayed, tails))
}

struct Replay<'s, 'scope, 'env> {
    state: &'s Arc<StoreState>,
    config: &'s DurabilityConfig,
    table_ids: &'s TableIds,
    /// The version of the last record, or of the checkpoint.
    last: Version,
    progress: RecoveryProgress,
    /// The tables by their identifiers in the log.
    tables: HashMap<u64, TableHandle>,
    /// Puts and deletions that are not applied yet.
    runs: Runs<'scope, 'env>,
}

/// The rule that a change violates.
enum Rejected {
    Rule(&'static str),
    Failed(Error),
}

impl From<Error> for Rejected {
    fn from(error: Error) -> Self {
        rule_of(&error).map_or(Self::Failed(error), Self::Rule)
    }
}

impl Replay<'_, '_, '_> {
    fn record(&mut self, number: u64, record: Record<'_>) -> Result<(), Error> {
        self.table_ids.note((self.last, record.version), record.changes);
        self.last = record.version;
        for change in changes(record.changes) {
            let applied = change.map_err(Rejected::Rule).and_then(|change| self.apply(change));
            match applied {
                Ok(()) => {}
                Err(Rejected::Failed(error)) => return Err(error),
                Err(Rejected::Rule(rule)) => {
                    let file = honeycomb_log::log_file(number);
                    let (offset, version) = (record.offset, record.version);
                    return Err(LogError::Corrupt { file, offset, version, rule }.into());
                }
            }
        }
        self.progress.records += 1;
        if self.progress.records.is_multiple_of(REPORT_RECORDS) {
            self.config.report(self.progress);
        }
        Ok(())
    }

    fn apply(&mut self, change: Change<'_>) -> Result<(), Rejected> {
        match change {
            Change::Put { tree, key, value } => {
                let table = find(&self.tables, tree)?;
                Ok(self.runs.add((tree, table.as_ref()), key, Some(value))?)
            }
            Change::Delete { tree, key } => {
                let table = find(&self.tables, tree)?;
                Ok(self.runs.add((tree, table.as_ref()), key, None)?)
            }
            Change::DeleteRange { tree, lower, upper } => {
                self.runs.finish()?;
                let table = match find(&self.tables, tree)? {
                    TableHandle::Ordered(table) => table,
                    TableHandle::Unordered(table) => return clear(table, (lower, upper)),
                };
                if range::normalize((lower, upper), false, table.key_bytes_max()).is_some() {
                    table.delete_bounds((lower, upper))?;
                }
                Ok(())
            }
            Change::Create { tree, name } => {
                self.runs.finish()?;
                self.tables.insert(tree, create(self.state, name)?);
                Ok(())
            }
            Change::CreateUnordered { tree, name, parameters } => {
                self.runs.finish()?;
                self.tables.insert(tree, create_unordered(self.state, name, parameters)?);
                Ok(())
            }
            Change::Drop { tree } => {
                self.runs.finish()?;
                let name = find(&self.tables, tree)?.name().to_owned();
                self.tables.remove(&tree);
                self.state.drop_table(&name)?;
                Ok(())
            }
            Change::Restart => {
                self.runs.finish()?;
                self.tables.clear();
                Ok(())
            }
            Change::Time { .. } | Change::Old { .. } => Ok(()),
        }
    }
}

/// Clears an unordered table, of which only the range of all keys is deleted.
fn clear(table: &UnorderedTable, bounds: Bounds<'_>) -> Result<(), Rejected> {
    if bounds != (Bound::Unbounded, Bound::Unbounded) {
        return Err(Rejected::Rule("a range of an unordered table has all keys"));
    }
    Ok(table.clear()?)
}

fn find(tables: &HashMap<u64, TableHandle>, tree: u64) -> Result<&TableHandle, Rejected> {
    tables.get(&tree).ok_or(Rejected::Rule("a change names a table that exists"))
}
