//! Recovery: loads the checkpoint and replays the log after it.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use honeycomb_log::{Block, Change, CheckpointReader, Directory, LogError, Record, Replayed, Tail, changes};

use super::config::{DurabilityConfig, RecoveryProgress};
use super::statistics::Recovery;
use super::table_ids::TableIds;
use crate::batch::Batch;
use crate::error::Error;
use crate::loader::Loader;
use crate::range::{self, Bounds};
use crate::store_state::StoreState;
use crate::table_handle::TableHandle;
use crate::unordered::config::UnorderedConfig;
use crate::unordered::table::UnorderedTable;

/// Entries of a batch that is replayed at once, and its bytes.
const BATCH_ENTRIES: usize = 512;
const BATCH_BYTES: usize = 1 << 20;
/// Records between two reports of the progress.
const REPORT_RECORDS: u64 = 1 << 14;

/// Loads the checkpoint and replays the log. The store is empty, and only this thread uses it.
pub(crate) fn recover(
    state: &Arc<StoreState>,
    directory: &Directory,
    (config, table_ids): (&DurabilityConfig, &TableIds),
) -> Result<(Recovery, Replayed, Vec<Tail>), Error> {
    let pairs_total = directory.manifest().pairs;
    let progress = RecoveryProgress { pairs_total, ..RecoveryProgress::default() };
    let (tables, batch) = (HashMap::new(), Batch::default());
    let mut replay = Replay { state, config, table_ids, progress, tables, batch };
    table_ids.begin(directory.manifest().version);
    if let Some(mut checkpoint) = directory.checkpoint()? {
        replay.load(&mut checkpoint)?;
    }
    let (replayed, tails) = directory.replay(|number, record| replay.record(number, record))?;
    replay.flush()?;
    config.report(replay.progress);
    let recovery = Recovery {
        pairs: replay.progress.pairs,
        records: replayed.records,
        version: replayed.version,
        cut_bytes: replayed.cut_bytes,
    };
    Ok((recovery, replayed, tails))
}

struct Replay<'s> {
    state: &'s Arc<StoreState>,
    config: &'s DurabilityConfig,
    table_ids: &'s TableIds,
    progress: RecoveryProgress,
    /// The tables by their identifiers in the log.
    tables: HashMap<u64, TableHandle>,
    /// Changes that are not applied yet.
    batch: Batch,
}

/// The rule that a change violates.
enum Rejected {
    Rule(&'static str),
    Failed(Error),
}

impl From<Error> for Rejected {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Replay<'_> {
    /// Loads the tables of a checkpoint.
    fn load(&mut self, checkpoint: &mut CheckpointReader) -> Result<(), Error> {
        let mut table: Option<TableHandle> = None;
        let mut pairs = 0;
        // A table is loaded completely before the next one.
        while let Some(next) = self.load_table(checkpoint, table.as_ref(), &mut pairs)? {
            let (tree, created) = next;
            self.table_ids.add(checkpoint.version(), tree, created.name());
            table = Some(created.clone());
            self.tables.insert(tree, created);
        }
        Ok(())
    }

    /// Loads pairs into a table up to the next table, and returns the identifier of that one and a handle to
    /// it; `None` at the end of the checkpoint.
    fn load_table(
        &mut self,
        checkpoint: &mut CheckpointReader,
        table: Option<&TableHandle>,
        pairs: &mut u64,
    ) -> Result<Option<(u64, TableHandle)>, Error> {
        let state = self.state;
        let mut target = table.map(|table| Target::of(state, table)).transpose()?;
        let next = loop {
            let invalid = match checkpoint.next_block()? {
                Block::Table { tree, name } => break Some((tree, create(state, name)?)),
                Block::Unordered { tree, parameters, name } => {
                    break Some((tree, create_unordered(state, name, parameters)?));
                }
                Block::End { pairs: all } if all == *pairs => break None,
                Block::End { .. } => "the last block states the number of pairs",
                Block::Pairs(mut block) => match &mut target {
                    None => "a block of pairs follows a block of a table",
                    Some(target) => match push_all(target, &mut block, pairs)? {
                        Some(rule) => rule,
                        None => {
                            self.progress.pairs = *pairs;
                            self.config.report(self.progress);
                            continue;
                        }
                    },
                },
            };
            return Err(checkpoint.corrupt(invalid).into());
        };
        if let Some(Target::Ordered(loader)) = target {
            loader.finish()?;
        }
        Ok(next)
    }

    fn record(&mut self, number: u64, record: Record<'_>) -> Result<(), Error> {
        self.table_ids.note(record.version, record.changes);
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
                self.batch.put(table.as_ref(), key, value);
                self.flush_if_full()
            }
            Change::Delete { tree, key } => {
                let table = find(&self.tables, tree)?;
                self.batch.delete(table.as_ref(), key);
                self.flush_if_full()
            }
            Change::DeleteRange { tree, lower, upper } => {
                self.flush()?;
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
                self.flush()?;
                self.tables.insert(tree, create(self.state, name)?);
                Ok(())
            }
            Change::CreateUnordered { tree, name, parameters } => {
                self.flush()?;
                self.tables.insert(tree, create_unordered(self.state, name, parameters)?);
                Ok(())
            }
            Change::Drop { tree } => {
                self.flush()?;
                let name = find(&self.tables, tree)?.name().to_owned();
                self.tables.remove(&tree);
                self.state.drop_table(&name)?;
                Ok(())
            }
            Change::Restart => {
                self.flush()?;
                self.tables.clear();
                Ok(())
            }
            Change::Time { .. } => Ok(()),
        }
    }

    fn flush_if_full(&mut self) -> Result<(), Rejected> {
        let is_full = self.batch.len() >= BATCH_ENTRIES || self.batch.bytes() >= BATCH_BYTES;
        if is_full { Ok(self.flush()?) } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        let mut failed = None;
        self.state.apply_each(&self.batch, |_, outcome| {
            if let Err(error) = outcome {
                failed.get_or_insert(error);
            }
        })?;
        self.batch.clear();
        failed.map_or(Ok(()), Err)
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

fn create(state: &Arc<StoreState>, name: &str) -> Result<TableHandle, Error> {
    StoreState::create_table(state, name).map(TableHandle::Ordered)
}

fn create_unordered(state: &Arc<StoreState>, name: &str, parameters: &[u8]) -> Result<TableHandle, Error> {
    let config = UnorderedConfig::decode(parameters);
    let config = config.ok_or_else(|| Error::InvalidConfig("parameters of an unordered table".to_owned()))?;
    StoreState::create_unordered_table(state, name, config).map(TableHandle::Unordered)
}

/// A table that receives the pairs of a checkpoint.
enum Target<'t> {
    Ordered(Loader<'t>),
    Unordered(&'t UnorderedTable),
}

impl<'t> Target<'t> {
    fn of(state: &'t StoreState, table: &'t TableHandle) -> Result<Self, Error> {
        Ok(match table {
            TableHandle::Ordered(table) => {
                Self::Ordered(Loader::new(state, table.entry(), Loader::FILL_PERCENT)?)
            }
            TableHandle::Unordered(table) => Self::Unordered(table),
        })
    }

    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        match self {
            Self::Ordered(loader) => loader.push(key, value),
            Self::Unordered(table) => table.put(key, value),
        }
    }
}

/// Adds the pairs of a block to a table, and returns the rule that the block violates, if any.
fn push_all(
    target: &mut Target<'_>,
    block: &mut honeycomb_log::PairsOfBlock<'_>,
    pairs: &mut u64,
) -> Result<Option<&'static str>, Error> {
    for pair in block {
        let Some((key, value)) = pair else { return Ok(Some("a block has whole pairs")) };
        match target.push(key, value) {
            Err(Error::NotAscending { .. }) => return Ok(Some("the keys of a table ascend")),
            pushed => pushed?,
        }
        *pairs += 1;
    }
    Ok(None)
}
