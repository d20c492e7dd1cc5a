//! `honeycomb tour`: starts a server and runs the example application on it.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use honeycomb_file_index::tour::{self, Step};
use honeycomb_file_index::{Options, ServerStore, Walk, index};
use serde::Serialize;

use super::index::IndexResult;
use crate::arguments::TourArguments;
use crate::error::Error;
use crate::report::{self, Report, ReportText};
use crate::server_process::{EndSignals, ServerProcess};
use crate::store_summary::StoreSummary;
use crate::tour_server::TourServer;
use crate::{Status, image, progress};

/// The number of random byte ranges to compare.
const RANGES: u64 = 4000;

/// The result of the index run and of the tour.
#[derive(Serialize)]
struct TourResult {
    #[serde(flatten)]
    index: IndexResult,
    #[serde(skip_serializing_if = "Option::is_none")]
    restart: Option<Restart>,
    tour: Vec<Step>,
}

/// The restart of a server after SIGKILL.
#[derive(Serialize)]
struct Restart {
    pairs_before: u64,
    pairs_after: u64,
    seconds: f64,
}

/// The store after the server has stopped.
#[derive(Serialize)]
struct FinalStore {
    store: StoreSummary,
}

/// Both results, as one JSON document.
#[derive(Serialize)]
struct CompleteResult {
    #[serde(flatten)]
    tour: TourResult,
    #[serde(flatten)]
    end: FinalStore,
}

/// Runs the command. Returns at the end of the tour or, if standard input is a terminal, after a signal.
///
/// # Errors
/// The directory cannot be read, the server does not start, or the store is full.
pub(crate) fn run(arguments: &TourArguments) -> Result<Status, Error> {
    let process = ServerProcess::default();
    let signals = EndSignals::handle(&process).map_err(honeycomb_server::Error::Io)?;
    let walk = Walk::new(&arguments.directory, progress::start_phase)?;
    let memory_bytes = image::memory_bytes(&arguments.memory, walk.raw_bytes())?;
    let mut server = TourServer::start(arguments.address, memory_bytes, arguments.dir.as_deref(), &process)?;
    let index: IndexResult = index(&walk, &ServerStore::new(server.address()), &options(arguments))?.into();
    let restart = kill_and_restart(&mut server)?;
    let is_complete = restart.as_ref().is_none_or(|restart| restart.pairs_before == restart.pairs_after);
    let status = if is_complete { index.status() } else { Status::Negative };
    let result = TourResult { index, restart, tour: tour::run(server.address(), &arguments.directory)? };
    let json = arguments.json.json;
    if !json {
        report::print(&result, false)?;
    }
    if !arguments.once && io::stdin().is_terminal() {
        eprintln!("serving at {}; Ctrl-C stops the server", server.address());
        signals.wait();
    }
    let mut store = server.stop()?;
    let end = FinalStore { store: StoreSummary::new(&mut store)? };
    if json {
        report::print(&CompleteResult { tour: result, end }, true)?;
    } else {
        report::print(&end, false)?;
    }
    Ok(status)
}

/// Kills a server that is a process of its own, and starts it again.
fn kill_and_restart(server: &mut TourServer) -> Result<Option<Restart>, Error> {
    let TourServer::Process(process) = server else { return Ok(None) };
    let pairs = |address| tour::pairs(address).map(|pairs| pairs.iter().sum::<u64>());
    let pairs_before = pairs(process.address())?;
    let start = Instant::now();
    process.kill_and_restart()?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Some(Restart { pairs_before, pairs_after: pairs(process.address())?, seconds }))
}

fn options(arguments: &TourArguments) -> Options {
    Options {
        checksums: true,
        seed: fastrand::u64(..),
        ranges: RANGES,
        compare_time: Duration::from_secs(arguments.compare_seconds),
        start_phase: progress::start_phase,
    }
}

impl Report for TourResult {
    fn write_text(&self, text: &mut ReportText) {
        self.index.write_text(text);
        if let Some(Restart { pairs_before, pairs_after, seconds }) = &self.restart {
            text.line(format_args!("killed the server (SIGKILL) and started it again in {seconds:.1} s"));
            text.count("pairs before", *pairs_before, "");
            text.count("pairs after", *pairs_after, "");
        }
        self.tour.iter().for_each(|step| text.lines(step));
    }
}

impl Report for FinalStore {
    fn write_text(&self, text: &mut ReportText) {
        text.line("the server has stopped, and no invariant of its store is violated");
        self.store.write_text(text);
    }
}

impl Report for CompleteResult {
    fn write_text(&self, text: &mut ReportText) {
        self.tour.write_text(text);
        self.end.write_text(text);
    }
}
