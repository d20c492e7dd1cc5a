//! Gets that pass the value to a function instead of appending it to a buffer.
//!
//! They are compiled for the type of the key: for one whose length the compiler knows, such as `[u8; 8]`, the
//! comparisons are of words, and there is neither request nor outcome. A short inline value is on the stack;
//! others go through a buffer.
//!
//! The gets of `get_many` execute in windows, in the steps of `batch`. Which of them end in the second step
//! is a matter of chance. So this step has no branch for it: it notes the place of each get both among those
//! that have ended and among those that wait, and only one of both counts.

use std::ops::Deref;

use honeycomb_memory::{LineWords, Memory};

use crate::access::Access;
use crate::batch::WINDOW;
use crate::bucket::Bucket;
use crate::error::Error;
use crate::hash::{HashedKey, hash};
use crate::index::{Index, check_key};
use crate::read::{First, Pending, begin_beyond};
use crate::short_value::ShortValue;
use crate::table::{Session, Table};

/// A get of a batch after its first step.
#[derive(Debug, Clone, Copy, Default)]
struct Coming<'a> {
    hash: u64,
    bucket: Option<Bucket<LineWords<'a>>>,
}

/// A window between its first two steps.
type Window<'a> = [Coming<'a>; WINDOW];

/// A get after its second step.
#[derive(Debug, Clone, Copy, Default)]
struct Looked {
    /// The value of a get that has ended.
    value: ShortValue,
    /// The number of the lock if the first bucket does not have the pair; otherwise an odd number, which
    /// leads to a new beginning.
    number: u64,
    /// Where a get that waits goes on; `None` if the key is absent.
    pending: Option<Pending>,
}

/// The gets of a window after the second step.
#[derive(Debug, Default)]
struct Results {
    gets: [Looked; WINDOW],
    /// The places of those that have ended, and of those that wait.
    found: Places,
    waiting: Places,
}

/// Places in a window.
#[derive(Debug, Default)]
struct Places {
    places: [u8; WINDOW],
    count: usize,
}

impl Places {
    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = usize> {
        self.places[..self.count.min(WINDOW)].iter().map(|place| usize::from(*place) % WINDOW)
    }
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
        let index = self.index;
        let mut value = ShortValue::default();
        let pending = match index.short_value(self.access(), &key, &mut value) {
            Ok(is_found) => return Ok(is_found.then(|| visit(value.bytes()))),
            Err(pending) => pending,
        };
        if index.finish_short(self.access(), pending, &key, &mut value) {
            return Ok(Some(visit(value.bytes())));
        }
        let mut buffer = std::mem::take(self.buffer());
        let is_found = index.copy_value(self.access(), pending, &key, &mut buffer);
        let result = is_found.then(|| visit(&buffer));
        *self.buffer() = buffer;
        Ok(result)
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

/// The gets of a window, whose first one has the index `first`.
struct Stage<'k, 'a, K> {
    first: usize,
    keys: &'k [K],
    window: Window<'a>,
    results: Results,
}

impl<K: AsRef<[u8]>> Stage<'_, '_, K> {
    fn new() -> Self {
        Self { first: 0, keys: &[], window: Window::default(), results: Results::default() }
    }

    #[inline(always)]
    fn key(&self, at: usize) -> HashedKey<'_> {
        HashedKey::with_hash(self.window[at].hash, self.keys[at].as_ref())
    }
}

impl Index {
    /// While a window is in its second step, the buckets of the next one are on their way, and what the gets
    /// of the previous one wait for.
    fn get_many<K: AsRef<[u8]>>(
        &self,
        access: Access<'_>,
        keys: &[K],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) {
        let (state, mut buffer, mut coming) = (self.directory.state(), Vec::new(), keys.chunks(WINDOW));
        let (mut next, mut current, mut previous) = (&mut Stage::new(), &mut Stage::new(), &mut Stage::new());
        self.begin(access, state, current, coming.next());
        while !current.keys.is_empty() {
            self.begin(access, state, next, coming.next());
            next.first = current.first + WINDOW;
            self.search(state, current);
            self.prefetch_rest(access, current);
            for at in current.results.found.iter() {
                visit(current.first + at, Some(current.results.gets[at].value.bytes()));
            }
            self.finish(access, previous, &mut buffer, &mut visit);
            (previous, current, next) = (current, next, previous);
        }
        self.finish(access, previous, &mut buffer, &mut visit);
    }

    /// Prefetches what the gets that wait read after the second step.
    #[inline(always)]
    fn prefetch_rest<K: AsRef<[u8]>>(&self, access: Access<'_>, stage: &mut Stage<'_, '_, K>) {
        for place in 0..stage.results.waiting.count.min(WINDOW) {
            let at = usize::from(stage.results.waiting.places[place]) % WINDOW;
            let (key, number) = (stage.key(at), stage.results.gets[at].number);
            stage.results.gets[at].pending = self.beyond(access, number, stage.window[at].bucket, &key);
        }
    }

    /// Prefetches what a get reads after the second step. `None` if the key is absent.
    #[inline(always)]
    fn beyond(
        &self,
        access: Access<'_>,
        number: u64,
        bucket: Option<Bucket<LineWords<'_>>>,
        key: &HashedKey<'_>,
    ) -> Option<Pending> {
        let Some(bucket) = bucket else { return Some(Pending::default()) };
        begin_beyond(access, &self.stripe(key.hash).lock, number, &bucket, key)
    }

    /// The third step of a window.
    #[inline(always)]
    fn finish<K: AsRef<[u8]>>(
        &self,
        access: Access<'_>,
        stage: &Stage<'_, '_, K>,
        buffer: &mut Vec<u8>,
        visit: &mut impl FnMut(usize, Option<&[u8]>),
    ) {
        for at in stage.results.waiting.iter() {
            let (key, mut value) = (stage.key(at), ShortValue::default());
            let mut visit = |value: Option<&[u8]>| visit(stage.first + at, value);
            match stage.results.gets[at].pending {
                None => visit(None),
                Some(pending) if self.finish_short(access, pending, &key, &mut value) => {
                    visit(Some(value.bytes()));
                }
                Some(pending) => {
                    let is_found = self.copy_value(access, pending, &key, buffer);
                    visit(is_found.then_some(&buffer[..]));
                }
            }
        }
    }

    /// The first step of a window.
    #[inline(always)]
    fn begin<'k, 'a, K: AsRef<[u8]>>(
        &self,
        access: Access<'a>,
        state: u64,
        stage: &mut Stage<'k, 'a, K>,
        keys: Option<&'k [K]>,
    ) {
        stage.keys = keys.unwrap_or_default();
        for (coming, key) in stage.window.iter_mut().zip(stage.keys) {
            coming.hash = hash(self.config.seed, key.as_ref());
            coming.bucket = self.choose(access, state, coming.hash);
        }
    }

    /// The second step of a window.
    #[inline(always)]
    fn search<K: AsRef<[u8]>>(&self, state: u64, stage: &mut Stage<'_, '_, K>) {
        let Stage { window, keys, results: Results { gets, found, waiting }, .. } = stage;
        let mut counts = (0, 0);
        for (at, ((Coming { hash, bucket }, key), get)) in window.iter().zip(*keys).zip(gets).enumerate() {
            let key = HashedKey::with_hash(*hash, key.as_ref());
            let mut has_ended = false;
            get.number = 1;
            if let Some(First { bucket, lock, number }) = self.first_of(*bucket, state, *hash) {
                let (pair, is_found) = bucket.search(&key);
                let is_short = get.value.load(pair.value_length, |at| bucket.word_at(pair.value + at));
                has_ended = is_found & is_short & lock.unchanged(number);
                get.number = number | u64::from(is_found);
            }
            // Without a branch: only one of both places counts.
            (found.places[counts.0 % WINDOW], waiting.places[counts.1 % WINDOW]) = (at as u8, at as u8);
            counts = (counts.0 + usize::from(has_ended), counts.1 + usize::from(!has_ended));
        }
        (found.count, waiting.count) = counts;
    }

    /// Loads the value of a key if its first bucket shows that the key is absent, or has a short value
    /// inline. Returns whether the key exists. Otherwise prefetches what the search reads next.
    #[inline(always)]
    fn short_value(
        &self,
        access: Access<'_>,
        key: &HashedKey<'_>,
        value: &mut ShortValue,
    ) -> Result<bool, Pending> {
        let Some(First { bucket, lock, number }) = self.first(access, key.hash) else {
            return Err(Pending::default());
        };
        let (pair, is_found) = bucket.search(key);
        if !is_found {
            return begin_beyond(access, lock, number, &bucket, key).map_or(Ok(false), Err);
        }
        let is_short = value.load(pair.value_length, |at| bucket.word_at(pair.value + at));
        if is_short & lock.unchanged(number) { Ok(true) } else { Err(Pending::default()) }
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
