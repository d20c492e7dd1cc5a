//! Files that a step could not handle. Reports show them, so that no file disappears silently.

use std::fmt;

use indicatif::HumanCount;
use serde::Serialize;

const NAMES_MAX: usize = 5;

/// The number of exceptional files, and the names of the first few.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Exceptions {
    /// The number of files.
    pub(crate) count: u64,
    /// The names of the first five.
    #[serde(rename = "named")]
    pub(crate) names: Vec<String>,
}

impl Exceptions {
    /// Adds a file.
    pub(crate) fn add(&mut self, name: impl FnOnce() -> String) {
        self.count += 1;
        if self.names.len() < NAMES_MAX {
            self.names.push(name());
        }
    }
}

/// Writes the count and the names: `2: /a, /b`.
impl fmt::Display for Exceptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", HumanCount(self.count))?;
        if self.count > 0 {
            write!(f, ": {}", self.names.join(", "))?;
        }
        match self.count - self.names.len() as u64 {
            0 => Ok(()),
            more => write!(f, " and {} more", HumanCount(more)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_are_named_and_all_are_counted() {
        let mut exceptions = Exceptions::default();
        assert_eq!(exceptions.to_string(), "0");
        exceptions.add(|| "a".into());
        assert_eq!(exceptions.to_string(), "1: a");
        (0..5).for_each(|name| exceptions.add(|| name.to_string()));
        assert_eq!(exceptions.to_string(), "6: a, 0, 1, 2, 3 and 1 more");
    }
}
