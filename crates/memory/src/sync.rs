//! The seam between the protocols and what runs them: the machine's atomics, or loom's under `cfg(loom)`.
//!
//! Atomics of a protocol come from here, so that a model can check it.

#[cfg(loom)]
pub use loom::{
    hint,
    sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    sync::{Arc, Mutex, MutexGuard},
    thread,
};
#[cfg(not(loom))]
pub use std::{
    hint,
    sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
    sync::{Arc, Mutex, MutexGuard},
    thread,
};

/// A full fence right after a sequentially consistent compare-and-swap.
#[inline]
pub(crate) fn fence_after_exchange() {
    // On x86-64 the locked instruction is one already; the compiler must not move loads before it.
    #[cfg(all(target_arch = "x86_64", not(loom)))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(not(all(target_arch = "x86_64", not(loom))))]
    fence(Ordering::SeqCst);
}

/// Keeps what different threads write out of each other's cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

/// Locks a mutex whose holders do not panic.
///
/// # Panics
/// If one did: what the mutex guards may be in pieces then.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panicked while it held this lock")
}

/// A small number of the calling thread, to spread threads over stripes and slots.
#[inline]
pub fn thread_number() -> usize {
    use std::cell::Cell;
    use std::sync::atomic;

    const NONE: usize = usize::MAX;
    static NEXT: atomic::AtomicUsize = atomic::AtomicUsize::new(0);
    thread_local!(static NUMBER: Cell<usize> = const { Cell::new(NONE) });

    // A destructor that runs after the thread's locals are gone has to do without.
    let take = |number: &Cell<usize>| {
        if number.get() == NONE {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    };
    NUMBER.try_with(take).unwrap_or(0)
}
