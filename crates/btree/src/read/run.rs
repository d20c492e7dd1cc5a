//! Emission of the pairs of a scan. Adjacent pairs are emitted as a run: a long scan spends most of its time
//! on copying, which takes few instructions without other work between two pairs.

use std::ops::{ControlFlow, Range};

use crate::node::columns::Columns;
use crate::node::columns::items::EqualItems;
use crate::node::in_node::InNode;
use crate::node::item::ItemHeader;
use crate::node::suffix::{HEAD_BYTES, bytes_after_head};
use crate::node::view::View;
use crate::read::pair::Pair;

/// The consumer of the pairs of a scan.
pub trait Emit {
    /// Consumes a pair, or ends the scan before it.
    fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()>;

    /// Consumes any number of the next pairs at once. The scan emits the remaining ones one by one.
    fn run(&mut self, _pairs: &mut PairRun<'_>) {}

    /// Returns whether [`Emit::pair`] would end the scan before the next pair. Called only if there is one;
    /// then it may save the search for it.
    fn refuses_next(&mut self) -> bool {
        false
    }
}

/// Consumes all pairs one by one.
pub(crate) struct OneByOne<F>(pub(crate) F);

impl<F: FnMut(&Pair<'_>) -> ControlFlow<()>> Emit for OneByOne<F> {
    #[inline]
    fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        (self.0)(pair)
    }
}

/// Adjacent pairs in a sorted block, without a log entry between them and within the bounds of the scan.
pub struct PairRun<'a> {
    prefix: InNode<'a>,
    columns: Columns<'a>,
    /// The positions of the items that were not consumed.
    items: Range<usize>,
    /// Maximum number of pairs to consume.
    pairs: usize,
}

/// The pairs that [`PairRun::write_to`] has written.
#[derive(Debug, Clone, Copy, Default)]
pub struct WrittenPairs {
    /// Number of pairs.
    pub pairs: usize,
    /// Bytes written.
    pub bytes: usize,
    /// Offset of the last key in these bytes.
    pub last_key: usize,
    /// Length of the last key in bytes.
    pub last_key_bytes: usize,
}

impl WrittenPairs {
    /// Returns the bytes of all keys and values.
    #[must_use]
    #[inline]
    pub fn pair_bytes(&self) -> usize {
        self.bytes - BEFORE * self.pairs
    }
}

/// Bytes written before each pair.
const BEFORE: usize = 8;
/// Chunk sizes for prefixes: random keys have short ones, names and paths long ones.
const SHORT_PREFIX: usize = 8;
const MIDDLE_PREFIX: usize = 16;
const LONG_PREFIX: usize = 64;
/// Maximum bytes of the rest of a key and of its value to copy in one chunk.
const REST: usize = 64;
/// Chunk size for shorter ones.
const SHORT_REST: usize = 32;

impl<'a> PairRun<'a> {
    /// Returns the run of the items of a leaf in a range of positions, of which at most `pairs` pairs may be
    /// consumed.
    #[inline]
    pub(crate) fn new(prefix: InNode<'a>, leaf: View<'a>, items: Range<usize>, pairs: usize) -> Self {
        Self { prefix, columns: leaf.columns(), items, pairs }
    }

    /// Returns the position of the first item that was not consumed.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.items.start
    }

    #[inline]
    pub(crate) fn pairs_left(&self) -> usize {
        self.pairs
    }

    /// Consumes at most `pairs` pairs and writes them to `out`. For each pair it writes the eight bytes that
    /// `before` returns for the lengths of key and value, the key, and the value. It may overwrite bytes of
    /// `out` after the last pair. It stops at a long pair, and when the space left in `out` is less than a
    /// pair could need.
    #[inline]
    pub fn write_to(
        &mut self,
        out: &mut [u8],
        pairs: usize,
        before: impl Fn(usize, usize) -> [u8; BEFORE],
    ) -> WrittenPairs {
        if let Some(prefix) = self.prefix.chunk::<SHORT_PREFIX>() {
            self.write_with(prefix, out, pairs, before)
        } else if let Some(prefix) = self.prefix.chunk::<MIDDLE_PREFIX>() {
            self.write_with(prefix, out, pairs, before)
        } else if let Some(prefix) = self.prefix.chunk::<LONG_PREFIX>() {
            self.write_with(prefix, out, pairs, before)
        } else {
            WrittenPairs::default()
        }
    }

    /// Implements [`PairRun::write_to`] for a prefix that fits a chunk.
    #[inline]
    fn write_with<const PREFIX: usize>(
        &mut self,
        prefix: &[u8; PREFIX],
        out: &mut [u8],
        pairs: usize,
        before: impl Fn(usize, usize) -> [u8; BEFORE],
    ) -> WrittenPairs {
        let (columns, items) = self.next_items(pairs);
        let prefix = Prefix { chunk: prefix, bytes: self.prefix.len() };
        let written = match columns.equal_items(items.clone()) {
            Some(items) => {
                let bytes = stored_bytes(items.header());
                if bytes <= SHORT_REST {
                    write_equal::<PREFIX, SHORT_REST>(out, prefix, items, before)
                } else if bytes <= REST {
                    write_equal::<PREFIX, REST>(out, prefix, items, before)
                } else {
                    WrittenPairs::default()
                }
            }
            None => write_unequal(out, prefix, columns.unequal_items(items), before),
        };
        self.consume(written.pairs);
        written
    }

    /// Returns the columns, and the positions of at most `pairs` items that may be consumed next.
    #[inline]
    pub(super) fn next_items(&self, pairs: usize) -> (Columns<'a>, Range<usize>) {
        let most = self.items.len().min(self.pairs).min(pairs);
        (self.columns, self.items.start..self.items.start + most)
    }

    #[inline]
    pub(super) fn consume(&mut self, pairs: usize) {
        self.items.start += pairs;
        self.pairs -= pairs;
    }
}

/// Returns the prefix of a leaf, to which a descent with `key` has led: in the key, which is in the cache, if
/// the key is long enough for a copy in a chunk, and otherwise in the leaf.
#[inline]
pub(super) fn prefix_of<'a>(leaf: View<'a>, key: &'a [u8]) -> InNode<'a> {
    let in_key = InNode::new(key, leaf.prefix_length());
    let has_chunk = in_key.chunk::<SHORT_PREFIX>().is_some()
        || in_key.chunk::<MIDDLE_PREFIX>().is_some()
        || in_key.chunk::<LONG_PREFIX>().is_some();
    if has_chunk { in_key } else { leaf.prefix_in_node() }
}

/// The prefix of the keys of a leaf: the first bytes of a chunk.
#[derive(Clone, Copy)]
struct Prefix<'a, const CHUNK: usize> {
    chunk: &'a [u8; CHUNK],
    bytes: usize,
}

/// Returns the bytes of an item after its head.
#[inline(always)]
fn stored_bytes(header: ItemHeader) -> usize {
    bytes_after_head(header.suffix_bytes()) + header.value_bytes()
}

/// Writes a pair whose rest of the key and value have at most `REST` bytes to the start of `out`. Copies in
/// chunks touch bytes after the pair.
#[inline(always)]
fn write_pair<const PREFIX: usize, const REST: usize>(
    out: &mut [u8],
    before: [u8; BEFORE],
    prefix: Prefix<'_, PREFIX>,
    head: u64,
    head_bytes: usize,
    rest: &[u8; REST],
) {
    out[..BEFORE].copy_from_slice(&before);
    out[BEFORE..][..PREFIX].copy_from_slice(prefix.chunk);
    out[BEFORE + prefix.bytes..][..HEAD_BYTES].copy_from_slice(&head.to_be_bytes());
    out[BEFORE + prefix.bytes + head_bytes..][..REST].copy_from_slice(rest);
}

/// Writes pairs of equal lengths, whose rest of the key and value have at most `REST` bytes. It stops where
/// `out` or the node lacks bytes that the copies in chunks touch.
#[inline]
fn write_equal<const PREFIX: usize, const REST: usize>(
    mut out: &mut [u8],
    prefix: Prefix<'_, PREFIX>,
    items: EqualItems<'_>,
    before: impl Fn(usize, usize) -> [u8; BEFORE],
) -> WrittenPairs {
    let header = items.header();
    let key_bytes = prefix.bytes + header.suffix_bytes();
    let before = before(key_bytes, header.value_bytes());
    let pair_bytes = BEFORE + key_bytes + header.value_bytes();
    let head_bytes = header.suffix_bytes().min(HEAD_BYTES);
    let touched = BEFORE + PREFIX + HEAD_BYTES + REST;
    // Checked once, so that the loop needs no further check.
    assert!(prefix.bytes <= PREFIX && pair_bytes <= touched);
    let mut pairs = 0;
    for (head, rest) in items.chunks::<REST>() {
        let Some(room) = out.get_mut(..touched) else { break };
        write_pair(room, before, prefix, head, head_bytes, rest);
        out = &mut out[pair_bytes..];
        pairs += 1;
    }
    let last_key = (pairs * pair_bytes + BEFORE).saturating_sub(pair_bytes);
    WrittenPairs { pairs, bytes: pairs * pair_bytes, last_key, last_key_bytes: key_bytes }
}

/// Writes pairs of different lengths. It stops at a long one, and where `out` or the node lacks bytes that
/// the copies in chunks touch.
#[inline]
fn write_unequal<'a, const PREFIX: usize>(
    mut out: &mut [u8],
    prefix: Prefix<'_, PREFIX>,
    items: impl Iterator<Item = (ItemHeader, u64, &'a [u8])>,
    before: impl Fn(usize, usize) -> [u8; BEFORE],
) -> WrittenPairs {
    let touched = BEFORE + PREFIX + HEAD_BYTES + REST;
    assert!(prefix.bytes <= PREFIX);
    let (mut written, mut bytes) = (WrittenPairs::default(), 0);
    for (header, head, rest) in items {
        let (Some(room), Some(rest)) = (out.get_mut(..touched), rest.first_chunk::<REST>()) else { break };
        if header.overflow() || stored_bytes(header) > REST {
            break;
        }
        let (suffix_bytes, value_bytes) = (header.suffix_bytes(), header.value_bytes());
        let key_bytes = prefix.bytes + suffix_bytes;
        let before = before(key_bytes, value_bytes);
        write_pair(room, before, prefix, head, suffix_bytes.min(HEAD_BYTES), rest);
        let pair_bytes = BEFORE + key_bytes + value_bytes;
        (written.last_key, written.last_key_bytes) = (bytes + BEFORE, key_bytes);
        out = &mut out[pair_bytes..];
        bytes += pair_bytes;
        written.pairs += 1;
    }
    WrittenPairs { bytes, ..written }
}
