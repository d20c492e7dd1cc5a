//! Whether there is a spare log file for the time when the current one is full.

use honeycomb_memory::sync::{AtomicU32, Ordering};

/// The result of the spare thread's last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Spare {
    /// There is a spare file, or nobody has missed one since.
    Present,
    /// A group has found no spare file. The spare thread has not looked since.
    Missing,
    /// The disk has no room for a spare file. The spare thread tries again at intervals.
    NoRoom,
}

/// The threads that write groups change [`Spare::Present`] to [`Spare::Missing`]; the spare thread changes
/// any state to one of the others. Relaxed: the state protects no other data.
#[derive(Debug)]
pub(crate) struct SpareState(AtomicU32);

impl SpareState {
    pub(super) fn new() -> Self {
        Self(AtomicU32::new(Spare::Present as u32))
    }

    pub(super) fn load(&self) -> Spare {
        Self::decode(self.0.load(Ordering::Relaxed))
    }

    /// Records that a group has found no spare file.
    pub(super) fn miss(&self) {
        let (present, missing) = (Spare::Present as u32, Spare::Missing as u32);
        let _other = self.0.compare_exchange(present, missing, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Records the result of a look. Returns the former state.
    pub(super) fn set(&self, spare: Spare) -> Spare {
        Self::decode(self.0.swap(spare as u32, Ordering::Relaxed))
    }

    fn decode(value: u32) -> Spare {
        [Spare::Present, Spare::Missing, Spare::NoRoom][value as usize]
    }
}
