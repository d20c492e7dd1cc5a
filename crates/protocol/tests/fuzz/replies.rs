//! Fuzz tests of the parsers of RESP replies and of numbers.

use honeycomb_protocol::resp;
use rand::Rng;
use rand::rngs::StdRng;

use crate::feed::{feed, pick, random_bytes, random_length};

const REPLY_TOKENS: &[u8] =
    b"+|-|:|_|$|=|*|~|%|#|0|1|2|3|-1|\r\n|\r|\n|_\r\n|$-1\r\n|*-1\r\n|*1\r\n|*2\r\n|%1\r\n|\
    ~2\r\n|:0\r\n|$0\r\n\r\n|=3\r\ntxt\r\n|2147483648|9223372036854775807|9223372036854775808|\
    99999999999999999999999|\xff|*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n";
const NUMBER_TOKENS: &[u8] = b"-|+|0|1|8|9|223372036|9223372036|854775807|854775808| |x";

#[test]
fn replies() {
    feed(REPLY_TOKENS, encoded_replies, are_replies);
}

#[test]
fn numbers() {
    let write = |rng: &mut StdRng| resp::format_decimal(rng.random::<i64>() >> rng.random_range(0..64));
    feed(NUMBER_TOKENS, write, |_, bytes| is_number(bytes));
}

/// Encoded replies of either version.
fn encoded_replies(rng: &mut StdRng) -> Vec<u8> {
    let version = pick(rng, &[resp::Version::Resp2, resp::Version::Resp3]);
    let mut replies = resp::Replies::new(version);
    for _ in 0..rng.random_range(1..=4) {
        write_reply(rng, 4, &mut replies);
    }
    replies.to_vec()
}

/// Appends a reply of at most this depth.
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

/// Returns whether the bytes are a sequence of complete replies.
fn are_replies(rng: &mut StdRng, bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let parsed = resp::parse_reply(rest);
        assert_follows_from_front(rng, rest, &parsed);
        match parsed {
            Ok(Some((reply, length))) => {
                assert!(length <= rest.len() && replies_in(&reply) * b"_\r\n".len() <= length);
                assert!(depth(&reply) <= 32, "deeper replies could overflow the stack of a reader");
                assert_encodes_again(&reply, &rest[..length]);
                rest = &rest[length..];
            }
            Ok(None) => return false,
            Err(malformed) => {
                assert_eq!(malformed, resp::MalformedReply(*first));
                return false;
            }
        }
    }
    !bytes.is_empty()
}

type Parsed = Result<Option<(resp::Reply, usize)>, resp::MalformedReply>;

/// A prefix of a reply is incomplete, and bytes after a reply do not change it.
fn assert_follows_from_front(rng: &mut StdRng, bytes: &[u8], parsed: &Parsed) {
    let cut = rng.random_range(0..=bytes.len());
    let of_front = resp::parse_reply(&bytes[..cut]);
    match parsed {
        Ok(Some((_, length))) if cut < *length => assert_eq!(of_front, Ok(None)),
        Ok(Some(_)) => assert_eq!(&of_front, parsed),
        _ => assert!(of_front == Ok(None) || &of_front == parsed),
    }
}

/// The number of replies in a reply, including itself.
fn replies_in(reply: &resp::Reply) -> usize {
    1 + match reply {
        resp::Reply::Array(inner) => inner.iter().map(replies_in).sum(),
        resp::Reply::Map(inner) => inner.iter().map(|(key, value)| replies_in(key) + replies_in(value)).sum(),
        _ => 0,
    }
}

/// The depth of a reply.
fn depth(reply: &resp::Reply) -> usize {
    match reply {
        resp::Reply::Array(inner) => 1 + inner.iter().map(depth).max().unwrap_or(0),
        resp::Reply::Map(inner) => {
            1 + inner.iter().flat_map(|(key, value)| [depth(key), depth(value)]).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// Encodes a reply again and checks that it is equal, and also that its bytes are, if the encoding is unique.
fn assert_encodes_again(reply: &resp::Reply, arrived: &[u8]) {
    let mut replies = resp::Replies::new(resp::Version::Resp3);
    encode(reply, &mut replies);
    assert!(
        !matches!(reply, resp::Reply::Bulk(_)) || b"=,".contains(&arrived[0]) || replies.front() == arrived
    );
    let Ok(parsed) = resp::parse_reply(replies.front()) else {
        // A byte that is not UTF-8 becomes three bytes, so a line may now exceed its limit.
        return assert!(arrived.len() > (1 << 16) / 3);
    };
    let (again, length) = parsed.unwrap();
    assert_eq!(length, replies.front().len());
    // Line breaks in errors become spaces.
    let mut of_again = resp::Replies::new(resp::Version::Resp3);
    encode(&again, &mut of_again);
    assert_eq!(of_again.front(), replies.front());
}

fn encode(reply: &resp::Reply, replies: &mut resp::Replies) {
    match reply {
        resp::Reply::Simple(text) => replies.simple(text),
        resp::Reply::Error(text) => replies.error(text),
        resp::Reply::Integer(number) => replies.integer(*number),
        resp::Reply::Bulk(bytes) => replies.bulk(bytes),
        resp::Reply::Null => replies.null(),
        resp::Reply::Array(inner) => {
            replies.array(inner.len());
            inner.iter().for_each(|one| encode(one, replies));
        }
        resp::Reply::Map(inner) => {
            replies.map(inner.len());
            inner.iter().flat_map(|(key, value)| [key, value]).for_each(|one| encode(one, replies));
        }
    }
}

/// Returns whether a text is a canonical number. The standard library also parses others, such as those with
/// leading zeros.
fn is_number(text: &[u8]) -> bool {
    let known = str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
    let expected = known.filter(|number| number.to_string().as_bytes() == text);
    assert_eq!(resp::parse_decimal(text), expected);
    assert!(expected.is_none_or(|number| resp::format_decimal(number) == text));
    expected.is_some()
}
