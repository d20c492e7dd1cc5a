//! Loading of a checkpoint: the caller reads and checks blocks and gathers parts of adjacent blocks, and each
//! part has a thread that loads its pairs meanwhile, so all threads can load the same table.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle, available_parallelism};

use honeycomb_btree::LoaderPart;
use honeycomb_log::{Block, CheckpointReader, PairsOfBlock};

use super::table_load::{TableLoad, begin_part};
use crate::error::Error;
use crate::store_state::StoreState;
use crate::table::Table;
use crate::table_handle::TableHandle;
use crate::unordered::config::UnorderedConfig;

/// Bytes of pairs at which a part ends.
const PART_BYTES: usize = 2 << 20;

/// A checkpoint that is being loaded.
pub(crate) struct Loading<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    state: &'env Arc<StoreState>,
    /// The part that gets blocks.
    next: Option<Part>,
    /// The threads of the parts before it, with their tables.
    threads: VecDeque<(TableHandle, PartThread<'scope, 'env>)>,
    threads_max: usize,
    /// The ordered table of the last part whose thread has ended.
    table: Option<TableLoad<'env>>,
    /// The number of pairs in such parts.
    pairs: u64,
}

type PartThread<'scope, 'env> = ScopedJoinHandle<'scope, Result<LoadedPart<'env>, Rejected>>;

/// Adjacent blocks of a table.
struct Part {
    table: TableHandle,
    is_first: bool,
    blocks: Vec<ReadBlock>,
    bytes: usize,
}

/// The pairs of a block, and the offset of its end in the checkpoint.
struct ReadBlock {
    offset: u64,
    pairs: Vec<u8>,
}

/// A part that is loaded.
struct LoadedPart<'s> {
    /// The offset of the end of its first block.
    offset: u64,
    pairs: u64,
    /// Its leaves, if it is of an ordered table.
    leaves: Option<LoaderPart<'s>>,
}

/// The reason that a block cannot be loaded.
enum Rejected {
    /// The block ends at this offset and violates this rule.
    Rule(u64, &'static str),
    Failed(Error),
}

impl<'scope, 'env> Loading<'scope, 'env> {
    /// Loads nothing yet.
    pub(crate) fn new(scope: &'scope Scope<'scope, 'env>, state: &'env Arc<StoreState>) -> Self {
        let threads_max = available_parallelism().map_or(1, usize::from);
        Self { scope, state, next: None, threads: VecDeque::new(), threads_max, table: None, pairs: 0 }
    }

    /// Reads a checkpoint, and returns the number of its pairs when all are loaded. Passes each table, with
    /// its identifier in the log, to `created`, and the number of pairs so far to `report`.
    pub(crate) fn load(
        mut self,
        checkpoint: &mut CheckpointReader,
        mut created: impl FnMut(u64, TableHandle),
        mut report: impl FnMut(u64),
    ) -> Result<u64, Error> {
        loop {
            let (tree, table) = match checkpoint.next_block()? {
                Block::Table { tree, name } => (tree, create(self.state, name)),
                Block::Unordered { tree, parameters, name } => {
                    (tree, create_unordered(self.state, name, parameters))
                }
                Block::Pairs(block) => {
                    let pairs = block.bytes().to_vec();
                    self.add(checkpoint, pairs)?;
                    report(self.pairs);
                    continue;
                }
                Block::End { pairs } => {
                    self.finish(checkpoint)?;
                    let rule = "the last block states the number of pairs";
                    let is_right = pairs == self.pairs;
                    return if is_right { Ok(pairs) } else { Err(checkpoint.corrupt(rule).into()) };
                }
            };
            let table = table.map_err(|error| match rule_of(&error) {
                Some(rule) => checkpoint.corrupt(rule).into(),
                None => error,
            })?;
            self.start_next(checkpoint)?;
            self.next = Some(Part::new(table.clone(), true));
            created(tree, table);
        }
    }

    /// Adds a block to the part of its table.
    fn add(&mut self, checkpoint: &CheckpointReader, pairs: Vec<u8>) -> Result<(), Error> {
        let Some(part) = &mut self.next else {
            return Err(checkpoint.corrupt("a block of pairs follows a block of a table").into());
        };
        if pairs.is_empty() {
            return Ok(());
        }
        part.bytes += pairs.len();
        part.blocks.push(ReadBlock { offset: checkpoint.progress().0, pairs });
        if part.bytes >= PART_BYTES {
            let table = part.table.clone();
            self.start_next(checkpoint)?;
            self.next = Some(Part::new(table, false));
        }
        Ok(())
    }

    /// Starts the thread of the part that has got blocks.
    fn start_next(&mut self, checkpoint: &CheckpointReader) -> Result<(), Error> {
        let Some(part) = self.next.take().filter(|part| !part.blocks.is_empty()) else { return Ok(()) };
        if self.threads.len() == self.threads_max {
            self.join_first(checkpoint)?;
        }
        let (state, table): (&'env StoreState, _) = (self.state, part.table.clone());
        self.threads.push_back((table, self.scope.spawn(move || part.load(state))));
        Ok(())
    }

    fn finish(&mut self, checkpoint: &CheckpointReader) -> Result<(), Error> {
        self.start_next(checkpoint)?;
        while !self.threads.is_empty() {
            self.join_first(checkpoint)?;
        }
        self.table.take().map_or(Ok(()), TableLoad::finish)
    }

    /// Waits for the first part, and appends its leaves to its table.
    fn join_first(&mut self, checkpoint: &CheckpointReader) -> Result<(), Error> {
        let Some((table, thread)) = self.threads.pop_front() else { return Ok(()) };
        let joined = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let LoadedPart { offset, pairs, leaves } = joined.map_err(|reason| reason.into_error(checkpoint))?;
        self.pairs += pairs;
        let (TableHandle::Ordered(table), Some(leaves)) = (table, leaves) else { return Ok(()) };
        let appended = self.load_of(&table)?.append(leaves);
        appended.map_err(|error| Rejected::at(offset, error).into_error(checkpoint))
    }

    /// Returns the load of a table. The tables before it get no more parts.
    fn load_of(&mut self, table: &Table) -> Result<&mut TableLoad<'env>, Error> {
        let load = match self.table.take() {
            Some(load) if load.is_of(table) => load,
            before => {
                before.map_or(Ok(()), TableLoad::finish)?;
                TableLoad::new(self.state, table)?
            }
        };
        Ok(self.table.insert(load))
    }
}

impl Part {
    fn new(table: TableHandle, is_first: bool) -> Self {
        Self { table, is_first, blocks: Vec::new(), bytes: 0 }
    }

    fn load(self, state: &StoreState) -> Result<LoadedPart<'_>, Rejected> {
        let mut leaves = match &self.table {
            TableHandle::Ordered(_) => Some(begin_part(state, self.low()).map_err(Rejected::Failed)?),
            TableHandle::Unordered(_) => None,
        };
        let mut count = 0;
        for ReadBlock { offset, pairs } in &self.blocks {
            for pair in PairsOfBlock::of(pairs) {
                let rule = "a block has whole pairs";
                let (key, value) = pair.ok_or(Rejected::Rule(*offset, rule))?;
                let pushed = match (&mut leaves, &self.table) {
                    (Some(leaves), _) => state.write(|_| leaves.push(key, value)),
                    (None, table) => table.put(key, value),
                };
                pushed.map_err(|error| Rejected::at(*offset, error))?;
                count += 1;
            }
        }
        Ok(LoadedPart { offset: self.blocks[0].offset, pairs: count, leaves })
    }

    /// The low key of the part: its first key, or the empty key if it is the first part of the table.
    fn low(&self) -> &[u8] {
        let first = self.blocks.first().filter(|_| !self.is_first);
        let pair = first.and_then(|block| PairsOfBlock::of(&block.pairs).next()).flatten();
        pair.map_or(&[], |(key, _)| key)
    }
}

impl Rejected {
    /// The reason for an error of a pair in a block that ends at an offset.
    fn at(offset: u64, error: Error) -> Self {
        match error {
            Error::NotAscending { .. } => Self::Rule(offset, "the keys of a table ascend"),
            other => Self::Failed(other),
        }
    }

    fn into_error(self, checkpoint: &CheckpointReader) -> Error {
        match self {
            Self::Rule(offset, rule) => checkpoint.corrupt_at(offset, rule).into(),
            Self::Failed(error) => error,
        }
    }
}

/// Returns the rule that a table of a checkpoint or of a record violates, if no configuration allows it.
pub(super) fn rule_of(error: &Error) -> Option<&'static str> {
    match error {
        Error::TableName { .. } => Some("the name of a table has 1 to 255 bytes"),
        Error::InvalidConfig(_) => Some("an unordered table has valid parameters"),
        Error::TableInUse { .. } => Some("a table that is dropped has one identifier"),
        _ => None,
    }
}

/// Opens the table of a checkpoint or of a change.
pub(super) fn create(state: &Arc<StoreState>, name: &str) -> Result<TableHandle, Error> {
    StoreState::create_table(state, name).map(TableHandle::Ordered)
}

/// Like [`create`], for an unordered table.
pub(super) fn create_unordered(
    state: &Arc<StoreState>,
    name: &str,
    parameters: &[u8],
) -> Result<TableHandle, Error> {
    let config = UnorderedConfig::decode(parameters);
    let config = config.ok_or_else(|| Error::InvalidConfig("parameters of an unordered table".to_owned()))?;
    StoreState::create_unordered_table(state, name, config).map(TableHandle::Unordered)
}
