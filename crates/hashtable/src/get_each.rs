//! Batches of gets without requests and answers: keys in, values in a buffer of the caller.
//!
//! The gets execute in the order of the keys, one after the other, in the steps of `in_order`.

use std::ops::Deref;

use honeycomb_memory::Memory;
use honeycomb_memory::heads::{Vectorized, Vectors, vectorized};

use crate::access::Access;
use crate::batch::WINDOW;
use crate::directory::{Directory, Numbering};
use crate::hash::HashedKey;
use crate::index::{Index, check_key};
use crate::operation::Span;
use crate::read::{Borrowed, Step};
use crate::table::Table;
use crate::windows::{self, Windows};

/// The value that a get has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'v> {
    /// It is now at the end of the buffer.
    Appended(Span),
    /// A value that is too long for a slab, in the memory of the table.
    Overflow(&'v [u8]),
}

impl<M: Deref<Target = Memory>> Table<M> {
    /// Gets values, appends those of up to 512 bytes to `values`, and passes each get to `done`: the buffer,
    /// the index of the get, and its value, or `None` if the key is absent. `done` may shorten the buffer, or
    /// append to it.
    ///
    /// The gets execute in the order of the keys: none sees an older state than one before it. The memory
    /// responds to 16 to 32 of them at once.
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

/// The gets of a window.
#[derive(Debug, Default)]
struct Stage<'g> {
    /// The index of the first one, and the number of the gets.
    first: usize,
    count: usize,
    window: [Step<'g>; WINDOW],
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
    fn run(self, _: impl Vectors) {
        windows::run(self);
    }
}

impl<'g, 'k: 'g, K, D> Windows for GetEach<'g, '_, K, D>
where
    K: Iterator<Item = &'k [u8]>,
    D: FnMut(&mut Vec<u8>, usize, Option<Value<'_>>),
{
    type Stage = Stage<'g>;

    #[inline(always)]
    fn begin(&mut self, stage: &mut Stage<'g>) -> bool {
        (stage.first, stage.count) = (self.begun, 0);
        while let Some(step) = stage.window.get_mut(stage.count)
            && let Some(key) = self.keys.next()
        {
            assert!(check_key(key).is_ok(), "a key of {} bytes", key.len());
            step.key = HashedKey::new(self.index.config.seed, key);
            step.bucket = self.index.choose(self.access, self.numbering, step.key.hash);
            stage.count += 1;
        }
        self.begun += stage.count;
        stage.count > 0
    }

    #[inline(always)]
    fn search(&mut self, Stage { count, window, .. }: &mut Stage<'g>) {
        for step in window.iter_mut().take(*count) {
            step.pending = self.index.see(self.access, self.state, step);
        }
    }

    #[inline(always)]
    fn execute(&mut self, Stage { first, count, window }: &Stage<'g>) {
        for (place, step) in window.iter().enumerate().take(*count) {
            let mut output = Borrowed { bytes: &mut *self.values, overflow: None };
            let found = self.index.get_seen(self.access, step, &mut output);
            let overflow = output.overflow;
            let value = found.map(|span| overflow.map_or(Value::Appended(span), Value::Overflow));
            (self.done)(self.values, first + place, value);
        }
    }
}
