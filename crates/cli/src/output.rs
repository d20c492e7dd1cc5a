//! Standard output: a report for people or as JSON.

use crate::error::Error;
use serde::Serialize;
use std::io::{self, Write};

/// What a command found, for people and (through serde) for programs.
pub(crate) trait Report: Serialize {
    /// Writes the report for people.
    fn sheet(&self, sheet: &mut Sheet);
}

/// Text for people: titles, and under them labelled rows with their texts aligned.
#[derive(Default)]
pub(crate) struct Sheet {
    text: String,
}

impl Sheet {
    /// A line of its own.
    pub(crate) fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// A labelled row.
    pub(crate) fn row(&mut self, label: &str, text: &str) {
        self.line(&format!("  {label:<16}  {text}"));
    }

    /// A number (right-aligned) and what it belongs to.
    pub(crate) fn item(&mut self, number: &str, about: &str) {
        self.line(format!("  {number:>12}  {about}").trim_end());
    }

    /// A labelled number (right-aligned) and what there is to say about it.
    pub(crate) fn number(&mut self, label: &str, number: &str, about: &str) {
        self.row(label, format!("{number:>12}  {about}").trim_end());
    }
}

/// Prints `report` as one JSON document or as a sheet.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn print(report: &impl Report, json: bool) -> Result<(), Error> {
    let text = if json {
        serde_json::to_string_pretty(report).map_err(|error| Error::Output(error.into()))? + "\n"
    } else {
        let mut sheet = Sheet::default();
        report.sheet(&mut sheet);
        sheet.text
    };
    write(text.as_bytes())
}

/// Writes bytes as they are.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn write(bytes: &[u8]) -> Result<(), Error> {
    let mut output = io::stdout().lock();
    output.write_all(bytes).and_then(|()| output.flush()).map_err(Error::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned() {
        let mut sheet = Sheet::default();
        sheet.line("hive");
        sheet.row("bees", "many");
        sheet.number("honey", "12", "jars");
        sheet.number("wax", "3", "");
        sheet.item("7", "drones");
        let expected = [
            "hive",
            "  bees              many",
            "  honey                       12  jars",
            "  wax                          3",
            "             7  drones",
            "",
        ];
        assert_eq!(sheet.text, expected.join("\n"));
    }
}
