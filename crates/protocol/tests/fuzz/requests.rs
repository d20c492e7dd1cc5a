//! Fuzz tests of the parser of RESP requests: arrays and lines.

use std::ops::Range;

use honeycomb_protocol::resp;
use rand::Rng;
use rand::rngs::StdRng;

use crate::feed::{feed, pick, random_bytes, random_length};

/// Limits that short inputs reach.
const SMALL: resp::Limits =
    resp::Limits { arguments_max: 4, argument_bytes_max: 8, line_bytes_max: 40, request_bytes_max: 50 };
/// Limits that no input reaches.
const NONE: resp::Limits = resp::Limits {
    arguments_max: usize::MAX,
    argument_bytes_max: usize::MAX,
    line_bytes_max: usize::MAX,
    request_bytes_max: usize::MAX,
};
/// Tokens of requests, and lengths at their limits. Bars separate the tokens, here and below.
const REQUEST_TOKENS: &[u8] =
    b"*|$|-|0|1|2|3|10|\r\n|\r|\n| |a|*1\r\n|*2\r\n|*-1\r\n|*0\r\n|$0\r\n\r\n|$1\r\na\r\n|\
    $4\r\nPING\r\n|PING\r\n|50|51|1048576|1048577|536870912|536870913|1073741824|9223372036854775807|\
    18446744073709551614|18446744073709551615|18446744073709551616|99999999999999999999999|000|\xff|\0|\"|'";
const LINE_TOKENS: &[u8] = b" |  |\t|\"|'|\\|\\\"|\\'|\\x|\\x4|\\x41|\\n|a|\xff|\0|\n|\r\n|\" |' |word";

#[test]
fn requests() {
    let write = |rng: &mut StdRng| encoded_requests(rng, &resp::Limits::default());
    feed(REQUEST_TOKENS, write, |rng, bytes| are_requests(rng, bytes, &resp::Limits::default()));
}

#[test]
fn requests_of_small_limits() {
    feed(REQUEST_TOKENS, |rng| encoded_requests(rng, &SMALL), |rng, bytes| are_requests(rng, bytes, &SMALL));
}

#[test]
fn requests_without_limits() {
    feed(REQUEST_TOKENS, |rng| encoded_requests(rng, &NONE), |rng, bytes| are_requests(rng, bytes, &NONE));
}

#[test]
fn lines() {
    feed(LINE_TOKENS, encoded_lines, |rng, bytes| {
        if rng.random_ratio(1, 4) {
            are_requests(rng, bytes, &SMALL);
        }
        are_requests(rng, bytes, &resp::Limits::default())
    });
}

#[test]
fn the_largest_lengths_are_parsed_without_limits() {
    for length in [usize::MAX, usize::MAX - 1, usize::MAX - 20] {
        let mut requests = resp::RequestBuffer::default();
        requests.receive(format!("GET a\r\n*1\r\n${length}\r\nabc").as_bytes());
        assert!(requests.parse_next(&NONE).unwrap().is_some());
        assert_eq!(requests.parse_next(&NONE), Ok(None));
    }
}

#[test]
fn the_capacity_includes_the_words() {
    let mut requests = resp::RequestBuffer::default();
    requests.receive(&[&[b'a'; 10_000][..], b"\n"].concat());
    assert!(requests.parse_next(&resp::Limits::default()).unwrap().is_some());
    assert!(requests.capacity() >= 2 * 10_000, "a line and its word");
    requests.discard_parsed(None);
    requests.shrink(15_000);
    assert_eq!(requests.capacity(), 0);
}

/// A sequence of requests within the limits.
fn encoded_requests(rng: &mut StdRng, limits: &resp::Limits) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..rng.random_range(1..=6) {
        let mut left = limits.request_bytes_max.min(200_000) - 4;
        let mut arguments = Vec::new();
        for _ in 0..rng.random_range(1..=limits.arguments_max.min(8)) {
            // The encoding of an argument has at most eleven bytes more.
            let length = random_length(rng).min(limits.argument_bytes_max).min(left.saturating_sub(11));
            arguments.push(random_bytes(rng, length));
            left = left.saturating_sub(length + 11);
        }
        resp::encode(&arguments, &mut out);
    }
    out
}

/// Lines of words with all kinds of quotes, within the default limits.
fn encoded_lines(rng: &mut StdRng) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..rng.random_range(1..=6) {
        for _ in 0..rng.random_range(1..=5) {
            let length = random_length(rng).min(3000);
            let word = random_bytes(rng, length);
            write_word(rng.random_range(0..3), &word, &mut out);
            out.extend_from_slice(pick(rng, &[&b" "[..], b"  ", b"\t"]));
        }
        out.extend_from_slice(pick(rng, &[&b"\n"[..], b"\r\n"]));
    }
    out
}

/// Appends a word of a line: without quotes if possible, or in single or double quotes.
fn write_word(quotes: u8, word: &[u8], out: &mut Vec<u8>) {
    let is_plain = !word.is_empty() && word.iter().all(u8::is_ascii_alphanumeric);
    match quotes {
        0 if is_plain => out.extend_from_slice(word),
        1 if !word.iter().any(|byte| b"\n\\".contains(byte)) => {
            out.push(b'\'');
            let quoted = word.split(|byte| *byte == b'\'').collect::<Vec<_>>().join(&b"\\'"[..]);
            out.extend_from_slice(&quoted);
            out.push(b'\'');
        }
        _ => {
            out.push(b'"');
            let digit = |number: u8| b"0123456789abcdef"[usize::from(number)];
            let escaped = |byte: &u8| [b'\\', b'x', digit(byte >> 4), digit(byte & 15)];
            out.extend(word.iter().flat_map(escaped));
            out.push(b'"');
        }
    }
}

/// The requests of a stream, each with the length of its encoding.
struct ParsedStream {
    kept: resp::RequestBuffer,
    found: Vec<(resp::ParsedRequest, usize)>,
    /// The number of bytes of an incomplete request at the end, or the error of the parser.
    end: Result<usize, resp::Malformed>,
}

/// Returns whether a stream is a sequence of complete requests. Checks that they are within the limits, that
/// the result does not depend on how the stream is split, and that the requests can be encoded again.
fn are_requests(rng: &mut StdRng, bytes: &[u8], limits: &resp::Limits) -> bool {
    let parsed = parse_all(bytes, limits);
    let of_requests = parsed.found.iter().map(|(_, bytes)| bytes).sum::<usize>();
    let pending = *parsed.end.as_ref().unwrap_or(&0);
    assert!(of_requests + pending <= bytes.len());
    assert!(pending <= pending_max(bytes[bytes.len() - pending..].first(), limits));
    assert_memory_is_used_again(bytes, limits);
    assert_arrives_in_parts(rng, bytes, limits, &parsed);
    assert_encodes_again(&parsed);
    parsed.end == Ok(0) && !parsed.found.is_empty()
}

/// Parses the requests of a stream that arrives at once, and discards each after it was parsed.
fn parse_all(bytes: &[u8], limits: &resp::Limits) -> ParsedStream {
    let (mut requests, mut kept, mut found) =
        (resp::RequestBuffer::default(), resp::RequestBuffer::default(), vec![]);
    requests.receive(bytes);
    loop {
        let parsed = requests.parse_next(limits);
        let one = parsed.as_ref().ok().copied().flatten();
        let copy = one.map(|one| kept.push_copy(requests.arguments(&one)));
        requests.discard_parsed(None);
        let (before, rest) = bytes.split_at(bytes.len() - requests.len());
        if let Some((one, copy)) = one.zip(copy) {
            let arrived = &before[before.len() - one.bytes()..];
            assert_is_as_it_arrived(arrived, kept.arguments(&copy), limits);
            found.push((copy, one.bytes()));
            continue;
        }
        if parsed == Err(resp::Malformed::LineLength) {
            assert!(!rest.iter().take(line_bytes_max(limits)).any(|byte| *byte == b'\n'));
        }
        assert_eq!(requests.parse_next(limits), parsed, "the result does not change");
        return ParsedStream { kept, found, end: parsed.map(|_| rest.len()) };
    }
}

/// Most bytes of a line including its end.
fn line_bytes_max(limits: &resp::Limits) -> usize {
    limits.line_bytes_max.saturating_add(b"\r\n".len())
}

/// Checks that a request is within the limits. An array is equal to its encoding, and a line is long enough
/// for its arguments.
fn assert_is_as_it_arrived(bytes: &[u8], arguments: resp::Arguments<'_>, limits: &resp::Limits) {
    assert!(!arguments.is_empty());
    if bytes[0] != b'*' {
        // There is a space between two words, and a line break after the last one.
        assert!(arguments.len() <= bytes.iter().filter(|byte| byte.is_ascii_whitespace()).count());
        assert!(arguments.iter().map(<[u8]>::len).sum::<usize>() < bytes.len());
        return assert!(bytes.len() <= line_bytes_max(limits));
    }
    assert!(arguments.len() <= limits.arguments_max && bytes.len() <= limits.request_bytes_max);
    assert!(arguments.iter().all(|argument| argument.len() <= limits.argument_bytes_max));
    let mut again = Vec::new();
    resp::encode(&arguments.iter().collect::<Vec<_>>(), &mut again);
    // The line of a length may end with "\n" only.
    let is_kept = |byte: &&u8| **byte != b'\r';
    assert!(bytes.iter().filter(is_kept).eq(again.iter().filter(is_kept)));
}

/// Discarded requests and incomplete parses leave their memory to later requests.
fn assert_memory_is_used_again(bytes: &[u8], limits: &resp::Limits) {
    let mut requests = resp::RequestBuffer::default();
    let arrive = |requests: &mut resp::RequestBuffer, bytes: &[u8]| {
        requests.receive(bytes);
        while requests.parse_next(limits).ok()?.is_some() {}
        Some(requests.capacity())
    };
    let capacity = arrive(&mut requests, bytes);
    assert!(capacity.is_none_or(|capacity| capacity <= capacity_max(bytes.len())));
    assert_eq!(arrive(&mut requests, b""), capacity);
    requests.discard_parsed(None);
    if requests.is_empty() {
        assert_eq!(arrive(&mut requests, bytes), capacity);
    }
}

/// The most bytes of an incomplete request that the parser has not rejected, by its first byte. An array may
/// end within a length.
fn pending_max(first: Option<&u8>, limits: &resp::Limits) -> usize {
    match first {
        Some(b'*') => limits.request_bytes_max.saturating_add(b"$18446744073709551615\r".len()),
        _ => line_bytes_max(limits) - b"\n".len(),
    }
}

/// The most memory for this number of bytes: they may be words of one byte, which are copied and have a range
/// each, and a vector may have twice the capacity that it needs.
fn capacity_max(bytes: usize) -> usize {
    2 * (2 * bytes + (bytes / 2 + 4) * size_of::<Range<usize>>()) + 64
}

/// Checks that a stream that arrives in parts, and is discarded in parts, yields the same requests and the
/// same end.
fn assert_arrives_in_parts(rng: &mut StdRng, bytes: &[u8], limits: &resp::Limits, whole: &ParsedStream) {
    let mut stream =
        PartialStream { whole, requests: resp::RequestBuffer::default(), first: 0, found: vec![], most: 0 };
    // Parts are long enough that parsing everything with each part takes little time.
    let part_max = rng.random_range(bytes.len() / 64..=bytes.len()) + 1;
    let mut rest = bytes;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rng.random_range(0..=part_max.min(rest.len())));
        rest = after;
        stream.receive(part);
        if let Err(error) = stream.parse(rng.random_range(0..9), limits) {
            assert_eq!(whole.end.as_ref(), Err(&error), "rejected in parts");
            return assert_eq!(stream.first + stream.found.len(), whole.found.len());
        }
        stream.discard(rng);
    }
    let end = stream.parse(usize::MAX, limits);
    assert_eq!(stream.first + stream.found.len(), whole.found.len());
    stream.requests.discard_parsed(None);
    assert_eq!(end.map(|()| stream.requests.len()), whole.end);
}

/// A stream that arrives in parts.
struct PartialStream<'a> {
    whole: &'a ParsedStream,
    requests: resp::RequestBuffer,
    /// The number of discarded requests.
    first: usize,
    found: Vec<resp::ParsedRequest>,
    /// The most bytes that were in the buffer.
    most: usize,
}

impl PartialStream<'_> {
    fn receive(&mut self, part: &[u8]) {
        self.requests.receive(part);
        self.most = self.most.max(self.requests.len());
    }

    /// Parses at most `most` requests, and compares all requests that were not discarded.
    fn parse(&mut self, most: usize, limits: &resp::Limits) -> Result<(), resp::Malformed> {
        for _ in 0..most {
            let Some(one) = self.requests.parse_next(limits)? else { break };
            assert_eq!(one.bytes(), self.whole.found[self.first + self.found.len()].1);
            self.found.push(one);
        }
        for (one, (kept, _)) in self.found.iter().zip(&self.whole.found[self.first..]) {
            assert!(self.requests.arguments(one).iter().eq(self.whole.kept.arguments(kept).iter()));
        }
        assert!(self.requests.capacity() <= capacity_max(self.most), "memory for {} bytes", self.most);
        Ok(())
    }

    /// Discards all parsed requests, those before one of them, or none.
    fn discard(&mut self, rng: &mut StdRng) {
        if rng.random_ratio(1, 4) {
            return;
        }
        let index = rng.random_range(0..=self.found.len());
        self.requests.discard_parsed(self.found.get(index).copied());
        self.first += index;
        self.found.clear();
        self.requests.shrink(100);
        assert!(!self.requests.is_empty() || self.requests.capacity() <= 100);
    }
}

/// Encodes each request as an array and as a line, and checks that parsing returns it again.
fn assert_encodes_again(parsed: &ParsedStream) {
    let (mut arrays, mut lines) = (Vec::new(), Vec::new());
    for (one, _) in &parsed.found {
        let arguments: Vec<&[u8]> = parsed.kept.arguments(one).iter().collect();
        resp::encode(&arguments, &mut arrays);
        for (index, argument) in arguments.iter().enumerate() {
            write_word((index % 3) as u8, argument, &mut lines);
            lines.push(b' ');
        }
        lines.push(b'\n');
    }
    for bytes in [arrays, lines] {
        let again = parse_all(&bytes, &resp::Limits { line_bytes_max: 1 << 30, ..resp::Limits::default() });
        assert_eq!((again.found.len(), &again.end), (parsed.found.len(), &Ok(0)));
        for ((one, _), (other, _)) in again.found.iter().zip(&parsed.found) {
            assert!(again.kept.arguments(one).iter().eq(parsed.kept.arguments(other).iter()));
        }
    }
}
