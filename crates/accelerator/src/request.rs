//! Requests: their encoding as bytes, and their decoding.
//!
//! ```text
//! | request, 32 bytes | lower key | upper key | zeros up to a multiple of 8 |
//! ```
//! The lengths of its keys determine where the next request begins, even if a request is otherwise invalid. A
//! [function over a range](crate::range_function) has its terms between its keys, and an
//! [operation on an unordered table](crate::unordered_request) has values instead of the upper key.

use std::ops::Bound;

use honeycomb_btree::{Scan, Version};
use honeycomb_hashtable as hashtable;
use honeycomb_layout::{
    KEY_BYTES_MAX, KEY_BYTES_MIN, OPCODE_GET, OPCODE_SCAN, REQUEST_VALUE_BYTES_MAX, request as layout,
    request_flags as flags,
};

use crate::buffer::{ALIGNMENT, Buffer, header_bytes};
use crate::range_function::{FUNCTION_BYTES_MAX, RangeFunction, decode, is_function, split};
use crate::status::Status;
use crate::unordered_request::{Parts, is_unordered};

/// A read, or an operation on an unordered table, that an accelerator executes.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Chosen by the reader. Every completion of the request contains it.
    pub identifier: u64,
    /// The number of the table.
    pub table: u16,
    /// The version to read, which must be pinned; `None` for the newest visible version, and for unordered
    /// tables, which have no versions.
    pub version: Option<Version>,
    /// The operation.
    pub read: Read<'a>,
}

/// The operation of a request.
#[derive(Debug, Clone, Copy)]
pub enum Read<'a> {
    /// The value of a key.
    Get(&'a [u8]),
    /// The pairs of a range. An empty bound means unbounded, as in the encoding.
    Scan {
        /// The range, and a limit of at most `u32::MAX` pairs.
        scan: Scan<'a>,
        /// The scan ends after the pair with which keys and values reach this number of bytes.
        bytes_max: u32,
    },
    /// A function over a range.
    Function(RangeFunction<'a>),
    /// An operation on a key of an unordered table, which may write. Each of its values has at most 32,767
    /// bytes.
    Unordered(hashtable::Request<'a>),
}

/// A key or a value exceeds the maximum length in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooLong {
    /// A key is too long.
    #[error("a key of {bytes} bytes: at most {KEY_BYTES_MAX} are allowed")]
    Key {
        /// The length of the key.
        bytes: usize,
    },
    /// A value, or the operands of a function, are too long.
    #[error("a value of {bytes} bytes: at most {REQUEST_VALUE_BYTES_MAX} are allowed in a request")]
    Value {
        /// The length of the value.
        bytes: usize,
    },
}

/// A sequence of encoded requests to submit. A reader reuses its memory.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    buffer: Buffer,
}

/// An invalid request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejected {
    /// The identifier of the request.
    pub identifier: u64,
    /// The cause of the rejection.
    pub status: Status,
}

const WORDS: usize = layout::SIZE / 8;
/// Bytes of the longest request that a header can describe, valid or not.
pub(crate) const FRAME_BYTES_MAX: usize = (layout::SIZE + 2 * 0xffff_usize).next_multiple_of(ALIGNMENT);
/// Bytes of the longest valid read.
pub(crate) const REQUEST_BYTES_MAX: usize =
    (layout::SIZE + 2 * KEY_BYTES_MAX + FUNCTION_BYTES_MAX).next_multiple_of(ALIGNMENT);
/// Offset of the fourth word of a request.
const FOURTH: usize = 8 * (WORDS - 1);

const _: () = {
    assert!(layout::IDENTIFIER_OFFSET == 0 && layout::READ_VERSION_OFFSET == 8);
    assert!(layout::PAIRS_MAX_OFFSET == 16 && layout::BYTES_MAX_OFFSET == 20);
    assert!(layout::TABLE_NUMBER_OFFSET == FOURTH && layout::FLAGS_OFFSET == layout::SIZE - 1);
};

const fn shift(offset: usize) -> usize {
    8 * (offset - FOURTH)
}

impl Requests {
    /// Removes all requests.
    pub fn clear(&mut self) {
        self.buffer.clear();
    }

    /// The requests as bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// Appends a request.
    ///
    /// # Errors
    /// [`TooLong`].
    // Always inline: less than half of the code remains where the request is known to be a get.
    #[inline(always)]
    pub fn push(&mut self, request: &Request<'_>) -> Result<(), TooLong> {
        let fields = match &request.read {
            Read::Get(key) => Fields { lower: key, opcode: OPCODE_GET, ..Fields::default() },
            Read::Scan { scan, bytes_max } => Fields::of_scan(scan, *bytes_max),
            Read::Function(function) => {
                return self.push_fields(request, &Fields::of_function(function), &function.encoded_terms());
            }
            Read::Unordered(operation) => return self.push_unordered(request, operation),
        };
        self.push_fields(request, &fields, &[])
    }

    /// Appends a request with these fields, and with terms between its keys.
    #[inline(always)]
    fn push_fields(
        &mut self,
        request: &Request<'_>,
        fields: &Fields<'_>,
        terms: &[u8],
    ) -> Result<(), TooLong> {
        check_key(fields.lower)?;
        check_key(fields.upper)?;
        self.push_parts(request, fields, terms);
        Ok(())
    }

    /// Appends an operation on an unordered table.
    fn push_unordered(
        &mut self,
        request: &Request<'_>,
        hashtable::Request { key, operation }: &hashtable::Request<'_>,
    ) -> Result<(), TooLong> {
        let parts = Parts::of(operation);
        let Parts { opcode, function, expected, value } = parts;
        check_key(key)?;
        if let Some(bytes) = parts.too_long() {
            return Err(TooLong::Value { bytes });
        }
        let limits = (function, expected.len() as u32);
        self.push_parts(request, &Fields { lower: key, upper: value, limits, opcode, flags: 0 }, expected);
        Ok(())
    }

    /// Appends a request with these fields, and with bytes between `lower` and `upper`.
    #[inline(always)]
    fn push_parts(&mut self, request: &Request<'_>, fields: &Fields<'_>, between: &[u8]) {
        let Fields { lower, upper, limits: (pairs_max, bytes_max), opcode, flags } = *fields;
        let fourth = u64::from(request.table)
            | (lower.len() as u64) << shift(layout::LOWER_LENGTH_OFFSET)
            | ((between.len() + upper.len()) as u64) << shift(layout::UPPER_LENGTH_OFFSET)
            | (opcode as u64) << shift(layout::OPCODE_OFFSET)
            | flags << shift(layout::FLAGS_OFFSET);
        let limits = u64::from(pairs_max) | u64::from(bytes_max) << 32;
        let header = header_bytes([request.identifier, request.version.unwrap_or(0), limits, fourth]);
        self.buffer.push_padded(&header, &[lower, between, upper]);
    }
}

#[inline(always)]
fn check_key(key: &[u8]) -> Result<(), TooLong> {
    if key.len() <= KEY_BYTES_MAX { Ok(()) } else { Err(TooLong::Key { bytes: key.len() }) }
}

/// The fields of a request that depend on its operation.
#[derive(Default)]
struct Fields<'a> {
    /// The key, or the lower bound.
    lower: &'a [u8],
    /// The upper bound, or the value.
    upper: &'a [u8],
    /// Of pairs and bytes; for an unordered table the function and the length of the expected value.
    limits: (u32, u32),
    opcode: usize,
    flags: u64,
}

impl<'a> Fields<'a> {
    #[inline]
    fn of_scan(scan: &Scan<'a>, bytes_max: u32) -> Self {
        let fields = Self::of_range(scan.lower, scan.upper);
        let word = flags::with_floor_start(fields.flags, u64::from(scan.floor_start));
        let word = flags::with_backward(word, u64::from(scan.backward));
        let flags = flags::with_keys_only(word, u64::from(scan.keys_only));
        let limits = (u32::try_from(scan.limit).unwrap_or(u32::MAX), bytes_max);
        Self { limits, opcode: OPCODE_SCAN, flags, ..fields }
    }

    fn of_function(function: &RangeFunction<'a>) -> Self {
        let fields = Self::of_range(function.lower, function.upper);
        Self { limits: function.limits(), opcode: function.opcode(), ..fields }
    }

    #[inline]
    fn of_range(lower: Bound<&'a [u8]>, upper: Bound<&'a [u8]>) -> Self {
        let bytes = |bound: Bound<&'a [u8]>| match bound {
            Bound::Included(key) => (key, 0),
            Bound::Excluded(key) => (key, u64::from(!key.is_empty())),
            Bound::Unbounded => (&[][..], 0),
        };
        let ((lower, lower_excluded), (upper, upper_excluded)) = (bytes(lower), bytes(upper));
        let word = flags::with_lower_excluded(0, lower_excluded);
        Self { lower, upper, flags: flags::with_upper_excluded(word, upper_excluded), ..Self::default() }
    }
}

/// The four words of a request, and its keys.
struct Frame<'a> {
    words: [u64; WORDS],
    keys: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Decodes the frame at the start of `bytes`. Returns it with its length; `None` if it is truncated.
    #[inline]
    fn read(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let (header, rest) = bytes.split_first_chunk::<{ layout::SIZE }>()?;
        let words = std::array::from_fn(|index| u64::from_le_bytes(header.as_chunks::<8>().0[index]));
        let mut frame = Self { words, keys: &[] };
        let keys_bytes = frame.lower_length() + frame.upper_length();
        frame.keys = rest.get(..keys_bytes)?;
        let bytes = (layout::SIZE + keys_bytes).next_multiple_of(ALIGNMENT);
        (bytes <= rest.len() + layout::SIZE).then_some((frame, bytes))
    }

    #[inline]
    fn field(&self, offset: usize, bytes: usize) -> u64 {
        self.words[WORDS - 1] >> shift(offset) & ((1 << (8 * bytes)) - 1)
    }

    #[inline]
    fn lower_length(&self) -> usize {
        self.field(layout::LOWER_LENGTH_OFFSET, layout::LOWER_LENGTH_BYTES) as usize
    }

    #[inline]
    fn upper_length(&self) -> usize {
        self.field(layout::UPPER_LENGTH_OFFSET, layout::UPPER_LENGTH_BYTES) as usize
    }

    #[inline]
    fn parse(&self) -> Result<Request<'a>, Status> {
        let [identifier, version, limits, _] = self.words;
        let flags = self.field(layout::FLAGS_OFFSET, layout::FLAGS_BYTES);
        let read = match self.field(layout::OPCODE_OFFSET, layout::OPCODE_BYTES) as usize {
            opcode if is_function(opcode) => Read::Function(self.function(opcode, limits, flags)?),
            opcode if is_unordered(opcode) => Read::Unordered(self.unordered(opcode, flags)?),
            _ if self.lower_length() > KEY_BYTES_MAX || self.upper_length() > KEY_BYTES_MAX => {
                return Err(Status::KeyLength);
            }
            OPCODE_GET if self.lower_length() < KEY_BYTES_MIN => return Err(Status::KeyLength),
            OPCODE_GET if limits == 0 && flags == 0 && self.upper_length() == 0 => Read::Get(self.keys),
            OPCODE_SCAN => Read::Scan { scan: self.scan(limits, flags)?, bytes_max: (limits >> 32) as u32 },
            OPCODE_GET => return Err(Status::Malformed),
            _ => return Err(Status::UnknownOpcode),
        };
        let table = self.field(layout::TABLE_NUMBER_OFFSET, layout::TABLE_NUMBER_BYTES) as u16;
        Ok(Request { identifier, table, version: (version != 0).then_some(version), read })
    }

    fn scan(&self, limits: u64, word: u64) -> Result<Scan<'a>, Status> {
        let (lower, upper) = self.keys.split_at(self.lower_length());
        let lower = bound(lower, flags::lower_excluded(word))?;
        let upper = bound(upper, flags::upper_excluded(word))?;
        let scan = Scan {
            lower,
            upper,
            floor_start: flags::floor_start(word) != 0,
            backward: flags::backward(word) != 0,
            keys_only: flags::keys_only(word) != 0,
            limit: limits as u32 as usize,
        };
        let is_valid = flags::padding(word) == 0 && !(scan.floor_start && scan.backward);
        if is_valid { Ok(scan) } else { Err(Status::Malformed) }
    }

    fn function(&self, opcode: usize, limits: u64, word: u64) -> Result<RangeFunction<'a>, Status> {
        let (lower, rest) = self.keys.split_at(self.lower_length());
        let (terms, upper) = split(rest).ok_or(Status::Malformed)?;
        if lower.len() > KEY_BYTES_MAX || upper.len() > KEY_BYTES_MAX {
            return Err(Status::KeyLength);
        }
        let (lower_excluded, upper_excluded) = (flags::lower_excluded(word), flags::upper_excluded(word));
        let (lower, upper) = (bound(lower, lower_excluded)?, bound(upper, upper_excluded)?);
        let allowed = flags::with_upper_excluded(flags::with_lower_excluded(0, 1), 1);
        let limits = (limits as u32, (limits >> 32) as u32);
        let decoded = decode(opcode, limits, terms).filter(|_| word & !allowed == 0);
        let (form, conditions) = decoded.ok_or(Status::Malformed)?;
        Ok(RangeFunction { form, lower, upper, conditions })
    }

    fn unordered(&self, opcode: usize, flags: u64) -> Result<hashtable::Request<'a>, Status> {
        let [_, version, third, _] = self.words;
        let (key, values) = self.keys.split_at(self.lower_length());
        if !(KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&key.len()) {
            return Err(Status::KeyLength);
        }
        let split = values.split_at_checked((third >> 32) as usize);
        let (expected, value) = split.filter(|_| version == 0 && flags == 0).ok_or(Status::Malformed)?;
        let parts = Parts { opcode, function: third as u32, expected, value };
        if parts.too_long().is_some() {
            return Err(Status::ValueLength);
        }
        let operation = parts.operation().ok_or(Status::Malformed)?;
        Ok(hashtable::Request { key, operation })
    }
}

fn bound(key: &[u8], excluded: u64) -> Result<Bound<&[u8]>, Status> {
    match (key.is_empty(), excluded != 0) {
        (true, true) => Err(Status::Malformed),
        (true, false) => Ok(Bound::Unbounded),
        (false, true) => Ok(Bound::Excluded(key)),
        (false, false) => Ok(Bound::Included(key)),
    }
}

/// Decodes the request at the start of `bytes`. Returns it with its length; a truncated request has the
/// length of `bytes`.
#[inline]
pub fn parse(bytes: &[u8]) -> (Result<Request<'_>, Rejected>, usize) {
    let Some((frame, length)) = Frame::read(bytes) else {
        let identifier = bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
        return (Err(Rejected { identifier, status: Status::Malformed }), bytes.len());
    };
    let reject = |status| Rejected { identifier: frame.words[0], status };
    (frame.parse().map_err(reject), length)
}

/// A get that reads the same version as the requests around it. Most requests are such gets, so they have a
/// faster decoder.
pub(crate) struct PlainGet<'a> {
    pub(crate) identifier: u64,
    pub(crate) table: u16,
    pub(crate) key: &'a [u8],
}

/// The fourth word of a valid get, without the table and the length of the key.
const OF_GET: u64 = (OPCODE_GET as u64) << shift(layout::OPCODE_OFFSET);
const OF_GET_MASK: u64 = !(field_mask(layout::TABLE_NUMBER_OFFSET, layout::TABLE_NUMBER_BYTES)
    | field_mask(layout::LOWER_LENGTH_OFFSET, layout::LOWER_LENGTH_BYTES));

const fn field_mask(offset: usize, bytes: usize) -> u64 {
    ((1 << (8 * bytes)) - 1) << shift(offset)
}

/// Decodes the get of a version at the start of `bytes`. Returns it with its length; `None` if there is
/// another request, or an invalid one.
#[inline]
pub(crate) fn parse_get(bytes: &[u8], version: Option<Version>) -> Option<(PlainGet<'_>, usize)> {
    let (frame, length) = Frame::read(bytes)?;
    let [identifier, of_version, limits, fourth] = frame.words;
    let is_get = fourth & OF_GET_MASK == OF_GET && limits == 0 && of_version == version.unwrap_or(0);
    let table = frame.field(layout::TABLE_NUMBER_OFFSET, layout::TABLE_NUMBER_BYTES) as u16;
    let is_valid = (KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&frame.lower_length());
    (is_get && is_valid).then_some((PlainGet { identifier, table, key: frame.keys }, length))
}

/// Returns the version that the request at the start of `bytes` names. If there is no request, the result has
/// no meaning.
#[inline]
pub(crate) fn version_of(bytes: &[u8]) -> Option<Version> {
    let version =
        bytes.get(layout::READ_VERSION_OFFSET..)?.first_chunk().map(|word| u64::from_le_bytes(*word))?;
    (version != 0).then_some(version)
}

/// The leading requests that fit into a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Front {
    /// Their length in bytes.
    pub(crate) bytes: usize,
    /// Whether the last one is truncated. It counts as a whole request.
    pub(crate) is_truncated: bool,
}

impl Front {
    /// Finds the whole requests within the first `room` bytes.
    pub(crate) fn of(requests: &[u8], room: usize) -> Self {
        let mut front = Self { bytes: 0, is_truncated: false };
        while front.bytes < requests.len() {
            let rest = &requests[front.bytes..];
            let frame = Frame::read(rest);
            let length = frame.as_ref().map_or(rest.len(), |(_, length)| *length);
            if front.bytes + length > room {
                break;
            }
            front = Self { bytes: front.bytes + length, is_truncated: frame.is_none() };
        }
        front
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use honeycomb_layout::{OPCODE_COUNT, OPCODE_UNORDERED_FILTER};

    use super::*;
    use crate::range_function::{Conditions, RangeForm, RangeTerm};
    use honeycomb_testing::seed;

    const GET: Request<'_> = Request { identifier: 1, table: 2, version: None, read: Read::Get(b"key") };

    fn bytes_of(request: &Request<'_>) -> Vec<u8> {
        let mut requests = Requests::default();
        requests.push(request).unwrap();
        requests.bytes().to_vec()
    }

    fn reparsed(request: &Request<'_>) -> String {
        let bytes = bytes_of(request);
        let (parsed, length) = parse(&bytes);
        assert_eq!(length, bytes.len());
        format!("{:?}", parsed.unwrap())
    }

    fn scan(scan: Scan<'_>) -> Request<'_> {
        Request { read: Read::Scan { scan, bytes_max: 9 }, ..GET }
    }

    /// A reduction with a condition, up to a key.
    fn reduction(upper: &[u8]) -> Request<'_> {
        const CONDITION: &[u8] = &[5, 0, 0, 0, 9, 0, 0, 0, 1, 0, 7];
        let form = RangeForm::Reduce(RangeTerm::new(1, 2, &[3, 4]).unwrap());
        let conditions = Conditions::new(CONDITION).unwrap();
        let (lower, upper) = (Bound::Included(&b"low"[..]), Bound::Excluded(upper));
        Request { read: Read::Function(RangeFunction { form, lower, upper, conditions }), ..GET }
    }

    fn status_of(bytes: &[u8]) -> Option<Status> {
        parse(bytes).0.err().map(|rejected| rejected.status)
    }

    #[test]
    fn requests_follow_the_layout() {
        let scan = Scan {
            lower: Bound::Excluded(b"lower"),
            upper: Bound::Included(b"up"),
            floor_start: true,
            backward: false,
            keys_only: true,
            limit: 0x1514_1312,
        };
        let read = Read::Scan { scan, bytes_max: 0x1918_1716 };
        let bytes = bytes_of(&Request { identifier: 0x0807, table: 0x2524, version: Some(0x0a09), read });
        let words = [0x0807, 0x0a09, 0x1918_1716_1514_1312, 0x1502_0002_0005_2524_u64];
        assert_eq!(bytes[..32], words.map(u64::to_le_bytes).concat());
        assert_eq!(&bytes[32..], b"lowerup\0");
    }

    #[test]
    fn functions_follow_the_layout() {
        let bytes = bytes_of(&reduction(b"up"));
        let words = [1, 0, 0, 2 | 3 << 16 | (2 + 12 + 11 + 2) << 32 | 4 << 48 | 2 << 56_u64];
        assert_eq!(bytes[..32], words.map(u64::to_le_bytes).concat());
        assert_eq!(bytes[32..37], *b"low\x17\0");
        assert_eq!(bytes[37..49], [1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 3, 4]);
        assert_eq!(&bytes[60..], b"up\0\0");
    }

    /// Changes each part of a function, and checks the status.
    #[test]
    fn invalid_functions_are_rejected() {
        let changed = |at: usize, byte: u8| {
            let mut bytes = bytes_of(&reduction(b"up"));
            bytes[at] = byte;
            status_of(&bytes)
        };
        assert_eq!(changed(layout::FLAGS_OFFSET, 3), None);
        for flags in [4, 8, 16, 32, 64, 128] {
            assert_eq!(changed(layout::FLAGS_OFFSET, flags), Some(Status::Malformed), "flags {flags}");
        }
        assert_eq!(changed(layout::PAIRS_MAX_OFFSET, 1), Some(Status::Malformed));
        assert_eq!(changed(layout::OPCODE_OFFSET, OPCODE_COUNT as u8), None, "both terms are conditions");
        assert_eq!(
            changed(layout::OPCODE_OFFSET, OPCODE_UNORDERED_FILTER as u8 + 1),
            Some(Status::UnknownOpcode)
        );
        assert_eq!(changed(layout::UPPER_LENGTH_OFFSET, 1), Some(Status::Malformed));
        assert_eq!(changed(35, 22), Some(Status::Malformed), "an incomplete term");
        assert_eq!(changed(35, 26), Some(Status::Malformed), "more terms than bytes");
        assert_eq!(changed(45, 25), Some(Status::Malformed), "too many operands");
        assert_eq!(
            changed(layout::UPPER_LENGTH_OFFSET, 25),
            Some(Status::Malformed),
            "an excluded empty key"
        );
        let long = [7; KEY_BYTES_MAX + 1];
        let mut bytes = bytes_of(&reduction(&long[1..]));
        assert_eq!(bytes.len(), 32 + 3 + 25 + KEY_BYTES_MAX);
        bytes[layout::UPPER_LENGTH_OFFSET] += 1;
        bytes.extend([0; 8]);
        assert_eq!(status_of(&bytes), Some(Status::KeyLength));
    }

    #[test]
    fn every_field_is_decoded() {
        let mut rng = StdRng::seed_from_u64(seed());
        let keys: Vec<Vec<u8>> = [1, 7, 8, 9, 459, 460].map(|length| vec![length as u8; length]).into();
        for _ in 0..20_000 {
            let mut bound = || match (rng.random_range(0..3), &keys[rng.random_range(0..keys.len())]) {
                (0, _) => Bound::Unbounded,
                (1, key) => Bound::Included(&key[..]),
                (_, key) => Bound::Excluded(&key[..]),
            };
            let (lower, upper) = (bound(), bound());
            let (floor_start, backward) =
                [(false, false), (true, false), (false, true)][rng.random_range(0..3)];
            let limit = rng.random::<u32>() as usize;
            let scan = Scan { lower, upper, floor_start, backward, keys_only: rng.random(), limit };
            let operands: [u8; 24] = rng.random();
            let term =
                RangeTerm::new(rng.random(), rng.random(), &operands[rng.random_range(0..=24)..]).unwrap();
            let element = RangeTerm::new(rng.random(), rng.random(), &[]).unwrap();
            let mut terms = Vec::new();
            (0..rng.random_range(0..=Conditions::MAX)).for_each(|_| term.encode(&mut terms));
            let conditions = Conditions::new(&terms).unwrap();
            let forms = [
                RangeForm::Count,
                RangeForm::Reduce(term),
                RangeForm::Filter { pairs_max: rng.random(), bytes_max: rng.random() },
                RangeForm::Rank { element, pairs_max: rng.random(), bytes_max: rng.random() },
            ];
            let form = forms[rng.random_range(0..forms.len())];
            let read = match rng.random_range(0..3) {
                0 => Read::Get(&keys[rng.random_range(0..keys.len())]),
                1 => Read::Function(RangeFunction { form, lower, upper, conditions }),
                _ => Read::Scan { scan, bytes_max: rng.random() },
            };
            let version = rng.random_bool(0.5).then(|| rng.random_range(1..=u64::MAX));
            let request = Request { identifier: rng.random(), table: rng.random(), version, read };
            assert_eq!(reparsed(&request), format!("{request:?}"));
        }
    }

    #[test]
    fn limits_and_bounds_without_encoding_become_the_nearest() {
        let of = |lower, limit| scan(Scan { lower, limit, ..Scan::default() });
        let unbounded = format!("{:?}", of(Bound::Unbounded, u32::MAX as usize));
        for (lower, limit) in [
            (Bound::Unbounded, usize::MAX),
            (Bound::Unbounded, 1 << 32),
            (Bound::Included(&[][..]), u32::MAX as usize),
            (Bound::Excluded(&[][..]), u32::MAX as usize),
        ] {
            assert_eq!(reparsed(&of(lower, limit)), unbounded);
        }
    }

    #[test]
    fn keys_at_below_and_above_their_limit() {
        let key = [7; 461];
        for length in [1, 459, 460] {
            assert_eq!(status_of(&bytes_of(&Request { read: Read::Get(&key[..length]), ..GET })), None);
        }
        let empty = Request { read: Read::Get(&[]), ..GET };
        assert_eq!(status_of(&bytes_of(&empty)), Some(Status::KeyLength));
        let bound = Bound::Included(&key[..]);
        let long = [
            Request { read: Read::Get(&key), ..GET },
            scan(Scan { lower: bound, ..Scan::default() }),
            scan(Scan { upper: bound, ..Scan::default() }),
            reduction(&key),
        ];
        for request in long {
            let mut requests = Requests::default();
            let error = requests.push(&request).unwrap_err();
            assert_eq!(error.to_string(), "a key of 461 bytes: at most 460 are allowed");
            assert!(requests.bytes().is_empty(), "an error appends nothing");
        }
    }

    #[test]
    fn arbitrary_bytes_are_decoded_or_rejected() {
        let mut rng = StdRng::seed_from_u64(seed());
        let scan = bytes_of(&scan(Scan { lower: Bound::Excluded(&[7; 30]), ..Scan::default() }));
        let function = bytes_of(&reduction(&[7; 30]));
        for at in 0..200_000 {
            let whole = if at % 2 == 0 { &scan } else { &function };
            let mut bytes = [whole.as_slice(), whole].concat();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..bytes.len());
                bytes[at] = if rng.random() { rng.random() } else { bytes[at] ^ 1 << rng.random_range(0..8) };
            }
            bytes.truncate(rng.random_range(1..=bytes.len()));
            let (parsed, length) = parse(&bytes);
            assert!((1..=bytes.len()).contains(&length), "{bytes:?}");
            let first = bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
            match parsed {
                // A valid request is encoded to the same bytes, except for the padding, which is ignored.
                Ok(request) => {
                    let again = bytes_of(&request);
                    assert_eq!((again.len(), &again[..32]), (length, &bytes[..32]), "{bytes:?}");
                }
                Err(rejected) => assert_eq!(rejected.identifier, first, "{bytes:?}"),
            }
        }
    }

    #[test]
    fn a_truncated_request_consumes_the_rest() {
        let bytes = bytes_of(&GET);
        for length in 1..bytes.len() {
            let identifier = if length < 8 { 0 } else { GET.identifier };
            let rejected = Rejected { identifier, status: Status::Malformed };
            let (parsed, consumed) = parse(&bytes[..length]);
            assert_eq!((parsed.unwrap_err(), consumed), (rejected, length));
        }
    }

    #[test]
    fn the_front_consists_of_whole_requests() {
        let two = [bytes_of(&GET), bytes_of(&GET)].concat();
        let front = |bytes: &[u8], room| {
            let Front { bytes, is_truncated } = Front::of(bytes, room);
            (bytes, is_truncated)
        };
        for (room, bytes) in [(0, 0), (39, 0), (40, 40), (79, 40), (80, 80), (1_000, 80)] {
            assert_eq!(front(&two, room), (bytes, false), "a room of {room}");
        }
        assert_eq!(front(&two[..79], 79), (79, true));
        assert_eq!(front(&two[..79], 78), (40, false), "the truncated request does not fit");
        assert_eq!(front(&[], 100), (0, false));
    }
}
