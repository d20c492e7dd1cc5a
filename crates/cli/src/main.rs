//! The command `honeycomb`: a server and tools for stores.
//!
//! `serve` starts a server for Redis clients. `load` reads pairs from text and saves a store as an image;
//! `get`, `scan`, `stats` and `verify` read images. `backup` and `restore` save and rebuild durable stores,
//! and `log` inspects their logs. `index` and `tour` run the example application `honeycomb-file-index`.
//! Each command prints text for people or, with `--json`, JSON for programs.

mod accelerators;
mod arguments;
mod command;
mod encoding;
mod error;
mod help;
mod hint;
mod image;
mod image_file;
mod paged_scan;
mod parameters;
mod progress;
mod replace;
mod report;
mod server_process;
mod size;
mod store_summary;
mod time;
mod tour_server;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use error::Error;

/// The exit status of a command that completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// The key exists, or all checks succeeded. Exit status 0.
    Success,
    /// The key is absent, or a check failed. Exit status 1.
    Negative,
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    match run(&command) {
        Ok(Status::Success) => ExitCode::SUCCESS,
        Ok(Status::Negative) => ExitCode::from(1),
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("honeycomb: {error}");
            hint::hint(&error, &command).iter().for_each(|hint| eprintln!("{hint}"));
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command) -> Result<Status, Error> {
    match command {
        Command::Index(arguments) => command::index::run(arguments),
        Command::Load(arguments) => command::load::run(arguments),
        Command::Get(arguments) => command::get::run(arguments),
        Command::Scan(arguments) => command::scan::run(arguments),
        Command::Stats(arguments) => command::stats::run(arguments),
        Command::Verify(arguments) => command::verify::run(arguments),
        Command::Serve(arguments) => command::serve::run(arguments),
        Command::Backup(arguments) => command::backup::run(arguments),
        Command::Restore(arguments) => command::restore::run(arguments),
        Command::Log(arguments) => command::log::run(arguments),
        Command::Tour(arguments) => command::tour::run(arguments),
    }
}
