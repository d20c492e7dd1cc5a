//! Errors of starting and stopping a server.

use std::io;
use std::net::SocketAddr;

use crate::parameters::Refused;

/// Why a server was not started, or has ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is not allowed.
    #[error(transparent)]
    Parameter(#[from] Refused),
    /// The system drew no secret for tokens.
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
    /// Nobody can listen there.
    #[error("cannot listen on {address} (parameter {parameter}): {error}")]
    Listen {
        /// The parameter that names the address.
        parameter: &'static str,
        /// Where.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The store has no room for the tables.
    #[error(transparent)]
    Store(#[from] honeycomb_store::Error),
    /// The system refused something.
    #[error(transparent)]
    Io(#[from] io::Error),
}
