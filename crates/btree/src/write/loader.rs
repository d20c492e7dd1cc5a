//! Bulk load: builds a tree from pairs in key order. The leaves are built first, then each level of interior
//! nodes, and all nodes become visible together at one version.
//!
//! Threads can build the leaves of adjacent ranges of keys in parts, which a load takes in the order of their
//! keys. The load holds no lock and no pin, and no other thread sees its nodes, until it puts all of them
//! under the root of the tree, which must be empty.
//!
//! Each step allocates before it changes anything, so a pair that failed for lack of memory can be pushed
//! again.

use std::mem;
use std::ops::{Bound, ControlFlow};

use honeycomb_log::Changes;
use honeycomb_memory::ValueBuffer;

use crate::error::Error;
use crate::forest::{Forest, Root};
use crate::node::item::{ItemHeader, ValueReference, encode};
use crate::node::shape::LEAF;
use crate::read::scan::Scan;
use crate::write::level::{Level, LoadedNode};
use crate::write::operation::Operation;
use crate::write::range::KeyRange;
use crate::write::restructure::Edit;
use crate::write::transaction::{Abort, End, NodeIndex, WriteTransaction};

/// A bulk load into an empty tree. Dropping it before [`Loader::finish`] discards all its pairs.
pub struct Loader<'f> {
    root: Root,
    /// The nodes and overflow values of the parts before the last one, and the number of their pairs.
    nodes: Vec<LoadedNode<'f>>,
    values: Vec<ValueBuffer<'f>>,
    pairs: u64,
    last: LoaderPart<'f>,
}

/// The pairs of a bulk load in a range of keys. A thread can build it while others build other parts.
pub struct LoaderPart<'f> {
    forest: &'f Forest,
    fill_percent: usize,
    leaves: Level<'f>,
    values: Vec<ValueBuffer<'f>>,
    pairs: u64,
}

impl Forest {
    /// Starts a bulk load into an empty tree. It fills nodes to `fill_percent`, 10 to 100.
    ///
    /// # Errors
    /// [`Error::FillPercent`], [`Error::NotEmpty`]; [`Error::Memory`] if the arena is full.
    pub fn loader(&self, root: Root, fill_percent: usize) -> Result<Loader<'_>, Error> {
        // `publish` checks this again. The check here avoids a load that is bound to fail.
        if self.has_pairs(root) {
            return Err(Error::NotEmpty);
        }
        let last = self.loader_part(&[], fill_percent)?;
        Ok(Loader { root, nodes: Vec::new(), values: Vec::new(), pairs: 0, last })
    }

    /// Starts a part of a bulk load, with the keys at or above `low`. [`Loader::append`] adds it to a load.
    ///
    /// # Errors
    /// [`Error::FillPercent`]; [`Error::Memory`] if the arena is full.
    pub fn loader_part(&self, low: &[u8], fill_percent: usize) -> Result<LoaderPart<'_>, Error> {
        if !(10..=100).contains(&fill_percent) {
            return Err(Error::FillPercent { percent: fill_percent });
        }
        let leaves = Level::leaves(self, fill_percent, low.to_vec())?;
        Ok(LoaderPart { forest: self, fill_percent, leaves, values: Vec::new(), pairs: 0 })
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

impl<'f> LoaderPart<'f> {
    /// Returns the number of pairs pushed.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Adds a pair, whose key must be greater than all earlier keys, and not less than the low key of the
    /// part.
    ///
    /// # Errors
    /// [`Error::NotAscending`] with the position in this part, [`Error::KeyLength`], [`Error::ValueLength`];
    /// [`Error::Memory`] if the arena is full. An error rejects only this pair; earlier pairs stay in the
    /// part.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.forest.check(key, &Operation::Insert(value))?;
        if !self.leaves.ascends_to(key) {
            return Err(Error::NotAscending { position: self.pairs });
        }
        if !self.forest.is_overflow(value.len()) {
            self.leaves.add(key, &encode(ItemHeader::new(key.len(), value.len()), key, value))?;
        } else {
            let value = self.forest.memory().allocate_value(value)?;
            let reference = ValueReference { address: value.address(), length: value.len() }.to_bytes();
            let header = ItemHeader::new(key.len(), reference.len()).with_overflow(true);
            self.leaves.add(key, &encode(header, key, &reference))?;
            self.values.push(value);
        }
        self.pairs += 1;
        Ok(())
    }
}

impl<'f> Loader<'f> {
    /// Returns the number of pairs pushed, including those of all parts.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.pairs + self.last.pairs
    }

    /// Adds a pair, whose key must be greater than all earlier keys.
    ///
    /// # Errors
    /// Those of [`LoaderPart::push`].
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let pushed = self.last.push(key, value);
        pushed.map_err(|error| match error {
            Error::NotAscending { position } => Error::NotAscending { position: self.pairs + position },
            other => other,
        })
    }

    /// Adds the pairs of a part, which follow all earlier pairs. The load is left without the part after an
    /// error, but can be continued.
    ///
    /// # Errors
    /// [`Error::NotAscending`] if its low key is not greater than all earlier keys, or if there are none and
    /// the low key is not empty; [`Error::Memory`] if the arena is full.
    pub fn append(&mut self, mut part: LoaderPart<'f>) -> Result<(), Error> {
        if part.pairs == 0 {
            return Ok(());
        }
        let is_next = if self.pairs() == 0 {
            part.leaves.low().is_empty()
        } else {
            self.last.leaves.ascends_to(part.leaves.low())
        };
        if !is_next {
            return Err(Error::NotAscending { position: self.pairs() });
        }
        if self.pairs() > 0 {
            self.nodes.extend(self.last.leaves.end_before(&mut part.leaves)?);
        }
        let before = mem::replace(&mut self.last, part);
        self.pairs += before.pairs;
        self.values.extend(before.values);
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
    pub fn finish_with(self, changes: &Changes) -> Result<u64, Error> {
        let (pairs, root) = (self.pairs(), self.root);
        let LoaderPart { forest, fill_percent, leaves, values, .. } = self.last;
        if pairs == 0 {
            return Ok(0);
        }
        let mut tree = LoadedTree { below: Vec::new(), level: self.nodes, values: self.values };
        tree.level.extend(leaves.end()?);
        tree.values.extend(values);
        for height in LEAF + 1.. {
            if tree.level.len() == 1 {
                break;
            }
            let parents = Level::parents(forest, (height, fill_percent), &tree.level)?;
            tree.below.extend(mem::replace(&mut tree.level, parents));
        }
        tree.publish(forest, root, changes)?;
        Ok(pairs)
    }
}

/// The nodes and overflow values of a tree that is not published.
struct LoadedTree<'f> {
    below: Vec<LoadedNode<'f>>,
    /// The nodes of the highest level so far.
    level: Vec<LoadedNode<'f>>,
    values: Vec<ValueBuffer<'f>>,
}

impl<'f> LoadedTree<'f> {
    /// Replaces an empty tree by this one, which has one node in its highest level.
    fn publish(mut self, forest: &'f Forest, root: Root, changes: &Changes) -> Result<(), Error> {
        let top = self.level.pop().expect("a level has a node").buffer;
        let mut loaded = Some((self, top));
        for attempt in 0.. {
            let pin = forest.memory().pin();
            let published = forest.attempt(&pin, |transaction| {
                let index = transaction.lock_empty_tree(root)?;
                let (tree, top) =
                    loaded.take().expect("after the lock of the empty tree the attempt cannot fail");
                tree.move_into(transaction);
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
        for LoadedNode { buffer, lid, .. } in self.below {
            transaction.create(buffer, lid);
        }
        self.values.into_iter().for_each(|value| transaction.keep_value(value));
    }
}

impl WriteTransaction<'_> {
    /// Locks the root of a tree without pairs and removes all nodes below it.
    fn lock_empty_tree(&mut self, root: Root) -> Result<NodeIndex, Abort> {
        let all = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
        if self.remove_range(root, all, &mut None)? > 0 {
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
