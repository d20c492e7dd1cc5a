//! `honeycomb serve`: a store for Redis clients, and for datagrams.

use crate::{
    Verdict,
    arguments::Serve,
    error::Error,
    output::{self, Report, Sheet},
    units,
};
use honeycomb_server::{Config, LogFormat, Server, SystemTime};
use serde::Serialize;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use std::{io::IsTerminal, net::SocketAddr, sync::mpsc, thread};

#[derive(Serialize)]
struct Serving {
    address: String,
    ocsm: Option<String>,
    batch: Option<String>,
    metrics: Option<String>,
    cores: usize,
    memory_bytes: u64,
}

impl Report for Serving {
    fn sheet(&self, sheet: &mut Sheet) {
        sheet.line(&format!("serving at {}; Ctrl-C ends it", self.address));
        for (protocol, address) in [("storage messages", &self.ocsm), ("batches", &self.batch)] {
            address.iter().for_each(|address| sheet.line(&format!("{protocol} at {address}, over UDP")));
        }
        self.metrics.iter().for_each(|at| sheet.line(&format!("metrics at http://{at}/metrics")));
        sheet.number("memory", &units::bytes(self.memory_bytes), "");
        sheet.number("cores", &units::count(self.cores as u64), "");
    }
}

/// Runs the command: until a signal ends it.
///
/// # Errors
/// A parameter is not allowed; the store or the server cannot be had.
pub(crate) fn run(arguments: &Serve) -> Result<Verdict, Error> {
    let variable = |name: &str| std::env::var(name).ok();
    let config = arguments.parameters.config(arguments.config.as_deref(), variable)?;
    if arguments.print_config {
        output::write(config.to_toml().as_bytes())?;
        return Ok(Verdict::Good);
    }
    // Before the server starts: a signal meanwhile must not be lost.
    let signals = Signals::new([SIGINT, SIGTERM]).map_err(honeycomb_server::Error::Io)?;
    log(&config);
    let (cores, memory_bytes) = (config.cores, config.memory_bytes as u64);
    let store = config.open_store()?;
    let server = Server::start(config, store, Box::new(SystemTime))?;
    let shown = |address: Option<SocketAddr>| address.map(|address| address.to_string());
    let serving = Serving {
        address: server.address().to_string(),
        ocsm: shown(server.ocsm_address()),
        batch: shown(server.batch_address()),
        metrics: shown(server.metrics()),
        cores,
        memory_bytes,
    };
    output::print(&serving, arguments.json.json)?;
    wait_for_end(&server, signals);
    server.stop()?;
    Ok(Verdict::Good)
}

/// Waits until a signal comes or a client ends the server.
fn wait_for_end(server: &Server, mut signals: Signals) {
    let (ends, end) = mpsc::channel();
    let asked = ends.clone();
    server.on_shutdown(move || _ = asked.send(None));
    thread::spawn(move || signals.forever().for_each(|signal| _ = ends.send(Some(signal))));
    if let Ok(Some(signal)) = end.recv() {
        tracing::info!(signal, "a signal came");
    }
}

/// Has what happens written to standard error.
fn log(config: &Config) {
    let lines = tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false);
    let lines = lines.with_max_level(config.log_level).with_ansi(std::io::stderr().is_terminal());
    match config.log_format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
}
