//! A position in the changes of a store.

use std::fmt;
use std::str::FromStr;

use honeycomb_btree::Version;

/// A position in the changes of a store: a reader has all changes before it. As text it is a version such as
/// `950`, or `951:20` within a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangePosition {
    /// After all changes of a version.
    After(Version),
    /// Within the changes of a version that has many.
    Within {
        /// The version.
        version: Version,
        /// The number of its changes before the position, also of those in other tables and of old values.
        changes: u64,
    },
}

impl ChangePosition {
    /// Returns the version up to which all changes are before the position.
    #[must_use]
    pub fn version(self) -> Version {
        match self {
            Self::After(version) => version,
            Self::Within { version, .. } => version - 1,
        }
    }
}

impl From<Version> for ChangePosition {
    fn from(version: Version) -> Self {
        Self::After(version)
    }
}

impl fmt::Display for ChangePosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::After(version) => write!(formatter, "{version}"),
            Self::Within { version, changes } => write!(formatter, "{version}:{changes}"),
        }
    }
}

impl FromStr for ChangePosition {
    type Err = InvalidPosition;

    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        let (version, changes) = text.split_once(':').map_or((text, None), |(one, two)| (one, Some(two)));
        let version = number(version)?;
        match changes.map(number).transpose()? {
            None => Ok(Self::After(version)),
            Some(changes) if version > 0 => Ok(Self::Within { version, changes }),
            Some(_) => Err(InvalidPosition),
        }
    }
}

/// The text is not a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid position: allowed are a version, and version:changes with a version of at least 1")]
pub struct InvalidPosition;

/// Parses decimal digits. A reply has no larger numbers.
fn number(text: &str) -> Result<u64, InvalidPosition> {
    let has_sign = text.starts_with('+');
    let number = text.parse::<u64>().ok().filter(|&number| !has_sign && i64::try_from(number).is_ok());
    number.ok_or(InvalidPosition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_versions_or_numbers_of_changes_of_one() {
        let last = i64::MAX as u64;
        let within = |version, changes| ChangePosition::Within { version, changes };
        for (text, position) in [
            ("0", ChangePosition::After(0)),
            ("9223372036854775807", last.into()),
            ("1:0", within(1, 0)),
            ("950:20", within(950, 20)),
            ("9223372036854775807:9223372036854775807", within(last, last)),
        ] {
            assert_eq!(text.parse(), Ok(position));
            assert_eq!(position.to_string(), text);
        }
        for text in ["", ":", "1:", ":1", "0:1", "-1", "+1", "1:+1", "1:2:3", "9223372036854775808", "1 "] {
            assert_eq!(text.parse::<ChangePosition>(), Err(InvalidPosition), "{text}");
        }
    }
}
