//! One answer to each kind of query, as an illustration in the report.

use std::fmt;
use std::path::Path;

use indicatif::HumanCount;
use serde::Serialize;

use crate::answers::Answers;
use crate::chunk::CHUNK_BYTES_MAX;
use crate::compare::LARGEST;
use crate::{Error, escape, path_key, rows};

/// The number of names of a listing in the report for people.
const NAMES_MAX: usize = 12;

/// One answer to each kind of query.
#[derive(Debug, Serialize)]
pub(crate) struct Samples {
    directory: String,
    listing: Vec<String>,
    largest: Vec<LargeFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<SampleRange>,
}

#[derive(Debug, Serialize)]
struct LargeFile {
    path: String,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct SampleRange {
    path: String,
    from: u64,
    to: u64,
    chunks: Vec<SampleChunk>,
}

#[derive(Debug, Serialize)]
struct SampleChunk {
    offset: u64,
    bytes: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    crc32c: Option<String>,
}

impl Samples {
    /// Lists `root`, and finds the largest files below it and the chunks in the middle of the largest one.
    ///
    /// # Errors
    /// The store returns an error.
    pub(crate) fn new(answers: &Answers<'_>, root: &Path) -> Result<Samples, Error> {
        let listing = answers.listing(root)?;
        let prefix = path_key::children(root).len();
        let largest = answers.largest(root, LARGEST)?;
        let range = match largest.first() {
            Some((size, path)) if *size > 0 => Some(SampleRange::new(answers, path, *size)?),
            _ => None,
        };
        let large = |(bytes, path): &(u64, Vec<u8>)| LargeFile { path: escape::bytes(path), bytes: *bytes };
        Ok(Samples {
            directory: escape::path(root),
            listing: listing.iter().map(|(key, _)| escape::bytes(&key[prefix..])).collect(),
            largest: largest.iter().map(large).collect(),
            range,
        })
    }
}

impl SampleRange {
    fn new(answers: &Answers<'_>, path: &[u8], size: u64) -> Result<SampleRange, Error> {
        let (from, to) = (size / 2, (size / 2 + CHUNK_BYTES_MAX).min(size));
        let chunks = answers.chunks(path_key::as_path(path), from..to)?;
        let chunks = chunks.iter().map(|chunk| SampleChunk {
            offset: chunk.offset,
            bytes: chunk.length,
            crc32c: chunk.checksum.map(|checksum| format!("{checksum:08x}")),
        });
        Ok(SampleRange { path: escape::bytes(path), from, to, chunks: chunks.collect() })
    }
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "entries of {}: {}", self.directory, HumanCount(self.listing.len() as u64))?;
        let names: Vec<_> = self.listing.iter().take(NAMES_MAX).map(String::as_str).collect();
        let more = if self.listing.len() > NAMES_MAX { " ..." } else { "" };
        writeln!(f, "{}", format!("  {}{more}", names.join(" ")).trim_end())?;
        writeln!(f, "largest files below {}", self.directory)?;
        self.largest.iter().try_for_each(|file| rows::item(f, file.bytes, &file.path))?;
        self.range.iter().try_for_each(|range| write!(f, "{range}"))
    }
}

impl fmt::Display for SampleRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "bytes {} to {} of {}", HumanCount(self.from), HumanCount(self.to), self.path)?;
        self.chunks.iter().try_for_each(|chunk| {
            let offset = HumanCount(chunk.offset).to_string();
            let checksum = chunk.crc32c.as_ref().map(|checksum| format!("CRC-32C {checksum}"));
            let checksum = checksum.as_deref().unwrap_or("no checksum");
            rows::item(f, u64::from(chunk.bytes), format_args!("from {offset:>14}  {checksum}"))
        })
    }
}
