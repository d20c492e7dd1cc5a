//! Requests: a server finds them at the front of what has arrived.
//!
//! ```text
//! *2\r\n  $3\r\nGET\r\n  $5\r\napple\r\n        or a line:  GET apple\r\n
//! ```

use std::ops::{Index, Range};

use crate::resp::inline;
use crate::resp::number::decimal;

/// What a server takes of one request. What is longer is refused before it has arrived. Of a line only its
/// length is limited: it has no more words than bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Arguments of an array, the command's name included.
    pub arguments_max: usize,
    /// Bytes of an argument of an array.
    pub argument_bytes_max: usize,
    /// Bytes of a request that is a line.
    pub line_bytes_max: usize,
    /// Bytes of an array as it arrives, all in all.
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

/// Bytes of memory that go back to the system at once, which takes about 100 microseconds.
const SHRUNK_AT_ONCE: usize = 1 << 20;

/// Requests as they arrive: bytes, and where in them the arguments of those are that were found. Made to be
/// used again.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    bytes: Vec<u8>,
    /// Where the next request begins.
    start: usize,
    /// Of all requests that were found, one after the other.
    places: Vec<Range<usize>>,
    /// The words of requests that are lines, whose quotes are resolved; other arguments stand where they
    /// arrived.
    words: Vec<u8>,
    /// The array at the start, if it has begun to arrive: its places are the last ones.
    unfinished: Option<Unfinished>,
}

/// How far an array has arrived. It goes on from there: a client that sends a long one in small pieces would
/// have all of it parsed with each.
#[derive(Debug, Clone, Copy)]
struct Unfinished {
    /// Its first place.
    first: usize,
    /// Arguments that have not arrived.
    left: usize,
    /// Where the next of them begins.
    at: usize,
}

/// Where a request is that was found, and its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    start: usize,
    end: usize,
    first: usize,
    count: usize,
    is_line: bool,
}

/// The arguments of a request, the name of the command first.
#[derive(Debug, Clone, Copy)]
pub struct Arguments<'a> {
    bytes: &'a [u8],
    places: &'a [Range<usize>],
}

impl Requests {
    /// Takes in what has arrived.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next request; none if it has not all arrived. Empty lines and arrays are passed over.
    ///
    /// # Errors
    /// [`Malformed`].
    #[inline]
    pub fn take(&mut self, limits: &Limits) -> Result<Option<Found>, Malformed> {
        while let Some(kind) = self.bytes.get(self.start) {
            let start = self.start;
            let first = self.unfinished.map_or(self.places.len(), |unfinished| unfinished.first);
            let is_line = *kind != b'*';
            let end = if is_line { self.parse_line(limits)? } else { self.parse_array(limits)? };
            let Some(end) = end else { return Ok(None) };
            self.start = end;
            if self.places.len() > first {
                return Ok(Some(Found { start, end, first, count: self.places.len() - first, is_line }));
            }
        }
        Ok(None)
    }

    /// The arguments of a request that was found.
    #[must_use]
    #[inline]
    pub fn arguments(&self, found: &Found) -> Arguments<'_> {
        let bytes = if found.is_line { &self.words } else { &self.bytes };
        Arguments { bytes, places: &self.places[found.first..found.first + found.count] }
    }

    /// Has a request that was taken, and those after it, be taken once more. One that is to be taken again
    /// already changes nothing.
    pub fn take_back(&mut self, found: &Found) {
        if found.start < self.start {
            self.start = found.start;
            self.places.truncate(found.first);
            self.unfinished = None;
        }
    }

    /// Whether a request that was taken is to be taken once more.
    #[must_use]
    #[inline]
    pub fn is_taken_back(&self, found: &Found) -> bool {
        found.start >= self.start
    }

    /// Keeps a copy of a request that was found elsewhere.
    pub fn keep(&mut self, arguments: Arguments<'_>) -> Found {
        let (start, first) = (self.bytes.len(), self.places.len());
        for argument in arguments.iter() {
            self.places.push(self.bytes.len()..self.bytes.len() + argument.len());
            self.bytes.extend_from_slice(argument);
        }
        Found { start, end: self.bytes.len(), first, count: arguments.len(), is_line: false }
    }

    /// Forgets the requests that were taken, up to the one that is to be the next again, if there is one.
    pub fn forget(&mut self, next: Option<Found>) {
        let forgotten = next.map_or(self.start, |next| next.start);
        self.bytes.drain(..forgotten);
        self.start = 0;
        self.words.clear();
        self.unfinished = self.unfinished.filter(|_| next.is_none());
        match &mut self.unfinished {
            None => self.places.clear(),
            Some(unfinished) if forgotten > 0 => {
                self.places.drain(..unfinished.first);
                self.places
                    .iter_mut()
                    .for_each(|place| *place = place.start - forgotten..place.end - forgotten);
                *unfinished = Unfinished { first: 0, at: unfinished.at - forgotten, ..*unfinished };
            }
            // Only what was unfinished before is there.
            Some(_) => {}
        }
    }

    /// Bytes that have arrived and are not forgotten.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of memory that they take.
    #[must_use]
    pub fn capacity(&self) -> usize {
        let places = self.places.capacity() * size_of::<Range<usize>>();
        self.bytes.capacity() + self.words.capacity() + places
    }

    /// Gives memory back, down to so many bytes, if no bytes are left. Returns whether more can be given back
    /// by another call: to give back all memory of a long request at once would take long.
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

    /// Removes all requests, and gives memory back as [`Requests::shrink`] does.
    pub fn discard(&mut self) -> bool {
        self.bytes.clear();
        (self.start, self.unfinished) = (0, None);
        self.shrink(0)
    }

    /// Appends where the words of the line at the start are; returns where it ends.
    fn parse_line(&mut self, limits: &Limits) -> Result<Option<usize>, Malformed> {
        let rest = &self.bytes[self.start..];
        let length_max = limits.line_bytes_max.saturating_add(b"\r".len());
        let length = match rest.iter().take(length_max.saturating_add(1)).position(|&byte| byte == b'\n') {
            Some(length) => length,
            None if rest.len() > length_max => return Err(Malformed::LineLength),
            None => return Ok(None),
        };
        inline::split(&rest[..length], &mut self.words, &mut self.places).ok_or(Malformed::Quotes)?;
        Ok(Some(self.start + length + 1))
    }

    /// Appends where the arguments of the array at the start are; returns where it ends.
    #[inline]
    fn parse_array(&mut self, limits: &Limits) -> Result<Option<usize>, Malformed> {
        let Some(Unfinished { first, mut left, mut at }) = self.begun_array(limits)? else { return Ok(None) };
        let end_max = self.start.saturating_add(limits.request_bytes_max);
        while left > 0 {
            let Some(place) = argument(&self.bytes, at, end_max, limits)? else {
                self.unfinished = Some(Unfinished { first, left, at });
                return Ok(None);
            };
            at = place.end + 2;
            left -= 1;
            self.places.push(place);
        }
        Ok(Some(at))
    }

    /// How far the array at the start was parsed: none if its first line has not all arrived.
    #[inline]
    fn begun_array(&mut self, limits: &Limits) -> Result<Option<Unfinished>, Malformed> {
        if let Some(unfinished) = self.unfinished.take() {
            return Ok(Some(unfinished));
        }
        let found = argument_count(&self.bytes, self.start + 1, limits)?;
        Ok(found.map(|(left, at)| Unfinished { first: self.places.len(), left, at }))
    }
}

impl Found {
    /// Bytes of the request as it arrived.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.end - self.start
    }
}

impl<'a> Arguments<'a> {
    /// How many there are, the name of the command included.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// One of them, if there are so many.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        Some(&self.bytes[self.places.get(index)?.clone()])
    }

    /// All of them from one on.
    #[must_use]
    #[inline]
    pub fn from(&self, index: usize) -> Self {
        Self { places: &self.places[index.min(self.len())..], ..*self }
    }

    /// Some of them.
    #[must_use]
    #[inline]
    pub fn part(&self, part: Range<usize>) -> Self {
        Self { places: &self.places[part], ..*self }
    }

    /// All of them, in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        let bytes = self.bytes;
        self.places.iter().map(move |place| &bytes[place.clone()])
    }
}

impl Index<usize> for Arguments<'_> {
    type Output = [u8];

    #[inline]
    fn index(&self, index: usize) -> &[u8] {
        &self.bytes[self.places[index].clone()]
    }
}

/// Digits of the longest length.
const LENGTH_DIGITS_MAX: usize = 20;

/// How many arguments the line at `at` says, and where they begin. A negative number counts as none, as in
/// Redis.
#[inline]
fn argument_count(bytes: &[u8], at: usize, limits: &Limits) -> Result<Option<(usize, usize)>, Malformed> {
    let found = match bytes.get(at) {
        Some(b'-') => length(bytes, at + 1, usize::MAX).map(|found| found.map(|(_, after)| (0, after))),
        _ => length(bytes, at, limits.arguments_max),
    };
    found.ok_or(Malformed::ArgumentCount)
}

/// Where the argument is whose line is at `at`; none if it has not all arrived.
#[inline]
fn argument(
    bytes: &[u8],
    at: usize,
    end_max: usize,
    limits: &Limits,
) -> Result<Option<Range<usize>>, Malformed> {
    match bytes.get(at) {
        None => return Ok(None),
        Some(b'$') => {}
        Some(&other) => return Err(Malformed::NoDollar(other)),
    }
    let found = length(bytes, at + 1, limits.argument_bytes_max).ok_or(Malformed::ArgumentLength)?;
    let Some((argument_bytes, begin)) = found else { return Ok(None) };
    // Where there are no limits, it may say that it ends beyond all memory.
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

/// The length in the line at `at`, and where what follows the line begins; `Some(None)` if it has not all
/// arrived. None if it is no length, has needless zeros, or is above `max`.
#[inline]
fn length(bytes: &[u8], at: usize, max: usize) -> Option<Option<(usize, usize)>> {
    let rest = bytes.get(at..)?;
    let (length, after) = match *rest {
        // Most have one digit or two.
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

/// The same of a line at the front of `bytes`, of any number of digits, be they all there or not.
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
        let mut requests = Requests::default();
        requests.receive(bytes);
        let found = requests.take(limits)?;
        let arguments = |found: &Found| requests.arguments(found).iter().map(<[u8]>::to_vec).collect();
        Ok(found.map(|found| (arguments(&found), found.bytes())))
    }

    fn refused(bytes: &[u8]) -> String {
        parsed(bytes, &SMALL).unwrap_err().to_string()
    }

    proptest! {
        #[test]
        fn what_a_client_sends_arrives(arguments in prop::collection::vec(any::<Vec<u8>>(), 1..9)) {
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
        assert_eq!(refused(b"*01\r\n"), "Protocol error: invalid multibulk length");
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

    /// All arguments of all requests, of bytes that arrive in pieces.
    fn in_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Vec<Vec<u8>>>, Requests) {
        let (mut requests, mut all) = (Requests::default(), Vec::new());
        for piece in pieces {
            requests.receive(piece);
            while let Some(found) = requests.take(&Limits::default()).unwrap() {
                all.push(requests.arguments(&found).iter().map(<[u8]>::to_vec).collect());
            }
            requests.forget(None);
        }
        (all, requests)
    }

    proptest! {
        #[test]
        fn requests_arrive_in_pieces_of_any_length(
            all in prop::collection::vec(prop::collection::vec(any::<Vec<u8>>(), 1..5), 1..5),
            piece in 1_usize..20,
        ) {
            let mut bytes = b"\r\n".to_vec();
            all.iter().for_each(|arguments| encode(arguments, &mut bytes));
            let (found, requests) = in_pieces(bytes.chunks(piece));
            prop_assert_eq!(found, all);
            prop_assert!(requests.is_empty());
        }
    }

    #[test]
    fn an_array_in_small_pieces_is_parsed_once() {
        let arguments = vec![b"a"; 1 << 16];
        let mut bytes = Vec::new();
        encode(&arguments, &mut bytes);
        // Were it parsed from its start with each, that would be sixteen thousand million arguments.
        let (found, _) = in_pieces(bytes.chunks(1));
        assert_eq!(found, [arguments]);
    }

    #[test]
    fn what_has_begun_to_arrive_is_found_behind_a_request_that_comes_again() {
        let mut requests = Requests::default();
        requests.receive(b"*1\r\n$1\r\na\r\n*2\r\n$1\r\nb\r\n$1\r\n");
        let first = requests.take(&SMALL).unwrap().unwrap();
        assert_eq!(requests.take(&SMALL), Ok(None));
        requests.forget(Some(first));
        requests.receive(b"c\r\n");
        for expected in [vec![&b"a"[..]], vec![b"b", b"c"]] {
            let found = requests.take(&SMALL).unwrap().unwrap();
            assert!(requests.arguments(&found).iter().eq(expected));
        }
    }

    #[test]
    fn requests_are_read_as_the_documentation_of_the_protocol_shows() {
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
    fn requests_without_arguments_are_passed_over() {
        let ping = Ok(Some((vec![b"PING".to_vec()], 6)));
        for empty in ["\r\n", "*0\r\n", "*-1\r\n", "\n*-2\n  \r\n"] {
            assert_eq!(parsed(format!("{empty}PING\r\n").as_bytes(), &SMALL), ping, "{empty:?}");
            assert_eq!(parsed(empty.as_bytes(), &SMALL), Ok(None));
        }
    }

    #[test]
    fn requests_stay_where_they_are_until_they_are_forgotten() {
        let mut requests = Requests::default();
        requests.receive(b"GET 'a b'\r\n*2\r\n$3\r\nGET\r\n$1\r\nc\r\nGET");
        let next = |requests: &mut Requests| requests.take(&Limits::default()).unwrap();
        let (first, second) = (next(&mut requests).unwrap(), next(&mut requests).unwrap());
        assert_eq!(
            (&requests.arguments(&first)[1], &requests.arguments(&second)[1]),
            (&b"a b"[..], &b"c"[..])
        );
        assert_eq!(next(&mut requests), None);
        requests.forget(Some(second));
        let again = next(&mut requests).unwrap();
        assert_eq!(&requests.arguments(&again)[1], b"c");
        requests.forget(None);
        requests.receive(b" d\n");
        let third = next(&mut requests).unwrap();
        assert_eq!(requests.arguments(&third).from(1).iter().collect::<Vec<_>>(), [b"d"]);
        let mut kept = Requests::default();
        let copies = [kept.keep(requests.arguments(&third)), kept.keep(requests.arguments(&third))];
        assert!(copies.iter().all(|copy| kept.arguments(copy).iter().eq([&b"GET"[..], b"d"])));
    }
}
