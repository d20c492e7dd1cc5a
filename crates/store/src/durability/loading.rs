//! Loading of a checkpoint: the caller reads and checks blocks, and each table has a thread that loads its
//! pairs meanwhile.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle, available_parallelism};

use honeycomb_log::{Block, CheckpointReader, PairsOfBlock};
use honeycomb_memory::sync::{AtomicU64, Ordering};

use crate::error::Error;
use crate::loader::Loader;
use crate::store_state::StoreState;
use crate::table_handle::TableHandle;
use crate::unordered::config::UnorderedConfig;
use crate::unordered::table::UnorderedTable;

/// Blocks that were read but not loaded, for each table.
const BLOCKS_AHEAD: usize = 16;

/// The tables of a checkpoint that are being loaded, the last one with the sender of its blocks.
pub(crate) struct Loading<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    state: &'env Arc<StoreState>,
    pairs: &'env AtomicU64,
    blocks: Option<SyncSender<ReadBlock>>,
    threads: VecDeque<ScopedJoinHandle<'scope, Result<(), Rejected>>>,
    threads_max: usize,
}

/// The pairs of a block, and the offset of its end in the checkpoint.
struct ReadBlock {
    offset: u64,
    pairs: Vec<u8>,
}

/// The reason that a block cannot be loaded.
enum Rejected {
    /// The block ends at this offset and violates this rule.
    Rule(u64, &'static str),
    Failed(Error),
}

impl<'scope, 'env> Loading<'scope, 'env> {
    /// Loads nothing yet. `pairs` is the number of pairs that were loaded.
    pub(crate) fn new(
        scope: &'scope Scope<'scope, 'env>,
        state: &'env Arc<StoreState>,
        pairs: &'env AtomicU64,
    ) -> Self {
        let threads_max = available_parallelism().map_or(1, usize::from);
        Self { scope, state, pairs, blocks: None, threads: VecDeque::new(), threads_max }
    }

    /// Reads a checkpoint, and returns when all its pairs are loaded. Passes each table, with its identifier
    /// in the log, to `created`, and the number of pairs so far to `report`.
    pub(crate) fn load(
        mut self,
        checkpoint: &mut CheckpointReader,
        mut created: impl FnMut(u64, TableHandle),
        mut report: impl FnMut(u64),
    ) -> Result<(), Error> {
        loop {
            let table = match checkpoint.next_block()? {
                Block::Table { tree, name } => (tree, create(self.state, name)?),
                Block::Unordered { tree, parameters, name } => {
                    (tree, create_unordered(self.state, name, parameters)?)
                }
                Block::Pairs(block) => {
                    let pairs = block.bytes().to_vec();
                    self.pass(checkpoint, pairs)?;
                    report(self.pairs.load(Ordering::Relaxed));
                    continue;
                }
                Block::End { pairs } => {
                    self.finish(checkpoint)?;
                    let loaded = self.pairs.load(Ordering::Relaxed);
                    let rule = "the last block states the number of pairs";
                    return if pairs == loaded { Ok(()) } else { Err(checkpoint.corrupt(rule).into()) };
                }
            };
            self.begin(checkpoint, &table.1)?;
            created(table.0, table.1);
        }
    }

    /// Begins a table. The tables before it get no more blocks.
    fn begin(&mut self, checkpoint: &CheckpointReader, table: &TableHandle) -> Result<(), Error> {
        self.blocks = None;
        if self.threads.len() == self.threads_max {
            self.join_first(checkpoint)?;
        }
        let (sender, blocks) = sync_channel(BLOCKS_AHEAD);
        let (state, loaded, table) = (self.state, self.pairs, table.clone());
        self.blocks = Some(sender);
        self.threads.push_back(self.scope.spawn(move || load_table(state, &table, &blocks, loaded)));
        Ok(())
    }

    /// Passes a block to the thread of its table.
    fn pass(&mut self, checkpoint: &CheckpointReader, pairs: Vec<u8>) -> Result<(), Error> {
        let Some(blocks) = &self.blocks else {
            return Err(checkpoint.corrupt("a block of pairs follows a block of a table").into());
        };
        let offset = checkpoint.progress().0;
        // A thread that has failed receives no blocks.
        if blocks.send(ReadBlock { offset, pairs }).is_ok() { Ok(()) } else { self.finish(checkpoint) }
    }

    fn finish(&mut self, checkpoint: &CheckpointReader) -> Result<(), Error> {
        self.blocks = None;
        while !self.threads.is_empty() {
            self.join_first(checkpoint)?;
        }
        Ok(())
    }

    fn join_first(&mut self, checkpoint: &CheckpointReader) -> Result<(), Error> {
        let Some(thread) = self.threads.pop_front() else { return Ok(()) };
        match thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
            Ok(()) => Ok(()),
            Err(Rejected::Rule(offset, rule)) => Err(checkpoint.corrupt_at(offset, rule).into()),
            Err(Rejected::Failed(error)) => Err(error),
        }
    }
}

fn load_table(
    state: &StoreState,
    table: &TableHandle,
    blocks: &Receiver<ReadBlock>,
    loaded: &AtomicU64,
) -> Result<(), Rejected> {
    let mut target = Target::of(state, table).map_err(Rejected::Failed)?;
    for ReadBlock { offset, pairs } in blocks {
        let mut count = 0;
        for pair in PairsOfBlock::of(&pairs) {
            let Some((key, value)) = pair else {
                return Err(Rejected::Rule(offset, "a block has whole pairs"));
            };
            target.push(key, value).map_err(|error| match error {
                Error::NotAscending { .. } => Rejected::Rule(offset, "the keys of a table ascend"),
                other => Rejected::Failed(other),
            })?;
            count += 1;
        }
        // Relaxed: the end of the thread orders the number before its last use.
        loaded.fetch_add(count, Ordering::Relaxed);
    }
    target.finish().map_err(Rejected::Failed)
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

    /// Makes all pairs visible.
    fn finish(self) -> Result<(), Error> {
        match self {
            Self::Ordered(loader) => loader.finish().map(drop),
            Self::Unordered(_) => Ok(()),
        }
    }
}
