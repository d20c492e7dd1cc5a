//! Keys in parts: the prefix of a node, and the suffix, whose first bytes may be stored apart from the rest.

use std::cmp::Ordering;

use smallvec::SmallVec;

/// The length of a head.
pub(crate) const HEAD_BYTES: usize = size_of::<u64>();

/// Returns the number of bytes after the head of a suffix.
#[inline(always)]
pub(crate) fn bytes_after_head(suffix_bytes: usize) -> usize {
    suffix_bytes.saturating_sub(HEAD_BYTES)
}

/// The part of a key after the node's prefix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suffix<'a> {
    /// The first bytes, followed by zeros.
    head: [u8; HEAD_BYTES],
    /// Number of bytes of the suffix in `head`.
    head_bytes: u8,
    rest: &'a [u8],
}

impl<'a> Suffix<'a> {
    /// Returns a suffix that is stored in one part.
    #[inline]
    pub(crate) fn whole(bytes: &'a [u8]) -> Self {
        Self { head: [0; HEAD_BYTES], head_bytes: 0, rest: bytes }
    }

    /// Returns a suffix of `length` bytes from its head, as a number, and the bytes after its head.
    #[inline]
    pub(crate) fn after_head(head: u64, length: usize, rest: &'a [u8]) -> Self {
        debug_assert_eq!(rest.len(), bytes_after_head(length));
        Self { head: head.to_be_bytes(), head_bytes: length.min(HEAD_BYTES) as u8, rest }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.head_bytes) + self.rest.len()
    }

    /// Returns the bytes after the head.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns the head of a suffix that is stored apart from it.
    #[inline]
    pub(crate) fn stored_head(&self) -> Option<u64> {
        (self.head_bytes > 0 || self.rest.is_empty()).then_some(u64::from_be_bytes(self.head))
    }

    /// Returns the two parts.
    #[inline]
    pub(crate) fn parts(&self) -> [&[u8]; 2] {
        [&self.head[..usize::from(self.head_bytes)], self.rest]
    }

    /// Returns the two parts without the first `skip` bytes.
    pub(crate) fn skip(&self, skip: usize) -> [&[u8]; 2] {
        let [head, rest] = self.parts();
        match skip.checked_sub(head.len()) {
            Some(into_rest) => [&[], &rest[into_rest..]],
            None => [&head[skip..], rest],
        }
    }

    #[inline]
    pub(crate) fn compare(&self, bytes: &[u8]) -> Ordering {
        let [head, rest] = self.parts();
        let (first, second) = bytes.split_at(head.len().min(bytes.len()));
        head.cmp(first).then_with(|| rest.cmp(second))
    }

    #[inline]
    pub(crate) fn equals(&self, bytes: &[u8]) -> bool {
        let [head, rest] = self.parts();
        self.len() == bytes.len() && head == &bytes[..head.len()] && rest == &bytes[head.len()..]
    }

    pub(crate) fn copy_into(&self, out: &mut Vec<u8>) {
        self.parts().into_iter().for_each(|part| out.extend_from_slice(part));
    }

    /// Returns the bytes in one part.
    pub(crate) fn to_bytes(self) -> SmallVec<[u8; 64]> {
        let mut bytes = SmallVec::new();
        self.parts().into_iter().for_each(|part| bytes.extend_from_slice(part));
        bytes
    }
}

/// A whole key in parts, as a node stores it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyParts<'a> {
    pub(crate) prefix: &'a [u8],
    pub(crate) suffix: Suffix<'a>,
}

impl<'a> KeyParts<'a> {
    /// Returns a key that is stored in one part.
    pub(crate) fn whole(key: &'a [u8]) -> Self {
        Self { prefix: &[], suffix: Suffix::whole(key) }
    }

    pub(crate) fn len(&self) -> usize {
        self.prefix.len() + self.suffix.len()
    }

    pub(crate) fn to_vec(self) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.len());
        key.extend_from_slice(self.prefix);
        self.suffix.copy_into(&mut key);
        key
    }

    /// Returns the parts of the key without its first `skip` bytes.
    pub(crate) fn skip(&self, skip: usize) -> [&[u8]; 3] {
        match skip.checked_sub(self.prefix.len()) {
            Some(into_suffix) => {
                let [head, rest] = self.suffix.skip(into_suffix);
                [&[], head, rest]
            }
            None => {
                let [head, rest] = self.suffix.parts();
                [&self.prefix[skip..], head, rest]
            }
        }
    }

    pub(crate) fn compare(&self, key: &[u8]) -> Ordering {
        match key.strip_prefix(self.prefix) {
            Some(suffix) => self.suffix.compare(suffix),
            None => self.prefix.cmp(key),
        }
    }

    /// Returns the bytes of the key.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = u8> {
        let [head, rest] = self.suffix.parts();
        self.prefix.iter().chain(head).chain(rest).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::key::head;

    /// Returns a key in all divisions into parts.
    fn divisions(key: &[u8]) -> Vec<KeyParts<'_>> {
        let in_two = (0..=key.len()).flat_map(|cut| {
            let (prefix, suffix) = key.split_at(cut);
            let rest = suffix.get(HEAD_BYTES..).unwrap_or(&[]);
            let apart = Suffix::after_head(head(suffix), suffix.len(), rest);
            [Suffix::whole(suffix), apart].map(|suffix| KeyParts { prefix, suffix })
        });
        in_two.collect()
    }

    #[test]
    fn parts_compare_as_the_whole_key() {
        let keys: [&[u8]; 10] =
            [b"", b"a", b"ab", b"ab\0", b"abd", b"b", b"ba", b"abcdefgh", b"abcdefgh\0", b"abcdefghijkl"];
        for a in keys {
            for b in keys {
                for parts in divisions(a) {
                    assert_eq!(parts.compare(b), a.cmp(b), "{parts:?} {b:?}");
                    assert_eq!(
                        parts.suffix.equals(b),
                        parts.suffix.to_bytes().as_slice() == b,
                        "{parts:?} {b:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn skipping_cuts_any_part() {
        let key = b"abcdefghijkl";
        for parts in divisions(key) {
            assert_eq!((parts.len(), parts.to_vec()), (key.len(), key.to_vec()));
            for skip in 0..=key.len() {
                assert_eq!(parts.skip(skip).concat(), key[skip..], "{parts:?} {skip}");
            }
        }
    }
}
