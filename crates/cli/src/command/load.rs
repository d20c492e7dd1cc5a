//! `honeycomb load`: reads pairs from TSV, CSV or JSON lines.

mod columns;
mod input;
mod line_ends;
mod objects;

use std::time::Instant;

use honeycomb_store::{Error as StoreError, Loader, TableRef};
use indicatif::HumanCount;
use serde::Serialize;

use crate::Status;
use crate::arguments::{Format, LoadArguments};
use crate::encoding::Encoding;
use crate::error::Error;
use crate::image::{self, SavedImage};
use crate::image_file::ImageFile;
use crate::report::{self, Report, ReportText, duration};
use crate::store_summary::StoreSummary;
use columns::Columns;
use input::Input;

/// A line of the input, or a CSV record of several lines.
struct Line<'a> {
    /// The number of the first line, from 1.
    number: u64,
    /// The encoded key and value, or the reason why the line is not a pair.
    pair: Result<(&'a [u8], &'a [u8]), String>,
}

/// The number of skipped lines that the report names.
const NAMED_LINES_MAX: usize = 5;

/// The result of a load.
#[derive(Serialize)]
struct LoadResult {
    input: String,
    table: String,
    #[serde(flatten)]
    counts: Counts,
    seconds: f64,
    store: StoreSummary,
    saved: Option<SavedImage>,
}

#[derive(Default, Serialize)]
struct Counts {
    pairs: u64,
    raw_bytes: u64,
    skipped: SkippedLines,
}

/// Lines that are not pairs.
#[derive(Default, Serialize)]
struct SkippedLines {
    count: u64,
    /// The errors of the first few lines.
    named: Vec<String>,
}

/// Writes pairs into a table.
struct PairWriter<'a> {
    file: &'a str,
    table: TableRef<'a>,
    /// The bulk loader, while the table contains only pairs of this input and they ascend.
    loader: Option<Loader<'a>>,
    encoding: Encoding,
    skip_bad: bool,
    counts: Counts,
}

/// Runs the command.
///
/// # Errors
/// The input cannot be read or contains a line that is not a pair, the store is full, or an image cannot be
/// loaded or saved.
pub(crate) fn run(arguments: &LoadArguments) -> Result<Status, Error> {
    let format = format(arguments)?;
    let columns = Columns::new(&arguments.key_column, &arguments.value_column, arguments.header)?;
    let input = Input::open(&arguments.file)?;
    let file = arguments.store.as_deref().map(ImageFile::lock).transpose()?;
    let mut store = image::load_or_create(file.as_ref(), &arguments.memory, input.bytes.unwrap_or(0))?;
    let start = Instant::now();
    let counts = if arguments.unordered {
        let table = store.unordered_table(&arguments.table, arguments.new_table.config())?;
        fill(arguments, input, format, &columns, (&table).into())?
    } else {
        fill(arguments, input, format, &columns, (&store.table(&arguments.table)?).into())?
    };
    let seconds = start.elapsed().as_secs_f64();
    let saved = image::save(&store, file)?;
    let (input, table) = (input::name(&arguments.file), arguments.table.clone());
    let result = LoadResult { input, table, counts, seconds, store: StoreSummary::new(&mut store)?, saved };
    report::print(&result, arguments.json.json)?;
    Ok(Status::Success)
}

/// Writes all pairs of the input into `table`.
fn fill(
    arguments: &LoadArguments,
    input: Input,
    format: Format,
    columns: &Columns,
    table: TableRef<'_>,
) -> Result<Counts, Error> {
    let loader = match table {
        TableRef::Unordered(_) => None,
        TableRef::Ordered(table) => match table.loader(Loader::FILL_PERCENT) {
            Err(StoreError::TableNotEmpty) => None,
            loader => Some(loader?),
        },
    };
    let mut writer = PairWriter {
        file: &input::name(&arguments.file),
        table,
        loader,
        encoding: arguments.encoding(),
        skip_bad: arguments.skip_bad,
        counts: Counts::default(),
    };
    let read_error = |error| Error::file("read", &arguments.file)(error);
    match format {
        Format::Jsonl => objects::for_each(input, read_error, |line| writer.add(&line))?,
        _ => columns::for_each(input, format, columns, read_error, |line| writer.add(&line))?,
    }
    writer.finish_loader()?;
    Ok(writer.counts)
}

/// Returns the requested format, or the one for the extension of the file.
fn format(arguments: &LoadArguments) -> Result<Format, Error> {
    let extension = arguments.file.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    match (arguments.format, extension.as_deref()) {
        (Some(format), _) => Ok(format),
        (None, Some("tsv" | "tab")) => Ok(Format::Tsv),
        (None, Some("csv")) => Ok(Format::Csv),
        (None, Some("jsonl" | "ndjson")) => Ok(Format::Jsonl),
        (None, _) => Err(Error::Arguments(format!(
            "the format of {} is unknown: set --format tsv, csv or jsonl, or use a file with the extension \
             .tsv, .tab, .csv, .jsonl or .ndjson",
            input::name(&arguments.file)
        ))),
    }
}

impl PairWriter<'_> {
    /// Writes the pair of a line. A line that is not a pair is an error, or is skipped and counted.
    fn add(&mut self, line: &Line<'_>) -> Result<(), Error> {
        match self.put(line)? {
            Ok(bytes) => {
                self.counts.pairs += 1;
                self.counts.raw_bytes += bytes as u64;
                Ok(())
            }
            Err(problem) => {
                let error = Error::Line { file: self.file.into(), line: line.number, problem };
                if !self.skip_bad {
                    return Err(error);
                }
                self.counts.skipped.add(&error);
                Ok(())
            }
        }
    }

    /// Writes the pair of a line. Returns the size of the pair, or the reason why the line is not a pair.
    fn put(&mut self, line: &Line<'_>) -> Result<Result<usize, String>, Error> {
        let decode =
            |part: &str, text| self.encoding.decode(text).map_err(|problem| format!("{part}: {problem}"));
        let pair =
            line.pair.clone().and_then(|(key, value)| Ok((decode("key", key)?, decode("value", value)?)));
        let (key, value) = match pair {
            Ok(pair) => pair,
            Err(problem) => return Ok(Err(problem)),
        };
        match self.store(&key, &value) {
            Ok(()) => Ok(Ok(key.len() + value.len())),
            Err(error @ (StoreError::KeyLength { .. } | StoreError::ValueLength { .. })) => {
                Ok(Err(error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn store(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if let Some(loader) = &mut self.loader {
            match loader.push(key, value) {
                Err(StoreError::NotAscending { .. } | StoreError::LoadTooLarge { .. }) => {
                    self.finish_loader()?
                }
                pushed => return pushed,
            }
        }
        match self.table {
            TableRef::Ordered(table) => table.put(key, value),
            TableRef::Unordered(table) => table.put(key, value),
        }
    }

    fn finish_loader(&mut self) -> Result<(), StoreError> {
        self.loader.take().map_or(Ok(()), |loader| loader.finish().map(drop))
    }
}

impl SkippedLines {
    fn add(&mut self, error: &Error) {
        self.count += 1;
        if self.named.len() < NAMED_LINES_MAX {
            self.named.push(error.to_string());
        }
    }
}

impl Report for LoadResult {
    fn write_text(&self, text: &mut ReportText) {
        text.line(format_args!(
            "{} loaded into table `{}` in {}",
            self.input,
            self.table,
            duration(self.seconds)
        ));
        let rate = HumanCount((self.counts.pairs as f64 / self.seconds) as u64);
        text.count("pairs read", self.counts.pairs, format_args!("{rate} a second"));
        text.bytes("raw bytes", self.counts.raw_bytes, "keys and values");
        if self.counts.skipped.count > 0 {
            text.count("skipped", self.counts.skipped.count, "lines that are not pairs");
            self.counts.skipped.named.iter().for_each(|line| text.line(format_args!("    {line}")));
        }
        self.store.write_text(text);
        match &self.saved {
            Some(saved) => saved.write_text(text),
            None => text.line("not saved, because --store is not set"),
        }
    }
}
