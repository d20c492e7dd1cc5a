//! The reservation station: groups the operations of a batch by key (KV-Direct, section 3.3.3).
//!
//! In the paper, operations on keys with equal hashes wait for each other in one of 1024 slots. Here the
//! operations on one key form a group, whose members are in the order of their arrival. Groups have different
//! keys, so they may execute in any order.

use honeycomb_memory::LineWords;

use crate::bucket::Bucket;
use crate::hash::HashedKey;
use crate::operation::Operation;
use crate::read::Pending;

/// Maximum number of operations in the station.
pub(crate) const STATION: usize = 1024;
/// Slots of the table that finds the group of a key, for each operation. With four slots few keys collide;
/// the processor does not predict collisions.
const SLOTS_PER_OPERATION: usize = 4;
const NONE: u16 = u16::MAX;

/// The operations on one key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group<'r> {
    pub(crate) key: HashedKey<'r>,
    /// The bucket when the group was formed.
    pub(crate) bucket: Option<Bucket<LineWords<'r>>>,
    pub(crate) first: u16,
    last: u16,
    pub(crate) count: u16,
    /// Whether the only operation is a get.
    pub(crate) is_get: bool,
    /// Whether an operation can change the pair.
    pub(crate) writes: bool,
    /// Where the get goes on.
    pub(crate) pending: Pending,
}

/// The links between operations, reused between batches.
#[derive(Debug, Default)]
pub(crate) struct Station {
    slots: Vec<u16>,
    next: Vec<u16>,
}

impl Station {
    /// Empties the station for `operations` operations. Returns the number of slots that it uses.
    pub(crate) fn clear(&mut self, operations: usize) -> usize {
        let slots = (SLOTS_PER_OPERATION * operations).next_power_of_two();
        self.slots.clear();
        self.slots.resize(slots, NONE);
        self.next.resize(operations, NONE);
        slots
    }

    /// Adds an operation: to the group of its key, or to a new group, whose bucket is `bucket`.
    /// `slots` is what `clear` has returned.
    #[inline]
    pub(crate) fn add<'r>(
        &mut self,
        groups: &mut Vec<Group<'r>>,
        slots: usize,
        key: HashedKey<'r>,
        bucket: impl FnOnce() -> Option<Bucket<LineWords<'r>>>,
        index: usize,
        operation: &Operation<'_>,
    ) {
        let index = index as u16;
        let writes = operation.writes();
        self.next[usize::from(index)] = NONE;
        // Bits of the hash that choose neither the bucket of most tables nor the second hash.
        let mut slot = (key.hash >> 32) as usize & (slots - 1);
        while let Some(group) = groups.get_mut(usize::from(self.slots[slot])) {
            if group.key.equals(&key) {
                self.next[usize::from(group.last)] = index;
                group.last = index;
                group.count += 1;
                group.is_get = false;
                group.writes |= writes;
                return;
            }
            slot = (slot + 1) & (slots - 1);
        }
        self.slots[slot] = groups.len() as u16;
        let is_get = matches!(operation, Operation::Get);
        groups.push(Group {
            key,
            bucket: bucket(),
            first: index,
            last: index,
            count: 1,
            is_get,
            writes,
            pending: Pending::default(),
        });
    }

    /// The operation of the same group that arrived after one.
    #[inline]
    pub(crate) fn after(&self, operation: usize) -> Option<usize> {
        let next = self.next[operation];
        (next != NONE).then_some(usize::from(next))
    }

    /// The operations of a group, in the order of their arrival.
    pub(crate) fn members(&self, group: &Group<'_>) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(usize::from(group.first)), |operation| self.after(*operation))
    }
}
