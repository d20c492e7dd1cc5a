//! What every unit of the arena is in use for: the check on who may give back what, and the source of
//! accounting.
//!
//! 1. `kinds[unit]`: the owner of the buffer at that unit, whoever that is by the protocols of nodes, values
//!    and free lists. A change names the kind before it, and one that does not find it there is a caller's
//!    mistake (what is no buffer, or retired twice) that must not get further. Anybody loads; the order of
//!    other memory never hangs on a kind.
//! 2. `tallies`: anybody, by fetch-and-add on the stripe of its thread.

use std::ops::Range;

use crate::arena::{MappedByte, MappedSlice, Wishes};
use crate::error::MemoryError;
use crate::sync::{AtomicI64, Ordering, Padded};

/// What a unit is in use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// In the buddy system. Zero: the state of untouched pages.
    Free,
    /// A node's buffer in a free list.
    FreeNode,
    /// A node's buffer that is being built.
    PrivateNode,
    /// A node's buffer that the page table names, or named when its last version was replaced.
    LiveNode,
    /// A node's buffer that waits to be reclaimed.
    RetiredNode,
    /// A value's buffer that is being filled. The kinds of values come last.
    PrivateValue,
    /// A value's buffer in use.
    LiveValue,
    /// A value's buffer that waits to be reclaimed.
    RetiredValue,
}

const KINDS: usize = Kind::RetiredValue as usize + 1;

/// The first code of units that are not the first of their buffer: such a unit has [`INNER`] plus the
/// logarithm of its distance from the first unit, rounded down.
///
/// A unit with code `INNER + k` says that no buffer begins at it or at the `2^k - 1` units before it. So a
/// look at one unit for each bit of the length tells whether units are of one buffer.
const INNER: u8 = 16;
const _: () = assert!(KINDS <= INNER as usize);

/// The code of a unit at a distance of 1 or more from the first unit of its buffer.
fn inner_code(distance: usize) -> u8 {
    INNER + distance.ilog2() as u8
}

/// Consecutive units of one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) start: usize,
    pub(crate) units: usize,
}

/// Units and buffers of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Held {
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
    /// All units free.
    pub(crate) fn new(units: usize, stripes: usize) -> Result<Self, MemoryError> {
        let zeroes = || std::array::from_fn(|_| AtomicI64::new(0));
        let tally = || Padded(Tally { units: zeroes(), buffers: zeroes() });
        let kinds = MappedSlice::new(units, Wishes::default())?;
        Ok(Self { kinds, tallies: (0..stripes).map(|_| tally()).collect() })
    }

    /// A buffer changes hands. `stripe` is any number.
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

    /// Units leave the buddy system as a buffer.
    pub(crate) fn begin(&self, stripe: usize, extent: Extent, kind: Kind) {
        for (inner, distance) in self.inner(extent).iter().zip(1..) {
            inner.store(inner_code(distance), Ordering::Relaxed);
        }
        self.kinds[extent.start].store(kind as u8, Ordering::Relaxed);
        self.count(stripe, extent, kind, 1);
    }

    /// A buffer is about to go back to the buddy system.
    ///
    /// # Panics
    /// If the buffer is not of this kind or has other units.
    pub(crate) fn end(&self, stripe: usize, extent: Extent, kind: Kind) {
        self.check(extent, kind);
        for inner in self.inner(extent) {
            inner.store(Kind::Free as u8, Ordering::Relaxed);
        }
        self.kinds[extent.start].store(Kind::Free as u8, Ordering::Relaxed);
        self.count(stripe, extent, kind, -1);
    }

    /// Whether a buffer of this kind has exactly these units.
    ///
    /// # Panics
    /// If not.
    pub(crate) fn check(&self, extent: Extent, kind: Kind) {
        let code = |unit: usize| self.kinds.get(unit).map(|code| code.load(Ordering::Relaxed));
        let end = extent.start + extent.units;
        let exact = code(extent.start) == Some(kind as u8)
            && self.are_of_one_buffer(extent)
            && code(end).is_none_or(|code| code < INNER);
        assert!(exact, "no {kind:?} of {} units begins at unit {}", extent.units, extent.start);
    }

    /// Whether no buffer begins at these units but at the first of them, at which one does.
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

    /// Whether a node that was published and not yet reclaimed begins at a unit.
    pub(crate) fn holds_node(&self, unit: usize) -> bool {
        let kind = self.kinds.get(unit).map(|kind| kind.load(Ordering::Relaxed));
        kind == Some(Kind::LiveNode as u8) || kind == Some(Kind::RetiredNode as u8)
    }

    /// Whether a value's buffer begins with these units, in use or not yet or not any more.
    #[inline]
    pub(crate) fn holds_value(&self, extent: Extent) -> bool {
        let values = Kind::PrivateValue as u8..=Kind::RetiredValue as u8;
        let first = self.kinds.get(extent.start).map(|first| first.load(Ordering::Relaxed));
        first.is_some_and(|first| values.contains(&first)) && self.are_of_one_buffer(extent)
    }

    /// Whether these units, which lie between two multiples of the units of a node, are of values' buffers in
    /// use; `slot` is the former multiple.
    pub(crate) fn holds_parts_of_values(&self, slot: usize, units: Range<usize>) -> bool {
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

    fn inner(&self, extent: Extent) -> &[MappedByte] {
        &self.kinds[extent.start + 1..extent.start + extent.units]
    }

    fn count(&self, stripe: usize, extent: Extent, kind: Kind, sign: i64) {
        let tally = &self.tallies[stripe % self.tallies.len()].0;
        tally.units[kind as usize].fetch_add(sign * extent.units as i64, Ordering::Relaxed);
        tally.buffers[kind as usize].fetch_add(sign, Ordering::Relaxed);
    }

    /// All there is of one kind. Exact only while nothing changes.
    pub(crate) fn held(&self, kind: Kind) -> Held {
        let sum = |part: fn(&Tally) -> &[AtomicI64; KINDS]| {
            let parts =
                self.tallies.iter().map(|tally| part(&tally.0)[kind as usize].load(Ordering::Relaxed));
            usize::try_from(parts.sum::<i64>()).unwrap_or(0)
        };
        Held { units: sum(|tally| &tally.units), buffers: sum(|tally| &tally.buffers) }
    }

    /// Bytes of the kinds.
    pub(crate) fn overhead_bytes(&self) -> usize {
        self.kinds.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_held_only_from_their_first_unit_up_to_their_last() {
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
                assert_eq!(ledger.holds_value(extent), expected, "{extent:?}");
            }
        }
        for &extent in &buffers {
            ledger.check(extent, Kind::LiveValue);
            ledger.end(0, extent, Kind::LiveValue);
            assert!(!ledger.holds_value(extent));
        }
    }
}
