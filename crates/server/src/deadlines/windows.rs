//! Windows: the periods in which a core writes entries and then their pairs, not atomically.
//!
//! In a window an entry without its pair looks stale, but its removal would leave the pair without an entry.
//!
//! 1. A core opens its window with the stamp of its first entry before it writes the entries, and closes it
//!    when their pairs are visible.
//! 2. After reading an entry, the reaper checks whether a window contains its stamp, and only then reads the
//!    pair. If no window contains the stamp, the pair was already visible, or the entry was written
//!    atomically with its pair.
//! 3. Both sides use sequentially consistent accesses: a core that reads an entry also sees the window that
//!    was opened before, or it finds the pair.

use honeycomb_memory::sync::{AtomicU64, Ordering};

/// The number of a write of an entry. It wraps around.
pub(crate) type Stamp = u32;

/// The windows of all cores.
#[derive(Debug)]
pub(super) struct Windows(Box<[Slot]>);

/// The first stamp of the window of a core.
#[derive(Debug)]
#[repr(align(128))]
struct Slot(AtomicU64);

const CLOSED: u64 = u64::MAX;

/// The window of a core. Dropping it closes the window.
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

    /// Returns whether an open window may contain a stamp.
    pub(super) fn contain(&self, stamp: Stamp) -> bool {
        self.0.iter().any(|slot| match slot.0.load(Ordering::SeqCst) {
            CLOSED => false,
            // Stamps before the first one have the greatest distance.
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
    fn a_window_contains_stamps_from_its_first() {
        let windows = Windows::of(2);
        let held = |stamps: [Stamp; 4]| stamps.map(|stamp| windows.contain(stamp));
        assert_eq!(held([0, 6, 7, 100]), [false; 4]);
        let window = windows.open(1, 7);
        assert_eq!(held([0, 6, 7, 100]), [false, false, true, true]);
        let other = windows.open(0, Stamp::MAX - 1);
        assert_eq!(held([Stamp::MAX - 2, Stamp::MAX - 1, 0, 6]), [false, true, true, true]);
        drop((window, other));
        assert_eq!(held([0, 6, 7, 100]), [false; 4]);
    }
}
