//! RequestBuffer of RESP: arrays and lines.

use std::ops::Range;

use honeycomb_protocol::resp;
use rand::Rng;
use rand::rngs::StdRng;

use crate::feed::{feed, pick, random_bytes, random_length};

/// Limits that few bytes reach.
const SMALL: resp::Limits =
    resp::Limits { arguments_max: 4, argument_bytes_max: 8, line_bytes_max: 40, request_bytes_max: 50 };
/// Limits that no bytes reach.
const NONE: resp::Limits = resp::Limits {
    arguments_max: usize::MAX,
    argument_bytes_max: usize::MAX,
    line_bytes_max: usize::MAX,
    request_bytes_max: usize::MAX,
};
/// What requests are made of, and lengths at their limits; here and below with a bar between one and the
/// next.
const REQUEST_TOKENS: &[u8] =
    b"*|$|-|0|1|2|3|10|\r\n|\r|\n| |a|*1\r\n|*2\r\n|*-1\r\n|*0\r\n|$0\r\n\r\n|$1\r\na\r\n|\
    $4\r\nPING\r\n|PING\r\n|50|51|1048576|1048577|536870912|536870913|1073741824|9223372036854775807|\
    18446744073709551614|18446744073709551615|18446744073709551616|99999999999999999999999|000|\xff|\0|\"|'";
const LINE_TOKENS: &[u8] = b" |  |\t|\"|'|\\|\\\"|\\'|\\x|\\x4|\\x41|\\n|a|\xff|\0|\n|\r\n|\" |' |word";

#[test]
fn requests() {
    let write = |rng: &mut StdRng| requests_written(rng, &resp::Limits::default());
    feed(REQUEST_TOKENS, write, |rng, bytes| are_requests(rng, bytes, &resp::Limits::default()));
}

#[test]
fn requests_of_small_limits() {
    feed(REQUEST_TOKENS, |rng| requests_written(rng, &SMALL), |rng, bytes| are_requests(rng, bytes, &SMALL));
}

#[test]
fn requests_without_limits() {
    feed(REQUEST_TOKENS, |rng| requests_written(rng, &NONE), |rng, bytes| are_requests(rng, bytes, &NONE));
}

#[test]
fn lines() {
    feed(LINE_TOKENS, lines_written, |rng, bytes| {
        if rng.random_ratio(1, 4) {
            are_requests(rng, bytes, &SMALL);
        }
        are_requests(rng, bytes, &resp::Limits::default())
    });
}

#[test]
fn lengths_are_lengths_even_where_there_are_no_limits() {
    for length in [usize::MAX, usize::MAX - 1, usize::MAX - 20] {
        let mut requests = resp::RequestBuffer::default();
        requests.receive(format!("GET a\r\n*1\r\n${length}\r\nabc").as_bytes());
        assert!(requests.parse_next(&NONE).unwrap().is_some());
        assert_eq!(requests.parse_next(&NONE), Ok(None));
    }
}

#[test]
fn the_memory_of_words_counts() {
    let mut requests = resp::RequestBuffer::default();
    requests.receive(&[&[b'a'; 10_000][..], b"\n"].concat());
    assert!(requests.parse_next(&resp::Limits::default()).unwrap().is_some());
    assert!(requests.capacity() >= 2 * 10_000, "a line and its word");
    requests.discard_parsed(None);
    requests.shrink(15_000);
    assert_eq!(requests.capacity(), 0);
}

/// RequestBuffer that the limits allow, one after the other.
fn requests_written(rng: &mut StdRng, limits: &resp::Limits) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..rng.random_range(1..=6) {
        let mut left = limits.request_bytes_max.min(200_000) - 4;
        let mut arguments = Vec::new();
        for _ in 0..rng.random_range(1..=limits.arguments_max.min(8)) {
            // Of an argument that has so many bytes there are at most eleven more.
            let length = random_length(rng).min(limits.argument_bytes_max).min(left.saturating_sub(11));
            arguments.push(random_bytes(rng, length));
            left = left.saturating_sub(length + 11);
        }
        resp::encode(&arguments, &mut out);
    }
    out
}

/// Lines of words in quotes of any kind, within the default limits.
fn lines_written(rng: &mut StdRng) -> Vec<u8> {
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

/// Appends a word of a line: as it is if that is possible, between single quotes, or between double quotes.
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

/// RequestBuffer that were taken of a stream, each with its bytes as it arrived.
struct Taken {
    kept: resp::RequestBuffer,
    found: Vec<(resp::ParsedRequest, usize)>,
    /// How many bytes there are of a request that is not all there, or why the next one is refused.
    end: Result<usize, resp::Malformed>,
}

/// Whether a stream is requests and nothing else; that they are within the limits, come out alike however
/// they arrive, and can be written again.
fn are_requests(rng: &mut StdRng, bytes: &[u8], limits: &resp::Limits) -> bool {
    let taken = take_all(bytes, limits);
    let of_requests = taken.found.iter().map(|(_, bytes)| bytes).sum::<usize>();
    let pending = *taken.end.as_ref().unwrap_or(&0);
    assert!(of_requests + pending <= bytes.len());
    assert!(pending <= pending_max(bytes[bytes.len() - pending..].first(), limits));
    assert_memory_is_used_again(bytes, limits);
    assert_arrives_in_pieces(rng, bytes, limits, &taken);
    assert_written_again(&taken);
    taken.end == Ok(0) && !taken.found.is_empty()
}

/// The requests of a stream that arrives at once, each of which is forgotten when it was taken.
fn take_all(bytes: &[u8], limits: &resp::Limits) -> Taken {
    let (mut requests, mut kept, mut found) =
        (resp::RequestBuffer::default(), resp::RequestBuffer::default(), vec![]);
    requests.receive(bytes);
    loop {
        let taken = requests.parse_next(limits);
        let one = taken.as_ref().ok().copied().flatten();
        let copy = one.map(|one| kept.push_copy(requests.arguments(&one)));
        requests.discard_parsed(None);
        let (before, rest) = bytes.split_at(bytes.len() - requests.len());
        if let Some((one, copy)) = one.zip(copy) {
            let arrived = &before[before.len() - one.bytes()..];
            assert_is_as_it_arrived(arrived, kept.arguments(&copy), limits);
            found.push((copy, one.bytes()));
            continue;
        }
        if taken == Err(resp::Malformed::LineLength) {
            assert!(!rest.iter().take(line_bytes_max(limits)).any(|byte| *byte == b'\n'));
        }
        assert_eq!(requests.parse_next(limits), taken, "the same again");
        return Taken { kept, found, end: taken.map(|_| rest.len()) };
    }
}

/// Bytes of a line with its end.
fn line_bytes_max(limits: &resp::Limits) -> usize {
    limits.line_bytes_max.saturating_add(b"\r\n".len())
}

/// A request is within the limits, and its arguments may be those of a line, or written again it is what
/// arrived.
fn assert_is_as_it_arrived(bytes: &[u8], arguments: resp::Arguments<'_>, limits: &resp::Limits) {
    assert!(!arguments.is_empty());
    if bytes[0] != b'*' {
        // There is a space between one word and the next, and the end of the line behind the last.
        assert!(arguments.len() <= bytes.iter().filter(|byte| byte.is_ascii_whitespace()).count());
        assert!(arguments.iter().map(<[u8]>::len).sum::<usize>() < bytes.len());
        return assert!(bytes.len() <= line_bytes_max(limits));
    }
    assert!(arguments.len() <= limits.arguments_max && bytes.len() <= limits.request_bytes_max);
    assert!(arguments.iter().all(|argument| argument.len() <= limits.argument_bytes_max));
    let mut again = Vec::new();
    resp::encode(&arguments.iter().collect::<Vec<_>>(), &mut again);
    // The line of a length may end with "\n" alone.
    let is_kept = |byte: &&u8| **byte != b'\r';
    assert!(bytes.iter().filter(is_kept).eq(again.iter().filter(is_kept)));
}

/// What was forgotten, or taken in vain, leaves its memory to what comes.
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

/// Bytes that may be there of a request that is neither all there nor refused, by its first. An array may go
/// on with a length.
fn pending_max(first: Option<&u8>, limits: &resp::Limits) -> usize {
    match first {
        Some(b'*') => limits.request_bytes_max.saturating_add(b"$18446744073709551615\r".len()),
        _ => line_bytes_max(limits) - b"\n".len(),
    }
}

/// Memory for so many bytes: they may be words of a byte each, of which there are copies, and it is noted
/// where they are; and a vector has room for twice as much as it needs.
fn capacity_max(bytes: usize) -> usize {
    2 * (2 * bytes + (bytes / 2 + 4) * size_of::<Range<usize>>()) + 64
}

/// The same requests are found, and the same end, if the stream arrives in pieces and is forgotten in pieces.
fn assert_arrives_in_pieces(rng: &mut StdRng, bytes: &[u8], limits: &resp::Limits, whole: &Taken) {
    let mut pieces =
        Pieces { whole, requests: resp::RequestBuffer::default(), first: 0, found: vec![], most: 0 };
    // So many pieces that it costs little to look at all that is there with each.
    let piece_max = rng.random_range(bytes.len() / 64..=bytes.len()) + 1;
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rng.random_range(0..=piece_max.min(rest.len())));
        rest = after;
        pieces.receive(piece);
        if let Err(refused) = pieces.take(rng.random_range(0..9), limits) {
            assert_eq!(whole.end.as_ref(), Err(&refused), "refused in pieces");
            return assert_eq!(pieces.first + pieces.found.len(), whole.found.len());
        }
        pieces.forget(rng);
    }
    let end = pieces.take(usize::MAX, limits);
    assert_eq!(pieces.first + pieces.found.len(), whole.found.len());
    pieces.requests.discard_parsed(None);
    assert_eq!(end.map(|()| pieces.requests.len()), whole.end);
}

/// A stream that arrives in pieces.
struct Pieces<'a> {
    whole: &'a Taken,
    requests: resp::RequestBuffer,
    /// How many requests are forgotten.
    first: usize,
    found: Vec<resp::ParsedRequest>,
    /// Bytes that were there at once, at most.
    most: usize,
}

impl Pieces<'_> {
    fn receive(&mut self, piece: &[u8]) {
        self.requests.receive(piece);
        self.most = self.most.max(self.requests.len());
    }

    /// Takes at most so many requests, and compares all that are not forgotten.
    fn take(&mut self, most: usize, limits: &resp::Limits) -> Result<(), resp::Malformed> {
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

    /// Forgets all requests that were taken, those before one of them, or none.
    fn forget(&mut self, rng: &mut StdRng) {
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

/// Each request, written as an array and as a line, is the same again.
fn assert_written_again(taken: &Taken) {
    let (mut arrays, mut lines) = (Vec::new(), Vec::new());
    for (one, _) in &taken.found {
        let arguments: Vec<&[u8]> = taken.kept.arguments(one).iter().collect();
        resp::encode(&arguments, &mut arrays);
        for (index, argument) in arguments.iter().enumerate() {
            write_word((index % 3) as u8, argument, &mut lines);
            lines.push(b' ');
        }
        lines.push(b'\n');
    }
    for bytes in [arrays, lines] {
        let again = take_all(&bytes, &resp::Limits { line_bytes_max: 1 << 30, ..resp::Limits::default() });
        assert_eq!((again.found.len(), &again.end), (taken.found.len(), &Ok(0)));
        for ((one, _), (other, _)) in again.found.iter().zip(&taken.found) {
            assert!(again.kept.arguments(one).iter().eq(taken.kept.arguments(other).iter()));
        }
    }
}
