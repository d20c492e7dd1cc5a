//! Errors of starting and running a server.

use std::io;
use std::net::SocketAddr;

use crate::parameters::InvalidParameter;

/// The reason why a server did not start or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter has an invalid value.
    #[error(transparent)]
    Parameter(#[from] InvalidParameter),
    /// The system returned no random secret for tokens.
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
    /// The server cannot listen at an address.
    #[error("cannot listen on {address} (parameter {parameter}): {error}")]
    Listen {
        /// The parameter that sets the address.
        parameter: &'static str,
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        error: io::Error,
    },
    /// The store has no space for the tables.
    #[error(transparent)]
    Store(#[from] honeycomb_store::Error),
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
