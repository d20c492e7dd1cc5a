//! Hostile bytes for every parser: random ones, what it looks for in any order, and messages that the crate
//! itself wrote with a few changes. Now and then one without any, which has to be accepted.
//!
//! `HONEYCOMB_FUZZ_BYTES` says how many bytes each parser gets, `HONEYCOMB_SEED` which.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::ops::Range;
use std::thread;

use honeycomb_layout::{BATCH_WINDOW, batch_item, ocsm_flags, ocsm_header, ocsm_short};
use honeycomb_protocol::{PAYLOAD_BYTES_MAX, batch, ocsm, resp};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Bytes for each parser, unless the environment says otherwise: they take it one to six seconds of a core.
const FUZZ_BYTES: u64 = 100_000_000;
/// One input of so many is as the encoder wrote it.
const WHOLE_ONES: u64 = 16;

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
const ANSWER_TOKENS: &[u8] =
    b"+|-|:|_|$|=|*|~|%|#|0|1|2|3|-1|\r\n|\r|\n|_\r\n|$-1\r\n|*-1\r\n|*1\r\n|*2\r\n|%1\r\n|\
    ~2\r\n|:0\r\n|$0\r\n\r\n|=3\r\ntxt\r\n|2147483648|9223372036854775807|9223372036854775808|\
    99999999999999999999999|\xff|*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n";
const NUMBER_TOKENS: &[u8] = b"-|+|0|1|8|9|223372036|9223372036|854775807|854775808| |x";
/// Headers of packets of no message up to two, messages of zeros and ones, and lengths of values.
const PACKET_TOKENS: &[u8] =
    b"\0\0\0\0\x01\0|\x01\0\0\0\x01\0|\x02\0\0\0\x02\0|\x01\0\0\0\x02\x01|\x01\0\0\0\x01\x03|\
    \xff\xff\0\0\x01\0|\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0|\0\0\0\0|\
    \x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01|\0|\x0c|\x0d|\x2c|\x2d";
const HEADER_TOKENS: &[u8] =
    b"\0\0\0\0\0\0\0\0|\xff\xff\xff\xff|\0\0\0\0|\x01|\x04|\x07|\x08|\0\0\0\x01\0\0\0";
/// What operations and items begin with, and sizes.
const BATCH_TOKENS: &[u8] =
    b"\0|\x01|\x02|\x03|\x04|\x05|\x06|\x07|\x0b|\x11|\x12|\x21|\x22|\x26|\x32|\x36|\x40|\x47|\
    \x87|\xc7|\x01\0|\x02\0|\xff\xff|abc";
const WINDOW_TOKENS: &[u8] =
    b"\0|\x01|\xff|\0\0\0\0\0\0\0\0|\xff\xff\xff\xff\xff\xff\xff\xff|\x40\0\0\0\0\0\0\0|\x80";

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
fn answers() {
    feed(ANSWER_TOKENS, answers_written, are_answers);
}

#[test]
fn numbers() {
    let write = |rng: &mut StdRng| resp::decimal(rng.random::<i64>() >> rng.random_range(0..64));
    feed(NUMBER_TOKENS, write, |_, bytes| is_number(bytes));
}

#[test]
fn packets_of_requests() {
    feed(PACKET_TOKENS, packet_written, is_packet);
}

#[test]
fn packets_of_replies() {
    feed(PACKET_TOKENS, packet_answered, is_packet);
}

#[test]
fn batch_headers() {
    feed(HEADER_TOKENS, header_written, |_, bytes| is_header(bytes));
}

#[test]
fn batch_operations() {
    feed(BATCH_TOKENS, operations_written, |_, bytes| are_operations(bytes));
}

#[test]
fn batch_items() {
    feed(BATCH_TOKENS, items_written, |_, bytes| are_items(bytes));
}

#[test]
fn batch_windows() {
    feed(WINDOW_TOKENS, identifiers_written, |_, bytes| comes_again_in_a_window(bytes));
}

#[test]
fn lengths_are_lengths_even_where_there_are_no_limits() {
    for length in [usize::MAX, usize::MAX - 1, usize::MAX - 20] {
        let mut requests = resp::Requests::default();
        requests.receive(format!("GET a\r\n*1\r\n${length}\r\nabc").as_bytes());
        assert!(requests.take(&NONE).unwrap().is_some());
        assert_eq!(requests.take(&NONE), Ok(None));
    }
}

#[test]
fn the_memory_of_words_counts() {
    let mut requests = resp::Requests::default();
    requests.receive(&[&[b'a'; 10_000][..], b"\n"].concat());
    assert!(requests.take(&resp::Limits::default()).unwrap().is_some());
    assert!(requests.capacity() >= 2 * 10_000, "a line and its word");
    requests.forget(None);
    requests.shrink(15_000);
    assert_eq!(requests.capacity(), 0);
}

#[test]
fn the_last_identifiers_are_as_all_others() {
    let mut window = batch::Window::default();
    for identifier in [u64::MAX - 63, u64::MAX] {
        assert_eq!(window.begin(identifier), batch::Known::New);
        window.finish(identifier, b"done");
    }
    assert_eq!(window.begin(u64::MAX), batch::Known::Done(b"done"));
    assert_eq!(window.begin(u64::MAX - 63), batch::Known::Done(b"done"));
    assert_eq!(window.begin(u64::MAX - 64), batch::Known::TooOld);
}

/// Feeds a parser until it has had its bytes. `accepts` says whether it takes all of an input, and panics if
/// it breaks a promise on the way; it has to take what `write` writes.
fn feed(tokens: &[u8], write: impl Fn(&mut StdRng) -> Vec<u8>, accepts: impl Fn(&mut StdRng, &[u8]) -> bool) {
    let (seed, bytes_min) = (setting("HONEYCOMB_SEED", 1), setting("HONEYCOMB_FUZZ_BYTES", FUZZ_BYTES));
    println!("HONEYCOMB_SEED={seed} HONEYCOMB_FUZZ_BYTES={bytes_min}");
    let mut rng = StdRng::seed_from_u64(seed);
    let tokens: Vec<_> = tokens.split(|byte| *byte == b'|').collect();
    let (mut inputs, mut bytes, mut whole, mut accepted) = (0, 0, 0, 0);
    while bytes < bytes_min {
        let is_whole = inputs % WHOLE_ONES == 0;
        let input = if is_whole { write(&mut rng) } else { hostile(&mut rng, &tokens, &write) };
        let shown = Shown(&input);
        let is_accepted = accepts(&mut rng, &input);
        assert!(is_accepted || !is_whole, "what the encoder wrote is refused");
        drop(shown);
        inputs += 1;
        bytes += input.len() as u64;
        whole += u64::from(is_whole);
        accepted += u64::from(is_accepted);
    }
    println!("{bytes} bytes in {inputs} inputs: {accepted} accepted, {whole} of them as they were written");
    assert!(whole > 0, "every input was spoiled");
}

/// A number from the environment, or this one.
fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// An input, which is printed if a test fails over it.
struct Shown<'a>(&'a [u8]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("the input is b\"{}\"", self.0.escape_ascii());
        }
    }
}

/// A message with a few changes, or random bytes, or tokens.
fn hostile(rng: &mut StdRng, tokens: &[&[u8]], write: impl Fn(&mut StdRng) -> Vec<u8>) -> Vec<u8> {
    match rng.random_range(0..8) {
        0 => random_bytes(rng, 200),
        1 | 2 => (0..rng.random_range(1..=40)).flat_map(|_| pick(rng, tokens)).copied().collect(),
        _ => {
            let mut bytes = write(rng);
            (0..rng.random_range(1..=4)).for_each(|_| change(rng, &mut bytes, tokens));
            bytes
        }
    }
}

/// Changes a byte or a bit, cuts the end off or a part out, or inserts a copy of a part, a token so many
/// times, or random bytes.
fn change(rng: &mut StdRng, bytes: &mut Vec<u8>, tokens: &[&[u8]]) {
    let part = random_part(rng, bytes.len());
    let at = rng.random_range(0..=bytes.len());
    let new = match rng.random_range(0..9) {
        0 | 1 => return bytes[part].iter_mut().take(1).for_each(|byte| *byte = rng.random()),
        2 | 3 => return bytes[part].iter_mut().take(1).for_each(|byte| *byte ^= 1 << rng.random_range(0..8)),
        4 => return bytes.truncate(at),
        5 => return drop(bytes.drain(part)),
        6 => bytes[part].to_vec(),
        7 => {
            let token = pick(rng, tokens);
            token.repeat(random_length(rng) / token.len() + 1)
        }
        _ => random_bytes(rng, 8),
    };
    bytes.splice(at..at, new);
}

fn pick<T: Copy>(rng: &mut StdRng, of: &[T]) -> T {
    *of.choose(rng).unwrap()
}

fn random_bytes(rng: &mut StdRng, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; rng.random_range(0..=most)];
    rng.fill(&mut bytes[..]);
    bytes
}

/// A part of so many bytes, short more often than not.
fn random_part(rng: &mut StdRng, bytes: usize) -> Range<usize> {
    let start = rng.random_range(0..=bytes);
    let most = if rng.random_ratio(7, 8) { 12.min(bytes - start) } else { bytes - start };
    start..start + rng.random_range(0..=most)
}

/// Bytes of an argument, few more often than not, and now and then more than a line may have.
fn random_length(rng: &mut StdRng) -> usize {
    let most = match rng.random_range(0..5000) {
        0 => 70_000,
        1..200 => 500,
        _ => 12,
    };
    rng.random_range(0..=most)
}

/// Requests that the limits allow, one after the other.
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

/// Requests that were taken of a stream, each with its bytes as it arrived.
struct Taken {
    kept: resp::Requests,
    found: Vec<(resp::Found, usize)>,
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
    let (mut requests, mut kept, mut found) = (resp::Requests::default(), resp::Requests::default(), vec![]);
    requests.receive(bytes);
    loop {
        let taken = requests.take(limits);
        let one = taken.as_ref().ok().copied().flatten();
        let copy = one.map(|one| kept.keep(requests.arguments(&one)));
        requests.forget(None);
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
        assert_eq!(requests.take(limits), taken, "the same again");
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
    let mut requests = resp::Requests::default();
    let arrive = |requests: &mut resp::Requests, bytes: &[u8]| {
        requests.receive(bytes);
        while requests.take(limits).ok()?.is_some() {}
        Some(requests.capacity())
    };
    let capacity = arrive(&mut requests, bytes);
    assert!(capacity.is_none_or(|capacity| capacity <= capacity_max(bytes.len())));
    assert_eq!(arrive(&mut requests, b""), capacity);
    requests.forget(None);
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
    let mut pieces = Pieces { whole, requests: resp::Requests::default(), first: 0, found: vec![], most: 0 };
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
    pieces.requests.forget(None);
    assert_eq!(end.map(|()| pieces.requests.len()), whole.end);
}

/// A stream that arrives in pieces.
struct Pieces<'a> {
    whole: &'a Taken,
    requests: resp::Requests,
    /// How many requests are forgotten.
    first: usize,
    found: Vec<resp::Found>,
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
            let Some(one) = self.requests.take(limits)? else { break };
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
        self.requests.forget(self.found.get(index).copied());
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

/// Replies of any version, one after the other.
fn answers_written(rng: &mut StdRng) -> Vec<u8> {
    let version = pick(rng, &[resp::Version::Resp2, resp::Version::Resp3]);
    let mut replies = resp::Replies::new(version);
    for _ in 0..rng.random_range(1..=4) {
        write_reply(rng, 4, &mut replies);
    }
    replies.bytes().to_vec()
}

/// Appends a reply that holds others at most so deep.
fn write_reply(rng: &mut StdRng, depth: u8, replies: &mut resp::Replies) {
    let length = rng.random_range(0..4);
    let inner = match rng.random_range(0..8) {
        0 if depth > 0 => {
            replies.map(length);
            2 * length
        }
        1 if depth > 0 => {
            replies.set(length);
            length
        }
        2 if depth > 0 => {
            replies.array(length);
            length
        }
        _ => return write_plain_reply(rng, replies),
    };
    (0..inner).for_each(|_| write_reply(rng, depth - 1, replies));
}

fn write_plain_reply(rng: &mut StdRng, replies: &mut resp::Replies) {
    match rng.random_range(0..9) {
        0 => replies.simple("OK"),
        1 => replies.error("ERR no such thing"),
        2 => replies.integer(rng.random::<i64>() >> rng.random_range(0..64)),
        3 => replies.null(),
        4 => replies.null_array(),
        5 => replies.verbatim("a text\r\n"),
        _ => {
            let most = random_length(rng);
            replies.bulk(&random_bytes(rng, most));
        }
    }
}

/// Whether a stream is replies and nothing else.
fn are_answers(rng: &mut StdRng, bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let parsed = resp::parse_answer(rest);
        assert_follows_from_front(rng, rest, &parsed);
        match parsed {
            Ok(Some((answer, length))) => {
                assert!(length <= rest.len() && replies_in(&answer) * b"_\r\n".len() <= length);
                assert!(depth(&answer) <= 32, "more could be too much for the stack of who reads it");
                assert_answer_written_again(&answer, &rest[..length]);
                rest = &rest[length..];
            }
            Ok(None) => return false,
            Err(malformed) => {
                assert_eq!(malformed, resp::MalformedAnswer(*first));
                return false;
            }
        }
    }
    !bytes.is_empty()
}

type Parsed = Result<Option<(resp::Answer, usize)>, resp::MalformedAnswer>;

/// As long as bytes are missing that a reply needs, there is none; and those behind it are no matter of it.
fn assert_follows_from_front(rng: &mut StdRng, bytes: &[u8], parsed: &Parsed) {
    let cut = rng.random_range(0..=bytes.len());
    let of_front = resp::parse_answer(&bytes[..cut]);
    match parsed {
        Ok(Some((_, length))) if cut < *length => assert_eq!(of_front, Ok(None)),
        Ok(Some(_)) => assert_eq!(&of_front, parsed),
        _ => assert!(of_front == Ok(None) || &of_front == parsed),
    }
}

/// How many replies a reply is, with those in it.
fn replies_in(answer: &resp::Answer) -> usize {
    1 + match answer {
        resp::Answer::Array(inner) => inner.iter().map(replies_in).sum(),
        resp::Answer::Map(inner) => {
            inner.iter().map(|(key, value)| replies_in(key) + replies_in(value)).sum()
        }
        _ => 0,
    }
}

/// How many replies a reply is in, at most.
fn depth(answer: &resp::Answer) -> usize {
    match answer {
        resp::Answer::Array(inner) => 1 + inner.iter().map(depth).max().unwrap_or(0),
        resp::Answer::Map(inner) => {
            1 + inner.iter().flat_map(|(key, value)| [depth(key), depth(value)]).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// A reply that is written again is the same; and it is what arrived, if there is one way to write it.
fn assert_answer_written_again(answer: &resp::Answer, arrived: &[u8]) {
    let mut replies = resp::Replies::new(resp::Version::Resp3);
    write_answer(answer, &mut replies);
    assert!(!matches!(answer, resp::Answer::Bulk(_)) || arrived[0] == b'=' || replies.bytes() == arrived);
    let (again, length) = resp::parse_answer(replies.bytes()).unwrap().unwrap();
    assert_eq!(length, replies.bytes().len());
    // Of an error the line ends become spaces.
    let mut of_again = resp::Replies::new(resp::Version::Resp3);
    write_answer(&again, &mut of_again);
    assert_eq!(of_again.bytes(), replies.bytes());
}

fn write_answer(answer: &resp::Answer, replies: &mut resp::Replies) {
    match answer {
        resp::Answer::Simple(text) => replies.simple(text),
        resp::Answer::Error(text) => replies.error(text),
        resp::Answer::Integer(number) => replies.integer(*number),
        resp::Answer::Bulk(bytes) => replies.bulk(bytes),
        resp::Answer::Null => replies.null(),
        resp::Answer::Array(inner) => {
            replies.array(inner.len());
            inner.iter().for_each(|one| write_answer(one, replies));
        }
        resp::Answer::Map(inner) => {
            replies.map(inner.len());
            inner.iter().flat_map(|(key, value)| [key, value]).for_each(|one| write_answer(one, replies));
        }
    }
}

/// Whether a text is a number; the standard library knows others too, such as those with zeros before them.
fn is_number(text: &[u8]) -> bool {
    let known = str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
    let expected = known.filter(|number| number.to_string().as_bytes() == text);
    assert_eq!(resp::parse_decimal(text), expected);
    assert!(expected.is_none_or(|number| resp::decimal(number) == text));
    expected.is_some()
}

const FLAGS: usize = ocsm_header::FLAGS_OFFSET;
const OPERATIONS: [ocsm::Operation; 4] =
    [ocsm::Operation::Search, ocsm::Operation::Insert, ocsm::Operation::Modify, ocsm::Operation::Delete];
const STATUSES: [ocsm::Status; 7] = [
    ocsm::Status::Done,
    ocsm::Status::Absent,
    ocsm::Status::Exists,
    ocsm::Status::TooLong,
    ocsm::Status::NotAllowed,
    ocsm::Status::OutOfMemory,
    ocsm::Status::Failed,
];

/// A packet of messages of one type.
fn packet_written(rng: &mut StdRng) -> Vec<u8> {
    let form = pick(rng, &[ocsm::Form::Short, ocsm::Form::Long]);
    let message_type = pick(rng, &[ocsm::MessageType::Search, ocsm::MessageType::Update]);
    let count = if rng.random_ratio(1, 50) { 60 } else { 4 };
    let mut requests = ocsm::Requests::new(message_type, form, rng.random(), PAYLOAD_BYTES_MAX);
    for _ in 0..rng.random_range(0..=count) {
        let value = random_bytes(rng, form.value_bytes_max());
        let request = ocsm::Request {
            sequence_number: rng.random(),
            source: rng.random(),
            destination: rng.random(),
            operation: pick(rng, &OPERATIONS),
            key: rng.random(),
            value: &value,
        };
        let is_of_type = request.operation.message_type() == message_type;
        assert_eq!(requests.push(&request).is_ok(), is_of_type);
    }
    requests.bytes().to_vec()
}

/// A packet whose messages are answered.
fn packet_answered(rng: &mut StdRng) -> Vec<u8> {
    let bytes = packet_written(rng);
    let packet = ocsm::Packet::parse(&bytes).unwrap();
    let mut out = Vec::new();
    let mut answers = ocsm::Answers::to(&packet, &mut out);
    for _ in packet.messages() {
        let value = random_bytes(rng, 50);
        answers.answer(pick(rng, &STATUSES), rng.random::<bool>().then_some(&value));
    }
    out
}

/// Whether a datagram is a packet; that its messages can be written again, and answered.
fn is_packet(rng: &mut StdRng, bytes: &[u8]) -> bool {
    let Ok(packet) = ocsm::Packet::parse(bytes) else { return false };
    let (form, count) = (packet.header().form, usize::from(packet.header().count));
    assert_eq!(bytes.len(), ocsm_header::SIZE + count * form.message_bytes());
    assert_eq!((packet.messages().len(), form.messages_max(bytes.len())), (count, count));
    assert_messages_written_again(&packet, bytes.len());
    assert_answered(rng, &packet, bytes);
    true
}

/// Those messages of a packet that a client could have written are the same again.
fn assert_messages_written_again(packet: &ocsm::Packet<'_>, bytes: usize) {
    let ocsm::Header { message_type, form, table, .. } = packet.header();
    let mut requests = ocsm::Requests::new(message_type, form, table, bytes);
    let written = packet.messages().filter(|message| {
        let request = request_of(message);
        let is_of_type = request.is_some_and(|request| request.operation.message_type() == message_type);
        assert_eq!(request.is_some_and(|request| requests.push(&request).is_ok()), is_of_type);
        is_of_type
    });
    let written: Vec<_> = written.collect();
    let again = ocsm::Packet::parse(requests.bytes()).unwrap();
    let count = written.len() as u16;
    assert_eq!(again.header(), ocsm::Header { count, answered: false, ..packet.header() });
    let parts = |message: &ocsm::Message<'_>| format!("{:?}", request_of(message));
    assert!(again.messages().map(|message| parts(&message)).eq(written.iter().map(parts)));
}

/// What a message asks for, if it is something, and its value has room.
fn request_of<'a>(message: &ocsm::Message<'a>) -> Option<ocsm::Request<'a>> {
    Some(ocsm::Request {
        sequence_number: message.sequence_number(),
        source: message.source(),
        destination: message.destination(),
        operation: message.operation()?,
        key: message.key().try_into().unwrap(),
        value: message.value()?,
    })
}

/// Each message is answered where it stands, and says what it said but for that.
fn assert_answered(rng: &mut StdRng, packet: &ocsm::Packet<'_>, bytes: &[u8]) {
    let room = packet.header().form.value_bytes_max();
    let value = |rng: &mut StdRng| rng.random::<bool>().then(|| random_bytes(rng, 50));
    let given: Vec<_> = packet.messages().map(|_| (pick(rng, &STATUSES), value(rng))).collect();
    let mut out = Vec::new();
    let mut answers = ocsm::Answers::to(packet, &mut out);
    given.iter().for_each(|(status, value)| answers.answer(*status, value.as_deref()));
    answers.answer(ocsm::Status::Done, Some(b"to no message"));
    assert_eq!((out.len(), &out[..FLAGS]), (bytes.len(), &bytes[..FLAGS]));
    assert_eq!(u64::from(out[FLAGS]), ocsm_flags::with_answered(bytes[FLAGS].into(), 1));
    let replies = ocsm::Packet::parse(&out).unwrap();
    assert_eq!(replies.header(), ocsm::Header { answered: true, ..packet.header() });
    for ((message, reply), (status, value)) in packet.messages().zip(replies.messages()).zip(&given) {
        let is_too_long = value.as_ref().is_some_and(|value| value.len() > room);
        let status = if is_too_long { ocsm::Status::TooLong } else { *status };
        let value = value.as_deref().filter(|_| status == ocsm::Status::Done).or(message.value());
        assert_eq!((reply.status(), reply.value()), (Some(status), value));
        assert_eq!((reply.source(), reply.destination()), (message.destination(), message.source()));
        assert_eq!((reply.operation(), reply.key()), (message.operation(), message.key()));
        assert_eq!(reply.sequence_number(), message.sequence_number());
    }
    let messages = out[ocsm_header::SIZE..].chunks_exact(packet.header().form.message_bytes());
    messages.zip(&given).for_each(|(message, (status, value))| assert_zeros_behind(message, *status, value));
}

/// Of the value that was in a message before, nothing is left behind a shorter one.
fn assert_zeros_behind(message: &[u8], status: ocsm::Status, value: &Option<Vec<u8>>) {
    let Some(value) = value.as_ref().filter(|_| status == ocsm::Status::Done) else { return };
    let behind = message[ocsm_short::VALUE_OFFSET..].get(value.len()..);
    assert!(behind.is_none_or(|zeros| zeros.iter().all(|byte| *byte == 0)));
}

/// A header of any kind, and something behind it.
fn header_written(rng: &mut StdRng) -> Vec<u8> {
    use batch::{Kind, Refusal};
    let refusals = [Refusal::Malformed, Refusal::Session, Refusal::Identifier, Refusal::Table];
    let plain = [Kind::Hello, Kind::Token, Kind::Session, Kind::Request, Kind::Reply, Kind::ReplyEnd];
    let kind = if rng.random() { pick(rng, &plain) } else { Kind::Refused(pick(rng, &refusals)) };
    let header = batch::Header {
        session: rng.random(),
        identifier: rng.random(),
        table: rng.random(),
        count: rng.random(),
        attempt: rng.random(),
        position: rng.random(),
        ..batch::Header::of(kind)
    };
    [&header.bytes()[..], &random_bytes(rng, 20)].concat()
}

/// Whether a datagram has a header, which says all that its bytes do.
fn is_header(bytes: &[u8]) -> bool {
    match batch::Header::parse(bytes) {
        Ok((header, rest)) => {
            assert_eq!([&header.bytes()[..], rest].concat(), bytes);
            true
        }
        Err(batch::Malformed::Short(length)) => {
            assert!(length == bytes.len() && length < batch::Header::SIZE);
            false
        }
        Err(malformed) => {
            assert!(matches!(malformed, batch::Malformed::Kind { .. }) && bytes.len() >= batch::Header::SIZE);
            false
        }
    }
}

/// Operations as they stand in a datagram, and how many before them.
fn operations_written(rng: &mut StdRng) -> Vec<u8> {
    let bytes = similar_bytes(rng);
    let mut requests = batch::Requests::new(PAYLOAD_BYTES_MAX);
    for _ in 0..rng.random_range(0..20) {
        let (key, value) = (any_part(rng, &bytes), any_part(rng, &bytes));
        let how = rng.random_range(0..3);
        let operation = match rng.random_range(0..7) {
            0 => batch::Operation::Get(key),
            1 => batch::Operation::Put { key, value },
            2 => batch::Operation::Insert { key, value },
            3 => batch::Operation::Update { key, value },
            4 => batch::Operation::Delete(key),
            5 => batch::Operation::CompareAndSwap { key, expected: any_part(rng, &bytes), value },
            _ => batch::Operation::Range {
                from: key,
                pairs_max: rng.random(),
                floor_start: how == 1,
                backward: how == 2,
            },
        };
        assert!(requests.push(&operation));
    }
    counted(requests.datagram(batch::Header::of(batch::Kind::Request)))
}

/// Bytes whose parts are often alike, so that they are left out where they come again.
fn similar_bytes(rng: &mut StdRng) -> Vec<u8> {
    let length = 20 + random_length(rng).min(2000);
    (0..length).map(|_| rng.random_range(0..3)).collect()
}

fn any_part<'a>(rng: &mut StdRng, bytes: &'a [u8]) -> &'a [u8] {
    if rng.random_ratio(1, 20) {
        return &bytes[random_part(rng, bytes.len())];
    }
    let start = rng.random_range(0..16);
    &bytes[start..start + rng.random_range(0..4)]
}

/// What follows the header of a datagram, and how many that are before it.
fn counted(datagram: &[u8]) -> Vec<u8> {
    let (header, rest) = batch::Header::parse(datagram).unwrap();
    [&header.count.to_le_bytes()[..], rest].concat()
}

/// Whether bytes are a number and so many operations.
fn are_operations(bytes: &[u8]) -> bool {
    let Some((count, rest)) = bytes.split_first_chunk() else { return false };
    let count = u16::from_le_bytes(*count);
    let Some(operations) = all_of(count, rest, batch::Operations::new(count, rest)) else { return false };
    for operation in &operations {
        assert!(!matches!(operation, batch::Operation::Range { floor_start: true, backward: true, .. }));
    }
    let longer = [rest, &[0]].concat();
    assert_eq!(
        batch::Operations::new(count, &longer).nth(count.into()),
        Some(Err(batch::Malformed::Rest(1)))
    );
    let mut requests = batch::Requests::new(batch::Header::SIZE + rest.len());
    operations.iter().for_each(|operation| assert!(requests.push(operation), "it is no longer than it was"));
    assert_eq!(requests.writes(), operations.iter().any(batch::Operation::writes));
    let (header, rest) =
        batch::Header::parse(requests.datagram(batch::Header::of(batch::Kind::Hello))).unwrap();
    assert_eq!((header.kind, header.count), (batch::Kind::Request, count));
    assert!(batch::Operations::new(count, rest).eq(operations.into_iter().map(Ok)));
    true
}

/// All that a datagram holds, unless something of it is malformed: then it ends there.
fn all_of<T>(
    count: u16,
    bytes: &[u8],
    mut parsed: impl Iterator<Item = Result<T, batch::Malformed>>,
) -> Option<Vec<T>> {
    let mut all = Vec::new();
    for one in parsed.by_ref() {
        all.push(one);
        assert!(all.len() <= bytes.len() + 1 && all.len() <= usize::from(count) + 1);
    }
    assert!(parsed.next().is_none());
    let first_malformed = all.iter().position(Result::is_err);
    assert!(first_malformed.is_none_or(|index| index + 1 == all.len()), "goes on behind what is malformed");
    let all = all.into_iter().collect::<Result<Vec<_>, _>>().ok()?;
    assert_eq!(all.len(), usize::from(count));
    Some(all)
}

/// Items as they stand in a datagram, and how many before them.
fn items_written(rng: &mut StdRng) -> Vec<u8> {
    use batch::Item;
    let plain = [
        Item::Done { more: false },
        Item::Done { more: true },
        Item::Absent,
        Item::Exists,
        Item::Differs,
        Item::TooLarge,
        Item::NoRoom,
        Item::KeyLength,
        Item::OutOfMemory,
        Item::Failed,
    ];
    let bytes = similar_bytes(rng);
    let items = (0..rng.random_range(0..20)).map(|_| match rng.random_range(0..4) {
        0 => pick(rng, &plain),
        1 => Item::Found(any_part(rng, &bytes)),
        _ => Item::Pair { key: any_part(rng, &bytes), value: any_part(rng, &bytes) },
    });
    let items: Vec<_> = items.collect();
    counted(&reply(&items, PAYLOAD_BYTES_MAX))
}

/// A datagram of items, which has room for them.
fn reply(items: &[batch::Item<'_>], payload_bytes: usize) -> Vec<u8> {
    let (mut out, mut ends) = (Vec::new(), Vec::new());
    let request = batch::Header::of(batch::Kind::Request);
    let mut reply = batch::Reply::to(&request, payload_bytes, 1, &mut out, &mut ends);
    items.iter().for_each(|item| assert_eq!(reply.push(item, 0), batch::Room::Fits));
    reply.finish();
    assert_eq!(ends, [out.len()]);
    out
}

/// Whether bytes are a number and so many items.
fn are_items(bytes: &[u8]) -> bool {
    let Some((count, rest)) = bytes.split_first_chunk() else { return false };
    let count = u16::from_le_bytes(*count);
    let Some(items) = all_of(count, rest, batch::Items::new(count, rest)) else { return false };
    assert!(rest.first().is_none_or(|first| batch_item::padding((*first).into()) == 0));
    let longer = [rest, &[0]].concat();
    assert_eq!(batch::Items::new(count, &longer).nth(count.into()), Some(Err(batch::Malformed::Rest(1))));
    // It is no longer than it was.
    let datagram = reply(&items, batch::Header::SIZE + rest.len());
    let (header, rest) = batch::Header::parse(&datagram).unwrap();
    assert_eq!((header.kind, header.count), (batch::Kind::ReplyEnd, count));
    assert!(batch::Items::new(count, rest).eq(items.into_iter().map(Ok)));
    true
}

/// Bytes of an identifier, and of what happens to it.
const STEP_BYTES: usize = 9;
const FINISH: u8 = 1;

/// Identifiers of requests, some of them close together, and the end of each; the last one comes again.
fn identifiers_written(rng: &mut StdRng) -> Vec<u8> {
    let from = pick(rng, &[0, 1 << 32, u64::MAX - 200]);
    let mut identifiers: Vec<u64> =
        (0..rng.random_range(0..40)).map(|_| from + rng.random_range(0..199)).collect();
    identifiers.push(from + 200);
    let last = (from + 200).to_le_bytes();
    let step = |identifier: u64, what: u8| [&identifier.to_le_bytes()[..], &[what]].concat();
    let both = |identifier: &u64| [step(*identifier, 0), step(*identifier, FINISH)].concat();
    [&identifiers.iter().flat_map(both).collect::<Vec<_>>()[..], &last, &[0]].concat()
}

/// Whether a request comes again whose outcome is known. Each is what the window says it is.
fn comes_again_in_a_window(bytes: &[u8]) -> bool {
    let (mut window, mut newest, mut begun) = (batch::Window::default(), 0, BTreeMap::new());
    let mut comes_again = false;
    for (index, step) in bytes.chunks_exact(STEP_BYTES).enumerate() {
        let identifier = u64::from_le_bytes(*step.first_chunk().unwrap());
        if step[STEP_BYTES - 1] & FINISH != 0 {
            let outcome = index.to_le_bytes();
            window.finish(identifier, &outcome);
            begun.entry(identifier).and_modify(|known| *known = Some(outcome));
            continue;
        }
        let known = window.begin(identifier);
        if identifier == 0 || u128::from(identifier) + BATCH_WINDOW as u128 <= u128::from(newest) {
            assert_eq!(known, batch::Known::TooOld);
            continue;
        }
        newest = newest.max(identifier);
        match begun.get(&identifier) {
            None => assert_eq!(known, batch::Known::New),
            Some(None) => assert_eq!(known, batch::Known::Begun),
            Some(Some(outcome)) => assert_eq!(known, batch::Known::Done(outcome)),
        }
        comes_again |= matches!(known, batch::Known::Done(_));
        begun.entry(identifier).or_insert(None::<[u8; 8]>);
    }
    comes_again
}
