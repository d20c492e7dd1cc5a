//! `honeycomb serve`: a store for Redis clients.

use crate::{
    Verdict,
    arguments::Serve,
    error::Error,
    image,
    output::{self, Report, Sheet},
    units,
};
use honeycomb_server::{Config, Server, SystemTime};
use serde::Serialize;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};

#[derive(Serialize)]
struct Serving {
    address: String,
    cores: usize,
    memory_bytes: u64,
}

impl Report for Serving {
    fn sheet(&self, sheet: &mut Sheet) {
        sheet.line(&format!("serving at {}; Ctrl-C ends it", self.address));
        sheet.number("memory", &units::bytes(self.memory_bytes), "");
        sheet.number("cores", &units::count(self.cores as u64), "");
    }
}

/// Runs the command: until a signal ends it.
///
/// # Errors
/// The store or the server cannot be had.
pub(crate) fn run(arguments: &Serve) -> Result<Verdict, Error> {
    // Before the server starts: a signal meanwhile must not be lost.
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(honeycomb_server::Error::Io)?;
    let store = image::for_server(&arguments.memory, 0)?;
    let memory_bytes = store.statistics().memory.arena_bytes as u64;
    let defaults = Config::default();
    let config = Config {
        address: arguments.address,
        cores: arguments.cores.unwrap_or(defaults.cores),
        databases: arguments.databases,
        password: arguments.password.clone(),
        connections_max: arguments.connections,
        ..defaults
    };
    let cores = config.cores;
    let server = Server::start(config, store, Box::new(SystemTime))?;
    let serving = Serving { address: server.address().to_string(), cores, memory_bytes };
    output::print(&serving, arguments.json.json)?;
    signals.forever().next();
    server.stop()?;
    Ok(Verdict::Good)
}
