//! Compaction: passes over the leaves of all tables that merge the leaves that deletes left sparse.
//!
//! A pass is due once writes have deleted or shortened pairs by a 64th of the bytes of all nodes since the
//! start of the last pass. So the cost of a pass is small compared with the writes that made it due, and the
//! space that it has not yet freed is small compared with the data. Writes advance the pass: every 32nd write
//! of a thread visits 32 leaves. A write that finds no room advances it until there is room, and so does
//! [`Store::maintain`](crate::Store::maintain). One thread at a time advances the pass, under a lock that
//! other writes do not wait for.
//!
//! While a pass visits a table, it holds a read lock on the directory, so nobody can drop the table. It never
//! waits for that lock: the thread that holds the write lock may itself need the room.

use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_btree::{Forest, Root};
use honeycomb_memory::Memory;
use honeycomb_memory::sync::{AtomicU64, Ordering};

use crate::directory::{Entry, Tables};
use crate::store_state::StoreState;

/// Writes of a thread between two steps of a pass, and leaves that one step visits.
pub(crate) const STEP: usize = 32;
/// Leaves that a write without room visits before it checks for free memory.
const ROOM_STEP: usize = 1024;
/// A pass is due when this fraction of the bytes of all nodes has become unused.
const DUE_FRACTION: usize = 64;

#[derive(Default)]
pub(crate) struct Compaction {
    pass: Mutex<Pass>,
    /// The value of `Forest::shrunk_bytes` at which a pass is due; 0 during a pass.
    due_at: AtomicU64,
}

#[derive(Default)]
struct Pass {
    /// Where the pass continues: the name of a table, or the lower bound of the next name if that table is
    /// gone, and a key in it.
    position: Option<(String, Vec<u8>)>,
    /// The value of `Forest::shrunk_bytes` when the pass began.
    began_at: u64,
}

/// The result of a step.
struct Step {
    /// Nodes that merges freed.
    freed: usize,
    /// Whether the step stopped because there was no room, or because another thread has locked the
    /// directory.
    is_stuck: bool,
}

impl Compaction {
    /// The compaction of an empty store.
    pub(crate) fn new(forest: &Forest) -> Self {
        let due_at = AtomicU64::new(forest.memory().node_bytes() as u64);
        Self { due_at, ..Self::default() }
    }

    /// Advances a pass by about `leaves` leaves, if one is due and no other thread is advancing it.
    #[inline]
    pub(crate) fn advance(&self, state: &StoreState, leaves: usize) {
        if self.is_due(&state.forest)
            && let Ok(mut pass) = self.pass.try_lock()
        {
            self.step(&mut pass, state, leaves);
        }
    }

    /// Advances a pass by about `leaves` leaves, if one is due. Returns whether more work is due.
    pub(crate) fn maintain(&self, state: &StoreState, leaves: usize) -> bool {
        !self.step(&mut self.lock(), state, leaves).is_stuck && self.is_due(&state.forest)
    }

    /// Advances a pass, if one is due, until there is more room. Returns whether there is. Compaction may use
    /// the reserve.
    pub(crate) fn make_room(&self, state: &StoreState) -> bool {
        let (mut pass, memory) = (self.lock(), state.forest.memory());
        while self.is_due(&state.forest) {
            state.reserve.release(memory);
            memory.reclaim();
            let before = free_bytes(memory);
            let Step { freed, is_stuck } = self.step(&mut pass, state, ROOM_STEP);
            if freed > 0 || is_stuck {
                memory.reclaim();
                // Operations in flight may delay the reclaiming of the merged leaves.
                return free_bytes(memory) > before;
            }
        }
        false
    }

    fn is_due(&self, forest: &Forest) -> bool {
        // Relaxed: a thread that reads an old value starts a little earlier or later.
        forest.shrunk_bytes() >= self.due_at.load(Ordering::Relaxed)
    }

    /// Visits about `leaves` leaves, if a pass is due.
    fn step(&self, pass: &mut Pass, state: &StoreState, leaves: usize) -> Step {
        let mut step = Step { freed: 0, is_stuck: false };
        let Some(tables) = state.directory.try_read() else { return Step { is_stuck: true, ..step } };
        let mut left = leaves;
        while left > 0 && self.is_due(&state.forest) {
            let Some((name, root, mut key)) = self.position(pass, &state.forest, &tables) else { continue };
            let compacted = state.forest.compact(root, &mut key, left);
            let (leaves, is_done) = match compacted {
                Ok(compacted) => {
                    step.freed += compacted.freed;
                    (compacted.leaves, compacted.is_done)
                }
                Err(_) => {
                    step.is_stuck = true;
                    (left, false)
                }
            };
            left = left.saturating_sub(leaves);
            // The smallest name above this one is this one with a zero byte appended.
            pass.position = Some(if is_done { (name + "\0", Vec::new()) } else { (name, key) });
        }
        step
    }

    /// The table and the key where the pass continues, or where a new one begins. `None` if the pass has
    /// ended.
    fn position(&self, pass: &mut Pass, forest: &Forest, tables: &Tables) -> Option<(String, Root, Vec<u8>)> {
        let (name, key) = pass.position.take().unwrap_or_else(|| {
            pass.began_at = forest.shrunk_bytes();
            self.due_at.store(0, Ordering::Relaxed);
            Default::default()
        });
        let from = (Bound::Included(&name[..]), Bound::Unbounded);
        let trees = |(name, entry): (&String, &Entry)| entry.root().map(|root| (name.clone(), root));
        match tables.range::<str, _>(from).find_map(trees) {
            Some((found, root)) if found == name => Some((name, root, key)),
            Some((found, root)) => Some((found, root, Vec::new())),
            None => {
                let nodes = forest.memory().accounting().live_node_bytes;
                let more = forest.memory().node_bytes() + nodes / DUE_FRACTION;
                self.due_at.store(pass.began_at + more as u64, Ordering::Relaxed);
                None
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pass> {
        self.pass.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of bytes that can be allocated.
fn free_bytes(memory: &Memory) -> usize {
    let accounting = memory.accounting();
    accounting.free_bytes + accounting.free_list_bytes
}
