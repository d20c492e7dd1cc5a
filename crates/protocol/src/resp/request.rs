//! Requests: a server finds them at the front of what has arrived.
//!
//! ```text
//! *2\r\n  $3\r\nGET\r\n  $5\r\napple\r\n        or a line:  GET apple\r\n
//! ```

use std::ops::Range;

use crate::resp::inline;
use crate::resp::number::{decimal, parse_decimal};

/// What a server takes of one request. What is longer is refused before it has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Arguments of a request, its name included.
    pub arguments_max: usize,
    /// Bytes of an argument.
    pub argument_bytes_max: usize,
    /// Bytes of a request that is a line.
    pub line_bytes_max: usize,
    /// Bytes of a request as it arrives, all in all.
    pub request_bytes_max: usize,
}

impl Default for Limits {
    /// 1,048,576 arguments, of 512 MiB each, of 1 GiB all in all, as Redis; lines of 64 KiB.
    fn default() -> Self {
        Self {
            arguments_max: 1 << 20,
            argument_bytes_max: 512 << 20,
            line_bytes_max: 1 << 16,
            request_bytes_max: 1 << 30,
        }
    }
}

/// The bytes are no request, and where the next one begins nobody knows: the connection has to end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The number of arguments is no number, or too great.
    #[error("Protocol error: invalid multibulk length")]
    ArgumentCount,
    /// The length of an argument is no number, or too great.
    #[error("Protocol error: invalid bulk length")]
    ArgumentLength,
    /// An argument does not begin with a dollar sign.
    #[error("Protocol error: expected '$', got '{}'", (*.0 as char).escape_default())]
    NoDollar(u8),
    /// An argument does not end with the end of a line.
    #[error("Protocol error: an argument does not end where its length says")]
    ArgumentEnd,
    /// All in all it is too long.
    #[error("Protocol error: a request has at most {0} bytes")]
    RequestLength(usize),
    /// A line that is too long.
    #[error("Protocol error: too big inline request")]
    LineLength,
    /// A line with a quote that has no end.
    #[error("Protocol error: unbalanced quotes in request")]
    Quotes,
}

/// Where the arguments of a request are. Made to be used again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    arguments: Vec<Range<usize>>,
    /// The arguments of a line, whose quotes are resolved; those of an array stand where they arrived.
    unquoted: Vec<u8>,
    is_line: bool,
}

/// The first line of some bytes without its end, and where the bytes after it begin.
fn line(bytes: &[u8], max: usize) -> Result<Option<(&[u8], usize)>, ()> {
    match bytes.iter().take(max + 2).position(|&byte| byte == b'\n') {
        Some(end) => Ok(Some((bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]), end + 1))),
        None if bytes.len() > max + 1 => Err(()),
        None => Ok(None),
    }
}

/// Bytes of the longest line that holds a length.
const LENGTH_LINE_BYTES_MAX: usize = 32;

impl Request {
    /// Finds the request at the front of `bytes` and returns how many bytes it has; none if it has not all
    /// arrived. A request without arguments is an empty line, to be passed over.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Malformed> {
        self.arguments.clear();
        self.unquoted.clear();
        self.is_line = !bytes.starts_with(b"*");
        if self.is_line { self.parse_line(bytes, limits) } else { self.parse_array(bytes, limits) }
    }

    /// How many arguments there are, the name of the command included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arguments.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty()
    }

    /// The arguments of a request that was found in `bytes`.
    pub fn arguments<'a>(&'a self, bytes: &'a [u8]) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone {
        let from = if self.is_line { &self.unquoted } else { bytes };
        self.arguments.iter().map(move |range| &from[range.clone()])
    }

    fn parse_line(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Malformed> {
        let found = line(bytes, limits.line_bytes_max).map_err(|()| Malformed::LineLength)?;
        let Some((line, length)) = found else { return Ok(None) };
        inline::split(line, &mut self.unquoted, &mut self.arguments).ok_or(Malformed::Quotes)?;
        Ok(Some(length))
    }

    fn parse_array(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<usize>, Malformed> {
        let Some((count, mut at)) = length(&bytes[1..], limits.arguments_max, Malformed::ArgumentCount)?
        else {
            return Ok(None);
        };
        at += 1;
        for _ in 0..count {
            match bytes.get(at) {
                None => return Ok(None),
                Some(b'$') => {}
                Some(&other) => return Err(Malformed::NoDollar(other)),
            }
            let rest = &bytes[at + 1..];
            let Some((bytes_of, after)) = length(rest, limits.argument_bytes_max, Malformed::ArgumentLength)?
            else {
                return Ok(None);
            };
            let start = at + 1 + after;
            at = start + bytes_of + 2;
            if at > limits.request_bytes_max {
                return Err(Malformed::RequestLength(limits.request_bytes_max));
            }
            match bytes.get(start + bytes_of..at) {
                None => return Ok(None),
                Some(b"\r\n") => self.arguments.push(start..start + bytes_of),
                Some(_) => return Err(Malformed::ArgumentEnd),
            }
        }
        Ok(Some(at))
    }
}

/// The length at the front of some bytes, and where what follows its line begins. A negative one counts as 0
/// arguments, as in Redis; no argument may have one.
fn length(bytes: &[u8], max: usize, wrong: Malformed) -> Result<Option<(usize, usize)>, Malformed> {
    let Ok(found) = line(bytes, LENGTH_LINE_BYTES_MAX) else { return Err(wrong) };
    let Some((line, after)) = found else { return Ok(None) };
    let is_count = wrong == Malformed::ArgumentCount;
    match parse_decimal(line) {
        Some(number) if number < 0 && is_count => Ok(Some((0, after))),
        Some(number) => match usize::try_from(number) {
            Ok(number) if number <= max => Ok(Some((number, after))),
            _ => Err(wrong),
        },
        None => Err(wrong),
    }
}

/// Appends a request as a client sends it.
pub fn encode<A: AsRef<[u8]>>(arguments: &[A], out: &mut Vec<u8>) {
    let line = |kind: u8, number: usize, out: &mut Vec<u8>| {
        out.push(kind);
        out.extend_from_slice(&decimal(number as i64));
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

    /// Arguments, and bytes of the request.
    type Whole = (Vec<Vec<u8>>, usize);

    fn parsed(bytes: &[u8], limits: &Limits) -> Result<Option<Whole>, Malformed> {
        let mut request = Request::default();
        let length = request.parse(bytes, limits)?;
        Ok(length.map(|length| (request.arguments(bytes).map(<[u8]>::to_vec).collect(), length)))
    }

    fn refused(bytes: &[u8]) -> String {
        parsed(bytes, &SMALL).unwrap_err().to_string()
    }

    proptest! {
        #[test]
        fn what_a_client_sends_arrives(arguments in prop::collection::vec(any::<Vec<u8>>(), 0..9)) {
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
        fn any_bytes_are_a_request_or_none(bytes in "([*$][0-9-]{0,3}|\r\n|[a-z\"' ]|\\PC){0,40}") {
            if let Ok(Some((arguments, length))) = parsed(bytes.as_bytes(), &SMALL) {
                prop_assert!(length <= bytes.len());
                prop_assert!(arguments.iter().map(Vec::len).sum::<usize>() <= length);
            }
        }
    }

    #[test]
    fn lengths_at_below_and_above_their_limit() {
        assert!(parsed(b"*4\r\n", &SMALL).unwrap().is_none());
        assert_eq!(refused(b"*5\r\n"), "Protocol error: invalid multibulk length");
        assert_eq!(refused(b"*x\r\n"), "Protocol error: invalid multibulk length");
        assert_eq!(parsed(b"*-1\r\n", &SMALL), Ok(Some((vec![], 5))));
        let of = |bytes: &str| format!("*1\r\n${}\r\n{bytes}\r\n", bytes.len()).into_bytes();
        assert!(parsed(&of("12345678"), &SMALL).unwrap().is_some());
        assert_eq!(refused(&of("123456789")), "Protocol error: invalid bulk length");
        assert_eq!(refused(b"*1\r\n$-1\r\n"), "Protocol error: invalid bulk length");
        assert!(parsed(b"123456789 \r\n", &SMALL).unwrap().is_some());
        assert_eq!(refused(b"123456789 1\r\n"), "Protocol error: too big inline request");
    }

    #[test]
    fn requests_at_and_above_their_limit() {
        let longest = b"*4\r\n$8\r\n12345678\r\n$8\r\n12345678\r\n$8\r\n12345678\r\n$0\r\n\r\n";
        let limits = Limits { request_bytes_max: longest.len(), ..SMALL };
        assert_eq!(parsed(longest, &limits).unwrap().unwrap().1, longest.len());
        let limits = Limits { request_bytes_max: longest.len() - 1, ..SMALL };
        // It is refused as soon as its lengths are there.
        let arrived = &longest[..longest.len() - 2];
        assert_eq!(parsed(arrived, &limits), Err(Malformed::RequestLength(longest.len() - 1)));
    }

    #[test]
    fn what_is_no_request_is_named() {
        assert_eq!(refused(b"*1\r\n:1\r\n"), "Protocol error: expected '$', got ':'");
        assert_eq!(
            refused(b"*1\r\n$1\r\nabc"),
            "Protocol error: an argument does not end where its length says"
        );
        assert_eq!(refused(b"GET \"a\r\n"), "Protocol error: unbalanced quotes in request");
        assert_eq!(refused(&[b'*'; 40]), "Protocol error: invalid multibulk length");
    }

    #[test]
    fn a_line_is_a_request() {
        let words = vec![b"SET".to_vec(), b"a".to_vec(), b"b c".to_vec()];
        assert_eq!(parsed(b"SET  a 'b c'\nPING\r\n", &Limits::default()), Ok(Some((words, 13))));
        assert_eq!(parsed(b"\r\n", &SMALL), Ok(Some((vec![], 2))));
    }
}
