//! `honeycomb get`: prints the value of a key.

use serde::Serialize;

use crate::arguments::GetArguments;
use crate::encoding::Encoding;
use crate::error::Error;
use crate::report::{self, Report, ReportText};
use crate::{Status, image};

#[derive(Serialize)]
struct GetResult {
    key: String,
    found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

impl Report for GetResult {
    fn write_text(&self, text: &mut ReportText) {
        self.value.iter().for_each(|value| text.line(value));
    }
}

/// Runs the command.
///
/// # Errors
/// The store cannot be loaded, the table does not exist, or the key is invalid.
pub(crate) fn run(arguments: &GetArguments) -> Result<Status, Error> {
    let encoding = arguments.encoding.encoding();
    let key = image::decode_key(encoding, &arguments.key)?;
    let value = image::load_value(&arguments.table, &key)?;
    let status = if value.is_some() { Status::Success } else { Status::Negative };
    match (value, arguments.encoding.requested()) {
        (Some(value), None) if !arguments.json.json => report::write(&value)?,
        (value, _) => {
            let value = value.map(|value| encoding.encode(&value));
            let result = GetResult { key: encoding.encode(&key), found: value.is_some(), value };
            report::print(&result, arguments.json.json)?;
        }
    }
    if status == Status::Negative {
        let (key, table) = (Encoding::Escaped.encode(&key), &arguments.table.name);
        eprintln!("honeycomb: no key {key} in table `{table}`");
    }
    Ok(status)
}
