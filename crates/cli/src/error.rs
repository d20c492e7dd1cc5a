//! What can go wrong, said with what was wrong and what is allowed.

use crate::text;
use honeycomb_store::Error as StoreError;
use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};
use thiserror::Error;

/// Why a command could not be done.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// The file system refused something.
    #[error("cannot {doing} {}: {source}", text::path(path))]
    File {
        /// What was to be done to the path, such as `read`.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line of input is not a pair.
    #[error("{file}:{line}: {problem}")]
    Line {
        /// The input's name.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong and what is allowed.
        problem: String,
    },
    /// The arguments make no sense together, or not with what the store holds.
    #[error("{0}")]
    Arguments(String),
    /// An image cannot be loaded or saved.
    #[error("cannot {doing} {}: {source}", text::path(path))]
    Image {
        /// `load` or `save`.
        doing: &'static str,
        /// The image.
        path: PathBuf,
        /// What the store said.
        source: StoreError,
    },
    /// The store refused something.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A parameter of the server is not allowed.
    #[error("{place}: {source}")]
    Parameter {
        /// Where it was said.
        place: String,
        /// What is wrong and what is allowed.
        source: honeycomb_server::Refused,
    },
    /// The server did not start, or has ended.
    #[error(transparent)]
    Server(#[from] honeycomb_server::Error),
    /// A server cannot be reached, or refused something.
    #[error("the server at {address}: {problem}")]
    Wire {
        /// Where the server is.
        address: SocketAddr,
        /// What is wrong.
        problem: String,
    },
    /// Standard output cannot be written.
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
}

impl Error {
    /// The error of `doing` something to `path`; for `map_err`.
    pub(crate) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::File { doing, path: path.to_owned(), source }
    }

    /// The error of a parameter that was said in a `place`; for `map_err`.
    pub(crate) fn parameter(place: String) -> impl FnOnce(honeycomb_server::Refused) -> Error {
        |source| Error::Parameter { place, source }
    }

    /// The error of `doing` something to the image at `path`; for `map_err`.
    pub(crate) fn image(doing: &'static str, path: &Path) -> impl FnOnce(StoreError) -> Error {
        move |source| Error::Image { doing, path: path.to_owned(), source }
    }

    /// What the user can do about it, where that is not plain from the error.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        let (Error::Store(source) | Error::Image { source, .. }) = self else { return None };
        match source {
            StoreError::OutOfMemory { .. } => Some("--memory gives the store more, such as --memory 4GiB"),
            _ => None,
        }
    }

    /// Whether whoever read our output has gone, which is no error: `honeycomb scan | head`.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
