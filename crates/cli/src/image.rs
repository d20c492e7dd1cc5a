//! Images: files with the contents of a store. Loads and saves them.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use honeycomb_store::{Config, LeaseLimits, Store, Table, TableKind, UnorderedConfig};
use indicatif::HumanBytes;
use serde::Serialize;

use crate::arguments::{ImageArguments, MemoryArgument, TableArguments};
use crate::encoding::{self, Encoding};
use crate::error::Error;
use crate::image_file::ImageFile;
use crate::report::ReportText;

/// The default memory of a store per byte of input, in addition to [`MEMORY_BYTES_MIN`]. Unused memory is not
/// resident.
const MEMORY_BYTES_PER_INPUT_BYTE: u64 = 8;

/// The smallest default memory of a store, in bytes.
const MEMORY_BYTES_MIN: u64 = 1 << 30;

/// Creates an empty store with the requested memory, or with enough for `input_bytes` of keys and values.
///
/// # Errors
/// The system does not provide the memory.
fn create(memory: &MemoryArgument, input_bytes: u64) -> Result<Store, Error> {
    let memory_bytes = memory_bytes(memory, input_bytes)?;
    // Only this process uses the store, so its snapshots need no limits.
    let lease = LeaseLimits { time: Duration::from_secs(u64::from(u32::MAX)), bytes: u64::MAX };
    Ok(Store::open(Config { memory_bytes, lease, ..Config::default() })?)
}

/// Returns the memory of a store in bytes: the requested size, or enough for `input_bytes` of keys and
/// values.
///
/// # Errors
/// The machine cannot address the size.
pub(crate) fn memory_bytes(memory: &MemoryArgument, input_bytes: u64) -> Result<usize, Error> {
    let default = MEMORY_BYTES_MIN.saturating_add(MEMORY_BYTES_PER_INPUT_BYTE.saturating_mul(input_bytes));
    let bytes = memory.bytes.unwrap_or(default);
    let too_large = |_| format!("this machine cannot address {}", HumanBytes(bytes));
    usize::try_from(bytes).map_err(too_large).map_err(Error::Arguments)
}

/// Loads the image of `file` if it exists, with memory for `input_bytes` more. Otherwise creates an empty
/// store.
///
/// # Errors
/// The file is not an image, or is too large for the memory.
pub(crate) fn load_or_create(
    file: Option<&ImageFile>,
    memory: &MemoryArgument,
    input_bytes: u64,
) -> Result<Store, Error> {
    match file.map(ImageFile::path) {
        Some(path) if path.exists() => load_file(path, memory, input_bytes),
        _ => create(memory, input_bytes),
    }
}

/// Loads an image.
///
/// # Errors
/// The file is not an image, or is too large for the memory.
pub(crate) fn load(image: &ImageArguments) -> Result<Store, Error> {
    load_file(&image.store, &image.memory, 0)
}

/// Loads an image and opens one of its ordered tables.
///
/// # Errors
/// The file is not an image or is too large for the memory; the table does not exist, or is unordered.
pub(crate) fn load_table(arguments: &TableArguments) -> Result<(Store, Table), Error> {
    let store = load_with_table(arguments)?;
    let table = store.table(&arguments.name)?;
    Ok((store, table))
}

/// Loads an image and returns the value of a key of one of its tables, of either kind.
///
/// # Errors
/// The file is not an image or is too large for the memory; the table does not exist, or the key is invalid.
pub(crate) fn load_value(arguments: &TableArguments, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let store = load_with_table(arguments)?;
    Ok(match store.table_kind(&arguments.name) {
        Some(TableKind::Unordered) => {
            store.unordered_table(&arguments.name, UnorderedConfig::default())?.get(key)?
        }
        _ => store.table(&arguments.name)?.get(key)?,
    })
}

/// Loads an image that contains a table.
fn load_with_table(arguments: &TableArguments) -> Result<Store, Error> {
    let store = load(&arguments.image)?;
    let tables = store.tables();
    if !tables.contains(&arguments.name) {
        let tables: Vec<_> = tables.iter().map(|name| format!("`{name}`")).collect();
        let tables = if tables.is_empty() { "no tables".into() } else { tables.join(", ") };
        let problem = format!("there is no table `{}`; the store has {tables}", arguments.name);
        return Err(Error::Arguments(problem));
    }
    Ok(store)
}

/// Decodes a key from an argument.
///
/// # Errors
/// The argument is invalid. The error names the allowed values.
pub(crate) fn decode_key(encoding: Encoding, text: &str) -> Result<Vec<u8>, Error> {
    encoding.decode(text.as_bytes()).map_err(|problem| Error::Arguments(format!("key `{text}`: {problem}")))
}

/// A saved image.
#[derive(Serialize)]
pub(crate) struct SavedImage {
    image: String,
    pairs: u64,
    bytes: u64,
}

impl SavedImage {
    /// Writes the path and the size for people.
    pub(crate) fn write_text(&self, text: &mut ReportText) {
        text.line(format_args!("saved in {}", self.image));
        text.count("pairs", self.pairs, HumanBytes(self.bytes));
    }
}

/// Saves `store` in `file`, if there is one. After an error, the image is unchanged.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn save(store: &Store, file: Option<ImageFile>) -> Result<Option<SavedImage>, Error> {
    let Some(file) = file else { return Ok(None) };
    let image = encoding::path(file.path());
    let (pairs, bytes) = file.save(store)?;
    Ok(Some(SavedImage { image, pairs, bytes }))
}

fn load_file(path: &Path, memory: &MemoryArgument, more_bytes: u64) -> Result<Store, Error> {
    let file = File::open(path).map_err(Error::file("open", path))?;
    let bytes = file.metadata().map_err(Error::file("read", path))?.len();
    let store = create(memory, bytes + more_bytes)?;
    store.load(BufReader::with_capacity(1 << 20, file)).map_err(Error::image("load", path))?;
    Ok(store)
}
