//! `honeycomb load`: pairs from TSV, CSV or JSON lines.

mod columns;
mod input;
mod objects;

use crate::{
    Verdict,
    arguments::{self, Format},
    error::Error,
    image::{self, Saved},
    noted::Noted,
    output::{self, Report, Sheet},
    summary::Summary,
    text::Form,
    units,
};
use columns::Columns;
use honeycomb_store::{Error as StoreError, Loader, Table};
use input::Input;
use serde::Serialize;
use std::time::{Duration, Instant};

/// A line of input, or several of one CSV record.
struct Line<'a> {
    /// Where it begins, from 1.
    number: u64,
    /// The pair as it is written, or what is wrong.
    pair: Result<(&'a [u8], &'a [u8]), String>,
}

/// What `honeycomb load` did.
#[derive(Serialize)]
struct Loaded {
    input: String,
    table: String,
    #[serde(flatten)]
    counts: Counts,
    seconds: f64,
    store: Summary,
    saved: Option<Saved>,
}

#[derive(Default, Serialize)]
struct Counts {
    pairs: u64,
    raw_bytes: u64,
    skipped: Noted,
}

/// Where pairs go.
struct Target<'a> {
    file: &'a str,
    table: &'a Table,
    /// As long as the table gets nothing but pairs in the order of their keys.
    loader: Option<Loader<'a>>,
    form: Form,
    skip_bad: bool,
    counts: Counts,
}

/// Runs the command.
///
/// # Errors
/// The input cannot be read or has a line that is no pair, the store is full, or an image cannot be loaded or
/// saved.
pub(crate) fn run(arguments: &arguments::Load) -> Result<Verdict, Error> {
    let format = format(arguments)?;
    let columns = Columns::new(&arguments.key_column, &arguments.value_column, arguments.header)?;
    let input = Input::open(&arguments.file)?;
    let mut store =
        image::open_or_empty(arguments.store.as_deref(), &arguments.memory, input.bytes.unwrap_or(0))?;
    let start = Instant::now();
    let counts = fill(arguments, input, format, &columns, &store.table(&arguments.table)?)?;
    let seconds = start.elapsed().as_secs_f64();
    let saved = image::save(&store, arguments.store.as_deref())?;
    let (input, table) = (input::name(&arguments.file), arguments.table.clone());
    let loaded = Loaded { input, table, counts, seconds, store: Summary::of(&mut store)?, saved };
    output::print(&loaded, arguments.json.json)?;
    Ok(Verdict::Good)
}

/// Puts all pairs of the input into `table`.
fn fill(
    arguments: &arguments::Load,
    input: Input,
    format: Format,
    columns: &Columns,
    table: &Table,
) -> Result<Counts, Error> {
    let loader = match table.loader(Loader::FILL_PERCENT) {
        Err(StoreError::TableNotEmpty) => None,
        loader => Some(loader?),
    };
    let mut target = Target {
        file: &input::name(&arguments.file),
        table,
        loader,
        form: arguments.form(),
        skip_bad: arguments.skip_bad,
        counts: Counts::default(),
    };
    let unreadable = |error| Error::file("read", &arguments.file)(error);
    match format {
        Format::Jsonl => objects::for_each(input, unreadable, |line| target.take(&line))?,
        _ => columns::for_each(input, format, columns, unreadable, |line| target.take(&line))?,
    }
    target.finish_loader()?;
    Ok(target.counts)
}

/// The format asked for, or the one that the file's extension tells.
fn format(arguments: &arguments::Load) -> Result<Format, Error> {
    let extension = arguments.file.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    match (arguments.format, extension.as_deref()) {
        (Some(format), _) => Ok(format),
        (None, Some("tsv" | "tab")) => Ok(Format::Tsv),
        (None, Some("csv")) => Ok(Format::Csv),
        (None, Some("jsonl" | "ndjson")) => Ok(Format::Jsonl),
        (None, _) => Err(Error::Arguments(format!(
            "the name of {} tells no format: say --format tsv, csv or jsonl; names that tell it end in \
             .tsv, .tab, .csv, .jsonl or .ndjson",
            input::name(&arguments.file)
        ))),
    }
}

impl Target<'_> {
    /// Puts the pair of a line; a line that is no pair is an error, or noted if such are to be skipped.
    fn take(&mut self, line: &Line<'_>) -> Result<(), Error> {
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
                self.counts.skipped.note(|| error.to_string());
                Ok(())
            }
        }
    }

    /// Bytes of the pair that was put, or what is wrong with the line.
    fn put(&mut self, line: &Line<'_>) -> Result<Result<usize, String>, Error> {
        let read = |what: &str, text| self.form.read(text).map_err(|problem| format!("{what}: {problem}"));
        let pair = line.pair.clone().and_then(|(key, value)| Ok((read("key", key)?, read("value", value)?)));
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
                Err(StoreError::NotAscending { .. }) => self.finish_loader()?,
                pushed => return pushed,
            }
        }
        self.table.put(key, value)
    }

    fn finish_loader(&mut self) -> Result<(), StoreError> {
        self.loader.take().map_or(Ok(()), |loader| loader.finish().map(drop))
    }
}

impl Report for Loaded {
    fn sheet(&self, sheet: &mut Sheet) {
        let time = Duration::from_secs_f64(self.seconds);
        let rate = units::count(units::rate(self.counts.pairs, time) as u64);
        sheet.line(&format!("{} loaded into table `{}` in {}", self.input, self.table, units::time(time)));
        sheet.number("pairs read", &units::count(self.counts.pairs), &format!("{rate} a second"));
        sheet.number("raw bytes", &units::bytes(self.counts.raw_bytes), "keys and values");
        if self.counts.skipped.count > 0 {
            sheet.number("skipped", &units::count(self.counts.skipped.count), "lines that are not pairs");
            self.counts.skipped.named.iter().for_each(|line| sheet.line(&format!("    {line}")));
        }
        self.store.sheet(sheet);
        match &self.saved {
            Some(saved) => saved.sheet(sheet),
            None => sheet.line("not saved: there was no --store"),
        }
    }
}
