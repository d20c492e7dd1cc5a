//! Whoever keeps the pairs of an index: a store of this process, or a server.

mod local;
mod remote;

use crate::{error::Error, pages::Request};

pub(crate) use local::Local;
pub(crate) use remote::{Remote, bounds};

/// A table of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Path to metadata; see [`crate::index`].
    Files,
    /// (File, offset) to chunk.
    Chunks,
    /// Numbers that were given out.
    Counters,
}

/// A pair that is to be put.
pub(crate) struct New {
    pub(crate) place: Place,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// Keeps the pairs of an index.
pub(crate) trait Keeper: Sync {
    /// Adds to a number that begins at 0, and returns the sum.
    ///
    /// # Errors
    /// The store is full, or cannot be reached.
    fn add(&self, place: Place, key: &[u8], amount: i64) -> Result<i64, Error>;

    /// Puts pairs, one after the other.
    ///
    /// # Errors
    /// As [`Keeper::add`].
    fn put(&self, pairs: &[New]) -> Result<(), Error>;

    /// Takes a pair out, if it is there.
    ///
    /// # Errors
    /// As [`Keeper::add`].
    fn delete(&self, place: Place, key: &[u8]) -> Result<(), Error>;

    /// Takes out all pairs from one key up to another, without that one.
    ///
    /// # Errors
    /// As [`Keeper::add`].
    fn delete_range(&self, place: Place, from: &[u8], to: &[u8]) -> Result<(), Error>;

    /// What is kept at this moment.
    ///
    /// # Errors
    /// As [`Keeper::add`].
    fn moment(&self) -> Result<Box<dyn Moment + '_>, Error>;
}

/// Takes a pair.
pub(crate) type Take<'t> = &'t mut dyn FnMut(&[u8], &[u8]) -> Result<(), Error>;

/// What was kept at one moment.
pub(crate) trait Moment: Sync {
    /// The value of a key.
    ///
    /// # Errors
    /// The moment is too long ago, or the store cannot be reached.
    fn get(&self, place: Place, key: &[u8]) -> Result<Option<Vec<u8>>, Error>;

    /// Calls `take` with every pair that is asked for, forward and with values.
    ///
    /// # Errors
    /// As [`Moment::get`], or an error of `take`.
    fn scan(&self, place: Place, request: Request, take: Take<'_>) -> Result<(), Error>;
}
