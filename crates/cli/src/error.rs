//! The errors of commands. Messages name the invalid value and the allowed ones.

use std::io;
use std::path::{Path, PathBuf};

use honeycomb_store::{Error as StoreError, LogError};
use thiserror::Error;

use crate::encoding;

/// The reason why a command failed.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// A file cannot be accessed.
    #[error("cannot {action} {}: {source}", encoding::path(path))]
    File {
        /// The failed action, such as `read`.
        action: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A line of the input is not a pair.
    #[error("{file}:{line}: {problem}")]
    Line {
        /// The name of the input.
        file: String,
        /// The number of the line, from 1.
        line: u64,
        /// The invalid part and the allowed values.
        problem: String,
    },
    /// The arguments are inconsistent, or inconsistent with the store.
    #[error("{0}")]
    Arguments(String),
    /// An image cannot be loaded or saved.
    #[error("cannot {action} {}: {source}", encoding::path(path))]
    Image {
        /// `load` or `save`.
        action: &'static str,
        /// The path of the image.
        path: PathBuf,
        /// The error of the store.
        source: StoreError,
    },
    /// The store returned an error.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The log of a durable store cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The server did not execute a command of a backup.
    #[error("the server at {address}: {source}")]
    Remote {
        /// The address of the server.
        address: std::net::SocketAddr,
        /// The error of the connection or of the server.
        source: redis::RedisError,
    },
    /// A parameter of the server is invalid.
    #[error("{origin}: {source}")]
    Parameter {
        /// The flag, environment variable or file that contains the parameter.
        origin: String,
        /// The invalid value and the allowed ones.
        source: honeycomb_server::InvalidParameter,
    },
    /// The server did not start, or has ended.
    #[error(transparent)]
    Server(#[from] honeycomb_server::Error),
    /// The example application failed.
    #[error(transparent)]
    FileIndex(#[from] honeycomb_file_index::Error),
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
}

impl Error {
    /// Returns a closure for `map_err` that adds the failed action and the path.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::File { action, path: path.to_owned(), source }
    }

    /// Returns a closure for `map_err` that adds the origin of a parameter.
    pub(crate) fn parameter(origin: String) -> impl FnOnce(honeycomb_server::InvalidParameter) -> Error {
        |source| Error::Parameter { origin, source }
    }

    /// Returns a closure for `map_err` that adds the failed action and the path of an image.
    pub(crate) fn image(action: &'static str, path: &Path) -> impl FnOnce(StoreError) -> Error {
        move |source| Error::Image { action, path: path.to_owned(), source }
    }

    /// Returns the error of the log, if it is one.
    pub(crate) fn log_error(&self) -> Option<&LogError> {
        match (self, self.store_error()) {
            (Error::Log(error), _) | (_, Some(StoreError::Log(error))) => Some(error),
            _ => None,
        }
    }

    /// Returns the error of the store, if it is one.
    pub(crate) fn store_error(&self) -> Option<&StoreError> {
        match self {
            Error::Store(error) | Error::Image { source: error, .. } => Some(error),
            Error::FileIndex(honeycomb_file_index::Error::Store(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns whether the reader of standard output has closed the pipe, as in `honeycomb scan | head`. This
    /// is not a failure.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
