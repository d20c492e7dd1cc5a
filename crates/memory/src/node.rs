//! Published nodes: what readers may read, and what the holder of the lock may write.
//!
//! 1. Word 0, lock-and-size: see `lock_word`.
//! 2. The other words of the header are accessed as atomic words only. The holder of the lock stores the
//!    siblings and the tags; the rest of them never changes.
//! 3. Bytes from 64 up to the published size never change until the buffer is reclaimed, which no pin that
//!    can reach the node sees.
//! 4. Bytes from the published size on are the lock holder's alone: nobody else reads or writes them.

use std::ptr::NonNull;
use std::{fmt, slice};

use honeycomb_layout::node_header as header;

use crate::address::BusAddress;
use crate::arena::MappedWord;
use crate::lock_word::{LockAndSize, LockWord};
use crate::memory::Memory;
use crate::sync::Ordering;

/// A published node, under a pin.
#[derive(Clone, Copy)]
pub struct Node<'p> {
    /// The first of `node_bytes` initialised bytes of the arena that are a node for as long as `'p`.
    start: NonNull<u8>,
    memory: &'p Memory,
}

// SAFETY: all a node gives access to are atomic words and bytes that do not change.
unsafe impl Send for Node<'_> {}
// SAFETY: as above.
unsafe impl Sync for Node<'_> {}

const WORD: usize = size_of::<u64>();
/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

impl<'p> Node<'p> {
    /// # Safety
    /// At `start`, a node was published whose buffer is not reclaimed as long as `'p`.
    #[inline]
    pub(crate) unsafe fn new(memory: &'p Memory, start: NonNull<u8>) -> Self {
        Self { start, memory }
    }

    /// Where the node is.
    #[must_use]
    pub fn address(self) -> BusAddress {
        self.memory.address_of(self.start)
    }

    /// Whether both are one buffer.
    #[must_use]
    #[inline]
    pub fn is(self, other: Node<'_>) -> bool {
        self.start == other.start
    }

    /// The lock-and-size word as it is now.
    #[must_use]
    #[inline]
    pub fn lock_and_size(self) -> LockAndSize {
        self.lock_word().load()
    }

    /// A word of the header, at an offset that is a multiple of 8 from 8 to 56.
    ///
    /// # Panics
    /// If `offset` is anything else.
    #[must_use]
    #[inline]
    pub fn word(self, offset: usize) -> u64 {
        assert!(offset >= WORD, "the lock-and-size word is not read like the others");
        // What a sibling LID leads to is mapped for who finds it: acquire pairs with `set_word`.
        let is_sibling = matches!(offset, header::LEFT_OFFSET | header::RIGHT_OFFSET);
        self.header_word(offset).load(if is_sibling { Ordering::Acquire } else { Ordering::Relaxed })
    }

    /// All of the node that is published now.
    #[must_use]
    #[inline]
    pub fn published(self) -> Published<'p> {
        Published { node: self, state: self.lock_and_size() }
    }

    /// The node that this one replaced, if there is one.
    ///
    /// # Panics
    /// If that one is reclaimed, so was out of reach of this pin.
    #[must_use]
    #[inline]
    pub fn previous(self) -> Option<Self> {
        let address = BusAddress::new(self.word(header::PREVIOUS_VERSION_OFFSET))?;
        Some(self.memory.node_at(address))
    }

    /// Prefetches the cache lines of the bytes from offset `from` up to `to`, or to the end of the node if
    /// that is less. It prefetches four lines at a time, so up to three lines more: the processor then
    /// predicts the number of rounds nearly always.
    #[inline]
    pub fn prefetch(self, from: usize, to: usize) {
        const LINES: usize = 4;
        let (mut offset, end) = (from & !(LINE_BYTES - 1), to.min(self.memory.node_bytes()));
        while offset < end {
            for line in 0..LINES {
                prefetch_line(self.start.as_ptr().wrapping_add(offset + line * LINE_BYTES));
            }
            offset += LINES * LINE_BYTES;
        }
    }

    /// Locks the node if its lock-and-size word is still `seen`, and that is unlocked.
    #[must_use]
    #[inline]
    pub fn try_lock(self, seen: LockAndSize) -> Option<LockedNode<'p>> {
        // Made only if the lock was had: dropping one unlocks.
        self.lock_word().try_lock(seen).then(|| LockedNode { node: self, seen })
    }

    #[inline]
    fn lock_word(&self) -> LockWord<'_> {
        LockWord(self.header_word(header::LOCK_AND_SIZE_OFFSET))
    }

    #[inline]
    fn header_word(&self, offset: usize) -> &MappedWord {
        assert!(
            offset < header::SIZE && offset.is_multiple_of(WORD),
            "no word of a header begins at byte {offset}"
        );
        // SAFETY: the header is initialised and aligned to 64 bytes, and published headers are accessed as
        // atomic words only (invariant 2).
        unsafe { self.start.add(offset).cast::<MappedWord>().as_ref() }
    }

    /// # Safety
    /// `size` is from 64 to `node_bytes`, and nobody writes to the bytes up to it for as long as `'b`.
    #[inline]
    unsafe fn body<'b>(self, size: usize) -> &'b [u8] {
        // SAFETY: the bytes are initialised, within the node, and do not change, says the caller.
        unsafe { slice::from_raw_parts(self.start.add(header::SIZE).as_ptr(), size - header::SIZE) }
    }
}

/// A node as far as it was published at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Published<'p> {
    node: Node<'p>,
    /// A lock-and-size word that this node has had.
    state: LockAndSize,
}

impl<'p> Published<'p> {
    /// The node.
    #[must_use]
    #[inline]
    pub fn node(self) -> Node<'p> {
        self.node
    }

    /// The lock-and-size word as it was.
    #[must_use]
    #[inline]
    pub fn state(self) -> LockAndSize {
        self.state
    }

    /// The bytes from offset 64 up to the size that was published.
    #[must_use]
    #[inline]
    pub fn bytes(self) -> &'p [u8] {
        // SAFETY: invariant 3; the acquire load of the word saw these bytes, and a published size is from 64
        // to `node_bytes`.
        unsafe { self.node.body(self.state.size()) }
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("address", &self.address())
            .field("lock_and_size", &self.lock_and_size())
            .finish()
    }
}

/// Asks for a cache line, which may be anywhere, even where there is no memory.
#[inline]
pub(crate) fn prefetch_line(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64; a prefetch has no effect but on the caches.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch has no effect but on the caches.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{line}]", line = in(reg) line,
            options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

/// A node locked by the caller. Dropping it unlocks the node with nothing published.
#[derive(Debug)]
#[must_use = "a lock that is dropped is unlocked"]
pub struct LockedNode<'p> {
    node: Node<'p>,
    seen: LockAndSize,
}

impl<'p> LockedNode<'p> {
    /// The node.
    #[must_use]
    #[inline]
    pub fn node(&self) -> Node<'p> {
        self.node
    }

    /// The lock-and-size word as it was before it was locked.
    #[must_use]
    #[inline]
    pub fn seen(&self) -> LockAndSize {
        self.seen
    }

    /// The bytes from offset 64 up to `size`, with what this holder wrote past the published size.
    ///
    /// # Panics
    /// If `size` is not from 64 to the node's bytes.
    #[must_use]
    #[inline]
    pub fn bytes_up_to(&self, size: usize) -> &[u8] {
        assert!((header::SIZE..=self.node.memory.node_bytes()).contains(&size), "no size of a node: {size}");
        // SAFETY: invariants 3 and 4; this holder cannot write while it is borrowed.
        unsafe { self.node.body(size) }
    }

    /// The bytes from offset `from`, at least the published size, to the end of the node.
    ///
    /// # Panics
    /// If `from` is below the published size or beyond the node.
    #[must_use]
    #[inline]
    pub fn tail_mut(&mut self, from: usize) -> &mut [u8] {
        let end = self.node.memory.node_bytes();
        assert!((self.seen.size()..=end).contains(&from), "offset {from} is not in the free end of a node");
        // SAFETY: the bytes are within the node and past the published size, so this holder's alone
        // (invariant 4), which is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.node.start.add(from).as_ptr(), end - from) }
    }

    /// Stores a sibling (offset 24 or 32) or eight tags (48 or 56).
    ///
    /// # Panics
    /// If `offset` is another one: the other words of a published node do not change.
    #[inline]
    pub fn set_word(&self, offset: usize, value: u64) {
        const SECOND_TAGS: usize = header::TAGS_OFFSET + WORD;
        assert!(
            matches!(offset, header::LEFT_OFFSET | header::RIGHT_OFFSET | header::TAGS_OFFSET | SECOND_TAGS),
            "the word at byte {offset} of a published node does not change"
        );
        // Release pairs with the loads of siblings: the leaf that one leads to was mapped before.
        self.node.header_word(offset).store(value, Ordering::Release);
    }

    /// Makes all this holder wrote up to `size` visible to readers, with `log_count` entries in the log
    /// block, and unlocks the node.
    ///
    /// # Panics
    /// If `size` is less than the published size or more than the node's bytes, or `log_count` is more than
    /// 255.
    #[inline]
    pub fn publish(self, size: usize, log_count: usize) {
        let sizes = self.seen.size()..=self.node.memory.node_bytes();
        assert!(sizes.contains(&size), "size {size} is not in {sizes:?}");
        self.node.lock_word().publish(self.seen, size, log_count);
        std::mem::forget(self);
    }

    /// Leaves the node locked for ever: its buffer was replaced.
    #[inline]
    pub fn abandon(self) {
        std::mem::forget(self);
    }
}

impl Drop for LockedNode<'_> {
    #[inline]
    fn drop(&mut self) {
        self.node.lock_word().unlock(self.seen);
    }
}
