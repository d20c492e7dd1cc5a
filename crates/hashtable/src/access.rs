//! Loads and stores of buckets and slabs, under a pin.

use honeycomb_layout::bucket;
use honeycomb_memory::{LineOffset, LineWords, Memory, PageWords, Pages, Pin, ValueBuffer};

use crate::bucket::{Bucket, Slab, Words, WordsMut};
use crate::form::class_bytes;
use crate::record::{Pair, Record, Reference, encode};
use crate::slab_words::SlabWords;

/// The class of a slab with a chained bucket.
pub(crate) const BUCKET_CLASS: usize = 1;
const _: () = assert!(class_bytes(BUCKET_CLASS) == bucket::SIZE);

/// The pages of a memory during an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) pin: &'a Pin<'a>,
    pub(crate) pages: Pages<'a>,
    /// Gets and walks copy at most this number of bytes of an overflow value.
    pub(crate) value_bytes_max: usize,
}

/// Why the holder of a stripe may rely on an address.
const VALID: &str = "the buckets of a locked stripe have valid addresses";

/// Why the holder of a stripe may decode a slab.
const CONSISTENT: &str = "the slabs of a locked stripe are of one moment";

/// The words may change at any moment.
impl Words for LineWords<'_> {
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        self.load(index)
    }

    #[inline(always)]
    fn word_at(&self, offset: LineOffset) -> u64 {
        self.load_at(offset)
    }

    #[inline(always)]
    fn equal_bytes(&self, byte: u8) -> u64 {
        LineWords::equal_bytes(self, byte)
    }
}

impl WordsMut for LineWords<'_> {
    #[inline(always)]
    fn set_word_at(&mut self, offset: LineOffset, value: u64) {
        self.store_at(offset, value);
    }
}

impl<'a> Access<'a> {
    /// Access to whole values.
    #[inline]
    pub(crate) fn new(memory: &'a Memory, pin: &'a Pin<'a>) -> Self {
        Self { memory, pin, pages: memory.pages(pin), value_bytes_max: usize::MAX }
    }

    #[inline]
    fn words(&self, address: u32, bytes: usize) -> Option<PageWords<'a>> {
        self.pages.words(address, bytes)
    }

    /// A bucket in its page. `None` if the address is torn.
    #[inline(always)]
    pub(crate) fn try_bucket(&self, address: u32) -> Option<Bucket<LineWords<'a>>> {
        self.pages.line(address).map(Bucket)
    }

    /// The words of a slab. `None` if the address is torn.
    #[inline]
    pub(crate) fn try_slab(&self, slab: Slab) -> Option<SlabWords<'a>> {
        let words = self.words(slab.address, class_bytes(slab.form.class()))?;
        Some(SlabWords { words, form: slab.form })
    }

    /// Loads the record of a slab. `None` if the address is torn.
    #[inline]
    pub(crate) fn try_record(&self, slab: Slab) -> Option<Record> {
        let mut record = Record::empty(slab.form);
        self.try_slab(slab)?.words.load_bytes(record.bytes_mut());
        Some(record)
    }

    /// Loads a bucket of a stripe that the caller has locked.
    #[inline]
    pub(crate) fn bucket(&self, address: u32) -> Bucket {
        self.try_bucket(address).expect(VALID).loaded()
    }

    /// The words of a slab of a stripe that the caller has locked.
    #[inline]
    pub(crate) fn slab(&self, slab: Slab) -> SlabWords<'a> {
        self.try_slab(slab).expect(VALID)
    }

    /// Loads a slab of a stripe that the caller has locked.
    #[inline]
    pub(crate) fn record(&self, slab: Slab) -> Record {
        self.try_record(slab).expect(VALID)
    }

    /// Passes the pair in a slab of a stripe that the caller has locked to a function.
    #[inline]
    pub(crate) fn with_pair<R>(&self, slab: Slab, visit: impl FnOnce(Pair<'_>) -> R) -> R {
        // Most slabs are small, and to clear the bytes of a whole record takes long.
        let (mut small, large) = ([0; class_bytes(BUCKET_CLASS)], &mut None);
        let bytes = match small.get_mut(..class_bytes(slab.form.class())) {
            Some(bytes) => {
                self.slab(slab).words.load_bytes(bytes);
                &*bytes
            }
            None => large.insert(self.record(slab)).bytes(),
        };
        visit(Pair::decode(slab.form, bytes).expect(CONSISTENT))
    }

    /// Stores a bucket of a stripe that the caller has locked.
    #[inline]
    pub(crate) fn store_bucket(&self, address: u32, bucket: &Bucket) {
        self.words(address, bucket::SIZE).expect(VALID).store(&bucket.0);
    }

    /// Stores a pair into a slab that the caller owns, or of a stripe that it has locked. `buffer`
    /// has the value if that is an overflow value, and becomes live.
    pub(crate) fn store_slab(&self, slab: Slab, key: &[u8], value: &[u8], buffer: Option<ValueBuffer<'_>>) {
        let SlabWords { words, form } = self.slab(slab);
        let store = |at: usize, bytes: &[u8]| words.store_bytes(at, bytes);
        match buffer.map(ValueBuffer::keep) {
            Some(address) => {
                let reference = Reference { address, length: value.len() };
                encode(form, key, &reference.encode(), true, store);
            }
            None => encode(form, key, value, false, store),
        }
    }

    /// An overflow value, whose reference the caller has loaded from a consistent slab.
    #[inline]
    pub(crate) fn overflow(&self, reference: Reference) -> &'a [u8] {
        self.memory.value(self.pin, reference.address, reference.length)
    }

    /// As much of an overflow value as gets and walks copy.
    #[inline]
    pub(crate) fn beginning(&self, reference: Reference) -> &'a [u8] {
        &self.overflow(reference)[..reference.length.min(self.value_bytes_max)]
    }
}
