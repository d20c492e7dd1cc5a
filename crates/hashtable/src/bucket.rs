//! A bucket: its words in a page, for searches, or its image, which a thread has loaded or will store.
//!
//! The words of a page may change between two loads. So every function returns some result for any words, and
//! does not panic; the reader discards the result later. See `read`.

use std::hint::select_unpredictable;

use honeycomb_layout::{
    BUCKET_SLOTS, INLINE_PAIR_BYTES_MAX, SLAB_CLASSES, SLOT_CONTINUED, SLOT_FREE, SLOT_INLINE,
    WHOLE_SLAB_KEY_BYTES_MAX, bucket, bucket_slot, bucket_state,
};
use honeycomb_memory::{LineOffset, equal_bytes_of};

use crate::form::Form;
use crate::hash::{HashedKey, word_at};

/// Words of a bucket.
pub(crate) const WORDS: usize = bucket::SIZE / 8;
/// Bytes of a slot.
pub(crate) const SLOT: usize = bucket::SLOTS_BYTES;
const STATE: usize = bucket::STATE_OFFSET / 8;
/// The lowest bit of each three-bit type.
const TYPES_LOW: u32 = 0o1_111_111_111;
const TYPE_BITS: usize = 3;
/// The bit after the types of all slots.
const AFTER_TYPES: usize = TYPE_BITS * BUCKET_SLOTS;
/// The offset of the slot whose type begins at a bit.
const OFFSETS: [LineOffset; 32] = {
    let (mut offsets, mut bit) = ([LineOffset::new(0); 32], 0);
    while bit <= AFTER_TYPES {
        offsets[bit] = LineOffset::new(bit / TYPE_BITS * SLOT);
        bit += 1;
    }
    offsets
};

#[inline(always)]
fn offset_of(bit: usize) -> LineOffset {
    OFFSETS[bit % OFFSETS.len()]
}

/// A bit for the last byte of each slot.
const HIGHEST_BYTES: u64 = {
    let (mut bits, mut slot) = (0, 0);
    while slot < BUCKET_SLOTS {
        bits |= 1 << (slot * SLOT + SLOT - 1);
        slot += 1;
    }
    bits
};
const MARKS_LOW_BITS: usize = 8 * bucket::MARKS_BYTES;
const _: () =
    assert!(bucket::MARKS_OFFSET == BUCKET_SLOTS * SLOT && bucket::STATE_OFFSET + 8 == bucket::SIZE);

/// The words of a bucket.
pub(crate) trait Words: Copy {
    /// The word at an index modulo 8.
    fn word(&self, index: usize) -> u64;
    /// The eight bytes at an offset, little-endian.
    fn word_at(&self, offset: LineOffset) -> u64;
    /// A bit for each byte, which is set if the byte equals `byte`.
    fn equal_bytes(&self, byte: u8) -> u64;
}

/// Words that the caller may change: its image, or those of a stripe that it has locked.
pub(crate) trait WordsMut: Words {
    /// Replaces the eight bytes at an offset.
    fn set_word_at(&mut self, offset: LineOffset, value: u64);
}

impl WordsMut for [u64; WORDS] {
    #[inline(always)]
    fn set_word_at(&mut self, offset: LineOffset, value: u64) {
        let (word, shift) = (offset.get() / 8, offset.get() % 8 * 8);
        let mut replace = |index: usize, mask: u64, bits: u64| {
            self[index % WORDS] = self[index % WORDS] & !mask | bits & mask;
        };
        replace(word, u64::MAX << shift, value << shift);
        // No bits of the next word if the value fills a word: a branch would be predicted wrongly.
        replace(word + 1, u64::MAX >> 1 >> (63 - shift), value >> 1 >> (63 - shift));
    }
}

impl Words for [u64; WORDS] {
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        self[index % WORDS]
    }

    #[inline(always)]
    fn word_at(&self, offset: LineOffset) -> u64 {
        let (word, shift) = (offset.get() / 8, offset.get() % 8 * 8);
        self.word(word) >> shift | self.word(word + 1) << 1 << (63 - shift)
    }

    #[inline]
    fn equal_bytes(&self, byte: u8) -> u64 {
        equal_bytes_of(*self, byte)
    }
}

/// A bucket: its image, or its words in a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bucket<W = [u64; WORDS]>(pub(crate) W);

/// The place of an inline pair in a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InlinePair {
    /// Offset of its first slot.
    pub(crate) offset: usize,
    /// Offset of the value in the bucket.
    pub(crate) value: usize,
    pub(crate) value_length: usize,
}

impl InlinePair {
    /// No pair.
    const NONE: Self = Self { offset: 0, value: 0, value_length: 0 };

    #[inline(always)]
    pub(crate) fn new(offset: usize, key_length: usize, value_length: usize) -> Self {
        Self { offset, value: offset + key_length, value_length }
    }

    pub(crate) fn slot(&self) -> usize {
        self.offset / SLOT
    }

    pub(crate) fn slots(&self) -> usize {
        inline_slots(self.value - self.offset + self.value_length)
    }
}

/// A reference to a slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlabSlot {
    pub(crate) slot: usize,
    pub(crate) slab: Slab,
}

/// A slab: its form, and its address in slab units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slab {
    pub(crate) form: Form,
    pub(crate) address: u32,
}

/// The contents of the slots of one pair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// The bytes of the slots, and zeros after them.
    words: [u64; WORDS],
    pub(crate) slots: usize,
    marks: u64,
    types: u32,
}

impl Entry {
    /// An inline pair, whose key and value together are not empty and fit into a bucket.
    pub(crate) fn inline(key: &[u8], value: &[u8]) -> Self {
        let length = key.len() + value.len();
        let slots = inline_slots(length);
        let mut image = Bucket([0; WORDS]);
        image.patch(0, key);
        image.patch(key.len(), value);
        let marks = 1 << (key.len() - 1) | 1 << (length - 1);
        let continued = (TYPES_LOW * SLOT_CONTINUED as u32) & types_below(slots) & !types_below(1);
        Self { words: image.0, slots, marks, types: SLOT_INLINE as u32 | continued }
    }

    /// A reference to a slab.
    pub(crate) fn slab(Slab { form, address }: Slab, second_hash: u64) -> Self {
        let mut words = [0; WORDS];
        words[0] =
            bucket_slot::with_second_hash(bucket_slot::with_address(0, u64::from(address)), second_hash);
        // One mark a byte of a slot, as for inline pairs, but here they are a number.
        Self { words, slots: 1, marks: form.key_length() as u64, types: form.class() as u32 + 1 }
    }
}

/// Number of slots of an inline pair of `length` bytes.
#[inline]
pub(crate) fn inline_slots(length: usize) -> usize {
    length.div_ceil(SLOT)
}

#[inline]
fn types_below(slots: usize) -> u32 {
    ((1_u64 << (TYPE_BITS * slots)) - 1) as u32
}

#[inline]
fn marks_below(slots: usize) -> u64 {
    (1 << (SLOT * slots)) - 1
}

/// The slots that refer to slabs, by their types: one bit for each, the lowest bit of its type.
#[inline]
fn slab_slots(types: u32) -> u32 {
    (types | types >> 1 | types >> 2) & !(types >> 2 & types >> 1) & TYPES_LOW
}

/// What the slots of a bucket contain.
#[derive(Debug, Clone, Copy)]
struct Shape {
    types: u32,
    marks: u64,
}

impl Shape {
    /// The first slots of inline pairs: one bit for each, the lowest bit of its type.
    #[inline]
    fn inline_starts(&self) -> u32 {
        self.types >> 2 & self.types >> 1 & !self.types & TYPES_LOW
    }

    /// The offset after the last slot of the inline pair whose first slot has its type at a bit.
    #[inline(always)]
    fn inline_end(&self, bit: usize) -> usize {
        let continued = self.types >> 2 & self.types >> 1 & self.types;
        // The first slot after it that is not continued, or the end of the slots.
        let after = (!continued & TYPES_LOW | 1 << AFTER_TYPES) & u32::MAX << 1 << bit;
        offset_of(after.trailing_zeros() as usize).get()
    }

    /// Zero if the key of the inline pair at an offset has this length, from 1 to 63. The first mark is that
    /// of the last byte of the key.
    #[inline(always)]
    fn length_difference(&self, offset: LineOffset, key_length: usize) -> u64 {
        (self.marks >> offset.get() ^ 1 << (key_length - 1)) & !(u64::MAX << key_length)
    }

    /// The inline pair whose first slot has its type at a bit, with a key of `key_length` bytes.
    #[inline(always)]
    fn inline_with_key(&self, bit: usize, key_length: usize) -> InlinePair {
        let (offset, length) = (offset_of(bit).get(), key_length % 64);
        let marks_after = self.marks >> offset >> length | 1 << 63;
        let mut value_length = (marks_after.trailing_zeros() as usize + 1) % 64;
        let key_slots = inline_slots(length);
        let next_type = self.types >> bit >> (TYPE_BITS * key_slots % 32) & 7;
        // If no slot follows those of the key, and the mark is not in these, it is that of a later pair, and
        // the value is empty.
        let is_continued = next_type == SLOT_CONTINUED as u32;
        if !is_continued && value_length > key_slots * SLOT - length {
            value_length = 0;
        }
        InlinePair { offset, value: offset + length, value_length }
    }

    /// The inline pair whose first slot has its type at a bit, if the bytes are valid, and the length of
    /// its key.
    #[inline(always)]
    fn inline_at(&self, bit: usize) -> Option<(InlinePair, usize)> {
        let (offset, end) = (offset_of(bit).get(), self.inline_end(bit));
        let marks = (self.marks & ((1 << end) - 1)) >> offset;
        if marks == 0 {
            return None;
        }
        let key_length = marks.trailing_zeros() as usize + 1;
        let value_marks = marks >> key_length;
        let value_length = if value_marks == 0 { 0 } else { value_marks.trailing_zeros() as usize + 1 };
        Some((InlinePair { offset, value: offset + key_length, value_length }, key_length))
    }
}

impl<W: Words> Bucket<W> {
    /// Loads the image of the bucket.
    #[inline]
    pub(crate) fn loaded(&self) -> Bucket {
        Bucket(std::array::from_fn(|index| self.0.word(index)))
    }

    #[inline]
    pub(crate) fn state(&self) -> u64 {
        self.0.word(STATE)
    }

    #[inline]
    fn types(&self) -> u32 {
        bucket_state::types(self.state()) as u32
    }

    #[inline]
    fn marks(&self) -> u64 {
        self.shape().marks
    }

    /// The eight bytes at an offset of at most 56. Those of another offset are any bytes.
    #[inline(always)]
    pub(crate) fn word_at(&self, offset: usize) -> u64 {
        self.0.word_at(LineOffset::new(offset))
    }

    /// The address of the next bucket of the chain.
    #[inline]
    pub(crate) fn next(&self) -> Option<u32> {
        let chained = bucket_state::chained(self.state()) != 0;
        chained.then(|| bucket_state::chain(self.state()) as u32)
    }

    /// Number of slots in use.
    #[inline]
    pub(crate) fn used(&self) -> usize {
        (u32::BITS - self.types().leading_zeros()).div_ceil(TYPE_BITS as u32) as usize
    }

    /// Number of free slots.
    #[inline]
    pub(crate) fn free(&self) -> usize {
        BUCKET_SLOTS - self.used().min(BUCKET_SLOTS)
    }

    /// The types and marks, loaded once.
    #[inline(always)]
    fn shape(&self) -> Shape {
        // The eight bytes from the marks on end with the lowest bits of the state, which are marks.
        let marks = self.word_at(bucket::MARKS_OFFSET) & marks_below(BUCKET_SLOTS);
        Shape { types: self.types(), marks }
    }

    /// Finds the inline pair of a key. The code for keys of eight bytes, the commonest ones, stays small
    /// because it does not contain that for others.
    #[inline(always)]
    pub(crate) fn find_inline(&self, key: &HashedKey<'_>) -> Option<InlinePair> {
        let shape = self.shape();
        let starts = shape.inline_starts();
        if starts == 0 {
            return None;
        }
        let Ok(bytes) = <&[u8; 8]>::try_from(key.bytes) else { return self.find_other(shape, starts, key) };
        let (pair, is_found) = self.search_pairs(shape, starts, &HashedKey { bytes, ..*key });
        is_found.then_some(pair)
    }

    #[inline(never)]
    fn find_other(&self, shape: Shape, starts: u32, key: &HashedKey<'_>) -> Option<InlinePair> {
        let (pair, is_found) = match <&[u8; 16]>::try_from(key.bytes) {
            Ok(bytes) => self.search_pairs(shape, starts, &HashedKey { bytes, ..*key }),
            Err(_) => self.search_pairs(shape, starts, key),
        };
        is_found.then_some(pair)
    }

    /// Searches the inline pair of a key. Returns whether it has found the pair.
    #[inline(always)]
    pub(crate) fn search(&self, key: &HashedKey<'_>) -> (InlinePair, bool) {
        let shape = self.shape();
        let starts = shape.inline_starts();
        if starts == 0 { (InlinePair::NONE, false) } else { self.search_pairs(shape, starts, key) }
    }

    /// As [`search`](Self::search), among the pairs that start at some bits. There is at least one.
    ///
    /// Which pair of a bucket has the key is a matter of chance, so a branch for each pair would be predicted
    /// wrongly most of the time. So it compares the first two pairs before it branches, and only if there are
    /// more.
    #[inline(always)]
    fn search_pairs(&self, shape: Shape, starts: u32, key: &HashedKey<'_>) -> (InlinePair, bool) {
        // Without a second pair, the bit after those of all types, where no pair begins.
        let after_one = starts & (starts - 1);
        let after_two = after_one & after_one.wrapping_sub(1);
        let first = starts.trailing_zeros() as usize;
        let second = (after_one | 1 << AFTER_TYPES).trailing_zeros() as usize;
        let in_first = self.difference(&shape, first, key.head, key.bytes) == 0;
        let is_found = in_first | (self.difference(&shape, second, key.head, key.bytes) == 0);
        if after_two != 0 && !is_found {
            return self.search_after(after_two, key.head, key.bytes);
        }
        let at = select_unpredictable(in_first, first, second);
        (shape.inline_with_key(at, key.bytes.len()), is_found)
    }

    /// Zero if the pair whose first slot has its type at a bit has a key. `head` are the first eight bytes.
    #[inline(always)]
    fn difference(&self, shape: &Shape, bit: usize, head: u64, key: &[u8]) -> u64 {
        if key.len() > INLINE_PAIR_BYTES_MAX {
            return 1;
        }
        let offset = offset_of(bit);
        let mask = u64::MAX >> (64 - 8 * key.len().min(8));
        let difference = (self.0.word_at(offset) ^ head) & mask | shape.length_difference(offset, key.len());
        if key.len() <= 8 { difference } else { difference | self.rest_difference(offset.get(), key) }
    }

    /// As [`search`](Self::search), among pairs whose first slots have their types at some bits.
    #[inline(never)]
    fn search_after(self, mut starts: u32, head: u64, key: &[u8]) -> (InlinePair, bool) {
        let shape = self.shape();
        while starts != 0 {
            let bit = starts.trailing_zeros() as usize;
            starts &= starts - 1;
            if self.difference(&shape, bit, head, key) == 0 {
                return (shape.inline_with_key(bit, key.len()), true);
            }
        }
        (InlinePair::NONE, false)
    }

    /// Zero if the bytes at an offset equal a key of more than eight bytes from its ninth byte on.
    #[inline(always)]
    pub(crate) fn rest_difference(&self, offset: usize, key: &[u8]) -> u64 {
        // The last eight bytes may overlap the ones before them.
        let last = key.len() - 8;
        let difference = self.word_at(offset + last) ^ word_at(key, last);
        (8..last)
            .step_by(8)
            .fold(difference, |difference, at| difference | self.word_at(offset + at) ^ word_at(key, at))
    }

    /// Finds the next slab after some slots whose second hash is that of a key.
    #[inline(always)]
    pub(crate) fn find_slab(&self, second_hash: u64, after: usize) -> Option<SlabSlot> {
        let types = self.types();
        let slabs = slab_slots(types) & !types_below(after);
        if slabs == 0 { None } else { self.find_among(types, slabs, second_hash) }
    }

    /// Compares the highest byte of all slots at once, and then the whole second hash of each slot where it
    /// is equal: which of them has the key is a matter of chance.
    #[inline(always)]
    fn find_among(&self, types: u32, slabs: u32, second_hash: u64) -> Option<SlabSlot> {
        let wanted = bucket_slot::with_second_hash(0, second_hash);
        let mask = bucket_slot::with_second_hash(0, bucket_slot::SECOND_HASH_MASK);
        let mut highest = self.0.equal_bytes((wanted >> (8 * (SLOT - 1))) as u8) & HIGHEST_BYTES;
        while highest != 0 {
            let at = highest.trailing_zeros() as usize / SLOT;
            highest &= highest - 1;
            if slabs >> (TYPE_BITS * at) & 1 == 1 && (self.word_at(at * SLOT) ^ wanted) & mask == 0 {
                return Some(self.slab_at(types, at));
            }
        }
        None
    }

    /// The slab of a slot, whose type is that of a slab.
    #[inline(always)]
    fn slab_at(&self, types: u32, at: usize) -> SlabSlot {
        let word = self.word_at(at * SLOT) & ((1 << bucket_slot::BITS) - 1);
        let class = (types >> (TYPE_BITS * at) & 7) as usize - 1;
        let key_length = (self.word_at(bucket::MARKS_OFFSET) >> (at * SLOT) & marks_below(1)) as usize;
        let (form, address) = (Form::new(class, key_length), bucket_slot::address(word) as u32);
        SlabSlot { slot: at, slab: Slab { form, address } }
    }

    /// The slots of all pairs, as either an inline pair with its key, or a slab.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = Stored> {
        let shape = self.shape();
        let (starts, slabs) = (shape.inline_starts(), slab_slots(shape.types));
        let mut rest = starts | slabs;
        let bits = std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize);
            rest &= rest.wrapping_sub(1);
            bit
        });
        bits.filter_map(move |bit| {
            if slabs >> bit & 1 == 1 {
                return Some(Stored::Slab(self.slab_at(shape.types, bit / TYPE_BITS)));
            }
            let (pair, key_length) = shape.inline_at(bit)?;
            Some(Stored::Inline(pair, key_length))
        })
    }
}

impl<W: WordsMut> Bucket<W> {
    /// Replaces bytes of slots from an offset on. The bytes are within the slots.
    #[inline(always)]
    pub(crate) fn patch(&mut self, offset: usize, bytes: &[u8]) {
        let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) else {
            return self.patch_short(offset, bytes);
        };
        self.set_word_at(offset, u64::from_le_bytes(*first));
        // The last eight bytes may overlap the ones before them.
        let last_at = bytes.len() - 8;
        for at in (8..last_at).step_by(8) {
            self.set_word_at(offset + at, word_at(bytes, at));
        }
        if last_at > 0 {
            self.set_word_at(offset + last_at, u64::from_le_bytes(*last));
        }
    }

    #[inline(always)]
    fn set_word_at(&mut self, offset: usize, value: u64) {
        self.0.set_word_at(LineOffset::new(offset), value);
    }

    /// Replaces up to seven bytes.
    #[inline(never)]
    fn patch_short(&mut self, offset: usize, bytes: &[u8]) {
        let mask = (1 << (8 * bytes.len())) - 1;
        let word = self.word_at(offset) & !mask | word_at(bytes, 0) & mask;
        self.set_word_at(offset, word);
    }
}

impl Bucket {
    fn set(&mut self, bytes: &[u8; BUCKET_SLOTS * SLOT], types: u32, marks: u64) {
        let mut whole = self.bytes();
        whole[..bytes.len()].copy_from_slice(bytes);
        self.0 = std::array::from_fn(|word| word_at(&whole, word * 8));
        self.set_shape(types, marks);
    }

    fn set_shape(&mut self, types: u32, marks: u64) {
        let (word, shift) = (bucket::MARKS_OFFSET / 8, bucket::MARKS_OFFSET % 8 * 8);
        self.0[word] = self.0[word] & !(u64::MAX << shift) | marks << shift;
        let state = bucket_state::with_marks_high(self.state(), marks >> MARKS_LOW_BITS);
        self.0[STATE] = bucket_state::with_types(state, u64::from(types));
    }

    /// The bytes of all slots.
    fn slot_bytes(&self) -> [u8; BUCKET_SLOTS * SLOT] {
        let bytes = self.bytes();
        std::array::from_fn(|at| bytes[at])
    }

    /// The bytes of the bucket.
    pub(crate) fn bytes(&self) -> [u8; bucket::SIZE] {
        let mut bytes = [0; bucket::SIZE];
        for (word, eight) in self.0.iter().zip(bytes.chunks_exact_mut(8)) {
            eight.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Replaces the address of the next bucket.
    pub(crate) fn set_next(&mut self, next: Option<u32>) {
        let state = bucket_state::with_chain(self.state(), u64::from(next.unwrap_or(0)));
        self.0[STATE] = bucket_state::with_chained(state, u64::from(next.is_some()));
    }

    /// Appends an entry. The bucket has enough free slots.
    pub(crate) fn push(&mut self, entry: &Entry) {
        let used = self.used();
        for start in (0..entry.slots * SLOT).step_by(8) {
            self.fill(used * SLOT + start, entry.words[start / 8]);
        }
        let types = self.types() | entry.types << (used * TYPE_BITS);
        self.set_shape(types, self.marks() | entry.marks << (used * SLOT));
    }

    /// Appends slots of another bucket. This bucket has enough free ones.
    pub(crate) fn push_slots(&mut self, from: &Self, at: usize, slots: usize) {
        let (used, length) = (self.used(), slots * SLOT);
        for start in (0..length).step_by(8) {
            let mask = u64::MAX >> (64 - 8 * (length - start).min(8));
            self.fill(used * SLOT + start, from.word_at(at * SLOT + start) & mask);
        }
        let types = from.types() >> (at * TYPE_BITS) & types_below(slots);
        let marks = from.marks() >> (at * SLOT) & marks_below(slots);
        self.set_shape(self.types() | types << (used * TYPE_BITS), self.marks() | marks << (used * SLOT));
    }

    /// Stores bytes into free slots, whose bytes are zeros. Zeros may follow them.
    #[inline(always)]
    fn fill(&mut self, offset: usize, bytes: u64) {
        let (word, shift) = (offset / 8, offset % 8 * 8);
        self.0[word % WORDS] |= bytes << shift;
        self.0[(word + 1) % WORDS] |= bytes >> 1 >> (63 - shift);
    }

    /// Removes the entry at some slots. The later entries move to lower slots.
    pub(crate) fn remove(&mut self, at: usize, slots: usize) {
        let mut bytes = self.slot_bytes();
        bytes.copy_within((at + slots) * SLOT.., at * SLOT);
        bytes[(BUCKET_SLOTS - slots) * SLOT..].fill(0);
        let (types, marks) = (self.types(), self.marks());
        let types = types & types_below(at)
            | (u64::from(types) >> ((at + slots) * TYPE_BITS) << (at * TYPE_BITS)) as u32;
        let marks = marks & marks_below(at) | marks >> ((at + slots) * SLOT) << (at * SLOT);
        self.set(&bytes, types, marks);
    }

    /// Replaces an entry by one with as many slots.
    pub(crate) fn replace(&mut self, at: usize, entry: &Entry) {
        let slots = entry.slots;
        let mut bytes = self.slot_bytes();
        bytes[at * SLOT..][..slots * SLOT].copy_from_slice(&Bucket(entry.words).bytes()[..slots * SLOT]);
        let (types, marks) = (entry.types, entry.marks);
        let types = self.types() & !(types_below(slots) << (at * TYPE_BITS)) | types << (at * TYPE_BITS);
        let marks = self.marks() & !(marks_below(slots) << (at * SLOT)) | marks << (at * SLOT);
        self.set(&bytes, types, marks);
    }
}

/// A pair as its bucket stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// An inline pair, and the length of its key.
    Inline(InlinePair, usize),
    /// A pair in a slab.
    Slab(SlabSlot),
}

impl Stored {
    /// The first slot, and the number of slots.
    pub(crate) fn slots(&self) -> (usize, usize) {
        match self {
            Self::Inline(pair, _) => (pair.slot(), pair.slots()),
            Self::Slab(slab) => (slab.slot, 1),
        }
    }
}

const _: () = assert!(WHOLE_SLAB_KEY_BYTES_MAX < 1 << SLOT, "the marks of a slot have room for its length");
const _: () = assert!(SLOT_FREE == 0 && SLAB_CLASSES < SLOT_INLINE && SLOT_CONTINUED == SLOT_INLINE + 1);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_slab_is_found_by_its_whole_second_hash() {
        const SECOND: u64 = 0x155;
        let slab = |address| Slab { form: Form::new(3, 0), address };
        let mut bucket = Bucket::default();
        bucket.push(&Entry::slab(slab(7), SECOND ^ 1));
        // An inline pair with the bytes of a slot.
        bucket.push(&Entry::inline(&Entry::slab(slab(8), SECOND).words[0].to_le_bytes()[..SLOT], b""));
        bucket.push(&Entry::slab(slab(9), SECOND));
        assert_eq!(bucket.find_slab(SECOND, 0), Some(SlabSlot { slot: 2, slab: slab(9) }));
        assert_eq!(bucket.find_slab(SECOND, 3), None);
        assert_eq!(bucket.find_slab(SECOND ^ 1, 0), Some(SlabSlot { slot: 0, slab: slab(7) }));
        assert_eq!(bucket.find_slab(SECOND ^ 2, 0), None);
    }
}
