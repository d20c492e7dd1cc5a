//! Rows of the reports for people: a label, a right-aligned number and an explanation.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount};

use crate::exceptions::Exceptions;

/// Writes a row with a label and a count.
pub(crate) fn count(f: &mut Formatter<'_>, label: &str, count: u64, about: impl Display) -> fmt::Result {
    row(f, label, &HumanCount(count).to_string(), about)
}

/// Writes a row with a label and a size.
pub(crate) fn bytes(f: &mut Formatter<'_>, label: &str, bytes: u64, about: impl Display) -> fmt::Result {
    row(f, label, &HumanBytes(bytes).to_string(), about)
}

/// Writes a row without a label.
pub(crate) fn item(f: &mut Formatter<'_>, bytes: u64, about: impl Display) -> fmt::Result {
    writeln!(f, "  {:>12}  {about}", HumanBytes(bytes).to_string())
}

/// Writes a row about exceptional files, unless there are none.
pub(crate) fn exceptions(f: &mut Formatter<'_>, label: &str, exceptions: &Exceptions) -> fmt::Result {
    match exceptions.count {
        0 => Ok(()),
        number => count(f, label, number, exceptions.names.join(", ")),
    }
}

/// Returns the rate of `count` in `time`, per second; 0 if `time` is 0.
pub(crate) fn per_second(count: u64, time: Duration) -> u64 {
    if time.is_zero() { 0 } else { (count as f64 / time.as_secs_f64()) as u64 }
}

fn row(f: &mut Formatter<'_>, label: &str, number: &str, about: impl Display) -> fmt::Result {
    writeln!(f, "{}", format!("  {label:<16}  {number:>12}  {about}").trim_end())
}
