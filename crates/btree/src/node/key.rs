//! Keys: byte strings in lexicographic order, often in two parts, the prefix of a node and a suffix.

use std::cmp::Ordering;
use std::ops::Range;

use crate::node::item::{HEADER_BYTES, ItemHeader};

/// Length of a head.
const HEAD_BYTES: usize = 8;

/// A key in two parts, as a node stores it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyParts<'a> {
    pub(crate) prefix: &'a [u8],
    pub(crate) suffix: &'a [u8],
}

impl<'a> KeyParts<'a> {
    pub(crate) fn len(self) -> usize {
        self.prefix.len() + self.suffix.len()
    }

    pub(crate) fn to_vec(self) -> Vec<u8> {
        [self.prefix, self.suffix].concat()
    }

    /// Returns the two parts of the key without its first `skip` bytes.
    pub(crate) fn skip(self, skip: usize) -> (&'a [u8], &'a [u8]) {
        match skip.checked_sub(self.prefix.len()) {
            Some(into_suffix) => (&[], &self.suffix[into_suffix..]),
            None => (&self.prefix[skip..], self.suffix),
        }
    }

    pub(crate) fn compare(self, key: &[u8]) -> Ordering {
        match key.strip_prefix(self.prefix) {
            Some(suffix) => self.suffix.cmp(suffix),
            None => self.prefix.cmp(key),
        }
    }

    fn bytes(self) -> impl Iterator<Item = u8> + 'a {
        self.prefix.iter().chain(self.suffix).copied()
    }
}

/// Returns the first eight bytes as a big-endian number, padded with zeros. Its order is the order of the
/// bytes.
#[inline]
pub(crate) fn head(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*first);
    }
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

    /// Compares the key of the item that starts `bytes` with this key, and returns the bytes of the item. The
    /// first eight bytes usually decide; the others are read only if those are equal.
    #[inline(always)]
    pub(crate) fn compare_item(&self, bytes: &[u8]) -> (Ordering, usize) {
        let (header, head) = header_and_head(bytes);
        let order = match head.cmp(&self.head) {
            Ordering::Equal => compare_after_head(self.suffix, bytes, header.suffix_bytes()),
            decided => decided,
        };
        (order, header.item_bytes())
    }

    /// Returns whether the item that starts `bytes` has this key, the order of its head, and the bytes of the
    /// item. A test for equality is faster than a comparison.
    #[inline(always)]
    pub(crate) fn matches(&self, bytes: &[u8]) -> (bool, Ordering, usize) {
        let (header, head) = header_and_head(bytes);
        let order = head.cmp(&self.head);
        let is_it = order.is_eq() && header.suffix_bytes() == self.suffix.len() && self.has_rest(bytes);
        (is_it, order, header.item_bytes())
    }

    /// Returns whether an item whose suffix has the same length and head has this key.
    #[inline(always)]
    fn has_rest(&self, bytes: &[u8]) -> bool {
        let suffix = &bytes[HEADER_BYTES..][..self.suffix.len()];
        match (self.suffix.last_chunk::<HEAD_BYTES>(), suffix.last_chunk()) {
            (Some(search_key), Some(last)) if suffix.len() <= 2 * HEAD_BYTES => search_key == last,
            _ => self.suffix == suffix,
        }
    }

    /// Skips items while their heads show that their keys are smaller. Returns the range of the last skipped
    /// item; an empty range at 0 if there is none. The next item may still be smaller. `bytes_of` returns the
    /// bytes of an item, which determine the offset of the next one.
    #[inline(always)]
    pub(crate) fn skip_smaller(&self, items: &[u8], bytes_of: impl Fn(ItemHeader) -> usize) -> Range<usize> {
        let mut smaller = 0..0;
        while let Some(chunk) = items.get(smaller.end..).and_then(|rest| rest.first_chunk()) {
            let (header, bytes) = header_and_next(chunk);
            // Bytes after a short suffix can only increase the number, so it needs no mask.
            if u64::from_be_bytes(bytes) >= self.head {
                break;
            }
            smaller = smaller.end..smaller.end + bytes_of(header);
        }
        smaller
    }

    /// Returns the key for comparisons with keys that have the same head.
    #[inline(always)]
    pub(crate) fn after_head(&self) -> AfterHead<'a> {
        AfterHead { suffix: self.suffix, next: self.suffix.get(HEAD_BYTES..).map_or(0, head) }
    }
}

/// Compares the key of the item that starts `bytes` with a search key of the same head. Rare, so not inlined.
#[inline(never)]
fn compare_after_head(search_key: &[u8], bytes: &[u8], suffix_bytes: usize) -> Ordering {
    SearchKey { suffix: search_key, head: 0 }.after_head().compare_suffix(bytes, suffix_bytes)
}

/// A search key among keys that have the same head, as with keys such as `user:1234`. The next eight bytes
/// usually decide.
#[derive(Clone, Copy)]
pub(crate) struct AfterHead<'a> {
    suffix: &'a [u8],
    /// The head of the bytes after the head.
    next: u64,
}

impl AfterHead<'_> {
    /// Compares the key of the item that starts `bytes` with this key.
    #[inline(always)]
    pub(crate) fn compare_item(&self, bytes: &[u8]) -> Ordering {
        self.compare_suffix(bytes, ItemHeader::read(bytes).suffix_bytes())
    }

    #[inline(always)]
    fn compare_suffix(&self, bytes: &[u8], suffix_bytes: usize) -> Ordering {
        let is_over = |bytes: usize| suffix_bytes.min(self.suffix.len()) <= bytes;
        // If one of two byte strings with a common beginning ends there, it is a prefix of the other.
        if is_over(HEAD_BYTES) {
            return suffix_bytes.cmp(&self.suffix.len());
        }
        let rest = &bytes[HEADER_BYTES + HEAD_BYTES..];
        let next = match rest.first_chunk() {
            Some(chunk) => masked(*chunk, suffix_bytes - HEAD_BYTES),
            None => head(&rest[..suffix_bytes - HEAD_BYTES]),
        };
        match next.cmp(&self.next) {
            Ordering::Equal if is_over(2 * HEAD_BYTES) => suffix_bytes.cmp(&self.suffix.len()),
            Ordering::Equal => {
                bytes[HEADER_BYTES..][2 * HEAD_BYTES..suffix_bytes].cmp(&self.suffix[2 * HEAD_BYTES..])
            }
            decided => decided,
        }
    }
}

/// Returns the header of the item that starts `bytes`, and the head of its key suffix.
#[inline(always)]
fn header_and_head(bytes: &[u8]) -> (ItemHeader, u64) {
    // One bounds check for both. Only an item at the end of a node may be shorter.
    let Some(chunk) = bytes.first_chunk() else {
        let header = ItemHeader::read(bytes);
        return (header, head(&bytes[HEADER_BYTES..][..header.suffix_bytes()]));
    };
    let (header, next) = header_and_next(chunk);
    (header, masked(next, header.suffix_bytes()))
}

/// Returns the header of an item and the next eight bytes, which may extend beyond its suffix.
#[inline(always)]
fn header_and_next(chunk: &[u8; HEADER_BYTES + HEAD_BYTES]) -> (ItemHeader, [u8; HEAD_BYTES]) {
    (ItemHeader::read(chunk), *chunk.last_chunk().expect("eight bytes"))
}

/// Returns the head of a suffix of `suffix_bytes` bytes. `bytes` may extend beyond the suffix.
#[inline(always)]
fn masked(bytes: [u8; HEAD_BYTES], suffix_bytes: usize) -> u64 {
    u64::from_be_bytes(bytes) & HEAD_MASKS[suffix_bytes]
}

/// The mask of a head for each suffix length. A table look-up takes fewer instructions than a shift.
static HEAD_MASKS: [u64; SUFFIXES] = {
    let mut masks = [u64::MAX; SUFFIXES];
    let mut bytes = 0;
    while bytes < HEAD_BYTES {
        masks[bytes] = !(u64::MAX >> (8 * bytes));
        bytes += 1;
    }
    masks
};
/// Number of suffix lengths that an item header can encode.
const SUFFIXES: usize = honeycomb_layout::item_header::SUFFIX_LENGTH_MASK as usize + 1;

/// Returns the length of the common prefix of two byte strings.
pub(crate) fn common_length(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
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
#[inline]
pub(crate) fn tag(suffix: &[u8]) -> u8 {
    honeycomb_memory::crc32c(suffix) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(key: &[u8]) -> KeyParts<'_> {
        let (prefix, suffix) = key.split_at(key.len() / 2);
        KeyParts { prefix, suffix }
    }

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
    fn items_compare_as_their_keys_do() {
        let ends: Vec<Vec<u8>> = (0..=18).flat_map(|length| [vec![0; length], vec![7; length]]).collect();
        let beginnings: [&[u8]; 3] = [b"", b"user:12", b"user:123user:12"];
        let key = |&(beginning, end): &(&[u8], &Vec<u8>)| [beginning, end].concat();
        let all =
            || beginnings.into_iter().flat_map(|beginning| ends.iter().map(move |end| (beginning, end)));
        for (suffix, more) in all().flat_map(|item| [(key(&item), 0), (key(&item), 9)]) {
            let header = ItemHeader::new(suffix.len(), 1);
            let mut bytes = vec![0xff; HEADER_BYTES + suffix.len() + 1 + more];
            header.write(&mut bytes);
            bytes[HEADER_BYTES..][..suffix.len()].copy_from_slice(&suffix);
            for search_key in all().map(|search_key| key(&search_key)) {
                let expected = (suffix.cmp(&search_key), header.item_bytes());
                assert_eq!(
                    SearchKey::new(&search_key).compare_item(&bytes),
                    expected,
                    "{suffix:?} {search_key:?}"
                );
            }
        }
    }

    #[test]
    fn separators_are_short_and_between() {
        let keys: [&[u8]; 6] = [b"a", b"aa", b"aab", b"abc", b"b", b"bcdef"];
        for pair in keys.windows(2) {
            let separator = separator(parts(pair[0]), parts(pair[1]));
            assert!(pair[0] < separator.as_slice() && separator.as_slice() <= pair[1], "{pair:?}");
        }
        assert_eq!(separator(parts(b"apple"), parts(b"banana")), b"b");
    }

    #[test]
    fn parts_compare_as_the_whole_key() {
        let keys: [&[u8]; 8] = [b"", b"a", b"ab", b"abc", b"abd", b"b", b"ba", b"abcdef"];
        for a in keys {
            for b in keys {
                for cut in 0..=a.len() {
                    let parts = KeyParts { prefix: &a[..cut], suffix: &a[cut..] };
                    assert_eq!(parts.compare(b), a.cmp(b), "{a:?} cut at {cut}, {b:?}");
                }
            }
        }
    }

    #[test]
    fn skipping_cuts_either_part() {
        let key = KeyParts { prefix: b"abc", suffix: b"def" };
        assert_eq!(key.skip(1), (&b"bc"[..], &b"def"[..]));
        assert_eq!(key.skip(3), (&b""[..], &b"def"[..]));
        assert_eq!(key.skip(5), (&b""[..], &b"f"[..]));
    }
}
