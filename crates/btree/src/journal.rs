//! The seam to a journal, which makes the changes of a forest durable.

use honeycomb_log::Changes;
use honeycomb_memory::Version;

/// Receives the changes of versions.
pub trait Journal: Send + Sync {
    /// Takes the changes of a version, and leaves none. The versions of different threads arrive in any
    /// order, but each one before it is released, from the thread that has taken it by an atomic exchange
    /// before. The call delays all later versions, so it must not wait for a disk.
    fn append(&self, version: Version, changes: &mut Changes);

    /// Whether changes of pairs have the values before them. A transaction asks once, so an answer that
    /// changes concerns transactions that begin later.
    fn has_old_values(&self) -> bool {
        false
    }
}
