//! The synchronization primitives of the protocols: those of the standard library, or those of loom under
//! `cfg(loom)`.
//!
//! Protocols import their atomics from here, so that loom can check them.

#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::{Arc, Mutex, MutexGuard};
#[cfg(not(loom))]
pub use std::{hint, thread};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(loom)]
pub use loom::sync::{Arc, Mutex, MutexGuard};
#[cfg(loom)]
pub use loom::{hint, thread};

/// A full fence after an atomic exchange of the same thread, such as the one with which it takes a version.
/// Stores of the thread between both may remain behind the fence.
#[inline]
pub fn fence_after_exchange() {
    // On x86-64 the locked instruction is already a full fence. Only the compiler must not move loads before
    // it.
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(not(all(target_arch = "x86_64", not(loom))))]
    fence(Ordering::SeqCst);
}

/// Aligns a value, so that it shares no cache line with other values.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

/// A number that every thread computes alike and that is computed once, mostly. It orders nothing, so loom
/// does not model it. Only the choice among the vector instructions of x86-64 needs it.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub(crate) struct Computed(std::sync::atomic::AtomicU8);

#[cfg(target_arch = "x86_64")]
impl Computed {
    pub(crate) const fn new() -> Self {
        Self(std::sync::atomic::AtomicU8::new(0))
    }

    /// Returns the number, which `compute` returns at the first call. It is not 0.
    #[inline]
    pub(crate) fn get_or(&self, compute: fn() -> u8) -> u8 {
        match self.0.load(std::sync::atomic::Ordering::Relaxed) {
            0 => self.set(compute()),
            number => number,
        }
    }

    #[cold]
    fn set(&self, number: u8) -> u8 {
        debug_assert_ne!(number, 0);
        self.0.store(number, std::sync::atomic::Ordering::Relaxed);
        number
    }
}

/// Locks a mutex.
///
/// # Panics
/// If a thread has panicked while it held the lock, because the protected data can be inconsistent then.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds this lock")
}

/// Returns the number of the calling thread, a small number that distributes threads over stripes and slots.
#[inline]
pub fn thread_number() -> usize {
    use std::cell::Cell;
    use std::sync::atomic;

    const NONE: usize = usize::MAX;
    static NEXT: atomic::AtomicUsize = atomic::AtomicUsize::new(0);
    thread_local!(static NUMBER: Cell<usize> = const { Cell::new(NONE) });

    // A destructor that runs after the thread-local variables are destroyed uses number 0.
    let number_of = |number: &Cell<usize>| {
        if number.get() == NONE {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    };
    NUMBER.try_with(number_of).unwrap_or(0)
}
