//! A lock-free stack of small numbers: free node buffers, or free LIDs.
//!
//! The head is one word: the top number plus one (0 if the list is empty), and a tag that counts changes. The
//! tag prevents the ABA problem, unless a list changes 2^32 times during one pop. The links are in a separate
//! array, which lists can share, so free memory is not written.
//!
//! 1. `head`: any thread, by compare-and-swap. A push releases the link of its number; a pop acquires it.
//! 2. `links[n]`: the owner of n stores it before it pushes n. Any thread loads it, but uses the loaded value
//!    only if the head has not changed since then.
//! 3. `length`: any thread, by fetch-and-add. It is a hint and can lag behind the list.

use crate::error::MemoryError;
use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

#[derive(Debug)]
pub(crate) struct FreeList {
    head: AtomicU64,
    length: AtomicUsize,
}

/// The links of the numbers below its length.
#[cfg(not(loom))]
pub(crate) type Links = crate::arena::MappedSlice<AtomicU32>;
#[cfg(loom)]
pub(crate) type Links = Box<[AtomicU32]>;

/// Creates the links of the numbers below `count`.
pub(crate) fn new_links(count: usize) -> Result<Links, MemoryError> {
    #[cfg(not(loom))]
    return Links::new(count, crate::arena::MappingHints::default());
    #[cfg(loom)]
    Ok((0..count).map(|_| AtomicU32::new(0)).collect())
}

const TAG: u64 = 1 << 32;

impl FreeList {
    pub(crate) fn new() -> Self {
        Self { head: AtomicU64::new(0), length: AtomicUsize::new(0) }
    }

    /// Pushes a number that the caller owns. The list owns it afterwards.
    pub(crate) fn push(&self, links: &[AtomicU32], number: u32) {
        self.length.fetch_add(1, Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            links[number as usize].store(head as u32, Ordering::Relaxed);
            let next = changed(head, number + 1);
            match self.head.compare_exchange_weak(head, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Pops the top number. The caller owns it afterwards.
    pub(crate) fn pop(&self, links: &[AtomicU32]) -> Option<u32> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let number = (head as u32).checked_sub(1)?;
            let next = changed(head, links[number as usize].load(Ordering::Relaxed));
            // Relaxed on success: the load of the head was already an acquire.
            match self.head.compare_exchange_weak(head, next, Ordering::Relaxed, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        self.length.fetch_sub(1, Ordering::Relaxed);
        (head as u32).checked_sub(1)
    }

    /// The approximate number of elements.
    pub(crate) fn length(&self) -> usize {
        self.length.load(Ordering::Relaxed)
    }
}

fn changed(head: u64, top: u32) -> u64 {
    (head & !(TAG - 1)).wrapping_add(TAG) | u64::from(top)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sync::{AtomicBool, thread};

    #[test]
    fn last_in_first_out() {
        let (list, links) = (FreeList::new(), new_links(3).unwrap());
        assert_eq!(list.pop(&links), None);
        [2, 0, 1].into_iter().for_each(|number| list.push(&links, number));
        assert_eq!(list.length(), 3);
        let popped: Vec<u32> = std::iter::from_fn(|| list.pop(&links)).collect();
        assert_eq!(popped, [1, 0, 2]);
        assert_eq!(list.length(), 0);
    }

    #[test]
    fn threads_never_own_the_same_number() {
        const NUMBERS: usize = 16;
        const ROUNDS: usize = 100_000;
        let (list, links) = (FreeList::new(), new_links(NUMBERS).unwrap());
        let owned: [AtomicBool; NUMBERS] = std::array::from_fn(|_| AtomicBool::new(false));
        (0..NUMBERS as u32).for_each(|number| list.push(&links, number));
        thread::scope(|scope| {
            for thread in 0..4 {
                let (list, links, owned) = (&list, &links, &owned);
                let push = move |number: u32| {
                    assert!(owned[number as usize].swap(false, Ordering::Relaxed));
                    list.push(links, number);
                };
                let pop = move || {
                    let number = list.pop(links)?;
                    assert!(!owned[number as usize].swap(true, Ordering::Relaxed), "{number} has two owners");
                    Some(number)
                };
                scope.spawn(move || {
                    let mut popped = Vec::new();
                    for round in 0..ROUNDS {
                        if (round + thread) % 7 < 4 {
                            popped.extend(pop());
                        } else {
                            popped.pop().into_iter().for_each(push);
                        }
                    }
                    popped.into_iter().for_each(push);
                });
            }
        });
        let mut remaining: Vec<u32> = std::iter::from_fn(|| list.pop(&links)).collect();
        remaining.sort_unstable();
        assert!(remaining.into_iter().eq(0..NUMBERS as u32));
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;
    use crate::sync::Arc;

    /// A list of the numbers below N, and a cell for the owner of each number.
    struct SharedList<const N: usize> {
        list: FreeList,
        links: Links,
        owned: [UnsafeCell<u32>; N],
    }

    impl<const N: usize> SharedList<N> {
        fn new() -> Arc<Self> {
            let owned = std::array::from_fn(|_| UnsafeCell::new(0));
            let shared = Self { list: FreeList::new(), links: new_links(N).unwrap(), owned };
            (0..N as u32).for_each(|number| shared.list.push(&shared.links, number));
            Arc::new(shared)
        }

        /// loom detects a number with two owners, and an access of the previous owner that is not ordered
        /// before.
        fn pop(&self) -> Option<u32> {
            let number = self.list.pop(&self.links)?;
            self.owned[number as usize].with_mut(|_| ());
            Some(number)
        }

        fn push(&self, number: u32) {
            self.owned[number as usize].with_mut(|_| ());
            self.list.push(&self.links, number);
        }

        /// Checks that each number is exactly once in the list or among the popped numbers.
        fn check(&self, popped: impl IntoIterator<Item = u32>) {
            let mut all: Vec<u32> = std::iter::from_fn(|| self.pop()).chain(popped).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..N as u32));
        }
    }

    /// Fails if the exchange in `push` or both loads of the head in `pop` are weakened to Relaxed.
    #[test]
    fn loom_no_number_is_lost_or_doubled() {
        loom::model(|| {
            let shared = SharedList::<2>::new();
            let work = |shared: &SharedList<2>| {
                if let Some(number) = shared.pop() {
                    shared.push(number);
                }
            };
            let other = thread::spawn({
                let shared = shared.clone();
                move || work(&shared)
            });
            work(&shared);
            other.join().unwrap();
            shared.check([]);
        });
    }

    /// The ABA problem: while one thread pops, another one pops the top and pushes it again over another
    /// number. Fails without the tag, and if the first load of the head in `pop`, or the load by a failed
    /// exchange, is weakened to Relaxed.
    #[test]
    fn loom_a_pop_detects_a_reused_head() {
        loom::model(|| {
            let shared = SharedList::<3>::new();
            let other = thread::spawn({
                let shared = shared.clone();
                move || shared.pop()
            });
            let (top, second) = (shared.pop(), shared.pop());
            if let Some(top) = top {
                shared.push(top);
            }
            let popped = other.join().unwrap();
            shared.check(popped.into_iter().chain(second));
        });
    }
}
