//! `honeycomb tour`: a server, a directory tree indexed over the wire, and what the server answers.

mod shown;
mod steps;

use crate::{
    Verdict,
    arguments::{Index, JsonOption, MemoryOption, Tour},
    error::Error,
    image,
    index::{self, Indexed},
    output::{self, Report, Sheet},
    summary::Summary,
};
use honeycomb_server::{Config, Server, SystemTime};
use honeycomb_store::Store;
use serde::Serialize;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
};
use std::io::{self, IsTerminal};
use steps::Step;

/// What was done and asked.
#[derive(Serialize)]
struct Toured {
    #[serde(flatten)]
    indexed: Indexed,
    tour: Vec<Step>,
}

impl Report for Toured {
    fn sheet(&self, sheet: &mut Sheet) {
        self.indexed.sheet(sheet);
        self.tour.iter().for_each(|step| step.sheet(sheet));
    }
}

/// What the server left behind.
#[derive(Serialize)]
struct Ended {
    store: Summary,
}

impl Report for Ended {
    fn sheet(&self, sheet: &mut Sheet) {
        sheet.line("the server has ended, and every invariant of its store holds");
        self.store.sheet(sheet);
    }
}

/// Both, as one document for programs.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    toured: Toured,
    #[serde(flatten)]
    ended: Ended,
}

impl Report for Whole {
    fn sheet(&self, sheet: &mut Sheet) {
        self.toured.sheet(sheet);
        self.ended.sheet(sheet);
    }
}

/// Runs the command: until the tour is over, or until a signal ends it.
///
/// # Errors
/// The directory cannot be read, the server does not start, or the store is full.
pub(crate) fn run(arguments: &Tour) -> Result<Verdict, Error> {
    let mut serving = None;
    let indexed = index::at_server(&index_of(arguments), |bytes| {
        let (server, store) = start(arguments, bytes)?;
        let address = server.address();
        serving = Some((server, store));
        Ok(address)
    })?;
    let Some((server, mut store)) = serving else { unreachable!("an index behind a server has one") };
    let verdict = indexed.verdict();
    let toured = Toured { indexed, tour: steps::take(server.address(), &arguments.directory)? };
    let json = arguments.json.json;
    if !json {
        output::print(&toured, false)?;
    }
    if !arguments.once && io::stdin().is_terminal() {
        eprintln!("serving at {}; Ctrl-C ends it", server.address());
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(honeycomb_server::Error::Io)?;
        signals.forever().next();
    }
    server.stop()?;
    let ended = Ended { store: Summary::of(&mut store)? };
    if json {
        output::print(&Whole { toured, ended }, true)?
    } else {
        output::print(&ended, false)?
    }
    Ok(verdict)
}

/// A server with room for so many bytes of keys and values, and another handle of its store.
fn start(arguments: &Tour, input_bytes: u64) -> Result<(Server, Store), Error> {
    let memory_bytes = image::server_bytes(&arguments.memory, input_bytes)?;
    let config = Config { address: arguments.address, memory_bytes, ..Config::default() };
    let store = config.open_store()?;
    Ok((Server::start(config, store.clone(), Box::new(SystemTime))?, store))
}

fn index_of(tour: &Tour) -> Index {
    Index {
        directory: tour.directory.clone(),
        no_checksum: false,
        seed: None,
        ranges: 4000,
        compare_seconds: tour.compare_seconds,
        server: None,
        store: None,
        memory: MemoryOption { bytes: None },
        json: JsonOption { json: tour.json.json },
    }
}
