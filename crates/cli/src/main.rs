//! The command `honeycomb`: an in-memory ordered key-value store, at work on your files.
//!
//! `index` puts a directory tree into a store and compares what the store answers with the file system;
//! `load` takes pairs from text; `get`, `scan`, `stats` and `verify` ask a store that those two saved. Every
//! command prints for people or, with `--json`, for programs. `serve` lets Redis clients at a store; `tour`
//! serves, indexes over the wire, and shows what comes back.

mod arguments;
mod command;
mod connection;
mod error;
mod help;
mod image;
mod index;
mod keeper;
mod load;
mod noted;
mod output;
mod pages;
mod parallel;
mod parameters;
mod progress;
mod summary;
mod text;
mod tour;
mod units;

use arguments::{Arguments, Command};
use clap::Parser;
use error::Error;
use std::process::ExitCode;

/// What a command that ran to its end says: its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// All is well.
    Good,
    /// The key is absent, or an answer or an invariant is wrong.
    Bad,
}

fn main() -> ExitCode {
    match run(&Arguments::parse().command) {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::from(1),
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("honeycomb: {error}");
            error.hint().iter().for_each(|hint| eprintln!("{hint}"));
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command) -> Result<Verdict, Error> {
    match command {
        Command::Index(arguments) => index::run(arguments),
        Command::Load(arguments) => load::run(arguments),
        Command::Get(arguments) => command::get::run(arguments),
        Command::Scan(arguments) => command::scan::run(arguments),
        Command::Stats(arguments) => command::stats::run(arguments),
        Command::Verify(arguments) => command::verify::run(arguments),
        Command::Serve(arguments) => command::serve::run(arguments),
        Command::Tour(arguments) => tour::run(arguments),
    }
}
