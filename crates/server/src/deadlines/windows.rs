//! Windows: while a core puts entries and then their pairs, not both at one moment.
//!
//! An entry whose pair is not there looks stale, and whoever removed it then would leave the pair without
//! one.
//!
//! 1. A core opens its window with the stamp of the first of its entries before it puts any of them, and
//!    closes it once their pairs are visible.
//! 2. Whoever finds an entry asks whether a window holds its stamp before he reads the pair. If none does,
//!    the pair was visible already, or the entry is of no window and was put at one moment with its pair.
//! 3. Both are sequentially consistent: who reads the entry reads a window that was opened before, or finds
//!    the pair.

use honeycomb_memory::sync::{AtomicU64, Ordering};

/// The number of a write of an entry. It begins anew after all numbers were used.
pub(crate) type Stamp = u32;

/// The windows of all cores.
#[derive(Debug)]
pub(super) struct Windows(Box<[Slot]>);

/// The first stamp of a core's window.
#[derive(Debug)]
#[repr(align(128))]
struct Slot(AtomicU64);

const CLOSED: u64 = u64::MAX;

/// The window of a core. It closes when this is dropped.
#[derive(Debug)]
pub(crate) struct Window<'w>(&'w Slot);

impl Windows {
    pub(super) fn of(cores: usize) -> Self {
        Self((0..cores.max(1)).map(|_| Slot(AtomicU64::new(CLOSED))).collect())
    }

    pub(super) fn open(&self, core: usize, first: Stamp) -> Window<'_> {
        let slot = &self.0[core];
        slot.0.store(first.into(), Ordering::SeqCst);
        Window(slot)
    }

    /// Whether an entry with a stamp may be of a window that is open.
    pub(super) fn hold(&self, stamp: Stamp) -> bool {
        self.0.iter().any(|slot| match slot.0.load(Ordering::SeqCst) {
            CLOSED => false,
            // Those before the first are as far away as stamps can be.
            first => stamp.wrapping_sub(first as Stamp) <= Stamp::MAX / 2,
        })
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        self.0.0.store(CLOSED, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_stamps_from_its_first_on() {
        let windows = Windows::of(2);
        let held = |stamps: [Stamp; 4]| stamps.map(|stamp| windows.hold(stamp));
        assert_eq!(held([0, 6, 7, 100]), [false; 4]);
        let window = windows.open(1, 7);
        assert_eq!(held([0, 6, 7, 100]), [false, false, true, true]);
        let other = windows.open(0, Stamp::MAX - 1);
        assert_eq!(held([Stamp::MAX - 2, Stamp::MAX - 1, 0, 6]), [false, true, true, true]);
        drop((window, other));
        assert_eq!(held([0, 6, 7, 100]), [false; 4]);
    }
}
