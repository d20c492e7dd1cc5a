//! Stores in files: opened, extended, saved.

use crate::{
    arguments::{Image, MemoryOption, Source},
    error::Error,
    output::Sheet,
    text::{self, Form},
    units,
};
use honeycomb_store::{Config, LeaseLimits, Store, Table};
use serde::Serialize;
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{BufReader, BufWriter},
    path::{Path, PathBuf},
    time::Duration,
};

/// Bytes of memory a store gets for every byte of input, beside [`MEMORY_BYTES`]. Memory that is not used
/// costs nothing.
const MEMORY_PER_BYTE: u64 = 8;

/// Bytes of memory a store gets at least, unless the user says otherwise.
const MEMORY_BYTES: u64 = 1 << 30;

/// An empty store with the memory asked for, or with enough for `input_bytes` of keys and values.
///
/// # Errors
/// The system does not give the memory.
pub(crate) fn empty(memory: &MemoryOption, input_bytes: u64) -> Result<Store, Error> {
    let memory_bytes = addressable(memory.bytes.unwrap_or_else(|| enough(input_bytes)))?;
    // Nobody but this process uses the store, so a snapshot may live as long as it is of use.
    let lease = LeaseLimits { time: Duration::from_secs(u64::from(u32::MAX)), bytes: u64::MAX };
    Ok(Store::open(Config { memory_bytes, lease, ..Config::default() })?)
}

/// Bytes of memory for a server's store: those asked for, or enough for `input_bytes` of keys and values.
///
/// # Errors
/// They are more than can be addressed.
pub(crate) fn server_bytes(memory: &MemoryOption, input_bytes: u64) -> Result<usize, Error> {
    addressable(memory.bytes.unwrap_or_else(|| enough(input_bytes)))
}

fn enough(input_bytes: u64) -> u64 {
    MEMORY_BYTES.saturating_add(MEMORY_PER_BYTE.saturating_mul(input_bytes))
}

fn addressable(bytes: u64) -> Result<usize, Error> {
    let beyond = |_| format!("{} are more than this machine can address", units::bytes(bytes));
    usize::try_from(bytes).map_err(beyond).map_err(Error::Arguments)
}

/// The store saved in `path` if there is one, with room for `input_bytes` more; otherwise an empty one.
///
/// # Errors
/// The file is no image, or too large for the memory.
pub(crate) fn open_or_empty(
    path: Option<&Path>,
    memory: &MemoryOption,
    input_bytes: u64,
) -> Result<Store, Error> {
    match path {
        Some(path) if path.exists() => open(path, memory, input_bytes),
        _ => empty(memory, input_bytes),
    }
}

/// The store saved in `image`.
///
/// # Errors
/// The file is no image, or too large for the memory.
pub(crate) fn open_image(image: &Image) -> Result<Store, Error> {
    open(&image.store, &image.memory, 0)
}

/// The table that `source` names, and its store.
///
/// # Errors
/// The file is no image or too large for the memory, or there is no such table.
pub(crate) fn open_table(source: &Source) -> Result<(Store, Table), Error> {
    let store = open_image(&source.image)?;
    let tables = store.tables();
    if !tables.contains(&source.table) {
        let tables: Vec<_> = tables.iter().map(|name| format!("`{name}`")).collect();
        let has = if tables.is_empty() { "none".into() } else { tables.join(", ") };
        return Err(Error::Arguments(format!("there is no table `{}`; the store has {has}", source.table)));
    }
    let table = store.table(&source.table)?;
    Ok((store, table))
}

/// The key that an argument stands for.
///
/// # Errors
/// What is wrong with the argument, and what is allowed.
pub(crate) fn key(form: Form, text: &str) -> Result<Vec<u8>, Error> {
    form.read(text.as_bytes()).map_err(|problem| Error::Arguments(format!("key `{text}`: {problem}")))
}

/// Where a store was saved.
#[derive(Serialize)]
pub(crate) struct Saved {
    image: String,
    pairs: u64,
    bytes: u64,
}

impl Saved {
    /// Writes it for people.
    pub(crate) fn sheet(&self, sheet: &mut Sheet) {
        sheet.line(&format!("saved in {}", self.image));
        sheet.number("pairs", &units::count(self.pairs), &units::bytes(self.bytes));
    }
}

/// Saves `store` in `path`, if there is one: all of it or, on an error, nothing.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn save(store: &Store, path: Option<&Path>) -> Result<Option<Saved>, Error> {
    let Some(path) = path else { return Ok(None) };
    let draft = draft(path);
    let saved = write(store, &draft).and_then(|(pairs, bytes)| {
        fs::rename(&draft, path).map_err(Error::file("replace", path))?;
        Ok(Some(Saved { image: text::path(path), pairs, bytes }))
    });
    if saved.is_err() {
        // Already failing: that the draft stays behind is the lesser news.
        let _ = fs::remove_file(&draft);
    }
    saved
}

/// Returns the number of pairs and of bytes.
fn write(store: &Store, path: &Path) -> Result<(u64, u64), Error> {
    let file = File::create(path).map_err(Error::file("create", path))?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    let pairs = store.save(&mut writer).map_err(Error::image("save", path))?;
    let file = writer.into_inner().map_err(|error| Error::file("write", path)(error.into_error()))?;
    file.sync_all().map_err(Error::file("write", path))?;
    Ok((pairs, file.metadata().map_err(Error::file("read", path))?.len()))
}

/// A file beside `path`, to be renamed.
fn draft(path: &Path) -> PathBuf {
    let mut name: OsString = path.into();
    name.push(format!(".{}.draft", std::process::id()));
    name.into()
}

fn open(path: &Path, memory: &MemoryOption, more_bytes: u64) -> Result<Store, Error> {
    let file = File::open(path).map_err(Error::file("open", path))?;
    let bytes = file.metadata().map_err(Error::file("read", path))?.len();
    let store = empty(memory, bytes + more_bytes)?;
    store.load(BufReader::with_capacity(1 << 20, file)).map_err(Error::image("load", path))?;
    Ok(store)
}
