//! The page table: maps a LID to the bus address of the node's current buffer.
//!
//! 1. `entries[lid]`: first the owner of the reserved LID stores it, later the thread that has locked the
//!    node that it replaces; both by a release store of a bus address. Any thread loads it with acquire. The
//!    thread that reclaims a retired LID stores 0.
//! 2. `states[lid]`: free -> reserved -> live -> retired -> free. The thread that has reserved the LID also
//!    makes it live; the threads that retire and reclaim it make the other changes. A change panics if the
//!    LID is not in the expected state.
//! 3. `fresh`: any thread, by compare-and-swap, up to the capacity. LIDs from `fresh` on were never in use.
//! 4. `free`: see `free_list`.

use crate::address::{BusAddress, Lid};
use crate::arena::{MappedByte, MappedSlice, MappedWord, MappingHints};
use crate::error::MemoryError;
use crate::free_list::{FreeList, Links, new_links};
use crate::prefetch::prefetch_one_of_many;
use crate::sync::{AtomicU32, AtomicUsize, Ordering, Padded};

#[derive(Debug)]
pub(crate) struct PageTable {
    entries: MappedSlice<MappedWord>,
    states: MappedSlice<MappedByte>,
    links: Links,
    reservations: Padded<Reservations>,
}

/// The LIDs that can be reserved, and the number of LIDs in each state.
#[derive(Debug)]
struct Reservations {
    free: FreeList,
    fresh: AtomicUsize,
    counts: [AtomicUsize; STATES],
}

/// The state of a LID.
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
    /// Creates a page table in which the LIDs 1 to `capacity` are free.
    pub(crate) fn new(capacity: usize, hints: MappingHints) -> Result<Self, MemoryError> {
        Ok(Self {
            entries: MappedSlice::new(capacity + 1, hints)?,
            states: MappedSlice::new(capacity + 1, MappingHints::default())?,
            links: new_links(capacity + 1)?,
            reservations: Padded(Reservations {
                free: FreeList::new(),
                fresh: AtomicUsize::new(1),
                counts: std::array::from_fn(|_| AtomicUsize::new(0)),
            }),
        })
    }

    /// Returns the bus address of a LID; 0 if the LID is not mapped.
    ///
    /// # Panics
    /// If the LID is beyond the capacity.
    #[inline]
    pub(crate) fn load(&self, lid: Lid) -> u64 {
        self.entries[lid.index()].load(Ordering::Acquire)
    }

    /// Prefetches the cache line of an entry.
    #[inline]
    pub(crate) fn prefetch(&self, lid: Lid) {
        if let Some(entry) = self.entries.get(lid.index()) {
            prefetch_one_of_many(std::ptr::from_ref(entry).cast());
        }
    }

    /// Maps a LID to a buffer. A thread that loads the mapping sees the bytes of the buffer.
    pub(crate) fn store(&self, lid: Lid, address: BusAddress) {
        let state = self.states[lid.index()].load(Ordering::Relaxed);
        assert!(state == State::Live as u8, "LID {} is not in use", lid.get());
        self.entries[lid.index()].store(address.get(), Ordering::Release);
    }

    /// Reserves a free LID.
    pub(crate) fn reserve(&self) -> Option<Lid> {
        let index = self
            .reservations
            .0
            .free
            .pop(&self.links)
            .map(|index| index as usize)
            .or_else(|| self.take_fresh())?;
        let lid = Lid::new(index as u64)?;
        self.change(lid, State::Free, State::Reserved);
        Some(lid)
    }

    /// Changes the state of a LID.
    ///
    /// # Panics
    /// If the LID is not in the state `from`.
    pub(crate) fn change(&self, lid: Lid, from: State, to: State) {
        let change = |state: &MappedByte| {
            state.compare_exchange(from as u8, to as u8, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        assert!(self.states.get(lid.index()).is_some_and(change), "LID {} is not {from:?}", lid.get());
        if !matches!(from, State::Free) {
            self.reservations.0.counts[from as usize].fetch_sub(1, Ordering::Relaxed);
        }
        if !matches!(to, State::Free) {
            self.reservations.0.counts[to as usize].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Frees a LID that no operation can reach.
    pub(crate) fn free(&self, lid: Lid, from: State) {
        self.entries[lid.index()].store(0, Ordering::Relaxed);
        self.change(lid, from, State::Free);
        self.reservations.0.free.push(&self.links, lid.index() as u32);
    }

    /// Whether a LID is in use; `false` for a LID beyond the capacity.
    pub(crate) fn is_live(&self, lid: Lid) -> bool {
        let state = self.states.get(lid.index()).map(|state| state.load(Ordering::Relaxed));
        state == Some(State::Live as u8)
    }

    /// Number of LIDs in a state.
    pub(crate) fn count(&self, state: State) -> usize {
        let used = |state: State| self.reservations.0.counts[state as usize].load(Ordering::Relaxed);
        match state {
            State::Free => {
                let others = [State::Reserved, State::Live, State::Retired];
                (self.states.len() - 1).saturating_sub(others.into_iter().map(used).sum())
            }
            state => used(state),
        }
    }

    /// Bytes of the entries that have ever been in use.
    pub(crate) fn used_bytes(&self) -> usize {
        self.reservations.0.fresh.load(Ordering::Relaxed) * size_of::<MappedWord>()
    }

    /// Bytes of all structures except the entries.
    pub(crate) fn overhead_bytes(&self) -> usize {
        self.states.len() + self.links.len() * size_of::<AtomicU32>()
    }

    fn take_fresh(&self) -> Option<usize> {
        let below_capacity = |fresh| (fresh < self.states.len()).then_some(fresh + 1);
        self.reservations.0.fresh.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below_capacity).ok()
    }
}
