//! The former format of images, which this version reads but does not write. Numbers are little-endian.
//!
//! An image consists of a header and frames. The last frame is an end frame.
//!
//! | bytes of the header | content |
//! |---|---|
//! | 0..8 | `HONEYIMG` |
//! | 8..12 | format: 1 |
//! | 12..16 | checksum |
//!
//! | bytes of a frame | content |
//! |---|---|
//! | 0..4 | n: bytes of the content, 1 to 32 MiB |
//! | 4..8 | checksum |
//! | 8..9 | kind |
//! | 9..8 + n | depends on the kind |
//!
//! | kind | content after the kind |
//! |---|---|
//! | 1: table | its name, 1 to 255 bytes of UTF-8; the following pairs belong to this table |
//! | 2: pairs | for each pair: bytes of the key (2), bytes of the value (4), the key, the value; ascending |
//! | 3: end | the number of pairs in the image (8) |
//!
//! A checksum is the CRC-32C of all earlier bytes of the image, and in a frame also of its length and
//! content, all without the checksums themselves. So the next checksum detects a changed, lost, repeated or
//! moved frame.

use std::io::Read;

use crc32c::{crc32c, crc32c_append};

use super::tables::{Malformed, PendingTables};
use crate::error::{Error, ImageError};
use crate::store_state::StoreState;

pub(super) const MAGIC: &[u8; 8] = b"HONEYIMG";
const FORMAT: u32 = 1;
const HEADER_BYTES: usize = 16;

/// Bytes of the length and the checksum of a frame.
const FRAME_HEADER_BYTES: usize = 8;
/// Longest content of a frame in bytes: a page of an iterator including the pair that exceeds the page's
/// limit, and a margin.
const CONTENT_BYTES_MAX: usize = 32 << 20;

const TABLE: u8 = 1;
const PAIRS: u8 = 2;
const END: u8 = 3;

/// Adds the tables of an image and returns the number of their pairs.
pub(super) fn load(state: &StoreState, reader: impl Read) -> Result<u64, Error> {
    let mut frames = Frames::begin(reader)?;
    let (mut pending, mut pairs) = (PendingTables::new(state), 0);
    loop {
        let (kind, content) = frames.next()?;
        let malformed = match kind {
            TABLE => pending.create_tree(content)?,
            PAIRS => push_all(&mut pending, content, &mut pairs)?,
            END if content == pairs.to_le_bytes() => break,
            END => Some("the end frame states the number of pairs"),
            _ => Some("the kind of a frame is table (1), pairs (2) or end (3)"),
        };
        if let Some(rule) = malformed {
            return Err(ImageError::Malformed { offset: frames.offset, rule }.into());
        }
    }
    pending.publish()?;
    Ok(pairs)
}

fn push_all(
    pending: &mut PendingTables<'_>,
    mut content: &[u8],
    pairs: &mut u64,
) -> Result<Malformed, Error> {
    while !content.is_empty() {
        let Some((key, value)) = take_pair(&mut content) else {
            return Ok(Some("a frame of pairs contains whole pairs"));
        };
        if let Some(rule) = pending.push(key, value)? {
            return Ok(Some(rule));
        }
        *pairs += 1;
    }
    Ok(None)
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
