//! The free slabs of one page: a bit for each slab of each class.
//!
//! A free slab has its bit set in the bitmap of its class, and in no other. Splitting a slab clears its bit
//! and sets those of its halves; merging does the reverse. Both halves of a slab are adjacent bits.

use honeycomb_layout::{SLAB_CLASSES, SLAB_UNIT_BYTES, TABLE_PAGE_BYTES};

use crate::form::class_bytes;

const WORD_BITS: usize = u64::BITS as usize;
/// Slabs of the largest class in a page.
const LARGEST: usize = TABLE_PAGE_BYTES / class_bytes(SLAB_CLASSES - 1);
/// Words of the bitmap of the largest class. The bitmap of each smaller class has twice as many.
const LARGEST_WORDS: usize = LARGEST / WORD_BITS;
const WORDS: usize = LARGEST_WORDS * ((1 << SLAB_CLASSES) - 1);
/// The even bits: the lower halves.
const LOWER: u64 = 0x5555_5555_5555_5555;
const _: () = assert!(LARGEST.is_multiple_of(WORD_BITS));

/// The free slabs of a page.
#[derive(Debug)]
pub(crate) struct PageMap {
    /// The bitmaps, that of the largest class first.
    bits: [u64; WORDS],
    counts: [usize; SLAB_CLASSES],
}

/// The first word of the bitmap of a class.
fn start(class: usize) -> usize {
    LARGEST_WORDS * ((1 << (SLAB_CLASSES - 1 - class)) - 1)
}

fn words(class: usize) -> std::ops::Range<usize> {
    start(class)..start(class) + (LARGEST_WORDS << (SLAB_CLASSES - 1 - class))
}

impl PageMap {
    /// A page that consists of free slabs of the largest class.
    pub(crate) fn new() -> Self {
        let mut map = Self { bits: [0; WORDS], counts: [0; SLAB_CLASSES] };
        map.bits[words(SLAB_CLASSES - 1)].fill(u64::MAX);
        map.counts[SLAB_CLASSES - 1] = LARGEST;
        map
    }

    /// Number of free slabs of a class.
    pub(crate) fn count(&self, class: usize) -> usize {
        self.counts[class]
    }

    /// Whether the whole page is free and merged.
    pub(crate) fn is_free(&self) -> bool {
        self.counts[SLAB_CLASSES - 1] == LARGEST
    }

    /// Takes up to `wanted` free slabs of a class. Passes their offsets in the page, in units, to `taken`.
    pub(crate) fn take(&mut self, class: usize, wanted: usize, mut taken: impl FnMut(u32)) {
        let mut left = wanted.min(self.counts[class]);
        self.counts[class] -= left;
        let mut word = start(class);
        while left > 0 {
            if self.bits[word] == 0 {
                word += 1;
                continue;
            }
            let index = (word - start(class)) * WORD_BITS + self.bits[word].trailing_zeros() as usize;
            self.bits[word] &= self.bits[word] - 1;
            left -= 1;
            taken((index << class) as u32);
        }
    }

    /// Splits a free slab of a class into slabs of a smaller class.
    pub(crate) fn split(&mut self, from: usize, class: usize) {
        let mut whole = None;
        self.take(from, 1, |unit| whole = Some(unit));
        let Some(unit) = whole else { return };
        // All parts of a slab are in one word.
        let (index, parts) = (unit as usize >> class, 1 << (from - class));
        self.bits[start(class) + index / WORD_BITS] |= ((1 << parts) - 1) << (index % WORD_BITS);
        self.counts[class] += parts;
    }

    /// Adds a free slab of a class.
    ///
    /// # Panics
    /// If the slab is free already.
    pub(crate) fn put(&mut self, class: usize, unit: u32) {
        let index = unit as usize >> class;
        let word = &mut self.bits[start(class) + index / WORD_BITS];
        let bit = 1 << (index % WORD_BITS);
        assert!(*word & bit == 0, "the slab of {} bytes at unit {unit} is free already", class_bytes(class));
        *word |= bit;
        self.counts[class] += 1;
    }

    /// Merges free halves, the smallest first.
    pub(crate) fn merge(&mut self) {
        for class in 0..SLAB_CLASSES - 1 {
            for word in words(class) {
                self.merge_word(class, word);
            }
        }
    }

    fn merge_word(&mut self, class: usize, word: usize) {
        let mut whole = self.bits[word] & self.bits[word] >> 1 & LOWER;
        self.bits[word] &= !(whole | whole << 1);
        while whole != 0 {
            let index = (word - start(class)) * WORD_BITS + whole.trailing_zeros() as usize;
            whole &= whole - 1;
            self.counts[class] -= 2;
            self.put(class + 1, (index << class) as u32);
        }
    }

    /// Bytes of all free slabs.
    pub(crate) fn free_bytes(&self) -> usize {
        self.counts.iter().enumerate().map(|(class, count)| count * class_bytes(class)).sum()
    }
}

/// Units of a page.
pub(crate) const PAGE_UNITS: u32 = (TABLE_PAGE_BYTES / SLAB_UNIT_BYTES) as u32;
