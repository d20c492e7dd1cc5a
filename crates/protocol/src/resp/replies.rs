//! Replies: a server writes them one after the other.

/// The version of the protocol that a client has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// What every client speaks.
    #[default]
    Resp2,
    /// With types of its own for null, maps, sets, numbers and truth values.
    Resp3,
}

/// Replies as bytes, one after the other. What RESP2 has no type for is written as its like.
#[derive(Debug, Clone)]
pub struct Replies {
    bytes: Vec<u8>,
    /// Bytes at the front that were sent. They go when all are sent, or when they are most of the buffer and
    /// the rest is short: so a byte is moved at most once however small the pieces are in which a client
    /// takes its replies, and a long reply does not hold up others while it is moved.
    sent: usize,
    version: Version,
    bytes_max: usize,
    /// Bytes of a reply were left out, for want of room.
    incomplete: bool,
}

/// Bytes that the longest length of an array takes.
const HEADROOM: usize = 32;
/// Bytes that are moved to the front of the buffer once half of it was sent.
const MOVED_BYTES: usize = 1 << 20;
/// Parts of the buffer of which more are moved once all but one were sent.
const MOVED_PARTS: usize = 16;

/// Bytes of memory that are given back at once: the system takes about a millisecond for ten times as many.
const SHRUNK_AT_ONCE: usize = 2 << 20;

/// An array that was begun: where.
#[derive(Debug)]
#[must_use = "an array ends with its length"]
pub struct OpenArray(usize);

impl Default for Replies {
    fn default() -> Self {
        Self::new(Version::default())
    }
}

impl Replies {
    /// Replies of a version, as many as there is memory for.
    #[must_use]
    pub fn new(version: Version) -> Self {
        Self { bytes: Vec::new(), sent: 0, version, bytes_max: usize::MAX, incomplete: false }
    }

    /// Changes how many bytes they may take. Strings that go beyond are left out: replies that have no room
    /// are not whole, and have to be taken back.
    pub fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    /// Whether they have no room.
    #[must_use]
    pub fn have_no_room(&self) -> bool {
        self.incomplete || self.len() > self.bytes_max
    }

    /// The version of the replies to come.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Changes the version of the replies to come.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// The replies.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// How many bytes they are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Whether there are none.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets the first bytes, which were sent.
    pub fn consume(&mut self, sent: usize) {
        self.sent += sent;
        if self.is_empty() {
            self.bytes.clear();
            self.sent = 0;
        } else if self.sent > self.bytes.len() / 2 && self.len() <= MOVED_BYTES
            || self.sent / MOVED_PARTS > self.len()
        {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Appends replies that were written elsewhere, in the same version. Their buffer becomes this one if
    /// nothing waits here: long replies are not copied.
    pub fn append(&mut self, mut others: Self) {
        if self.is_empty() {
            std::mem::swap(&mut self.bytes, &mut others.bytes);
            std::mem::swap(&mut self.sent, &mut others.sent);
        } else {
            self.bytes.extend_from_slice(others.bytes());
        }
        self.incomplete |= others.incomplete;
    }

    /// Bytes of memory that they take.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Gives memory back, down to so many bytes, if there are no replies.
    pub fn shrink(&mut self, kept: usize) {
        if self.bytes.is_empty() {
            self.bytes.shrink_to(kept);
        }
    }

    /// Gives a part of the memory back if there are no replies, down to so many bytes after several calls: to
    /// give back that of a long reply at once takes so long that others wait for it.
    pub fn shrink_a_step(&mut self, kept: usize) {
        self.shrink(kept.max(self.capacity().saturating_sub(SHRUNK_AT_ONCE)));
    }

    /// Whether [`Replies::shrink_a_step`] has memory to give back.
    #[must_use]
    pub fn can_shrink(&self, kept: usize) -> bool {
        self.bytes.is_empty() && self.capacity() > kept
    }

    /// Forgets all but the first bytes: takes back what was replied after them.
    pub fn truncate(&mut self, bytes: usize) {
        self.bytes.truncate(self.sent + bytes);
        self.incomplete = false;
    }

    /// A short text without line ends.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error: a word in capitals that programs understand, and a sentence. Line ends become spaces.
    pub fn error(&mut self, message: &str) {
        let message = message.replace(['\r', '\n'], " ");
        self.line(b'-', message.as_bytes());
    }

    /// A number.
    pub fn integer(&mut self, number: i64) {
        self.line(b':', itoa::Buffer::new().format(number).as_bytes());
    }

    /// Bytes.
    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.length(b'$', bytes.len());
        if self.len() + bytes.len() + 2 > self.bytes_max {
            self.incomplete = true;
            return;
        }
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Begins a reply of so many bytes, which [`Replies::part_of_bulk`] appends, a part at a time. False if
    /// there is no room for them.
    pub fn begin_bulk(&mut self, length: usize) -> bool {
        self.length(b'$', length);
        self.incomplete |= self.len() + length + 2 > self.bytes_max;
        if !self.incomplete {
            self.bytes.reserve_exact(length + 2);
        }
        !self.incomplete
    }

    /// Appends what `write` appends to a buffer: a part of the reply that was begun.
    pub fn part_of_bulk<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        write(&mut self.bytes)
    }

    /// Ends the reply of bytes that was begun.
    pub fn end_bulk(&mut self) {
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Nothing.
    pub fn null(&mut self) {
        let null: &[u8] = if self.version == Version::Resp3 { b"_\r\n" } else { b"$-1\r\n" };
        self.bytes.extend_from_slice(null);
    }

    /// Nothing, where an array could have been.
    pub fn null_array(&mut self) {
        let null: &[u8] = if self.version == Version::Resp3 { b"_\r\n" } else { b"*-1\r\n" };
        self.bytes.extend_from_slice(null);
    }

    /// Bytes, or nothing.
    pub fn bulk_or_null(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// So many replies follow that belong together.
    pub fn array(&mut self, length: usize) {
        self.length(b'*', length);
    }

    /// The replies that follow belong together. How many they are is told at their end.
    pub fn begin_array(&mut self) -> OpenArray {
        OpenArray(self.len())
    }

    /// Ends an array of so many replies.
    pub fn end_array(&mut self, OpenArray(start): OpenArray, length: usize) {
        let end = self.len();
        self.array(length);
        let header = self.len() - end;
        let start = self.sent + start;
        if start >= header && start == self.sent {
            // Room at the front takes the header, so that a long array is not moved for it.
            let from = self.bytes.len() - header;
            self.bytes.copy_within(from.., start - header);
            self.bytes.truncate(from);
            self.sent -= header;
        } else {
            self.bytes[start..].rotate_right(header);
        }
    }

    /// Leaves room at the front of replies that are still empty, where the length of one long array is
    /// written once it is known.
    #[must_use]
    pub fn with_headroom(mut self) -> Self {
        debug_assert!(self.bytes.is_empty());
        self.bytes.resize(HEADROOM, 0);
        self.sent = HEADROOM;
        self
    }

    /// So many pairs of replies follow, each a key and what it leads to.
    pub fn map(&mut self, pairs: usize) {
        match self.version {
            Version::Resp2 => self.length(b'*', 2 * pairs),
            Version::Resp3 => self.length(b'%', pairs),
        }
    }

    /// So many different replies follow.
    pub fn set(&mut self, length: usize) {
        self.length(if self.version == Version::Resp3 { b'~' } else { b'*' }, length);
    }

    /// A text for people.
    pub fn verbatim(&mut self, text: &str) {
        match self.version {
            Version::Resp2 => self.bulk(text.as_bytes()),
            Version::Resp3 => {
                self.length(b'=', text.len() + 4);
                self.bytes.extend_from_slice(b"txt:");
                self.bytes.extend_from_slice(text.as_bytes());
                self.bytes.extend_from_slice(b"\r\n");
            }
        }
    }

    #[inline]
    fn length(&mut self, kind: u8, length: usize) {
        let digit = |number: usize| b'0' + (number % 10) as u8;
        match length {
            // Most have one digit or two.
            0..10 => self.bytes.extend_from_slice(&[kind, digit(length), b'\r', b'\n']),
            10..100 => {
                let line = [kind, digit(length / 10), digit(length), b'\r', b'\n'];
                self.bytes.extend_from_slice(&line);
            }
            _ => self.line(kind, itoa::Buffer::new().format(length).as_bytes()),
        }
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(b"\r\n");
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
    fn both_versions_write_what_they_have_types_for() {
        type Write = fn(&mut Replies);
        let cases: [(Write, &str, &str); 12] = [
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
            (|r| r.verbatim("hi"), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"),
        ];
        for (write, resp2, resp3) in cases {
            assert_eq!(written(Version::Resp2, write), resp2);
            assert_eq!(written(Version::Resp3, write), resp3);
        }
    }

    #[test]
    fn the_length_of_an_array_may_be_told_at_its_end() {
        for length in [0, 2, 300] {
            let mut told = Replies::default();
            told.integer(1);
            let mut asked = told.clone();
            told.array(length);
            let array = asked.begin_array();
            for replies in [&mut told, &mut asked] {
                (0..length).for_each(|_| replies.bulk(b"word"));
            }
            asked.end_array(array, length);
            assert_eq!(asked.bytes(), told.bytes());
        }
    }

    #[test]
    fn what_goes_beyond_the_room_is_left_out() {
        let mut replies = Replies::default();
        replies.set_bytes_max(10);
        replies.bulk(b"abcd");
        assert_eq!((replies.bytes(), replies.have_no_room()), (&b"$4\r\nabcd\r\n"[..], false));
        replies.truncate(0);
        replies.bulk(b"abcde");
        assert!(replies.have_no_room() && replies.bytes().len() <= 10);
        replies.truncate(0);
        assert!(!replies.have_no_room());
        replies.verbatim("eleven bytes");
        assert!(replies.have_no_room());
    }

    #[test]
    fn the_length_of_an_array_takes_the_room_at_the_front() {
        for length in [0, 2, 300] {
            let mut replies = Replies::default().with_headroom();
            assert!(replies.is_empty());
            let array = replies.begin_array();
            (0..length).for_each(|_| replies.bulk(b"word"));
            replies.end_array(array, length);
            let mut expected = Replies::default();
            expected.array(length);
            (0..length).for_each(|_| expected.bulk(b"word"));
            assert_eq!(replies.bytes(), expected.bytes());
            for before in [&b""[..], b"before"] {
                let mut all = Replies::default();
                all.bulk(before);
                if before.is_empty() {
                    all.consume(all.len());
                }
                let sum = all.len() + replies.len();
                all.append(replies.clone());
                assert_eq!(all.len(), sum);
                assert!(all.bytes().ends_with(expected.bytes()));
            }
        }
    }

    #[test]
    fn a_reply_may_be_written_in_parts() {
        let mut replies = Replies::default();
        replies.set_bytes_max(12);
        assert!(replies.begin_bulk(6));
        replies.part_of_bulk(|out| out.extend_from_slice(b"abc"));
        replies.part_of_bulk(|out| out.extend_from_slice(b"def"));
        replies.end_bulk();
        assert_eq!(replies.bytes(), b"$6\r\nabcdef\r\n");
        assert!(!replies.have_no_room());
        replies.truncate(0);
        assert!(!replies.begin_bulk(7) && replies.have_no_room());
    }

    #[test]
    fn replies_are_sent_in_pieces_of_any_length() {
        let mut replies = Replies::default();
        let mut expected = Vec::new();
        for number in 0..100 {
            replies.integer(number);
            expected.extend_from_slice(format!(":{number}\r\n").as_bytes());
        }
        let mut sent = Vec::new();
        for piece in 1.. {
            let bytes = piece.min(replies.len());
            sent.extend_from_slice(&replies.bytes()[..bytes]);
            replies.consume(bytes);
            if replies.is_empty() {
                break;
            }
        }
        assert_eq!(sent, expected);
    }

    #[test]
    fn a_long_reply_is_moved_only_when_little_of_it_is_left() {
        let mut replies = Replies::default();
        let expected: Vec<u8> = (0..8 * MOVED_BYTES).map(|at| (at % 251) as u8).collect();
        replies.bulk(&expected);
        let all = replies.bytes().to_vec();
        replies.consume(all.len() * 3 / 4);
        assert_ne!(replies.sent, 0, "too long to be moved");
        replies.consume(MOVED_BYTES + 100);
        assert_eq!((replies.sent, replies.len()), (0, all.len() - all.len() * 3 / 4 - MOVED_BYTES - 100));
        assert!(all.ends_with(replies.bytes()));
        // Nor does the buffer grow for ever if the replies never become short.
        let mut replies = Replies::default();
        for _ in 0..100 {
            replies.bulk(&expected[..2 * MOVED_BYTES]);
            replies.consume(replies.len().saturating_sub(2 * MOVED_BYTES));
        }
        assert!(replies.capacity() < 8 * MOVED_PARTS * MOVED_BYTES, "{}", replies.capacity());
    }

    #[test]
    fn the_memory_of_a_long_reply_goes_in_steps() {
        let mut replies = Replies::default();
        replies.bulk(&vec![7; 4 * SHRUNK_AT_ONCE]);
        replies.shrink_a_step(1000);
        assert!(!replies.can_shrink(1000) && replies.capacity() > replies.len());
        replies.consume(replies.len());
        for step in 1.. {
            let before = replies.capacity();
            replies.shrink_a_step(1000);
            assert!(before - replies.capacity() <= SHRUNK_AT_ONCE);
            if !replies.can_shrink(1000) {
                assert!(step > 4);
                break;
            }
        }
        assert_eq!(replies.capacity(), 1000);
    }

    #[test]
    fn sent_bytes_go_from_the_front_and_replies_from_the_back() {
        let mut replies = Replies::default();
        replies.integer(1);
        replies.integer(2);
        replies.truncate(4);
        replies.consume(1);
        assert_eq!(replies.bytes(), b"1\r\n");
    }
}
