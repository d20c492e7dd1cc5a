//! A byte buffer with initialized room after its contents. Writing to the room is cheaper than appending to a
//! vector.

/// Alignment of requests and completions, in bytes.
pub(crate) const ALIGNMENT: usize = 8;

#[derive(Debug, Clone)]
pub(crate) struct Buffer {
    /// The contents, followed by the room.
    all: Vec<u8>,
    /// Length of the contents.
    length: usize,
    /// Up to this length the buffer grows by doubling.
    doubles_up_to: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self::doubling_up_to(usize::MAX)
    }
}

impl Buffer {
    /// Creates an empty buffer that grows by doubling up to `bytes` bytes, and by an eighth beyond that.
    pub(crate) fn doubling_up_to(bytes: usize) -> Self {
        Self { all: Vec::new(), length: 0, doubles_up_to: bytes }
    }

    /// Removes the contents. Keeps the memory unless it is more than twice the size up to which the buffer
    /// doubles.
    pub(crate) fn clear(&mut self) {
        self.length = 0;
        if self.capacity() > self.doubles_up_to.saturating_mul(2) {
            self.all = Vec::new();
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Bytes of allocated memory.
    pub(crate) fn capacity(&self) -> usize {
        self.all.capacity()
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.all[..self.length]
    }

    /// Removes the contents from an offset on.
    pub(crate) fn truncate(&mut self, length: usize) {
        debug_assert!(length <= self.length);
        self.length = length;
    }

    /// Overwrites eight bytes of the contents.
    #[inline]
    pub(crate) fn set(&mut self, at: usize, eight: [u8; 8]) {
        debug_assert!(at + 8 <= self.length);
        self.all[at..at + 8].copy_from_slice(&eight);
    }

    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Appends a header, the parts that follow it, and zeros up to a multiple of 8.
    #[inline(always)]
    pub(crate) fn push_padded<const N: usize>(&mut self, header: &[u8; N], parts: &[&[u8]]) {
        let length = N + parts.iter().map(|part| part.len()).sum::<usize>();
        let bytes = length.next_multiple_of(ALIGNMENT);
        let room = self.room(bytes + ALIGNMENT);
        let (first, mut rest) = room.split_first_chunk_mut().expect("the room has this length");
        *first = *header;
        for part in parts {
            copy_short(part, rest);
            rest = &mut rest[part.len()..];
        }
        rest[..ALIGNMENT].fill(0);
        self.advance(bytes);
    }

    /// Returns at least `bytes` bytes of room.
    #[inline]
    pub(crate) fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.all.len() - self.length < bytes {
            self.grow(bytes);
        }
        &mut self.all[self.length..]
    }

    /// Moves the first bytes of the room, which the caller has written, to the contents.
    #[inline]
    pub(crate) fn advance(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.all.len() - self.length);
        self.length += bytes;
    }

    #[cold]
    fn grow(&mut self, bytes: usize) {
        let needed = self.length + bytes;
        let doubled = (2 * self.all.len()).max(1 << 10);
        // Beyond the limit the buffer grows by an eighth, so that the number of copies stays logarithmic.
        let least = if doubled <= self.doubles_up_to { doubled } else { needed + needed / 8 };
        let capacity = needed.max(least.max(self.doubles_up_to).min(doubled));
        self.all.reserve_exact(capacity - self.all.len());
        self.all.resize(capacity, 0);
    }
}

/// Encodes the four words of the header of a request or a completion.
// Always inline: a map over the array became a call.
#[inline(always)]
pub(crate) fn header_bytes(words: [u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

/// Copies `from` to the start of `to`. Most copies are short, and for them two overlapping loads are faster
/// than a call.
#[inline]
fn copy_short(from: &[u8], to: &mut [u8]) {
    let to = &mut to[..from.len()];
    if let (Some(first), Some(last), ..=32) = (from.first_chunk::<16>(), from.last_chunk(), from.len()) {
        *to.first_chunk_mut::<16>().expect("16 bytes or more") = *first;
        *to.last_chunk_mut::<16>().expect("16 bytes or more") = *last;
    } else {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushed_and_written_bytes_are_concatenated() {
        let mut buffer = Buffer::default();
        let mut expected = Vec::new();
        for length in 0..200_usize {
            let bytes = vec![length as u8; length];
            buffer.push(&bytes);
            let room = buffer.room(length + 3);
            assert!(room.len() >= length + 3);
            copy_short(&bytes, room);
            buffer.advance(length);
            expected.extend([&bytes[..], &bytes].concat());
            assert_eq!(buffer.bytes(), expected);
        }
        buffer.set(100, [1, 2, 3, 4, 5, 6, 7, 8]);
        expected[100..108].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((buffer.bytes(), buffer.len()), (&expected[..], expected.len()));
        buffer.clear();
        assert_eq!(buffer.bytes(), b"");
    }

    /// Appends many short parts and a long one.
    #[test]
    fn beyond_its_limit_a_buffer_grows_little() {
        for limit in [0, 1 << 12, 1 << 20] {
            let mut buffer = Buffer::doubling_up_to(limit);
            let (mut grown, mut capacity) = (0, 0);
            for _ in 0..10_000 {
                buffer.push(&[7; 300]);
                grown += usize::from(buffer.capacity() > capacity);
                capacity = buffer.capacity();
                let needed = buffer.len();
                assert!(
                    capacity <= (2 * needed).min(limit.max(needed + needed / 8)).max(1 << 10),
                    "{needed}"
                );
            }
            assert!(grown < 100, "it grew {grown} times");
            buffer.push(&vec![7; 16 << 20]);
            assert!(buffer.capacity() <= buffer.len() + buffer.len() / 8);
        }
    }

    #[test]
    fn padding_overwrites_old_bytes_with_zeros() {
        let mut buffer = Buffer::default();
        for (first, second) in [(0, 0), (1, 0), (0, 7), (16, 24), (33, 40), (5, 500)] {
            buffer.room(1000).fill(0xff);
            let (start, parts) = (buffer.len(), [vec![1; first], vec![2; second]]);
            buffer.push_padded(b"header..", &[&parts[0], &parts[1]]);
            let mut expected = [&b"header.."[..], &parts[0], &parts[1]].concat();
            expected.resize(expected.len().next_multiple_of(ALIGNMENT), 0);
            assert_eq!(buffer.bytes()[start..], expected);
        }
    }
}
