//! Completions: their encoding as bytes, and their decoding.
//!
//! ```text
//! | completion, 32 bytes | value                              | zeros up to a multiple of 8 |    a get
//! | completion, 32 bytes | pair, 8 bytes | key | value | ...  | zeros up to a multiple of 8 |    a scan
//! ```
//! The completion of a filter of a range is that of a scan. Those of a count, of a reduction and of an
//! operation on an unordered table are that of a get, with an empty value if there is none.

use honeycomb_btree::{Pair, PairRun, Version, WrittenPairs};
use honeycomb_layout::{completion as layout, completion_outcome as outcome, completion_pair};

use crate::buffer::{ALIGNMENT, Buffer, header_bytes};
use crate::pair::{PairsOf, push_pair, push_pair_bytes, push_run};
use crate::status::Status;

/// A sequence of completions in a buffer of the reader. A reader reuses it: once the buffer has grown,
/// further completions need no allocation.
#[derive(Debug, Clone)]
pub struct Completions {
    buffer: Buffer,
    /// Bytes of rejections in the buffer. They do not count towards the limit.
    rejection_bytes: usize,
    /// Maximum length of the buffer: `bytes_max` plus the bytes of rejections.
    end_max: usize,
    bytes_max: usize,
    value_bytes_max: usize,
}

/// A decoded completion.
#[derive(Debug, Clone, Copy)]
pub struct Completion<'a> {
    /// The identifier of the request.
    pub identifier: u64,
    /// The result of the request.
    pub status: Status,
    /// The version that the request read; 0 without MVCC, or if the request was rejected.
    pub read_version: Version,
    /// For a get: the version of the pair.
    pub pair_version: Version,
    /// Whether a further completion of this request continues this one.
    pub continued: bool,
    /// Whether a limit ended the scan before its range ended.
    pub more: bool,
    /// Number of pairs of a scan in this completion.
    pub pair_count: usize,
    /// The value, or the pairs of a scan.
    body: &'a [u8],
}

/// Bytes that are not completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a completion: {bytes} bytes from byte {offset} on")]
pub struct Malformed {
    /// The offset of the first byte that is not part of a completion.
    pub offset: usize,
    /// Number of bytes from there on.
    pub bytes: usize,
}

const _: () = {
    assert!(layout::SIZE == 32 && layout::IDENTIFIER_OFFSET == 0 && layout::READ_VERSION_OFFSET == 8);
    assert!(layout::PAIR_VERSION_OFFSET == 16 && layout::BYTES_OFFSET == 24 && layout::OUTCOME_OFFSET == 28);
};

/// Maximum number of pairs in one completion.
const PAIRS_MAX: usize = outcome::PAIRS_MASK as usize;
/// Bytes after which the next completion continues a scan.
const COMPLETION_BYTES_MAX: usize = 1 << 20;

const _: () = assert!(COMPLETION_BYTES_MAX / completion_pair::SIZE < PAIRS_MAX);

impl Default for Completions {
    /// Completions without a limit.
    fn default() -> Self {
        Self::with_bytes_max(usize::MAX)
    }
}

impl Completions {
    /// Like [`Completions::with_limits`], with values of any length.
    #[must_use]
    pub fn with_bytes_max(bytes_max: usize) -> Self {
        Self::with_limits(bytes_max, usize::MAX)
    }

    /// Creates completions of at most `bytes_max` bytes, with values of at most `value_bytes_max` bytes. A
    /// get whose value exceeds this length or the remaining room is rejected with [`Status::NoRoom`], before
    /// the value is copied or memory is allocated for it. Gets and scans that begin when the room is used up
    /// are rejected too.
    ///
    /// The first value can exceed the room, so that a reader can get every value. A scan that begins while
    /// there is room can exceed it, up to its own limit; so can the results of the writes of a batch, at most
    /// 1024, on an unordered table. Rejections do not count.
    #[must_use]
    pub fn with_limits(bytes_max: usize, value_bytes_max: usize) -> Self {
        let buffer = Buffer::doubling_up_to(bytes_max);
        Self { buffer, rejection_bytes: 0, end_max: bytes_max, bytes_max, value_bytes_max }
    }

    /// Removes all completions. Frees the memory if it is more than twice the limit.
    pub fn clear(&mut self) {
        self.buffer.clear();
        (self.rejection_bytes, self.end_max) = (0, self.bytes_max);
    }

    /// Removes all completions and frees their memory.
    pub fn free_memory(&mut self) {
        *self = Self::with_limits(self.bytes_max, self.value_bytes_max);
    }

    /// Bytes of allocated memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Bytes that count towards the limit.
    #[must_use]
    #[inline]
    pub fn used(&self) -> usize {
        self.buffer.len() - self.rejection_bytes
    }

    /// Whether the room is used up.
    #[inline]
    pub(crate) fn are_full(&self) -> bool {
        self.used() >= self.bytes_max
    }

    /// Whether there is room for the completion of a get whose value has `value_bytes` bytes.
    #[inline(always)]
    fn have_room_for(&self, value_bytes: usize) -> bool {
        let fits = self.buffer.len() + layout::SIZE + value_bytes <= self.end_max;
        (fits || self.used() == 0) && value_bytes <= self.value_bytes_max
    }

    /// Rejects a request if the room is used up. Returns whether it has rejected it.
    #[inline]
    pub(crate) fn reject_if_full(&mut self, identifier: u64) -> bool {
        let are_full = self.are_full();
        if are_full {
            self.push_rejection(identifier, Status::NoRoom);
        }
        are_full
    }

    /// Whether there are no completions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buffer.len() == 0
    }

    /// The completions as bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// Iterates over the completions in order of arrival.
    #[must_use]
    #[inline]
    pub fn iter(&self) -> Iter<'_> {
        Iter { rest: self.bytes() }
    }

    /// Returns the completion that begins at an offset of the bytes.
    #[must_use]
    #[inline]
    pub fn at(&self, offset: usize) -> Option<Completion<'_>> {
        parse(self.bytes().get(offset..)?).map(|(completion, _)| completion)
    }

    /// Returns the value of a get whose completion begins at an offset of the bytes. It decodes nothing else,
    /// which is sufficient for most readers.
    #[must_use]
    #[inline]
    pub fn value_at(&self, offset: usize) -> Option<&[u8]> {
        let (header, rest) = self.bytes().get(offset..)?.split_first_chunk::<{ layout::SIZE }>()?;
        let last = u64::from_le_bytes(*header.last_chunk().expect("eight bytes"));
        let is_found = outcome::status(last >> 32) == Status::Found as u64;
        rest.get(..last as u32 as usize).filter(|_| is_found)
    }

    /// Decodes and appends completions.
    ///
    /// # Errors
    /// [`Malformed`]; then it appends nothing.
    pub fn extend_from_bytes(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let mut offset = 0;
        while offset < bytes.len() {
            let malformed = Malformed { offset, bytes: bytes.len() - offset };
            let (completion, length) = parse(&bytes[offset..]).ok_or(malformed)?;
            if completion.pair_count > 0 && !completion.has_whole_pairs() {
                return Err(malformed);
            }
            offset += length;
        }
        self.buffer.push(bytes);
        Ok(())
    }

    /// Appends the completion of a get: the value and its version, or `None` if the key is absent. Rejects
    /// the get if there is no room. The result of a count or a reduction is a value without a version.
    #[inline]
    pub(crate) fn push_get(
        &mut self,
        identifier: u64,
        read_version: Version,
        pair: Option<(&[u8], Version)>,
    ) {
        let status = if pair.is_some() { Status::Found } else { Status::Absent };
        let (value, pair_version) = pair.unwrap_or_default();
        if !self.have_room_for(value.len()) {
            return self.push_rejection(identifier, Status::NoRoom);
        }
        let header = header_of(identifier, read_version, pair_version, value.len(), status as u64);
        self.buffer.push_padded(&header, &[value]);
    }

    /// Appends the completion of an operation on an unordered table, whose effect is final. It can exceed the
    /// room.
    pub(crate) fn push_outcome(&mut self, identifier: u64, status: Status, value: &[u8]) {
        let header = header_of(identifier, 0, 0, value.len(), status as u64);
        self.buffer.push_padded(&header, &[value]);
    }

    /// Appends the completion of an operation that has changed nothing. Rejects it if there is no room.
    pub(crate) fn push_outcome_within_room(&mut self, identifier: u64, status: Status, value: &[u8]) {
        if !self.have_room_for(value.len()) {
            return self.push_rejection(identifier, Status::NoRoom);
        }
        self.push_outcome(identifier, status, value);
    }

    /// Appends a copy of a completion with another identifier and other flags. If there is no room, it omits
    /// the completion, and appends a rejection instead of the last completion of the request.
    pub(crate) fn push_part(&mut self, part: &Completion<'_>, identifier: u64, continued: bool, more: bool) {
        if (continued && self.are_full()) || self.reject_if_full(identifier) {
            return;
        }
        if part.pair_count == 0 && !self.have_room_for(part.body.len()) {
            return self.push_rejection(identifier, Status::NoRoom);
        }
        self.push_part_of_begun(part, identifier, continued, more);
    }

    /// Like [`Completions::push_part`], for a part of a scan that has begun. It can exceed the room.
    pub(crate) fn push_part_of_begun(
        &mut self,
        part: &Completion<'_>,
        identifier: u64,
        continued: bool,
        more: bool,
    ) {
        let word = outcome::with_status(0, part.status as u64);
        let word = outcome::with_continued(word, u64::from(continued));
        let word = outcome::with_more(word, u64::from(more));
        let word = outcome::with_pairs(word, part.pair_count as u64);
        let header = header_of(identifier, part.read_version, part.pair_version, part.body.len(), word);
        self.buffer.push_padded(&header, &[part.body]);
    }

    /// Moves all completions of another sequence to the end of this one.
    pub(crate) fn append(&mut self, others: &mut Self) {
        self.buffer.push(others.bytes());
        self.add_rejections(others.rejection_bytes);
        others.clear();
    }

    /// Appends a rejection. There is always room for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn push_rejection(&mut self, identifier: u64, status: Status) {
        self.push_header(identifier, 0, 0, 0, status as u64);
        self.add_rejections(layout::SIZE);
    }

    fn add_rejections(&mut self, bytes: usize) {
        self.rejection_bytes += bytes;
        self.end_max = self.end_max.saturating_add(bytes);
    }

    /// Begins the completion of a scan.
    #[inline]
    pub(crate) fn begin_scan(&mut self, identifier: u64, read_version: Version) -> ScanWriter<'_> {
        let start = self.buffer.len();
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
        self.buffer.push(&header_of(identifier, read_version, pair_version, bytes, outcome));
    }

    #[inline]
    fn pad(&mut self) {
        let bytes = self.buffer.len();
        self.buffer.room(ALIGNMENT)[..ALIGNMENT].fill(0);
        self.buffer.advance(bytes.next_multiple_of(ALIGNMENT) - bytes);
    }
}

/// Encodes the header of a completion.
#[inline]
fn header_of(
    identifier: u64,
    read_version: u64,
    pair_version: u64,
    bytes: usize,
    outcome: u64,
) -> [u8; layout::SIZE] {
    header_bytes([identifier, read_version, pair_version, bytes as u64 | outcome << 32])
}

/// Writes the completions of a scan.
pub(crate) struct ScanWriter<'c> {
    completions: &'c mut Completions,
    start: usize,
    pairs: usize,
    /// Offset and length of the last key.
    last_key: (usize, usize),
}

impl ScanWriter<'_> {
    #[inline]
    pub(crate) fn push(&mut self, pair: &Pair<'_>) {
        self.begin_pair(pair.key_len());
        push_pair(&mut self.completions.buffer, pair);
    }

    /// As [`ScanWriter::push`], for the bytes of a pair.
    pub(crate) fn push_bytes(&mut self, key: &[u8], value: &[u8]) {
        self.begin_pair(key.len());
        push_pair_bytes(&mut self.completions.buffer, key, value);
    }

    /// Appends leading pairs of an item run, within these limits. It can append fewer pairs than the limits
    /// allow.
    #[inline]
    pub(crate) fn push_run(&mut self, run: &mut PairRun<'_>, pairs: usize, bytes: usize) -> WrittenPairs {
        self.make_room();
        let start = self.completions.buffer.len();
        let written = push_run(&mut self.completions.buffer, run, pairs, bytes);
        if written.pairs > 0 {
            self.last_key = (start + written.last_key, written.last_key_bytes);
            self.pairs += written.pairs;
        }
        written
    }

    /// Makes room for a pair that is appended next, and counts it.
    #[inline]
    fn begin_pair(&mut self, key_bytes: usize) {
        self.make_room();
        self.last_key = (self.completions.buffer.len() + completion_pair::SIZE, key_bytes);
        self.pairs += 1;
    }

    /// Begins the next completion if this one is long enough.
    #[inline]
    fn make_room(&mut self) {
        if self.is_full() {
            self.continue_in_next();
        }
    }

    /// The key of the last pair.
    pub(crate) fn last_key(&self) -> &[u8] {
        let (start, length) = self.last_key;
        &self.completions.bytes()[start..start + length]
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.completions.buffer.len() - self.start > COMPLETION_BYTES_MAX
    }

    /// Finishes a completion and begins the one that continues it.
    #[cold]
    fn continue_in_next(&mut self) {
        self.end(true, false);
        let header = self.first_words();
        self.start = self.completions.buffer.len();
        self.pairs = 0;
        self.completions.buffer.push(&header);
        self.completions.buffer.push(&[0; layout::SIZE - layout::PAIR_VERSION_OFFSET]);
    }

    fn first_words(&self) -> [u8; layout::PAIR_VERSION_OFFSET] {
        *self.completions.bytes()[self.start..].first_chunk().expect("a completion has a header")
    }

    /// Finishes the last completion.
    #[inline]
    pub(crate) fn finish(mut self, continued: bool, more: bool) {
        self.end(continued, more);
    }

    /// Finishes a completion that a later one continues. Omits it if it has no pairs.
    pub(crate) fn finish_part(mut self) {
        if self.pairs > 0 {
            return self.end(true, false);
        }
        self.completions.buffer.truncate(self.start);
    }

    #[inline]
    fn end(&mut self, continued: bool, more: bool) {
        let length = self.completions.buffer.len() - self.start - layout::SIZE;
        let word = outcome::with_status(0, Status::Found as u64);
        let word = outcome::with_continued(word, u64::from(continued));
        let word = outcome::with_more(word, u64::from(more));
        let last = length as u64 | outcome::with_pairs(word, self.pairs as u64) << 32;
        let at = self.start + layout::BYTES_OFFSET;
        self.completions.buffer.set(at, last.to_le_bytes());
        self.completions.pad();
    }
}

/// Decodes the completion at the start of `bytes`. Returns it with its length; `None` if there is no complete
/// one.
#[inline]
pub(crate) fn parse(bytes: &[u8]) -> Option<(Completion<'_>, usize)> {
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
    /// The value of a get, if the key exists; the result of a function; the current value of a mismatch; the
    /// original value.
    #[must_use]
    #[inline]
    pub fn value(&self) -> Option<&'a [u8]> {
        matches!(self.status, Status::Found | Status::Mismatch | Status::Original).then_some(self.body)
    }

    /// Length of the whole completion in bytes.
    #[must_use]
    #[inline]
    pub fn length(&self) -> usize {
        (layout::SIZE + self.body.len()).next_multiple_of(ALIGNMENT)
    }

    /// Whether the body consists of `pair_count` pairs.
    pub(crate) fn has_whole_pairs(&self) -> bool {
        PairsOf::count(self.body) == Some(self.pair_count)
    }

    /// The pairs of a scan, in order.
    #[must_use]
    pub fn pairs(&self) -> PairsOf<'a> {
        PairsOf::new(if self.pair_count > 0 { self.body } else { &[] })
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

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::pair::pair_header;
    use honeycomb_testing::seed;

    fn push(scan: &mut ScanWriter<'_>, key: &[u8], value: &[u8]) {
        scan.make_room();
        let buffer = &mut scan.completions.buffer;
        scan.last_key = (buffer.len() + completion_pair::SIZE, key.len());
        buffer.push(&[&pair_header(key.len(), value.len()), key, value].concat());
        scan.pairs += 1;
    }

    /// A get of a key that exists, a get of an absent key, a rejection, a scan in two completions, and a scan
    /// without pairs.
    fn sample() -> Completions {
        let mut completions = Completions::default();
        completions.push_get(1, 10, Some((b"value", 7)));
        completions.push_get(2, 11, None);
        completions.push_rejection(3, Status::UnknownTable);
        let mut scan = completions.begin_scan(4, 12);
        push(&mut scan, b"prefix", b"first");
        scan.continue_in_next();
        push(&mut scan, b"key", b"");
        push(&mut scan, b"k", b"12345678");
        scan.finish(false, true);
        completions.begin_scan(5, 13).finish(false, false);
        completions
    }

    fn described(completion: &Completion<'_>) -> String {
        let Completion { identifier, status, read_version, pair_version, continued, more, .. } = *completion;
        let pairs: Vec<_> = completion.pairs().collect();
        assert_eq!(pairs.len(), completion.pair_count);
        let value = completion.value().filter(|_| pairs.is_empty());
        format!(
            "{identifier} {status:?} {read_version} {pair_version} {continued} {more} {value:?} {pairs:?}"
        )
    }

    fn rejected(bytes: &[u8]) -> Malformed {
        let mut completions = sample();
        let before = completions.bytes().to_vec();
        let malformed = completions.extend_from_bytes(bytes).unwrap_err();
        assert_eq!(completions.bytes(), before, "an error appends nothing");
        malformed
    }

    #[test]
    fn every_field_is_decoded() {
        let mut copy = Completions::default();
        copy.extend_from_bytes(sample().bytes()).unwrap();
        let expected = [
            "1 Found 10 7 false false Some([118, 97, 108, 117, 101]) []".to_owned(),
            "2 Absent 11 0 false false None []".to_owned(),
            "3 UnknownTable 0 0 false false None []".to_owned(),
            format!("4 Found 12 0 true false None {:?}", [(b"prefix", b"first")]),
            format!("4 Found 12 0 false true None {:?}", [(&b"key"[..], &b""[..]), (b"k", b"12345678")]),
            "5 Found 13 0 false false Some([]) []".to_owned(),
        ];
        assert_eq!(copy.iter().map(|completion| described(&completion)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn completions_follow_the_layout() {
        let mut completions = Completions::default();
        let mut scan = completions.begin_scan(0x0807, 0x0a09);
        push(&mut scan, b"key", b"value");
        scan.finish(true, true);
        let words = [0x0807, 0x0a09, 0, 16 | (1 << 10 | 1 << 9 | 1 << 8) << 32, 5 | 3 << 32_u64];
        assert_eq!(completions.bytes()[..40], words.map(u64::to_le_bytes).concat());
        assert_eq!(&completions.bytes()[40..], b"keyvalue");
        completions.clear();
        completions.push_get(1, 2, Some((b"v", 3)));
        let words = [1, 2, 3, 1, u64::from(b'v')];
        assert_eq!(completions.bytes(), words.map(u64::to_le_bytes).concat());
    }

    #[test]
    fn completions_are_decoded_at_their_offsets() {
        let completions = sample();
        assert_eq!(completions.at(40).unwrap().identifier, 2);
        let mut offset = 0;
        for completion in &completions {
            assert_eq!(completions.value_at(offset), completion.value());
            offset += completion.length();
        }
        assert_eq!((completions.value_at(0), completions.value_at(40)), (Some(&b"value"[..]), None));
        assert_eq!(completions.value_at(usize::MAX), None);
        assert!(completions.at(completions.bytes().len()).is_none());
        assert!(completions.at(usize::MAX).is_none());
    }

    #[test]
    fn a_scan_of_many_bytes_has_several_completions() {
        let mut completions = Completions::default();
        let mut scan = completions.begin_scan(1, 2);
        let value = vec![7; COMPLETION_BYTES_MAX / 4];
        for number in 0..11_u8 {
            push(&mut scan, &[number], &value);
            assert_eq!(scan.last_key(), [number]);
        }
        scan.finish(false, false);
        let parts: Vec<_> = completions.iter().map(|part| (part.pair_count, part.continued)).collect();
        assert_eq!(parts, [(4, true), (4, true), (3, false)]);
        assert!(completions.iter().all(|part| part.read_version == 2 && part.identifier == 1));
    }

    #[test]
    fn a_part_without_pairs_is_omitted() {
        let mut completions = Completions::default();
        completions.push_get(1, 2, None);
        let before = completions.bytes().to_vec();
        completions.begin_scan(3, 4).finish_part();
        assert_eq!(completions.bytes(), before);
        let mut part = completions.begin_scan(3, 4);
        push(&mut part, b"key", b"value");
        part.finish_part();
        let last = completions.iter().last().unwrap();
        assert_eq!((last.identifier, last.pair_count, last.continued, last.more), (3, 1, true, false));
    }

    #[test]
    fn malformed_bytes_are_rejected() {
        let sample = sample().bytes().to_vec();
        let mut offset = 0;
        while let Some((_, length)) = parse(&sample[offset..]) {
            for bytes in 1..length {
                assert_eq!(rejected(&sample[..offset + bytes]), Malformed { offset, bytes });
            }
            offset += length;
        }
        assert_eq!(offset, sample.len());
        assert_eq!(rejected(&[1, 2, 3]).to_string(), "not a completion: 3 bytes from byte 0 on");
        let with_status = |status| {
            let mut bytes = sample.clone();
            bytes[layout::OUTCOME_OFFSET] = status;
            bytes
        };
        assert_eq!(rejected(&with_status(Status::OutOfMemory as u8 + 1)).offset, 0);
        assert_eq!(rejected(&with_status(255)).offset, 0);
    }

    #[test]
    fn pairs_must_fill_their_completion() {
        let one = |change: fn(&mut Vec<u8>)| {
            let mut completions = Completions::default();
            let mut scan = completions.begin_scan(1, 2);
            push(&mut scan, b"key", b"value");
            push(&mut scan, b"four", b"");
            scan.finish(false, false);
            let mut bytes = completions.bytes().to_vec();
            change(&mut bytes);
            bytes
        };
        Completions::default().extend_from_bytes(&one(|_| {})).unwrap();
        rejected(&one(|bytes| bytes[layout::SIZE] += 1));
        rejected(&one(|bytes| bytes[layout::SIZE] -= 1));
        rejected(&one(|bytes| bytes[layout::SIZE + 3] = 0xff));
        rejected(&one(|bytes| bytes[layout::SIZE + 4] += 1));
        rejected(&one(|bytes| bytes[layout::BYTES_OFFSET] -= 1));
        rejected(&one(|bytes| bytes[layout::OUTCOME_OFFSET + 1] += 1 << 2));
        rejected(&one(|bytes| bytes[layout::OUTCOME_OFFSET + 1] -= 1 << 2));
    }

    /// At most one of many gets of a long value succeeds, and only its value occupies memory.
    #[test]
    fn memory_stays_within_the_room() {
        const LONG: usize = (16 << 20) - 9;
        const ROOM: usize = 1 << 20;
        let long = vec![7; LONG];
        for (value_bytes_max, answered) in [(usize::MAX, 1), (LONG, 1), (LONG - 1, 0)] {
            let mut completions = Completions::with_limits(ROOM, value_bytes_max);
            (0..300).for_each(|identifier| completions.push_get(identifier, 1, Some((&long, 1))));
            let found = completions.iter().filter(|completion| completion.status == Status::Found);
            assert_eq!((found.count(), completions.iter().count()), (answered, 300));
            let most = ROOM + answered * LONG + 300 * layout::SIZE;
            assert!(completions.memory_bytes() <= most + most / 8, "{}", completions.memory_bytes());
            completions.clear();
            assert!(completions.memory_bytes() <= 2 * ROOM);
        }
    }

    /// A value that does not fit is rejected; a later value can still fit.
    #[test]
    fn values_fill_the_room_and_do_not_exceed_it() {
        let mut completions = Completions::with_limits(1000, 5000);
        let mut found = |length: usize| {
            let before = completions.bytes().len();
            completions.push_get(7, 1, Some((&vec![1; length], 1)));
            completions.at(before).unwrap().status == Status::Found
        };
        assert!(!found(5001), "the value is longer than allowed");
        assert!(found(500));
        assert!(!found(1000 - 536 - 31), "the completion would exceed the room");
        assert!(found(1000 - 536 - 32), "the completion fills the room");
        assert!(!found(0));
        completions.push_rejection(8, Status::UnknownTable);
        assert_eq!(completions.iter().last().unwrap().status, Status::UnknownTable);
        completions.clear();
        completions.push_rejection(8, Status::UnknownTable);
        completions.push_get(9, 1, Some((&[1; 5000], 1)));
        assert_eq!(completions.iter().last().unwrap().status, Status::Found, "the first value is accepted");
        completions.free_memory();
        assert!(completions.is_empty() && completions.memory_bytes() == 0);
    }

    #[test]
    fn arbitrary_bytes_are_decoded_or_rejected() {
        let (mut rng, sample) = (StdRng::seed_from_u64(seed()), sample().bytes().to_vec());
        for _ in 0..200_000 {
            let mut bytes = sample.clone();
            for _ in 0..rng.random_range(0..4) {
                let at = rng.random_range(0..bytes.len());
                bytes[at] = if rng.random() { rng.random() } else { bytes[at] ^ 1 << rng.random_range(0..8) };
            }
            bytes.truncate(rng.random_range(0..=bytes.len()));
            let mut completions = Completions::default();
            if completions.extend_from_bytes(&bytes).is_ok() {
                let lengths = completions.iter().map(|completion| described(&completion).len());
                assert_eq!(lengths.sum::<usize>() > 0, !bytes.is_empty());
                assert_eq!(completions.bytes(), bytes);
            } else {
                assert!(completions.is_empty());
            }
        }
    }
}
