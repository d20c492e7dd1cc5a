//! `honeycomb scan`: prints pairs in key order.

use std::io::{self, BufWriter, Write};
use std::ops::Bound;

use serde::Serialize;

use crate::arguments::ScanArguments;
use crate::encoding::Encoding;
use crate::error::Error;
use crate::paged_scan::{self, ScanRequest};
use crate::{Status, image};

#[derive(Serialize)]
struct PrintedPair {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// The store cannot be loaded, the table does not exist, or a key is invalid.
pub(crate) fn run(arguments: &ScanArguments) -> Result<Status, Error> {
    let encoding = arguments.encoding.encoding();
    let request = request(arguments, encoding)?;
    let (store, table) = image::load_table(&arguments.table)?;
    let mut output = BufWriter::new(io::stdout().lock());
    paged_scan::for_each(&store.snapshot()?, &table, request, |key, value| {
        let value = (!arguments.keys_only).then(|| encoding.encode(value));
        let pair = PrintedPair { key: encoding.encode(key), value };
        pair.write(&mut output, arguments.json.json).map_err(Error::Output)
    })?;
    output.flush().map_err(Error::Output)?;
    Ok(Status::Success)
}

impl PrintedPair {
    fn write(&self, output: &mut impl Write, json: bool) -> io::Result<()> {
        match &self.value {
            _ if json => {
                serde_json::to_writer(&mut *output, self)?;
                writeln!(output)
            }
            Some(value) => writeln!(output, "{}\t{value}", self.key),
            None => writeln!(output, "{}", self.key),
        }
    }
}

fn request(arguments: &ScanArguments, encoding: Encoding) -> Result<ScanRequest, Error> {
    let decode =
        |text: &Option<String>| text.as_ref().map(|text| image::decode_key(encoding, text)).transpose();
    let range = match decode(&arguments.prefix)? {
        Some(prefix) => ScanRequest::prefix(&prefix),
        None => ScanRequest {
            lower: decode(&arguments.from)?.map_or(Bound::Unbounded, Bound::Included),
            upper: decode(&arguments.to)?.map_or(Bound::Unbounded, Bound::Excluded),
            ..ScanRequest::default()
        },
    };
    Ok(ScanRequest {
        floor_start: arguments.floor_start,
        backward: arguments.backward,
        keys_only: arguments.keys_only,
        limit: arguments.limit.unwrap_or(u64::MAX),
        ..range
    })
}
