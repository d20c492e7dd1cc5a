//! A short reply: its elements are written to room that exists already, so no element checks a capacity.

/// A reply during its construction.
#[derive(Debug)]
pub struct ShortReply<'r> {
    room: &'r mut [u8],
    /// The bytes written.
    length: usize,
    /// The line before the last string, because strings of a reply often have one length.
    last: Line,
}

/// Most bytes of room for a short reply.
pub(super) const SHORT_BYTES_MAX: usize = 4 << 10;
/// Bytes of room for an element beside those of its string.
pub(super) const ELEMENT_BYTES: usize = 16;
/// Bytes that a line with a length has at most, and that writing it touches: kind, four digits, line break.
const LINE_BYTES: usize = 8;
/// The largest number of a [`Line`].
pub(super) const LINE_NUMBER_MAX: usize = 9999;

const _: () = assert!(SHORT_BYTES_MAX <= LINE_NUMBER_MAX && ELEMENT_BYTES >= LINE_BYTES + 2);

impl<'r> ShortReply<'r> {
    pub(super) fn new(room: &'r mut [u8]) -> Self {
        Self { room, length: 0, last: Line::new(b'$', 0) }
    }

    /// Returns the number of bytes written.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Begins an array. Its `length` elements follow.
    ///
    /// # Panics
    /// If there is no room for a further element.
    #[inline]
    pub fn array(&mut self, length: usize) {
        let line = Line::new(b'*', length);
        self.room[self.length..][..LINE_BYTES].copy_from_slice(&line.bytes);
        self.length += line.length;
    }

    /// Appends a bulk string.
    ///
    /// # Panics
    /// If there is no room for it.
    // A call would take a third of the instructions.
    #[inline(always)]
    pub fn bulk(&mut self, bytes: &[u8]) {
        if bytes.len() != self.last.number {
            self.last = Line::new(b'$', bytes.len());
        }
        let start = self.last.length;
        let end = start + bytes.len();
        let room = &mut self.room[self.length..][..ELEMENT_BYTES + bytes.len()];
        room[..LINE_BYTES].copy_from_slice(&self.last.bytes);
        copy_short(bytes, &mut room[start..end]);
        room[end..end + 2].copy_from_slice(b"\r\n");
        self.length += end + 2;
    }
}

/// A line with a number of at most four digits.
#[derive(Debug)]
pub(super) struct Line {
    number: usize,
    /// Followed by zeros.
    pub(super) bytes: [u8; LINE_BYTES],
    pub(super) length: usize,
}

impl Line {
    #[inline(always)]
    pub(super) fn new(kind: u8, number: usize) -> Self {
        let digit = |unit: usize| b'0' + (number / unit % 10) as u8;
        let (bytes, length) = match number {
            0..100 => return Self::short(kind, number),
            100..1000 => ([kind, digit(100), digit(10), digit(1), b'\r', b'\n', 0, 0], 6),
            _ => ([kind, digit(1000), digit(100), digit(10), digit(1), b'\r', b'\n', 0], 7),
        };
        Self { number, bytes, length }
    }

    /// Most numbers have one digit or two.
    #[inline(always)]
    fn short(kind: u8, number: usize) -> Self {
        let bytes = (SHORT_LINES[number] | u64::from(kind)).to_le_bytes();
        Self { number, bytes, length: if number < 10 { 4 } else { 5 } }
    }
}

/// The lines with the numbers below 100, each as a little-endian word, without their kind.
static SHORT_LINES: [u64; 100] = {
    let mut lines = [0; 100];
    let mut number = 0;
    while number < lines.len() {
        let (tens, ones) = (b'0' + number as u8 / 10, b'0' + number as u8 % 10);
        lines[number] = u64::from_le_bytes(match number {
            0..10 => [0, ones, b'\r', b'\n', 0, 0, 0, 0],
            _ => [0, tens, ones, b'\r', b'\n', 0, 0, 0],
        });
        number += 1;
    }
    lines
};

/// Copies `from` to `to`, which is as long. Most copies are short, and for them two overlapping loads are
/// faster than a call.
#[inline]
fn copy_short(from: &[u8], to: &mut [u8]) {
    if let (Some(first), Some(last), ..=32) = (from.first_chunk::<16>(), from.last_chunk(), from.len()) {
        *to.first_chunk_mut::<16>().expect("16 bytes or more") = *first;
        *to.last_chunk_mut::<16>().expect("16 bytes or more") = *last;
    } else {
        to.copy_from_slice(from);
    }
}
