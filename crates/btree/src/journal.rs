//! The seam to a journal, which makes the changes of a forest durable.

use honeycomb_log::Changes;
use honeycomb_memory::Version;

/// Receives the changes of versions.
pub trait Journal: Send + Sync {
    /// Receives the changes of a version. The versions of different threads arrive in any order, but each one
    /// before it is released. The call delays all later versions, so it must not wait for a disk.
    fn append(&self, version: Version, changes: Changes);

    /// Whether changes of pairs have the values before them. The answer must not change.
    fn has_old_values(&self) -> bool {
        false
    }
}
