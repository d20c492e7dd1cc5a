//! `honeycomb scan`: pairs in the order of their keys.

use crate::{
    Verdict,
    arguments::Scan,
    error::Error,
    image,
    pages::{self, Request},
    text::Form,
};
use serde::Serialize;
use std::{
    io::{self, BufWriter, Write},
    ops::Bound,
};

#[derive(Serialize)]
struct Pair {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// The store cannot be loaded, has no such table, or a key is none.
pub(crate) fn run(arguments: &Scan) -> Result<Verdict, Error> {
    let form = arguments.form.form();
    let request = request(arguments, form)?;
    let (store, table) = image::open_table(&arguments.source)?;
    let mut output = BufWriter::new(io::stdout().lock());
    pages::for_each(&store.snapshot()?, &table, request, |key, value| {
        let value = (!arguments.keys_only).then(|| form.print(value));
        let pair = Pair { key: form.print(key), value };
        pair.write(&mut output, arguments.json.json).map_err(Error::Output)
    })?;
    output.flush().map_err(Error::Output)?;
    Ok(Verdict::Good)
}

impl Pair {
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

fn request(arguments: &Scan, form: Form) -> Result<Request, Error> {
    let bytes = |text: &Option<String>| text.as_ref().map(|text| image::key(form, text)).transpose();
    let base = match bytes(&arguments.prefix)? {
        Some(prefix) => Request::prefix(&prefix),
        None => Request {
            lower: bytes(&arguments.from)?.map_or(Bound::Unbounded, Bound::Included),
            upper: bytes(&arguments.to)?.map_or(Bound::Unbounded, Bound::Excluded),
            ..Request::default()
        },
    };
    Ok(Request {
        floor_start: arguments.floor_start,
        backward: arguments.backward,
        keys_only: arguments.keys_only,
        limit: arguments.limit.unwrap_or(u64::MAX),
        ..base
    })
}
