//! The limit on table names.

use crate::error::Error;

/// Length of the longest table name in bytes.
pub const TABLE_NAME_BYTES_MAX: usize = 255;

/// Checks the length of a table name.
pub(crate) fn check(name: &str) -> Result<(), Error> {
    if (1..=TABLE_NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(());
    }
    Err(Error::TableName { bytes: name.len() })
}
