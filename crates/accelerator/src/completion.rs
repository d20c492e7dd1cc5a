//! Completions: as bytes, and parsed.
//!
//! ```text
//! | completion, 32 bytes | value                              | zeros up to a multiple of 8 |    a get
//! | completion, 32 bytes | pair, 8 bytes | key | value | ...  | zeros up to a multiple of 8 |    a scan
//! ```

use honeycomb_btree::Version;
use honeycomb_layout::{completion as layout, completion_outcome as outcome, completion_pair as pair};

use crate::status::Status;

/// Completions one after the other, in the buffer of who asked. Made to be used again: once it has grown,
/// nothing is allocated.
#[derive(Debug, Clone, Default)]
pub struct Completions {
    bytes: Vec<u8>,
}

/// A completion, parsed.
#[derive(Debug, Clone, Copy)]
pub struct Completion<'a> {
    /// That of the request.
    pub identifier: u64,
    /// What came of it.
    pub status: Status,
    /// The version that was read; 0 without MVCC, or if the request was refused.
    pub read_version: Version,
    /// Of a get: the version of the pair.
    pub pair_version: Version,
    /// Whether further completions of this request follow, and continue this one.
    pub continued: bool,
    /// Whether a limit ended the scan before the range did.
    pub more: bool,
    /// Pairs of a scan in this completion.
    pub pair_count: usize,
    /// The value of a get, or the pairs of a scan.
    body: &'a [u8],
}

/// Bytes that are no completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a completion: {bytes} bytes from byte {offset} on")]
pub struct Malformed {
    /// Where.
    pub offset: usize,
    /// How many bytes are there.
    pub bytes: usize,
}

const ALIGNMENT: usize = 8;

const _: () = {
    assert!(layout::SIZE == 32 && layout::IDENTIFIER_OFFSET == 0 && layout::READ_VERSION_OFFSET == 8);
    assert!(layout::PAIR_VERSION_OFFSET == 16 && layout::BYTES_OFFSET == 24 && layout::OUTCOME_OFFSET == 28);
    assert!(pair::SIZE == 8 && pair::VALUE_LENGTH_OFFSET == 0 && pair::KEY_LENGTH_OFFSET == 4);
};

/// Pairs that one completion can count.
const PAIRS_MAX: usize = outcome::PAIRS_MASK as usize;
/// Bytes after which a completion takes no further pair: the next one does.
const COMPLETION_BYTES_MAX: usize = 1 << 20;

impl Completions {
    /// Removes all completions.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The completions as bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The completions in their order.
    #[must_use]
    #[inline]
    pub fn iter(&self) -> Iter<'_> {
        Iter { rest: &self.bytes }
    }

    /// The completion at an offset of the bytes, where one begins.
    #[must_use]
    pub fn at(&self, offset: usize) -> Option<Completion<'_>> {
        parse(self.bytes.get(offset..)?).map(|(completion, _)| completion)
    }

    /// Appends completions that came as bytes.
    ///
    /// # Errors
    /// [`Malformed`]; then nothing is appended.
    pub fn extend_from_bytes(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut offset = 0;
        while offset < bytes.len() {
            let malformed = Malformed { offset, bytes: bytes.len() - offset };
            let (completion, length) = parse(&bytes[offset..]).ok_or(malformed)?;
            let is_scan = completion.pair_count > 0;
            if is_scan && PairsOf::count(completion.body) != Some(completion.pair_count) {
                return Err(malformed);
            }
            offset += length;
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends the value of a get, and its version; none if the key is absent.
    #[inline]
    pub(crate) fn push_get(
        &mut self,
        identifier: u64,
        read_version: Version,
        found: Option<(&[u8], Version)>,
    ) {
        let status = if found.is_some() { Status::Found } else { Status::Absent };
        let (value, pair_version) = found.unwrap_or_default();
        self.push_header(identifier, read_version, pair_version, value.len(), status as u64);
        self.bytes.extend_from_slice(value);
        self.pad();
    }

    /// Appends that a request was refused.
    pub(crate) fn push_refusal(&mut self, identifier: u64, status: Status) {
        self.push_header(identifier, 0, 0, 0, status as u64);
    }

    /// Begins a completion of a scan.
    #[inline]
    pub(crate) fn begin_scan(&mut self, identifier: u64, read_version: Version) -> ScanWriter<'_> {
        let start = self.bytes.len();
        self.push_header(identifier, read_version, 0, 0, 0);
        ScanWriter { completions: self, start, pairs: 0, last_key: (0, 0) }
    }

    #[inline]
    fn push_header(
        &mut self,
        identifier: u64,
        read_version: u64,
        pair_version: u64,
        bytes: usize,
        outcome: u64,
    ) {
        let last = bytes as u64 | outcome << 32;
        let header = [identifier, read_version, pair_version, last].map(u64::to_le_bytes);
        self.bytes.extend_from_slice(header.as_flattened());
    }

    #[inline]
    fn pad(&mut self) {
        let missing = self.bytes.len().wrapping_neg() % ALIGNMENT;
        self.bytes.extend_from_slice(&[0; ALIGNMENT][..missing]);
    }
}

/// Writes the completions of a scan, one after the other.
pub(crate) struct ScanWriter<'c> {
    completions: &'c mut Completions,
    start: usize,
    pairs: usize,
    /// Where the last key is, and how long it is.
    last_key: (usize, usize),
}

impl ScanWriter<'_> {
    #[inline]
    pub(crate) fn push(&mut self, (prefix, suffix): (&[u8], &[u8]), value: &[u8]) {
        if self.is_full() {
            self.cut();
        }
        let bytes = &mut self.completions.bytes;
        let key_length = prefix.len() + suffix.len();
        let header = value.len() as u64 | (key_length as u64) << (8 * pair::KEY_LENGTH_OFFSET);
        bytes.extend_from_slice(&header.to_le_bytes());
        self.last_key = (bytes.len(), key_length);
        bytes.extend_from_slice(prefix);
        bytes.extend_from_slice(suffix);
        bytes.extend_from_slice(value);
        self.pairs += 1;
    }

    /// The key of the pair before.
    pub(crate) fn last_key(&self) -> &[u8] {
        let (start, length) = self.last_key;
        &self.completions.bytes[start..start + length]
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.pairs == PAIRS_MAX || self.completions.bytes.len() - self.start > COMPLETION_BYTES_MAX
    }

    /// Ends a completion and begins the one that continues it.
    #[cold]
    fn cut(&mut self) {
        self.end(true, false);
        let header = self.first_words();
        self.start = self.completions.bytes.len();
        self.pairs = 0;
        self.completions.bytes.extend_from_slice(&header);
        self.completions.bytes.resize(self.start + layout::SIZE, 0);
    }

    fn first_words(&self) -> [u8; layout::PAIR_VERSION_OFFSET] {
        *self.completions.bytes[self.start..].first_chunk().expect("a completion has a header")
    }

    /// Ends the last completion.
    #[inline]
    pub(crate) fn finish(mut self, continued: bool, more: bool) {
        self.end(continued, more);
    }

    #[inline]
    fn end(&mut self, continued: bool, more: bool) {
        let bytes = &mut self.completions.bytes;
        let length = bytes.len() - self.start - layout::SIZE;
        let word = outcome::with_status(0, Status::Found as u64);
        let word = outcome::with_continued(word, u64::from(continued));
        let word = outcome::with_more(word, u64::from(more));
        let last = length as u64 | outcome::with_pairs(word, self.pairs as u64) << 32;
        let at = self.start + layout::BYTES_OFFSET;
        bytes[at..at + 8].copy_from_slice(&last.to_le_bytes());
        self.completions.pad();
    }
}

/// The completion at the start of `bytes` and how many bytes it has; none if there is none.
#[inline]
fn parse(bytes: &[u8]) -> Option<(Completion<'_>, usize)> {
    let (header, rest) = bytes.split_first_chunk::<{ layout::SIZE }>()?;
    let word = |index: usize| u64::from_le_bytes(header.as_chunks::<8>().0[index]);
    let outcome_word = word(3) >> 32;
    let completion = Completion {
        identifier: word(0),
        status: Status::new(outcome::status(outcome_word) as u8)?,
        read_version: word(1),
        pair_version: word(2),
        continued: outcome::continued(outcome_word) != 0,
        more: outcome::more(outcome_word) != 0,
        pair_count: outcome::pairs(outcome_word) as usize,
        body: rest.get(..word(3) as u32 as usize)?,
    };
    let length = (layout::SIZE + completion.body.len()).next_multiple_of(ALIGNMENT);
    (length <= bytes.len()).then_some((completion, length))
}

impl<'a> Completion<'a> {
    /// The value that a get found.
    #[must_use]
    pub fn value(&self) -> Option<&'a [u8]> {
        (self.status == Status::Found).then_some(self.body)
    }

    /// The pairs of a scan, in order.
    #[must_use]
    pub fn pairs(&self) -> PairsOf<'a> {
        PairsOf { rest: if self.pair_count > 0 { self.body } else { &[] } }
    }
}

/// Iterates over completions.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Iter<'a> {
    type Item = Completion<'a>;

    #[inline]
    fn next(&mut self) -> Option<Completion<'a>> {
        let (completion, length) = parse(self.rest)?;
        self.rest = &self.rest[length..];
        Some(completion)
    }
}

impl<'a> IntoIterator for &'a Completions {
    type Item = Completion<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Iterates over the pairs of a completion: key and value.
#[derive(Debug, Clone)]
pub struct PairsOf<'a> {
    rest: &'a [u8],
}

impl PairsOf<'_> {
    /// How many pairs there are, if the bytes are whole pairs.
    fn count(body: &[u8]) -> Option<usize> {
        let mut pairs = PairsOf { rest: body };
        let count = pairs.by_ref().count();
        pairs.rest.is_empty().then_some(count)
    }
}

impl<'a> Iterator for PairsOf<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = self.rest.split_first_chunk::<{ pair::SIZE }>()?;
        let word = u64::from_le_bytes(*header);
        let (key_length, value_length) = ((word >> 32) as u16 as usize, word as u32 as usize);
        let (key, rest) = rest.split_at_checked(key_length)?;
        let (value, rest) = rest.split_at_checked(value_length)?;
        self.rest = rest;
        Some((key, value))
    }
}
