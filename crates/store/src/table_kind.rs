//! The kinds of tables.

use std::fmt;

/// The kind of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// A [`Table`](crate::Table).
    Ordered,
    /// An [`UnorderedTable`](crate::UnorderedTable).
    Unordered,
}

impl fmt::Display for TableKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Ordered => "ordered",
            Self::Unordered => "unordered",
        })
    }
}
