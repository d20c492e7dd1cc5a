//! The buckets and slabs of tables that a thread accesses, for tests that count them: those that the executed
//! code loads, stores and prefetches, not those that it should.
//!
//! Only builds with debug assertions count. In all others nothing remains of it, so that loads and stores
//! have no further instructions.

#[cfg(debug_assertions)]
pub use counts::Accesses;
pub(crate) use counts::count;

/// What an access does.
#[derive(Clone, Copy)]
pub(crate) enum AccessKind {
    Load,
    Store,
    Prefetch,
}

#[cfg(debug_assertions)]
mod counts {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;

    use super::AccessKind;

    /// The buckets and slabs that some operations access. Each is once in a set, by the address of its first
    /// word in the process. Only builds with debug assertions have it.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Accesses {
        /// Those with a word that was loaded. A store of a part of a word is not a load.
        pub loads: BTreeSet<usize>,
        /// Those with a word that was stored.
        pub stores: BTreeSet<usize>,
        /// Those that were prefetched.
        pub prefetches: BTreeSet<usize>,
    }

    thread_local! {
        /// Whether the thread counts. It needs no destructor, so the check of it is short.
        static IS_COUNTING: Cell<bool> = const { Cell::new(false) };
        static COUNTED: RefCell<Accesses> = RefCell::default();
    }

    impl Accesses {
        /// Runs a function, and returns what its thread accesses meanwhile.
        ///
        /// # Panics
        /// If the thread counts already.
        pub fn of(run: impl FnOnce()) -> Self {
            assert!(!IS_COUNTING.replace(true), "the thread counts accesses already");
            run();
            IS_COUNTING.set(false);
            COUNTED.take()
        }
    }

    /// Counts an access to words that begin at an address.
    #[inline(always)]
    pub(crate) fn count<W>(kind: AccessKind, words: *const W) {
        if IS_COUNTING.get() {
            add(kind, words.addr());
        }
    }

    #[cold]
    #[inline(never)]
    fn add(kind: AccessKind, address: usize) {
        COUNTED.with_borrow_mut(|accesses| match kind {
            AccessKind::Load => accesses.loads.insert(address),
            AccessKind::Store => accesses.stores.insert(address),
            AccessKind::Prefetch => accesses.prefetches.insert(address),
        });
    }
}

#[cfg(not(debug_assertions))]
mod counts {
    use super::AccessKind;

    /// Does nothing.
    #[inline(always)]
    pub(crate) fn count<W>(_: AccessKind, _: *const W) {}
}
