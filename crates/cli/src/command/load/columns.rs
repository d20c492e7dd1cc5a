//! Pairs in columns: TSV and CSV.

use std::io::{self, Read};

use csv::ByteRecord;

use super::Line;
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
            Error::Arguments(format!("the header has no column `{name}`; it has {}", names.join(", ")))
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
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(columns.header)
        .flexible(true)
        .delimiter(if format == Format::Tsv { b'\t' } else { b',' })
        .quoting(format == Format::Csv)
        .from_reader(input);
    let read_error = |error: csv::Error| read_error(error.into());
    let header =
        if columns.header { reader.byte_headers().map_err(&read_error)?.clone() } else { ByteRecord::new() };
    let (key, value) = (columns.key.index(&header)?, columns.value.index(&header)?);
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(&read_error)? {
        let number = record.position().map_or(0, csv::Position::line);
        visit(Line { number, pair: pair(&record, key, value) })?;
    }
    Ok(())
}

fn pair(record: &ByteRecord, key: usize, value: usize) -> Result<(&[u8], &[u8]), String> {
    let column = |index: usize| {
        let missing = || format!("no column {}: the line has {}", index + 1, record.len());
        record.get(index).ok_or_else(missing)
    };
    Ok((column(key)?, column(value)?))
}
