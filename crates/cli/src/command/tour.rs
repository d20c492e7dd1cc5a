//! `honeycomb tour`: starts a server and runs the example application on it.

use std::io::{self, IsTerminal};
use std::time::Duration;

use honeycomb_file_index::tour::{self, Step};
use honeycomb_file_index::{Options, ServerStore, Walk, index};
use honeycomb_server::{Config, Server, SystemTime};
use honeycomb_store::Store;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::index::IndexResult;
use crate::arguments::TourArguments;
use crate::error::Error;
use crate::report::{self, Report, ReportText};
use crate::store_summary::StoreSummary;
use crate::{Status, image, progress};

/// The number of random byte ranges to compare.
const RANGES: u64 = 4000;

/// The result of the index run and of the tour.
#[derive(Serialize)]
struct TourResult {
    #[serde(flatten)]
    index: IndexResult,
    tour: Vec<Step>,
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
    let walk = Walk::new(&arguments.directory, progress::start_phase)?;
    let (server, mut store) = start_server(arguments, walk.raw_bytes())?;
    let index: IndexResult = index(&walk, &ServerStore::new(server.address()), &options(arguments))?.into();
    let status = index.status();
    let result = TourResult { index, tour: tour::run(server.address(), &arguments.directory)? };
    let json = arguments.json.json;
    if !json {
        report::print(&result, false)?;
    }
    if !arguments.once && io::stdin().is_terminal() {
        eprintln!("serving at {}; Ctrl-C stops the server", server.address());
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(honeycomb_server::Error::Io)?;
        signals.forever().next();
    }
    server.stop()?;
    let end = FinalStore { store: StoreSummary::new(&mut store)? };
    if json {
        report::print(&CompleteResult { tour: result, end }, true)?;
    } else {
        report::print(&end, false)?;
    }
    Ok(status)
}

/// Starts a server with memory for `input_bytes` of keys and values. Also returns a handle of its store.
fn start_server(arguments: &TourArguments, input_bytes: u64) -> Result<(Server, Store), Error> {
    let memory_bytes = image::memory_bytes(&arguments.memory, input_bytes)?;
    let config = Config { address: arguments.address, memory_bytes, ..Config::default() };
    let store = config.open_store()?;
    Ok((Server::start(config, store.clone(), Box::new(SystemTime))?, store))
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
