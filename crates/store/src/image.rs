//! Images: all tables of one version as a stream of bytes. Numbers are little-endian.
//!
//! An image is a header and then frames, of which the last one is an end frame.
//!
//! | bytes of the header | what |
//! |---|---|
//! | 0..8 | `HONEYIMG` |
//! | 8..12 | format: 1 |
//! | 12..16 | checksum |
//!
//! | bytes of a frame | what |
//! |---|---|
//! | 0..4 | n: bytes of the content, 1 to 32 MiB |
//! | 4..8 | checksum |
//! | 8..9 | kind |
//! | 9..8 + n | what the kind says |
//!
//! | kind | content after the kind |
//! |---|---|
//! | 1: table | its name, 1 to 255 bytes of UTF-8; the pairs that follow are of this table |
//! | 2: pairs | for each pair: bytes of the key (2), bytes of the value (4), the key, the value; ascending |
//! | 3: end | how many pairs the image has (8) |
//!
//! A checksum is the CRC-32C of all bytes of the image before it and, in a frame, of the content, all without
//! the checksums. So a frame that is changed, lost, repeated or moved is found by the first checksum after
//! it.

mod load;
mod save;

pub(crate) use load::load;
pub(crate) use save::save;

const MAGIC: [u8; 8] = *b"HONEYIMG";
const FORMAT: u32 = 1;
const HEADER_BYTES: usize = 16;

/// Length and checksum of a frame.
const FRAME_HEADER_BYTES: usize = 8;
/// Longest content of a frame: a page of an iterator and the pair that went past it, with room to spare.
const CONTENT_BYTES_MAX: usize = 32 << 20;

const TABLE: u8 = 1;
const PAIRS: u8 = 2;
const END: u8 = 3;
