//! Item runs: the items of a new node, where they are before it is built.
//!
//! A consolidation or split mostly copies items without a change. A run of items of a node is a few copies
//! if the node's prefix stays the same; otherwise each item is written again.

use std::ops::Range;

use crate::node::columns::Columns;
use crate::node::item::{Item, ItemHeader};
use crate::node::shape::LEAF;
use crate::node::size::{NodeKind, Size};
use crate::node::suffix::{HEAD_BYTES, KeyParts};
use crate::node::view::View;

/// Adjacent items whose keys lack `prefix`.
///
/// A position in a run is the index of an item of a node, the offset of an item among encoded ones, or 0 for
/// a single one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemRun<'a> {
    pub(crate) prefix: &'a [u8],
    pub(crate) source: Source<'a>,
}

/// The place of the items of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// Encoded items.
    Encoded(&'a [u8]),
    /// Items of a node, from one index up to another.
    Columns(Columns<'a>, u32, u32),
    One(Item<'a>),
}

/// Items in key order.
#[derive(Debug, Default)]
pub(crate) struct Items<'a> {
    /// The runs; none of them is empty.
    pub(crate) item_runs: Vec<ItemRun<'a>>,
}

impl<'a> Items<'a> {
    /// Returns no items, with capacity for `item_runs` runs.
    pub(crate) fn with_capacity(item_runs: usize) -> Self {
        Self { item_runs: Vec::with_capacity(item_runs) }
    }

    /// Returns the items of the sorted block of a node.
    pub(crate) fn of(view: View<'a>) -> Self {
        let mut items = Self::with_capacity(1);
        items.push(ItemRun::sorted(view, 0..view.sorted_count()));
        items
    }

    /// Adds a run unless it is empty.
    #[inline]
    pub(crate) fn push(&mut self, item_run: ItemRun<'a>) {
        if !item_run.is_empty() {
            self.item_runs.push(item_run);
        }
    }

    /// Appends the items of the next node to the right.
    pub(crate) fn extend(&mut self, others: Self) {
        self.item_runs.extend(others.item_runs);
    }

    /// Returns the number of items.
    pub(crate) fn count(&self) -> usize {
        self.item_runs.iter().map(|item_run| item_run.count()).sum()
    }

    /// Returns the size of all items in a node.
    pub(crate) fn size(&self, kind: NodeKind) -> Size {
        self.item_runs.iter().fold(Size::default(), |size, item_run| size.and(item_run.size(kind)))
    }
}

impl<'a> ItemRun<'a> {
    /// Returns a run of encoded items.
    pub(crate) fn encoded(prefix: &'a [u8], bytes: &'a [u8]) -> Self {
        Self { prefix, source: Source::Encoded(bytes) }
    }

    pub(crate) fn one(prefix: &'a [u8], item: Item<'a>) -> Self {
        Self { prefix, source: Source::One(item) }
    }

    /// Returns the sorted items of a node from one position up to another.
    pub(crate) fn sorted(view: View<'a>, positions: Range<usize>) -> Self {
        let source = Source::Columns(view.columns(), positions.start as u32, positions.end as u32);
        Self { prefix: view.prefix(), source }
    }

    fn is_empty(self) -> bool {
        self.first() == self.end()
    }

    /// Returns the position of the first item.
    pub(crate) fn first(self) -> usize {
        match self.source {
            Source::Columns(_, first, _) => first as usize,
            Source::Encoded(_) | Source::One(_) => 0,
        }
    }

    /// Returns the position after the last item.
    pub(crate) fn end(self) -> usize {
        match self.source {
            Source::Encoded(bytes) => bytes.len(),
            Source::Columns(_, _, end) => end as usize,
            Source::One(_) => 1,
        }
    }

    /// Returns the item at a position.
    #[inline]
    pub(crate) fn item(self, position: usize) -> Item<'a> {
        match self.source {
            Source::Encoded(bytes) => Item::read(&bytes[position..]),
            Source::Columns(columns, ..) => columns.item(position),
            Source::One(item) => item,
        }
    }

    /// Returns the position after the item at a position.
    #[inline]
    pub(crate) fn after(self, position: usize) -> usize {
        match self.source {
            Source::Encoded(bytes) => position + ItemHeader::read(&bytes[position..]).item_bytes(),
            Source::Columns(..) | Source::One(_) => position + 1,
        }
    }

    /// Returns the positions of the items.
    pub(crate) fn positions(self) -> impl Iterator<Item = usize> {
        let (mut next, end) = (self.first(), self.end());
        std::iter::from_fn(move || {
            let position = next;
            (position < end).then(|| {
                next = self.after(position);
                position
            })
        })
    }

    pub(crate) fn items(self) -> impl Iterator<Item = Item<'a>> {
        self.positions().map(move |position| self.item(position))
    }

    pub(crate) fn key(self, item: Item<'a>) -> KeyParts<'a> {
        KeyParts { prefix: self.prefix, suffix: item.suffix() }
    }

    /// Returns the position of the last item before `position`, which is not that of the first item.
    pub(crate) fn last_before(self, position: usize) -> usize {
        match self.source {
            Source::Encoded(_) => self
                .positions()
                .take_while(|&before| before < position)
                .last()
                .expect("a position after the first item has an item before it"),
            Source::Columns(..) | Source::One(_) => position - 1,
        }
    }

    /// Returns the position of the first item, at or after `start`, whose middle byte is at or beyond `goal`.
    /// `share` returns the bytes of items of a size.
    pub(crate) fn position_at(
        self,
        goal: usize,
        start: usize,
        share: impl Fn(Size) -> usize,
        kind: NodeKind,
    ) -> Option<usize> {
        let Source::Columns(_, _, end) = self.source else {
            let kind = NodeKind { prefix: self.prefix.len(), ..kind };
            let mut before = 0;
            return self.positions().find(|&position| {
                let bytes = share(self.size_at(position, kind));
                before += bytes;
                position >= start && before - bytes + bytes / 2 >= goal
            });
        };
        let up_to = |position| share(self.split_at(position).0.size_as_is(kind));
        let at = partition_point(start as u32..end, |at| {
            let (before, after) = (up_to(at as usize), up_to(at as usize + 1));
            before + (after - before) / 2 < goal
        });
        (at < end).then_some(at as usize)
    }

    /// Returns the items before a position, and the others.
    pub(crate) fn split_at(self, position: usize) -> (Self, Self) {
        let (before, after) = match self.source {
            Source::Encoded(bytes) => {
                let (before, after) = bytes.split_at(position);
                (Source::Encoded(before), Source::Encoded(after))
            }
            Source::Columns(columns, first, end) => {
                let middle = position as u32;
                (Source::Columns(columns, first, middle), Source::Columns(columns, middle, end))
            }
            one if position > 0 => (one, Source::Encoded(&[])),
            one => (Source::Encoded(&[]), one),
        };
        let run = |source| Self { prefix: self.prefix, source };
        (run(before), run(after))
    }

    /// Returns the columns and the indexes of the items, if they are from a node of the same level and prefix
    /// as the new one.
    #[inline]
    pub(crate) fn unchanged_columns(self, kind: NodeKind) -> Option<(Columns<'a>, Range<usize>)> {
        match self.source {
            Source::Columns(columns, first, end)
                if self.prefix.len() == kind.prefix && columns.is_leaf() == (kind.level == LEAF) =>
            {
                Some((columns, first as usize..end as usize))
            }
            _ => None,
        }
    }

    /// Returns the number of items.
    fn count(self) -> usize {
        match self.source {
            Source::Columns(_, first, end) => (end - first) as usize,
            Source::Encoded(_) | Source::One(_) => self.positions().count(),
        }
    }

    /// Returns the size of the items in a node of the same level and the prefix of the run.
    #[inline]
    pub(crate) fn size_as_is(self, kind: NodeKind) -> Size {
        self.size(NodeKind { prefix: self.prefix.len(), ..kind })
    }

    /// Returns the size of the items in a node.
    pub(crate) fn size(self, kind: NodeKind) -> Size {
        if let Source::Columns(columns, first, end) = self.source
            && columns.is_leaf()
            && let Some(stride) = columns.stride()
        {
            return kind.one(stride.header(), self.prefix.len(), || true).times((end - first) as usize);
        }
        if let Some((columns, indexes)) = self.unchanged_columns(kind) {
            return columns.size(indexes, kind.prefix);
        }
        self.positions().fold(Size::default(), |size, position| size.and(self.size_at(position, kind)))
    }

    /// Returns the size of the item at a position in a node.
    #[inline(always)]
    fn size_at(self, position: usize, kind: NodeKind) -> Size {
        if let Source::Columns(columns, ..) = self.source
            && columns.is_leaf()
        {
            return kind.one(columns.item_header(position), self.prefix.len(), || true);
        }
        let item = self.item(position);
        kind.one(item.header, self.prefix.len(), || {
            let key = self.key(item);
            let length = key.len() - kind.prefix;
            // A head determines a separator that fits into it and does not end with a zero byte.
            length <= HEAD_BYTES && key.bytes().last().is_none_or(|last| last != 0)
        })
    }
}

/// Returns the first position at which a condition does not hold. It holds for no later one.
fn partition_point(positions: Range<u32>, holds: impl Fn(u32) -> bool) -> u32 {
    let Range { start: mut first, mut end } = positions;
    while first < end {
        let middle = u32::midpoint(first, end);
        if holds(middle) { first = middle + 1 } else { end = middle }
    }
    first
}
