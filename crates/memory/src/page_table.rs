//! The page table: from LID to the bus address of the node's current buffer.
//!
//! 1. `entries[lid]`: the owner of a reserved LID, and then whoever holds the lock of the node it replaces,
//!    by a release store of a bus address; anybody loads it with acquire. Who reclaims a retired LID stores
//!    0.
//! 2. `states[lid]`: free -> reserved (who took it from the free list or from `fresh`) -> live (the same) ->
//!    retired (who retires it) -> free (who reclaims it); a change that does not find the state before it is
//!    refused.
//! 3. `fresh`: anybody, by compare-and-swap, up to the capacity. LIDs from it on were never used.
//! 4. `free`: see `free_list`.

use crate::address::{BusAddress, Lid};
use crate::arena::{MappedByte, MappedSlice, MappedWord, Wishes};
use crate::error::MemoryError;
use crate::free_list::{FreeList, Links, new_links};
use crate::node::prefetch_line;
use crate::sync::{AtomicU32, AtomicUsize, Ordering, Padded};

#[derive(Debug)]
pub(crate) struct PageTable {
    entries: MappedSlice<MappedWord>,
    states: MappedSlice<MappedByte>,
    links: Links,
    allotment: Padded<Allotment>,
}

/// Which LIDs there are to reserve, and how many are in which state.
#[derive(Debug)]
struct Allotment {
    free: FreeList,
    fresh: AtomicUsize,
    counts: [AtomicUsize; STATES],
}

/// What a LID is in use for.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(crate) enum State {
    Free,
    Reserved,
    Live,
    Retired,
}

const STATES: usize = State::Retired as usize + 1;

impl PageTable {
    /// LIDs 1 to `capacity`, all free.
    pub(crate) fn new(capacity: usize, wishes: Wishes) -> Result<Self, MemoryError> {
        Ok(Self {
            entries: MappedSlice::new(capacity + 1, wishes)?,
            states: MappedSlice::new(capacity + 1, Wishes::default())?,
            links: new_links(capacity + 1)?,
            allotment: Padded(Allotment {
                free: FreeList::new(),
                fresh: AtomicUsize::new(1),
                counts: std::array::from_fn(|_| AtomicUsize::new(0)),
            }),
        })
    }

    /// The bus address that a LID is mapped to; 0 for none.
    ///
    /// # Panics
    /// If the LID is beyond the capacity.
    #[inline]
    pub(crate) fn load(&self, lid: Lid) -> u64 {
        self.entries[lid.index()].load(Ordering::Acquire)
    }

    /// Asks for the cache line of an entry.
    #[inline]
    pub(crate) fn prefetch(&self, lid: Lid) {
        if let Some(entry) = self.entries.get(lid.index()) {
            prefetch_line(std::ptr::from_ref(entry).cast());
        }
    }

    /// Maps a LID to a buffer, whose bytes everybody who finds it there will see.
    pub(crate) fn store(&self, lid: Lid, address: BusAddress) {
        let state = self.states[lid.index()].load(Ordering::Relaxed);
        assert!(state == State::Live as u8, "LID {} is not in use", lid.get());
        self.entries[lid.index()].store(address.get(), Ordering::Release);
    }

    /// A free LID, now reserved.
    pub(crate) fn reserve(&self) -> Option<Lid> {
        let index = self
            .allotment
            .0
            .free
            .pop(&self.links)
            .map(|index| index as usize)
            .or_else(|| self.take_fresh())?;
        let lid = Lid::new(index as u64)?;
        self.change(lid, State::Free, State::Reserved);
        Some(lid)
    }

    /// A LID changes hands.
    ///
    /// # Panics
    /// If it was not in the state `from`.
    pub(crate) fn change(&self, lid: Lid, from: State, to: State) {
        let change = |state: &MappedByte| {
            state.compare_exchange(from as u8, to as u8, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        assert!(self.states.get(lid.index()).is_some_and(change), "LID {} is not {from:?}", lid.get());
        if !matches!(from, State::Free) {
            self.allotment.0.counts[from as usize].fetch_sub(1, Ordering::Relaxed);
        }
        if !matches!(to, State::Free) {
            self.allotment.0.counts[to as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes back a LID that nobody can see.
    pub(crate) fn free(&self, lid: Lid, from: State) {
        self.entries[lid.index()].store(0, Ordering::Relaxed);
        self.change(lid, from, State::Free);
        self.allotment.0.free.push(&self.links, lid.index() as u32);
    }

    /// LIDs in a state.
    pub(crate) fn count(&self, state: State) -> usize {
        let used = |state: State| self.allotment.0.counts[state as usize].load(Ordering::Relaxed);
        match state {
            State::Free => {
                let others = [State::Reserved, State::Live, State::Retired];
                (self.states.len() - 1).saturating_sub(others.into_iter().map(used).sum())
            }
            state => used(state),
        }
    }

    /// Bytes of the entries that were ever in use.
    pub(crate) fn used_bytes(&self) -> usize {
        self.allotment.0.fresh.load(Ordering::Relaxed) * size_of::<MappedWord>()
    }

    /// Bytes beside the entries.
    pub(crate) fn overhead_bytes(&self) -> usize {
        self.states.len() + self.links.len() * size_of::<AtomicU32>()
    }

    fn take_fresh(&self) -> Option<usize> {
        let below_capacity = |fresh| (fresh < self.states.len()).then_some(fresh + 1);
        self.allotment.0.fresh.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below_capacity).ok()
    }
}
