//! Read access to the bytes of a node: a published one, one that the caller has locked, or a private one.
//!
//! ```text
//! | header | samples | heads | offsets, children | fences | items | log entries | free | log words |
//! 0        64                                             sorted_end      size          node_bytes
//! ```
//! All offsets are relative to the node. The bytes of a view never change during its lifetime: these are the
//! immutable words of the header, and the bytes up to the published size or up to a size beyond which only
//! the caller can write.
//!
//! The *position* of an item of the sorted block is its index.

use std::ops::Range;

use honeycomb_layout::{fences, node_header};
use honeycomb_memory::{Lid, LockAndSize, LockedNode, LogWords, LogWordsIter, Node, Published};

use crate::node::columns::Columns;
use crate::node::counts::Counts;
use crate::node::header::{read_word, write_header};
use crate::node::in_node::InNode;
use crate::node::item::{Item, ItemHeader};
use crate::node::log_entry::{self, EntryPlace, LogEntry};
use crate::node::search::prefetch_for_write;
use crate::node::shape::Shape;
use crate::node::suffix::{KeyParts, Suffix};

/// The header words that the view does not cache, and the log words.
#[derive(Clone, Copy)]
enum Words<'a> {
    Published(Node<'a>, LogWords<'a>),
    Private(&'a [u8]),
}

/// The state of a node at one moment.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    words: Words<'a>,
    /// Bytes of the node from offset 64 up to its size.
    body: &'a [u8],
    /// The header word with the fields `sorted_end` to `level`.
    counts: Counts,
    log_count: usize,
}

impl<'a> View<'a> {
    /// Returns the view of a published node.
    #[inline]
    pub(crate) fn published(published: Published<'a>) -> Self {
        let node = published.node();
        let counts = Counts(node.word(node_header::SORTED_END_OFFSET));
        Self {
            words: Words::Published(node, published.log_words()),
            body: published.bytes(),
            counts,
            log_count: published.state().log_count(),
        }
    }

    /// Returns the view of a published node that the caller has locked, up to a size and a number of log
    /// entries: it can include entries that the caller has written but not published.
    pub(crate) fn locked(locked: &'a LockedNode<'_>, size: usize, log_count: usize) -> Self {
        let node = locked.node();
        let counts = Counts(node.word(node_header::SORTED_END_OFFSET));
        let words = Words::Published(node, locked.log_words(log_count));
        Self { words, body: locked.bytes_up_to(size), counts, log_count }
    }

    /// Returns the view of a private buffer. Its first word contains its size, and its log words are at its
    /// end.
    pub(crate) fn private(buffer: &'a [u8]) -> Self {
        let word = |offset| read_word(buffer, offset);
        let state = LockAndSize::from(word(node_header::LOCK_AND_SIZE_OFFSET));
        let counts = Counts(word(node_header::SORTED_END_OFFSET));
        Self {
            words: Words::Private(buffer),
            body: &buffer[node_header::SIZE..state.size()],
            counts,
            log_count: state.log_count(),
        }
    }

    /// Returns a copy of the node, without its log block, as a private buffer.
    pub(crate) fn to_buffer(self) -> Box<[u8]> {
        let mut buffer = Vec::with_capacity(self.sorted_end());
        buffer.resize(node_header::SIZE, 0);
        buffer.extend_from_slice(self.bytes(node_header::SIZE..self.sorted_end()));
        let links = [self.left(), self.right()];
        write_header(&mut buffer, self.sorted_end(), links, self.counts.0);
        buffer.into()
    }

    /// Returns whether no other thread has this node.
    pub(crate) fn is_private(self) -> bool {
        matches!(self.words, Words::Private(_))
    }

    #[inline]
    fn word(self, offset: usize) -> u64 {
        match self.words {
            Words::Published(node, _) => node.word(offset),
            Words::Private(buffer) => read_word(buffer, offset),
        }
    }

    /// Returns the header word with the fields `sorted_end` to `level`.
    pub(crate) fn counts(self) -> Counts {
        self.counts
    }

    /// Returns the columns of the node.
    #[inline]
    pub(crate) fn columns(self) -> Columns<'a> {
        Columns::new(self.body, self.counts)
    }

    /// Returns the bytes from the start of the node to the end of its log block.
    #[inline]
    pub(crate) fn size(self) -> usize {
        node_header::SIZE + self.body.len()
    }

    #[inline]
    pub(crate) fn node_version(self) -> u64 {
        self.word(node_header::NODE_VERSION_OFFSET)
    }

    /// Returns the bus address of the buffer that this one replaced; 0 if there is none.
    pub(crate) fn previous_address(self) -> u64 {
        self.word(node_header::PREVIOUS_VERSION_OFFSET)
    }

    /// Returns the header words with the LIDs of the siblings of a leaf.
    pub(crate) fn link_words(self) -> [u64; 2] {
        [node_header::LEFT_OFFSET, node_header::RIGHT_OFFSET].map(|offset| self.word(offset))
    }

    /// Returns the left sibling of a leaf.
    pub(crate) fn left(self) -> Option<Lid> {
        Lid::new(self.word(node_header::LEFT_OFFSET))
    }

    /// Returns the right sibling of a leaf.
    pub(crate) fn right(self) -> Option<Lid> {
        Lid::new(self.word(node_header::RIGHT_OFFSET))
    }

    /// Returns the leftmost child of an interior node.
    #[inline]
    pub(crate) fn leftmost(self) -> Lid {
        self.left().expect("an interior node has a leftmost child")
    }

    #[inline]
    pub(crate) fn level(self) -> usize {
        self.counts.level()
    }

    #[inline]
    pub(crate) fn is_leaf(self) -> bool {
        self.level() == 0
    }

    #[inline]
    pub(crate) fn sorted_end(self) -> usize {
        self.counts.sorted_end()
    }

    #[inline]
    pub(crate) fn sorted_count(self) -> usize {
        self.counts.sorted_count()
    }

    #[inline]
    pub(crate) fn prefix_length(self) -> usize {
        self.counts.prefix_length()
    }

    #[inline]
    pub(crate) fn log_count(self) -> usize {
        self.log_count
    }

    /// Returns the fingerprints of the first log entries.
    #[inline]
    pub(crate) fn tags(self) -> [u8; node_header::TAGS_COUNT] {
        let mut tags = [0; node_header::TAGS_COUNT];
        for (eight, word) in tags.as_chunks_mut::<8>().0.iter_mut().zip(self.tag_words()) {
            *eight = word.to_le_bytes();
        }
        tags
    }

    /// Returns the fingerprints, eight in a word.
    #[inline]
    pub(crate) fn tag_words(self) -> [u64; 2] {
        [self.word(node_header::TAGS_OFFSET), self.word(node_header::TAGS_OFFSET + 8)]
    }

    /// Returns the bytes of the node from `offset` up to its size.
    #[inline]
    pub(crate) fn from(self, offset: usize) -> &'a [u8] {
        &self.body[offset - node_header::SIZE..]
    }

    /// Returns the bytes of the node in a range of offsets.
    #[inline]
    pub(crate) fn bytes(self, range: Range<usize>) -> &'a [u8] {
        &self.body[range.start - node_header::SIZE..range.end - node_header::SIZE]
    }

    /// Returns the two bytes at `offset` as a number.
    #[inline]
    pub(crate) fn u16_at(self, offset: usize) -> usize {
        let bytes = self.from(offset);
        usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// Returns the offset of the fence keys.
    #[inline]
    pub(crate) fn fences_start(self) -> usize {
        self.columns().fences_start()
    }

    /// Returns the low fence key: the smallest key routed to this node; empty in the leftmost node of a
    /// level.
    pub(crate) fn low_fence(self) -> &'a [u8] {
        let start = self.fences_start();
        let length = self.u16_at(start + fences::LOW_LENGTH_OFFSET);
        &self.from(start + fences::SIZE)[..length]
    }

    /// Returns the high fence key: the smallest key routed to the right of this node; `None` in the rightmost
    /// node of a level.
    pub(crate) fn high_fence(self) -> Option<KeyParts<'a>> {
        let start = self.fences_start();
        let length = self.u16_at(start + fences::HIGH_LENGTH_OFFSET);
        let low = self.low_fence();
        let prefix = &low[..self.prefix_length()];
        let suffix = &self.from(start + fences::SIZE + low.len())[..length.saturating_sub(prefix.len())];
        (length > 0).then_some(KeyParts { prefix, suffix: Suffix::whole(suffix) })
    }

    /// Returns the bytes of the fence keys and their lengths.
    pub(crate) fn fence_bytes(self) -> usize {
        let start = self.fences_start();
        let length = |offset| self.u16_at(start + offset);
        let high = length(fences::HIGH_LENGTH_OFFSET).saturating_sub(self.prefix_length());
        fences::SIZE + length(fences::LOW_LENGTH_OFFSET) + high
    }

    /// Returns the common prefix of all keys of the node, which the items omit.
    #[inline]
    pub(crate) fn prefix(self) -> &'a [u8] {
        self.prefix_in_node().bytes()
    }

    /// Returns the prefix and the bytes after it.
    #[inline]
    pub(crate) fn prefix_in_node(self) -> InNode<'a> {
        InNode::new(self.from(self.fences_start() + fences::SIZE), self.prefix_length())
    }

    /// Returns the item at a position before the end.
    #[inline]
    pub(crate) fn item(self, position: usize) -> Item<'a> {
        self.columns().item(position)
    }

    /// Returns the items from one position up to another, with their positions.
    pub(crate) fn items(self, positions: Range<usize>) -> impl Iterator<Item = (usize, Item<'a>)> {
        positions.map(move |position| (position, self.item(position)))
    }

    /// Returns all items of the sorted block, with their positions.
    pub(crate) fn all_items(self) -> impl Iterator<Item = (usize, Item<'a>)> {
        self.items(0..self.sorted_count())
    }

    pub(crate) fn key(self, item: Item<'a>) -> KeyParts<'a> {
        KeyParts { prefix: self.prefix(), suffix: item.suffix() }
    }

    /// Returns the log entries in order of arrival.
    #[inline]
    pub(crate) fn log_entries(self) -> impl Iterator<Item = LogEntry<'a>> {
        self.log_places().map(move |place| LogEntry { place, item: self.item_at(place) })
    }

    /// Returns the lengths and flags of a log entry's item.
    #[inline]
    pub(crate) fn header_at(self, place: EntryPlace) -> ItemHeader {
        log_entry::item_header(self.from(place.at))
    }

    /// Returns the lengths, the flags and the stored value of a log entry.
    #[inline(always)]
    pub(crate) fn stored_value_at(self, place: EntryPlace) -> (ItemHeader, &'a [u8]) {
        log_entry::stored_value(self.from(place.at))
    }

    /// Returns the item of a log entry.
    #[inline]
    pub(crate) fn item_at(self, place: EntryPlace) -> Item<'a> {
        log_entry::item(self.from(place.at))
    }

    /// Returns the places of the log entries, in order of arrival.
    #[inline(always)]
    pub(crate) fn log_places(self) -> LogPlaces<'a> {
        match self.words {
            Words::Published(_, words) => LogPlaces::Published(words.iter()),
            Words::Private(buffer) => {
                let words = &buffer[log_word_offset(buffer.len(), self.log_count) + log_entry::WORD_BYTES..];
                LogPlaces::Private(words.as_chunks().0.iter())
            }
        }
    }

    /// Prefetches the bytes for a write: see [`prefetch_for_write`].
    #[inline]
    pub(crate) fn prefetch_for_write(self, shape: &Shape, entry_bytes: usize) {
        if let Words::Published(node, _) = self.words {
            let state = (self.size(), self.log_count());
            prefetch_for_write(node, shape, self.sorted_end(), state, entry_bytes);
        }
    }

    /// Returns the bytes of the node that are in use: up to its size, and the log words.
    #[inline]
    pub(crate) fn used_bytes(self) -> usize {
        self.size() + log_entry::WORD_BYTES * self.log_count
    }
}

/// Iterates over the places of the log entries of a leaf.
pub(crate) enum LogPlaces<'a> {
    Published(LogWordsIter<'a>),
    /// The words in the order of their addresses: that of the first entry comes last.
    Private(std::slice::Iter<'a, [u8; log_entry::WORD_BYTES]>),
}

impl Iterator for LogPlaces<'_> {
    type Item = EntryPlace;

    #[inline(always)]
    fn next(&mut self) -> Option<EntryPlace> {
        match self {
            Self::Published(words) => words.next(),
            Self::Private(words) => words.next_back().map(|word| u64::from_le_bytes(*word)),
        }
        .map(EntryPlace::from_word)
    }
}

/// Returns the offset of the log word of an entry in a node of `node_bytes` bytes.
#[inline]
pub(crate) fn log_word_offset(node_bytes: usize, entry: usize) -> usize {
    node_bytes - log_entry::WORD_BYTES * (entry + 1)
}
