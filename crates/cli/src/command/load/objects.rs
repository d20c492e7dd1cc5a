//! Pairs in JSON lines.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

use serde::Deserialize;

use super::Line;
use crate::error::Error;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    value: Cow<'a, str>,
}

/// Calls `visit` with each line of `input`. Skips blank lines.
///
/// # Errors
/// The input cannot be read (`read_error` creates the error), or an error of `visit`.
pub(crate) fn for_each(
    input: impl Read,
    read_error: impl Fn(io::Error) -> Error,
    mut visit: impl FnMut(Line<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        if input.read_until(b'\n', &mut text).map_err(&read_error)? == 0 {
            break;
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Object<'_>>(&text) {
            Ok(object) => visit(Line { number, pair: Ok((object.key.as_bytes(), object.value.as_bytes())) })?,
            Err(error) => visit(Line { number, pair: Err(problem(&error)) })?,
        }
    }
    Ok(())
}

/// Returns the reason why a line is invalid. Removes the line number of serde, which counts within the line.
fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or(&text);
    let column = error.column();
    let allowed = r#"one object of two strings, {"key": "...", "value": "..."}"#;
    format!("column {column}: {reason}; allowed is {allowed}")
}
