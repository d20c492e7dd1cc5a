//! Reading of images. It uses no content before its checksum, and checks every field even then.

use std::io::Read;
use std::sync::Arc;

use crc32c::{crc32c, crc32c_append};
use honeycomb_btree::Loader;
use honeycomb_layout::wal_unordered;
use honeycomb_log::Changes;

use super::format::{
    CONTENT_BYTES_MAX, END, FORMAT, FRAME_HEADER_BYTES, HEADER_BYTES, MAGIC, PAIRS, TABLE, UNORDERED,
};
use crate::directory::Entry;
use crate::error::{Error, ImageError};
use crate::store_state::StoreState;
use crate::unordered::config::UnorderedConfig;
use crate::{loader, table_name};

/// Adds the tables of an image and returns the number of their pairs.
pub(crate) fn load(state: &StoreState, reader: impl Read) -> Result<u64, Error> {
    let mut frames = Frames::begin(reader)?;
    let mut pending = PendingTables { state, entries: Vec::new(), loader: None, changes: Changes::default() };
    let mut pairs = 0;
    loop {
        let (kind, mut content) = frames.next()?;
        let malformed = match kind {
            TABLE => pending.create_tree(content)?,
            UNORDERED => pending.create_unordered(content)?,
            PAIRS => pending.push_all(&mut content, &mut pairs)?,
            END if content == pairs.to_le_bytes() => break,
            END => Some("the end frame states the number of pairs"),
            _ => Some("the kind of a frame is table (1), pairs (2), end (3) or unordered table (4)"),
        };
        if let Some(rule) = malformed {
            return Err(ImageError::Malformed { offset: frames.offset, rule }.into());
        }
    }
    pending.publish()?;
    Ok(pairs)
}

/// Tables of an image that are not visible yet. If they are dropped before they are published, their trees
/// are dropped as well.
struct PendingTables<'s> {
    state: &'s StoreState,
    entries: Vec<Entry>,
    /// The loader of the last table.
    loader: Option<Loader<'s>>,
    /// The record of all tables, if the store is durable.
    changes: Changes,
}

/// The rule that a frame violates, if any.
type Malformed = Option<&'static str>;

impl PendingTables<'_> {
    fn create_tree(&mut self, name: &[u8]) -> Result<Malformed, Error> {
        let name = match self.begin_table(name)? {
            Ok(name) => name,
            Err(rule) => return Ok(Some(rule)),
        };
        let root = self.state.write(|forest| forest.create_tree())?;
        self.entries.push(Entry::Ordered(Arc::new(self.state.entry(name, root)?)));
        self.changes.create(root.lid().get(), name);
        self.loader = Some(self.state.forest.loader(root, loader::Loader::FILL_PERCENT)?);
        Ok(None)
    }

    fn create_unordered(&mut self, content: &[u8]) -> Result<Malformed, Error> {
        let parameters = content.split_at_checked(wal_unordered::SIZE);
        let decoded = parameters.and_then(|(bytes, name)| Some((UnorderedConfig::decode(bytes)?, name)));
        let Some((config, name)) = decoded else {
            return Ok(Some("an unordered table has parameters of 6 bytes"));
        };
        let name = match self.begin_table(name)? {
            Ok(name) => name,
            Err(rule) => return Ok(Some(rule)),
        };
        let entry = match self.state.unordered_entry(name, config) {
            Err(Error::InvalidConfig(_)) => {
                return Ok(Some("the parameters of an unordered table are in their limits"));
            }
            entry => entry?,
        };
        self.changes.create_unordered(entry.tree, name, &config.encode());
        self.entries.push(Entry::Unordered(entry));
        Ok(None)
    }

    /// Ends the table before this one, and checks the name of this one.
    fn begin_table<'n>(&mut self, name: &'n [u8]) -> Result<Result<&'n str, &'static str>, Error> {
        let Some(name) = str::from_utf8(name).ok().filter(|name| table_name::check(name).is_ok()) else {
            return Ok(Err("a table has a name of 1 to 255 bytes of UTF-8"));
        };
        if self.entries.iter().any(|entry| entry.name() == name) {
            return Ok(Err("the names of tables are unique"));
        }
        // `publish` checks this again. Checking it here as well avoids reading the whole image in vain.
        self.check_absent(name, self.state.directory.read().contains_key(name))?;
        self.finish_last()?;
        Ok(Ok(name))
    }

    fn finish_last(&mut self) -> Result<(), Error> {
        if let (Some(Entry::Ordered(entry)), Some(loader)) = (self.entries.last(), self.loader.take()) {
            entry.pairs.add(loader.finish()?);
        }
        Ok(())
    }

    fn push_all(&mut self, content: &mut &[u8], pairs: &mut u64) -> Result<Malformed, Error> {
        let Some(entry) = self.entries.last() else {
            return Ok(Some("a frame of pairs follows a frame of a table"));
        };
        while !content.is_empty() {
            let Some((key, value)) = take_pair(content) else {
                return Ok(Some("a frame of pairs contains whole pairs"));
            };
            let pushed = match (entry, &mut self.loader) {
                (Entry::Unordered(entry), _) => self.state.write(|_| entry.load(key, value)),
                (_, Some(loader)) => self.state.write(|_| loader.push(key, value)),
                (_, None) => Ok(()),
            };
            match pushed {
                Err(Error::NotAscending { .. }) => return Ok(Some("the keys of a table ascend")),
                pushed => pushed?,
            }
            if self.state.durability().is_some() {
                self.changes.put(entry.tree(), key, value);
            }
            *pairs += 1;
        }
        Ok(None)
    }

    /// Makes all tables visible.
    fn publish(mut self) -> Result<(), Error> {
        self.finish_last()?;
        let mut tables = self.state.directory.write();
        for entry in &self.entries {
            self.check_absent(entry.name(), tables.contains_key(entry.name()))?;
        }
        // Under the lock, so that a checkpoint has both the tables and their record, or neither.
        self.state.record(&self.changes)?;
        tables.extend(self.entries.drain(..).map(|entry| (entry.name().to_owned(), entry)));
        Ok(())
    }

    fn check_absent(&self, name: &str, exists: bool) -> Result<(), Error> {
        if exists { Err(Error::TableExists { name: name.to_owned() }) } else { Ok(()) }
    }
}

impl Drop for PendingTables<'_> {
    fn drop(&mut self) {
        self.loader = None;
        self.entries.iter().filter_map(Entry::root).for_each(|root| self.state.drop_or_defer(root));
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

/// Reads the frames of an image.
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

    /// Returns the kind and the content of the next frame.
    fn next(&mut self) -> Result<(u8, &[u8]), ImageError> {
        let header: [u8; FRAME_HEADER_BYTES] = self.read_array()?;
        let (length, checksum) = header.split_at(4);
        let bytes = number(length) as usize;
        if !(1..=CONTENT_BYTES_MAX).contains(&bytes) {
            let rule = "a frame has a content of 1 byte to 32 MiB";
            return Err(ImageError::Malformed { offset: self.offset, rule });
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

/// A little-endian number of four bytes.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte))
}
