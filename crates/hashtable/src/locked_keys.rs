//! Writes to several keys that take effect together.
//!
//! 1. `Session::lock_keys` locks the stripes of all keys in ascending order, so callers cannot deadlock. No
//!    reader and no writer sees these keys before the end.
//! 2. `LockedKeys::prepare` allocates the memory for a new value: its slab, its buffer and a chained bucket,
//!    in case that it finds no room in its chain. A value that replaces the current one in its place needs no
//!    memory. It changes nothing that the table refers to.
//! 3. `LockedKeys::commit` stores all values. It allocates nothing, so it cannot fail.
//!
//! A table grows and shrinks after a commit, which takes further stripes in any order. So a caller that has
//! locked keys of several tables calls `LockedKeys::store` for each of them, and only then `Resize::run`.

use honeycomb_memory::{SequenceGuard, lock_all};

use crate::access::{Access, BUCKET_CLASS};
use crate::error::Error;
use crate::hash::HashedKey;
use crate::index::{Index, check_key};
use crate::operation::{Span, append, check_value};
use crate::table::Session;
use crate::write::{Prepared, add};

/// The right to change some keys. Dropping it changes nothing.
#[derive(Debug)]
#[must_use = "the keys are free again when it is dropped"]
pub struct LockedKeys<'s> {
    index: &'s Index,
    access: Access<'s>,
    keys: Vec<HashedKey<'s>>,
    /// The numbers of the locked stripes, in ascending order.
    stripes: Vec<usize>,
    /// Each has the index of its key. Dropped before the guards: it frees slabs, which only a holder of a
    /// stripe may do.
    changes: Vec<(usize, Change<'s>)>,
    /// The new values.
    values: Vec<u8>,
    guards: Vec<SequenceGuard<'s>>,
}

/// The rest of a commit, after all stripes are free: the growth or the shrinking of the table.
#[derive(Debug)]
#[must_use = "the table keeps its size until it runs"]
pub struct Resize<'s> {
    index: &'s Index,
    access: Access<'s>,
    stripes: Vec<usize>,
}

/// What happens to a key. Spans are of the new values.
#[derive(Debug)]
enum Change<'s> {
    Remove,
    /// The value replaces the current one in its place.
    Replace(Span),
    Store(Box<NewPair<'s>>, Span),
}

#[derive(Debug)]
struct NewPair<'s> {
    prepared: Prepared<'s>,
    chained: Spare<'s>,
}

/// A slab for a chained bucket. Dropping it frees the slab, unless it was taken.
#[derive(Debug)]
struct Spare<'s> {
    index: &'s Index,
    access: Access<'s>,
    slab: Option<u32>,
}

impl Session<'_> {
    /// Locks keys for writing. Waits while other threads write to their stripes.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn lock_keys<'s>(&'s self, keys: &[&'s [u8]]) -> Result<LockedKeys<'s>, Error> {
        keys.iter().try_for_each(|key| check_key(key))?;
        let index = self.index;
        let hashed = |key: &&'s [u8]| HashedKey::new(index.config.seed, key);
        let keys: Vec<_> = keys.iter().map(hashed).collect();
        let stripes = keys.iter().map(|key| index.stripe_number(key.hash)).collect();
        let (stripes, guards) = lock_all(|stripe| &index.stripes[stripe].lock, stripes);
        let (access, changes, values) = (self.access(), Vec::new(), Vec::new());
        Ok(LockedKeys { index, access, keys, stripes, guards, changes, values })
    }
}

impl<'s> LockedKeys<'s> {
    /// Appends the value of a key, by its index in the locked keys, to `out`. Returns false if the key is
    /// absent. Prepared changes do not count.
    ///
    /// # Panics
    /// If there is no such key.
    pub fn get(&self, key: usize, out: &mut Vec<u8>) -> bool {
        self.get_beginning(key, usize::MAX, out)
    }

    /// As [`LockedKeys::get`], but appends at most the first `value_bytes_max` bytes of a value that is
    /// too long for a slab.
    ///
    /// # Panics
    /// If there is no such key.
    pub fn get_beginning(&self, key: usize, value_bytes_max: usize, out: &mut Vec<u8>) -> bool {
        let access = Access { value_bytes_max, ..self.access };
        self.index.find(access, &self.keys[key], Some(out)).is_some()
    }

    /// Prepares the new value of a key, or its removal. Call it at most once for each key.
    ///
    /// # Errors
    /// [`Error::ValueLength`], [`Error::Memory`].
    ///
    /// # Panics
    /// If there is no such key.
    pub fn prepare(&mut self, key: usize, value: Option<&[u8]>) -> Result<(), Error> {
        let change = match value {
            None => Change::Remove,
            Some(value) if self.has_place(key, value) => Change::Replace(append(&mut self.values, value)),
            Some(value) => Change::Store(self.new_pair(key, value)?.into(), append(&mut self.values, value)),
        };
        self.changes.push((key, change));
        Ok(())
    }

    /// Makes all prepared changes, and grows or shrinks the table if that is due. The caller has locked no
    /// other keys.
    pub fn commit(self) {
        self.store().run();
    }

    /// Makes all prepared changes, but leaves the size of the table to the caller, who may have locked keys
    /// of other tables.
    pub fn store(mut self) -> Resize<'s> {
        let changes = std::mem::take(&mut self.changes);
        let is_removal =
            |(key, change): &(usize, Change<'_>)| matches!(change, Change::Remove).then_some(*key);
        let removed: Vec<usize> = changes.iter().filter_map(is_removal).collect();
        changes.into_iter().for_each(|(key, change)| self.make(&self.keys[key], change));
        // After all changes: a pair that gets a value in its slab must still be there.
        removed.into_iter().for_each(|key| self.index.pull_in(self.access, &self.keys[key]));
        self.guards.clear();
        Resize { index: self.index, access: self.access, stripes: self.stripes }
    }

    fn make(&self, key: &HashedKey<'_>, change: Change<'_>) {
        let (index, access) = (self.index, self.access);
        // The changes before may have moved the pair.
        let found = index.find(access, key, None);
        let value = |span: Span| &self.values[span.start..span.end];
        if let (Change::Replace(span), Some(found)) = (&change, &found) {
            let stored = index.store_in_place(access, key, found, value(*span));
            return assert!(matches!(stored, Ok(true)), "the value has a place: {stored:?}");
        }
        if let Some(found) = &found {
            index.remove(access, key, found);
        }
        if let Change::Store(pair, span) = change {
            pair.store(index, access, key, value(span));
        }
    }

    /// Whether a value can replace the current one of a key in its place, without memory.
    fn has_place(&self, key: usize, value: &[u8]) -> bool {
        let (index, key) = (self.index, &self.keys[key]);
        index.find(self.access, key, None).is_some_and(|found| index.has_place(key, &found, value))
    }

    fn new_pair(&self, key: usize, value: &[u8]) -> Result<NewPair<'s>, Error> {
        check_value(value)?;
        let (index, access) = (self.index, self.access);
        let (_, first) = index.head(access, self.keys[key].hash);
        let prepared = index.prepare(access, &self.keys[key], value, first.free())?;
        let slab = Some(index.slabs.allocate(access.memory, BUCKET_CLASS)?);
        Ok(NewPair { prepared, chained: Spare { index, access, slab } })
    }
}

impl Resize<'_> {
    /// Grows or shrinks the table if that is due. It waits for stripes, so the caller has locked no keys of
    /// any table: a writer that holds one of these stripes may wait for the stripes of the caller.
    pub fn run(self) {
        for stripe in self.stripes {
            self.index.grow_if_full(self.access, stripe);
            self.index.shrink_if_sparse(self.access, stripe);
        }
    }
}

impl NewPair<'_> {
    /// Stores the pair of a key that is absent.
    fn store(mut self, index: &Index, access: Access<'_>, key: &HashedKey<'_>, value: &[u8]) {
        let (stripe, entry) = (index.stripe(key.hash), &self.prepared.entry);
        let last = Index::place_in_chain(access, index.head(access, key.hash), entry);
        if let Some(last) = last
            && let Some(slab) = self.chained.slab.take()
        {
            Index::add_chained(access, last, slab, entry);
        }
        add(&stripe.pairs, 1);
        add(&stripe.used_slots, entry.slots as i64);
        self.prepared.finish(key.bytes, value);
    }
}

impl Drop for Spare<'_> {
    fn drop(&mut self) {
        if let Some(slab) = self.slab {
            self.index.slabs.free(self.access.memory, BUCKET_CLASS, slab);
        }
    }
}
