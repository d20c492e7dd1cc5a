//! Writes: one operation, as it is carried out alone and in a batch.
//!
//! A writer goes down without locks, locks the leaf, and searches it under the lock. A leaf whose lock it got
//! is current and holds every key routed to its LID, however old the way there was: a LID's key range never
//! changes.

use std::ops::Bound;

use honeycomb_memory::{Lid, Pin, Retired, Version};

use crate::error::Error;
use crate::forest::{Forest, Root};
use crate::node::item::{Item, ItemHeader, ValueReference, encode};
use crate::node::item_run::Change;
use crate::node::key::SearchKey;
use crate::node::live::Live;
use crate::node::log::find_in_log;
use crate::node::log_entry::{LogEntry, NewEntry, NewItem};
use crate::node::view::View;
use crate::read::descent::Target;
use crate::read::reader::{LeafPosition, child_toward};
use crate::read::search::{find_segment, lower_bound_in};
use crate::write::operation::{BatchOperation, Decision, Operation, Outcome, StoredValue, decide};
use crate::write::restructure::Edit;
use crate::write::sparse::{Shrunk, SparseLeaf, becomes_sparse};
use crate::write::transaction::{Abort, End, Index, WriteTransaction};

impl Forest {
    /// Carries out one operation and returns when every new reader sees it.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ValueLength`]; [`Error::Memory`] if there is no room. Nothing has
    /// changed then.
    pub fn write(&self, root: Root, key: &[u8], operation: Operation<'_>) -> Result<Outcome, Error> {
        self.write_versioned(root, key, operation).map(|(outcome, _)| outcome)
    }

    /// As [`Forest::write`], with the write's version: 0 if nothing was written, or without MVCC.
    ///
    /// # Errors
    /// As [`Forest::write`].
    pub fn write_versioned(
        &self,
        root: Root,
        key: &[u8],
        operation: Operation<'_>,
    ) -> Result<(Outcome, Version), Error> {
        self.check(key, &operation)?;
        self.transact(|transaction| {
            let leaf = transaction.lock_leaf(root, LeafPosition::Key(key))?;
            let outcome = transaction.apply(root, LeafLocation::at(leaf), key, &operation)?;
            Ok(if outcome.wrote() { End::Commit(outcome) } else { End::RollBack(outcome) })
        })
    }

    /// Removes every pair in a range, at one version, and says how many there were.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is no room for the new nodes at the range's ends. Nothing has changed then.
    pub fn delete_range(&self, root: Root, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<u64, Error> {
        self.delete_range_versioned(root, lower, upper).map(|(count, _)| count)
    }

    /// As [`Forest::delete_range`], with the version of the deletion: 0 if there was nothing to delete, or
    /// without MVCC.
    ///
    /// # Errors
    /// As [`Forest::delete_range`].
    pub fn delete_range_versioned(
        &self,
        root: Root,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<(u64, Version), Error> {
        self.transact(|transaction| {
            Ok(match transaction.delete_range(root, lower, upper)? {
                0 => End::RollBack(0),
                count => End::Commit(count),
            })
        })
    }

    /// Removes a tree and all in it. Nobody may use its root afterwards.
    ///
    /// # Errors
    /// As [`Forest::delete_range`].
    pub fn drop_tree(&self, root: Root) -> Result<(), Error> {
        self.transact(|transaction| transaction.drop_tree(root).map(End::Commit)).map(|(done, _)| done)
    }

    pub(crate) fn check(&self, key: &[u8], operation: &Operation<'_>) -> Result<(), Error> {
        self.check_key(key)?;
        operation.value().map_or(Ok(()), |value| self.check_value(value))
    }

    /// Runs a transaction, from the beginning as often as another writer is in the way.
    pub(crate) fn transact<T>(
        &self,
        mut run: impl FnMut(&mut WriteTransaction<'_>) -> Result<End<T>, Abort>,
    ) -> Result<(T, Version), Error> {
        for attempt in 0.. {
            // Its pin is over when its leaves are tended.
            let attempted = self.attempt(&self.memory().pin(), &mut run);
            match attempted {
                Ok((result, version, shrunk)) => {
                    if let Some(shrunk) = shrunk {
                        self.compact_sparse_leaves(*shrunk);
                    }
                    return Ok((result, version));
                }
                Err(stop) => self.retry(stop, attempt)?,
            }
        }
        unreachable!("attempts have no end")
    }

    /// Waits a little if another writer was in the way of an attempt.
    pub(crate) fn retry(&self, stop: Abort, attempt: u32) -> Result<(), Error> {
        match stop {
            Abort::Failed(error) => Err(error),
            Abort::Conflict => {
                self.counters.restarts.add(1);
                back_off(attempt);
                Ok(())
            }
        }
    }

    /// Runs a transaction once. What it took from leaves is to be tended once the pin is over.
    pub(crate) fn attempt<'f, T>(
        &'f self,
        pin: &'f Pin<'f>,
        run: impl FnOnce(&mut WriteTransaction<'f>) -> Result<End<T>, Abort>,
    ) -> Result<(T, Version, Option<Box<Shrunk>>), Abort> {
        let mut transaction = WriteTransaction::new(self, pin);
        match run(&mut transaction)? {
            End::Commit(result) => Ok((result, transaction.commit(), transaction.take_shrunk())),
            End::RollBack(result) => {
                transaction.roll_back();
                Ok((result, 0, None))
            }
        }
    }
}

/// Waits a little, longer each time, so that the writer in the way gets on.
fn back_off(attempt: u32) {
    if attempt < 4 {
        (0..16 << attempt).for_each(|_| honeycomb_memory::sync::hint::spin_loop());
    } else {
        honeycomb_memory::sync::thread::yield_now();
    }
}

/// A pair as a writer finds it in a leaf.
struct Existing<'a> {
    item: Item<'a>,
    version: Version,
}

/// Where a key is in a leaf: in its sorted block, in its log, in the order of its log.
struct KeyLookup<'a> {
    back_pointer: usize,
    /// Whether the sorted item at the back pointer has the key.
    replaces: bool,
    /// Whether a log entry has the key.
    repeats: bool,
    order_hint: usize,
    existing: Option<Existing<'a>>,
}

/// Looks a key up; in its segment, if that is known.
#[inline]
fn look_up<'a>(leaf: View<'a>, suffix: &[u8], segment: Option<usize>) -> KeyLookup<'a> {
    let search_key = SearchKey::new(suffix);
    let segment = segment.unwrap_or_else(|| find_segment(leaf, &search_key));
    let place = lower_bound_in(leaf, &search_key, segment);
    let log = find_in_log(leaf, &search_key, place.offset);
    let node_version = leaf.node_version();
    let sorted = place.found.then(|| Existing { item: leaf.item(place.offset), version: node_version });
    let newest = |entry: LogEntry<'a>| Existing { item: entry.item, version: entry.version(node_version) };
    let repeats = log.newest.is_some();
    let existing = log.newest.map(newest).or(sorted).filter(|existing| !existing.item.header.tombstone());
    KeyLookup { back_pointer: place.offset, replaces: place.found, repeats, order_hint: log.rank, existing }
}

/// The leaf of a key, held, and the key's segment there if that is known.
pub(crate) struct LeafLocation {
    leaf: Index,
    segment: Option<usize>,
}

impl LeafLocation {
    pub(crate) fn at(leaf: Index) -> Self {
        Self { leaf, segment: None }
    }
}

impl<'f> WriteTransaction<'f> {
    /// Carries out one operation in the leaf of its key.
    pub(crate) fn apply(
        &mut self,
        root: Root,
        LeafLocation { leaf, segment }: LeafLocation,
        key: &[u8],
        operation: &Operation<'_>,
    ) -> Result<Outcome, Abort> {
        let view = self.view(leaf);
        if segment.is_none() {
            // A writer looks at all of the log: it comes while the key's segment is being found.
            view.prefetch(view.sorted_end(), view.size());
        }
        let suffix = &key[view.prefix_length()..];
        let found = look_up(view, suffix, segment);
        let superseded = found.existing.as_ref().and_then(|existing| existing.item.reference());
        let existing_bytes = found.existing.as_ref().map_or(0, |existing| existing.item.bytes.len());
        let existing =
            found.existing.as_ref().map(|existing| (self.value_of(existing.item), existing.version));
        let (stored, outcome) = match decide(operation, existing) {
            Decision::Keep(outcome) => return Ok(outcome),
            Decision::Remove => (None, Outcome::Deleted),
            Decision::Store(value, outcome) => (Some(value), outcome),
        };
        let KeyLookup { back_pointer, order_hint, replaces, repeats, .. } = found;
        let is_last = order_hint == view.log_count() && back_pointer == view.sorted_end();
        let room = self.log_room(view);
        if self.must_commit()
            && (superseded.is_some() || stored.as_ref().is_some_and(|value| self.is_long(value)))
        {
            return Err(Abort::Conflict);
        }
        let stored = match stored {
            Some(value) if self.is_long(&value) => Some(self.overflow(&value)?),
            stored => stored,
        };
        let value = stored.as_ref().map_or(&[][..], StoredValue::bytes);
        let header = ItemHeader::new(suffix.len(), value.len())
            .with_tombstone(stored.is_none())
            .with_overflow(matches!(stored, Some(StoredValue::Reference(_))))
            .with_place(replaces, repeats);
        let live = if header.tombstone() { 0 } else { header.item_bytes() };
        let shrunk = existing_bytes.checked_sub(live).filter(|&bytes| bytes > 0);
        let shrunk = shrunk.map(|bytes| (bytes, self.becomes_sparse(root, leaf, bytes)));
        let entry = NewEntry { back_pointer, order_hint, item: NewItem { header, suffix, value } };
        if superseded.is_none() && entry.bytes() <= room {
            self.append(leaf, &entry);
        } else {
            // A superseded out-of-line value goes at once: a log full of them would pin memory.
            if let Some(reference) = superseded {
                self.retire(Retired::Value(reference.address, reference.length));
            }
            let item = encode(header, suffix, value);
            let change = Change { is_last, back_pointer, item: &item };
            self.rebuild(root, leaf, leaf, Edit::Change(leaf, &change))?;
        }
        if let Some((bytes, sparse)) = shrunk {
            self.note_shrunk(bytes, sparse);
        }
        Ok(outcome)
    }

    /// What an operation on a key would come to in the leaf of the key, if it were carried out.
    pub(crate) fn decide<'a>(&self, leaf: Index, key: &[u8], operation: &Operation<'a>) -> Decision<'a> {
        let view = self.view(leaf);
        let existing = look_up(view, &key[view.prefix_length()..], None).existing;
        decide(operation, existing.map(|existing| (self.value_of(existing.item), existing.version)))
    }

    /// The leaf, if it is to be tended for losing so many of its live bytes.
    #[cold]
    fn becomes_sparse(&self, root: Root, leaf: Index, bytes: usize) -> Option<SparseLeaf> {
        let leaf = self.view(leaf);
        let before = Live::of(leaf).item_bytes(leaf);
        let is_sparse = becomes_sparse(self.forest.shape(), before, before - bytes);
        is_sparse.then(|| (root, leaf.low_fence().to_vec()))
    }

    /// The bytes of an item's value, wherever they are.
    #[inline]
    fn value_of<'a>(&'a self, item: Item<'a>) -> &'a [u8] {
        item.reference().map_or(item.value(), |reference| self.value(reference))
    }

    /// Whether a value is too long for an item.
    fn is_long(&self, value: &StoredValue<'_>) -> bool {
        self.forest.is_overflow(value.bytes().len())
    }

    /// Puts a value into a buffer of its own.
    fn overflow(&mut self, stored: &StoredValue<'_>) -> Result<StoredValue<'static>, Abort> {
        let value = self.forest.memory().allocate_value(stored.bytes())?;
        let reference = ValueReference { address: value.address(), length: value.len() };
        self.keep_value(value);
        Ok(StoredValue::Reference(reference.to_bytes()))
    }

    /// Carries out one operation in the leaf that its key was found to be routed to, under the pin of this
    /// transaction.
    pub(crate) fn write_target(
        &mut self,
        target: Target<'_>,
        BatchOperation { root, key, operation }: &BatchOperation<'_>,
    ) -> Result<Outcome, Abort> {
        let leaf = self.lock_target(*root, target)?;
        self.apply(*root, leaf, key, operation)
    }

    /// Locks a leaf that was found.
    fn lock_target(&mut self, root: Root, target: Target<'_>) -> Result<LeafLocation, Abort> {
        let index = self.lock_mapped(target.lid)?;
        let leaf = self.as_leaf(root, index)?;
        if self.is_removed(leaf) {
            return Err(Abort::Conflict);
        }
        // The sorted block of a buffer does not change.
        let segment = self.is_in_place(leaf, target.buffer).then_some(target.segment);
        Ok(LeafLocation { leaf, segment })
    }

    /// A node of a tree that was found under the pin of this transaction and is held now, if it is a leaf.
    #[inline]
    fn as_leaf(&self, root: Root, index: Index) -> Result<Index, Abort> {
        // The root can grow between the look and the lock; no other LID changes its level.
        if self.lid(index) != root.0 || self.view(index).is_leaf() { Ok(index) } else { Err(Abort::Conflict) }
    }

    /// Goes down to a leaf and locks it.
    pub(crate) fn lock_leaf(&mut self, root: Root, toward: LeafPosition<'_>) -> Result<Index, Abort> {
        let (top, lid) = (self.view_of(root.0), root.0);
        let lid = if self.has_nodes() {
            leaf_toward(lid, top, toward, |lid| self.view_of(lid))
        } else {
            leaf_toward(lid, top, toward, |lid| self.view_ahead(lid))
        };
        let index = self.lock(lid)?;
        self.as_leaf(root, index)
    }
}

/// The leaf on the way down from a node.
#[inline(always)]
fn leaf_toward<'a>(
    mut lid: Lid,
    mut view: View<'a>,
    toward: LeafPosition<'_>,
    view_of: impl Fn(Lid) -> View<'a>,
) -> Lid {
    while !view.is_leaf() {
        lid = child_toward(view, toward).1;
        view = view_of(lid);
    }
    lid
}
