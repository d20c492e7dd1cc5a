//! The end of a restore.

use std::fmt;

/// The last record of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// All records.
    End,
    /// The records up to this version.
    Version(u64),
    /// The records of groups that the log has taken up to this time, in milliseconds since 1970.
    Time(u64),
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("end of the log"),
            Self::Version(version) => write!(f, "version {version}"),
            Self::Time(time) => write!(f, "time {}.{:03} (seconds since 1970)", time / 1000, time % 1000),
        }
    }
}
