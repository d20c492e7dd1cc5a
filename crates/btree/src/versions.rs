//! Write versions, and their release to readers in order.
//!
//! A writer takes a version, publishes what it wrote, and marks the version done in a ring. Whoever closes
//! the gap after the read version advances it over all that are done: no writer spins for another to release
//! its own.
//!
//! Who may touch what:
//! 1. `newest`: any writer, by fetch-and-add; what it returns plus one is the writer's alone.
//! 2. `done[v % RING]`: the owner of version v stores v, once, while `read + RING > v`; anybody loads.
//! 3. `read`: anybody, from r to r + 1 by compare-and-swap, once `done[(r + 1) % RING]` is r + 1.
//!
//! Between the store of `done` and the loads after it stands a full fence: of two writers that finish at the
//! same time at least one sees the other's mark, so no version that is done stays unreleased.

use honeycomb_memory::sync::{AtomicU64, Ordering, fence, hint, thread};

/// Versions that may be taken and not yet released.
#[cfg(not(loom))]
pub(crate) const RING: usize = 1024;
#[cfg(loom)]
pub(crate) const RING: usize = 2;

/// The global write and read versions of a store.
pub(crate) struct Versions {
    newest: Padded<AtomicU64>,
    read: Padded<AtomicU64>,
    done: Box<[AtomicU64]>,
}

/// Keeps two counters that different threads write out of each other's cache lines.
#[repr(align(128))]
struct Padded<T>(T);

impl Versions {
    /// Of a store in which `version` is visible and nothing was written after it.
    pub(crate) fn new(version: u64) -> Self {
        let done = (0..RING).map(|_| AtomicU64::new(0)).collect();
        Self { newest: Padded(AtomicU64::new(version)), read: Padded(AtomicU64::new(version)), done }
    }

    /// The newest version of which every write is visible.
    #[inline]
    pub(crate) fn read_version(&self) -> u64 {
        self.read.0.load(Ordering::Acquire)
    }

    /// The newest version taken; versions to come may be taken at any time.
    pub(crate) fn newest(&self) -> u64 {
        self.newest.0.load(Ordering::Acquire)
    }

    /// Takes the next write version. Waits only while `RING` versions before it are unreleased.
    pub(crate) fn take(&self) -> u64 {
        let version = self.newest.0.fetch_add(1, Ordering::AcqRel) + 1;
        self.wait_for(version.saturating_sub(RING as u64));
        version
    }

    /// Marks a version done: all its writes are published. Advances the read version as far as it goes.
    #[inline(always)]
    pub(crate) fn release(&self, version: u64, tell: impl Fn(u64)) {
        self.done[version as usize % RING].store(version, Ordering::Release);
        fence(Ordering::SeqCst);
        self.advance(tell);
    }

    /// Advances the read version over all that are done. Devices are told of each version before readers see
    /// it, by all who try to advance to it.
    #[inline(always)]
    pub(crate) fn advance(&self, tell: impl Fn(u64)) {
        let mut read = self.read.0.load(Ordering::Acquire);
        while self.done[(read + 1) as usize % RING].load(Ordering::Acquire) == read + 1 {
            tell(read + 1);
            read = match self.read.0.compare_exchange(read, read + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => read + 1,
                Err(now) => now,
            };
        }
    }

    /// Waits until readers see `version`.
    #[inline]
    pub(crate) fn wait_for(&self, version: u64) {
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
        let taken: Vec<u64> = (0..3).map(|_| versions.take()).collect();
        assert_eq!(taken, [1, 2, 3]);
        versions.release(3, |_| ());
        versions.release(2, |_| ());
        assert_eq!(versions.read_version(), 0);
        versions.release(1, |_| ());
        assert_eq!(versions.read_version(), 3);
    }

    /// Two writers that finish in any order leave nothing unreleased; whoever sees the read version sees the
    /// writes, and devices were told of it. Fails if `release` stores or loads `done` with less than
    /// sequential consistency, or if a version is told after it is released.
    #[test]
    #[cfg(loom)]
    fn loom_no_version_stays_unreleased() {
        use loom::sync::Arc;
        use loom::sync::atomic::AtomicUsize;

        struct Shared {
            versions: Versions,
            data: [AtomicUsize; 2],
            /// The version of a device.
            told: AtomicU64,
        }

        loom::model(|| {
            let data = [AtomicUsize::new(0), AtomicUsize::new(0)];
            let told = AtomicU64::new(0);
            let shared = Arc::new(Shared { versions: Versions::new(0), data, told });
            let writer = {
                let shared = shared.clone();
                loom::thread::spawn(move || write(&shared))
            };
            write(&shared);
            see(&shared);
            writer.join().unwrap();
            assert_eq!(shared.versions.read_version(), 2);
        });

        fn write(shared: &Shared) {
            let version = shared.versions.take();
            shared.data[version as usize - 1].store(1, Ordering::Relaxed);
            shared.versions.release(version, |version| {
                shared.told.fetch_max(version, Ordering::Relaxed);
            });
        }

        fn see(shared: &Shared) {
            let visible = shared.versions.read_version();
            for written in shared.data.iter().take(visible as usize) {
                assert_eq!(written.load(Ordering::Relaxed), 1);
            }
            assert!(shared.told.load(Ordering::Relaxed) >= visible);
        }
    }

    /// A slot of the ring is not taken again before its version is released.
    #[test]
    #[cfg(loom)]
    fn loom_the_ring_is_not_overrun() {
        use loom::sync::Arc;
        loom::model(|| {
            let versions = Arc::new(Versions::new(0));
            for _ in 0..2 {
                let version = versions.take();
                versions.release(version, |_| ());
            }
            let (first, second) = (versions.take(), versions.take());
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
