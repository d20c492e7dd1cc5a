//! `honeycomb get`: the value of a key.

use crate::{
    Verdict,
    arguments::Get,
    error::Error,
    image,
    output::{self, Report, Sheet},
    text::Form,
};
use serde::Serialize;

#[derive(Serialize)]
struct Found {
    key: String,
    found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

impl Report for Found {
    fn sheet(&self, sheet: &mut Sheet) {
        self.value.iter().for_each(|value| sheet.line(value));
    }
}

/// Runs the command.
///
/// # Errors
/// The store cannot be loaded, has no such table, or the key is none.
pub(crate) fn run(arguments: &Get) -> Result<Verdict, Error> {
    let form = arguments.form.form();
    let key = image::key(form, &arguments.key)?;
    let (_, table) = image::open_table(&arguments.source)?;
    let value = table.get(&key)?;
    let verdict = if value.is_some() { Verdict::Good } else { Verdict::Bad };
    match (value, arguments.form.asked()) {
        (Some(value), None) if !arguments.json.json => output::write(&value)?,
        (value, _) => {
            let value = value.map(|value| form.print(&value));
            let found = Found { key: form.print(&key), found: value.is_some(), value };
            output::print(&found, arguments.json.json)?;
        }
    }
    if verdict == Verdict::Bad {
        eprintln!("honeycomb: no key {} in table `{}`", Form::Escaped.print(&key), arguments.source.table);
    }
    Ok(verdict)
}
