//! The client's parser of replies.

use crate::resp::number::parse_decimal;

/// A reply that a client has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A short text.
    Simple(String),
    /// An error.
    Error(String),
    /// A number.
    Integer(i64),
    /// A byte string, a verbatim text, or the digits of a floating-point number.
    Bulk(Vec<u8>),
    /// A null.
    Null,
    /// An array or a set.
    Array(Vec<Reply>),
    /// A map of RESP3, as keys with values.
    Map(Vec<(Reply, Reply)>),
}

/// The bytes are not a valid reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed reply of type {0:#04x}")]
pub struct MalformedReply(pub u8);

/// Most levels of nested replies.
const DEPTH_MAX: usize = 32;
/// Most bytes of the first line of a reply. A longer line is malformed.
const LINE_BYTES_MAX: usize = 1 << 16;

/// Parses the reply at the front of `bytes`. Returns it with its length in bytes, or `None` if it is
/// incomplete.
///
/// # Errors
/// [`MalformedReply`].
pub fn parse_reply(bytes: &[u8]) -> Result<Option<(Reply, usize)>, MalformedReply> {
    let mut rest = bytes;
    match answer(&mut rest, DEPTH_MAX) {
        Ok(answer) => Ok(Some((answer, bytes.len() - rest.len()))),
        Err(Trouble::Incomplete) => Ok(None),
        Err(Trouble::Malformed) => Err(MalformedReply(bytes[0])),
    }
}

enum Trouble {
    Incomplete,
    Malformed,
}

fn answer(rest: &mut &[u8], depth: usize) -> Result<Reply, Trouble> {
    let end = rest.windows(2).take(LINE_BYTES_MAX + 1).position(|pair| pair == b"\r\n");
    let is_short = rest.len() <= LINE_BYTES_MAX + 1;
    let end = end.ok_or(if is_short { Trouble::Incomplete } else { Trouble::Malformed })?;
    let (line, after) = (&rest[..end], &rest[end + 2..]);
    let (kind, text) = line.split_first().ok_or(Trouble::Malformed)?;
    *rest = after;
    let words = || String::from_utf8_lossy(text).into_owned();
    let number = || parse_decimal(text).ok_or(Trouble::Malformed);
    match kind {
        b'+' => Ok(Reply::Simple(words())),
        b'-' => Ok(Reply::Error(words())),
        b':' => number().map(Reply::Integer),
        b',' => Ok(Reply::Bulk(text.to_vec())),
        b'_' => Ok(Reply::Null),
        b'$' | b'*' if text == b"-1" => Ok(Reply::Null),
        b'$' => bulk(rest, number()?).map(|bytes| Reply::Bulk(bytes.to_vec())),
        b'=' => bulk(rest, number()?).map(|bytes| Reply::Bulk(bytes.get(4..).unwrap_or(bytes).to_vec())),
        b'*' | b'~' | b'>' => many(number()?, depth, |depth| answer(rest, depth)).map(Reply::Array),
        b'%' => {
            let pair = |depth| Ok((answer(rest, depth)?, answer(rest, depth)?));
            many(number()?, depth, pair).map(Reply::Map)
        }
        _ => Err(Trouble::Malformed),
    }
}

fn bulk<'a>(rest: &mut &'a [u8], length: i64) -> Result<&'a [u8], Trouble> {
    let length = usize::try_from(length).map_err(|_| Trouble::Malformed)?;
    let end = length.checked_add(2).ok_or(Trouble::Malformed)?;
    let (bytes, after) = rest.split_at_checked(end).ok_or(Trouble::Incomplete)?;
    *rest = after;
    bytes.strip_suffix(b"\r\n").ok_or(Trouble::Malformed)
}

fn many<T>(
    length: i64,
    depth: usize,
    mut one: impl FnMut(usize) -> Result<T, Trouble>,
) -> Result<Vec<T>, Trouble> {
    let depth = depth.checked_sub(1).ok_or(Trouble::Malformed)?;
    (0..length).map(|_| one(depth)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::resp::{Replies, Version};

    /// Examples of the protocol's documentation, of the types that this server replies with.
    #[test]
    fn replies_in_the_documentation_of_redis_are_parsed() {
        let (simple, error) =
            (|text: &str| Reply::Simple(text.into()), |text: &str| Reply::Error(text.into()));
        let (bulk, number) = (|text: &str| Reply::Bulk(text.into()), Reply::Integer);
        let numbers = |last: i64| (1..=last).map(number).collect::<Vec<_>>();
        let wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
        let examples = [
            ("+OK\r\n", simple("OK")),
            ("-Error message\r\n", error("Error message")),
            ("-ERR unknown command 'asdf'\r\n", error("ERR unknown command 'asdf'")),
            (&format!("-{wrong_type}\r\n"), error(wrong_type)),
            (":0\r\n", number(0)),
            (":1000\r\n", number(1000)),
            (",1.23\r\n", bulk("1.23")),
            ("$5\r\nhello\r\n", bulk("hello")),
            ("$0\r\n\r\n", bulk("")),
            ("$-1\r\n", Reply::Null),
            ("*0\r\n", Reply::Array(Vec::new())),
            ("*2\r\n$5\r\nhello\r\n$5\r\nworld\r\n", Reply::Array(vec![bulk("hello"), bulk("world")])),
            ("*3\r\n:1\r\n:2\r\n:3\r\n", Reply::Array(numbers(3))),
            (
                "*5\r\n:1\r\n:2\r\n:3\r\n:4\r\n$5\r\nhello\r\n",
                Reply::Array([numbers(4), vec![bulk("hello")]].concat()),
            ),
            (
                "*2\r\n*3\r\n:1\r\n:2\r\n:3\r\n*2\r\n+Hello\r\n-World\r\n",
                Reply::Array(vec![
                    Reply::Array(numbers(3)),
                    Reply::Array(vec![simple("Hello"), error("World")]),
                ]),
            ),
            ("*-1\r\n", Reply::Null),
            (
                "*3\r\n$5\r\nhello\r\n$-1\r\n$5\r\nworld\r\n",
                Reply::Array(vec![bulk("hello"), Reply::Null, bulk("world")]),
            ),
            ("_\r\n", Reply::Null),
            ("=15\r\ntxt:Some string\r\n", bulk("Some string")),
            (
                "%2\r\n+first\r\n:1\r\n+second\r\n:2\r\n",
                Reply::Map(vec![(simple("first"), number(1)), (simple("second"), number(2))]),
            ),
        ];
        for (bytes, expected) in examples {
            assert_eq!(parse_reply(bytes.as_bytes()), Ok(Some((expected, bytes.len()))), "{bytes:?}");
        }
    }

    #[test]
    fn encoded_replies_are_parsed() {
        let mut replies = Replies::new(Version::Resp3);
        replies.map(1);
        replies.bulk(b"key");
        replies.array(4);
        replies.integer(-3);
        replies.null();
        replies.error("ERR no");
        replies.verbatim("text");
        let inner =
            [Reply::Integer(-3), Reply::Null, Reply::Error("ERR no".into()), Reply::Bulk(b"text".to_vec())];
        let expected = Reply::Map(vec![(Reply::Bulk(b"key".to_vec()), Reply::Array(inner.into()))]);
        let bytes = replies.front();
        assert_eq!(parse_reply(bytes), Ok(Some((expected, bytes.len()))));
        for cut in 0..bytes.len() {
            assert_eq!(parse_reply(&bytes[..cut]), Ok(None));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_a_reply_or_rejected(bytes in "([*$%~:+_=-][0-9-]{0,2}|\r\n|\\PC){0,40}") {
            if let Ok(Some((_, length))) = parse_reply(bytes.as_bytes()) {
                prop_assert!(length <= bytes.len());
            }
        }
    }

    #[test]
    fn lines_at_and_above_their_limit() {
        let line = |bytes: usize| format!("+{}", "a".repeat(bytes - 1));
        let longest = format!("{}\r\n", line(LINE_BYTES_MAX));
        assert!(matches!(parse_reply(longest.as_bytes()), Ok(Some((_, length))) if length == longest.len()));
        assert_eq!(parse_reply(line(LINE_BYTES_MAX + 1).as_bytes()), Ok(None));
        let malformed = Err(MalformedReply(b'+'));
        assert_eq!(parse_reply(line(LINE_BYTES_MAX + 2).as_bytes()), malformed);
        let longer = format!("{}\r\n", line(LINE_BYTES_MAX + 1));
        assert_eq!(parse_reply(longer.as_bytes()), malformed);
    }

    #[test]
    fn the_nesting_of_arrays_is_limited() {
        assert_eq!(parse_reply(&b"*1\r\n".repeat(31)), Ok(None));
        assert_eq!(parse_reply(&b"*1\r\n".repeat(33)), Err(MalformedReply(b'*')));
        assert_eq!(parse_reply(b"?\r\n"), Err(MalformedReply(b'?')));
    }
}
