//! Handing out the pairs of a scan, many at once where they stand together: most of a long scan is to copy
//! them, which takes few instructions if nothing else is looked at between one pair and the next.

use std::ops::ControlFlow;

use crate::node::in_node::InNode;
use crate::node::item::{HEADER_BYTES, ItemHeader};
use crate::read::pair::Pair;

/// What takes the pairs of a scan.
pub trait Emit {
    /// Takes a pair, or ends the scan before it.
    fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()>;

    /// Takes as many of the next pairs as it likes at once. Those that it leaves come one by one.
    fn run(&mut self, _pairs: &mut Run<'_>) {}
}

/// Takes all pairs one by one.
pub(crate) struct OneByOne<F>(pub(crate) F);

impl<F: FnMut(&Pair<'_>) -> ControlFlow<()>> Emit for OneByOne<F> {
    #[inline]
    fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        (self.0)(pair)
    }
}

/// Pairs of a scan that stand one after the other in a sorted block, with no log entry between them and none
/// beyond the scan's bounds.
pub struct Run<'a> {
    prefix: InNode<'a>,
    /// The items, and what stands behind them.
    from: &'a [u8],
    /// Bytes of the items.
    bytes: usize,
    /// Most pairs that may be taken.
    pairs: usize,
}

/// Pairs that were taken off a [`Run`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Written {
    /// How many pairs.
    pub pairs: usize,
    /// How many bytes they took.
    pub bytes: usize,
    /// Where among these bytes the last key begins.
    pub last_key: usize,
    /// How many bytes it has.
    pub last_key_bytes: usize,
}

impl Written {
    /// Bytes of their keys and values.
    #[must_use]
    #[inline]
    pub fn pair_bytes(&self) -> usize {
        self.bytes - BEFORE * self.pairs
    }
}

/// Bytes of what is written before a pair.
const BEFORE: usize = 8;
/// Bytes of a prefix that are copied in one chunk: random keys share few, names and paths many.
const SHORT_PREFIX: usize = 8;
const LONG_PREFIX: usize = 64;
/// Most bytes of the rest of a pair that are copied in one chunk.
const REST: usize = 64;

impl<'a> Run<'a> {
    /// Of so many bytes of items `from` some place on, of which at most so many pairs may be taken.
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

    /// Takes pairs, at most `pairs`, and writes them to `out` one after the other: what `before` makes of the
    /// lengths of key and value, the key, the value. What is behind them in `out` may change. Leaves pairs
    /// that are long, or for which there is less room than a long one takes.
    #[inline]
    pub fn write_to(
        &mut self,
        out: &mut [u8],
        pairs: usize,
        before: impl Fn(usize, usize) -> [u8; BEFORE],
    ) -> Written {
        if let Some(prefix) = self.prefix.chunk::<SHORT_PREFIX>() {
            self.write_with(prefix, out, pairs, before)
        } else if let Some(prefix) = self.prefix.chunk::<LONG_PREFIX>() {
            self.write_with(prefix, out, pairs, before)
        } else {
            Written::default()
        }
    }

    /// The same with the prefix in a chunk.
    #[inline]
    fn write_with<const PREFIX: usize>(
        &mut self,
        prefix: &[u8; PREFIX],
        out: &mut [u8],
        pairs: usize,
        before: impl Fn(usize, usize) -> [u8; BEFORE],
    ) -> Written {
        let (mut from, mut bytes, mut written) = (self.from, self.bytes, Written::default());
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
