//! Loading of pairs that come in the order of their keys: nodes are built from left to right, as full as is
//! asked for, and become visible all at once, at one version.
//!
//! Each level has one node under way. It is closed when one more item would make it too full: then its high
//! fence is known, and with it its prefix. A closed node becomes a child of the node under way above it.
//! Nobody can see any of them, nothing is locked and nothing pinned, until all are put under the root of the
//! tree, which must be empty.
//!
//! What can fail comes before what changes: a pair that found no room can be pushed again.

use std::ops::{Bound, ControlFlow};

use honeycomb_layout::fences;
use honeycomb_memory::{Lid, LidReservation, NodeBuffer, ValueBuffer};

use crate::error::Error;
use crate::forest::{Forest, Root};
use crate::node::builder::Plan;
use crate::node::fences::Fences;
use crate::node::item::{Item, ItemHeader, ValueReference, encode, encode_child};
use crate::node::item_run::{ItemRun, Items, Tally};
use crate::node::key::{KeyParts, separator};
use crate::node::shape::LEAF;
use crate::read::scan::Scan;
use crate::write::divide::{Distribution, NodeRun, divide, log_room};
use crate::write::operation::Operation;
use crate::write::range::KeyRange;
use crate::write::restructure::Edit;
use crate::write::transaction::{Abort, End, Index, WriteTransaction};

/// Pairs on their way into an empty tree. Dropped before [`Loader::finish`], it leaves nothing behind.
pub struct Loader<'f> {
    forest: &'f Forest,
    root: Root,
    fill_percent: usize,
    /// The leaves first.
    levels: Vec<Level<'f>>,
    values: Vec<ValueBuffer<'f>>,
    pairs: u64,
}

/// The nodes of one level.
struct Level<'f> {
    closed: Vec<(LidReservation<'f>, NodeBuffer<'f>)>,
    /// Of the node under way.
    lid: LidReservation<'f>,
    left: Option<Lid>,
    low: Vec<u8>,
    /// Interior nodes only.
    leftmost: Option<Lid>,
    /// Its items, with their whole keys.
    items: Vec<u8>,
    count: usize,
    /// Where its last two items begin.
    last: [usize; 2],
}

impl Forest {
    /// Begins to load pairs into an empty tree, filling its nodes to so many percent, 10 to 100.
    ///
    /// # Errors
    /// [`Error::FillPercent`], [`Error::NotEmpty`]; [`Error::Memory`] if there is no room.
    pub fn loader(&self, root: Root, fill_percent: usize) -> Result<Loader<'_>, Error> {
        if !(10..=100).contains(&fill_percent) {
            return Err(Error::FillPercent { percent: fill_percent });
        }
        // Again when all is loaded; now already, so as not to load all in vain.
        if self.has_pairs(root) {
            return Err(Error::NotEmpty);
        }
        let leaves = Level::new(self.memory().reserve_lid()?, None);
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
    /// How many pairs were pushed.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Adds a pair whose key is greater than all before.
    ///
    /// # Errors
    /// [`Error::NotAscending`], [`Error::KeyLength`], [`Error::ValueLength`]; [`Error::Memory`] if there is
    /// no room. The pair is not added then; the pairs before are.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.forest.check(key, &Operation::Insert(value))?;
        if self.pairs > 0 && key <= self.levels[LEAF].last_item().suffix() {
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

    /// Makes all pairs visible: how many there are.
    ///
    /// # Errors
    /// [`Error::NotEmpty`]: somebody has written to the tree meanwhile. [`Error::Memory`] if there is no room
    /// for the last nodes. Nothing has changed then.
    pub fn finish(mut self) -> Result<u64, Error> {
        let (pairs, mut height) = (self.pairs, LEAF);
        let top = loop {
            if let Some(top) = self.close_last(height)? {
                break top;
            }
            height += 1;
        };
        if pairs > 0 {
            self.publish(top)?;
        }
        Ok(pairs)
    }

    /// Closes the node under way on a level before its last item, if with that it is too full. `next` is the
    /// key that comes after.
    fn close_if_full(&mut self, height: usize, next: &[u8]) -> Result<(), Error> {
        let (level, shape) = (&self.levels[height], self.forest.shape());
        let block = shape.block_bytes(height);
        let goal = (block * self.fill_percent / 100).min(block - log_room(shape, height));
        if level.count < 2 || level.bytes_at_most(next) <= goal {
            return Ok(());
        }
        let high = level.fence(level.last_item(), next);
        if level.run(height, level.items.len(), Some(&high)).bytes() <= goal {
            return Ok(());
        }
        self.close_node(height)
    }

    fn close_node(&mut self, height: usize) -> Result<(), Error> {
        let level = &self.levels[height];
        let high = level.fence(Item::read(&level.items[level.last[0]..]), level.last_item().suffix());
        let next = self.forest.memory().reserve_lid()?;
        let right = (height == LEAF).then(|| next.lid());
        let run = level.run(height, level.last[1], Some(&high));
        let buffer = self.build(&run.plan(level.left, right))?;
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

    /// Adds a child to the node under way on a level.
    fn add_child(&mut self, height: usize, low: &[u8], child: Lid) -> Result<(), Error> {
        if height == self.levels.len() {
            self.levels.push(Level::new(self.forest.memory().reserve_lid()?, Some(child)));
            return Ok(());
        }
        self.close_if_full(height, low)?;
        self.levels[height].append(&encode_child(low, child));
        Ok(())
    }

    /// Closes the last node of a level, or those it must be divided into. If there is but one on the level,
    /// it is the root's buffer.
    fn close_last(&mut self, height: usize) -> Result<Option<NodeBuffer<'f>>, Error> {
        let level = &self.levels[height];
        let run = level.run(height, level.items.len(), None);
        let parts = divide(self.forest.shape(), &run, Distribution::Evenly(1));
        if parts.len() == 1 && level.closed.is_empty() {
            return self.build(&parts[0].plan(height, None, None)).map(Some);
        }
        // One more than is needed, as there always is.
        let next = parts.iter().map(|_| self.forest.memory().reserve_lid()).collect::<Result<Vec<_>, _>>()?;
        let lids: Vec<Lid> = std::iter::once(&level.lid).chain(&next).map(LidReservation::lid).collect();
        let mut built = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let left = index.checked_sub(1).map(|left| lids[left]).or(level.left);
            let right = (index + 1 < parts.len()).then(|| lids[index + 1]);
            let plan = part.plan(height, left, right);
            built.push((part.fences.low.clone(), self.build(&plan)?));
        }
        drop((parts, run));
        for ((low, buffer), next) in built.into_iter().zip(next) {
            self.add_child(height + 1, &low, self.levels[height].lid.lid())?;
            self.levels[height].keep(buffer, next);
        }
        Ok(None)
    }

    /// Puts the nodes in the place of the empty tree.
    fn publish(self, top: NodeBuffer<'f>) -> Result<(), Error> {
        let (forest, root, mut loaded) = (self.forest, self.root, Some((self, top)));
        for attempt in 0.. {
            let pin = forest.memory().pin();
            let published = forest.attempt(&pin, |transaction| {
                let index = transaction.lock_empty_tree(root)?;
                let (loader, top) = loaded.take().expect("nothing stops who holds the empty tree");
                loader.move_into(transaction);
                transaction.replace(index, top);
                Ok(End::Commit(()))
            });
            drop(pin);
            match published {
                Ok(_) => break,
                Err(stop) => forest.retry(stop, attempt)?,
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

impl<'f> Level<'f> {
    fn new(lid: LidReservation<'f>, leftmost: Option<Lid>) -> Self {
        let (low, items) = (Vec::new(), Vec::new());
        Self { closed: Vec::new(), lid, left: None, low, leftmost, items, count: 0, last: [0; 2] }
    }

    fn append(&mut self, item: &[u8]) {
        self.last = [self.last[1], self.items.len()];
        self.items.extend_from_slice(item);
        self.count += 1;
    }

    fn last_item(&self) -> Item<'_> {
        Item::read(&self.items[self.last[1]..])
    }

    /// No fewer bytes than the sorted block takes if `next` is the next key.
    fn bytes_at_most(&self, next: &[u8]) -> usize {
        fences::SIZE + self.low.len() + next.len() + self.items.len()
    }

    /// The fence key between an item and a key after it.
    fn fence(&self, left: Item<'_>, right: &[u8]) -> Vec<u8> {
        let whole = |suffix| KeyParts { prefix: &[], suffix };
        if self.leftmost.is_some() { right.to_vec() } else { separator(whole(left.suffix()), whole(right)) }
    }

    /// What the node under way holds up to the item at `end`.
    fn run<'a>(&'a self, height: usize, end: usize, high: Option<&'a [u8]>) -> NodeRun<'a> {
        let mut items = Items::default();
        items.push(ItemRun::new(&[], &self.items[..end]));
        items.tally = Tally::new(self.count - usize::from(end < self.items.len()), &[]);
        let high = high.map(|suffix| KeyParts { prefix: &[], suffix });
        NodeRun { level: height, fences: Fences { low: &self.low, high }, leftmost: self.leftmost, items }
    }

    /// Keeps a node that is closed, and goes on with its last item in the next one, whose low fence is `low`.
    fn start_next(&mut self, buffer: NodeBuffer<'f>, next: LidReservation<'f>, low: Vec<u8>) {
        self.keep(buffer, next);
        self.low = low;
        let first = self.items.split_off(self.last[1]);
        (self.items, self.count, self.last) = (Vec::new(), 0, [0; 2]);
        match &mut self.leftmost {
            // Its key is the fence.
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
    /// Locks the root of a tree without pairs, and takes away all that is under it.
    fn lock_empty_tree(&mut self, root: Root) -> Result<Index, Abort> {
        let all = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
        if self.delete_range(root, all.lower, all.upper)? > 0 {
            return Err(Abort::Failed(Error::NotEmpty));
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
