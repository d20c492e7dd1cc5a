//! Errors of the files of a store.

use std::io;

use thiserror::Error;

use crate::until::Until;

/// Why the files of a store could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The disk has no room for the next log file or for a checkpoint. Nothing is lost: writing can be
    /// retried when there is room.
    #[error("the disk is full: no room for `{file}`")]
    Full {
        /// The file that could not be created.
        file: String,
    },
    /// A call of the disk has failed. The state of the bytes that it was to write is unknown.
    #[error("cannot {action} `{file}`: {source}")]
    Io {
        /// The action.
        action: &'static str,
        /// The file.
        file: String,
        /// The error of the disk.
        #[source]
        source: io::Error,
    },
    /// Bytes that were durable are not valid any more.
    #[error("`{file}` is corrupt at byte {offset}, after version {version}: {rule}")]
    Corrupt {
        /// The file.
        file: String,
        /// The offset of the first invalid byte string.
        offset: u64,
        /// The last version before it.
        version: u64,
        /// The violated rule.
        rule: &'static str,
    },
    /// A file of the store is absent.
    #[error("`{file}` is missing, but {reason}")]
    Missing {
        /// The file.
        file: String,
        /// The reason that it must exist.
        reason: &'static str,
    },
    /// The archive has another file of this name.
    #[error("the archive has `{file}` of another history of the store: give the store an empty archive")]
    OtherHistory {
        /// The file.
        file: String,
    },
    /// A restore needs a directory without files of a store.
    #[error("the directory has `{file}`: allowed is a directory without files of a store")]
    NotEmpty {
        /// The file.
        file: String,
    },
    /// A restore into the directory was interrupted, or still runs.
    #[error("a restore into the directory has not ended")]
    UnfinishedRestore,
    /// The image is later than the requested version or time.
    #[error(
        "the image is of version {version} and of {time}, which is later than the requested {requested}",
        time = Until::Time(*time)
    )]
    ImageTooNew {
        /// The version of the image.
        version: u64,
        /// Its time in milliseconds since 1970.
        time: u64,
        /// The requested version or time.
        requested: Until,
    },
    /// The log ends before the requested version.
    #[error("the log ends at version {version}, before the requested version {requested}")]
    LogTooShort {
        /// The version of the last record, or of the image.
        version: u64,
        /// The requested version.
        requested: u64,
    },
    /// The format is not supported.
    #[error("`{file}` has format {found}: this program reads format {supported}")]
    Format {
        /// The file.
        file: String,
        /// The format of the file.
        found: u32,
        /// The only supported format.
        supported: u32,
    },
}

impl LogError {
    /// Returns a function that adds the action and the file to an error of the disk.
    pub(crate) fn io(action: &'static str, file: &str) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |source| Self::Io { action, file, source }
    }

    /// Like [`LogError::io`], for an action that needs room and has changed nothing that matters.
    pub(crate) fn room(action: &'static str, file: &str) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { file },
            _ => Self::Io { action, file, source },
        }
    }

    /// Returns whether the disk was full, so that a retry may succeed.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}
