//! Byte strings inside a node that are copied in chunks of a fixed size. Most are short, so a call of
//! `memcpy` would cost as much as the copy.

/// A byte string inside a node and the bytes after it. A chunk copies some of those too; the next write
/// overwrites them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InNode<'a> {
    from: &'a [u8],
    length: usize,
}

impl<'a> InNode<'a> {
    /// Returns the first `length` bytes of `from`.
    #[inline]
    pub(crate) fn new(from: &'a [u8], length: usize) -> Self {
        debug_assert!(length <= from.len());
        Self { from, length }
    }

    #[inline]
    pub(crate) fn bytes(self) -> &'a [u8] {
        &self.from[..self.length]
    }

    #[inline]
    pub(crate) fn len(self) -> usize {
        self.length
    }

    /// Writes the bytes to the start of `out`. If there is space, it also overwrites bytes after them.
    #[inline]
    pub(crate) fn write_to(self, out: &mut [u8]) {
        match (self.chunk::<64>(), out.first_chunk_mut()) {
            (Some(chunk), Some(out)) => *out = *chunk,
            _ => out[..self.length].copy_from_slice(self.bytes()),
        }
    }

    /// Returns a chunk of `N` bytes that starts with these bytes, if they fit into it and the node has that
    /// many bytes left.
    #[inline]
    pub(crate) fn chunk<const N: usize>(self) -> Option<&'a [u8; N]> {
        self.from.first_chunk().filter(|_| self.length <= N)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lengths_are_copied_from_everywhere() {
        let bytes: Vec<u8> = (0..200).collect();
        for start in 0..bytes.len() {
            for length in 0..=bytes.len() - start {
                for room in [0, 5, 80] {
                    let mut out = vec![7; length + room];
                    InNode::new(&bytes[start..], length).write_to(&mut out);
                    assert_eq!(out[..length], bytes[start..start + length], "{length} from {start}");
                }
            }
        }
    }
}
