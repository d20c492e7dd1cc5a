//! The file format of images: all tables of one version as a stream of bytes. Numbers are little-endian.
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
//! | 2: pairs | for each pair: bytes of the key (2) and the value (4), the key, the value; a tree: sorted |
//! | 4: unordered table | its parameters, `wal_unordered` of the layout (6), and its name; then as 1 |
//! | 3: end | the number of pairs in the image (8) |
//!
//! A checksum is the CRC-32C of all earlier bytes of the image, and in a frame also of its length and
//! content, all without the checksums themselves. So the next checksum detects a changed, lost, repeated or
//! moved frame.

pub(super) const MAGIC: [u8; 8] = *b"HONEYIMG";
pub(super) const FORMAT: u32 = 1;
pub(super) const HEADER_BYTES: usize = 16;

/// Bytes of the length and the checksum of a frame.
pub(super) const FRAME_HEADER_BYTES: usize = 8;
/// Longest content of a frame in bytes: a page of an iterator including the pair that exceeds the page's
/// limit, and a margin.
pub(super) const CONTENT_BYTES_MAX: usize = 32 << 20;

pub(super) const TABLE: u8 = 1;
pub(super) const PAIRS: u8 = 2;
pub(super) const END: u8 = 3;
pub(super) const UNORDERED: u8 = 4;
