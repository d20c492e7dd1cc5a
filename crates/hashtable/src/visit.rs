//! Gets that pass the value to a function instead of appending it to a buffer.
//!
//! For a key whose length the compiler knows, such as `[u8; 8]`, a get executes about a fifth fewer
//! instructions: the comparisons of keys are of words, and there is neither request nor outcome. A short
//! inline value is on the stack; others go through a buffer.

use std::ops::Deref;

use honeycomb_memory::Memory;

use crate::access::Access;
use crate::batch::WINDOW;
use crate::bucket::{Bucket, Words};
use crate::error::Error;
use crate::hash::{HashedKey, hash};
use crate::index::{Index, check_key};
use crate::read::{Pending, begin_beyond, sixteen_at};
use crate::table::{Session, Table};

/// Maximum length of a value that is passed on the stack.
const SHORT: usize = 16;

/// A short inline value.
struct ShortValue {
    bytes: [u8; SHORT],
    length: usize,
}

impl ShortValue {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length.min(SHORT)]
    }
}

/// A get of a batch between its steps.
#[derive(Debug, Clone, Copy, Default)]
struct Coming {
    hash: u64,
    bucket: u32,
}

impl Session<'_> {
    /// Passes the value of a key to `visit`, and returns its result; `None` if the key is absent. Waits while
    /// another thread writes to the stripe of the key. A key of a type with a fixed length is faster.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    #[inline]
    pub fn get_with<R>(
        &mut self,
        key: impl AsRef<[u8]>,
        visit: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Error> {
        check_key(key.as_ref())?;
        let key = HashedKey::new(self.index.config.seed, key.as_ref());
        let (index, place) = (self.index, self.index.directory.place_of(key.hash));
        match index.short_value(self.access(), place, &key) {
            Ok(value) => Ok(value.map(|value| visit(value.bytes()))),
            Err(pending) => {
                let mut buffer = std::mem::take(self.buffer());
                let is_found = index.copy_value(self.access(), pending, &key, &mut buffer);
                let result = is_found.then(|| visit(&buffer));
                *self.buffer() = buffer;
                Ok(result)
            }
        }
    }
}

impl<M: Deref<Target = Memory>> Table<M> {
    /// Passes the value of each key, or `None` if the key is absent, to `visit`, together with the index of
    /// the key. The gets are of different moments and in no order: the memory responds to 16 to 32 of them at
    /// once.
    ///
    /// # Errors
    /// [`Error::KeyLength`]: `visit` is not called.
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        keys.iter().try_for_each(|key| check_key(key.as_ref()))?;
        let pin = self.memory().pin();
        self.index.get_many(Access::new(self.memory(), &pin), keys, visit);
        Ok(())
    }
}

impl Index {
    fn get_many<K: AsRef<[u8]>>(
        &self,
        access: Access<'_>,
        keys: &[K],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) {
        let (state, mut buffer) = (self.directory.state(), Vec::new());
        let (mut current, mut next) = ([Coming::default(); WINDOW], [Coming::default(); WINDOW]);
        let (mut pending, mut coming) = ([(0, Pending::default()); WINDOW], keys.chunks(WINDOW));
        self.begin(access, state, &mut current, coming.next());
        for (number, keys) in keys.chunks(WINDOW).enumerate() {
            self.begin(access, state, &mut next, coming.next());
            let mut waiting = 0;
            for (at, (Coming { hash, bucket }, key)) in current.iter().zip(keys).enumerate() {
                let key = HashedKey::with_hash(*hash, key.as_ref());
                match self.short_value(access, (*bucket, state), &key) {
                    Ok(value) => visit(number * WINDOW + at, value.as_ref().map(ShortValue::bytes)),
                    Err(of_key) => {
                        pending[waiting % WINDOW] = (at, of_key);
                        waiting += 1;
                    }
                }
            }
            for (at, of_key) in &pending[..waiting] {
                let key = HashedKey::with_hash(current[*at].hash, keys[*at].as_ref());
                let is_found = self.copy_value(access, *of_key, &key, &mut buffer);
                visit(number * WINDOW + at, is_found.then_some(&buffer[..]));
            }
            std::mem::swap(&mut current, &mut next);
        }
    }

    /// The first step of a window: hashes its keys and prefetches their buckets.
    #[inline(always)]
    fn begin<K: AsRef<[u8]>>(
        &self,
        access: Access<'_>,
        state: u64,
        window: &mut [Coming; WINDOW],
        keys: Option<&[K]>,
    ) {
        for (coming, key) in window.iter_mut().zip(keys.unwrap_or_default()) {
            coming.hash = hash(self.config.seed, key.as_ref());
            coming.bucket = self.directory.address_in(state, coming.hash);
            access.memory.prefetch_slab(coming.bucket);
        }
    }

    /// Returns the value of a key if its first bucket shows that the key is absent, or has a short value
    /// inline. Otherwise prefetches what the search reads next.
    #[inline(always)]
    fn short_value(
        &self,
        access: Access<'_>,
        (bucket, state): (u32, u64),
        key: &HashedKey<'_>,
    ) -> Result<Option<ShortValue>, Pending> {
        let lock = &self.stripe(key.hash).lock;
        let number = lock.begin();
        if state != self.directory.state() {
            return Err(Pending::default());
        }
        let Some(bucket) = access.try_bucket(bucket) else { return Err(Pending::default()) };
        let Some(pair) = find(&bucket, key) else {
            return begin_beyond(access, lock, number, &bucket, key).map(|_| None);
        };
        let value = ShortValue { bytes: sixteen_at(&bucket, pair.value), length: pair.value_length };
        let is_valid = value.length <= SHORT && lock.unchanged(number);
        if is_valid { Ok(Some(value)) } else { Err(Pending::default()) }
    }

    /// Replaces the contents of a buffer with the value of a key. Returns whether the key exists.
    #[inline(never)]
    fn copy_value(
        &self,
        access: Access<'_>,
        pending: Pending,
        key: &HashedKey<'_>,
        buffer: &mut Vec<u8>,
    ) -> bool {
        buffer.clear();
        self.finish_get(access, pending, key, buffer).is_some()
    }
}

/// Finds the inline pair of a key. For a key of a fixed length the compiler removes the loop over its words.
#[inline(always)]
fn find(bucket: &Bucket<impl Words>, key: &HashedKey<'_>) -> Option<crate::bucket::InlinePair> {
    bucket.find_with(key, |offset| bucket.has_rest(offset, key.bytes))
}
