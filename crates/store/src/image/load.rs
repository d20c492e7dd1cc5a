//! Reads an image. What it says is believed only after its checksum, and used with care even then.

use std::io::Read;
use std::sync::Arc;

use crc32c::{crc32c, crc32c_append};
use honeycomb_btree::Loader;

use super::{CONTENT_BYTES_MAX, END, FORMAT, FRAME_HEADER_BYTES, HEADER_BYTES, MAGIC, PAIRS, TABLE};
use crate::directory::{self, Entry};
use crate::error::{Error, ImageError};
use crate::loader;
use crate::shared::StoreState;

/// Adds the tables of an image: how many pairs they have.
pub(crate) fn load(shared: &StoreState, reader: impl Read) -> Result<u64, Error> {
    let mut frames = Frames::begin(reader)?;
    let mut arrivals = Arrivals { shared, entries: Vec::new(), loader: None };
    let mut pairs = 0;
    loop {
        let (kind, mut content) = frames.next()?;
        let malformed = match kind {
            TABLE => arrivals.create_tree(content)?,
            PAIRS => arrivals.push_all(&mut content, &mut pairs)?,
            END if content == pairs.to_le_bytes() => break,
            END => Some("the number of pairs is not that of the end frame"),
            _ => Some("a frame is of kind table (1), pairs (2) or end (3)"),
        };
        if let Some(what) = malformed {
            return Err(ImageError::Malformed { offset: frames.offset, what }.into());
        }
    }
    arrivals.settle()?;
    Ok(pairs)
}

/// Tables that nobody can see yet. If they do not settle they are felled.
struct Arrivals<'s> {
    shared: &'s StoreState,
    entries: Vec<Arc<Entry>>,
    /// That of the last table.
    loader: Option<Loader<'s>>,
}

/// What is wrong with a frame, if anything is.
type Malformed = Option<&'static str>;

impl Arrivals<'_> {
    fn create_tree(&mut self, name: &[u8]) -> Result<Malformed, Error> {
        let Some(name) = str::from_utf8(name).ok().filter(|name| directory::check_name(name).is_ok()) else {
            return Ok(Some("a table has a name of 1 to 255 bytes of UTF-8"));
        };
        if self.entries.iter().any(|entry| entry.name == name) {
            return Ok(Some("a table is named once"));
        }
        // Again when all is read; now already, so as not to read all in vain.
        self.refuse_existing(name, self.shared.directory.read().contains_key(name))?;
        self.finish_last()?;
        let root = self.shared.write(|forest| forest.create_tree())?;
        self.entries.push(Arc::new(self.shared.entry(name, root)?));
        self.loader = Some(self.shared.forest.loader(root, loader::Loader::FILL_PERCENT)?);
        Ok(None)
    }

    fn finish_last(&mut self) -> Result<(), Error> {
        if let (Some(entry), Some(loader)) = (self.entries.last(), self.loader.take()) {
            entry.pairs.add(loader.finish()?);
        }
        Ok(())
    }

    fn push_all(&mut self, content: &mut &[u8], pairs: &mut u64) -> Result<Malformed, Error> {
        let Some(loader) = &mut self.loader else { return Ok(Some("pairs come after their table")) };
        while !content.is_empty() {
            let Some((key, value)) = take_pair(content) else {
                return Ok(Some("a frame of pairs ends with a pair"));
            };
            match self.shared.write(|_| loader.push(key, value)) {
                Err(Error::NotAscending { .. }) => return Ok(Some("the keys of a table ascend")),
                pushed => pushed?,
            }
            *pairs += 1;
        }
        Ok(None)
    }

    /// Makes the tables visible.
    fn settle(mut self) -> Result<(), Error> {
        self.finish_last()?;
        let mut tables = self.shared.directory.write();
        for entry in &self.entries {
            self.refuse_existing(&entry.name, tables.contains_key(&entry.name))?;
        }
        tables.extend(self.entries.drain(..).map(|entry| (entry.name.clone(), entry)));
        Ok(())
    }

    fn refuse_existing(&self, name: &str, exists: bool) -> Result<(), Error> {
        if exists { Err(Error::TableExists { name: name.to_owned() }) } else { Ok(()) }
    }
}

impl Drop for Arrivals<'_> {
    fn drop(&mut self) {
        self.loader = None;
        self.entries.iter().for_each(|entry| self.shared.abandon(entry.root));
    }
}

fn take_pair<'c>(content: &mut &'c [u8]) -> Option<(&'c [u8], &'c [u8])> {
    let key_bytes = u16::from_le_bytes(take(content, 2)?.try_into().ok()?);
    let value_bytes = u32::from_le_bytes(take(content, 4)?.try_into().ok()?);
    Some((take(content, usize::from(key_bytes))?, take(content, value_bytes as usize)?))
}

fn take<'c>(content: &mut &'c [u8], bytes: usize) -> Option<&'c [u8]> {
    let (taken, rest) = content.split_at_checked(bytes)?;
    *content = rest;
    Some(taken)
}

/// An image being read.
struct Frames<R> {
    reader: R,
    /// Bytes read so far.
    offset: u64,
    checksum: u32,
    content: Vec<u8>,
}

impl<R: Read> Frames<R> {
    fn begin(reader: R) -> Result<Self, ImageError> {
        let mut frames = Self { reader, offset: 0, checksum: 0, content: Vec::new() };
        let header: [u8; HEADER_BYTES] = frames.read_array()?;
        let (start, checksum) = header.split_at(HEADER_BYTES - 4);
        let (magic, format) = start.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(ImageError::NotAnImage);
        }
        frames.checksum = crc32c(start);
        frames.check(checksum)?;
        match number(format) {
            FORMAT => Ok(frames),
            found => Err(ImageError::Format { found, supported: FORMAT }),
        }
    }

    /// Kind and content of the next frame.
    fn next(&mut self) -> Result<(u8, &[u8]), ImageError> {
        let header: [u8; FRAME_HEADER_BYTES] = self.read_array()?;
        let (length, checksum) = header.split_at(4);
        let bytes = number(length) as usize;
        if !(1..=CONTENT_BYTES_MAX).contains(&bytes) {
            let what = "a frame has a content of 1 byte to 32 MiB";
            return Err(ImageError::Malformed { offset: self.offset, what });
        }
        self.read_content(bytes)?;
        self.checksum = crc32c_append(crc32c_append(self.checksum, length), &self.content);
        self.check(checksum)?;
        Ok((self.content[0], &self.content[1..]))
    }

    fn check(&self, checksum: &[u8]) -> Result<(), ImageError> {
        if number(checksum) == self.checksum {
            return Ok(());
        }
        Err(ImageError::Checksum { offset: self.offset })
    }

    fn read_content(&mut self, bytes: usize) -> Result<(), ImageError> {
        self.content.clear();
        let read = self.reader.by_ref().take(bytes as u64).read_to_end(&mut self.content)?;
        self.offset += read as u64;
        if read < bytes { Err(ImageError::Truncated { offset: self.offset }) } else { Ok(()) }
    }

    fn read_array<const N: usize>(&mut self) -> Result<[u8; N], ImageError> {
        self.read_content(N)?;
        let mut array = [0; N];
        array.copy_from_slice(&self.content);
        Ok(array)
    }
}

/// A number of four bytes.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte))
}
