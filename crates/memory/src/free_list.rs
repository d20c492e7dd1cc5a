//! A lock-free stack of small numbers: free node buffers, or free LIDs.
//!
//! The head is one word: the number on top plus one (0: empty) and a tag that counts changes, so that a head
//! that went away and came back is not taken for the one that was seen (it would take 2^32 changes during one
//! pop). Links are kept beside, in an array that lists may share: nothing is written into free memory.
//!
//! 1. `head`: anybody, by compare-and-swap; a push releases the link of what it pushes, a pop acquires it.
//! 2. `links[n]`: the owner of n before it pushes n; anybody loads it, but what was loaded counts only if the
//!    head has not changed since.
//! 3. `length`: anybody, by fetch-and-add; a hint, it may lag behind the list.

use crate::error::MemoryError;
use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

#[derive(Debug)]
pub(crate) struct FreeList {
    head: AtomicU64,
    length: AtomicUsize,
}

/// Links of the numbers below its length.
#[cfg(not(loom))]
pub(crate) type Links = crate::arena::MappedSlice<AtomicU32>;
#[cfg(loom)]
pub(crate) type Links = Box<[AtomicU32]>;

/// Links of the numbers below `count`.
pub(crate) fn new_links(count: usize) -> Result<Links, MemoryError> {
    #[cfg(not(loom))]
    return Links::new(count, crate::arena::Wishes::default());
    #[cfg(loom)]
    Ok((0..count).map(|_| AtomicU32::new(0)).collect())
}

const TAG: u64 = 1 << 32;

impl FreeList {
    pub(crate) fn new() -> Self {
        Self { head: AtomicU64::new(0), length: AtomicUsize::new(0) }
    }

    /// Puts a number on top. The caller owns it, and no longer does afterwards.
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

    /// Takes the number on top. The caller owns it.
    pub(crate) fn pop(&self, links: &[AtomicU32]) -> Option<u32> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let number = (head as u32).checked_sub(1)?;
            let next = changed(head, links[number as usize].load(Ordering::Relaxed));
            // What the head released was acquired when it was loaded.
            match self.head.compare_exchange_weak(head, next, Ordering::Relaxed, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        self.length.fetch_sub(1, Ordering::Relaxed);
        (head as u32).checked_sub(1)
    }

    /// How many numbers there are, about.
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
                let give_back = move |number: u32| {
                    assert!(owned[number as usize].swap(false, Ordering::Relaxed));
                    list.push(links, number);
                };
                let take = move || {
                    let number = list.pop(links)?;
                    assert!(!owned[number as usize].swap(true, Ordering::Relaxed), "{number} has two owners");
                    Some(number)
                };
                scope.spawn(move || {
                    let mut held = Vec::new();
                    for round in 0..ROUNDS {
                        if (round + thread) % 7 < 4 {
                            held.extend(take());
                        } else {
                            held.pop().into_iter().for_each(give_back);
                        }
                    }
                    held.into_iter().for_each(give_back);
                });
            }
        });
        let mut left: Vec<u32> = std::iter::from_fn(|| list.pop(&links)).collect();
        left.sort_unstable();
        assert!(left.into_iter().eq(0..NUMBERS as u32));
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;
    use crate::sync::Arc;

    /// A list of the numbers below N, and what belongs to them.
    struct Shared<const N: usize> {
        list: FreeList,
        links: Links,
        owned: [UnsafeCell<u32>; N],
    }

    impl<const N: usize> Shared<N> {
        fn new() -> Arc<Self> {
            let owned = std::array::from_fn(|_| UnsafeCell::new(0));
            let shared = Self { list: FreeList::new(), links: new_links(N).unwrap(), owned };
            (0..N as u32).for_each(|number| shared.list.push(&shared.links, number));
            Arc::new(shared)
        }

        /// loom sees it if two threads are here with one number, or if the former owner's access is not
        /// ordered before.
        fn pop(&self) -> Option<u32> {
            let number = self.list.pop(&self.links)?;
            self.owned[number as usize].with_mut(|_| ());
            Some(number)
        }

        fn push(&self, number: u32) {
            self.owned[number as usize].with_mut(|_| ());
            self.list.push(&self.links, number);
        }

        /// Checks that each number is in the list or among those held, once.
        fn check(&self, held: impl IntoIterator<Item = u32>) {
            let mut all: Vec<u32> = std::iter::from_fn(|| self.pop()).chain(held).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..N as u32));
        }
    }

    /// Fails if the exchange in `push` is weakened to Relaxed, or both loads of the head in `pop` are.
    #[test]
    fn loom_no_number_is_lost_or_doubled() {
        loom::model(|| {
            let shared = Shared::<2>::new();
            let work = |shared: &Shared<2>| {
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

    /// While one thread pops, the top goes away and comes back over another number. Fails without the tag,
    /// and if the first load of the head in `pop` is weakened to Relaxed, or the one of an exchange that
    /// failed.
    #[test]
    fn loom_a_head_that_came_back_is_noticed() {
        loom::model(|| {
            let shared = Shared::<3>::new();
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
