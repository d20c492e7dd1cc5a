//! Execution of single operations, alone and in a batch.
//!
//! A writer descends without locks, locks the leaf, and searches it under the lock. A leaf that a writer has
//! locked is current, and contains every key that is routed to its LID, even if the descent used old nodes:
//! the key range of a LID never changes.

use std::ops::Bound;

use honeycomb_memory::{AnyPin, Lid, Pin, Retired, Version};

use crate::error::Error;
use crate::forest::{Forest, Root};
use crate::node::consolidation::Change;
use crate::node::item::{Item, ItemHeader, ValueReference};
use crate::node::key::SearchKey;
use crate::node::live::Live;
use crate::node::log::find_in_log;
use crate::node::log_entry::{LogEntry, NewEntry, NewItem, entry_bytes_for};
use crate::node::search::{Near, lower_bound, lower_bound_in};
use crate::node::view::View;
use crate::read::descent::{KeyPlace, Target};
use crate::read::reader::{LeafPosition, child_toward};
use crate::write::operation::{BatchOperation, Decision, Operation, Outcome, StoredValue, decide};
use crate::write::restructure::Edit;
use crate::write::sparse::{Shrunk, SparseLeaf, becomes_sparse};
use crate::write::transaction::{Abort, End, NodeIndex, WriteTransaction};

impl Forest {
    /// Executes one operation and returns when every new reader sees its effect.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ValueLength`]; [`Error::Memory`] if the arena is full. A failed
    /// operation has changed nothing.
    pub fn write(&self, root: Root, key: &[u8], operation: Operation<'_>) -> Result<Outcome, Error> {
        self.write_versioned(root, key, operation).map(|(outcome, _)| outcome)
    }

    /// Like [`Forest::write`], but also returns the version of the write: 0 if nothing was written, or
    /// without MVCC.
    ///
    /// # Errors
    /// Those of [`Forest::write`].
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
            transaction.log_write(root, key, &operation, &outcome);
            Ok(if outcome.wrote() { End::Commit(outcome) } else { End::RollBack(outcome) })
        })
    }

    /// Deletes all pairs of a range, at one version, and returns their number.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is no memory for the new nodes at the ends of the range. A failed deletion
    /// has changed nothing.
    pub fn delete_range(&self, root: Root, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<u64, Error> {
        self.delete_range_versioned(root, lower, upper).map(|(count, _)| count)
    }

    /// Like [`Forest::delete_range`], but also returns the version of the deletion: 0 if there was nothing to
    /// delete, or without MVCC.
    ///
    /// # Errors
    /// Those of [`Forest::delete_range`].
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

    /// Removes a tree and all its pairs. Its root must not be used afterwards.
    ///
    /// # Errors
    /// Those of [`Forest::delete_range`].
    pub fn drop_tree(&self, root: Root) -> Result<(), Error> {
        self.transact(|transaction| transaction.drop_tree(root).map(End::Commit)).map(|(done, _)| done)
    }

    pub(crate) fn check(&self, key: &[u8], operation: &Operation<'_>) -> Result<(), Error> {
        self.check_key(key)?;
        // Without MVCC all versions are 0, so a swap would succeed after any change.
        if matches!(operation, Operation::CompareVersionAndSwap { .. }) && !self.mvcc() {
            return Err(Error::NoVersions);
        }
        operation.value().map_or(Ok(()), |value| self.check_value(value))
    }

    /// Runs a transaction, and retries it after each conflict. Each attempt has a pin.
    #[inline]
    pub(crate) fn transact<T>(
        &self,
        run: impl FnMut(&mut WriteTransaction<'_>) -> Result<End<T>, Abort>,
    ) -> Result<(T, Version), Error> {
        self.transact_under(None, run)
    }

    /// Runs a transaction, and retries it after each conflict: under the pin that the caller holds, because
    /// it must not wait for another one, or with a pin for each attempt.
    #[inline(always)]
    pub(crate) fn transact_under<T>(
        &self,
        held: Option<&Pin<'_>>,
        mut run: impl FnMut(&mut WriteTransaction<'_>) -> Result<End<T>, Abort>,
    ) -> Result<(T, Version), Error> {
        for attempt in 0.. {
            let attempted = {
                // A pin of its own ends with the attempt, before the compaction of sparse leaves.
                let pin = held.map_or_else(|| AnyPin::Own(self.memory().pin()), AnyPin::Borrowed);
                self.attempt(&pin, &mut run)
            };
            match attempted {
                Ok((result, version, shrunk)) => {
                    if let Some(shrunk) = shrunk {
                        self.compact_sparse_leaves(held, *shrunk);
                    }
                    return Ok((result, version));
                }
                Err(abort) => self.retry(abort, attempt)?,
            }
        }
        unreachable!("the number of attempts is unlimited")
    }

    /// Waits before a retry if the abort is a conflict; returns any other error.
    pub(crate) fn retry(&self, abort: Abort, attempt: u32) -> Result<(), Error> {
        match abort {
            Abort::Failed(error) => Err(*error),
            Abort::Conflict => {
                self.counters.retries.add(1);
                back_off(attempt);
                Ok(())
            }
        }
    }

    /// Runs a transaction once. The caller compacts the returned sparse leaves, after the end of the pin if
    /// the pin is its own.
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

/// Waits for a short time that grows with the number of attempts.
fn back_off(attempt: u32) {
    if attempt < 4 {
        (0..16 << attempt).for_each(|_| honeycomb_memory::sync::hint::spin_loop());
    } else {
        honeycomb_memory::sync::thread::yield_now();
    }
}

/// The existing pair of a key in a leaf.
#[derive(Clone, Copy)]
struct ExistingPair<'a> {
    header: ItemHeader,
    /// The value as the leaf stores it.
    stored: &'a [u8],
    version: Version,
}

impl ExistingPair<'_> {
    /// Returns the reference to the overflow value, if the pair has one.
    #[inline]
    fn reference(self) -> Option<ValueReference> {
        self.header.reference(self.stored)
    }
}

/// The result of the search for a key in a leaf: its position in the sorted block and in the order of the log
/// block.
struct KeyLookup<'a> {
    back_pointer: usize,
    /// Whether the sorted item at the back pointer has the key.
    replaces: bool,
    /// Whether a log entry has the key.
    repeats: bool,
    order_hint: usize,
    existing: Option<ExistingPair<'a>>,
}

/// Searches for a key in a leaf, near a place if that is known.
#[inline(always)]
fn look_up<'a>(leaf: View<'a>, search_key: SearchKey<'_>, near: Option<Near>) -> KeyLookup<'a> {
    let position = match near {
        Some(near) => lower_bound_in(leaf, search_key, near),
        None => lower_bound(leaf, search_key),
    };
    let log = find_in_log(leaf, search_key, position.position);
    let node_version = leaf.node_version();
    let existing = match log.newest {
        Some(LogEntry { item, .. }) if item.header.tombstone() => None,
        Some(LogEntry { place, item }) => {
            let version = place.version(node_version);
            Some(ExistingPair { header: item.header, stored: item.value(), version })
        }
        None if position.found => {
            let (header, stored) = leaf.columns().stored_value(position.position);
            Some(ExistingPair { header, stored, version: node_version })
        }
        None => None,
    };
    KeyLookup {
        back_pointer: position.position,
        replaces: position.found,
        repeats: log.newest.is_some(),
        order_hint: log.rank,
        existing,
    }
}

/// Where the item of a key goes in its locked leaf.
#[derive(Clone, Copy)]
struct Spot {
    root: Root,
    leaf: NodeIndex,
    back_pointer: usize,
    order_hint: usize,
    replaces: bool,
    repeats: bool,
    /// Whether the key is greater than all other keys of the leaf.
    is_last: bool,
    /// Maximum size of another log entry.
    room: usize,
    /// Bytes of the existing item, as it is encoded outside of a node; 0 if there is none.
    existing_bytes: usize,
}

/// The locked leaf of a key, and the place of the key in its sorted block if it is known.
pub(crate) struct LeafLocation {
    leaf: NodeIndex,
    place: Option<KeyPlace>,
}

impl LeafLocation {
    pub(crate) fn at(leaf: NodeIndex) -> Self {
        Self { leaf, place: None }
    }
}

impl<'f> WriteTransaction<'f> {
    /// Executes one operation in the leaf of its key.
    #[inline(never)]
    pub(crate) fn apply(
        &mut self,
        root: Root,
        LeafLocation { leaf, place }: LeafLocation,
        key: &[u8],
        operation: &Operation<'_>,
    ) -> Result<Outcome, Abort> {
        let view = self.view(leaf);
        let suffix = &key[view.prefix_length()..];
        if place.is_none() {
            // Prefetch while the search finds the place.
            let value_bytes = operation.stored_bytes(self.forest);
            view.prefetch_for_write(self.forest.shape(), entry_bytes_for(suffix.len(), value_bytes));
        }
        let search_key = match place {
            Some(KeyPlace { head, .. }) => SearchKey { suffix, head },
            None => SearchKey::new(suffix),
        };
        let lookup = look_up(view, search_key, place.map(|place| place.near));
        let KeyLookup { back_pointer, order_hint, replaces, repeats, existing } = lookup;
        let spot = Spot {
            root,
            leaf,
            back_pointer,
            order_hint,
            replaces,
            repeats,
            is_last: order_hint == view.log_count() && back_pointer == view.sorted_count(),
            room: self.log_room(view),
            existing_bytes: existing.map_or(0, |existing| existing.header.item_bytes()),
        };
        if let Some(value) = self.plain_value(operation, existing) {
            let header = ItemHeader::new(suffix.len(), value.len());
            if spot.existing_bytes <= header.item_bytes() {
                let outcome = if existing.is_some() { Outcome::Updated } else { Outcome::Inserted };
                self.put_item(spot, NewItem { header, key: search_key, value }, None)?;
                return Ok(outcome);
            }
        }
        let superseded = existing.and_then(ExistingPair::reference);
        let existing = existing.map(|existing| (self.existing_value(existing), existing.version));
        let decision = decide(operation, existing);
        if self.has_old_values && !matches!(decision, Decision::Keep(_)) {
            self.old_value = existing.map(|(value, _)| value.to_vec());
        }
        self.execute(spot, search_key, decision, superseded)
    }

    /// Returns the value that an operation stores whatever the existing value is, if neither of them is an
    /// overflow value and nobody receives the existing one: the common case.
    #[inline(always)]
    fn plain_value<'o>(
        &self,
        operation: &Operation<'o>,
        existing: Option<ExistingPair<'_>>,
    ) -> Option<&'o [u8]> {
        let value = match (*operation, existing) {
            (Operation::Put(value), _)
            | (Operation::Insert(value), None)
            | (Operation::Update(value), Some(_)) => value,
            _ => return None,
        };
        let is_plain = !self.has_old_values
            && !self.forest.is_overflow(value.len())
            && !existing.is_some_and(|existing| existing.header.overflow());
        is_plain.then_some(value)
    }

    /// Executes a decision. `superseded` is the existing overflow value.
    #[inline(never)]
    fn execute(
        &mut self,
        spot: Spot,
        key: SearchKey<'_>,
        decision: Decision<'_>,
        superseded: Option<ValueReference>,
    ) -> Result<Outcome, Abort> {
        let (stored, outcome) = match decision {
            Decision::Keep(outcome) => return Ok(outcome),
            Decision::Remove => (None, Outcome::Deleted),
            Decision::Store(value, outcome) => (Some(value), outcome),
        };
        let is_overflow = stored.as_ref().is_some_and(|value| self.forest.is_overflow(value.bytes().len()));
        if self.must_commit() && (superseded.is_some() || is_overflow) {
            return Err(Abort::Conflict);
        }
        let stored = match stored {
            Some(value) if is_overflow => Some(self.store_overflow_value(&value)?),
            stored => stored,
        };
        let value = stored.as_ref().map_or(&[][..], StoredValue::bytes);
        let header = ItemHeader::new(key.suffix.len(), value.len())
            .with_tombstone(stored.is_none())
            .with_overflow(is_overflow);
        let live = if header.tombstone() { 0 } else { header.item_bytes() };
        let shrunk = spot.existing_bytes.checked_sub(live).filter(|&bytes| bytes > 0);
        let shrunk = shrunk.map(|bytes| (bytes, self.becomes_sparse(spot.root, spot.leaf, bytes)));
        self.put_item(spot, NewItem { header, key, value }, superseded)?;
        if let Some((bytes, sparse)) = shrunk {
            self.note_shrunk(bytes, sparse);
        }
        Ok(outcome)
    }

    /// Puts an item or tombstone into its leaf: as a log entry if there is room and no overflow value is
    /// superseded, or in a new buffer.
    #[inline(always)]
    fn put_item(
        &mut self,
        spot: Spot,
        mut item: NewItem<'_>,
        superseded: Option<ValueReference>,
    ) -> Result<(), Abort> {
        let Spot { root, leaf, back_pointer, order_hint, is_last, .. } = spot;
        item.header = item.header.with_place(spot.replaces, spot.repeats);
        let entry = NewEntry { back_pointer, order_hint, item };
        if superseded.is_none() && entry.bytes() <= spot.room {
            self.append(leaf, &entry);
            return Ok(());
        }
        // A log entry would keep a superseded overflow value allocated until the next consolidation.
        if let Some(reference) = superseded {
            self.retire(Retired::Value(reference.address, reference.length));
        }
        let change = Change { is_last, back_pointer, item };
        self.rebuild(root, leaf, leaf, Edit::Change(leaf, &change))
    }

    /// Decides the effect of an operation on the leaf of its key without executing it.
    pub(crate) fn decide<'a>(&self, leaf: NodeIndex, key: &[u8], operation: &Operation<'a>) -> Decision<'a> {
        let view = self.view(leaf);
        let existing = look_up(view, SearchKey::after_prefix(key, view.prefix_length()), None).existing;
        decide(operation, existing.map(|existing| (self.existing_value(existing), existing.version)))
    }

    /// Returns the bytes of the value of an existing pair, inline or overflow.
    #[inline]
    fn existing_value<'a>(&'a self, existing: ExistingPair<'a>) -> &'a [u8] {
        existing.reference().map_or(existing.stored, |reference| self.value(reference))
    }

    /// Returns the leaf if it becomes sparse by the loss of `bytes` live bytes.
    #[cold]
    fn becomes_sparse(&self, root: Root, leaf: NodeIndex, bytes: usize) -> Option<SparseLeaf> {
        let leaf = self.view(leaf);
        let before = Live::of(leaf).item_bytes(leaf);
        // Lengths of encoded items; those of a node differ from them by a few bytes.
        let is_sparse = becomes_sparse(self.forest.shape(), before, before.saturating_sub(bytes));
        is_sparse.then(|| (root, leaf.low_fence().to_vec()))
    }

    /// Returns the bytes of an item's value, inline or overflow.
    #[inline]
    pub(crate) fn value_of<'a>(&'a self, item: Item<'a>) -> &'a [u8] {
        item.reference().map_or(item.value(), |reference| self.value(reference))
    }

    /// Stores a value as an overflow value.
    fn store_overflow_value(&mut self, stored: &StoredValue<'_>) -> Result<StoredValue<'static>, Abort> {
        let value = self.forest.memory().allocate_value(stored.bytes())?;
        let reference = ValueReference { address: value.address(), length: value.len() };
        self.keep_value(value);
        Ok(StoredValue::Reference(reference.to_bytes()))
    }

    /// Executes one operation in the leaf that a descent under this transaction's pin has found.
    pub(crate) fn write_target(
        &mut self,
        target: Target<'f>,
        BatchOperation { root, key, operation }: &BatchOperation<'_>,
    ) -> Result<Outcome, Abort> {
        let leaf = self.lock_target(*root, target)?;
        self.apply(*root, leaf, key, operation)
    }

    /// Locks the leaf that a descent under this transaction's pin has found.
    #[inline(always)]
    fn lock_target(&mut self, root: Root, target: Target<'f>) -> Result<LeafLocation, Abort> {
        // A buffer that was replaced or removed stays locked, so a buffer that can be locked is current.
        match self.try_lock_buffer(target.lid, target.buffer) {
            Some(leaf) => Ok(LeafLocation { leaf, place: Some(target.place) }),
            None => self.lock_changed(root, target),
        }
    }

    /// Locks a leaf that has changed since a descent has found it, or that is locked, perhaps by this
    /// transaction.
    #[inline(never)]
    fn lock_changed(&mut self, root: Root, target: Target<'f>) -> Result<LeafLocation, Abort> {
        let index = self.lock(target.lid)?;
        let leaf = self.check_is_leaf(root, index)?;
        if self.is_removed(leaf) {
            return Err(Abort::Conflict);
        }
        // The place is valid only in this buffer, whose sorted block never changes.
        let place = self.is_in_place(leaf, target.buffer).then_some(target.place);
        Ok(LeafLocation { leaf, place })
    }

    /// Returns a locked node if it is a leaf. It was found under the pin of this transaction.
    #[inline]
    fn check_is_leaf(&self, root: Root, index: NodeIndex) -> Result<NodeIndex, Abort> {
        // The root can grow between the descent and the lock; all other LIDs keep their level.
        if self.lid(index) != root.0 || self.view(index).is_leaf() { Ok(index) } else { Err(Abort::Conflict) }
    }

    /// Descends to a leaf and locks it.
    pub(crate) fn lock_leaf(&mut self, root: Root, toward: LeafPosition<'_>) -> Result<NodeIndex, Abort> {
        let (top, lid) = (self.view_of(root.0), root.0);
        let lid = if self.has_nodes() {
            leaf_toward(lid, top, toward, |lid, _| self.view_of(lid))
        } else {
            leaf_toward(lid, top, toward, |lid, level| self.view_ahead(lid, level))
        };
        let index = self.lock(lid)?;
        self.check_is_leaf(root, index)
    }
}

/// Returns the leaf at the end of the descent from a node.
#[inline(always)]
fn leaf_toward<'a>(
    mut lid: Lid,
    mut view: View<'a>,
    toward: LeafPosition<'_>,
    view_of: impl Fn(Lid, usize) -> View<'a>,
) -> Lid {
    while !view.is_leaf() {
        lid = child_toward(view, toward).1;
        view = view_of(lid, view.level() - 1);
    }
    lid
}
