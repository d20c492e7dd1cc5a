//! Batches of gets without requests and answers: keys in, values in a buffer of the caller.
//!
//! The gets execute in windows, in the steps of `visit`: the third step of a window comes after the second
//! one of the next window. A get whose key may be that of an earlier get which waits for the third step also
//! waits. So the gets of one key remain in order.

use std::ops::Deref;

use honeycomb_memory::heads::{Vectorized, Vectors, vectorized};
use honeycomb_memory::{LineWords, Memory};

use crate::access::Access;
use crate::batch::WINDOW;
use crate::bucket::Bucket;
use crate::directory::{Directory, Numbering};
use crate::hash::HashedKey;
use crate::index::{Index, check_key};
use crate::operation::Span;
use crate::read::{Borrowed, Next, Pending, append_inline};
use crate::slab_words::Match;
use crate::table::Table;
use crate::waiting_keys::WaitingKeys;

/// The value that a get has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'v> {
    /// It is now at the end of the buffer.
    Appended(Span),
    /// A value that is longer than 512 bytes, in the memory of the table.
    Overflow(&'v [u8]),
}

impl<M: Deref<Target = Memory>> Table<M> {
    /// Gets values, appends those of up to 512 bytes to `values`, and passes each get to `done`: the buffer,
    /// the index of the get, and its value, or `None` if the key is absent. `done` may shorten the buffer, or
    /// append to it.
    ///
    /// The gets are of different moments, and in no order, but those of one key are in the order of the
    /// keys: none sees an older value than one before it. The memory responds to 16 to 32 of them at once.
    ///
    /// # Panics
    /// If a key does not have 1 to 460 bytes.
    pub fn get_each<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        values: &mut Vec<u8>,
        done: impl FnMut(&mut Vec<u8>, usize, Option<Value<'_>>),
    ) {
        let pin = self.memory().pin();
        let (index, access) = (&self.index, Access::new(self.memory(), &pin));
        let state = index.directory.state();
        let numbering = Directory::numbering(state);
        vectorized(GetEach { index, access, state, numbering, keys, begun: 0, values, done });
    }
}

/// A get between its steps.
#[derive(Debug, Clone, Copy, Default)]
struct Step<'g> {
    key: HashedKey<'g>,
    bucket: Option<Bucket<LineWords<'g>>>,
    pending: Pending,
}

/// The gets of a window.
#[derive(Debug, Default)]
struct Stage<'g> {
    /// The index of the first one, and the number of the gets.
    first: usize,
    count: usize,
    window: [Step<'g>; WINDOW],
    /// A bit for each get that waits for the third step, by its place, and the set of their keys.
    waiting: u32,
    keys: WaitingKeys,
}

/// The gets of a batch.
struct GetEach<'g, 'v, K, D> {
    index: &'g Index,
    access: Access<'g>,
    /// The state of the directory at the beginning.
    state: u64,
    numbering: Numbering,
    keys: K,
    /// The number of gets that have begun.
    begun: usize,
    values: &'v mut Vec<u8>,
    done: D,
}

impl<'g, 'k: 'g, K, D> Vectorized for GetEach<'g, '_, K, D>
where
    K: Iterator<Item = &'k [u8]>,
    D: FnMut(&mut Vec<u8>, usize, Option<Value<'_>>),
{
    type Output = ();

    #[inline(always)]
    fn run(mut self, _: impl Vectors) {
        let (mut next, mut current, mut previous) =
            (&mut Stage::default(), &mut Stage::default(), &mut Stage::default());
        self.begin(current);
        while current.count > 0 {
            self.begin(next);
            self.search(current, &previous.keys);
            self.finish(previous);
            (previous, current, next) = (current, next, previous);
        }
        self.finish(previous);
    }
}

impl<'g, 'k: 'g, K, D> GetEach<'g, '_, K, D>
where
    K: Iterator<Item = &'k [u8]>,
    D: FnMut(&mut Vec<u8>, usize, Option<Value<'_>>),
{
    /// The first step of a window.
    #[inline(always)]
    fn begin(&mut self, stage: &mut Stage<'g>) {
        (stage.first, stage.waiting, stage.keys) = (self.begun, 0, WaitingKeys::default());
        stage.count = 0;
        while let Some(step) = stage.window.get_mut(stage.count)
            && let Some(key) = self.keys.next()
        {
            assert!(check_key(key).is_ok(), "a key of {} bytes", key.len());
            step.key = HashedKey::new(self.index.config.seed, key);
            step.bucket = self.index.choose(self.access, self.numbering, step.key.hash);
            stage.count += 1;
        }
        self.begun += stage.count;
    }

    /// The second step of a window. `earlier` are the keys that wait in the window before.
    #[inline(always)]
    fn search(&mut self, stage: &mut Stage<'g>, earlier: &WaitingKeys) {
        let Stage { first, count, window, waiting, keys } = stage;
        for (place, step) in window.iter_mut().enumerate().take(*count) {
            let Step { key, bucket, pending } = step;
            let waits = earlier.may_have(key.hash) | keys.may_have(key.hash);
            let bucket = bucket.filter(|_| !waits);
            let begun = self.index.first_of(bucket, self.state, key.hash);
            match self.index.begin_get(self.access, begun, key, self.values) {
                Ok(found) => (self.done)(self.values, *first + place, found.map(Value::Appended)),
                Err(next) => {
                    *pending = next;
                    *waiting |= 1 << place;
                    keys.add(key.hash);
                }
            }
        }
    }

    /// The third step of a window.
    #[inline(always)]
    fn finish(&mut self, stage: &Stage<'g>) {
        let mut waiting = stage.waiting;
        while waiting != 0 {
            let place = waiting.trailing_zeros() as usize % WINDOW;
            waiting &= waiting - 1;
            let Step { key, pending, .. } = &stage.window[place];
            if let Some(span) = self.append_next(*pending, key) {
                (self.done)(self.values, stage.first + place, Some(Value::Appended(span)));
                continue;
            }
            let mut output = Borrowed { bytes: &mut *self.values, overflow: None };
            let found = self.index.finish_long(self.access, *pending, key, &mut output);
            let overflow = output.overflow;
            let value = found.map(|span| overflow.map_or(Value::Appended(span), Value::Overflow));
            (self.done)(self.values, stage.first + place, value);
        }
    }
    /// Appends the value that the slab, or the first chained bucket, has for a key, if it has one.
    #[inline(always)]
    fn append_next(&mut self, pending: Pending, key: &HashedKey<'_>) -> Option<Span> {
        let span = match pending.next() {
            Next::Beginning => return None,
            Next::Chained(address) => {
                let bucket = self.access.try_bucket(address)?;
                let pair = bucket.find_inline(key)?;
                append_inline(&bucket, pair.value, pair.value_length, self.values)
            }
            Next::Slab(slab) => {
                let words = self.access.try_slab(slab)?;
                let Some(Match::Value(length)) = words.compare(key) else { return None };
                words.append_value(key.bytes.len(), length, self.values)
            }
        };
        if self.index.stripe(key.hash).lock.unchanged(pending.number) {
            return Some(span);
        }
        self.values.truncate(span.start);
        None
    }
}
