//! How a server is set up.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use honeycomb_protocol::resp::Limits;

/// The parameters of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens. Default: port 6379 of the loopback address.
    pub address: SocketAddr,
    /// Threads, each with connections of its own. Default: one a core of the machine.
    pub cores: usize,
    /// Numbered tables that `SELECT` chooses from. Default: 16.
    pub databases: usize,
    /// What `AUTH` must say before anything else; none lets everybody in. Default: none.
    pub password: Option<String>,
    /// Connections at one time, over all cores. Further ones are told so and closed. Default: 10,000.
    pub connections_max: usize,
    /// What one request may be.
    pub request: Limits,
    /// Bytes of replies that a client may leave unread before its further commands wait. Default: 1 MiB.
    pub unsent_bytes_max: usize,
    /// How long replies are still sent after a stop was asked for. Default: 2 seconds.
    pub grace: Duration,
}

impl Default for Config {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 6379)),
            cores,
            databases: 16,
            password: None,
            connections_max: 10_000,
            request: Limits::default(),
            unsent_bytes_max: 1 << 20,
            grace: Duration::from_secs(2),
        }
    }
}

impl Config {
    /// The parameter that is not allowed, if there is one.
    pub(crate) fn wrong(&self) -> Option<(&'static str, usize, &'static str)> {
        let parameters = [
            ("cores", self.cores, 1..=1024, "1 to 1024"),
            ("databases", self.databases, 1..=65_000, "1 to 65000"),
            ("connections_max", self.connections_max, 1..=1_000_000, "1 to 1000000"),
            ("unsent_bytes_max", self.unsent_bytes_max, 1..=1 << 40, "1 to 2^40"),
        ];
        let wrong = parameters.into_iter().find(|(_, value, allowed, _)| !allowed.contains(value));
        wrong.map(|(name, value, _, allowed)| (name, value, allowed))
    }
}
