//! The errors after which the store makes room and retries.

use honeycomb_memory::MemoryError;

use crate::error::Error;

/// An error that may be the exhaustion of the arena.
pub(crate) trait Exhaustible {
    fn is_exhausted(&self) -> bool;
}

pub(crate) fn is_exhausted<T, E: Exhaustible>(result: &Result<T, E>) -> bool {
    result.as_ref().is_err_and(Exhaustible::is_exhausted)
}

impl Exhaustible for honeycomb_btree::Error {
    fn is_exhausted(&self) -> bool {
        matches!(self, Self::Memory(MemoryError::Exhausted { .. }))
    }
}

impl Exhaustible for honeycomb_hashtable::Error {
    fn is_exhausted(&self) -> bool {
        matches!(self, Self::Memory(MemoryError::Exhausted { .. }))
    }
}

impl Exhaustible for Error {
    fn is_exhausted(&self) -> bool {
        matches!(self, Self::OutOfMemory { .. })
    }
}
