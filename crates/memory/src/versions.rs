//! Write versions, and their release to readers in order.
//!
//! A writer takes a version, publishes its changes, and marks the version done in a ring. A writer that
//! closes the gap after the read version advances it over all versions that are done, so no writer spins for
//! its predecessors.
//!
//! Access to the fields:
//! 1. `newest`: any writer, by fetch-and-add; the writer owns the version that follows the returned one.
//! 2. `done[v % VERSION_RING]`: the owner of version v stores v, once, while `read + VERSION_RING > v`; any
//!    thread loads it.
//! 3. `read`: any thread moves it from r to r + 1 by compare-and-swap, once `done[(r + 1) % VERSION_RING]` is
//!    r + 1.
//!
//! A full fence separates the store to `done` from the loads after it. Of two writers that finish at the same
//! time, at least one sees the mark of the other, so every version that is done is released.

use crate::sync::{AtomicU64, Ordering, Padded, fence, hint, thread};

/// A write version or a read version. 0 without MVCC.
pub type Version = u64;

/// Maximum number of write versions that are not released yet.
#[cfg(not(loom))]
pub const VERSION_RING: usize = 1024;
#[cfg(loom)]
pub const VERSION_RING: usize = 2;

/// The global write and read versions of a store.
pub struct Versions {
    newest: Padded<AtomicU64>,
    read: Padded<AtomicU64>,
    done: Box<[AtomicU64]>,
}

impl Versions {
    /// Creates the versions of a store in which `version` is the newest one and is visible.
    #[must_use]
    pub fn new(version: u64) -> Self {
        let done = (0..VERSION_RING).map(|_| AtomicU64::new(0)).collect();
        Self { newest: Padded(AtomicU64::new(version)), read: Padded(AtomicU64::new(version)), done }
    }

    /// The newest version whose writes are all visible.
    #[must_use]
    #[inline]
    pub fn read_version(&self) -> u64 {
        self.read.0.load(Ordering::Acquire)
    }

    /// The newest write version. Other threads can take later ones at any time.
    #[must_use]
    #[inline]
    pub fn newest(&self) -> u64 {
        self.newest.0.load(Ordering::Acquire)
    }

    /// Takes the next write version. Waits only while `VERSION_RING` versions before it are unreleased.
    #[must_use]
    #[inline]
    pub fn next(&self) -> u64 {
        let version = self.newest.0.fetch_add(1, Ordering::AcqRel) + 1;
        self.wait_for(version.saturating_sub(VERSION_RING as u64));
        version
    }

    /// Marks a version done after its owner has published all its writes, then advances the read version.
    /// `notify` receives every version before readers see it.
    #[inline(always)]
    pub fn release(&self, version: u64, notify: impl Fn(u64)) {
        self.done[version as usize % VERSION_RING].store(version, Ordering::Release);
        fence(Ordering::SeqCst);
        self.advance(notify);
    }

    /// Advances the read version over all versions that are done. Every thread that tries to advance to a
    /// version passes it to `notify` first, so devices learn of a version before readers see it.
    #[inline(always)]
    pub fn advance(&self, notify: impl Fn(u64)) {
        let mut read = self.read.0.load(Ordering::Acquire);
        while self.done[(read + 1) as usize % VERSION_RING].load(Ordering::Acquire) == read + 1 {
            notify(read + 1);
            read = match self.read.0.compare_exchange(read, read + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => read + 1,
                Err(now) => now,
            };
        }
    }

    /// Makes `version`, which is later than all others, the newest one, and visible. No other thread may take
    /// or release a version meanwhile.
    pub fn skip_to(&self, version: u64) {
        self.newest.0.store(version, Ordering::Release);
        self.read.0.store(version, Ordering::Release);
    }

    /// Waits until readers see `version`.
    #[inline]
    pub fn wait_for(&self, version: u64) {
        let mut spins = 0;
        while self.read_version() < version {
            spins += 1;
            if spins < 64 { hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(not(loom))]
    fn versions_are_released_in_order() {
        let versions = Versions::new(0);
        let taken: Vec<u64> = (0..3).map(|_| versions.next()).collect();
        assert_eq!(taken, [1, 2, 3]);
        versions.release(3, |_| ());
        versions.release(2, |_| ());
        assert_eq!(versions.read_version(), 0);
        versions.release(1, |_| ());
        assert_eq!(versions.read_version(), 3);
    }

    /// Two writers that finish in any order release both versions. A thread that sees the read version sees
    /// the writes, and devices were notified of it. Fails if `release` stores or loads `done` with less than
    /// sequential consistency, or if it notifies after it has released.
    #[test]
    #[cfg(loom)]
    fn loom_no_version_stays_unreleased() {
        use loom::sync::Arc;
        use loom::sync::atomic::AtomicUsize;

        struct SharedVersions {
            versions: Versions,
            data: [AtomicUsize; 2],
            /// The version of a device.
            notified: AtomicU64,
        }

        loom::model(|| {
            let data = [AtomicUsize::new(0), AtomicUsize::new(0)];
            let notified = AtomicU64::new(0);
            let shared = Arc::new(SharedVersions { versions: Versions::new(0), data, notified });
            let writer = {
                let shared = shared.clone();
                loom::thread::spawn(move || write(&shared))
            };
            write(&shared);
            see(&shared);
            writer.join().unwrap();
            assert_eq!(shared.versions.read_version(), 2);
        });

        fn write(shared: &SharedVersions) {
            let version = shared.versions.next();
            shared.data[version as usize - 1].store(1, Ordering::Relaxed);
            shared.versions.release(version, |version| {
                shared.notified.fetch_max(version, Ordering::Relaxed);
            });
        }

        fn see(shared: &SharedVersions) {
            let visible = shared.versions.read_version();
            for written in shared.data.iter().take(visible as usize) {
                assert_eq!(written.load(Ordering::Relaxed), 1);
            }
            assert!(shared.notified.load(Ordering::Relaxed) >= visible);
        }
    }

    /// No writer reuses a slot of the ring before its version is released.
    #[test]
    #[cfg(loom)]
    fn loom_the_ring_is_not_overrun() {
        use loom::sync::Arc;
        loom::model(|| {
            let versions = Arc::new(Versions::new(0));
            for _ in 0..2 {
                let version = versions.next();
                versions.release(version, |_| ());
            }
            let (first, second) = (versions.next(), versions.next());
            let other = {
                let versions = versions.clone();
                loom::thread::spawn(move || versions.release(second, |_| ()))
            };
            versions.release(first, |_| ());
            other.join().unwrap();
            assert_eq!(versions.read_version(), 4);
        });
    }
}
