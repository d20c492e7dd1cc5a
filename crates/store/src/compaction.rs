//! Compaction of a store: passes over the leaves of all tables, which join those that deletes left sparse.
//!
//! A pass is due once pairs of a 64th of the bytes of all nodes were deleted, or made shorter, since the last
//! one began. So it costs little beside the writes that made it due, and what it leaves undone is little
//! beside what is there. It goes on with the writes of the store: of each thread every 32nd looks at as many
//! leaves. A write that finds no room goes on with it until there is some, and so does who calls
//! [`Store::maintain`](crate::Store::maintain). One thread at a time does, under a lock that writes do not
//! wait for.
//!
//! While a table is looked at the directory is locked for reading, so the table is not removed meanwhile.
//! Nobody waits for that lock here: who has it for writing may be who needs the room.

use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_btree::Forest;
use honeycomb_memory::Memory;
use honeycomb_memory::sync::{AtomicU64, Ordering};

use crate::directory::Tables;
use crate::shared::StoreState;

/// Writes of a thread between two steps of a pass, and leaves that a step looks at.
pub(crate) const STEP: usize = 32;
/// Leaves that a write without room looks at before it sees what that gave.
const ROOM_STEP: usize = 1024;
/// The part of the nodes' bytes that is left without use before a pass is due.
const DUE_FRACTION: usize = 64;

#[derive(Default)]
pub(crate) struct Compaction {
    pass: Mutex<Pass>,
    /// Bytes left without use, counted since the store was opened, at which a pass is due; 0 during one.
    due_at: AtomicU64,
}

#[derive(Default)]
struct Pass {
    /// The name of a table, if it is gone of those before the next one, and a key, where the pass goes on.
    place: Option<(String, Vec<u8>)>,
    /// Bytes left without use when it began.
    began_at: u64,
}

/// What a step came to.
struct Step {
    /// Nodes that there are fewer.
    freed: usize,
    /// Whether there was no room to go on, or somebody has the directory.
    is_stuck: bool,
}

impl Compaction {
    /// Of an empty store.
    pub(crate) fn new(forest: &Forest) -> Self {
        let due_at = AtomicU64::new(forest.memory().node_bytes() as u64);
        Self { due_at, ..Self::default() }
    }

    /// Goes on with a pass for about so many leaves, if one is due and nobody else is at it.
    #[inline]
    pub(crate) fn go_on(&self, shared: &StoreState, leaves: usize) {
        if self.is_due(&shared.forest)
            && let Ok(mut pass) = self.pass.try_lock()
        {
            self.step(&mut pass, shared, leaves);
        }
    }

    /// Goes on with a pass for about so many leaves, if one is due: whether there is more to do.
    pub(crate) fn maintain(&self, shared: &StoreState, leaves: usize) -> bool {
        !self.step(&mut self.lock(), shared, leaves).is_stuck && self.is_due(&shared.forest)
    }

    /// Goes on with a pass, if one is due, until there is more room: whether there is. It takes the reserve
    /// for what it needs itself.
    pub(crate) fn make_room(&self, shared: &StoreState) -> bool {
        let (mut pass, memory) = (self.lock(), shared.forest.memory());
        while self.is_due(&shared.forest) {
            shared.reserve.give_up(memory);
            memory.reclaim();
            let before = free_bytes(memory);
            let Step { freed, is_stuck } = self.step(&mut pass, shared, ROOM_STEP);
            if freed > 0 || is_stuck {
                memory.reclaim();
                // Operations in flight may hold back what was joined.
                return free_bytes(memory) > before;
            }
        }
        false
    }

    fn is_due(&self, forest: &Forest) -> bool {
        // Relaxed: who sees old numbers looks a little earlier or later.
        forest.shrunk_bytes() >= self.due_at.load(Ordering::Relaxed)
    }

    /// Looks at about so many leaves, if a pass is due.
    fn step(&self, pass: &mut Pass, shared: &StoreState, leaves: usize) -> Step {
        let mut step = Step { freed: 0, is_stuck: false };
        let Some(tables) = shared.directory.try_read() else { return Step { is_stuck: true, ..step } };
        let mut left = leaves;
        while left > 0 && self.is_due(&shared.forest) {
            let Some((name, mut key)) = self.place(pass, &shared.forest, &tables) else { continue };
            let compacted = shared.forest.compact(tables[&name].root, &mut key, left);
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
            // After a zero byte comes the first name that is greater.
            pass.place = Some(if is_done { (name + "\0", Vec::new()) } else { (name, key) });
        }
        step
    }

    /// The table and the key where a pass goes on, or a new one begins. None if it is over.
    fn place(&self, pass: &mut Pass, forest: &Forest, tables: &Tables) -> Option<(String, Vec<u8>)> {
        let (name, key) = pass.place.take().unwrap_or_else(|| {
            pass.began_at = forest.shrunk_bytes();
            self.due_at.store(0, Ordering::Relaxed);
            Default::default()
        });
        let from = (Bound::Included(&name[..]), Bound::Unbounded);
        match tables.range::<str, _>(from).next() {
            Some((found, _)) if *found == name => Some((name, key)),
            Some((found, _)) => Some((found.clone(), Vec::new())),
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

/// Bytes that can be allocated.
fn free_bytes(memory: &Memory) -> usize {
    let accounting = memory.accounting();
    accounting.free_bytes + accounting.free_list_bytes
}
