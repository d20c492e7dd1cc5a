//! Emission of the pairs of a scan. Adjacent pairs are emitted as a run: a long scan spends most of its time
//! on copying, which takes few instructions without other work between two pairs.

use std::ops::ControlFlow;

use crate::node::in_node::InNode;
use crate::node::item::{HEADER_BYTES, ItemHeader};
use crate::read::pair::Pair;

/// The consumer of the pairs of a scan.
pub trait Emit {
    /// Consumes a pair, or ends the scan before it.
    fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()>;

    /// Consumes any number of the next pairs at once. The scan emits the remaining ones one by one.
    fn run(&mut self, _pairs: &mut PairRun<'_>) {}
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
    /// The items, followed by other bytes of the node.
    from: &'a [u8],
    /// Bytes of the items.
    bytes: usize,
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
/// Maximum bytes of suffix and value to copy in one chunk.
const REST: usize = 64;

impl<'a> PairRun<'a> {
    /// Returns the run of the first `bytes` bytes of the items in `from`, of which at most `pairs` pairs may
    /// be consumed.
    #[inline]
    pub(crate) fn new(prefix: InNode<'a>, from: &'a [u8], bytes: usize, pairs: usize) -> Self {
        Self { prefix, from, bytes, pairs }
    }

    #[inline]
    pub(crate) fn bytes_left(&self) -> usize {
        self.bytes
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
        let (mut from, mut bytes, mut written) = (self.from, self.bytes, WrittenPairs::default());
        let (most, prefix_bytes) = (self.pairs.min(pairs), self.prefix.len());
        while bytes > 0 && written.pairs < most {
            let room = out[written.bytes..].get_mut(..BEFORE + PREFIX + REST);
            let chunk = from.first_chunk::<{ HEADER_BYTES + REST }>();
            let (Some(chunk), Some(room)) = (chunk, room) else { break };
            let header = ItemHeader::read(chunk);
            if header.item_bytes() > chunk.len() || header.overflow() {
                break;
            }
            let key_bytes = prefix_bytes + header.suffix_bytes();
            room[..BEFORE].copy_from_slice(&before(key_bytes, header.value_bytes()));
            room[BEFORE..][..PREFIX].copy_from_slice(prefix);
            room[BEFORE + prefix_bytes..][..REST].copy_from_slice(&chunk[HEADER_BYTES..]);
            (written.last_key, written.last_key_bytes) = (written.bytes + BEFORE, key_bytes);
            written.bytes += BEFORE + key_bytes + header.value_bytes();
            written.pairs += 1;
            from = &from[header.item_bytes()..];
            bytes -= header.item_bytes();
        }
        (self.from, self.bytes, self.pairs) = (from, bytes, self.pairs - written.pairs);
        written
    }
}
