//! The thread that commits pages of the arena before they are allocated.
//!
//! It accesses the pages: a request to the system would hold a lock that calls such as `mmap` wait for,
//! and the thread should have a low priority.

use std::thread;

use crate::memory::{Memory, UNIT};

/// The smallest page of a system.
const PAGE: usize = 4096;

impl Memory {
    /// Commits pages of the arena before they are allocated, a 32nd of the arena and at most 16 MiB ahead,
    /// until `is_stopped` returns true. The calling thread sleeps while enough are committed; to stop,
    /// unpark it. Returns at once if the arena has less than 64 MiB, or if a thread commits pages already.
    pub fn commit_ahead(&self, is_stopped: impl Fn() -> bool) {
        let commits = &self.allocator.commit_ahead;
        if commits.ahead() == 0 || !commits.register(thread::current()) {
            return;
        }
        while !is_stopped() {
            let Some(units) = commits.next() else {
                thread::park();
                continue;
            };
            (units.start * UNIT..units.end * UNIT)
                .step_by(PAGE)
                .for_each(|page| self.arena.commit_page(page));
            commits.note_committed(&units);
        }
    }
}

#[cfg(all(test, not(loom), target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use std::thread::Thread;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::config::MemoryConfig;
    use crate::sync::{AtomicBool, Ordering};

    /// The thread sleeps between the steps, and is woken by the threads that allocate.
    #[test]
    fn a_thread_commits_pages_that_no_thread_has_accessed() {
        let memory = Memory::new(MemoryConfig { arena_bytes: 128 << 20, ..MemoryConfig::default() }).unwrap();
        let is_stopped = AtomicBool::new(false);
        let wait_for = |bytes| {
            let end = Instant::now() + Duration::from_secs(30);
            while memory.accounting().committed_bytes < bytes {
                assert!(Instant::now() < end, "the thread has not committed {bytes} bytes");
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            let thread = scope.spawn(|| memory.commit_ahead(|| is_stopped.load(Ordering::Acquire)));
            let _stop = Stop(&is_stopped, thread.thread().clone());
            wait_for(4 << 20);
            assert_eq!(memory.arena.resident(0..4 << 20), 4 << 20);
            assert_eq!(memory.arena.resident(8 << 20..128 << 20), 0, "only two steps are committed");
            let _buffers: Vec<_> = (0..800).map(|_| memory.allocate_node().unwrap()).collect();
            wait_for(10 << 20);
            assert_eq!(memory.arena.resident(8 << 20..10 << 20), 2 << 20, "no buffer is there");
        });
    }

    /// Stops the thread, also when the test fails.
    struct Stop<'s>(&'s AtomicBool, Thread);

    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
            self.1.unpark();
        }
    }
}
