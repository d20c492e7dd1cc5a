//! The errors of the application.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use redis::RedisError;

use crate::escape;

/// An error of the file system, of the store or of the connection to it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be accessed.
    #[error("cannot {action} {}: {source}", escape::path(path))]
    File {
        /// The failed action, such as `read`.
        action: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A table contains a pair that this application did not write.
    #[error("table `{table}` contains a pair that is not part of an index; its key is {key}")]
    ForeignPair {
        /// The name of the table.
        table: &'static str,
        /// The key, escaped.
        key: String,
    },
    /// The embedded store returned an error.
    #[error(transparent)]
    Store(#[from] honeycomb_store::Error),
    /// A server is unreachable or returned an error.
    #[error("the server at {address}: {source}")]
    Server {
        /// The address of the server.
        address: SocketAddr,
        /// The error of the Redis client.
        source: RedisError,
    },
}

impl Error {
    /// Returns a closure for `map_err` that adds the failed action and the path.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::File { action, path: path.to_owned(), source }
    }

    /// Returns a closure for `map_err` that adds the address of the server.
    pub(crate) fn server(address: SocketAddr) -> impl Fn(RedisError) -> Error {
        move |source| Error::Server { address, source }
    }

    /// Returns the error for a pair with an unknown format.
    pub(crate) fn foreign_pair(table: &'static str, key: &[u8]) -> Error {
        Error::ForeignPair { table, key: escape::bytes(key) }
    }
}
