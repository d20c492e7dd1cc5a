//! RESP requests: the server's parser of received bytes, and the client's encoder.
//!
//! ```text
//! *2\r\n  $3\r\nGET\r\n  $5\r\napple\r\n        or a line:  GET apple\r\n
//! ```

use std::ops::{Index, Range};

use crate::resp::inline;
use crate::resp::number::format_decimal;

/// Limits on one request. The parser rejects a longer request before all of it has arrived. Only the length
/// of a line is limited: a line has at most as many words as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most arguments of an array, including the name of the command.
    pub arguments_max: usize,
    /// Most bytes of an argument of an array.
    pub argument_bytes_max: usize,
    /// Most bytes of a line.
    pub line_bytes_max: usize,
    /// Most bytes of an encoded array.
    pub request_bytes_max: usize,
}

impl Default for Limits {
    /// The limits of Redis: 1,048,576 arguments of at most 512 MiB each and 1 GiB in total; lines of 64 KiB.
    fn default() -> Self {
        Self {
            arguments_max: 1 << 20,
            argument_bytes_max: 512 << 20,
            line_bytes_max: 1 << 16,
            request_bytes_max: 1 << 30,
        }
    }
}

impl Limits {
    /// Returns whether they allow every short array: up to nine arguments of less than 100 bytes.
    #[inline]
    fn allow_short_arrays(&self) -> bool {
        self.arguments_max >= SHORT_ARGUMENTS_MAX
            && self.argument_bytes_max >= SHORT_BYTES_MAX
            && self.request_bytes_max >= SHORT_ARRAY_BYTES_MAX
    }
}

/// The bytes are not a valid request. The start of the next request is unknown, so the server must close the
/// connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The number of arguments is invalid or exceeds the limit.
    #[error("Protocol error: invalid multibulk length")]
    ArgumentCount,
    /// The length of an argument is invalid or exceeds the limit.
    #[error("Protocol error: invalid bulk length")]
    ArgumentLength,
    /// The length of an argument does not begin with a dollar sign.
    #[error("Protocol error: expected '$', got '{}'", (*.0 as char).escape_default())]
    NoDollar(u8),
    /// An argument is not followed by the end of a line.
    #[error("Protocol error: an argument does not end where its length says")]
    ArgumentEnd,
    /// The request is too long.
    #[error("Protocol error: a request has at most {0} bytes")]
    RequestLength(usize),
    /// A line is too long.
    #[error("Protocol error: too big inline request")]
    LineLength,
    /// A quote of a line is not closed.
    #[error("Protocol error: unbalanced quotes in request")]
    Quotes,
}

/// Bytes of memory that one call returns to the system, which takes about 100 microseconds.
const SHRUNK_AT_ONCE: usize = 1 << 20;

/// Bytes of a request that [`RequestBuffer::take_last`] copies in any case, to keep the memory of the buffer.
const COPIED_BYTES_MAX: usize = 4 << 10;

/// A buffer of received bytes, with the offsets of the arguments of the requests that were parsed. It can be
/// reused.
#[derive(Debug, Clone, Default)]
pub struct RequestBuffer {
    bytes: Vec<u8>,
    /// The start of the next request.
    start: usize,
    /// The ranges of the arguments of all parsed requests.
    ranges: Vec<Range<usize>>,
    /// The words of requests that are lines, without quotes and escapes. The arguments of arrays stay in
    /// `bytes`.
    words: Vec<u8>,
    /// The array at the start, if a part of it has arrived. Its arguments are the last ones.
    partial: Option<PartialArray>,
}

/// The state of an incomplete array. Parsing continues here, because a client that sends a long array in
/// small parts would otherwise cause a complete parse with each part.
#[derive(Debug, Clone, Copy)]
struct PartialArray {
    /// The index of its first argument.
    first: usize,
    /// The number of arguments that are still missing.
    left: usize,
    /// The start of the next of them.
    at: usize,
}

/// The position of a parsed request and of its arguments in a [`RequestBuffer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedRequest {
    start: usize,
    end: usize,
    first: usize,
    count: usize,
    source: Source,
}

/// The bytes that contain the arguments of a request.
// As long as the other fields: the compiler also copies the padding after a shorter one, byte by byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Source {
    /// The received bytes, for an array.
    Bytes,
    /// The words of lines.
    Words,
}

/// The arguments of a request, including the name of the command.
#[derive(Debug, Clone, Copy)]
pub struct Arguments<'a> {
    bytes: &'a [u8],
    ranges: &'a [Range<usize>],
}

impl RequestBuffer {
    /// Appends received bytes.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Parses the next request. Returns `None` if it is incomplete. Skips empty lines and empty arrays.
    ///
    /// # Errors
    /// [`Malformed`].
    // Inlining keeps a request, which is several words long, in registers.
    #[inline(always)]
    pub fn parse_next(&mut self, limits: &Limits) -> Result<Option<ParsedRequest>, Malformed> {
        match self.parse_short(limits) {
            Some(request) => Ok(Some(request)),
            None => self.parse_any(limits),
        }
    }

    /// Parses the next request if it has arrived and is a short array. Otherwise [`Self::parse_any`] parses
    /// it: of an array that begins like a short one the rest.
    #[inline(always)]
    fn parse_short(&mut self, limits: &Limits) -> Option<ParsedRequest> {
        if self.partial.is_some() || !limits.allow_short_arrays() {
            return None;
        }
        let (start, first) = (self.start, self.ranges.len());
        let (count, name) = short_beginning(&self.bytes, start)?;
        let (mut left, mut at) = (count - 1, name.end + 2);
        self.ranges.push(name);
        while left > 0 {
            let Some(range) = short_argument(&self.bytes, at) else {
                self.partial = Some(PartialArray { first, left, at });
                return None;
            };
            at = range.end + 2;
            left -= 1;
            self.ranges.push(range);
        }
        self.start = at;
        Some(ParsedRequest { start, end: at, first, count, source: Source::Bytes })
    }

    /// Parses the next request, of any kind and length.
    #[inline(never)]
    fn parse_any(&mut self, limits: &Limits) -> Result<Option<ParsedRequest>, Malformed> {
        while let Some(kind) = self.bytes.get(self.start) {
            let start = self.start;
            let first = self.partial.map_or(self.ranges.len(), |partial| partial.first);
            let is_line = *kind != b'*';
            let end = if is_line { self.parse_line(limits)? } else { self.parse_array(limits)? };
            let Some(end) = end else { return Ok(None) };
            self.start = end;
            let count = self.ranges.len() - first;
            if count > 0 {
                let source = if is_line { Source::Words } else { Source::Bytes };
                return Ok(Some(ParsedRequest { start, end, first, count, source }));
            }
        }
        Ok(None)
    }

    /// Returns the arguments of a parsed request.
    #[must_use]
    #[inline]
    pub fn arguments(&self, request: &ParsedRequest) -> Arguments<'_> {
        let ranges = &self.ranges[request.first..request.first + request.count];
        Arguments { bytes: self.source(request), ranges }
    }

    /// Returns the first argument of a parsed request, the name of the command.
    #[must_use]
    #[inline]
    pub fn name(&self, request: &ParsedRequest) -> &[u8] {
        &self.source(request)[self.ranges[request.first].clone()]
    }

    #[inline]
    fn source(&self, request: &ParsedRequest) -> &[u8] {
        match request.source {
            Source::Bytes => &self.bytes,
            Source::Words => &self.words,
        }
    }

    /// Makes [`RequestBuffer::parse_next`] return this request and those after it again. Has no effect if it
    /// would return this request again anyway.
    pub fn rewind(&mut self, request: &ParsedRequest) {
        if request.start < self.start {
            self.start = request.start;
            self.ranges.truncate(request.first);
            self.partial = None;
        }
    }

    /// Returns whether [`RequestBuffer::parse_next`] will return this request again.
    #[must_use]
    #[inline]
    pub fn is_rewound(&self, request: &ParsedRequest) -> bool {
        request.start >= self.start
    }

    /// Appends a copy of a request from another buffer.
    pub fn push_copy(&mut self, arguments: Arguments<'_>) -> ParsedRequest {
        let (start, first) = (self.bytes.len(), self.ranges.len());
        for argument in arguments.iter() {
            self.ranges.push(self.bytes.len()..self.bytes.len() + argument.len());
            self.bytes.extend_from_slice(argument);
        }
        let (end, count) = (self.bytes.len(), arguments.len());
        ParsedRequest { start, end, first, count, source: Source::Bytes }
    }

    /// Removes the request that was parsed last, and the earlier ones, and returns a buffer with it.
    /// Does not copy a request that is longer than the bytes after it.
    ///
    /// All earlier requests must have been executed.
    #[must_use]
    pub fn take_last(&mut self, request: &ParsedRequest) -> (Self, ParsedRequest) {
        let later = &self.bytes[request.end..];
        if request.bytes() <= later.len().max(COPIED_BYTES_MAX) {
            let mut taken = Self::default();
            let copy = taken.push_copy(self.arguments(request));
            return (taken, copy);
        }
        let rest = Self { bytes: later.to_vec(), ..Self::default() };
        (std::mem::replace(self, rest), *request)
    }

    /// Discards the parsed requests, up to the request that must be parsed again, if any.
    pub fn discard_parsed(&mut self, next: Option<ParsedRequest>) {
        let discarded = next.map_or(self.start, |next| next.start);
        self.bytes.drain(..discarded);
        self.start = 0;
        self.words.clear();
        self.partial = self.partial.filter(|_| next.is_none());
        match &mut self.partial {
            None => self.ranges.clear(),
            Some(partial) if discarded > 0 => {
                self.ranges.drain(..partial.first);
                self.ranges
                    .iter_mut()
                    .for_each(|range| *range = range.start - discarded..range.end - discarded);
                *partial = PartialArray { first: 0, at: partial.at - discarded, ..*partial };
            }
            // The buffer contains only the incomplete array.
            Some(_) => {}
        }
    }

    /// Returns the received bytes that were not discarded.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether there are no such bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the bytes of memory that the buffer occupies.
    #[must_use]
    pub fn capacity(&self) -> usize {
        let ranges = self.ranges.capacity() * size_of::<Range<usize>>();
        self.bytes.capacity() + self.words.capacity() + ranges
    }

    /// If the buffer is empty, frees memory until at most `kept` bytes remain. Returns whether another call
    /// would free more: freeing the memory of a long request in one call would take long.
    pub fn shrink(&mut self, kept: usize) -> bool {
        if !self.is_empty() || self.capacity() <= kept {
            return false;
        }
        let smaller = self.bytes.capacity().saturating_sub(SHRUNK_AT_ONCE);
        if smaller <= kept {
            *self = Self::default();
            return false;
        }
        self.bytes.shrink_to(smaller);
        true
    }

    /// Removes all requests, and frees memory as [`RequestBuffer::shrink`] does.
    pub fn discard(&mut self) -> bool {
        self.bytes.clear();
        (self.start, self.partial) = (0, None);
        self.shrink(0)
    }

    /// Appends the ranges of the words of the line at the start. Returns the end of the line.
    fn parse_line(&mut self, limits: &Limits) -> Result<Option<usize>, Malformed> {
        let rest = &self.bytes[self.start..];
        let length_max = limits.line_bytes_max.saturating_add(b"\r".len());
        let length = match rest.iter().take(length_max.saturating_add(1)).position(|&byte| byte == b'\n') {
            Some(length) => length,
            None if rest.len() > length_max => return Err(Malformed::LineLength),
            None => return Ok(None),
        };
        inline::split(&rest[..length], &mut self.words, &mut self.ranges).ok_or(Malformed::Quotes)?;
        Ok(Some(self.start + length + 1))
    }

    /// Appends the ranges of the arguments of the array at the start. Returns the end of the array.
    #[inline]
    fn parse_array(&mut self, limits: &Limits) -> Result<Option<usize>, Malformed> {
        let Some(PartialArray { first, mut left, mut at }) = self.partial_array(limits)? else {
            return Ok(None);
        };
        let end_max = self.start.saturating_add(limits.request_bytes_max);
        while left > 0 {
            let Some(range) = argument(&self.bytes, at, end_max, limits)? else {
                self.partial = Some(PartialArray { first, left, at });
                return Ok(None);
            };
            at = range.end + 2;
            left -= 1;
            self.ranges.push(range);
        }
        Ok(Some(at))
    }

    /// Returns the state of the array at the start, or `None` if its first line is incomplete.
    #[inline]
    fn partial_array(&mut self, limits: &Limits) -> Result<Option<PartialArray>, Malformed> {
        if let Some(partial) = self.partial.take() {
            return Ok(Some(partial));
        }
        let found = argument_count(&self.bytes, self.start + 1, limits)?;
        Ok(found.map(|(left, at)| PartialArray { first: self.ranges.len(), left, at }))
    }
}

impl ParsedRequest {
    /// Returns the bytes of the encoded request.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.end - self.start
    }
}

impl<'a> Arguments<'a> {
    /// Returns the number of arguments, including the name of the command.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns whether there are no arguments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the argument at `index`, or `None` if there are fewer.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        Some(&self.bytes[self.ranges.get(index)?.clone()])
    }

    /// Returns the arguments from `index` on.
    #[must_use]
    #[inline]
    pub fn from(&self, index: usize) -> Self {
        Self { ranges: &self.ranges[index.min(self.len())..], ..*self }
    }

    /// Returns the arguments of a range of indexes.
    #[must_use]
    #[inline]
    pub fn part(&self, part: Range<usize>) -> Self {
        Self { ranges: &self.ranges[part], ..*self }
    }

    /// Iterates over the arguments in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        let bytes = self.bytes;
        self.ranges.iter().map(move |range| &bytes[range.clone()])
    }
}

impl Index<usize> for Arguments<'_> {
    type Output = [u8];

    #[inline]
    fn index(&self, index: usize) -> &[u8] {
        &self.bytes[self.ranges[index].clone()]
    }
}

/// Most digits of a length.
const LENGTH_DIGITS_MAX: usize = 20;

/// Parses the line at `at`, which states the number of arguments. Returns the number and the start of the
/// arguments. A negative number counts as zero, as in Redis.
#[inline]
fn argument_count(bytes: &[u8], at: usize, limits: &Limits) -> Result<Option<(usize, usize)>, Malformed> {
    let found = match bytes.get(at) {
        Some(b'-') => length(bytes, at + 1, usize::MAX).map(|found| found.map(|(_, after)| (0, after))),
        _ => length(bytes, at, limits.arguments_max),
    };
    found.ok_or(Malformed::ArgumentCount)
}

/// Parses the argument whose length is at `at`. Returns its range, or `None` if it is incomplete.
#[inline]
fn argument(
    bytes: &[u8],
    at: usize,
    end_max: usize,
    limits: &Limits,
) -> Result<Option<Range<usize>>, Malformed> {
    if let Some(range) = short_argument(bytes, at)
        && range.len() <= limits.argument_bytes_max
        && range.end + 2 <= end_max
    {
        return Ok(Some(range));
    }
    match bytes.get(at) {
        None => return Ok(None),
        Some(b'$') => {}
        Some(&other) => return Err(Malformed::NoDollar(other)),
    }
    let found = length(bytes, at + 1, limits.argument_bytes_max).ok_or(Malformed::ArgumentLength)?;
    let Some((argument_bytes, begin)) = found else { return Ok(None) };
    // Without limits, the end may be beyond the address space.
    let end = begin.saturating_add(argument_bytes);
    let after = end.saturating_add(2);
    if after > end_max {
        return Err(Malformed::RequestLength(limits.request_bytes_max));
    }
    match bytes.get(end..after) {
        None => Ok(None),
        Some(b"\r\n") => Ok(Some(begin..end)),
        Some(_) => Err(Malformed::ArgumentEnd),
    }
}

/// Most arguments of a short array, and most bytes of each.
const SHORT_ARGUMENTS_MAX: usize = 9;
const SHORT_BYTES_MAX: usize = 99;
/// Bytes of the line with the length of an array or argument that has one digit.
const SHORT_LINE_BYTES: usize = 4;
/// Most bytes of a short array. Each argument has up to seven bytes beside its own.
const SHORT_ARRAY_BYTES_MAX: usize = SHORT_LINE_BYTES + SHORT_ARGUMENTS_MAX * (SHORT_BYTES_MAX + 7);

/// Returns the number of arguments, from one to nine, of the array at `at`, and the range of the first one:
/// the name of a command has less than ten bytes, so that a word contains both lengths.
#[inline(always)]
fn short_beginning(bytes: &[u8], at: usize) -> Option<(usize, Range<usize>)> {
    let rest = bytes.get(at..)?;
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    let (count, length) = ((word >> 8) as u8, (word >> 40) as u8);
    if word & 0xffff_00ff_ffff_00ff != word_of(b"*\0\r\n$\0\r\n") || !matches!(count, b'1'..=b'9') {
        return None;
    }
    let length = usize::from(length.wrapping_sub(b'0'));
    let (begin, end) = (2 * SHORT_LINE_BYTES, 2 * SHORT_LINE_BYTES + length);
    let is_valid = length <= 9 && rest.get(end..end + 2)? == b"\r\n";
    is_valid.then(|| (usize::from(count - b'0'), at + begin..at + end))
}

/// Returns the range of the valid argument of less than 100 bytes at `at`. Most arguments are so short, and a
/// word contains the line with their length.
#[inline(always)]
fn short_argument(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = bytes.get(at..)?;
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    let digit = |index: usize| ((word >> (8 * index)) as u8).wrapping_sub(b'0');
    let has_two_digits = word & 0xff_ff00_00ff == word_of(b"$\0\0\r\n");
    let (length, begin) = if has_two_digits && matches!(digit(1), 1..=9) && digit(2) <= 9 {
        (10 * usize::from(digit(1)) + usize::from(digit(2)), SHORT_LINE_BYTES + 1)
    } else if word & 0xffff_00ff == word_of(b"$\0\r\n") && digit(1) <= 9 {
        (usize::from(digit(1)), SHORT_LINE_BYTES)
    } else {
        return None;
    };
    let end = begin + length;
    (rest.get(end..end + 2)? == b"\r\n").then(|| at + begin..at + end)
}

/// Returns a little-endian word that begins with some bytes.
const fn word_of<const N: usize>(bytes: &[u8; N]) -> u64 {
    let mut word = 0;
    let mut index = N;
    while index > 0 {
        index -= 1;
        word = word << 8 | bytes[index] as u64;
    }
    word
}

/// Parses the line at `at`, which states a length. Returns the length and the end of the line, or
/// `Some(None)` if the line is incomplete. Returns `None` if the length is invalid, has leading zeros, or
/// exceeds `max`.
#[inline]
fn length(bytes: &[u8], at: usize, max: usize) -> Option<Option<(usize, usize)>> {
    let rest = bytes.get(at..)?;
    let (length, after) = match *rest {
        // Most lengths have one digit or two.
        [digit @ b'0'..=b'9', b'\r', b'\n', ..] => (usize::from(digit - b'0'), 3),
        [tens @ b'1'..=b'9', digit @ b'0'..=b'9', b'\r', b'\n', ..] => {
            (usize::from(tens - b'0') * 10 + usize::from(digit - b'0'), 4)
        }
        _ => match long_length(rest, max)? {
            Some(found) => found,
            None => return Some(None),
        },
    };
    (length <= max).then_some(Some((length, at + after)))
}

/// The general case of [`length`], with any number of digits, for a line at the front of `bytes`.
fn long_length(bytes: &[u8], max: usize) -> Option<Option<(usize, usize)>> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).take(LENGTH_DIGITS_MAX);
    let digits = &bytes[..digits.count()];
    let length = digits.iter().try_fold(0_usize, |length, digit| {
        length.checked_mul(10)?.checked_add(usize::from(digit - b'0')).filter(|length| *length <= max)
    })?;
    match (digits, &bytes[digits.len()..]) {
        ([b'0', _, ..], _) => None,
        (_, []) => Some(None),
        ([_, ..], [b'\r']) => Some(None),
        ([_, ..], [b'\r', b'\n', ..]) => Some(Some((length, digits.len() + 2))),
        ([_, ..], [b'\n', ..]) => Some(Some((length, digits.len() + 1))),
        _ => None,
    }
}

/// Appends the encoding of a request.
pub fn encode<A: AsRef<[u8]>>(arguments: &[A], out: &mut Vec<u8>) {
    let line = |kind: u8, number: usize, out: &mut Vec<u8>| {
        out.push(kind);
        out.extend_from_slice(&format_decimal(number as i64));
        out.extend_from_slice(b"\r\n");
    };
    line(b'*', arguments.len(), out);
    for argument in arguments {
        let argument = argument.as_ref();
        line(b'$', argument.len(), out);
        out.extend_from_slice(argument);
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMALL: Limits =
        Limits { arguments_max: 4, argument_bytes_max: 8, line_bytes_max: 10, request_bytes_max: 50 };

    /// The arguments and the bytes of a request.
    type Whole = (Vec<Vec<u8>>, usize);

    fn parsed(bytes: &[u8], limits: &Limits) -> Result<Option<Whole>, Malformed> {
        let mut requests = RequestBuffer::default();
        requests.receive(bytes);
        let found = requests.parse_next(limits)?;
        let arguments =
            |request: &ParsedRequest| requests.arguments(request).iter().map(<[u8]>::to_vec).collect();
        Ok(found.map(|found| (arguments(&found), found.bytes())))
    }

    fn rejected(bytes: &[u8]) -> String {
        parsed(bytes, &SMALL).unwrap_err().to_string()
    }

    proptest! {
        #[test]
        fn requests_round_trip(arguments in prop::collection::vec(any::<Vec<u8>>(), 1..9)) {
            let (mut bytes, limits) = (Vec::new(), Limits::default());
            encode(&arguments, &mut bytes);
            let length = bytes.len();
            bytes.extend_from_slice(b"*1\r\n");
            prop_assert_eq!(parsed(&bytes, &limits), Ok(Some((arguments, length))));
            for cut in 0..length {
                prop_assert_eq!(parsed(&bytes[..cut], &limits), Ok(None));
            }
        }

        #[test]
        fn arbitrary_bytes_are_a_request_or_rejected(bytes in "([*$][0-9-]{0,3}|\r\n|[a-z\"' ]|\\PC){0,40}") {
            if let Ok(Some((arguments, length))) = parsed(bytes.as_bytes(), &SMALL) {
                prop_assert!(length <= bytes.len());
                prop_assert!(arguments.iter().map(Vec::len).sum::<usize>() <= length);
            }
        }
    }

    #[test]
    fn lengths_at_below_and_above_their_limit() {
        assert!(parsed(b"*4\r\n", &SMALL).unwrap().is_none());
        assert_eq!(rejected(b"*5\r\n"), "Protocol error: invalid multibulk length");
        assert_eq!(rejected(b"*x\r\n"), "Protocol error: invalid multibulk length");
        assert_eq!(rejected(b"*01\r\n"), "Protocol error: invalid multibulk length");
        let of = |bytes: &str| format!("*1\r\n${}\r\n{bytes}\r\n", bytes.len()).into_bytes();
        assert!(parsed(&of("12345678"), &SMALL).unwrap().is_some());
        assert_eq!(rejected(&of("123456789")), "Protocol error: invalid bulk length");
        assert_eq!(rejected(b"*1\r\n$-1\r\n"), "Protocol error: invalid bulk length");
        assert!(parsed(b"123456789 \r\n", &SMALL).unwrap().is_some());
        assert_eq!(rejected(b"123456789 1\r\n"), "Protocol error: too big inline request");
    }

    #[test]
    fn requests_at_and_above_their_limit() {
        let longest = b"*4\r\n$8\r\n12345678\r\n$8\r\n12345678\r\n$8\r\n12345678\r\n$0\r\n\r\n";
        let limits = Limits { request_bytes_max: longest.len(), ..SMALL };
        assert_eq!(parsed(longest, &limits).unwrap().unwrap().1, longest.len());
        let limits = Limits { request_bytes_max: longest.len() - 1, ..SMALL };
        // The parser rejects it as soon as its lengths have arrived.
        let arrived = &longest[..longest.len() - 2];
        assert_eq!(parsed(arrived, &limits), Err(Malformed::RequestLength(longest.len() - 1)));
    }

    #[test]
    fn invalid_requests_are_rejected() {
        assert_eq!(rejected(b"*1\r\n:1\r\n"), "Protocol error: expected '$', got ':'");
        assert_eq!(
            rejected(b"*1\r\n$1\r\nabc"),
            "Protocol error: an argument does not end where its length says"
        );
        assert_eq!(rejected(b"GET \"a\r\n"), "Protocol error: unbalanced quotes in request");
        assert_eq!(rejected(&[b'*'; 40]), "Protocol error: invalid multibulk length");
    }

    /// Returns all arguments of all requests in bytes that arrive in parts.
    fn in_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Vec<Vec<u8>>>, RequestBuffer) {
        let (mut requests, mut all) = (RequestBuffer::default(), Vec::new());
        for part in parts {
            requests.receive(part);
            while let Some(found) = requests.parse_next(&Limits::default()).unwrap() {
                all.push(requests.arguments(&found).iter().map(<[u8]>::to_vec).collect());
            }
            requests.discard_parsed(None);
        }
        (all, requests)
    }

    proptest! {
        #[test]
        fn requests_arrive_in_parts_of_any_length(
            all in prop::collection::vec(prop::collection::vec(any::<Vec<u8>>(), 1..5), 1..5),
            part in 1_usize..20,
        ) {
            let mut bytes = b"\r\n".to_vec();
            all.iter().for_each(|arguments| encode(arguments, &mut bytes));
            let (found, requests) = in_parts(bytes.chunks(part));
            prop_assert_eq!(found, all);
            prop_assert!(requests.is_empty());
        }
    }

    proptest! {
        /// The bytes are a request, cut and with a wrong byte. The rest arrives later.
        #[test]
        fn short_arrays_are_parsed_as_any_requests(
            arguments in prop::collection::vec("[a-z]{0,12}|[a-z]{90,110}", 1..11),
            (cut, at, byte) in (any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[*$0-9\r\na]"),
        ) {
            let mut bytes = Vec::new();
            encode(&arguments, &mut bytes);
            let (cut, at) = (cut.index(bytes.len()), at.index(2 * bytes.len()));
            bytes.get_mut(at).into_iter().for_each(|wrong| *wrong = byte.as_bytes()[0]);
            let (mut requests, mut alike) = (RequestBuffer::default(), RequestBuffer::default());
            for part in [&bytes[..cut], &bytes[cut..], b"*1\r\n$1\r\na\r\n"] {
                requests.receive(part);
                alike.receive(part);
                let found = requests.parse_next(&Limits::default());
                prop_assert_eq!(&found, &alike.parse_any(&Limits::default()));
                prop_assert_eq!((requests.start, &requests.ranges), (alike.start, &alike.ranges));
                if found.is_err() {
                    break;
                }
            }
        }
    }

    #[test]
    fn an_array_in_small_parts_is_parsed_once() {
        let arguments = vec![b"a"; 1 << 16];
        let mut bytes = Vec::new();
        encode(&arguments, &mut bytes);
        // Parsing from the start with each part would parse 16 billion arguments.
        let (found, _) = in_parts(bytes.chunks(1));
        assert_eq!(found, [arguments]);
    }

    #[test]
    fn a_partial_array_is_parsed_after_a_repeated_request() {
        let mut requests = RequestBuffer::default();
        requests.receive(b"*1\r\n$1\r\na\r\n*2\r\n$1\r\nb\r\n$1\r\n");
        let first = requests.parse_next(&SMALL).unwrap().unwrap();
        assert_eq!(requests.parse_next(&SMALL), Ok(None));
        requests.discard_parsed(Some(first));
        requests.receive(b"c\r\n");
        for expected in [vec![&b"a"[..]], vec![b"b", b"c"]] {
            let found = requests.parse_next(&SMALL).unwrap().unwrap();
            assert!(requests.arguments(&found).iter().eq(expected));
        }
    }

    #[test]
    fn the_last_request_is_taken_and_later_bytes_stay() {
        let long = "v".repeat(COPIED_BYTES_MAX);
        for (value, later) in [("v", ""), (&long, ""), (&long, "PING\r\nQU"), ("v", "PING\r\nQU")] {
            let mut requests = RequestBuffer::default();
            requests.receive(b"GET a\r\n");
            encode(&["GET", value], &mut requests.bytes);
            requests.receive(later.as_bytes());
            let next = |requests: &mut RequestBuffer| requests.parse_next(&Limits::default()).unwrap();
            next(&mut requests);
            let second = next(&mut requests).unwrap();
            let (taken, found) = requests.take_last(&second);
            assert!(taken.arguments(&found).iter().eq([b"GET", value.as_bytes()]));
            requests.discard_parsed(None);
            let words = next(&mut requests).map(|found| requests.arguments(&found)[0].to_vec());
            assert_eq!(words, (!later.is_empty()).then(|| b"PING".to_vec()));
        }
    }

    #[test]
    fn requests_in_the_documentation_of_redis_are_parsed() {
        let array = "*2\r\n$4\r\nLLEN\r\n$6\r\nmylist\r\n";
        let examples =
            [(array, "LLEN mylist"), ("PING\r\n", "PING"), ("EXISTS somekey\r\n", "EXISTS somekey")];
        for (bytes, words) in examples {
            let words = words.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            assert_eq!(parsed(bytes.as_bytes(), &Limits::default()), Ok(Some((words, bytes.len()))));
        }
    }

    #[test]
    fn a_line_is_a_request() {
        let words = vec![b"SET".to_vec(), b"a".to_vec(), b"b c".to_vec()];
        assert_eq!(parsed(b"SET  a 'b c'\nPING\r\n", &Limits::default()), Ok(Some((words, 13))));
    }
    #[test]
    fn requests_without_arguments_are_skipped() {
        let ping = Ok(Some((vec![b"PING".to_vec()], 6)));
        for empty in ["\r\n", "*0\r\n", "*-1\r\n", "\n*-2\n  \r\n"] {
            assert_eq!(parsed(format!("{empty}PING\r\n").as_bytes(), &SMALL), ping, "{empty:?}");
            assert_eq!(parsed(empty.as_bytes(), &SMALL), Ok(None));
        }
    }

    #[test]
    fn requests_stay_valid_until_they_are_discarded() {
        let mut requests = RequestBuffer::default();
        requests.receive(b"GET 'a b'\r\n*2\r\n$3\r\nGET\r\n$1\r\nc\r\nGET");
        let next = |requests: &mut RequestBuffer| requests.parse_next(&Limits::default()).unwrap();
        let (first, second) = (next(&mut requests).unwrap(), next(&mut requests).unwrap());
        assert_eq!(
            (&requests.arguments(&first)[1], &requests.arguments(&second)[1]),
            (&b"a b"[..], &b"c"[..])
        );
        assert_eq!(next(&mut requests), None);
        requests.discard_parsed(Some(second));
        let again = next(&mut requests).unwrap();
        assert_eq!(&requests.arguments(&again)[1], b"c");
        requests.discard_parsed(None);
        requests.receive(b" d\n");
        let third = next(&mut requests).unwrap();
        assert_eq!(requests.arguments(&third).from(1).iter().collect::<Vec<_>>(), [b"d"]);
        let mut kept = RequestBuffer::default();
        let copies = [kept.push_copy(requests.arguments(&third)), kept.push_copy(requests.arguments(&third))];
        assert!(copies.iter().all(|copy| kept.arguments(copy).iter().eq([&b"GET"[..], b"d"])));
    }
}
