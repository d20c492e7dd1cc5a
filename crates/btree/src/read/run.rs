//! Emission of the pairs of a scan. Adjacent pairs are emitted as a run: a long scan spends most of its time
//! on copying, which takes few instructions without other work between two pairs.

use std::ops::{ControlFlow, Range};

use crate::node::columns::Columns;
use crate::node::columns::items::EqualItems;
use crate::node::in_node::InNode;
use crate::node::item::ItemHeader;
use crate::node::suffix::HEAD_BYTES;
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
    /// The columns of the leaf; `None` in rows.
    columns: Option<Columns<'a>>,
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
        let (Some(columns), items) = self.next_items(pairs) else { return WrittenPairs::default() };
        let written = match columns.equal_items(items.clone()) {
            Some(items) => {
                let (header, prefix_bytes) = (items.header(), self.prefix.len());
                let before = before(prefix_bytes + header.suffix_bytes(), header.value_bytes());
                let rest = header.suffix_bytes().saturating_sub(HEAD_BYTES) + header.value_bytes();
                if rest <= SHORT_REST {
                    write_equal::<PREFIX, SHORT_REST>(out, prefix, prefix_bytes, items, before)
                } else if rest <= REST {
                    write_equal::<PREFIX, REST>(out, prefix, prefix_bytes, items, before)
                } else {
                    WrittenPairs::default()
                }
            }
            None => {
                let prefix_bytes = self.prefix.len();
                let mut out = Output { out, prefix, prefix_bytes, written: WrittenPairs::default() };
                columns.unequal_items(items).all(|(header, head, bytes)| {
                    let key = prefix_bytes + header.suffix_bytes();
                    !header.overflow() && out.write(header, head, bytes, before(key, header.value_bytes()))
                });
                out.written
            }
        };
        self.consume(written.pairs);
        written
    }

    /// Returns the columns, and the positions of at most `pairs` items that may be consumed next.
    #[inline]
    pub(super) fn next_items(&self, pairs: usize) -> (Option<Columns<'a>>, Range<usize>) {
        let most = self.items.len().min(self.pairs).min(pairs);
        (self.columns, self.items.start..self.items.start + most)
    }

    #[inline]
    pub(super) fn consume(&mut self, pairs: usize) {
        self.items.start += pairs;
        self.pairs -= pairs;
    }
}

/// Writes pairs of equal lengths, whose rest of the key and value have at most `REST` bytes. It stops where
/// `out` or the node lacks bytes that the copies in chunks touch.
#[inline]
fn write_equal<const PREFIX: usize, const REST: usize>(
    out: &mut [u8],
    prefix: &[u8; PREFIX],
    prefix_bytes: usize,
    items: EqualItems<'_>,
    before: [u8; BEFORE],
) -> WrittenPairs {
    let header = items.header();
    let key_bytes = prefix_bytes + header.suffix_bytes();
    let pair_bytes = BEFORE + key_bytes + header.value_bytes();
    let touched = BEFORE + PREFIX + HEAD_BYTES + REST;
    let fitting = out.len().checked_sub(touched).map_or(0, |more| more / pair_bytes + 1);
    let rest_at = BEFORE + prefix_bytes + header.suffix_bytes().min(HEAD_BYTES);
    let mut pairs = 0;
    for (head, chunk) in items.chunks::<REST>().take(fitting) {
        let out = &mut out[pairs * pair_bytes..][..touched];
        out[..BEFORE].copy_from_slice(&before);
        out[BEFORE..][..PREFIX].copy_from_slice(prefix);
        out[BEFORE + prefix_bytes..][..HEAD_BYTES].copy_from_slice(&head.to_be_bytes());
        out[rest_at..][..REST].copy_from_slice(chunk);
        pairs += 1;
    }
    let last_key = (pairs * pair_bytes + BEFORE).saturating_sub(pair_bytes);
    WrittenPairs { pairs, bytes: pairs * pair_bytes, last_key, last_key_bytes: key_bytes }
}

/// The destination of a run of pairs.
struct Output<'o, const PREFIX: usize> {
    out: &'o mut [u8],
    prefix: &'o [u8; PREFIX],
    prefix_bytes: usize,
    written: WrittenPairs,
}

impl<const PREFIX: usize> Output<'_, PREFIX> {
    /// Writes a pair. `bytes` starts with the rest of its key and its value. Returns false if it is too long,
    /// or if there may be too little space.
    #[inline(always)]
    fn write(&mut self, header: ItemHeader, head: u64, bytes: &[u8], before: [u8; BEFORE]) -> bool {
        let room = self.out[self.written.bytes..].get_mut(..BEFORE + PREFIX + HEAD_BYTES + REST);
        let (Some(chunk), Some(room)) = (bytes.first_chunk::<REST>(), room) else { return false };
        let (suffix, value) = (header.suffix_bytes(), header.value_bytes());
        if suffix.saturating_sub(HEAD_BYTES) + value > REST {
            return false;
        }
        room[..BEFORE].copy_from_slice(&before);
        room[BEFORE..][..PREFIX].copy_from_slice(self.prefix);
        room[BEFORE + self.prefix_bytes..][..HEAD_BYTES].copy_from_slice(&head.to_be_bytes());
        room[BEFORE + self.prefix_bytes + suffix.min(HEAD_BYTES)..][..REST].copy_from_slice(chunk);
        let key_bytes = self.prefix_bytes + suffix;
        (self.written.last_key, self.written.last_key_bytes) = (self.written.bytes + BEFORE, key_bytes);
        self.written.bytes += BEFORE + key_bytes + value;
        self.written.pairs += 1;
        true
    }
}
