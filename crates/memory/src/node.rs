//! Published nodes: the bytes that readers may read and that the lock holder may write.
//!
//! 1. Word 0, the lock-and-size word: see `lock_word`.
//! 2. Threads access the other words of the header as atomic words only. The lock holder stores the siblings
//!    and the fingerprints; the other words never change.
//! 3. The bytes from 64 up to the published size do not change until the buffer is reclaimed. It is not
//!    reclaimed while a pin can reach the node.
//! 4. Only the lock holder reads or writes the bytes past the published size, except the published log words.
//! 5. The last words of a node, one for each log entry, are published with the entries. Threads access them
//!    as atomic words only. The lock holder stores the words of its entries before it publishes them;
//!    published words do not change.

use std::ptr::NonNull;
use std::{fmt, slice};

use honeycomb_layout::node_header as header;

use crate::address::{BusAddress, Lid};
use crate::arena::MappedWord;
use crate::lock_word::{LockAndSize, LockWord};
use crate::memory::Memory;
use crate::prefetch::{prefetch_line, prefetch_one_of_many};
use crate::sync::Ordering;

/// A published node, under a pin.
#[derive(Clone, Copy)]
pub struct Node<'p> {
    /// The first of `node_bytes` initialised bytes of the arena that are a node during `'p`.
    start: NonNull<u8>,
    memory: &'p Memory,
}

// SAFETY: a node gives access only to atomic words and to bytes that do not change.
unsafe impl Send for Node<'_> {}
// SAFETY: as above.
unsafe impl Sync for Node<'_> {}

const WORD: usize = size_of::<u64>();
/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

impl<'p> Node<'p> {
    /// # Safety
    /// A published node begins at `start`, and its buffer is not reclaimed during `'p`.
    #[inline]
    pub(crate) unsafe fn new(memory: &'p Memory, start: NonNull<u8>) -> Self {
        Self { start, memory }
    }

    /// The bus address of the node.
    #[must_use]
    pub fn address(self) -> BusAddress {
        self.memory.address_of(self.start)
    }

    /// Whether both nodes are the same buffer.
    #[must_use]
    #[inline]
    pub fn is(self, other: Node<'_>) -> bool {
        self.start == other.start
    }

    /// Loads the lock-and-size word.
    #[must_use]
    #[inline]
    pub fn lock_and_size(self) -> LockAndSize {
        self.lock_word().load()
    }

    /// Loads the word of the header at an offset, which is a multiple of 8 from 8 to 56.
    ///
    /// # Panics
    /// If `offset` has another value.
    #[must_use]
    #[inline]
    pub fn word(self, offset: usize) -> u64 {
        assert!(offset >= WORD, "`lock_and_size` loads the lock-and-size word");
        // Acquire, with the release in `set_word`: a reader that loads the LID of a sibling sees its mapping.
        let is_sibling = matches!(offset, header::LEFT_OFFSET | header::RIGHT_OFFSET);
        self.header_word(offset).load(if is_sibling { Ordering::Acquire } else { Ordering::Relaxed })
    }

    /// The published contents of the node at this moment.
    #[must_use]
    #[inline(always)]
    pub fn published(self) -> Published<'p> {
        Published { node: self, state: self.lock_and_size() }
    }

    /// The node without any of its contents, for a caller that has not read from it yet.
    #[must_use]
    #[inline]
    pub fn unread(self) -> Published<'p> {
        Published { node: self, state: LockAndSize::new(header::SIZE, 0) }
    }

    /// The current node of a LID. The pin of this node guards it, too.
    ///
    /// # Panics
    /// If the LID is not mapped.
    #[must_use]
    #[inline]
    pub fn current(self, lid: Lid) -> Self {
        self.memory.current(lid)
    }

    /// Prefetches the entry of the page table of a LID.
    #[inline]
    pub fn prefetch_entry(self, lid: Lid) {
        self.memory.prefetch_entry(lid);
    }

    /// The previous version: the node that this node replaced.
    ///
    /// # Panics
    /// If the previous version is reclaimed. Then this pin could not reach it.
    #[must_use]
    #[inline]
    pub fn previous(self) -> Option<Self> {
        let address = BusAddress::new(self.word(header::PREVIOUS_VERSION_OFFSET))?;
        Some(self.memory.node_at(address))
    }

    /// Prefetches the cache lines of the bytes from offset `from` up to `to`, or to the end of the node if
    /// that is less. It prefetches four lines at a time, so up to three lines more: the processor then nearly
    /// always predicts the number of iterations.
    #[inline]
    pub fn prefetch(self, from: usize, to: usize) {
        const LINES: usize = 4;
        let (mut offset, end) = (from & !(LINE_BYTES - 1), to.min(self.memory.node_bytes()));
        while offset < end {
            for line in 0..LINES {
                prefetch_one_of_many(self.start.as_ptr().wrapping_add(offset + line * LINE_BYTES));
            }
            offset += LINES * LINE_BYTES;
        }
    }

    /// Prefetches exactly the cache lines of the bytes from offset `from` up to `to`.
    #[inline]
    pub fn prefetch_range(self, from: usize, to: usize) {
        let mut offset = from & !(LINE_BYTES - 1);
        while offset < to {
            prefetch_one_of_many(self.start.as_ptr().wrapping_add(offset));
            offset += LINE_BYTES;
        }
    }

    /// Prefetches `LINES` cache lines, from the one with the byte at `offset` on. Lines beyond the node do no
    /// harm.
    #[inline(always)]
    pub fn prefetch_lines<const LINES: usize>(self, offset: usize) {
        self.lines::<LINES>(offset).for_each(prefetch_one_of_many);
    }

    /// Like [`Node::prefetch_lines`], for an operation that executes alone and waits for the lines next.
    #[inline(always)]
    pub fn prefetch_lines_alone<const LINES: usize>(self, offset: usize) {
        self.lines::<LINES>(offset).for_each(prefetch_line);
    }

    #[inline(always)]
    fn lines<const LINES: usize>(self, offset: usize) -> impl Iterator<Item = *const u8> {
        let first = self.start.as_ptr().wrapping_add(offset).cast_const();
        (0..LINES).map(move |line| first.wrapping_add(line * LINE_BYTES))
    }

    /// Prefetches the words of `count` log entries.
    #[inline(always)]
    pub fn prefetch_log_words(self, count: usize) {
        let end = self.start.as_ptr().wrapping_add(self.memory.node_bytes());
        for line in 1..=count.div_ceil(LINE_BYTES / WORD) {
            prefetch_one_of_many(end.wrapping_sub(line * LINE_BYTES));
        }
    }

    /// Locks the node if its lock-and-size word is still `seen` and `seen` is unlocked.
    #[must_use]
    #[inline(always)]
    pub fn try_lock(self, seen: LockAndSize) -> Option<LockedNode<'p>> {
        if self.lock_word().try_lock(seen) { Some(LockedNode { node: self, seen }) } else { None }
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
        // SAFETY: the header is initialised and aligned to 64 bytes, and threads access published headers as
        // atomic words only (rule 2).
        unsafe { self.start.add(offset).cast::<MappedWord>().as_ref() }
    }

    /// The last `count` words of the node.
    ///
    /// # Safety
    /// `count` words fit into the node, and all threads access them as atomic words only during `'b`.
    #[inline]
    unsafe fn log_words<'b>(self, count: usize) -> LogWords<'b> {
        // SAFETY: the words are within the node, initialised and aligned; the caller guarantees the rest.
        let words = unsafe {
            let start = self.start.add(self.memory.node_bytes - count * WORD).cast::<MappedWord>();
            slice::from_raw_parts(start.as_ptr(), count)
        };
        LogWords { words }
    }

    /// # Safety
    /// `size` is from 64 to `node_bytes`, and no thread writes to the bytes below it during `'b`.
    #[inline]
    unsafe fn body<'b>(self, size: usize) -> &'b [u8] {
        // SAFETY: the bytes are initialised and within the node; the caller guarantees that they do not
        // change.
        unsafe { slice::from_raw_parts(self.start.add(header::SIZE).as_ptr(), size - header::SIZE) }
    }
}

/// The contents of a node that were published at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Published<'p> {
    node: Node<'p>,
    /// The lock-and-size word at that moment.
    state: LockAndSize,
}

impl<'p> Published<'p> {
    /// The node.
    #[must_use]
    #[inline]
    pub fn node(self) -> Node<'p> {
        self.node
    }

    /// The lock-and-size word at that moment.
    #[must_use]
    #[inline]
    pub fn state(self) -> LockAndSize {
        self.state
    }

    /// Replaces the contents by those of this moment, and returns them.
    #[inline(always)]
    pub fn update(&mut self) -> Self {
        // The node before the state: the compiler would load it again after the load of the state.
        let node = self.node;
        let now = node.published();
        self.state = now.state;
        now
    }

    /// The bytes from offset 64 up to the published size.
    #[must_use]
    #[inline]
    pub fn bytes(self) -> &'p [u8] {
        // SAFETY: rule 3; the acquire load of the word orders the writes of these bytes before this read, and
        // a published size is from 64 to `node_bytes`.
        unsafe { self.node.body(self.state.size()) }
    }
}

impl<'p> Published<'p> {
    /// The words of the published log entries.
    #[must_use]
    #[inline]
    pub fn log_words(self) -> LogWords<'p> {
        // SAFETY: rule 5; the acquire load of the lock-and-size word orders the stores of these words before
        // this read, and a published size leaves room for them.
        unsafe { self.node.log_words(self.state.log_count()) }
    }
}

/// The log words of a node, in the order of the entries.
#[derive(Debug, Clone, Copy)]
pub struct LogWords<'a> {
    /// In the order of their addresses: the word of the first entry comes last.
    words: &'a [MappedWord],
}

impl<'a> LogWords<'a> {
    /// The words, in the order of the entries.
    #[must_use]
    #[inline]
    pub fn iter(self) -> LogWordsIter<'a> {
        LogWordsIter(self.words.iter())
    }

    /// The word of an entry; `None` beyond the last.
    #[must_use]
    #[inline]
    pub fn get(self, entry: usize) -> Option<u64> {
        let word = self.words.get(self.words.len().wrapping_sub(entry + 1))?;
        Some(word.load(Ordering::Relaxed))
    }
}

/// Iterates over the log words of a node, in the order of the entries.
#[derive(Debug, Clone)]
pub struct LogWordsIter<'a>(std::slice::Iter<'a, MappedWord>);

impl Iterator for LogWordsIter<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.0.next_back().map(|word| word.load(Ordering::Relaxed))
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

/// A node that the owner of this value has locked. Dropping it unlocks the node and publishes nothing.
#[derive(Debug)]
#[must_use = "dropping it unlocks the node"]
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

    /// The lock-and-size word before the node was locked.
    #[must_use]
    #[inline]
    pub fn seen(&self) -> LockAndSize {
        self.seen
    }

    /// The bytes from offset 64 up to `size`, including unpublished writes of this holder.
    ///
    /// # Panics
    /// If `size` is not from 64 to the size of a buffer.
    #[must_use]
    #[inline]
    pub fn bytes_up_to(&self, size: usize) -> &[u8] {
        assert!(
            (header::SIZE..=self.node.memory.node_bytes()).contains(&size),
            "{size} is not a size of a node"
        );
        // SAFETY: rules 3 and 4; this holder cannot write while it is borrowed.
        unsafe { self.node.body(size) }
    }

    /// The log words of `count` entries, including unpublished ones of this holder.
    ///
    /// # Panics
    /// If the words would reach into the published bytes.
    #[must_use]
    #[inline]
    pub fn log_words(&self, count: usize) -> LogWords<'_> {
        self.check_log_words(count);
        // SAFETY: rules 4 and 5; the words fit, and this holder cannot write bytes while it is borrowed.
        unsafe { self.node.log_words(count) }
    }

    /// Stores the log word of an entry that is not published yet.
    ///
    /// # Panics
    /// If the entry is published, or the word would be in the published bytes.
    #[inline]
    pub fn set_log_word(&self, entry: usize, word: u64) {
        assert!(entry >= self.seen.log_count(), "the log word of a published entry never changes");
        self.check_log_words(entry + 1);
        // SAFETY: rules 4 and 5; the words fit, and this holder cannot write bytes while it is borrowed.
        let words = unsafe { self.node.log_words(entry + 1) };
        words.words.first().expect("at least one word").store(word, Ordering::Relaxed);
    }

    /// Changes the log words of the entries that are not published yet, of `count` entries in all.
    ///
    /// # Panics
    /// If the words would be in the published bytes.
    #[inline]
    pub fn change_new_log_words(&self, count: usize, change: impl Fn(u64) -> u64) {
        let new = count.saturating_sub(self.seen.log_count());
        // In the order of their addresses: the words of the newest entries come first.
        for word in &self.log_words(count).words[..new] {
            word.store(change(word.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
    }

    #[inline]
    fn check_log_words(&self, count: usize) {
        let (memory, size) = (self.node.memory, self.seen.size());
        let fit = size <= memory.size_max(count);
        assert!(fit, "{count} log words do not fit after {size} bytes");
    }

    /// The bytes from offset `from`, at least the published size, to the end of the node or to the words of
    /// the published log entries.
    ///
    /// # Panics
    /// If `from` is below the published size or beyond the end.
    #[must_use]
    #[inline]
    pub fn tail_mut(&mut self, from: usize) -> &mut [u8] {
        let end = self.node.memory.size_max(self.seen.log_count());
        assert!(
            (self.seen.size()..=end).contains(&from),
            "offset {from} is below the size, or beyond the node"
        );
        // SAFETY: the bytes are within the node and past the published size, so only this holder accesses
        // them (rule 4), and it is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.node.start.add(from).as_ptr(), end - from) }
    }

    /// Stores the LID of a sibling (offset 24 or 32) or eight fingerprints (48 or 56).
    ///
    /// # Panics
    /// If `offset` has another value: the other words of a published node never change.
    #[inline(always)]
    pub fn set_word(&self, offset: usize, value: u64) {
        const FINGERPRINTS: usize = header::TAGS_OFFSET;
        const MORE_FINGERPRINTS: usize = FINGERPRINTS + WORD;
        assert!(
            matches!(offset, header::LEFT_OFFSET | header::RIGHT_OFFSET | FINGERPRINTS | MORE_FINGERPRINTS),
            "the word at byte {offset} of a published node never changes"
        );
        // Release, with the acquire in `word`: the sibling was mapped before.
        self.node.header_word(offset).store(value, Ordering::Release);
    }

    /// Publishes the writes of this holder below `size`, with `log_count` entries in the log block, and
    /// unlocks the node.
    ///
    /// # Panics
    /// If `size` is less than the published size, or greater than a buffer without its log words, or
    /// `log_count` is greater than 255.
    #[inline]
    pub fn publish(self, size: usize, log_count: usize) {
        let sizes = self.seen.size()..=self.node.memory.size_max(log_count);
        assert!(sizes.contains(&size), "size {size} is not in {sizes:?}");
        self.node.lock_word().publish(self.seen, size, log_count);
        std::mem::forget(self);
    }

    /// Leaves the node locked forever, because its buffer is replaced.
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
