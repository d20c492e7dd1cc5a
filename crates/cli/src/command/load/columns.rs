//! Pairs in columns: TSV and CSV.

use std::io::{self, Read};

use csv::{ByteRecord, Terminator};

use super::Line;
use super::line_ends::{LineEnds, Noted};
use crate::arguments::Format;
use crate::error::Error;

/// The columns of keys and values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    key: Column,
    value: Column,
    header: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Column {
    /// The index of the column, from 0.
    Number(usize),
    Name(String),
}

impl Columns {
    /// Parses the columns `key` and `value`: numbers from 1 or names. A name implies a header.
    ///
    /// # Errors
    /// A number is 0.
    pub(crate) fn new(key: &str, value: &str, header: bool) -> Result<Columns, Error> {
        let (key, value) = (Column::new(key)?, Column::new(value)?);
        let named = [&key, &value].iter().any(|column| matches!(column, Column::Name(_)));
        Ok(Columns { key, value, header: header || named })
    }
}

impl Column {
    fn new(text: &str) -> Result<Column, Error> {
        match text.parse::<usize>() {
            Ok(0) => Err(Error::Arguments("there is no column 0: columns are numbered from 1".into())),
            Ok(number) => Ok(Column::Number(number - 1)),
            Err(_) => Ok(Column::Name(text.into())),
        }
    }

    /// Returns the index of the column.
    fn index(&self, header: &ByteRecord) -> Result<usize, Error> {
        let name = match self {
            Column::Number(number) => return Ok(*number),
            Column::Name(name) => name,
        };
        header.iter().position(|field| field == name.as_bytes()).ok_or_else(|| {
            let names: Vec<_> =
                header.iter().map(|field| format!("`{}`", String::from_utf8_lossy(field))).collect();
            let found =
                if names.is_empty() { "is empty".into() } else { format!("has {}", names.join(", ")) };
            Error::Arguments(format!("the header has no column `{name}`; it {found}"))
        })
    }
}

/// Calls `visit` with each line of `input`. Skips blank lines.
///
/// # Errors
/// The input cannot be read (`read_error` creates the error), the header lacks a column, or an error of
/// `visit`.
pub(crate) fn for_each(
    input: impl Read,
    format: Format,
    columns: &Columns,
    read_error: impl Fn(io::Error) -> Error,
    mut visit: impl FnMut(Line<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let read_error = |error: csv::Error| read_error(error.into());
    let mut records = Records::new(input, format);
    if columns.header {
        records.next().map_err(&read_error)?;
    }
    let header = &records.record;
    let (key, value) = (columns.key.index(header)?, columns.value.index(header)?);
    while let Some(number) = records.next().map_err(&read_error)? {
        visit(Line { number, pair: pair(&records.record, key, value) })?;
    }
    Ok(())
}

/// The records of an input that are not blank.
struct Records<R> {
    reader: csv::Reader<Noted<R>>,
    ends: LineEnds,
    format: Format,
    /// The current record; empty at the end.
    record: ByteRecord,
}

impl<R: Read> Records<R> {
    fn new(input: R, format: Format) -> Self {
        let is_tsv = format == Format::Tsv;
        let ends = LineEnds::default();
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(if is_tsv { b'\t' } else { b',' })
            .quoting(!is_tsv)
            // A value in TSV may contain a carriage return.
            .terminator(if is_tsv { Terminator::Any(b'\n') } else { Terminator::CRLF })
            .from_reader(ends.of(input));
        Self { reader, ends, format, record: ByteRecord::new() }
    }

    /// Reads the next record, and returns the number of its first line; `None` at the end.
    fn next(&mut self) -> Result<Option<u64>, csv::Error> {
        while self.reader.read_byte_record(&mut self.record)? {
            let number = self.record.position().map_or(0, |position| self.ends.line_after(position));
            if self.format == Format::Csv {
                return Ok(Some(number));
            }
            remove_return(&mut self.record);
            if self.record.iter().ne([&b""[..]]) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }
}

/// Removes the carriage return of a line that ends with a carriage return and a line feed.
fn remove_return(record: &mut ByteRecord) {
    let last = record.iter().next_back().and_then(|field| field.strip_suffix(b"\r")).map(<[u8]>::to_vec);
    if let Some(last) = last {
        record.truncate(record.len() - 1);
        record.push_field(&last);
    }
}

fn pair(record: &ByteRecord, key: usize, value: usize) -> Result<(&[u8], &[u8]), String> {
    let column = |index: usize| {
        let missing = || format!("no column {}: the line has {}", index + 1, record.len());
        record.get(index).ok_or_else(missing)
    };
    Ok((column(key)?, column(value)?))
}
