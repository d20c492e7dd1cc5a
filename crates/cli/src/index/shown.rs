//! One answer of each kind, for people to look at.

use super::{answers::Answers, chunk::CHUNK_BYTES_MAX, compare::LARGEST, path_key};
use crate::{
    error::Error,
    output::Sheet,
    text::{self, Form},
    units,
};
use serde::Serialize;
use std::path::Path;

/// Names of a listing that are printed for people.
const NAMES_MAX: usize = 12;

/// One answer of each kind.
#[derive(Serialize)]
pub(crate) struct Shown {
    directory: String,
    listing: Vec<String>,
    largest: Vec<LargeFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<ShownRange>,
}

#[derive(Serialize)]
struct LargeFile {
    path: String,
    bytes: u64,
}

#[derive(Serialize)]
struct ShownRange {
    path: String,
    from: u64,
    to: u64,
    chunks: Vec<ShownChunk>,
}

#[derive(Serialize)]
struct ShownChunk {
    offset: u64,
    bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    crc32c: Option<String>,
}

/// Asks what `root` lists, for the largest files below it, and for the chunks in the middle of the largest of
/// them.
///
/// # Errors
/// The store refuses an answer.
pub(crate) fn show(answers: &Answers<'_>, root: &Path) -> Result<Shown, Error> {
    let listing = answers.listing(root)?;
    let prefix = path_key::children(root).len();
    let largest = answers.largest(root, LARGEST)?;
    let range = match largest.first() {
        Some((size, path)) if *size > 0 => Some(show_range(answers, path, *size)?),
        _ => None,
    };
    let large = |(bytes, path): &(u64, Vec<u8>)| LargeFile { path: Form::Escaped.print(path), bytes: *bytes };
    Ok(Shown {
        directory: text::path(root),
        listing: listing.iter().map(|(key, _)| Form::Escaped.print(&key[prefix..])).collect(),
        largest: largest.iter().map(large).collect(),
        range,
    })
}

fn show_range(answers: &Answers<'_>, path: &[u8], size: u64) -> Result<ShownRange, Error> {
    let (from, to) = (size / 2, (size / 2 + CHUNK_BYTES_MAX).min(size));
    let chunks = answers.chunks(path_key::as_path(path), from..to)?;
    let chunks = chunks.iter().map(|chunk| ShownChunk {
        offset: chunk.offset,
        bytes: chunk.length,
        crc32c: chunk.checksum.map(|checksum| format!("{checksum:08x}")),
    });
    Ok(ShownRange { path: Form::Escaped.print(path), from, to, chunks: chunks.collect() })
}

impl Shown {
    /// Writes the answers for people.
    pub(crate) fn sheet(&self, sheet: &mut Sheet) {
        sheet.line(&format!("{} lists {}", self.directory, units::things(self.listing.len() as u64, "name")));
        let names: Vec<_> = self.listing.iter().take(NAMES_MAX).map(String::as_str).collect();
        let more = if self.listing.len() > NAMES_MAX { " ..." } else { "" };
        sheet.line(&format!("  {}{more}", names.join(" ")));
        sheet.line(&format!("largest files below {}", self.directory));
        self.largest.iter().for_each(|file| sheet.item(&units::bytes(file.bytes), &file.path));
        if let Some(range) = &self.range {
            range.sheet(sheet);
        }
    }
}

impl ShownRange {
    fn sheet(&self, sheet: &mut Sheet) {
        let (from, to) = (units::count(self.from), units::count(self.to));
        sheet.line(&format!("bytes {from} to {to} of {}", self.path));
        for chunk in &self.chunks {
            let checksum =
                chunk.crc32c.as_ref().map_or("no checksum".into(), |checksum| format!("CRC-32C {checksum}"));
            let text = format!("from {:>14}  {checksum}", units::count(chunk.offset));
            sheet.item(&units::bytes(u64::from(chunk.bytes)), &text);
        }
    }
}
