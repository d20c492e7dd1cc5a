//! A form of the sorted block of a leaf, and gets that execute its steps together.

use std::marker::PhantomData;

use honeycomb_memory::heads::{Vectorized, Vectors};
use honeycomb_memory::{LINE_BYTES, Lid, Memory, Node, Pin, Published};

/// Pairs of a leaf: twelve groups of 16.
pub(super) const PAIRS: usize = 192;
/// Bytes of a value.
pub(super) const VALUE_BYTES: usize = 16;

/// A key of 16 bytes: two numbers whose order is that of the keys. The first one has at most 63 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(pub(super) u64, pub(super) u64);

impl Key {
    /// The value of the key's pair.
    pub(super) fn value(self) -> [u64; 2] {
        [self.0 ^ self.1, !self.0]
    }
}

/// A form of the sorted block of a leaf.
pub(super) trait Form {
    /// The lines that each step reads, on average.
    const LINES: &'static str;
    /// The lines that are requested with the header, which is one of them.
    const FIRST_LINES: usize;
    /// The number of steps after the request of these lines.
    const STEPS: usize;
    /// The result of a step.
    type Place: Copy + Default;

    /// Appends the bytes after the header of a leaf with [`PAIRS`] pairs.
    fn build(keys: &[Key], body: &mut Vec<u8>);

    /// Executes a step, and prefetches the lines that the next one reads.
    fn step(leaf: Leaf<'_>, key: Key, step: usize, place: Self::Place) -> Self::Place;

    /// Returns the first word of the key's value.
    fn value(leaf: Leaf<'_>, key: Key, place: Self::Place) -> Option<u64>;
}

/// A leaf, and its bytes after the header.
#[derive(Clone, Copy)]
pub(super) struct Leaf<'m> {
    pub(super) node: Node<'m>,
    pub(super) body: &'m [u8],
}

impl<'m> Leaf<'m> {
    #[inline(always)]
    fn new(published: Published<'m>) -> Self {
        Self { node: published.node(), body: published.bytes() }
    }

    /// The numbers of `BYTES` bytes from an offset on.
    #[inline(always)]
    pub(super) fn numbers<const BYTES: usize>(self, at: usize, count: usize) -> &'m [[u8; BYTES]] {
        self.body[at..at + BYTES * count].as_chunks().0
    }

    #[inline(always)]
    pub(super) fn word(self, at: usize) -> u64 {
        self.numbers(at, 1).first().map_or(0, |word| u64::from_le_bytes(*word))
    }

    /// Prefetches the lines of a range of the body.
    #[inline(always)]
    pub(super) fn prefetch(self, at: usize, bytes: usize) {
        self.node.prefetch_range(LINE_BYTES + at, LINE_BYTES + at + bytes);
    }
}

/// Returns the number of heads that are not greater than `head`. Both have at most 63 bits: then a difference
/// tells the order, which compilers turn into vector instructions for any number of heads.
// Loops, here and below: the closures of iterators would not be compiled with these instructions.
#[inline(always)]
pub(super) fn count_not_greater<const BYTES: usize>(heads: &[[u8; BYTES]], head: u64) -> usize {
    let mut count = 0;
    for other in heads {
        count += number(*other).wrapping_sub(head + 1) >> 63;
    }
    count as usize
}

/// Returns the number of at most eight bytes.
#[inline(always)]
pub(super) fn number<const BYTES: usize>(bytes: [u8; BYTES]) -> u64 {
    let mut number = [0; 8];
    number[..BYTES].copy_from_slice(&bytes);
    u64::from_le_bytes(number)
}

/// Gets, `N` of which execute together. Their result is the sum of the values.
pub(super) struct Gets<'g, F, const N: usize> {
    pub(super) memory: &'g Memory,
    pub(super) pin: &'g Pin<'g>,
    pub(super) wanted: &'g [(Lid, Key)],
    pub(super) form: PhantomData<F>,
}

impl<F: Form, const N: usize> Vectorized for Gets<'_, F, N> {
    type Output = u64;

    #[inline(always)]
    fn run(self, _: impl Vectors) -> u64 {
        let mut sum = 0_u64;
        for group in self.wanted.as_chunks::<N>().0 {
            sum = sum.wrapping_add(together::<F, N>(self.memory, self.pin, group));
        }
        sum
    }
}

/// Executes some gets, step by step. Returns the sum of the values that they find.
#[inline(always)]
fn together<F: Form, const N: usize>(memory: &Memory, pin: &Pin<'_>, group: &[(Lid, Key); N]) -> u64 {
    for (lid, _) in group {
        memory.prefetch_entry(*lid);
    }
    let mut nodes = [memory.node(pin, group[0].0).unread(); N];
    for (published, (lid, _)) in nodes.iter_mut().zip(group) {
        let node = memory.node(pin, *lid);
        node.prefetch_range(0, LINE_BYTES * F::FIRST_LINES);
        *published = node.unread();
    }
    for published in &mut nodes {
        published.update();
    }
    let mut places = [F::Place::default(); N];
    for step in 0..F::STEPS {
        for index in 0..N {
            places[index] = F::step(Leaf::new(nodes[index]), group[index].1, step, places[index]);
        }
    }
    let mut sum = 0_u64;
    for index in 0..N {
        let value = F::value(Leaf::new(nodes[index]), group[index].1, places[index]);
        sum = sum.wrapping_add(value.unwrap_or(0));
    }
    sum
}
