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
#[derive(Debug, Clone, Default)]
pub struct Replies {
    bytes: Vec<u8>,
    version: Version,
}

impl Replies {
    /// Replies of a version.
    #[must_use]
    pub fn new(version: Version) -> Self {
        Self { bytes: Vec::new(), version }
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
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets the first bytes, which were sent.
    pub fn consume(&mut self, sent: usize) {
        self.bytes.drain(..sent);
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

    /// Forgets all but the first bytes: takes back what was replied after them.
    pub fn truncate(&mut self, bytes: usize) {
        self.bytes.truncate(bytes);
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
        self.bytes.extend_from_slice(bytes);
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
    fn sent_bytes_go_from_the_front_and_replies_from_the_back() {
        let mut replies = Replies::default();
        replies.integer(1);
        replies.integer(2);
        replies.truncate(4);
        replies.consume(1);
        assert_eq!(replies.bytes(), b"1\r\n");
    }
}
