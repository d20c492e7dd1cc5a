//! What the command line says.

use crate::{help, parameters::GivenParameters, text::Form, units};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::{net::SocketAddr, path::PathBuf};

/// An in-memory ordered key-value store, at work on your files.
#[derive(Parser)]
#[command(name = "honeycomb", version, propagate_version = true)]
#[command(after_help = help::EXIT_STATUS)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Index a directory tree and compare what the store answers with the file system.
    #[command(long_about = help::INDEX, after_help = help::INDEX_EXAMPLES)]
    Index(Index),
    /// Load pairs from a file or from standard input.
    #[command(after_help = help::LOAD_EXAMPLES)]
    Load(Load),
    /// Print the value of a key.
    #[command(long_about = help::GET, after_help = help::GET_EXAMPLES)]
    Get(Get),
    /// Print pairs in the order of their keys.
    #[command(long_about = help::SCAN, after_help = help::SCAN_EXAMPLES)]
    Scan(Scan),
    /// Print what a store holds and what it costs.
    #[command(after_help = help::STATS_EXAMPLES)]
    Stats(Stats),
    /// Walk a whole store and check every invariant.
    #[command(long_about = help::VERIFY, after_help = help::VERIFY_EXAMPLES)]
    Verify(Verify),
    /// Serve, index a directory tree over the wire, and show the server answering.
    #[command(long_about = help::TOUR, after_help = help::TOUR_EXAMPLES)]
    Tour(Tour),
    /// Serve a store to Redis clients, and to datagrams.
    #[command(long_about = help::SERVE, after_help = help::SERVE_EXAMPLES)]
    Serve(Serve),
}

/// `honeycomb index`.
#[derive(Args)]
pub(crate) struct Index {
    /// The directory to walk; symbolic links are not followed and other file systems not entered.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Do not read the files: chunks get no checksum.
    #[arg(long)]
    pub(crate) no_checksum: bool,
    /// Seed of the random choices [default: from the clock; it is printed].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// How many byte ranges to ask for.
    #[arg(long, value_name = "COUNT", default_value_t = 4000)]
    pub(crate) ranges: u64,
    /// How long to compare, at most, in seconds; how much was compared is printed.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) compare_seconds: u64,
    /// Keep the index behind this server (`honeycomb serve`), in its tables 0 to 2, and not in this process.
    #[arg(long, value_name = "HOST:PORT", value_parser = honeycomb_server::resolve,
        conflicts_with_all = ["store", "bytes"])]
    pub(crate) server: Option<SocketAddr>,
    /// Save the store as an image; if the file exists already, extend it.
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) memory: MemoryOption,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

/// `honeycomb tour`.
#[derive(Args)]
pub(crate) struct Tour {
    /// The directory to index.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Where the server listens; port 0 lets the system choose one.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:6379",
        value_parser = honeycomb_server::resolve)]
    pub(crate) address: SocketAddr,
    /// How long to compare answers with the file system, at most, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) compare_seconds: u64,
    /// End after the tour, as it does where standard input is no terminal, and do not go on serving.
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) memory: MemoryOption,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

/// `honeycomb load`.
#[derive(Args)]
pub(crate) struct Load {
    /// The input; `-` is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How the input is written [default: by the file's extension].
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// TSV, CSV: the column of the key, a number from 1 or a name from the header.
    #[arg(long, value_name = "COLUMN", default_value = "1")]
    pub(crate) key_column: String,
    /// TSV, CSV: the column of the value, a number from 1 or a name from the header.
    #[arg(long, value_name = "COLUMN", default_value = "2")]
    pub(crate) value_column: String,
    /// TSV, CSV: the first line is a header, not a pair; a column's name implies it.
    #[arg(long)]
    pub(crate) header: bool,
    /// Keys and values are escaped as `honeycomb scan` prints them: `\\`, `\t`, `\n`, `\r`, `\xNN`.
    #[arg(long, group = "form")]
    pub(crate) escaped: bool,
    /// Keys and values are hexadecimal.
    #[arg(long, group = "form")]
    pub(crate) hex: bool,
    /// Keys and values are Base64.
    #[arg(long, group = "form")]
    pub(crate) base64: bool,
    /// Count lines that are not pairs, instead of stopping at the first.
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// The table to load into; it is made if need be.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) table: String,
    /// Save the store as an image; if the file exists already, extend it.
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) memory: MemoryOption,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

impl Load {
    /// How keys and values are written.
    pub(crate) fn form(&self) -> Form {
        match (self.escaped, self.hex, self.base64) {
            (true, ..) => Form::Escaped,
            (_, true, _) => Form::Hex,
            (.., true) => Form::Base64,
            _ => Form::Plain,
        }
    }
}

/// How pairs are written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns between tabs; no quoting.
    Tsv,
    /// Columns between commas; a column in double quotes may hold commas, line feeds and doubled quotes.
    Csv,
    /// An object `{"key": "...", "value": "..."}` a line.
    Jsonl,
}

/// `honeycomb get`.
#[derive(Args)]
pub(crate) struct Get {
    /// The key, escaped as `honeycomb scan` prints it.
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) form: FormOption,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

/// `honeycomb scan`.
#[derive(Args)]
pub(crate) struct Scan {
    /// Only keys that begin with this.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["from", "to"])]
    pub(crate) prefix: Option<String>,
    /// Only keys not below this one.
    #[arg(long, value_name = "KEY")]
    pub(crate) from: Option<String>,
    /// Only keys below this one.
    #[arg(long, value_name = "KEY")]
    pub(crate) to: Option<String>,
    /// Floor start: begin at the largest key that is not above --from, if there is one.
    #[arg(long, requires = "from", conflicts_with = "backward")]
    pub(crate) floor_start: bool,
    /// In descending order.
    #[arg(long)]
    pub(crate) backward: bool,
    /// Stop after so many pairs.
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    /// Print no values.
    #[arg(long)]
    pub(crate) keys_only: bool,
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) form: FormOption,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

/// `honeycomb stats`.
#[derive(Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(crate) image: Image,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

/// `honeycomb verify`.
#[derive(Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) image: Image,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

/// `honeycomb serve`.
#[derive(Args)]
pub(crate) struct Serve {
    /// A file with parameters: TOML, a line `name = value` each. The environment goes before it, and flags
    /// before that.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print the parameters as they would be, as a file with what each is and may be, and serve nothing.
    #[arg(long)]
    pub(crate) print_config: bool,
    #[command(flatten)]
    pub(crate) parameters: GivenParameters,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

/// A table of a saved store.
#[derive(Args)]
pub(crate) struct Source {
    #[command(flatten)]
    pub(crate) image: Image,
    /// The table.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) table: String,
}

/// A saved store.
#[derive(Args)]
pub(crate) struct Image {
    /// The image that `honeycomb index` or `honeycomb load` saved.
    #[arg(long, value_name = "FILE")]
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) memory: MemoryOption,
}

/// How much memory the store may take.
#[derive(Args)]
pub(crate) struct MemoryOption {
    /// Memory of the store, such as 4GiB; units are B, KiB, MiB, GiB, TiB [default: by the size of the
    /// input].
    #[arg(long = "memory", value_name = "SIZE", value_parser = units::read_bytes)]
    pub(crate) bytes: Option<u64>,
}

/// How keys and values are read and printed.
#[derive(Args)]
pub(crate) struct FormOption {
    /// Read and print keys and values as hexadecimal.
    #[arg(long, group = "form")]
    hex: bool,
    /// Read and print keys and values as Base64.
    #[arg(long, group = "form")]
    base64: bool,
}

impl FormOption {
    /// The form that was asked for, if one was.
    pub(crate) fn asked(&self) -> Option<Form> {
        match (self.hex, self.base64) {
            (true, _) => Some(Form::Hex),
            (_, true) => Some(Form::Base64),
            _ => None,
        }
    }

    /// The form of keys and values.
    pub(crate) fn form(&self) -> Form {
        self.asked().unwrap_or(Form::Escaped)
    }
}

/// For people or for programs.
#[derive(Args)]
pub(crate) struct JsonOption {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_example_and_json() {
        for command in Arguments::command().get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            assert!(help.contains(&format!("  honeycomb {} ", command.get_name())), "{help}");
            assert!(help.contains("--json"), "{help}");
        }
    }
}
