//! The line ends of an input, for the numbers of its lines.
//!
//! The CSV parser states a position before it skips the blank lines ahead of a record, and before the line
//! feed of the previous line if this ended with a carriage return and a line feed.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::rc::Rc;

/// The line ends that were read and not yet used. Clones share them.
#[derive(Clone, Default)]
pub(super) struct LineEnds(Rc<RefCell<VecDeque<LineEnd>>>);

/// A carriage return or a line feed.
struct LineEnd {
    offset: u64,
    is_feed: bool,
}

/// An input that notes its line ends.
pub(super) struct Noted<R> {
    input: R,
    ends: LineEnds,
    offset: u64,
}

impl LineEnds {
    pub(super) fn of<R>(&self, input: R) -> Noted<R> {
        Noted { input, ends: self.clone(), offset: 0 }
    }

    /// Returns the number of the line, from 1, of the first byte after `position` that ends no line. The
    /// positions of calls ascend.
    pub(super) fn line_after(&self, position: &csv::Position) -> u64 {
        let (mut offset, mut line) = (position.byte(), position.line());
        let mut ends = self.0.borrow_mut();
        while let Some(end) = ends.front().filter(|end| end.offset <= offset) {
            if end.offset == offset {
                (offset, line) = (offset + 1, line + u64::from(end.is_feed));
            }
            ends.pop_front();
        }
        line
    }
}

impl<R: Read> Read for Noted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let bytes = (self.offset..).zip(&buffer[..read]).filter(|(_, byte)| matches!(byte, b'\r' | b'\n'));
        let ends = bytes.map(|(offset, byte)| LineEnd { offset, is_feed: *byte == b'\n' });
        self.ends.0.borrow_mut().extend(ends);
        self.offset += read as u64;
        Ok(read)
    }
}
