//! Bytes that stand in a node, copied in chunks of a fixed size: most are short, and a call of `memcpy` takes
//! as long as copying them.

/// Some bytes of a node, and what stands behind them, which may be copied with them and is cut off again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InNode<'a> {
    from: &'a [u8],
    length: usize,
}

impl<'a> InNode<'a> {
    /// The first `length` of the bytes `from` some place on.
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

    /// Appends the bytes.
    #[inline]
    pub(crate) fn append_to(self, out: &mut Vec<u8>) {
        if self.length <= 8 {
            self.append_chunk::<8>(out);
        } else if self.length <= 32 {
            self.append_chunk::<32>(out);
        } else if self.length <= 64 {
            self.append_chunk::<64>(out);
        } else {
            out.extend_from_slice(self.bytes());
        }
    }

    /// Appends `before`, and then the bytes: in one chunk if they are few, as prefixes are.
    #[inline]
    pub(crate) fn append_after(self, before: [u8; 8], out: &mut Vec<u8>) {
        let Some(chunk) = self.from.first_chunk::<8>().filter(|_| self.length <= 8) else {
            out.extend_from_slice(&before);
            return self.append_to(out);
        };
        let mut both = [0; 16];
        both[..8].copy_from_slice(&before);
        both[8..].copy_from_slice(chunk);
        let end = out.len() + 8 + self.length;
        out.extend_from_slice(&both);
        out.truncate(end);
    }

    /// Appends the bytes, which are at most `N`.
    #[inline]
    fn append_chunk<const N: usize>(self, out: &mut Vec<u8>) {
        let end = out.len() + self.length;
        match self.from.first_chunk::<N>() {
            Some(chunk) => out.extend_from_slice(chunk),
            None => out.extend_from_slice(self.bytes()),
        }
        out.truncate(end);
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
                let mut out = vec![7];
                InNode::new(&bytes[start..], length).append_to(&mut out);
                assert_eq!((out[0], &out[1..]), (7, &bytes[start..start + length]), "{length} from {start}");
                let mut out = Vec::new();
                InNode::new(&bytes[start..], length).append_after([3; 8], &mut out);
                assert_eq!(out, [&[3; 8], &bytes[start..start + length]].concat(), "{length} from {start}");
            }
        }
    }
}
