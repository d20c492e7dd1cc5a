//! Bulk load: builds a tree from pairs in key order. Nodes are built from left to right, filled to a given
//! percentage, and become visible together at one version.
//!
//! Each level has one open node. It is closed when the next item would exceed the fill factor; only then its
//! high fence key and thus its prefix are known. A closed node becomes a child of the open node one level
//! above. The load holds no lock and no pin, and no other thread sees its nodes, until it puts all of them
//! under the root of the tree, which must be empty.
//!
//! Each step allocates before it changes anything, so a pair that failed for lack of memory can be pushed
//! again.

use std::ops::{Bound, ControlFlow};

use honeycomb_log::Changes;
use honeycomb_memory::{Lid, LidReservation, NodeBuffer, ValueBuffer};

use crate::error::Error;
use crate::forest::{Forest, Root};
use crate::node::fences::Fences;
use crate::node::item::{Item, ItemHeader, ValueReference, encode, encode_child};
use crate::node::item_run::{ItemRun, Items};
use crate::node::key::{prefix_length, separator};
use crate::node::plan::Plan;
use crate::node::shape::{Geometry, LEAF};
use crate::node::size::{NodeKind, Size};
use crate::node::suffix::KeyParts;
use crate::read::scan::Scan;
use crate::write::divide::{Distribution, NodeRun, divide, log_room};
use crate::write::operation::Operation;
use crate::write::range::KeyRange;
use crate::write::restructure::Edit;
use crate::write::transaction::{Abort, End, NodeIndex, WriteTransaction};

/// A bulk load into an empty tree. Dropping it before [`Loader::finish`] discards all its pairs.
pub struct Loader<'f> {
    forest: &'f Forest,
    root: Root,
    fill_percent: usize,
    /// All levels, leaves first.
    levels: Vec<LevelBuilder<'f>>,
    values: Vec<ValueBuffer<'f>>,
    pairs: u64,
}

/// The nodes of one level.
struct LevelBuilder<'f> {
    closed: Vec<(LidReservation<'f>, NodeBuffer<'f>)>,
    /// The LID of the open node.
    lid: LidReservation<'f>,
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

impl Forest {
    /// Starts a bulk load into an empty tree. It fills nodes to `fill_percent`, 10 to 100.
    ///
    /// # Errors
    /// [`Error::FillPercent`], [`Error::NotEmpty`]; [`Error::Memory`] if the arena is full.
    pub fn loader(&self, root: Root, fill_percent: usize) -> Result<Loader<'_>, Error> {
        if !(10..=100).contains(&fill_percent) {
            return Err(Error::FillPercent { percent: fill_percent });
        }
        // `publish` checks this again. The check here avoids a load that is bound to fail.
        if self.has_pairs(root) {
            return Err(Error::NotEmpty);
        }
        let leaves = LevelBuilder::new(self.geometry(), LEAF, self.memory().reserve_lid()?, None);
        Ok(Loader { forest: self, root, fill_percent, levels: vec![leaves], values: Vec::new(), pairs: 0 })
    }

    fn has_pairs(&self, root: Root) -> bool {
        let mut found = false;
        self.reader().scan(root, &Scan { limit: 1, ..Scan::default() }, |_| {
            found = true;
            ControlFlow::Break(())
        });
        found
    }
}

impl<'f> Loader<'f> {
    /// Returns the number of pairs pushed.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Adds a pair, whose key must be greater than all earlier keys.
    ///
    /// # Errors
    /// [`Error::NotAscending`], [`Error::KeyLength`], [`Error::ValueLength`]; [`Error::Memory`] if the arena
    /// is full. An error rejects only this pair; earlier pairs stay in the load.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.forest.check(key, &Operation::Insert(value))?;
        if self.pairs > 0 && self.levels[LEAF].last_item().suffix().compare(key).is_ge() {
            return Err(Error::NotAscending { position: self.pairs });
        }
        self.close_if_full(LEAF, key)?;
        if !self.forest.is_overflow(value.len()) {
            self.levels[LEAF].append(&encode(ItemHeader::new(key.len(), value.len()), key, value));
        } else {
            let value = self.forest.memory().allocate_value(value)?;
            let reference = ValueReference { address: value.address(), length: value.len() }.to_bytes();
            let header = ItemHeader::new(key.len(), reference.len()).with_overflow(true);
            self.levels[LEAF].append(&encode(header, key, &reference));
            self.values.push(value);
        }
        self.pairs += 1;
        Ok(())
    }

    /// Makes all pairs visible and returns their number.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if another thread has written to the tree; [`Error::Memory`] if there is no memory
    /// for the last nodes. The tree is unchanged then.
    pub fn finish(self) -> Result<u64, Error> {
        self.finish_with(&Changes::default())
    }

    /// Like [`Loader::finish`], and passes `changes` to the journal of the forest, at the version of the
    /// pairs.
    ///
    /// # Errors
    /// Those of [`Loader::finish`].
    pub fn finish_with(mut self, changes: &Changes) -> Result<u64, Error> {
        let (pairs, mut height) = (self.pairs, LEAF);
        let top = loop {
            if let Some(top) = self.close_last(height)? {
                break top;
            }
            height += 1;
        };
        if pairs > 0 {
            self.publish(top, changes)?;
        }
        Ok(pairs)
    }

    /// Closes the open node of a level before its last item if it is too full with that item. `next` is the
    /// key of the next item.
    fn close_if_full(&mut self, height: usize, next: &[u8]) -> Result<(), Error> {
        let (level, shape) = (&mut self.levels[height], self.forest.shape());
        let block = shape.block_bytes(height);
        let goal = (block * self.fill_percent / 100).min(block - log_room(shape, height));
        if level.count < 2 || level.bytes_at_most(next) <= goal || level.bytes_before(next) <= goal {
            return Ok(());
        }
        self.close_node(height)
    }

    fn close_node(&mut self, height: usize) -> Result<(), Error> {
        let level = &self.levels[height];
        let last = level.last_item().suffix().to_bytes();
        let high = level.fence(Item::read(&level.items[level.last[0]..]), &last);
        let next = self.forest.memory().reserve_lid()?;
        let right = (height == LEAF).then(|| next.lid());
        let run = level.run(height, level.last[1], Some(&high));
        let buffer = self.build(&run.plan(self.forest.shape(), level.left, right))?;
        let (low, lid) = (level.low.clone(), level.lid.lid());
        self.add_child(height + 1, &low, lid)?;
        self.levels[height].start_next(buffer, next, high);
        Ok(())
    }

    fn build(&self, plan: &Plan<'_>) -> Result<NodeBuffer<'f>, Error> {
        let mut buffer = self.forest.memory().allocate_node()?;
        plan.build(self.forest.shape(), &mut buffer);
        Ok(buffer)
    }

    /// Adds a child to the open node of a level.
    fn add_child(&mut self, height: usize, low: &[u8], child: Lid) -> Result<(), Error> {
        if height == self.levels.len() {
            let lid = self.forest.memory().reserve_lid()?;
            self.levels.push(LevelBuilder::new(self.forest.geometry(), height, lid, Some(child)));
            return Ok(());
        }
        self.close_if_full(height, low)?;
        self.levels[height].append(&encode_child(low, child));
        Ok(())
    }

    /// Closes the last node of a level, divided into several nodes if it is too large. If it is the only node
    /// of its level, returns its buffer, which becomes the buffer of the root.
    fn close_last(&mut self, height: usize) -> Result<Option<NodeBuffer<'f>>, Error> {
        let level = &self.levels[height];
        let run = level.run(height, level.items.len(), None);
        let shape = self.forest.shape();
        let parts = divide(shape, &run, Distribution::Evenly(1));
        if parts.len() == 1 && level.closed.is_empty() {
            return self.build(&parts[0].plan(None, None)).map(Some);
        }
        // Each closed node needs a LID for its successor, including the last one.
        let next = parts.iter().map(|_| self.forest.memory().reserve_lid()).collect::<Result<Vec<_>, _>>()?;
        let lids: Vec<Lid> = std::iter::once(&level.lid).chain(&next).map(LidReservation::lid).collect();
        let mut built = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let left = index.checked_sub(1).map(|left| lids[left]).or(level.left);
            let right = (index + 1 < parts.len()).then(|| lids[index + 1]);
            let plan = part.plan(left, right);
            built.push((part.fences.low.clone(), self.build(&plan)?));
        }
        drop((parts, run));
        for ((low, buffer), next) in built.into_iter().zip(next) {
            self.add_child(height + 1, &low, self.levels[height].lid.lid())?;
            self.levels[height].keep(buffer, next);
        }
        Ok(None)
    }

    /// Replaces the empty tree by the nodes of the load.
    fn publish(self, top: NodeBuffer<'f>, changes: &Changes) -> Result<(), Error> {
        let (forest, root, mut loaded) = (self.forest, self.root, Some((self, top)));
        for attempt in 0.. {
            let pin = forest.memory().pin();
            let published = forest.attempt(&pin, |transaction| {
                let index = transaction.lock_empty_tree(root)?;
                let (loader, top) =
                    loaded.take().expect("after the lock of the empty tree the attempt cannot fail");
                loader.move_into(transaction);
                transaction.replace(index, top);
                transaction.log_changes(changes);
                Ok(End::Commit(()))
            });
            drop(pin);
            match published {
                Ok(_) => break,
                Err(abort) => forest.retry(abort, attempt)?,
            }
        }
        Ok(())
    }

    fn move_into<'t>(self, transaction: &mut WriteTransaction<'t>)
    where
        'f: 't,
    {
        for (lid, buffer) in self.levels.into_iter().flat_map(|level| level.closed) {
            transaction.create(buffer, lid);
        }
        self.values.into_iter().for_each(|value| transaction.keep_value(value));
    }
}

impl<'f> LevelBuilder<'f> {
    fn new(geometry: Geometry, level: usize, lid: LidReservation<'f>, leftmost: Option<Lid>) -> Self {
        let (low, items) = (Vec::new(), Vec::new());
        let (kind, size) = (NodeKind { geometry: geometry.at(level), level, prefix: 0 }, Size::default());
        Self { closed: Vec::new(), lid, left: None, low, leftmost, items, count: 0, kind, size, last: [0; 2] }
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
    fn run<'a>(&'a self, height: usize, end: usize, high: Option<&'a [u8]>) -> NodeRun<'a> {
        let mut items = Items::default();
        items.push(ItemRun::encoded(&[], &self.items[..end]));
        let high = high.map(KeyParts::whole);
        NodeRun { level: height, fences: Fences { low: &self.low, high }, leftmost: self.leftmost, items }
    }

    /// Closes the open node without its last item, which moves to the next node. `low` is the low fence key
    /// of that node.
    fn start_next(&mut self, buffer: NodeBuffer<'f>, next: LidReservation<'f>, low: Vec<u8>) {
        self.keep(buffer, next);
        self.low = low;
        let first = self.items.split_off(self.last[1]);
        (self.items, self.count, self.last) = (Vec::new(), 0, [0; 2]);
        (self.size, self.kind.prefix) = (Size::default(), 0);
        match &mut self.leftmost {
            // The fence key replaces the item's key.
            Some(leftmost) => *leftmost = Item::read(&first).child(),
            None => self.append(&first),
        }
    }

    fn keep(&mut self, buffer: NodeBuffer<'f>, next: LidReservation<'f>) {
        let lid = std::mem::replace(&mut self.lid, next);
        self.left = Some(lid.lid());
        self.closed.push((lid, buffer));
    }
}

impl WriteTransaction<'_> {
    /// Locks the root of a tree without pairs and removes all nodes below it.
    fn lock_empty_tree(&mut self, root: Root) -> Result<NodeIndex, Abort> {
        let all = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
        if self.delete_range(root, all.lower, all.upper)? > 0 {
            return Err(Error::NotEmpty.into());
        }
        let top = self.lock(root.lid())?;
        if !self.view(top).is_leaf() {
            let first = self.lock_leaf(root, all.first_leaf())?;
            let last = self.lock_leaf(root, all.last_leaf())?;
            self.rebuild(root, first, last, Edit::Remove(all))?;
        }
        Ok(top)
    }
}
