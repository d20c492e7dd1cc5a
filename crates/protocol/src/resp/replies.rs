//! The server's encoder of replies.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::resp::chunk_pool::{CHUNK_CAPACITY, ChunkPool};
use crate::resp::short_reply::{ELEMENT_BYTES, LINE_NUMBER_MAX, Line, SHORT_BYTES_MAX, ShortReply};

/// The version of the protocol that a client has selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// The version that every client supports.
    #[default]
    Resp2,
    /// The version with types for nulls, maps, sets, numbers and booleans.
    Resp3,
}

/// Encoded replies, in order. A type that RESP2 lacks is encoded as its nearest equivalent.
///
/// ```text
///   full:  [ sent | chunk ] [ chunk ] [ chunk ]   then   bytes: [ chunk being written ]
/// ```
///
/// Bytes never move from one chunk to another. So the server writes, sends and frees a reply of any length
/// one chunk at a time, and no step takes longer for a longer reply.
#[derive(Debug, Clone)]
pub struct Replies {
    /// Complete chunks, in the order in which they are sent.
    full: VecDeque<Vec<u8>>,
    /// The sums of their lengths and of their capacities.
    full_bytes: usize,
    full_capacity: usize,
    /// The chunk that is being written.
    bytes: Vec<u8>,
    /// The number of bytes of the first chunk that were sent.
    sent: usize,
    version: Version,
    bytes_max: usize,
    /// Whether bytes of a reply were omitted because of `bytes_max`.
    incomplete: bool,
    /// Whether all bytes of the chunk that is being written are beyond `bytes_max`.
    is_beyond: bool,
    /// The source of new chunks, which also receives the unused ones.
    pool: Option<Arc<ChunkPool>>,
}

/// Most bytes that are appended to a chunk at once.
const PART_BYTES: usize = 64 << 10;
/// Bytes at which a chunk is complete: one more element and its part still fit into it. The first chunk of
/// replies grows gradually and is complete at [`PART_BYTES`].
const CHUNK_BYTES: usize = CHUNK_CAPACITY - 2 * PART_BYTES;

/// Most bytes of a bulk string that is written to room of [`BULK_ROOM`] bytes.
const BULK_BYTES: usize = 32;
const BULK_ROOM: usize = BULK_BYTES + ELEMENT_BYTES;

/// The position of an array whose length is not known yet.
#[derive(Debug)]
#[must_use = "an array ends with its length"]
pub struct OpenArray(usize);

impl Default for Replies {
    fn default() -> Self {
        Self::new(Version::default())
    }
}

impl Replies {
    /// Creates empty replies of a version, without a limit on their bytes.
    #[must_use]
    pub fn new(version: Version) -> Self {
        Self {
            full: VecDeque::new(),
            full_bytes: 0,
            full_capacity: 0,
            bytes: Vec::new(),
            sent: 0,
            version,
            bytes_max: usize::MAX,
            incomplete: false,
            is_beyond: false,
            pool: None,
        }
    }

    /// Creates empty replies that allocate their chunks from a pool.
    #[must_use]
    pub fn with_pool(pool: Arc<ChunkPool>) -> Self {
        Self { pool: Some(pool), ..Self::default() }
    }

    /// Creates empty replies of the same version and with the same pool.
    #[must_use]
    pub fn new_alike(&self) -> Self {
        Self { pool: self.pool.clone(), ..Self::new(self.version) }
    }

    /// Sets the limit on the bytes. Strings that exceed the limit are omitted, and other elements beyond it
    /// take at most one more chunk of memory: the replies are then incomplete, and the caller must remove
    /// them.
    pub fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    /// Returns whether the replies exceed the limit.
    #[must_use]
    pub fn exceed_limit(&self) -> bool {
        self.incomplete || self.len() > self.bytes_max
    }

    /// Returns the version of later replies.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Sets the version of later replies.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// Returns the next bytes to send: the contiguous bytes at the front.
    #[must_use]
    #[inline]
    pub fn front(&self) -> &[u8] {
        &self.full.front().unwrap_or(&self.bytes)[self.sent..]
    }

    /// Returns a copy of all bytes.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let chunks: Vec<&[u8]> = self.full.iter().chain([&self.bytes]).map(Vec::as_slice).collect();
        chunks.concat().split_off(self.sent)
    }

    /// Returns the number of bytes.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.full_bytes + self.bytes.len() - self.sent
    }

    /// Returns whether there are no bytes.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes the first `sent` bytes and frees the chunks that they fill.
    pub fn consume(&mut self, sent: usize) {
        debug_assert!(sent <= self.len());
        self.sent += sent;
        while self.full.front().is_some_and(|chunk| chunk.len() <= self.sent) {
            let Some(bytes) = self.pop_front() else { return };
            self.sent -= bytes;
        }
        if self.is_empty() {
            self.bytes.clear();
            self.sent = 0;
        } else if self.full.is_empty() && self.sent > self.bytes.len() / 2 {
            // A byte moves at most once, even if the client receives few bytes at a time.
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Appends other replies of the same version. Does not copy long replies.
    pub fn append(&mut self, mut others: Self) {
        self.incomplete |= others.incomplete;
        self.is_beyond = false;
        if self.is_empty() && self.bytes.capacity() <= others.bytes.capacity() {
            std::mem::swap(&mut self.bytes, &mut others.bytes);
            std::mem::swap(&mut self.sent, &mut others.sent);
        } else if others.full.is_empty() && others.len() <= PART_BYTES {
            self.make_room();
            self.extend(others.front());
            return;
        } else {
            // Only the first chunk may contain sent bytes.
            others.drop_sent();
            self.complete_chunk();
            std::mem::swap(&mut self.bytes, &mut others.bytes);
        }
        self.full_bytes += others.full_bytes;
        self.full_capacity += others.full_capacity;
        self.full.append(&mut others.full);
    }

    /// Appends replies that other replies have encoded.
    pub fn append_encoded(&mut self, replies: &[u8]) {
        self.make_room();
        self.extend(replies);
    }

    /// Returns the bytes of memory that the replies occupy.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.full_capacity + self.bytes.capacity()
    }

    /// If there are no replies, frees memory until at most `kept` bytes remain.
    pub fn shrink(&mut self, kept: usize) {
        if self.is_empty() && self.bytes.capacity() >= CHUNK_CAPACITY {
            let chunk = std::mem::take(&mut self.bytes);
            self.free(chunk);
        } else if self.is_empty() {
            self.bytes.shrink_to(kept);
        }
    }

    /// Removes a chunk. Returns whether there may be more: freeing a long reply in one call would take long.
    pub fn discard_chunk(&mut self) -> bool {
        self.sent = 0;
        let more = self.pop_front().is_some();
        if !more {
            let last = std::mem::take(&mut self.bytes);
            self.free(last);
        }
        more
    }

    /// Removes everything after the first `bytes` bytes, and thereby later replies.
    pub fn truncate(&mut self, bytes: usize) {
        while self.sent + bytes < self.full_bytes {
            let Some(chunk) = self.full.pop_back() else { break };
            self.full_bytes -= chunk.len();
            self.full_capacity -= chunk.capacity();
            let last = std::mem::replace(&mut self.bytes, chunk);
            self.free(last);
        }
        self.bytes.truncate(self.sent + bytes - self.full_bytes);
        (self.incomplete, self.is_beyond) = (false, false);
    }

    /// Appends a simple string, which has no line breaks.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// Appends the reply `OK`.
    #[inline]
    pub fn ok(&mut self) {
        self.make_room();
        self.bytes.extend_from_slice(b"+OK\r\n");
    }

    /// Appends an error: an upper-case word for programs, and a sentence. Line breaks become spaces.
    pub fn error(&mut self, message: &str) {
        let message = message.replace(['\r', '\n'], " ");
        self.line(b'-', message.as_bytes());
    }

    /// Appends an integer.
    pub fn integer(&mut self, number: i64) {
        self.line(b':', itoa::Buffer::new().format(number).as_bytes());
    }

    /// Appends a bulk string.
    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        if self.is_short_bulk(bytes) {
            return self.short_bulk(bytes);
        }
        self.length(b'$', bytes.len());
        self.rest_of_bulk(bytes);
    }

    /// Appends the bytes of a string and its end, unless they exceed the limit.
    #[inline]
    fn rest_of_bulk(&mut self, bytes: &[u8]) {
        if self.len() + bytes.len() + 2 > self.bytes_max {
            self.incomplete = true;
            return;
        }
        self.extend(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    #[inline(always)]
    fn is_short_bulk(&self, bytes: &[u8]) -> bool {
        bytes.len() <= BULK_BYTES && self.len() + BULK_ROOM <= self.bytes_max
    }

    /// Appends a bulk string to room that exists already, for which one check of the capacity suffices.
    #[inline(always)]
    fn short_bulk(&mut self, bytes: &[u8]) {
        self.make_room();
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; BULK_ROOM]);
        let mut reply = ShortReply::new(&mut self.bytes[start..]);
        reply.bulk(bytes);
        let end = start + reply.len();
        self.bytes.truncate(end);
    }

    /// Appends a short reply of at most `elements` elements, whose strings have at most `bytes` bytes
    /// together: `write` writes it in a fraction of the time of single elements. Returns `None`, and appends
    /// nothing, if the reply may be long or exceed the limit.
    #[inline]
    pub fn short<T>(
        &mut self,
        (elements, bytes): (usize, usize),
        write: impl FnOnce(&mut ShortReply<'_>) -> T,
    ) -> Option<T> {
        let most = elements.saturating_mul(ELEMENT_BYTES).saturating_add(bytes);
        if most > SHORT_BYTES_MAX || self.len() + most > self.bytes_max {
            return None;
        }
        self.make_room();
        let start = self.bytes.len();
        self.bytes.resize(start + most, 0);
        let mut reply = ShortReply::new(&mut self.bytes[start..]);
        let written = write(&mut reply);
        let end = start + reply.len();
        self.bytes.truncate(end);
        Some(written)
    }

    /// Begins a bulk string of `length` bytes, whose parts [`Replies::part_of_bulk`] appends. Returns whether
    /// it fits.
    pub fn begin_bulk(&mut self, length: usize) -> bool {
        self.length(b'$', length);
        self.incomplete |= self.len() + length + 2 > self.bytes_max;
        !self.incomplete
    }

    /// Appends a part of a bulk string: the bytes that `write` appends to its buffer.
    pub fn part_of_bulk<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        self.make_room();
        write(&mut self.bytes)
    }

    /// Ends a bulk string.
    pub fn end_bulk(&mut self) {
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Appends a null.
    pub fn null(&mut self) {
        let null: &[u8] = if self.version == Version::Resp3 { b"_\r\n" } else { b"$-1\r\n" };
        self.make_room();
        self.bytes.extend_from_slice(null);
    }

    /// Appends a null in place of an array.
    pub fn null_array(&mut self) {
        let null: &[u8] = if self.version == Version::Resp3 { b"_\r\n" } else { b"*-1\r\n" };
        self.make_room();
        self.bytes.extend_from_slice(null);
    }

    /// Appends a bulk string or a null.
    // Inlined into the loop of a batch.
    #[inline(always)]
    pub fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) if self.is_short_bulk(bytes) => self.short_bulk(bytes),
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// Begins an array. Its `length` elements follow.
    pub fn array(&mut self, length: usize) {
        self.length(b'*', length);
    }

    /// Begins an array whose length is not known yet. [`Replies::end_array`] inserts it.
    pub fn begin_array(&mut self) -> OpenArray {
        OpenArray(self.len())
    }

    /// Ends an array and inserts its length.
    pub fn end_array(&mut self, array: OpenArray, length: usize) {
        let mut header = Self::new(self.version);
        header.array(length);
        self.insert(array, &header);
    }

    /// Inserts a few bytes of other replies where an array began.
    pub fn insert(&mut self, OpenArray(start): OpenArray, others: &Self) {
        let mut start = self.sent + start;
        let within = self.full.iter_mut().find(|chunk| {
            let is_within = start <= chunk.len();
            start -= if is_within { 0 } else { chunk.len() };
            is_within
        });
        let Some(chunk) = within else {
            drop(self.bytes.splice(start..start, others.bytes.iter().copied()));
            return;
        };
        let capacity = chunk.capacity();
        self.full_bytes += others.bytes.len();
        drop(chunk.splice(start..start, others.bytes.iter().copied()));
        self.full_capacity += chunk.capacity() - capacity;
    }

    /// Begins a map. Its `pairs` pairs follow, each a key and a value.
    pub fn map(&mut self, pairs: usize) {
        match self.version {
            Version::Resp2 => self.length(b'*', 2 * pairs),
            Version::Resp3 => self.length(b'%', pairs),
        }
    }

    /// Appends a floating-point number.
    pub fn double(&mut self, number: f64) {
        let text = number.to_string();
        match self.version {
            Version::Resp2 => self.bulk(text.as_bytes()),
            Version::Resp3 => self.line(b',', text.as_bytes()),
        }
    }

    /// Begins a set. Its `length` elements follow.
    pub fn set(&mut self, length: usize) {
        self.length(if self.version == Version::Resp3 { b'~' } else { b'*' }, length);
    }

    /// Begins a push message, which RESP3 has. Its `length` elements follow.
    pub fn push(&mut self, length: usize) {
        self.length(b'>', length);
    }

    /// Appends a verbatim string.
    pub fn verbatim(&mut self, text: &str) {
        match self.version {
            Version::Resp2 => self.bulk(text.as_bytes()),
            Version::Resp3 => {
                self.length(b'=', text.len() + 4);
                self.bytes.extend_from_slice(b"txt:");
                self.rest_of_bulk(text.as_bytes());
            }
        }
    }

    /// Ends a verbatim string that consists of all [parts](Self::part_of_bulk) since the begin of an array
    /// at its place, and inserts its length. So no copy of a long text is necessary.
    pub fn end_verbatim(&mut self, begin: OpenArray) {
        let length = self.len() - begin.0;
        let mut header = Self::new(self.version);
        match self.version {
            Version::Resp2 => header.length(b'$', length),
            Version::Resp3 => {
                header.length(b'=', length + 4);
                header.bytes.extend_from_slice(b"txt:");
            }
        }
        self.insert(begin, &header);
        self.end_bulk();
    }

    #[inline]
    fn length(&mut self, kind: u8, length: usize) {
        self.make_room();
        if length <= LINE_NUMBER_MAX {
            let line = Line::new(kind, length);
            let end = self.bytes.len() + line.length;
            self.bytes.extend_from_slice(&line.bytes);
            self.bytes.truncate(end);
        } else {
            self.line(kind, itoa::Buffer::new().format(length).as_bytes());
        }
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.make_room();
        self.bytes.push(kind);
        self.extend(text);
        self.bytes.extend_from_slice(b"\r\n");
    }

    #[inline]
    fn extend(&mut self, bytes: &[u8]) {
        match bytes.len() {
            0..=PART_BYTES => self.bytes.extend_from_slice(bytes),
            _ => self.extend_in_parts(bytes),
        }
    }

    #[cold]
    fn extend_in_parts(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(PART_BYTES) {
            self.make_room();
            self.bytes.extend_from_slice(part);
        }
    }

    /// Completes the current chunk if it is long enough.
    #[inline]
    fn make_room(&mut self) {
        let length = self.bytes.len();
        if length >= PART_BYTES && (length >= CHUNK_BYTES || self.bytes.capacity() < CHUNK_CAPACITY) {
            self.begin_chunk();
        }
    }

    /// Completes the current chunk and begins the next one. If all of the current one is beyond the limit, it
    /// is written anew: the caller removes these bytes, and until then the memory must not grow.
    #[cold]
    fn begin_chunk(&mut self) {
        if self.is_beyond {
            return self.bytes.clear();
        }
        self.is_beyond = self.exceed_limit();
        self.incomplete |= self.is_beyond;
        self.complete_chunk();
        self.bytes = match &self.pool {
            Some(pool) => pool.take(),
            None => Vec::with_capacity(CHUNK_CAPACITY),
        };
    }

    #[cold]
    fn complete_chunk(&mut self) {
        self.full_bytes += self.bytes.len();
        self.full_capacity += self.bytes.capacity();
        self.full.push_back(std::mem::take(&mut self.bytes));
    }

    /// Frees the first complete chunk, if any. Returns its length.
    fn pop_front(&mut self) -> Option<usize> {
        let chunk = self.full.pop_front()?;
        let bytes = chunk.len();
        self.full_bytes -= bytes;
        self.full_capacity -= chunk.capacity();
        self.free(chunk);
        Some(bytes)
    }

    fn free(&self, chunk: Vec<u8>) {
        if let Some(pool) = &self.pool {
            pool.put(chunk);
        }
    }

    /// Removes the sent bytes from the first chunk.
    fn drop_sent(&mut self) {
        let sent = std::mem::take(&mut self.sent);
        match self.full.front_mut() {
            Some(chunk) => {
                chunk.drain(..sent);
                self.full_bytes -= sent;
            }
            None => drop(self.bytes.drain(..sent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(version: Version, write: impl Fn(&mut Replies)) -> String {
        let mut replies = Replies::new(version);
        write(&mut replies);
        String::from_utf8(replies.bytes).unwrap()
    }

    #[test]
    fn each_version_uses_its_own_types() {
        type Write = fn(&mut Replies);
        let cases: [(Write, &str, &str); 14] = [
            (|r| r.simple("OK"), "+OK\r\n", "+OK\r\n"),
            (|r| r.error("ERR a\r\nb"), "-ERR a  b\r\n", "-ERR a  b\r\n"),
            (|r| r.integer(-7), ":-7\r\n", ":-7\r\n"),
            (|r| r.bulk(b"a\r\nb"), "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"),
            (Replies::null, "$-1\r\n", "_\r\n"),
            (
                |r| [0, 9, 10, 99].iter().for_each(|n| r.array(*n)),
                "*0\r\n*9\r\n*10\r\n*99\r\n",
                "*0\r\n*9\r\n*10\r\n*99\r\n",
            ),
            (|r| r.array(100), "*100\r\n", "*100\r\n"),
            (Replies::null_array, "*-1\r\n", "_\r\n"),
            (|r| r.array(2), "*2\r\n", "*2\r\n"),
            (|r| r.map(2), "*4\r\n", "%2\r\n"),
            (|r| r.set(2), "*2\r\n", "~2\r\n"),
            (|r| r.double(-2.5), "$4\r\n-2.5\r\n", ",-2.5\r\n"),
            (|r| r.verbatim("hi"), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"),
            (
                |r| {
                    let text = r.begin_array();
                    ["h", "i"].iter().for_each(|part| r.part_of_bulk(|bytes| bytes.extend(part.bytes())));
                    r.end_verbatim(text);
                },
                "$2\r\nhi\r\n",
                "=6\r\ntxt:hi\r\n",
            ),
        ];
        for (write, resp2, resp3) in cases {
            assert_eq!(written(Version::Resp2, write), resp2);
            assert_eq!(written(Version::Resp3, write), resp3);
        }
    }

    #[test]
    fn an_array_can_end_with_its_length() {
        for length in [0, 2, 300] {
            let mut expected = Replies::default();
            expected.integer(1);
            let mut deferred = expected.clone();
            expected.array(length);
            let array = deferred.begin_array();
            for replies in [&mut expected, &mut deferred] {
                (0..length).for_each(|_| replies.bulk(b"word"));
            }
            deferred.end_array(array, length);
            assert_eq!(deferred.front(), expected.front());
        }
    }

    #[test]
    fn strings_beyond_the_limit_are_omitted() {
        let mut replies = Replies::default();
        replies.set_bytes_max(10);
        replies.bulk(b"abcd");
        assert_eq!((replies.front(), replies.exceed_limit()), (&b"$4\r\nabcd\r\n"[..], false));
        replies.truncate(0);
        replies.bulk(b"abcde");
        assert!(replies.exceed_limit() && replies.front().len() <= 10);
        replies.truncate(0);
        assert!(!replies.exceed_limit());
        for version in [Version::Resp2, Version::Resp3] {
            replies.truncate(0);
            replies.set_version(version);
            replies.verbatim("eleven bytes");
            assert!(replies.exceed_limit() && replies.len() <= 10, "{version:?}");
        }
    }

    #[test]
    fn elements_beyond_the_limit_take_no_memory() {
        let elements: [fn(&mut Replies); 7] = [
            |replies| replies.integer(1),
            |replies| replies.bulk(&[b'v'; 99]),
            |replies| replies.simple("text"),
            |replies| replies.array(1000),
            Replies::ok,
            Replies::null,
            Replies::null_array,
        ];
        for limit in [0, 1000, CHUNK_BYTES, 2 * CHUNK_BYTES + 7] {
            for append in elements {
                let mut replies = Replies::default();
                replies.integer(7);
                replies.set_bytes_max(limit);
                (0..1_000_000).for_each(|_| append(&mut replies));
                assert!(replies.exceed_limit());
                assert!(replies.capacity() <= limit + 3 * CHUNK_CAPACITY, "{}", replies.capacity());
                replies.truncate(4);
                assert_eq!((replies.to_vec(), replies.exceed_limit()), (b":7\r\n".to_vec(), limit < 4));
                append(&mut replies);
                assert!(replies.len() > 4 && replies.to_vec().starts_with(b":7\r\n"));
            }
        }
    }

    #[test]
    fn bulk_strings_of_all_lengths() {
        for length in (0..=120).chain([998, 999, 1000, 9999, 10_000, 70_000]) {
            let (mut replies, string) = (Replies::default(), "v".repeat(length));
            replies.bulk(string.as_bytes());
            replies.bulk_or_null(Some(string.as_bytes()));
            replies.array(length);
            let bulk = format!("${length}\r\n{string}\r\n");
            assert!(replies.to_vec() == format!("{bulk}{bulk}*{length}\r\n").as_bytes(), "{length}");
        }
    }

    #[test]
    fn a_short_reply_has_the_bytes_of_its_elements() {
        let lengths = [0, 1, 9, 10, 15, 16, 17, 31, 32, 33, 99, 100, 999, 1000, 2000];
        for (at, length) in lengths.into_iter().enumerate() {
            let strings: Vec<_> = lengths[..at].iter().map(|length| vec![*length as u8; *length]).collect();
            let bytes = lengths[..at].iter().sum();
            let mut expected = Replies::default();
            expected.integer(1);
            let mut short = expected.clone();
            expected.array(length);
            strings.iter().for_each(|string| expected.bulk(string));
            let written = short.short((at + 1, bytes), |reply| {
                reply.array(length);
                strings.iter().for_each(|string| reply.bulk(string));
            });
            assert_eq!(written.is_some(), bytes + ELEMENT_BYTES * (at + 1) <= SHORT_BYTES_MAX);
            assert!(written.is_none() || short.front() == expected.front());
            assert!(written.is_some() || short.front() == b":1\r\n");
        }
    }

    #[test]
    fn a_short_reply_stays_within_the_limit() {
        let mut replies = Replies::default();
        replies.ok();
        replies.set_bytes_max(5 + ELEMENT_BYTES + 4);
        assert!(replies.short((1, 5), |reply| reply.bulk(b"abcde")).is_none());
        assert_eq!(replies.front(), b"+OK\r\n");
        assert!(replies.short((1, 4), |reply| reply.bulk(b"abcd")).is_some());
        assert_eq!(replies.front(), b"+OK\r\n$4\r\nabcd\r\n");
        assert!(replies.short((usize::MAX, usize::MAX), |_| ()).is_none());
    }

    #[test]
    fn short_replies_complete_chunks() {
        let (mut replies, mut expected) = (Replies::default(), Vec::new());
        for number in 0..100_000 {
            let string = format!("{number}");
            replies.short((1, string.len()), |reply| reply.bulk(string.as_bytes())).unwrap();
            expected.extend_from_slice(format!("${}\r\n{string}\r\n", string.len()).as_bytes());
        }
        assert_eq!(replies.to_vec(), expected);
        assert!(replies.full.len() > 1 && replies.full.iter().all(|chunk| chunk.len() <= CHUNK_CAPACITY));
    }

    #[test]
    fn a_bulk_string_can_be_written_in_parts() {
        let mut replies = Replies::default();
        replies.set_bytes_max(12);
        assert!(replies.begin_bulk(6));
        replies.part_of_bulk(|out| out.extend_from_slice(b"abc"));
        replies.part_of_bulk(|out| out.extend_from_slice(b"def"));
        replies.end_bulk();
        assert_eq!(replies.front(), b"$6\r\nabcdef\r\n");
        assert!(!replies.exceed_limit());
        replies.truncate(0);
        assert!(!replies.begin_bulk(7) && replies.exceed_limit());
    }

    #[test]
    fn replies_are_sent_in_parts_of_any_length() {
        let mut replies = Replies::default();
        let mut expected = Vec::new();
        for number in 0..100 {
            replies.integer(number);
            expected.extend_from_slice(format!(":{number}\r\n").as_bytes());
        }
        let mut sent = Vec::new();
        for part in 1.. {
            let bytes = part.min(replies.front().len());
            sent.extend_from_slice(&replies.front()[..bytes]);
            replies.consume(bytes);
            if replies.is_empty() {
                break;
            }
        }
        assert_eq!(sent, expected);
    }

    /// Long replies: several chunks, the last one short.
    fn long(seed: u8) -> (Replies, Vec<u8>) {
        let value: Vec<u8> = (0..3 * CHUNK_BYTES + 100).map(|at| (at % 251) as u8 ^ seed).collect();
        let mut replies = Replies::default();
        replies.bulk(&value);
        replies.integer(seed.into());
        let mut expected = format!("${}\r\n", value.len()).into_bytes();
        expected.extend_from_slice(&value);
        expected.extend_from_slice(format!("\r\n:{seed}\r\n").as_bytes());
        (replies, expected)
    }

    #[test]
    fn long_replies_are_sent_a_chunk_at_a_time_and_freed() {
        let (mut replies, expected) = long(1);
        assert!(replies.full.iter().all(|chunk| chunk.capacity() <= CHUNK_CAPACITY), "none has grown");
        let mut sent = Vec::new();
        while !replies.is_empty() {
            let front = replies.front();
            assert!(front.len() <= CHUNK_CAPACITY);
            let bytes = front.len().min(100_000);
            sent.extend_from_slice(&front[..bytes]);
            replies.consume(bytes);
            assert_eq!(replies.len(), expected.len() - sent.len());
            assert!(replies.capacity() <= replies.len() + 2 * CHUNK_CAPACITY);
        }
        assert_eq!(sent, expected);
        replies.shrink(0);
        assert_eq!(replies.capacity(), 0);
    }

    #[test]
    fn replies_are_truncated_across_chunks() {
        for kept in [0, 10, CHUNK_BYTES, CHUNK_BYTES + PART_BYTES, 2 * CHUNK_BYTES + 7] {
            let (mut replies, mut expected) = long(2);
            replies.consume(5);
            replies.truncate(kept);
            assert_eq!((replies.len(), replies.to_vec()), (kept, expected[5..5 + kept].to_vec()));
            replies.integer(9);
            expected.truncate(5 + kept);
            expected.extend_from_slice(b":9\r\n");
            assert_eq!(replies.to_vec(), expected[5..]);
            while replies.discard_chunk() {}
            assert_eq!((replies.len(), replies.capacity()), (0, 0));
        }
    }

    #[test]
    fn the_length_of_an_array_is_written_where_it_began() {
        for before in [0, 1, CHUNK_BYTES, 3 * CHUNK_BYTES] {
            let mut replies = Replies::default();
            replies.bulk(&vec![1; before]);
            replies.consume(3);
            let mut expected = replies.clone();
            expected.array(20);
            let array = replies.begin_array();
            for replies in [&mut replies, &mut expected] {
                (0..20).for_each(|_| replies.bulk(&[7; PART_BYTES]));
            }
            replies.end_array(array, 20);
            assert_eq!((replies.len(), replies.to_vec()), (expected.len(), expected.to_vec()));
            assert_eq!(replies.len(), replies.to_vec().len());
        }
    }

    #[test]
    fn other_replies_are_appended() {
        for sent in [0, 1, 100_000, CHUNK_BYTES + PART_BYTES + 1] {
            for before in [0, 10, 2 * CHUNK_BYTES] {
                let (mut others, written) = long(3);
                others.consume(sent);
                let mut all = Replies::default();
                all.bulk(&vec![5; before]);
                all.consume(2);
                let expected = [all.to_vec(), written[sent..].to_vec()].concat();
                all.append(others);
                assert_eq!((all.len(), all.to_vec()), (expected.len(), expected));
                let mut short = Replies::default();
                short.integer(7);
                all.append(short);
                assert!(all.to_vec().ends_with(b":3\r\n:7\r\n"));
                all.consume(all.front().len());
                all.truncate(0);
                assert_eq!((all.len(), all.full_bytes - all.sent + all.bytes.len()), (0, 0));
            }
        }
    }

    #[test]
    fn sent_bytes_go_from_the_front_and_replies_from_the_back() {
        let mut replies = Replies::default();
        replies.integer(1);
        replies.integer(2);
        replies.truncate(4);
        replies.consume(1);
        assert_eq!(replies.front(), b"1\r\n");
    }
}
