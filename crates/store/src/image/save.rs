//! Writing of images.

use std::io::{self, Write};
use std::ops::Bound;
use std::sync::Arc;

use crc32c::{crc32c, crc32c_append};

use super::format::{END, FORMAT, FRAME_HEADER_BYTES, MAGIC, PAIRS, TABLE};
use crate::error::{Error, ImageError};
use crate::iter::{Iter, PageSource};
use crate::pairs::Pairs;
use crate::store_state::StoreState;
use crate::table::Table;

/// Writes all tables and returns the number of their pairs.
pub(crate) fn save(state: &Arc<StoreState>, writer: impl Write) -> Result<u64, Error> {
    let (source, tables) = {
        // The lock makes the list of tables and the snapshot consistent.
        let directory = state.directory.read();
        let tables: Vec<_> =
            directory.values().map(|entry| Table::new(state.clone(), entry.clone())).collect();
        (PageSource::of(state)?, tables)
    };
    let mut frames = Frames::begin(writer)?;
    let mut pairs = 0;
    for table in tables {
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
    frames.write(END, |content| content.extend_from_slice(&pairs.to_le_bytes()))?;
    frames.finish()?;
    Ok(pairs)
}

/// The casts are lossless: keys and values have lower limits than their length fields.
fn append_pairs(content: &mut Vec<u8>, pairs: &Pairs) {
    for (key, value) in pairs {
        content.extend_from_slice(&(key.len() as u16).to_le_bytes());
        content.extend_from_slice(&(value.len() as u32).to_le_bytes());
        content.extend_from_slice(key);
        content.extend_from_slice(value);
    }
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
