//! Pairs in objects: JSON lines.

use super::Line;
use crate::error::Error;
use serde::Deserialize;
use std::{
    borrow::Cow,
    io::{self, BufRead, BufReader, Read},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    value: Cow<'a, str>,
}

/// Calls `take` for every line of `input`; blank lines are passed over.
///
/// # Errors
/// The input cannot be read (told by `unreadable`), or an error of `take`.
pub(crate) fn for_each(
    input: impl Read,
    unreadable: impl Fn(io::Error) -> Error,
    mut take: impl FnMut(Line<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        if input.read_until(b'\n', &mut text).map_err(&unreadable)? == 0 {
            break;
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Object<'_>>(&text) {
            Ok(object) => take(Line { number, pair: Ok((object.key.as_bytes(), object.value.as_bytes())) })?,
            Err(error) => take(Line { number, pair: Err(problem(&error)) })?,
        }
    }
    Ok(())
}

/// What is wrong; serde counts lines within the line, which would only mislead.
fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let wrong = text.split(" at line ").next().unwrap_or(&text);
    let column = error.column();
    let allowed = r#"one object of two strings, {"key": "...", "value": "..."}"#;
    format!("column {column}: {wrong}; allowed is {allowed}")
}
