//! Writing of images.

use std::io::{self, Write};
use std::ops::Bound;
use std::sync::Arc;

use crc32c::{crc32c, crc32c_append};
use honeycomb_hashtable::WalkedPairs;

use super::format::{END, FORMAT, FRAME_HEADER_BYTES, MAGIC, PAIRS, TABLE, UNORDERED};
use crate::directory::Entry;
use crate::error::{Error, ImageError};
use crate::iter::{Iter, PageSource};
use crate::pairs::Pairs;
use crate::store_state::StoreState;
use crate::table::Table;
use crate::unordered::table::UnorderedTable;

/// Bytes after which a frame of pairs of an unordered table ends.
const FRAME_BYTES: usize = 256 << 10;

/// Writes all tables and returns the number of their pairs.
pub(crate) fn save(state: &Arc<StoreState>, writer: impl Write) -> Result<u64, Error> {
    let (mut ordered, mut unordered) = (Vec::new(), Vec::new());
    let source = {
        // The lock makes the list of tables and the snapshot consistent.
        let directory = state.directory.read();
        for entry in directory.values().cloned() {
            match entry {
                Entry::Ordered(entry) => ordered.push(Table::new(state.clone(), entry)),
                Entry::Unordered(entry) => unordered.push(UnorderedTable::new(state.clone(), entry)),
            }
        }
        PageSource::of(state)?
    };
    let mut frames = Frames::begin(writer)?;
    let mut pairs = 0;
    for table in ordered {
        frames.write(TABLE, |content| content.extend_from_slice(table.name().as_bytes()))?;
        let mut iter = Iter::new(source.clone(), table, (Bound::Unbounded, Bound::Unbounded));
        loop {
            let page = iter.next_page()?;
            if page.is_empty() {
                break;
            }
            frames.write(PAIRS, |content| append_pairs(content, page))?;
            pairs += page.len() as u64;
            source.renew()?;
        }
    }
    for table in unordered {
        pairs += save_unordered(&table, &mut frames)?;
    }
    frames.write(END, |content| content.extend_from_slice(&pairs.to_le_bytes()))?;
    frames.finish()?;
    Ok(pairs)
}

/// Writes an unordered table and returns the number of its pairs.
fn save_unordered<W: Write>(table: &UnorderedTable, frames: &mut Frames<W>) -> Result<u64, Error> {
    frames.write(UNORDERED, |content| {
        content.extend_from_slice(&table.config().encode());
        content.extend_from_slice(table.name().as_bytes());
    })?;
    let (mut walked, mut cursor, mut pairs) = (WalkedPairs::default(), 0, 0);
    loop {
        cursor = table.walk(cursor, usize::MAX, &mut walked);
        let mut page = walked.iter().peekable();
        // A page of long values may exceed a frame.
        while page.peek().is_some() {
            frames.write(PAIRS, |content| {
                for (key, value) in page.by_ref() {
                    append_pair(content, key, value);
                    if content.len() >= FRAME_BYTES {
                        break;
                    }
                }
            })?;
        }
        pairs += walked.len() as u64;
        if cursor == 0 {
            return Ok(pairs);
        }
    }
}

fn append_pairs(content: &mut Vec<u8>, pairs: &Pairs) {
    pairs.iter().for_each(|(key, value)| append_pair(content, key, value));
}

/// The casts are lossless: keys and values have lower limits than their length fields.
fn append_pair(content: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    content.extend_from_slice(&(key.len() as u16).to_le_bytes());
    content.extend_from_slice(&(value.len() as u32).to_le_bytes());
    content.extend_from_slice(key);
    content.extend_from_slice(value);
}

/// Writes the frames of an image.
struct Frames<W> {
    writer: W,
    checksum: u32,
    frame: Vec<u8>,
}

impl<W: Write> Frames<W> {
    fn begin(mut writer: W) -> Result<Self, ImageError> {
        let start = [&MAGIC[..], &FORMAT.to_le_bytes()].concat();
        let checksum = crc32c(&start);
        writer.write_all(&start)?;
        writer.write_all(&checksum.to_le_bytes())?;
        Ok(Self { writer, checksum, frame: Vec::new() })
    }

    fn write(&mut self, kind: u8, append_content: impl FnOnce(&mut Vec<u8>)) -> Result<(), ImageError> {
        let frame = &mut self.frame;
        frame.clear();
        frame.resize(FRAME_HEADER_BYTES, 0);
        frame.push(kind);
        append_content(frame);
        let (header, content) = frame.split_at_mut(FRAME_HEADER_BYTES);
        let length = (content.len() as u32).to_le_bytes();
        self.checksum = crc32c_append(crc32c_append(self.checksum, &length), content);
        header[..4].copy_from_slice(&length);
        header[4..].copy_from_slice(&self.checksum.to_le_bytes());
        Ok(self.writer.write_all(frame)?)
    }

    fn finish(mut self) -> Result<(), ImageError> {
        let flushed: io::Result<()> = self.writer.flush();
        Ok(flushed?)
    }
}
