//! Keys: byte strings in lexicographic order. A search compares the first eight bytes as a number.

use std::cmp::Ordering;

use crate::node::suffix::{HEAD_BYTES, KeyParts, bytes_after_head};

/// Returns the first eight bytes as a big-endian number, padded with zeros. Its order is the order of the
/// bytes.
#[inline]
pub(crate) fn head(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or_else(|| short_head(bytes), |first| u64::from_be_bytes(*first))
}

/// Returns the head of fewer than eight bytes.
#[inline(never)]
fn short_head(bytes: &[u8]) -> u64 {
    // Two loads, of the first and of the last bytes. They may overlap.
    let missing = 8 * (HEAD_BYTES - bytes.len());
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return u64::from(u32::from_be_bytes(*first)) << 32 | u64::from(u32::from_be_bytes(*last)) << missing;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<2>(), bytes.last_chunk::<2>()) {
        return u64::from(u16::from_be_bytes(*first)) << 48 | u64::from(u16::from_be_bytes(*last)) << missing;
    }
    bytes.first().map_or(0, |&byte| u64::from(byte) << 56)
}

/// Returns the head of the last `length` bytes of a key.
#[inline(always)]
fn head_of_last(key: &[u8], length: usize) -> u64 {
    let suffix = &key[key.len() - length..];
    if let Some(first) = suffix.first_chunk() {
        return u64::from_be_bytes(*first);
    }
    match key.last_chunk() {
        // One load. The bytes before the suffix are shifted out.
        Some(last) => u64::from_be_bytes(*last).checked_shl(8 * (HEAD_BYTES - length) as u32).unwrap_or(0),
        None => short_head(suffix),
    }
}

/// Returns the head of the first `length` bytes of `bytes`, which are followed by others that are not part of
/// the key.
#[inline(always)]
pub(crate) fn head_of_first(bytes: &[u8], length: usize) -> u64 {
    match bytes.first_chunk() {
        Some(first) => u64::from_be_bytes(*first) & !u64::MAX.checked_shr(8 * length as u32).unwrap_or(0),
        None => head(&bytes[..length]),
    }
}

/// A search key without the prefix of the node.
#[derive(Clone, Copy)]
pub(crate) struct SearchKey<'a> {
    pub(crate) suffix: &'a [u8],
    pub(crate) head: u64,
}

impl<'a> SearchKey<'a> {
    #[inline]
    pub(crate) fn new(suffix: &'a [u8]) -> Self {
        Self { suffix, head: head(suffix) }
    }

    /// Returns the search key for a node whose keys share a prefix of this length.
    #[inline(always)]
    pub(crate) fn after_prefix(key: &'a [u8], prefix_length: usize) -> Self {
        let suffix = &key[prefix_length..];
        Self { suffix, head: head_of_last(key, suffix.len()) }
    }

    /// Returns the bytes after the head.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.suffix.get(HEAD_BYTES..).unwrap_or(&[])
    }

    /// Compares the suffix of an item with this key. Both have the same head, and after it the same `equal`
    /// bytes, some of which may be zeros behind the end. The suffix has `length` bytes, and `rest` contains
    /// those after its head.
    #[inline]
    pub(crate) fn compare_after(&self, equal: usize, length: usize, rest: &[u8]) -> Ordering {
        if length.min(self.suffix.len()) <= HEAD_BYTES + equal {
            return length.cmp(&self.suffix.len());
        }
        rest[equal..].cmp(&self.rest()[equal..])
    }

    /// Returns whether a suffix with the same head is this key. It has `length` bytes; `bytes` begins with
    /// those after its head, and may have others behind them.
    #[inline(always)]
    pub(crate) fn equals_rest(&self, length: usize, bytes: &[u8]) -> bool {
        if length != self.suffix.len() {
            return false;
        }
        let rest_bytes = bytes_after_head(length);
        match (rest_bytes, bytes.first_chunk(), self.suffix.last_chunk()) {
            (0, ..) => true,
            // One load each. The bytes after the rest and those before the own one are shifted out.
            (1..=HEAD_BYTES, Some(first), Some(last)) => {
                let others = 8 * (HEAD_BYTES - rest_bytes);
                let own = u64::from_le_bytes(*last) >> others;
                (u64::from_le_bytes(*first) ^ own) << others == 0
            }
            _ => bytes[..rest_bytes] == *self.rest(),
        }
    }
}

/// Returns the length of the common prefix of two byte strings.
#[inline]
pub(crate) fn common_length(a: &[u8], b: &[u8]) -> usize {
    let (words_of_a, words_of_b) = (a.as_chunks().0, b.as_chunks().0);
    let mut length = 0;
    for (x, y) in words_of_a.iter().zip(words_of_b) {
        let difference = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if difference != 0 {
            return length + difference.trailing_zeros() as usize / 8;
        }
        length += HEAD_BYTES;
    }
    length + a[length..].iter().zip(&b[length..]).take_while(|(x, y)| x == y).count()
}

/// Returns the length of the common prefix of all keys from `low` up to but not including `high`.
pub(crate) fn prefix_length(low: &[u8], high: Option<&[u8]>) -> usize {
    high.map_or(0, |high| common_length(low, high))
}

/// Returns the shortest key that is greater than `left` and not greater than `right`.
pub(crate) fn separator(left: KeyParts<'_>, right: KeyParts<'_>) -> Vec<u8> {
    let shared = left.bytes().zip(right.bytes()).take_while(|(x, y)| x == y).count();
    debug_assert!(shared < right.len(), "left must be smaller than right");
    right.bytes().take(shared + 1).collect()
}

/// Returns the fingerprint of a log entry: the low byte of the CRC-32C of its key suffix.
#[inline(always)]
pub(crate) fn tag(suffix: &[u8]) -> u8 {
    honeycomb_memory::crc32c(suffix) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_order_as_bytes_do() {
        let mut keys: Vec<&[u8]> =
            vec![b"", b"a", b"a\0", b"ab", b"abcdefgh", b"abcdefghi", b"b", b"\xff\xff"];
        keys.sort_unstable();
        for pair in keys.windows(2) {
            assert!(head(pair[0]) <= head(pair[1]), "{pair:?}");
        }
        assert_eq!(head(b"a"), head(b"a\0"));
        assert_eq!(head(b"abcdefgh"), head(b"abcdefghi"));
    }

    #[test]
    fn a_head_ends_where_its_bytes_end() {
        for count in 0..=10 {
            let bytes: Vec<u8> = (1..=count).collect();
            for length in 0..=bytes.len() {
                assert_eq!(head_of_first(&bytes, length), head(&bytes[..length]), "{length} of {bytes:?}");
                let last = &bytes[bytes.len() - length..];
                assert_eq!(head_of_last(&bytes, length), head(last), "the last {length} of {bytes:?}");
            }
        }
    }

    #[test]
    fn rests_compare_as_their_keys_do() {
        let ends = (0..=18).flat_map(|length| [vec![0; length], vec![7; length]]);
        let keys: Vec<Vec<u8>> = ends.map(|end| [&b"user:12"[..], &end].concat()).collect();
        for suffix in &keys {
            for search_key in keys.iter().filter(|key| head(key) == head(suffix)) {
                let rest = suffix.get(HEAD_BYTES..).unwrap_or(&[]);
                let key = SearchKey::new(search_key);
                if head(rest) == head(key.rest()) {
                    assert_eq!(
                        key.compare_after(HEAD_BYTES, suffix.len(), rest),
                        suffix.cmp(search_key),
                        "{suffix:?} {search_key:?}"
                    );
                }
                for behind in [&[][..], &[7; 8]] {
                    let is_equal = key.equals_rest(suffix.len(), &[rest, behind].concat());
                    assert_eq!(is_equal, suffix == search_key, "{suffix:?} {search_key:?}");
                }
            }
        }
    }

    #[test]
    fn common_lengths_are_counted_in_bytes() {
        for (length, more) in (0..20).flat_map(|length| [0, 1, 9].map(|more| (length, more))) {
            let a = [vec![7; length], vec![1; more]].concat();
            for b in [vec![7; length], [vec![7; length], vec![2; 9]].concat()] {
                assert_eq!([common_length(&a, &b), common_length(&b, &a)], [length; 2], "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn separators_are_short_and_between() {
        let keys: [&[u8]; 6] = [b"a", b"aa", b"aab", b"abc", b"b", b"bcdef"];
        for pair in keys.windows(2) {
            let [left, right] = [pair[0], pair[1]].map(KeyParts::whole);
            let separator = separator(left, right);
            assert!(pair[0] < separator.as_slice() && separator.as_slice() <= pair[1], "{pair:?}");
        }
        assert_eq!(separator(KeyParts::whole(b"apple"), KeyParts::whole(b"banana")), b"b");
    }
}
