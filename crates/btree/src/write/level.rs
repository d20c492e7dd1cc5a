//! One level of a bulk load, or a part of it: its nodes, built from left to right and filled to a given
//! percentage.
//!
//! A level has one open node. It is closed when the next item would exceed the fill factor; only then its
//! high fence key and thus its prefix are known. No other thread sees the nodes.
//!
//! Each step allocates before it changes anything, so an item that failed for lack of memory can be added
//! again.

use honeycomb_layout::node_header;
use honeycomb_memory::{Lid, LidReservation, NodeBuffer};

use crate::error::Error;
use crate::forest::Forest;
use crate::node::fences::Fences;
use crate::node::header::write_word;
use crate::node::item::{Item, encode_child};
use crate::node::item_run::{ItemRun, Items};
use crate::node::key::{prefix_length, separator};
use crate::node::plan::Plan;
use crate::node::shape::LEAF;
use crate::node::size::{NodeKind, Size};
use crate::node::suffix::KeyParts;
use crate::write::divide::{Distribution, NodeRun, divide, log_room};

/// A node that is built but not published.
pub(crate) struct LoadedNode<'f> {
    pub(crate) lid: LidReservation<'f>,
    pub(crate) buffer: NodeBuffer<'f>,
    /// Its low fence key.
    low: Vec<u8>,
}

/// The nodes of one level.
pub(crate) struct Level<'f> {
    forest: &'f Forest,
    fill_percent: usize,
    height: usize,
    closed: Vec<LoadedNode<'f>>,
    /// The LID of the open node.
    lid: LidReservation<'f>,
    /// The left sibling of the open node; leaves only.
    left: Option<Lid>,
    low: Vec<u8>,
    /// The leftmost child of the open node; interior nodes only.
    leftmost: Option<Lid>,
    /// The items of the open node, with whole keys.
    items: Vec<u8>,
    count: usize,
    /// The kind of the open node, with the prefix that it would have had at the last check.
    kind: NodeKind,
    /// The size of the items in such a node.
    size: Size,
    /// Offsets of the last two items.
    last: [usize; 2],
}

impl<'f> Level<'f> {
    /// Begins the leaves whose keys are at or above `low`.
    pub(crate) fn leaves(forest: &'f Forest, fill_percent: usize, low: Vec<u8>) -> Result<Self, Error> {
        Self::new(forest, fill_percent, LEAF, (low, None))
    }

    /// Builds the parents of the nodes of a level, of which there are several.
    pub(crate) fn parents(
        forest: &'f Forest,
        (height, fill_percent): (usize, usize),
        children: &[LoadedNode<'_>],
    ) -> Result<Vec<LoadedNode<'f>>, Error> {
        let (first, others) = children.split_first().expect("a level has a node");
        let mut level = Self::new(forest, fill_percent, height, (first.low.clone(), Some(first.lid.lid())))?;
        for LoadedNode { lid, low, .. } in others {
            level.add(low, &encode_child(low, lid.lid()))?;
        }
        level.end()
    }

    fn new(
        forest: &'f Forest,
        fill_percent: usize,
        height: usize,
        (low, leftmost): (Vec<u8>, Option<Lid>),
    ) -> Result<Self, Error> {
        let kind = NodeKind { level: height, prefix: 0 };
        Ok(Self {
            forest,
            fill_percent,
            height,
            closed: Vec::new(),
            lid: forest.memory().reserve_lid()?,
            left: None,
            low,
            leftmost,
            items: Vec::new(),
            count: 0,
            kind,
            size: Size::default(),
            last: [0; 2],
        })
    }

    /// Adds an item after all others.
    pub(crate) fn add(&mut self, key: &[u8], item: &[u8]) -> Result<(), Error> {
        self.close_if_full(key)?;
        self.append(item);
        Ok(())
    }

    /// The low fence key of the first node.
    pub(crate) fn low(&self) -> &[u8] {
        self.closed.first().map_or(&self.low, |node| &node.low)
    }

    /// Returns whether the next item may have this key.
    pub(crate) fn ascends_to(&self, key: &[u8]) -> bool {
        if self.count == 0 { key >= &self.low[..] } else { self.last_item().suffix().compare(key).is_lt() }
    }

    /// Ends this level before the level `next`, whose items follow. Returns the nodes.
    pub(crate) fn end_before(&mut self, next: &mut Self) -> Result<Vec<LoadedNode<'f>>, Error> {
        let first = next.closed.first().map_or(next.lid.lid(), |node| node.lid.lid());
        self.close_last(Some(next.low()), Some(first))?;
        let last = self.left.expect("a closed node");
        match next.closed.first_mut() {
            // Nobody sees this node, so its sibling can change.
            Some(node) => write_word(&mut node.buffer, node_header::LEFT_OFFSET, last.get()),
            None => next.left = Some(last),
        }
        Ok(std::mem::take(&mut self.closed))
    }

    /// Ends this level, the last one of its height. Returns the nodes.
    pub(crate) fn end(mut self) -> Result<Vec<LoadedNode<'f>>, Error> {
        self.close_last(None, None)?;
        Ok(self.closed)
    }

    /// Closes the open node before its last item if it is too full with that item. `next` is the key of the
    /// next item.
    fn close_if_full(&mut self, next: &[u8]) -> Result<(), Error> {
        let shape = self.forest.shape();
        let block = shape.block_bytes();
        let goal = (block * self.fill_percent / 100).min(block - log_room(shape, self.height));
        if self.count < 2 || self.bytes_at_most(next) <= goal || self.bytes_before(next) <= goal {
            return Ok(());
        }
        self.close_node()
    }

    fn close_node(&mut self) -> Result<(), Error> {
        let last = self.last_item().suffix().to_bytes();
        let high = self.fence(Item::read(&self.items[self.last[0]..]), &last);
        let next = self.forest.memory().reserve_lid()?;
        let right = (self.height == LEAF).then(|| next.lid());
        let run = self.run(self.last[1], Some(&high));
        let buffer = self.build(&run.plan(self.left, right))?;
        self.start_next(buffer, next, high);
        Ok(())
    }

    /// Closes the last node, divided into several nodes if it is too large. `high` is its high fence key, and
    /// `right` its right sibling.
    fn close_last(&mut self, high: Option<&[u8]>, right: Option<Lid>) -> Result<(), Error> {
        let run = self.run(self.items.len(), high);
        let parts = divide(self.forest.shape(), &run, Distribution::Evenly(1));
        // Each closed node needs a LID for its successor, including the last one.
        let next = parts.iter().map(|_| self.forest.memory().reserve_lid()).collect::<Result<Vec<_>, _>>()?;
        let lids: Vec<Lid> = std::iter::once(&self.lid).chain(&next).map(LidReservation::lid).collect();
        let mut built = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let left = index.checked_sub(1).map(|left| lids[left]).or(self.left);
            let right = if index + 1 < parts.len() { Some(lids[index + 1]) } else { right };
            built.push((part.fences.low.clone(), self.build(&part.plan(left, right))?));
        }
        drop((parts, run));
        for ((low, buffer), next) in built.into_iter().zip(next) {
            self.keep(low, buffer, next);
        }
        Ok(())
    }

    fn build(&self, plan: &Plan<'_>) -> Result<NodeBuffer<'f>, Error> {
        let mut buffer = self.forest.memory().allocate_node()?;
        plan.build(&mut buffer);
        Ok(buffer)
    }

    fn append(&mut self, item: &[u8]) {
        // All keys of the open node have this prefix, but the next key may not have it.
        let lacks = Item::read(item).suffix().len() < self.kind.prefix;
        if lacks {
            self.set_prefix(0);
        }
        self.last = [self.last[1], self.items.len()];
        self.items.extend_from_slice(item);
        self.count += 1;
        self.size = self.size.and(ItemRun::encoded(&[], item).size(self.kind));
    }

    /// Computes the size of the items for a node with another prefix.
    fn set_prefix(&mut self, prefix: usize) {
        if prefix != self.kind.prefix {
            self.kind.prefix = prefix;
            self.size = ItemRun::encoded(&[], &self.items).size(self.kind);
        }
    }

    fn last_item(&self) -> Item<'_> {
        Item::read(&self.items[self.last[1]..])
    }

    /// Returns an upper limit for the bytes of the sorted block if `next` is the next key.
    fn bytes_at_most(&self, next: &[u8]) -> usize {
        let longer = self.kind.prefix.next_multiple_of(4);
        let kind = NodeKind { prefix: 0, ..self.kind };
        let size = Size { item_bytes: self.size.item_bytes + self.count * longer, ..self.size };
        kind.block_bytes(size, Fences { low: &self.low, high: Some(KeyParts::whole(next)) })
    }

    /// Returns the bytes of the sorted block if `next` is the next key.
    fn bytes_before(&mut self, next: &[u8]) -> usize {
        let high = self.fence(self.last_item(), next);
        self.set_prefix(prefix_length(&self.low, Some(&high)));
        self.kind.block_bytes(self.size, Fences { low: &self.low, high: Some(KeyParts::whole(&high)) })
    }

    /// Returns the fence key between an item and a greater key.
    fn fence(&self, left: Item<'_>, right: &[u8]) -> Vec<u8> {
        if self.leftmost.is_some() {
            return right.to_vec();
        }
        separator(KeyParts { prefix: &[], suffix: left.suffix() }, KeyParts::whole(right))
    }

    /// Returns the contents of the open node up to the item at `end`.
    fn run<'a>(&'a self, end: usize, high: Option<&'a [u8]>) -> NodeRun<'a> {
        let mut items = Items::default();
        items.push(ItemRun::encoded(&[], &self.items[..end]));
        let high = high.map(KeyParts::whole);
        NodeRun {
            level: self.height,
            fences: Fences { low: &self.low, high },
            leftmost: self.leftmost,
            items,
        }
    }

    /// Closes the open node without its last item, which moves to the next node. `low` is the low fence key
    /// of that node.
    fn start_next(&mut self, buffer: NodeBuffer<'f>, next: LidReservation<'f>, low: Vec<u8>) {
        let own = std::mem::replace(&mut self.low, low);
        self.keep(own, buffer, next);
        let first = self.items.split_off(self.last[1]);
        (self.items, self.count, self.last) = (Vec::new(), 0, [0; 2]);
        (self.size, self.kind.prefix) = (Size::default(), 0);
        match &mut self.leftmost {
            // The fence key replaces the item's key.
            Some(leftmost) => *leftmost = Item::read(&first).child(),
            None => self.append(&first),
        }
    }

    fn keep(&mut self, low: Vec<u8>, buffer: NodeBuffer<'f>, next: LidReservation<'f>) {
        let lid = std::mem::replace(&mut self.lid, next);
        self.left = Some(lid.lid());
        self.closed.push(LoadedNode { lid, buffer, low });
    }
}
