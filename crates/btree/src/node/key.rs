//! Keys: byte strings that compare as bytes, often held as a node's prefix and a suffix.

use std::cmp::Ordering;
use std::ops::Range;

use crate::node::item::{HEADER_BYTES, ItemHeader};

/// Bytes of a key that its head has.
const HEAD_BYTES: usize = 8;

/// A key in two parts, as a node holds it.
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

    /// The two parts of the key after its first `skip` bytes.
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

/// The first eight bytes as a number whose order is the order of the bytes, zeros where there are fewer.
#[inline]
pub(crate) fn head(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*first);
    }
    // Two loads, of the first bytes and of the last ones, where they overlap of the same bytes.
    let missing = 8 * (HEAD_BYTES - bytes.len());
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return u64::from(u32::from_be_bytes(*first)) << 32 | u64::from(u32::from_be_bytes(*last)) << missing;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<2>(), bytes.last_chunk::<2>()) {
        return u64::from(u16::from_be_bytes(*first)) << 48 | u64::from(u16::from_be_bytes(*last)) << missing;
    }
    bytes.first().map_or(0, |&byte| u64::from(byte) << 56)
}

/// A key to be found in a node, without the node's prefix.
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

    /// How the key of the item that starts `bytes` compares with this one, and how many bytes the item has.
    /// Mostly the first eight bytes decide: the rest is looked at only if they are equal.
    #[inline(always)]
    pub(crate) fn compare_item(&self, bytes: &[u8]) -> (Ordering, usize) {
        let (header, head) = header_and_head(bytes);
        let order = match head.cmp(&self.head) {
            Ordering::Equal => compare_after_head(self.suffix, bytes, header.suffix_bytes()),
            decided => decided,
        };
        (order, header.item_bytes())
    }

    /// Whether the item that starts `bytes` has the key, how its head compares, and how many bytes it has.
    /// That keys are equal is told with less than how they compare.
    #[inline(always)]
    pub(crate) fn matches(&self, bytes: &[u8]) -> (bool, Ordering, usize) {
        let (header, head) = header_and_head(bytes);
        let order = head.cmp(&self.head);
        let is_it = order.is_eq() && header.suffix_bytes() == self.suffix.len() && self.has_rest(bytes);
        (is_it, order, header.item_bytes())
    }

    /// Whether the key of an item of the same length and head is this one.
    #[inline(always)]
    fn has_rest(&self, bytes: &[u8]) -> bool {
        let suffix = &bytes[HEADER_BYTES..][..self.suffix.len()];
        match (self.suffix.last_chunk::<HEAD_BYTES>(), suffix.last_chunk()) {
            (Some(search_key), Some(last)) if suffix.len() <= 2 * HEAD_BYTES => search_key == last,
            _ => self.suffix == suffix,
        }
    }

    /// Passes over items as long as their heads tell that their keys are smaller: where the last of those
    /// begins and ends; nothing at the start if there is none. One that it does not pass over may be smaller
    /// all the same. `bytes_of` says how many bytes an item has: where each begins is known only then.
    #[inline(always)]
    pub(crate) fn skip_smaller(&self, items: &[u8], bytes_of: impl Fn(ItemHeader) -> usize) -> Range<usize> {
        let mut smaller = 0..0;
        while let Some(chunk) = items.get(smaller.end..).and_then(|rest| rest.first_chunk()) {
            let (header, bytes) = header_and_next(chunk);
            // With bytes behind the suffix it is greater than the head, if anything: so it needs no mask.
            if u64::from_be_bytes(bytes) >= self.head {
                break;
            }
            smaller = smaller.end..smaller.end + bytes_of(header);
        }
        smaller
    }

    /// The key, to be compared with those that have the same head.
    #[inline(always)]
    pub(crate) fn after_head(&self) -> AfterHead<'a> {
        AfterHead { suffix: self.suffix, next: self.suffix.get(HEAD_BYTES..).map_or(0, head) }
    }
}

/// How the key of the item that starts `bytes` compares with a wanted one that has the same head: seldom, so
/// not where it is called.
#[inline(never)]
fn compare_after_head(search_key: &[u8], bytes: &[u8], suffix_bytes: usize) -> Ordering {
    SearchKey { suffix: search_key, head: 0 }.after_head().compare_suffix(bytes, suffix_bytes)
}

/// A key to be found among items that have the same head. So it is where keys begin alike, such as
/// `user:1234`: then the next eight bytes decide.
#[derive(Clone, Copy)]
pub(crate) struct AfterHead<'a> {
    suffix: &'a [u8],
    /// The head of what follows the head.
    next: u64,
}

impl AfterHead<'_> {
    /// How the key of the item that starts `bytes` compares with this one.
    #[inline(always)]
    pub(crate) fn compare_item(&self, bytes: &[u8]) -> Ordering {
        self.compare_suffix(bytes, ItemHeader::read(bytes).suffix_bytes())
    }

    #[inline(always)]
    fn compare_suffix(&self, bytes: &[u8], suffix_bytes: usize) -> Ordering {
        let is_over = |bytes: usize| suffix_bytes.min(self.suffix.len()) <= bytes;
        // What has no bytes after some that are alike is the beginning of the other.
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

/// The header of the item that starts `bytes`, and the head of its key suffix.
#[inline(always)]
fn header_and_head(bytes: &[u8]) -> (ItemHeader, u64) {
    // One look says that both are there; only an item at the end of a node may be shorter.
    let Some(chunk) = bytes.first_chunk() else {
        let header = ItemHeader::read(bytes);
        return (header, head(&bytes[HEADER_BYTES..][..header.suffix_bytes()]));
    };
    let (header, next) = header_and_next(chunk);
    (header, masked(next, header.suffix_bytes()))
}

/// The header of an item, and the eight bytes after it, whoever's they are.
#[inline(always)]
fn header_and_next(chunk: &[u8; HEADER_BYTES + HEAD_BYTES]) -> (ItemHeader, [u8; HEAD_BYTES]) {
    (ItemHeader::read(chunk), *chunk.last_chunk().expect("eight bytes"))
}

/// The head of `suffix_bytes` bytes from these on, whoever's the others are.
#[inline(always)]
fn masked(bytes: [u8; HEAD_BYTES], suffix_bytes: usize) -> u64 {
    u64::from_be_bytes(bytes) & HEAD_MASKS[suffix_bytes]
}

/// By the bytes of a suffix, the part of its first eight that it has: to look it up takes less than to shift.
static HEAD_MASKS: [u64; SUFFIXES] = {
    let mut masks = [u64::MAX; SUFFIXES];
    let mut bytes = 0;
    while bytes < HEAD_BYTES {
        masks[bytes] = !(u64::MAX >> (8 * bytes));
        bytes += 1;
    }
    masks
};
/// Lengths of a suffix that a header can say.
const SUFFIXES: usize = honeycomb_layout::item_header::SUFFIX_LENGTH_MASK as usize + 1;

/// How many first bytes two byte strings share.
pub(crate) fn common_length(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Length of the prefix that every key from `low` up to but not including `high` has.
pub(crate) fn prefix_length(low: &[u8], high: Option<&[u8]>) -> usize {
    high.map_or(0, |high| common_length(low, high))
}

/// The shortest key that is greater than `left` and not greater than `right`.
pub(crate) fn separator(left: KeyParts<'_>, right: KeyParts<'_>) -> Vec<u8> {
    let shared = left.bytes().zip(right.bytes()).take_while(|(x, y)| x == y).count();
    debug_assert!(shared < right.len(), "left must be smaller than right");
    right.bytes().take(shared + 1).collect()
}

/// The low byte of the CRC-32C of a key suffix: the tag of a log entry.
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
