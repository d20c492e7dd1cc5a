//! `honeycomb serve`: serves a store to Redis clients and to clients of datagrams.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread;

use honeycomb_server::{Config, LogFormat, Server, SystemTime};
use honeycomb_store::{Recovery, RecoveryProgress, Store};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::Status;
use crate::arguments::ServeArguments;
use crate::error::Error;
use crate::progress::{Progress, Unit};
use crate::report::{self, Report, ReportText};

/// The addresses and the size of a running server.
#[derive(Serialize)]
struct ServerReport {
    address: String,
    ocsm: Option<String>,
    batch: Option<String>,
    metrics: Option<String>,
    cores: usize,
    memory_bytes: u64,
    directory: Option<String>,
    durability: Option<String>,
    recovery: Option<Recovery>,
}

impl Report for ServerReport {
    fn write_text(&self, text: &mut ReportText) {
        text.line(format_args!("serving at {}; Ctrl-C stops the server", self.address));
        for (protocol, address) in [("storage messages", &self.ocsm), ("batches", &self.batch)] {
            address.iter().for_each(|address| text.line(format_args!("{protocol} at {address}, over UDP")));
        }
        self.metrics
            .iter()
            .for_each(|address| text.line(format_args!("metrics at http://{address}/metrics")));
        text.bytes("memory", self.memory_bytes, "");
        text.count("cores", self.cores as u64, "");
        match (&self.directory, &self.recovery) {
            (Some(directory), Some(recovery)) => {
                text.line(format_args!("durable in {directory}"));
                text.count("recovered pairs", recovery.pairs, "from the checkpoint");
                text.count("replayed", recovery.records, "records of the log");
                if recovery.cut_bytes > 0 {
                    text.bytes("torn tail", recovery.cut_bytes, "of writes that were not acknowledged");
                }
            }
            _ => text.line("in memory only: a stop loses all data; --dir makes the store durable"),
        }
    }
}

/// Runs the command until a signal or a client stops the server.
///
/// # Errors
/// A parameter is invalid, or the store or the server does not start.
pub(crate) fn run(arguments: &ServeArguments) -> Result<Status, Error> {
    let variable = |name: &str| std::env::var(name).ok();
    let config = arguments.parameters.config(arguments.config.as_deref(), variable)?;
    if arguments.print_config {
        report::write(config.to_toml().as_bytes())?;
        return Ok(Status::Success);
    }
    // An invalid combination leaves no new directory.
    config.check_with_store().map_err(honeycomb_server::Error::from)?;
    // The handlers exist before the server starts, so that no signal is lost.
    let signals = Signals::new([SIGINT, SIGTERM]).map_err(honeycomb_server::Error::Io)?;
    start_log(&config);
    let (cores, memory_bytes) = (config.cores, config.memory_bytes as u64);
    let (directory, policy) = (config.directory.clone(), config.durability);
    let store = open_store(&config)?;
    let recovery = store.recovery();
    if store.durability_statistics().is_some_and(|statistics| !statistics.is_direct) {
        tracing::warn!(
            "the file system rejects direct writes (O_DIRECT): the log is written through its cache"
        );
    }
    let server = Server::start(config, store, Box::new(SystemTime))?;
    let text = |address: Option<SocketAddr>| address.map(|address| address.to_string());
    let report = ServerReport {
        address: server.address().to_string(),
        ocsm: text(server.ocsm_address()),
        batch: text(server.batch_address()),
        metrics: text(server.metrics()),
        cores,
        memory_bytes,
        directory: directory.map(|path| path.display().to_string()),
        durability: recovery.is_some().then(|| format!("{policy:?}").to_ascii_lowercase()),
        recovery,
    };
    // The first client may send SHUTDOWN as soon as it knows the address.
    let end = end_of_service(&server, signals);
    report::print(&report, arguments.json.json)?;
    if let Ok(Some(signal)) = end.recv() {
        tracing::info!(signal, "received a signal");
    }
    server.stop()?;
    Ok(Status::Success)
}

/// Opens the store, and shows the progress of its recovery.
fn open_store(config: &Config) -> Result<Store, Error> {
    let bar = Mutex::new(RecoveryBar::default());
    let report = move |now: RecoveryProgress| {
        if let Ok(mut bar) = bar.lock() {
            bar.show(now);
        }
    };
    Ok(config.open_store_with(Some(Arc::new(report)))?)
}

/// The phase of a recovery, its progress, and the amount so far.
#[derive(Default)]
struct RecoveryBar(Option<(&'static str, Progress, u64)>);

impl RecoveryBar {
    fn show(&mut self, now: RecoveryProgress) {
        let (phase, total, unit, done) = match now.records {
            0 => ("loading the checkpoint", Some(now.pairs_total), "pairs", now.pairs),
            records => ("replaying the log", None, "records", records),
        };
        if self.0.as_ref().is_none_or(|(shown, ..)| *shown != phase) {
            self.0 = Some((phase, Progress::new(phase, total, Unit::Items(unit)), 0));
        }
        if let Some((_, progress, before)) = &mut self.0 {
            progress.advance(done - *before);
            *before = done;
        }
    }
}

/// Returns a channel that receives the number of a signal, or `None` after a client has executed `SHUTDOWN`.
fn end_of_service(server: &Server, mut signals: Signals) -> Receiver<Option<i32>> {
    let (sender, end) = mpsc::channel();
    let shutdown = sender.clone();
    server.on_shutdown(move || _ = shutdown.send(None));
    thread::spawn(move || signals.forever().for_each(|signal| _ = sender.send(Some(signal))));
    end
}

/// Starts to write log lines to standard error.
fn start_log(config: &Config) {
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false);
    let log = log.with_max_level(config.log_level).with_ansi(std::io::stderr().is_terminal());
    match config.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recovery_shows_the_checkpoint_and_then_the_log() {
        let mut bar = RecoveryBar::default();
        let mut shown = Vec::new();
        for (pairs, records) in [(10, 0), (20, 0), (20, 5), (20, 9)] {
            bar.show(RecoveryProgress { pairs, pairs_total: 20, records });
            shown.extend(bar.0.as_ref().map(|(phase, _, done)| (*phase, *done)));
        }
        let (load, replay) = ("loading the checkpoint", "replaying the log");
        assert_eq!(shown, [(load, 10), (load, 20), (replay, 5), (replay, 9)]);
    }
}
