//! The use of every unit of the arena. The ledger rejects invalid frees, and is the source of the accounting.
//!
//! 1. `kinds[unit]`: the owner of the buffer at that unit changes it; the protocols of nodes, values and free
//!    lists determine the owner. A change states the expected kind and panics if the ledger has another one,
//!    because then the caller has made a mistake (not a buffer, or retired twice). Any thread loads it. No
//!    other memory access is ordered by a kind.
//! 2. `tallies`: any thread, by fetch-and-add on the stripe of its thread.

use std::ops::Range;

use honeycomb_layout as layout;

use crate::arena::{MappedByte, MappedSlice, MappingHints};
use crate::error::MemoryError;
use crate::sync::{AtomicI64, Ordering, Padded};

/// The use of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// In the buddy system. The number is zero because new pages consist of zeros.
    Free,
    /// The buffer of a node in a free list.
    FreeNode,
    /// The buffer of a node during its construction.
    PrivateNode,
    /// The buffer of a published node that is not retired.
    LiveNode,
    /// The buffer of a retired node.
    RetiredNode,
    /// A page of an unordered table.
    LiveTablePage,
    /// A retired page of an unordered table.
    RetiredTablePage,
    /// The buffer of a value during its construction. The kinds of values come last.
    PrivateValue,
    /// The buffer of a value in use.
    LiveValue,
    /// The buffer of a retired value.
    RetiredValue,
}

/// Units of a page of an unordered table.
pub(crate) const PAGE_UNITS: usize = layout::TABLE_PAGE_BYTES / layout::ALLOCATION_UNIT_BYTES;

const KINDS: usize = Kind::RetiredValue as usize + 1;

/// The first code of inner units, which are not the first of their buffer. The code of an inner unit is
/// [`INNER`] plus the logarithm of its distance from the first unit, rounded down.
///
/// The code `INNER + k` of a unit shows that no buffer begins at this unit or at the `2^k - 1` units before
/// it. So one lookup for each bit of a length shows whether all these units belong to one buffer.
const INNER: u8 = 16;
const _: () = assert!(KINDS <= INNER as usize);

/// The code of an inner unit at a distance of at least 1 from the first unit of its buffer.
fn inner_code(distance: usize) -> u8 {
    INNER + distance.ilog2() as u8
}

/// Consecutive units of one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: usize,
    pub(crate) units: usize,
}

/// Number of units and buffers of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) units: usize,
    pub(crate) buffers: usize,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    kinds: MappedSlice<MappedByte>,
    tallies: Box<[Padded<Tally>]>,
}

#[derive(Debug)]
struct Tally {
    units: [AtomicI64; KINDS],
    buffers: [AtomicI64; KINDS],
}

impl Ledger {
    /// Creates a ledger in which all units are free.
    pub(crate) fn new(units: usize, stripes: usize) -> Result<Self, MemoryError> {
        let zeroes = || std::array::from_fn(|_| AtomicI64::new(0));
        let tally = || Padded(Tally { units: zeroes(), buffers: zeroes() });
        let kinds = MappedSlice::new(units, MappingHints::default())?;
        Ok(Self { kinds, tallies: (0..stripes).map(|_| tally()).collect() })
    }

    /// Changes the kind of a buffer. `stripe` is any number.
    ///
    /// # Panics
    /// If the buffer is not of kind `from`.
    #[inline]
    pub(crate) fn change(&self, stripe: usize, extent: Extent, from: Kind, to: Kind) {
        let kind = self.kinds.get(extent.start);
        let change = |kind: &MappedByte| {
            kind.compare_exchange(from as u8, to as u8, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        assert!(kind.is_some_and(change), "no {from:?} begins at unit {}", extent.start);
        self.count(stripe, extent, from, -1);
        self.count(stripe, extent, to, 1);
    }

    /// Records that units of the buddy system become a buffer.
    pub(crate) fn begin(&self, stripe: usize, extent: Extent, kind: Kind) {
        for (inner, distance) in self.inner(extent).iter().zip(1..) {
            inner.store(inner_code(distance), Ordering::Relaxed);
        }
        self.kinds[extent.start].store(kind as u8, Ordering::Relaxed);
        self.count(stripe, extent, kind, 1);
    }

    /// Records that a buffer returns to the buddy system. The caller returns it afterwards.
    ///
    /// # Panics
    /// If no buffer of this kind has exactly these units.
    pub(crate) fn end(&self, stripe: usize, extent: Extent, kind: Kind) {
        self.check(extent, kind);
        for inner in self.inner(extent) {
            inner.store(Kind::Free as u8, Ordering::Relaxed);
        }
        self.kinds[extent.start].store(Kind::Free as u8, Ordering::Relaxed);
        self.count(stripe, extent, kind, -1);
    }

    /// Checks that a buffer of this kind has exactly these units.
    ///
    /// # Panics
    /// If there is no such buffer.
    pub(crate) fn check(&self, extent: Extent, kind: Kind) {
        let exact = self.is(extent, kind);
        assert!(exact, "no {kind:?} of {} units begins at unit {}", extent.units, extent.start);
    }

    /// Whether a buffer of this kind has exactly these units.
    pub(crate) fn is(&self, extent: Extent, kind: Kind) -> bool {
        let code = |unit: usize| self.kinds.get(unit).map(|code| code.load(Ordering::Relaxed));
        let end = extent.start + extent.units;
        code(extent.start) == Some(kind as u8)
            && self.are_of_one_buffer(extent)
            && code(end).is_none_or(|code| code < INNER)
    }

    /// Whether a buffer begins at the first of these units, and none at the others.
    #[inline]
    fn are_of_one_buffer(&self, extent: Extent) -> bool {
        let Some(kinds) = self.kinds.get(extent.start..extent.start + extent.units) else { return false };
        let mut distance = extent.units - 1;
        while distance > 0 {
            if kinds[distance].load(Ordering::Relaxed) != inner_code(distance) {
                return false;
            }
            distance -= 1 << distance.ilog2();
        }
        kinds[0].load(Ordering::Relaxed) < INNER
    }

    /// Whether a published node that is not reclaimed begins at a unit.
    pub(crate) fn is_node(&self, unit: usize) -> bool {
        let kind = self.kinds.get(unit).map(|kind| kind.load(Ordering::Relaxed));
        kind == Some(Kind::LiveNode as u8) || kind == Some(Kind::RetiredNode as u8)
    }

    /// Whether the buffer of a value, private, live or retired, begins with these units.
    #[inline]
    pub(crate) fn is_value(&self, extent: Extent) -> bool {
        let values = Kind::PrivateValue as u8..=Kind::RetiredValue as u8;
        let first = self.kinds.get(extent.start).map(|first| first.load(Ordering::Relaxed));
        first.is_some_and(|first| values.contains(&first)) && self.are_of_one_buffer(extent)
    }

    /// Whether all these units belong to buffers of live or retired values. They lie between two consecutive
    /// multiples of the node size; `slot` is the lower multiple.
    pub(crate) fn are_parts_of_values(&self, slot: usize, units: Range<usize>) -> bool {
        let is = |at: &MappedByte, kinds: &[Kind]| {
            let kind = at.load(Ordering::Relaxed);
            kinds.iter().any(|&one| kind == one as u8)
        };
        let is_of_value = |at: &MappedByte| {
            at.load(Ordering::Relaxed) >= INNER || is(at, &[Kind::LiveValue, Kind::RetiredValue])
        };
        !is(&self.kinds[slot], &[Kind::FreeNode, Kind::PrivateNode])
            && self.kinds[units].iter().all(is_of_value)
    }

    /// Whether a unit belongs to a page of an unordered table, live or retired.
    pub(crate) fn is_in_table_page(&self, unit: usize) -> bool {
        let kind = self.kinds[unit - unit % PAGE_UNITS].load(Ordering::Relaxed);
        kind == Kind::LiveTablePage as u8 || kind == Kind::RetiredTablePage as u8
    }

    fn inner(&self, extent: Extent) -> &[MappedByte] {
        &self.kinds[extent.start + 1..extent.start + extent.units]
    }

    fn count(&self, stripe: usize, extent: Extent, kind: Kind, sign: i64) {
        let tally = &self.tallies[stripe % self.tallies.len()].0;
        tally.units[kind as usize].fetch_add(sign * extent.units as i64, Ordering::Relaxed);
        tally.buffers[kind as usize].fetch_add(sign, Ordering::Relaxed);
    }

    /// Counts the units and buffers of one kind. Exact only while no thread changes the ledger.
    pub(crate) fn usage(&self, kind: Kind) -> Usage {
        let sum = |part: fn(&Tally) -> &[AtomicI64; KINDS]| {
            let parts =
                self.tallies.iter().map(|tally| part(&tally.0)[kind as usize].load(Ordering::Relaxed));
            usize::try_from(parts.sum::<i64>()).unwrap_or(0)
        };
        Usage { units: sum(|tally| &tally.units), buffers: sum(|tally| &tally.buffers) }
    }

    /// Bytes of the array of kinds.
    pub(crate) fn overhead_bytes(&self) -> usize {
        self.kinds.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_recognized_from_their_first_unit_up_to_their_last() {
        let ledger = Ledger::new(300, 1).unwrap();
        let mut start = 0;
        let buffers: Vec<Extent> = [1, 2, 3, 7, 8, 9, 64, 100, 33, 1]
            .iter()
            .map(|&units| {
                let extent = Extent { start, units };
                ledger.begin(0, extent, Kind::LiveValue);
                start += units;
                extent
            })
            .collect();
        for start in 0..300 {
            for units in 1..=300 - start {
                let extent = Extent { start, units };
                let expected = buffers.iter().any(|buffer| buffer.start == start && units <= buffer.units);
                assert_eq!(ledger.is_value(extent), expected, "{extent:?}");
                let is_whole = buffers.contains(&extent);
                assert_eq!(ledger.is(extent, Kind::LiveValue), is_whole, "{extent:?}");
            }
        }
        for &extent in &buffers {
            ledger.check(extent, Kind::LiveValue);
            ledger.end(0, extent, Kind::LiveValue);
            assert!(!ledger.is_value(extent));
        }
    }
}
