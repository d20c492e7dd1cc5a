//! Gets: optimistic reads under the sequence lock of the stripe.
//!
//! A reader loads the number of the lock, then words of buckets and slabs where they are, and at last the
//! number again. Until then, anything that it has loaded may be of two moments. So it follows the address of
//! a chained bucket only after it has validated the bucket that contains it; this bounds the walk. It follows
//! the reference to an overflow value only after it has validated the slab that contains it: a value that was
//! referred to at a moment after the pin began is not reclaimed before the pin ends.

use honeycomb_memory::{LineWords, SequenceLock};

use crate::access::Access;
use crate::bucket::{Bucket, InlinePair, Slab, Words};
use crate::directory::Numbering;
use crate::expected::Expected;
use crate::form::Form;
use crate::hash::HashedKey;
use crate::index::Index;
use crate::operation::{Span, append};
use crate::record::SlabValue;
use crate::short_value::ShortValue;
use crate::slab_words::Match;

/// The words were of two moments: the reader must start again.
#[derive(Debug)]
struct Torn;

/// Receives the value that a reader finds.
pub(crate) trait Output<'a> {
    /// The bytes to which a value that is not an overflow value is appended.
    fn bytes(&mut self) -> &mut Vec<u8>;
    /// Receives an overflow value.
    fn overflow(&mut self, value: &'a [u8]) -> Span;
}

/// Receives copies of all values.
impl<'a> Output<'a> for Vec<u8> {
    #[inline]
    fn bytes(&mut self) -> &mut Vec<u8> {
        self
    }

    #[inline]
    fn overflow(&mut self, value: &'a [u8]) -> Span {
        append(self, value)
    }
}

/// Receives copies of values, but overflow values themselves.
pub(crate) struct Borrowed<'a, 'b> {
    pub(crate) bytes: &'b mut Vec<u8>,
    pub(crate) overflow: Option<&'a [u8]>,
}

impl<'a> Output<'a> for Borrowed<'a, '_> {
    fn bytes(&mut self) -> &mut Vec<u8> {
        self.bytes
    }

    fn overflow(&mut self, value: &'a [u8]) -> Span {
        self.overflow = Some(value);
        Span { start: self.bytes.len(), end: self.bytes.len() }
    }
}

impl Index {
    /// Returns the value of a key, in `buffer` unless it is an overflow value. `None` if the key is absent.
    pub(crate) fn look_at<'v>(
        &self,
        access: Access<'v>,
        key: &HashedKey<'_>,
        buffer: &'v mut Vec<u8>,
    ) -> Option<&'v [u8]> {
        buffer.clear();
        let mut output = Borrowed { bytes: buffer, overflow: None };
        self.get_again(access, key, &mut output)?;
        let Borrowed { bytes, overflow } = output;
        Some(overflow.unwrap_or(bytes))
    }

    /// Appends the value of a key. `None` if the key is absent.
    #[inline]
    pub(crate) fn get(&self, access: Access<'_>, key: &HashedKey<'_>, out: &mut Vec<u8>) -> Option<Span> {
        match self.begin_get(access, self.first(access, key.hash), key, out) {
            Ok(found) => found,
            Err(pending) => self.finish_get(access, pending, key, out),
        }
    }

    /// As `get`, from the beginning until no writer interferes.
    fn get_again<'a>(
        &self,
        access: Access<'a>,
        key: &HashedKey<'_>,
        out: &mut impl Output<'a>,
    ) -> Option<Span> {
        loop {
            match self.try_get(access, key, out) {
                Ok(found) => return found,
                Err(Torn) => std::hint::spin_loop(),
            }
        }
    }

    /// As `get`, once. Appends nothing if it fails.
    #[inline]
    fn try_get<'a>(&self, access: Access<'a>, key: &HashedKey<'_>, out: &mut impl Output<'a>) -> Read {
        let number = self.stripe(key.hash).lock.begin();
        self.try_chain(access, key, (number, self.directory.address_of(key.hash)), out)
    }

    /// Searches a chain from a bucket on. The reader has begun with `number`.
    fn try_chain<'a>(
        &self,
        access: Access<'a>,
        key: &HashedKey<'_>,
        (number, mut address): (u64, u32),
        out: &mut impl Output<'a>,
    ) -> Read {
        let lock = &self.stripe(key.hash).lock;
        loop {
            let bucket = access.try_bucket(address).ok_or(Torn)?;
            if let Some(pair) = bucket.find_inline(key) {
                let span = append_inline(&bucket, pair.value, pair.value_length, out.bytes());
                return if lock.unchanged(number) { Ok(Some(span)) } else { discard(span, out.bytes()) };
            }
            let mut after = 0;
            while let Some(slab) = bucket.find_slab(key.second(), after) {
                after = slab.slot + 1;
                if let Some(span) = self.try_slab(access, key, number, slab.slab, out)? {
                    return Ok(Some(span));
                }
            }
            let Some(next) = follow(lock, number, bucket.next())? else { return Ok(None) };
            address = next;
        }
    }

    /// Appends the value of a slab, if it has the key.
    #[inline]
    fn try_slab<'a>(
        &self,
        access: Access<'a>,
        key: &HashedKey<'_>,
        number: u64,
        slab: Slab,
        out: &mut impl Output<'a>,
    ) -> Read {
        let lock = &self.stripe(key.hash).lock;
        let words = access.try_slab(slab).ok_or(Torn)?;
        match words.compare(key).ok_or(Torn)? {
            Match::Other => Ok(None),
            Match::Value { offset, length } => {
                let span = words.append_value(offset, length, out.bytes());
                if lock.unchanged(number) { Ok(Some(span)) } else { discard(span, out.bytes()) }
            }
            Match::Overflow => {
                let record = access.try_record(slab).ok_or(Torn)?;
                match record.pair().ok_or(Torn)?.value {
                    SlabValue::Overflow(reference) if lock.unchanged(number) => {
                        Ok(Some(out.overflow(access.beginning(reference))))
                    }
                    _ => Err(Torn),
                }
            }
        }
    }
}

/// The address of the next bucket of a chain, as loaded from a bucket, if nothing has changed since the
/// beginning: the slab at the address may have another owner otherwise, and any bytes.
#[inline(always)]
fn follow(lock: &SequenceLock, number: u64, next: Option<u32>) -> Result<Option<u32>, Torn> {
    if lock.unchanged(number) { Ok(next) } else { Err(Torn) }
}

/// The span of a value, or `None` if the key is absent.
type Read = Result<Option<Span>, Torn>;

/// What the first bucket of an operation has shown, so where it goes on: two words, so that a caller has them
/// in registers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pending {
    /// The number of the sequence lock at its beginning.
    pub(crate) number: u64,
    /// The address of a slab or a bucket, or the offset and the length of an inline value.
    address: u32,
    /// `BEGINNING`, `CHAINED`, `INLINE`, `ABSENT`, or `FIRST_FORM` plus the form of a slab.
    kind: u32,
}

const BEGINNING: u32 = 0;
const CHAINED: u32 = 1;
const INLINE: u32 = 2;
const ABSENT: u32 = 3;
const FIRST_FORM: u32 = 4;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Next {
    /// At the beginning: a writer has interfered.
    Beginning,
    Slab(Slab),
    Chained(u32),
    /// The first bucket has the value: its offset and its length.
    Inline(usize, usize),
    Absent,
}

impl Pending {
    #[inline(always)]
    fn slab(number: u64, Slab { form, address }: Slab) -> Self {
        Self { number, address, kind: FIRST_FORM + form.code() }
    }

    #[inline(always)]
    fn chained(number: u64, address: u32) -> Self {
        Self { number, address, kind: CHAINED }
    }

    #[inline(always)]
    fn inline(number: u64, pair: InlinePair) -> Self {
        Self { number, address: (pair.value | pair.value_length << 8) as u32, kind: INLINE }
    }

    #[inline(always)]
    fn absent(number: u64) -> Self {
        Self { number, address: 0, kind: ABSENT }
    }

    #[inline(always)]
    pub(crate) fn next(self) -> Next {
        match self.kind {
            BEGINNING => Next::Beginning,
            CHAINED => Next::Chained(self.address),
            INLINE => Next::Inline(self.address as usize % 256, (self.address >> 8) as usize),
            ABSENT => Next::Absent,
            kind => Next::Slab(Slab { form: Form::from_code(kind - FIRST_FORM), address: self.address }),
        }
    }
}

/// The first bucket of a key at the beginning of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct First<'a> {
    pub(crate) bucket: Bucket<LineWords<'a>>,
    pub(crate) lock: &'a SequenceLock,
    /// The number of the lock before the bucket was chosen, or compared with the directory.
    pub(crate) number: u64,
}

impl Index {
    /// Begins an operation. `None` if a writer has interfered.
    #[inline(always)]
    pub(crate) fn first<'a>(&'a self, access: Access<'a>, hash: u64) -> Option<First<'a>> {
        let lock = &self.stripe(hash).lock;
        let number = lock.begin();
        let bucket = access.try_bucket(self.directory.address_of(hash))?;
        Some(First { bucket, lock, number })
    }

    /// As [`first`](Self::first), with a bucket that was chosen before, in a state of the directory.
    #[inline(always)]
    pub(crate) fn first_of<'a>(
        &'a self,
        bucket: Option<Bucket<LineWords<'a>>>,
        state: u64,
        hash: u64,
    ) -> Option<First<'a>> {
        let lock = &self.stripe(hash).lock;
        let number = lock.begin();
        let bucket = bucket.filter(|_| state == self.directory.state())?;
        Some(First { bucket, lock, number })
    }

    /// The first step of an operation in a batch: prefetches its bucket, by the numbers in a state of the
    /// directory.
    #[inline(always)]
    pub(crate) fn choose<'a>(
        &self,
        access: Access<'a>,
        numbering: Numbering,
        hash: u64,
    ) -> Option<Bucket<LineWords<'a>>> {
        let bucket = access.try_bucket(self.directory.address_in(numbering, hash))?;
        bucket.0.prefetch();
        Some(bucket)
    }

    /// The second step of a get in a batch. Returns the outcome if the first bucket shows it. Otherwise
    /// prefetches what the third step reads.
    #[inline(always)]
    pub(crate) fn begin_get(
        &self,
        access: Access<'_>,
        first: Option<First<'_>>,
        key: &HashedKey<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Span>, Pending> {
        let Some(First { bucket, lock, number }) = first else { return Err(Pending::default()) };
        let Some(pair) = bucket.find_inline(key) else {
            return begin_beyond(access, lock, number, &bucket, key).map_or(Ok(None), Err);
        };
        let span = append_inline(&bucket, pair.value, pair.value_length, out);
        if lock.unchanged(number) {
            return Ok(Some(span));
        }
        out.truncate(span.start);
        Err(Pending::default())
    }

    /// The third step of a get in a batch, if it finds a short value in the slab, or in the first chained
    /// bucket. Returns whether it has loaded the value.
    #[inline(always)]
    pub(crate) fn finish_short(
        &self,
        access: Access<'_>,
        pending: Pending,
        key: &HashedKey<'_>,
        value: &mut ShortValue,
    ) -> bool {
        // No closures: the compiler does not compile them into the loop of a batch.
        let is_loaded = match pending.next() {
            Next::Beginning | Next::Inline(..) | Next::Absent => false,
            Next::Chained(address) => {
                let Some(bucket) = access.try_bucket(address) else { return false };
                let (pair, is_found) = bucket.search(key);
                is_found & value.load(pair.value_length, |at| bucket.word_at(pair.value + at))
            }
            Next::Slab(slab) => {
                let Some(words) = access.try_slab(slab) else { return false };
                let Some(Match::Value { offset, length }) = words.compare(key) else { return false };
                value.load(length, |at| words.word_at(offset + at))
            }
        };
        is_loaded && self.stripe(key.hash).lock.unchanged(pending.number)
    }

    /// The rest of a get after its first bucket. All that it has loaded since the beginning is of one moment,
    /// if the number of the lock is still the same.
    #[inline(never)]
    pub(crate) fn finish_get<'a>(
        &self,
        access: Access<'a>,
        pending: Pending,
        key: &HashedKey<'_>,
        out: &mut impl Output<'a>,
    ) -> Option<Span> {
        let found = self.append_next(access, pending, key, out.bytes());
        found.or_else(|| self.finish_long(access, pending, key, out))
    }

    /// Appends the value that the slab, or the first chained bucket, has for a key, if it has one.
    #[inline(always)]
    fn append_next(
        &self,
        access: Access<'_>,
        pending: Pending,
        key: &HashedKey<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Span> {
        let span = match pending.next() {
            Next::Beginning | Next::Inline(..) | Next::Absent => return None,
            Next::Chained(address) => {
                let bucket = access.try_bucket(address)?;
                let pair = bucket.find_inline(key)?;
                append_inline(&bucket, pair.value, pair.value_length, out)
            }
            Next::Slab(slab) => {
                let words = access.try_slab(slab)?;
                let Some(Match::Value { offset, length }) = words.compare(key) else { return None };
                words.append_value(offset, length, out)
            }
        };
        if self.stripe(key.hash).lock.unchanged(pending.number) {
            return Some(span);
        }
        out.truncate(span.start);
        None
    }

    /// As [`finish_get`](Self::finish_get), for values of any length alike.
    fn finish_long<'a>(
        &self,
        access: Access<'a>,
        pending: Pending,
        key: &HashedKey<'_>,
        out: &mut impl Output<'a>,
    ) -> Option<Span> {
        let result = match pending.next() {
            Next::Absent if self.stripe(key.hash).lock.unchanged(pending.number) => Ok(None),
            Next::Beginning | Next::Inline(..) | Next::Absent => Err(Torn),
            Next::Chained(address) => self.try_chain(access, key, (pending.number, address), out),
            // If the slab has another key with the same second hash, the search starts again.
            Next::Slab(slab) => match self.try_slab(access, key, pending.number, slab, out) {
                Ok(None) => Err(Torn),
                result => result,
            },
        };
        result.unwrap_or_else(|Torn| self.get_again(access, key, out))
    }
}

/// Loads the value of a key if its first bucket shows that the key is absent, or has a short value inline.
/// Returns whether the key exists. Otherwise prefetches what the search reads next.
#[inline(always)]
pub(crate) fn short_value(
    access: Access<'_>,
    first: Option<First<'_>>,
    key: &HashedKey<'_>,
    value: &mut ShortValue,
    expected: &mut Expected,
) -> Result<bool, Pending> {
    let Some(First { bucket, lock, number }) = first else { return Err(Pending::default()) };
    let (pair, is_found) = expected.search(&bucket, key);
    if !is_found {
        return begin_beyond(access, lock, number, &bucket, key).map_or(Ok(false), Err);
    }
    let is_short = value.load(pair.value_length, |at| bucket.word_at(pair.value + at));
    if is_short & lock.unchanged(number) { Ok(true) } else { Err(Pending::default()) }
}

/// The second step of an operation whose first bucket does not have the pair inline. `None` if the key is
/// absent.
#[inline(always)]
pub(crate) fn begin_beyond(
    access: Access<'_>,
    lock: &SequenceLock,
    number: u64,
    bucket: &Bucket<impl Words>,
    key: &HashedKey<'_>,
) -> Option<Pending> {
    let next = prefetch_next(access, number, bucket, key);
    if lock.unchanged(number) { next } else { Some(Pending::default()) }
}

/// An operation of a batch before its execution.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Step<'a> {
    pub(crate) key: HashedKey<'a>,
    /// Its bucket in the state of the directory at the beginning of the batch.
    pub(crate) bucket: Option<Bucket<LineWords<'a>>>,
    /// What the bucket has shown.
    pub(crate) pending: Pending,
}

impl Index {
    /// The second step of an operation in a batch: searches its bucket, and prefetches what the third step
    /// reads after it.
    #[inline(always)]
    pub(crate) fn see<'a>(&'a self, access: Access<'a>, state: u64, step: &Step<'a>) -> Pending {
        let Step { key, bucket, .. } = step;
        let Some(First { bucket, lock, number }) = self.first_of(*bucket, state, key.hash) else {
            return Pending::default();
        };
        match bucket.find_inline(key) {
            Some(pair) => Pending::inline(number, pair),
            None => begin_beyond(access, lock, number, &bucket, key).unwrap_or(Pending::absent(number)),
        }
    }

    /// The third step of a get in a batch. What the second step has seen is of the same moment, if the number
    /// of the lock is still the same.
    #[inline(always)]
    pub(crate) fn get_seen<'a>(
        &self,
        access: Access<'a>,
        Step { key, bucket, pending }: &Step<'_>,
        out: &mut impl Output<'a>,
    ) -> Option<Span> {
        if let (Next::Inline(value, length), Some(bucket)) = (pending.next(), bucket) {
            let span = append_inline(bucket, value, length, out.bytes());
            if self.stripe(key.hash).lock.unchanged(pending.number) {
                return Some(span);
            }
            out.bytes().truncate(span.start);
        }
        self.finish_get(access, *pending, key, out)
    }
}

/// Prefetches what a search reads after a bucket, if there is anything.
#[inline(always)]
pub(crate) fn prefetch_next(
    access: Access<'_>,
    number: u64,
    bucket: &Bucket<impl Words>,
    key: &HashedKey<'_>,
) -> Option<Pending> {
    let (slab, next) = (bucket.find_slab(key.second(), 0), bucket.next());
    if let Some(slab) = slab {
        // A pair in a larger slab has further lines, which the processor prefetches: they are adjacent.
        access.memory.prefetch_slab(slab.slab.address);
    }
    if let Some(next) = next {
        access.memory.prefetch_slab(next);
    }
    let chained = next.map(|next| Pending::chained(number, next));
    slab.map(|slab| Pending::slab(number, slab.slab)).or(chained)
}

fn discard(span: Span, out: &mut Vec<u8>) -> Read {
    out.truncate(span.start);
    Err(Torn)
}

/// Appends bytes of a bucket.
#[inline(always)]
pub(crate) fn append_inline(
    bucket: &Bucket<impl Words>,
    offset: usize,
    length: usize,
    out: &mut Vec<u8>,
) -> Span {
    let span = Span { start: out.len(), end: out.len() + length };
    if length <= 8 {
        out.extend_from_slice(&bucket.word_at(offset).to_le_bytes());
        out.truncate(span.end);
        return span;
    }
    out.extend_from_slice(&sixteen_at(bucket, offset));
    if length > 16 {
        append_rest(bucket, offset + 16, length - 16, out);
    }
    out.truncate(span.end);
    span
}

/// Appends bytes of a bucket, and perhaps further ones: sixteen at a time.
#[inline(never)]
fn append_rest(bucket: &Bucket<impl Words>, offset: usize, length: usize, out: &mut Vec<u8>) {
    for at in (0..length).step_by(16) {
        out.extend_from_slice(&sixteen_at(bucket, offset + at));
    }
}

/// The sixteen bytes at an offset; those after the end of the bucket are any bytes.
#[inline(always)]
pub(crate) fn sixteen_at(bucket: &Bucket<impl Words>, offset: usize) -> [u8; 16] {
    let (low, high) = (bucket.word_at(offset), bucket.word_at(offset + 8));
    (u128::from(low) | u128::from(high) << 64).to_le_bytes()
}

#[cfg(all(test, loom))]
mod models {
    use honeycomb_memory::sync::{Arc, AtomicU64, Ordering, fence, thread};

    use super::*;

    /// The bucket of the key, and its chained bucket, which is a slab.
    const FIRST: u32 = 0;
    const CHAINED: u32 = 1;
    /// The word of a bucket without a next one.
    const END: u64 = u64::MAX;

    /// A bucket: a word with the value of the key, or 0, and a word with the address of the next bucket.
    struct Words {
        value: AtomicU64,
        chain: AtomicU64,
    }

    /// A chain whose chained bucket has the key, with the value 1.
    struct Shared {
        lock: SequenceLock,
        buckets: [Words; 2],
    }

    impl Words {
        fn new(value: u64, chain: u64) -> Self {
            Self { value: AtomicU64::new(value), chain: AtomicU64::new(chain) }
        }

        fn store(&self, value: u64, chain: u64) {
            self.value.store(value, Ordering::Relaxed);
            self.chain.store(chain, Ordering::Relaxed);
        }
    }

    impl Shared {
        fn new() -> Self {
            let buckets = [Words::new(0, u64::from(CHAINED)), Words::new(1, END)];
            Self { lock: SequenceLock::default(), buckets }
        }

        /// Moves the pair to the first bucket, so that the chained bucket leaves the chain. The next owner of
        /// its slab, which may hold another stripe, stores bytes that look like a chain without an end.
        fn empty_and_reuse(&self) {
            let guard = self.lock.lock();
            self.buckets[FIRST as usize].store(1, END);
            drop(guard);
            // As the allocator of slabs does.
            fence(Ordering::Release);
            self.buckets[CHAINED as usize].store(0, u64::from(CHAINED));
        }

        /// Returns the value of the key, as `try_chain` does.
        fn try_get(&self) -> Result<Option<u64>, Torn> {
            let number = self.lock.begin();
            let (mut address, mut length) = (FIRST, 0);
            loop {
                length += 1;
                assert!(length <= self.buckets.len(), "the walk is longer than the chain");
                let bucket = &self.buckets[address as usize];
                let value = bucket.value.load(Ordering::Relaxed);
                if value != 0 {
                    return if self.lock.unchanged(number) { Ok(Some(value)) } else { Err(Torn) };
                }
                let chain = bucket.chain.load(Ordering::Relaxed);
                let next = follow(&self.lock, number, (chain != END).then_some(chain as u32))?;
                let Some(next) = next else { return Ok(None) };
                address = next;
            }
        }
    }

    /// Fails if a reader follows the address of a chained bucket before the validation, or without the fence
    /// of the next owner.
    #[test]
    fn loom_a_reader_leaves_a_chain_whose_bucket_is_reused() {
        loom::model(|| {
            let shared = Arc::new(Shared::new());
            let writer = {
                let shared = shared.clone();
                thread::spawn(move || shared.empty_and_reuse())
            };
            if let Ok(value) = shared.try_get() {
                assert_eq!(value, Some(1), "the key exists throughout");
            }
            writer.join().unwrap();
            assert_eq!(shared.try_get().unwrap(), Some(1));
        });
    }
}
