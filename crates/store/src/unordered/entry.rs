//! An unordered table in the directory, and the creation of one.

use std::hash::{BuildHasher, RandomState};
use std::ops::{Bound, Deref};
use std::sync::Arc;

use honeycomb_btree::Forest;
use honeycomb_hashtable::{Before, Functions, Recorder, Table, WalkedPairs};
use honeycomb_log::Changes;
use honeycomb_memory::Memory;
use honeycomb_memory::sync::{AtomicU64, Ordering};

use super::config::UnorderedConfig;
use crate::config::Config;

/// An unordered table. Its memory is free when the last reference is dropped.
pub(crate) struct UnorderedEntry {
    pub(crate) name: String,
    /// Its identifier in the log.
    pub(crate) tree: u64,
    pub(crate) table: Table<ForestMemory>,
    /// Each handle has a reference, and the entry itself. Other references to the entry do not prevent that
    /// the table is dropped.
    pub(crate) handles: Arc<()>,
}

/// What the store needs to create unordered tables.
pub(crate) struct UnorderedEntries {
    functions: Arc<Functions>,
    seed: Option<u64>,
    is_durable: bool,
    /// The identifier of the next table. The highest bit distinguishes it from the LIDs of trees.
    next: AtomicU64,
}

/// The memory of a forest.
#[derive(Debug)]
pub(crate) struct ForestMemory(ForestHandle);

/// A shared forest. It has a type of its own because a forest has no debug text.
struct ForestHandle(Arc<Forest>);

const FIRST_TREE: u64 = 1 << 63;
/// Bytes of pairs that a page of a walk has at least, unless it is the last one.
const PAGE_BYTES: usize = 256 << 10;

impl UnorderedEntries {
    pub(crate) fn new(config: &Config) -> Self {
        let (functions, seed) = (config.functions.clone(), config.hash_seed);
        Self { functions, seed, is_durable: config.durability.is_some(), next: AtomicU64::new(FIRST_TREE) }
    }

    pub(crate) fn functions(&self) -> &Arc<Functions> {
        &self.functions
    }

    /// Creates an empty table that the directory does not have yet.
    pub(crate) fn create(
        &self,
        forest: &Arc<Forest>,
        name: &str,
        config: UnorderedConfig,
    ) -> Result<Arc<UnorderedEntry>, honeycomb_hashtable::Error> {
        // Relaxed: the number only has to be unique.
        let tree = self.next.fetch_add(1, Ordering::Relaxed);
        let random = || RandomState::new().hash_one(tree);
        let seed = self.seed.map_or_else(random, |seed| seed.wrapping_add(tree));
        let memory = ForestMemory(ForestHandle(forest.clone()));
        let mut table = Table::new(memory, config.with_seed(seed), self.functions.clone())?;
        if self.is_durable {
            table = table.recorded_by(Box::new(TableRecorder { forest: forest.clone(), tree }));
        }
        Ok(Arc::new(UnorderedEntry { name: name.to_owned(), tree, table, handles: Arc::default() }))
    }
}

impl UnorderedEntry {
    pub(crate) fn pairs(&self) -> u64 {
        self.table.statistics().pairs
    }

    pub(crate) fn config(&self) -> UnorderedConfig {
        UnorderedConfig::of(self.table.config())
    }

    /// Replaces the contents of `pairs` with the next ones of a walk, about `count` or 256 KiB of them, and
    /// returns the next cursor; 0 at the end. Values that are too long for a slab
    /// are cut to `value_bytes_max`.
    pub(crate) fn walk(
        &self,
        mut cursor: u64,
        count: usize,
        value_bytes_max: usize,
        pairs: &mut WalkedPairs,
    ) -> u64 {
        pairs.clear();
        for _ in 0..count.max(1) {
            cursor = self.table.session().walk_beginnings(cursor, value_bytes_max, pairs);
            if cursor == 0 || pairs.len() >= count || pairs.bytes() >= PAGE_BYTES {
                break;
            }
        }
        cursor
    }

    /// Stores a pair of an image into a table that nobody else uses. The recorder does not receive it.
    pub(crate) fn load(&self, key: &[u8], value: &[u8]) -> Result<(), honeycomb_hashtable::Error> {
        let session = self.table.session();
        let keys = [key];
        let mut locked = session.lock_keys(&keys)?;
        locked.prepare(0, Some(value))?;
        locked.commit();
        Ok(())
    }
}

/// Passes the effects of the writes to one table to the journal of the forest.
struct TableRecorder {
    forest: Arc<Forest>,
    tree: u64,
}

impl Recorder for TableRecorder {
    fn needs_values_before(&self) -> bool {
        self.forest.has_old_values()
    }

    fn record(&self, key: &[u8], value: Option<&[u8]>, before: Before<'_>) {
        self.forest.record_at_once(|| {
            let mut changes = Changes::default();
            match before {
                Before::Unknown => {}
                Before::Absent => changes.absent(self.tree),
                Before::Value(old) => changes.old(self.tree, key, old),
            }
            match value {
                Some(value) => changes.put(self.tree, key, value),
                None => changes.delete(self.tree, key),
            }
            changes
        });
    }

    fn record_clear(&self) {
        self.forest.record_at_once(|| {
            let mut changes = Changes::default();
            changes.delete_range(self.tree, Bound::Unbounded, Bound::Unbounded);
            changes
        });
    }
}

impl Deref for ForestMemory {
    type Target = Memory;

    #[inline]
    fn deref(&self) -> &Memory {
        self.0.0.memory()
    }
}

impl std::fmt::Debug for ForestHandle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Forest")
    }
}
