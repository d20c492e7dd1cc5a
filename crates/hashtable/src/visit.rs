//! Gets that pass the value to a function instead of appending it to a buffer.
//!
//! They are compiled for the type of the key: for one whose length the compiler knows, such as `[u8; 8]`, the
//! comparisons are of words, and there is neither request nor outcome. A short inline value is on the stack;
//! others go through a buffer.
//!
//! The gets of `get_many` execute in the steps of `windows`.

use std::ops::Deref;
use std::slice::Chunks;

use honeycomb_memory::heads::{Vectorized, Vectors, vectorized};
use honeycomb_memory::{LineWords, Memory};

use crate::access::Access;
use crate::batch::WINDOW;
use crate::bucket::Bucket;
use crate::directory::{Directory, Numbering};
use crate::error::Error;
use crate::expected::Expected;
use crate::hash::{HashedKey, hash};
use crate::index::{Index, check_key};
use crate::read::{Pending, short_value};
use crate::short_value::ShortValue;
use crate::table::{Session, Table};
use crate::windows::{self, Windows};

/// A get of a batch after its first step.
#[derive(Debug, Clone, Copy, Default)]
struct Coming<'a> {
    hash: u64,
    bucket: Option<Bucket<LineWords<'a>>>,
}

/// A get that waits for its third step.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    /// Its place in the window.
    place: u8,
    pending: Pending,
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
        let hashed = HashedKey::new(self.index.config.seed, key.as_ref());
        let (index, mut value) = (self.index, ShortValue::default());
        let (access, expected) = self.access_expecting();
        let first = index.first(access, hashed.hash);
        Ok(match short_value(access, first, &hashed, &mut value, expected) {
            Ok(is_found) => is_found.then(|| visit(value.bytes())),
            Err(pending) => self.finish_with(pending, hashed.hash, key, visit),
        })
    }

    /// The rest of `get_with`, after the first bucket.
    #[inline(never)]
    fn finish_with<R>(
        &mut self,
        pending: Pending,
        hash: u64,
        key: impl AsRef<[u8]>,
        visit: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        let (key, mut value) = (HashedKey::with_hash(hash, key.as_ref()), ShortValue::default());
        if self.index.finish_short(self.access(), pending, &key, &mut value) {
            return Some(visit(value.bytes()));
        }
        let mut buffer = std::mem::take(self.buffer());
        let is_found = self.index.copy_value(self.access(), pending, &key, &mut buffer);
        let result = is_found.then(|| visit(&buffer));
        *self.buffer() = buffer;
        result
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
        let (index, access, buffer) = (&self.index, Access::new(self.memory(), &pin), Vec::new());
        let state = index.directory.state();
        let numbering = Directory::numbering(state);
        let expected = Expected::default();
        let (keys, begun) = (keys.chunks(WINDOW), 0);
        vectorized(GetMany { index, access, state, numbering, keys, begun, visit, buffer, expected });
        Ok(())
    }
}

/// The gets of a window, whose first one has the index `first`.
struct Stage<'g, K> {
    first: usize,
    keys: &'g [K],
    window: [Coming<'g>; WINDOW],
    /// Those that wait after the second step, and their number.
    waiting: [Waiting; WINDOW],
    count: usize,
}

impl<K> Default for Stage<'_, K> {
    fn default() -> Self {
        Self { first: 0, keys: &[], window: Default::default(), waiting: Default::default(), count: 0 }
    }
}

/// The gets of a batch.
struct GetMany<'g, K, V> {
    index: &'g Index,
    access: Access<'g>,
    /// The state of the directory at the beginning.
    state: u64,
    numbering: Numbering,
    /// The keys whose gets have not begun, and the number of those that have.
    keys: Chunks<'g, K>,
    begun: usize,
    visit: V,
    buffer: Vec<u8>,
    expected: Expected,
}

impl<K: AsRef<[u8]>, V: FnMut(usize, Option<&[u8]>)> Vectorized for GetMany<'_, K, V> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Vectors) {
        windows::run(self);
    }
}

impl<'g, K: AsRef<[u8]>, V: FnMut(usize, Option<&[u8]>)> Windows for GetMany<'g, K, V> {
    type Stage = Stage<'g, K>;

    #[inline(always)]
    fn begin(&mut self, stage: &mut Stage<'g, K>) -> bool {
        (stage.first, stage.keys) = (self.begun, self.keys.next().unwrap_or_default());
        (stage.count, self.begun) = (0, self.begun + stage.keys.len());
        for (coming, key) in stage.window.iter_mut().zip(stage.keys) {
            coming.hash = hash(self.index.config.seed, key.as_ref());
            coming.bucket = self.index.choose(self.access, self.numbering, coming.hash);
        }
        !stage.keys.is_empty()
    }

    #[inline(always)]
    fn search(&mut self, Stage { first, keys, window, waiting, count }: &mut Stage<'g, K>) {
        for (place, (Coming { hash, bucket }, key)) in window.iter().zip(*keys).enumerate() {
            let (key, mut value) = (HashedKey::with_hash(*hash, key.as_ref()), ShortValue::default());
            let bucket = self.index.first_of(*bucket, self.state, *hash);
            match short_value(self.access, bucket, &key, &mut value, &mut self.expected) {
                Ok(is_found) => (self.visit)(*first + place, is_found.then(|| value.bytes())),
                Err(pending) => {
                    waiting[*count % WINDOW] = Waiting { place: place as u8, pending };
                    *count += 1;
                }
            }
        }
    }

    #[inline(always)]
    fn execute(&mut self, stage: &Stage<'g, K>) {
        for Waiting { place, pending } in &stage.waiting[..stage.count.min(WINDOW)] {
            let place = usize::from(*place) % WINDOW;
            let key = HashedKey::with_hash(stage.window[place].hash, stage.keys[place].as_ref());
            let (number, mut value) = (stage.first + place, ShortValue::default());
            if self.index.finish_short(self.access, *pending, &key, &mut value) {
                (self.visit)(number, Some(value.bytes()));
                continue;
            }
            let is_found = self.index.copy_value(self.access, *pending, &key, &mut self.buffer);
            (self.visit)(number, is_found.then_some(&self.buffer[..]));
        }
    }
}

impl Index {
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
