//! Read access to the bytes of a node: a published one, one that the caller has locked, or a private one.
//!
//! ```text
//! 0        64          shortcuts_end           sorted_start             sorted_end        size   node_bytes
//! | header | shortcuts | fingerprint directory | fence keys | items ... | log entries ... | free |
//! ```
//! All offsets are relative to the node. The bytes of a view never change during its lifetime: these are the
//! immutable words of the header, and the bytes up to the published size or up to a size beyond which only
//! the caller can write.

use std::ops::Range;

use honeycomb_layout::{fences, node_header};
use honeycomb_memory::{Lid, LockAndSize, Node, Published};

use crate::node::in_node::InNode;
use crate::node::item::Item;
use crate::node::key::KeyParts;
use crate::node::log_entry::LogEntry;
use crate::node::shape::Geometry;

/// The header words that the view does not cache.
#[derive(Clone, Copy)]
enum Words<'a> {
    Published(Node<'a>),
    Private(&'a [u8]),
}

/// The state of a node at one moment.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    geometry: Geometry,
    words: Words<'a>,
    /// Bytes of the node from offset 64 up to its size.
    body: &'a [u8],
    /// The header word with the fields `sorted_end` to `level`.
    counts: u64,
    log_count: usize,
}

impl<'a> View<'a> {
    /// Returns the view of a published node.
    #[inline]
    pub(crate) fn published(geometry: Geometry, published: Published<'a>) -> Self {
        let node = published.node();
        Self {
            geometry,
            words: Words::Published(node),
            body: published.bytes(),
            counts: node.word(node_header::SORTED_END_OFFSET),
            log_count: published.state().log_count(),
        }
    }

    /// Returns the view of a published node that the caller has locked, including entries that the caller has
    /// written but not published. `body` has the bytes of the node from offset 64 on.
    pub(crate) fn locked(geometry: Geometry, node: Node<'a>, body: &'a [u8], log_count: usize) -> Self {
        let counts = node.word(node_header::SORTED_END_OFFSET);
        Self { geometry, words: Words::Published(node), body, counts, log_count }
    }

    /// Returns the view of a private buffer. Its first word contains its size.
    pub(crate) fn private(geometry: Geometry, buffer: &'a [u8]) -> Self {
        let word = |offset| read_word(buffer, offset);
        let state = LockAndSize::from(word(node_header::LOCK_AND_SIZE_OFFSET));
        Self {
            geometry,
            words: Words::Private(buffer),
            body: &buffer[node_header::SIZE..state.size()],
            counts: word(node_header::SORTED_END_OFFSET),
            log_count: state.log_count(),
        }
    }

    #[inline]
    fn word(self, offset: usize) -> u64 {
        match self.words {
            Words::Published(node) => node.word(offset),
            Words::Private(buffer) => read_word(buffer, offset),
        }
    }

    #[inline]
    fn count(self, offset: usize, bytes: usize) -> usize {
        let shift = 8 * (offset - node_header::SORTED_END_OFFSET);
        (self.counts >> shift) as usize & ((1 << (8 * bytes)) - 1)
    }

    /// Returns the header word with the fields `sorted_end` to `level`.
    pub(crate) fn counts(self) -> u64 {
        self.counts
    }

    pub(crate) fn geometry(self) -> Geometry {
        self.geometry
    }

    /// Returns the bytes from the start of the node to the end of its log block.
    pub(crate) fn size(self) -> usize {
        node_header::SIZE + self.body.len()
    }

    #[inline]
    pub(crate) fn node_version(self) -> u64 {
        self.word(node_header::NODE_VERSION_OFFSET)
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
    pub(crate) fn leftmost(self) -> Lid {
        self.left().expect("an interior node has a leftmost child")
    }

    #[inline]
    pub(crate) fn level(self) -> usize {
        self.count(node_header::LEVEL_OFFSET, node_header::LEVEL_BYTES)
    }

    #[inline]
    pub(crate) fn is_leaf(self) -> bool {
        self.level() == 0
    }

    /// Returns the offset of the sorted block, which starts with the fence keys.
    #[inline]
    pub(crate) fn sorted_start(self) -> usize {
        self.geometry.sorted_start(self.level())
    }

    #[inline]
    pub(crate) fn sorted_end(self) -> usize {
        self.count(node_header::SORTED_END_OFFSET, node_header::SORTED_END_BYTES)
    }

    pub(crate) fn sorted_count(self) -> usize {
        self.count(node_header::SORTED_COUNT_OFFSET, node_header::SORTED_COUNT_BYTES)
    }

    #[inline]
    pub(crate) fn prefix_length(self) -> usize {
        self.count(node_header::PREFIX_LENGTH_OFFSET, node_header::PREFIX_LENGTH_BYTES)
    }

    #[inline]
    pub(crate) fn shortcut_count(self) -> usize {
        self.count(node_header::SHORTCUT_COUNT_OFFSET, node_header::SHORTCUT_COUNT_BYTES)
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

    /// Returns the bytes of the sorted block from `offset` on.
    #[inline]
    pub(crate) fn sorted_from(self, offset: usize) -> &'a [u8] {
        &self.body[offset - node_header::SIZE..self.sorted_end() - node_header::SIZE]
    }

    #[inline]
    fn u16_at(self, offset: usize) -> usize {
        let bytes = self.from(offset);
        usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// Returns the low fence key: the smallest key routed to this node; empty in the leftmost node of a
    /// level.
    pub(crate) fn low_fence(self) -> &'a [u8] {
        let start = self.sorted_start();
        let length = self.u16_at(start + fences::LOW_LENGTH_OFFSET);
        &self.from(start + fences::SIZE)[..length]
    }

    /// Returns the high fence key: the smallest key routed to the right of this node; `None` in the rightmost
    /// node of a level.
    pub(crate) fn high_fence(self) -> Option<KeyParts<'a>> {
        let start = self.sorted_start();
        let length = self.u16_at(start + fences::HIGH_LENGTH_OFFSET);
        let low = self.low_fence();
        let prefix = &low[..self.prefix_length()];
        let suffix = &self.from(start + fences::SIZE + low.len())[..length.saturating_sub(prefix.len())];
        (length > 0).then_some(KeyParts { prefix, suffix })
    }

    /// Returns the common prefix of all keys of the node, which the items omit.
    #[inline]
    pub(crate) fn prefix(self) -> &'a [u8] {
        &self.low_fence()[..self.prefix_length()]
    }

    /// Returns the prefix and the bytes after it.
    #[inline]
    pub(crate) fn prefix_in_node(self) -> InNode<'a> {
        InNode::new(self.from(self.sorted_start() + fences::SIZE), self.prefix_length())
    }

    /// Returns the offset of the first item.
    pub(crate) fn items_start(self) -> usize {
        let high = self.high_fence().map_or(0, |high| high.suffix.len());
        self.sorted_start() + fences::SIZE + self.low_fence().len() + high
    }

    #[inline]
    pub(crate) fn item(self, offset: usize) -> Item<'a> {
        Item::read(self.from(offset))
    }

    pub(crate) fn key(self, item: Item<'a>) -> KeyParts<'a> {
        KeyParts { prefix: self.prefix(), suffix: item.suffix() }
    }

    /// Returns the heads of the shortcuts, eight bytes each.
    #[inline]
    pub(crate) fn heads(self) -> &'a [u8] {
        &self.body[..8 * self.shortcut_count()]
    }

    /// Returns the head of the shortcut to segment `index`.
    #[inline]
    pub(crate) fn head(self, index: usize) -> u64 {
        u64::from_le_bytes(*self.body[8 * index..].first_chunk().expect("eight bytes"))
    }

    /// Returns the offset of the first item of segment `index`; the end of the sorted block for the index
    /// after the last.
    #[inline]
    pub(crate) fn segment(self, index: usize) -> usize {
        if index < self.shortcut_count() {
            self.u16_at(self.geometry.segment_field_offset(index))
        } else {
            self.sorted_end()
        }
    }

    /// Returns the offsets of the first item of segment `index` and of the item after its last one, with one
    /// load.
    #[inline]
    pub(crate) fn segment_range(self, index: usize) -> Range<usize> {
        let (count, sorted_end) = (self.shortcut_count(), self.sorted_end());
        if index >= count {
            return sorted_end..sorted_end;
        }
        // The fence keys follow the last shortcut, so these four bytes are inside the node.
        let [a, b, c, d] = *self.from(self.geometry.segment_field_offset(index)).first_chunk().expect("four");
        let (start, next) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        usize::from(start)..if index + 1 < count { usize::from(next) } else { sorted_end }
    }

    /// Returns the items from `offset` to the end of the sorted block, with their offsets.
    pub(crate) fn items_from(self, mut offset: usize) -> impl Iterator<Item = (usize, Item<'a>)> {
        let end = self.sorted_end();
        std::iter::from_fn(move || {
            let at = offset;
            (at < end).then(|| {
                let item = self.item(at);
                offset += item.bytes.len();
                (at, item)
            })
        })
    }

    /// Returns the log entries in order of arrival.
    #[inline]
    pub(crate) fn log_entries(self) -> impl Iterator<Item = LogEntry<'a>> {
        let mut rest = self.from(self.sorted_end());
        (0..self.log_count).map(move |_| {
            let entry = LogEntry::read(rest);
            rest = &rest[entry.bytes()..];
            entry
        })
    }

    /// Prefetches the lines from one offset to another.
    #[inline]
    pub(crate) fn prefetch(self, from: usize, to: usize) {
        if let Words::Published(node) = self.words {
            node.prefetch(from, to);
        }
    }

    /// Returns the bytes of the log block.
    pub(crate) fn log_bytes(self) -> usize {
        self.size() - self.sorted_end()
    }
}

fn read_word(buffer: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(buffer[offset..offset + 8].try_into().expect("eight bytes"))
}
