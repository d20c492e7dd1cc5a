//! Replies of RESP, and numbers.

use honeycomb_protocol::resp;
use rand::Rng;
use rand::rngs::StdRng;

use crate::feed::{feed, pick, random_bytes, random_length};

const ANSWER_TOKENS: &[u8] =
    b"+|-|:|_|$|=|*|~|%|#|0|1|2|3|-1|\r\n|\r|\n|_\r\n|$-1\r\n|*-1\r\n|*1\r\n|*2\r\n|%1\r\n|\
    ~2\r\n|:0\r\n|$0\r\n\r\n|=3\r\ntxt\r\n|2147483648|9223372036854775807|9223372036854775808|\
    99999999999999999999999|\xff|*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n";
const NUMBER_TOKENS: &[u8] = b"-|+|0|1|8|9|223372036|9223372036|854775807|854775808| |x";

#[test]
fn answers() {
    feed(ANSWER_TOKENS, answers_written, are_answers);
}

#[test]
fn numbers() {
    let write = |rng: &mut StdRng| resp::format_decimal(rng.random::<i64>() >> rng.random_range(0..64));
    feed(NUMBER_TOKENS, write, |_, bytes| is_number(bytes));
}

/// Replies of any version, one after the other.
fn answers_written(rng: &mut StdRng) -> Vec<u8> {
    let version = pick(rng, &[resp::Version::Resp2, resp::Version::Resp3]);
    let mut replies = resp::Replies::new(version);
    for _ in 0..rng.random_range(1..=4) {
        write_reply(rng, 4, &mut replies);
    }
    replies.to_vec()
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
        let parsed = resp::parse_reply(rest);
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
                assert_eq!(malformed, resp::MalformedReply(*first));
                return false;
            }
        }
    }
    !bytes.is_empty()
}

type Parsed = Result<Option<(resp::Reply, usize)>, resp::MalformedReply>;

/// As long as bytes are missing that a reply needs, there is none; and those behind it are no matter of it.
fn assert_follows_from_front(rng: &mut StdRng, bytes: &[u8], parsed: &Parsed) {
    let cut = rng.random_range(0..=bytes.len());
    let of_front = resp::parse_reply(&bytes[..cut]);
    match parsed {
        Ok(Some((_, length))) if cut < *length => assert_eq!(of_front, Ok(None)),
        Ok(Some(_)) => assert_eq!(&of_front, parsed),
        _ => assert!(of_front == Ok(None) || &of_front == parsed),
    }
}

/// How many replies a reply is, with those in it.
fn replies_in(answer: &resp::Reply) -> usize {
    1 + match answer {
        resp::Reply::Array(inner) => inner.iter().map(replies_in).sum(),
        resp::Reply::Map(inner) => inner.iter().map(|(key, value)| replies_in(key) + replies_in(value)).sum(),
        _ => 0,
    }
}

/// How many replies a reply is in, at most.
fn depth(answer: &resp::Reply) -> usize {
    match answer {
        resp::Reply::Array(inner) => 1 + inner.iter().map(depth).max().unwrap_or(0),
        resp::Reply::Map(inner) => {
            1 + inner.iter().flat_map(|(key, value)| [depth(key), depth(value)]).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// A reply that is written again is the same; and it is what arrived, if there is one way to write it.
fn assert_answer_written_again(answer: &resp::Reply, arrived: &[u8]) {
    let mut replies = resp::Replies::new(resp::Version::Resp3);
    write_answer(answer, &mut replies);
    assert!(
        !matches!(answer, resp::Reply::Bulk(_)) || b"=,".contains(&arrived[0]) || replies.front() == arrived
    );
    let Ok(parsed) = resp::parse_reply(replies.front()) else {
        // A byte that is no text is replaced by three, so a line may be too long now.
        return assert!(arrived.len() > (1 << 16) / 3);
    };
    let (again, length) = parsed.unwrap();
    assert_eq!(length, replies.front().len());
    // Of an error the line ends become spaces.
    let mut of_again = resp::Replies::new(resp::Version::Resp3);
    write_answer(&again, &mut of_again);
    assert_eq!(of_again.front(), replies.front());
}

fn write_answer(answer: &resp::Reply, replies: &mut resp::Replies) {
    match answer {
        resp::Reply::Simple(text) => replies.simple(text),
        resp::Reply::Error(text) => replies.error(text),
        resp::Reply::Integer(number) => replies.integer(*number),
        resp::Reply::Bulk(bytes) => replies.bulk(bytes),
        resp::Reply::Null => replies.null(),
        resp::Reply::Array(inner) => {
            replies.array(inner.len());
            inner.iter().for_each(|one| write_answer(one, replies));
        }
        resp::Reply::Map(inner) => {
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
    assert!(expected.is_none_or(|number| resp::format_decimal(number) == text));
    expected.is_some()
}
