//! Standard output of the commands.

use std::io::{ErrorKind, Write, stdout};

use crate::map::Failure;

/// Prints text. Ignores a closed standard output, such as that of a pipe to `head`.
pub fn print(text: &str) -> Result<(), Failure> {
    match stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
