//! The arguments of the command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use honeycomb_store::UnorderedConfig;

use crate::encoding::Encoding;
use crate::parameters::ParameterArguments;
use crate::{help, size};

/// Maximum of `--compare-seconds`: a year.
const COMPARE_SECONDS_MAX: u64 = 31_536_000;
/// Maximum of `--ranges`. The comparison keeps 24 bytes for each of them.
const RANGES_MAX: u64 = 100_000_000;

/// An in-memory ordered key-value store: a server, and tools for stores in files.
#[derive(Parser)]
#[command(name = "honeycomb", version, propagate_version = true)]
#[command(after_help = help::EXIT_STATUS)]
pub(crate) struct Arguments {
    /// The subcommand.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A subcommand.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Index a directory tree and compare the answers of the store with the file system.
    #[command(long_about = help::INDEX, after_help = help::INDEX_EXAMPLES)]
    Index(IndexArguments),
    /// Load pairs from a file or from standard input.
    #[command(after_help = help::LOAD_EXAMPLES)]
    Load(LoadArguments),
    /// Print the value of a key.
    #[command(long_about = help::GET, after_help = help::GET_EXAMPLES)]
    Get(GetArguments),
    /// Print pairs in key order.
    #[command(long_about = help::SCAN, after_help = help::SCAN_EXAMPLES)]
    Scan(ScanArguments),
    /// Print the contents of a store and their memory.
    #[command(after_help = help::STATS_EXAMPLES)]
    Stats(StatsArguments),
    /// Check every invariant of a whole store.
    #[command(long_about = help::VERIFY, after_help = help::VERIFY_EXAMPLES)]
    Verify(VerifyArguments),
    /// Start a server, index a directory tree over the wire, and show a tour of commands.
    #[command(long_about = help::TOUR, after_help = help::TOUR_EXAMPLES)]
    Tour(TourArguments),
    /// Serve a store to Redis clients and to clients of datagrams.
    #[command(long_about = help::SERVE, after_help = help::SERVE_EXAMPLES)]
    Serve(ServeArguments),
    /// Copy the store of a running server into a file, at one version.
    #[command(long_about = help::BACKUP, after_help = help::BACKUP_EXAMPLES)]
    Backup(BackupArguments),
    /// Build the directory of a durable store from a backup and, up to a point in time, from log files.
    #[command(long_about = help::RESTORE, after_help = help::RESTORE_EXAMPLES)]
    Restore(RestoreArguments),
    /// Inspect and repair the log of a durable store.
    #[command(long_about = help::LOG, after_help = help::LOG_EXAMPLES)]
    Log(LogArguments),
}

/// `honeycomb index`.
#[derive(Args)]
pub(crate) struct IndexArguments {
    /// The directory to index. The walk does not follow symbolic links and does not enter other file systems.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Do not read the files. Store chunks without checksums.
    #[arg(long)]
    pub(crate) no_checksum: bool,
    /// Seed of the random choices [default: random; the report contains it].
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Number of random byte ranges to compare.
    #[arg(long, value_name = "COUNT", default_value_t = 4000,
        value_parser = value_parser!(u64).range(..=RANGES_MAX))]
    pub(crate) ranges: u64,
    /// Time limit of the comparison in seconds. The report contains the number of compared answers.
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = value_parser!(u64).range(..=COMPARE_SECONDS_MAX))]
    pub(crate) compare_seconds: u64,
    /// Store the index on this server (`honeycomb serve`), in its databases 0 to 2, instead of in this
    /// process.
    #[arg(long, value_name = "HOST:PORT", value_parser = honeycomb_server::resolve,
        conflicts_with_all = ["store", "bytes"])]
    pub(crate) server: Option<SocketAddr>,
    /// Save the store as an image. If the file exists, load it first and extend it.
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgument,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// `honeycomb tour`.
#[derive(Args)]
pub(crate) struct TourArguments {
    /// The directory to index.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Address of the server. With port 0, the system chooses a port.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:6379",
        value_parser = honeycomb_server::resolve)]
    pub(crate) address: SocketAddr,
    /// Time limit of the comparison with the file system in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = value_parser!(u64).range(..=COMPARE_SECONDS_MAX))]
    pub(crate) compare_seconds: u64,
    /// Keep the store in this directory. The server is then a process of its own; the command kills it after
    /// the index (SIGKILL), starts it again, and checks that nothing is gone.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Stop the server after the tour. This is the default unless standard input is a terminal.
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) memory: MemoryArgument,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// `honeycomb load`.
#[derive(Args)]
pub(crate) struct LoadArguments {
    /// Input file; `-` is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Format of the input [default: by the extension of the file].
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// TSV, CSV: column of the key, a number from 1 or a name from the header.
    #[arg(long, value_name = "COLUMN", default_value = "1")]
    pub(crate) key_column: String,
    /// TSV, CSV: column of the value, a number from 1 or a name from the header.
    #[arg(long, value_name = "COLUMN", default_value = "2")]
    pub(crate) value_column: String,
    /// TSV, CSV: the first line is a header. The name of a column implies this option.
    #[arg(long)]
    pub(crate) header: bool,
    /// Keys and values contain the escapes of `honeycomb scan`: `\\`, `\t`, `\n`, `\r`, `\xNN`.
    #[arg(long, group = "encoding")]
    pub(crate) escaped: bool,
    /// Keys and values are hexadecimal.
    #[arg(long, group = "encoding")]
    pub(crate) hex: bool,
    /// Keys and values are Base64.
    #[arg(long, group = "encoding")]
    pub(crate) base64: bool,
    /// Skip and count lines that are not pairs, instead of stopping at the first.
    #[arg(long)]
    pub(crate) skip_bad: bool,
    /// Table to load into. The command creates a missing table.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) table: String,
    /// Load into an unordered table, which has no order and no scans.
    #[arg(long)]
    pub(crate) unordered: bool,
    #[command(flatten)]
    pub(crate) new_table: UnorderedArguments,
    /// Save the store as an image. If the file exists, load it first and extend it.
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgument,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// The parameters of a new unordered table. One that exists keeps its own.
#[derive(Args)]
pub(crate) struct UnorderedArguments {
    /// Buckets of a new unordered table: a power of two up to 16777216 [default: 1024].
    #[arg(long, value_name = "COUNT", requires = "unordered")]
    pub(crate) unordered_buckets: Option<usize>,
    /// Percentage of its slots in use at which it adds buckets, 1 to 100; 0: it never does [default: 60].
    #[arg(long, value_name = "PERCENT", requires = "unordered")]
    pub(crate) unordered_fill: Option<usize>,
    /// Maximum bytes of key and value of a pair inside its bucket, 0 to 50 [default: 30].
    #[arg(long, value_name = "BYTES", requires = "unordered")]
    pub(crate) unordered_inline: Option<usize>,
}

impl UnorderedArguments {
    /// Returns the parameters, which the store checks.
    pub(crate) fn config(&self) -> UnorderedConfig {
        let default = UnorderedConfig::default();
        UnorderedConfig {
            buckets: self.unordered_buckets.unwrap_or(default.buckets),
            inline_pair_bytes_max: self.unordered_inline.unwrap_or(default.inline_pair_bytes_max),
            fill_percent: self
                .unordered_fill
                .map_or(default.fill_percent, |it| Some(it).filter(|it| *it > 0)),
        }
    }
}

impl LoadArguments {
    /// Returns the encoding of keys and values.
    pub(crate) fn encoding(&self) -> Encoding {
        match (self.escaped, self.hex, self.base64) {
            (true, ..) => Encoding::Escaped,
            (_, true, _) => Encoding::Hex,
            (.., true) => Encoding::Base64,
            _ => Encoding::Plain,
        }
    }
}

/// The format of a file with pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns separated by tabs, without quotes.
    Tsv,
    /// Columns separated by commas. A column in double quotes may contain commas, line feeds and doubled
    /// quotes.
    Csv,
    /// One object `{"key": "...", "value": "..."}` per line.
    Jsonl,
}

/// `honeycomb get`.
#[derive(Args)]
pub(crate) struct GetArguments {
    /// The key, with the escapes of `honeycomb scan`.
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    #[command(flatten)]
    pub(crate) encoding: EncodingArguments,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// `honeycomb scan`.
#[derive(Args)]
pub(crate) struct ScanArguments {
    /// Print only keys with this prefix.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["from", "to"])]
    pub(crate) prefix: Option<String>,
    /// Lower bound of the keys, inclusive.
    #[arg(long, value_name = "KEY")]
    pub(crate) from: Option<String>,
    /// Upper bound of the keys, exclusive.
    #[arg(long, value_name = "KEY")]
    pub(crate) to: Option<String>,
    /// Floor start: start at the largest key that is not greater than --from, if there is one.
    #[arg(long, requires = "from", conflicts_with = "backward")]
    pub(crate) floor_start: bool,
    /// Scan in descending order.
    #[arg(long)]
    pub(crate) backward: bool,
    /// Maximum number of pairs.
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    /// Print keys only.
    #[arg(long)]
    pub(crate) keys_only: bool,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    #[command(flatten)]
    pub(crate) encoding: EncodingArguments,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// `honeycomb stats`.
#[derive(Args)]
pub(crate) struct StatsArguments {
    #[command(flatten)]
    pub(crate) image: ImageArguments,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// `honeycomb verify`.
#[derive(Args)]
pub(crate) struct VerifyArguments {
    #[command(flatten)]
    pub(crate) image: ImageArguments,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// `honeycomb serve`.
#[derive(Args)]
pub(crate) struct ServeArguments {
    /// TOML file with parameters, one `name = value` per line. Environment variables override the file, and
    /// flags override both.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print the resulting parameters as such a file, with descriptions and allowed values. Do not serve.
    #[arg(long)]
    pub(crate) print_config: bool,
    #[command(flatten)]
    pub(crate) parameters: ParameterArguments,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// `honeycomb backup`.
#[derive(Args)]
pub(crate) struct BackupArguments {
    /// The file to write. While the backup is incomplete, it has the ending `.part`.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Address of the server, which must be durable (`honeycomb serve --dir`).
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:6379",
        value_parser = honeycomb_server::resolve)]
    pub(crate) server: SocketAddr,
    /// The password of the server.
    #[arg(long, value_name = "PASSWORD", env = "HONEYCOMB_REQUIREPASS", hide_env_values = true)]
    pub(crate) password: Option<String>,
    /// Maximum bytes per second, such as 50MiB [default: no limit].
    #[arg(long, value_name = "SIZE", value_parser = size::parse_positive)]
    pub(crate) rate: Option<u64>,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// `honeycomb restore`.
#[derive(Args)]
pub(crate) struct RestoreArguments {
    /// The backup, or an image from `honeycomb load`.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The directory for the store. It must not have one yet.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// A directory with log files after the backup: an archive, or the directory of the lost server. If two
    /// have the same file, the first one counts.
    #[arg(long = "log", value_name = "DIR")]
    pub(crate) logs: Vec<PathBuf>,
    /// The last version to restore [default: all].
    #[arg(long, value_name = "VERSION", requires = "logs")]
    pub(crate) to_version: Option<u64>,
    /// The last moment to restore: seconds since 1970, or a time in UTC such as 2026-11-24T21:05:30Z.
    #[arg(long, value_name = "TIME", requires = "logs", conflicts_with = "to_version",
        value_parser = crate::time::parse)]
    pub(crate) to_time: Option<u64>,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// `honeycomb log`.
#[derive(Args)]
pub(crate) struct LogArguments {
    /// The action.
    #[command(subcommand)]
    pub(crate) command: LogCommand,
}

/// An action of `honeycomb log`. Each has `--json`.
#[derive(Subcommand)]
pub(crate) enum LogCommand {
    /// List the checkpoint and the log files with their records.
    List(DirectoryArguments),
    /// Print the records.
    Dump(DumpArguments),
    /// Check every checksum of the checkpoint and of the log. Exit status 1 if one of them is invalid.
    Verify(DirectoryArguments),
    /// Remove the first invalid record of a corrupt log and all later ones, so that the store can start.
    Truncate(DirectoryArguments),
    /// Write a new manifest from the checkpoints and log files, if that of the store is damaged or absent.
    Rebuild(DirectoryArguments),
}

/// The directory of a durable store.
#[derive(Args)]
pub(crate) struct DirectoryArguments {
    /// The directory of the store.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// `honeycomb log dump`.
#[derive(Args)]
pub(crate) struct DumpArguments {
    /// The directory of the store.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Print only records of this version and later ones.
    #[arg(long, value_name = "VERSION", default_value_t = 0)]
    pub(crate) from: u64,
    /// Maximum number of records.
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) json: JsonArgument,
}

/// A table of an image.
#[derive(Args)]
pub(crate) struct TableArguments {
    #[command(flatten)]
    pub(crate) image: ImageArguments,
    /// Name of the table.
    #[arg(long = "table", value_name = "NAME", default_value = "default")]
    pub(crate) name: String,
}

/// An image.
#[derive(Args)]
pub(crate) struct ImageArguments {
    /// Image of a store, from `honeycomb index` or `honeycomb load`.
    #[arg(long, value_name = "FILE")]
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) memory: MemoryArgument,
}

/// The memory of a store.
#[derive(Args)]
pub(crate) struct MemoryArgument {
    /// Memory of the store, such as 4GiB; units are B, KiB, MiB, GiB, TiB [default: by the size of the
    /// input].
    #[arg(long = "memory", value_name = "SIZE", value_parser = size::parse)]
    pub(crate) bytes: Option<u64>,
}

/// The encoding of keys and values in arguments and output.
#[derive(Args)]
pub(crate) struct EncodingArguments {
    /// Read and print keys and values in hexadecimal.
    #[arg(long, group = "encoding")]
    hex: bool,
    /// Read and print keys and values in Base64.
    #[arg(long, group = "encoding")]
    base64: bool,
}

impl EncodingArguments {
    /// Returns the requested encoding, or `None` without a request.
    pub(crate) fn requested(&self) -> Option<Encoding> {
        match (self.hex, self.base64) {
            (true, _) => Some(Encoding::Hex),
            (_, true) => Some(Encoding::Base64),
            _ => None,
        }
    }

    /// Returns the encoding of keys and values.
    pub(crate) fn encoding(&self) -> Encoding {
        self.requested().unwrap_or(Encoding::Escaped)
    }
}

/// The format of the report.
#[derive(Args)]
pub(crate) struct JsonArgument {
    /// Print the report as JSON.
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
