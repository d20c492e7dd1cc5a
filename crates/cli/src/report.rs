//! Reports on standard output: text for people or JSON for programs.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::error::Error;

/// The result of a command. Serde provides the form for programs.
pub(crate) trait Report: Serialize {
    /// Writes the report for people.
    fn write_text(&self, text: &mut ReportText);
}

/// Text for people: lines and labelled rows with aligned columns.
#[derive(Default)]
pub(crate) struct ReportText {
    text: String,
}

impl ReportText {
    /// Adds a line.
    pub(crate) fn line(&mut self, text: impl Display) {
        self.text.push_str(&text.to_string());
        self.text.push('\n');
    }

    /// Adds text that ends with a line feed.
    pub(crate) fn lines(&mut self, text: &impl Display) {
        self.text.push_str(&text.to_string());
    }

    /// Adds a row with a label, a right-aligned count and an explanation.
    pub(crate) fn count(&mut self, label: &str, count: u64, about: impl Display) {
        self.number(label, &HumanCount(count).to_string(), about);
    }

    /// Adds a row with a label, a right-aligned size and an explanation.
    pub(crate) fn bytes(&mut self, label: &str, bytes: u64, about: impl Display) {
        self.number(label, &HumanBytes(bytes).to_string(), about);
    }

    fn number(&mut self, label: &str, number: &str, about: impl Display) {
        self.line(format!("  {label:<16}  {number:>12}  {about}").trim_end());
    }
}

/// Returns a count with the name of the counted items: `1 node`, `2 nodes`.
pub(crate) fn counted(count: u64, name: &str) -> String {
    format!("{} {name}{}", HumanCount(count), if count == 1 { "" } else { "s" })
}

/// Returns a duration in the unit that suits it: `1.5s`, `20.0ms`.
pub(crate) fn duration(seconds: f64) -> String {
    format!("{:.1?}", Duration::from_secs_f64(seconds))
}

/// Prints `report` as one JSON document or as text.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn print(report: &impl Report, json: bool) -> Result<(), Error> {
    let text = if json {
        serde_json::to_string_pretty(report).map_err(|error| Error::Output(error.into()))? + "\n"
    } else {
        let mut text = ReportText::default();
        report.write_text(&mut text);
        text.text
    };
    write(text.as_bytes())
}

/// Writes bytes to standard output.
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
        let mut text = ReportText::default();
        text.line("hive");
        text.count("honey", 12, "jars");
        text.bytes("wax", 3000, "");
        text.lines(&"drones\n");
        let expected = [
            "hive",
            "  honey                       12  jars",
            "  wax                   2.93 KiB",
            "drones",
            "",
        ];
        assert_eq!(text.text, expected.join("\n"));
    }

    #[test]
    fn numbers_have_units() {
        assert_eq!(
            [counted(0, "node"), counted(1, "node"), counted(2000, "node")],
            ["0 nodes", "1 node", "2,000 nodes"]
        );
        assert_eq!([duration(1.5), duration(0.0015)], ["1.5s", "1.5ms"]);
    }
}
