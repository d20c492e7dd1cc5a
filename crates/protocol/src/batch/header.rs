//! The header of batch datagrams.

use honeycomb_layout as constants;
use honeycomb_layout::batch_header as layout;

use crate::batch::encoding::Malformed;
use crate::bytes::{number, set_number};

/// The kind of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A client requests a token or, with a token, a session.
    Hello,
    /// The token of the source address of the hello.
    Token,
    /// A new session.
    Session,
    /// Operations.
    Request,
    /// Items of a reply that continues in further datagrams.
    Reply,
    /// Items at the end of a reply.
    ReplyEnd,
    /// The server rejected a request and executed none of it.
    Rejected(Rejection),
}

/// Why the server rejected a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// An operation is invalid, or the operations do not end at the end of the datagram.
    Malformed,
    /// The address has no session with this name.
    Session,
    /// The request writes and is so old that the server no longer knows whether it executed it.
    Identifier,
    /// There is no table with this number.
    Table,
}

impl Rejection {
    const ALL: [(Self, usize); 4] = [
        (Self::Malformed, constants::BATCH_REJECTED_MALFORMED),
        (Self::Session, constants::BATCH_REJECTED_SESSION),
        (Self::Identifier, constants::BATCH_REJECTED_IDENTIFIER),
        (Self::Table, constants::BATCH_REJECTED_TABLE),
    ];
}

impl Kind {
    const PLAIN: [(Self, usize); 6] = [
        (Self::Hello, constants::BATCH_HELLO),
        (Self::Token, constants::BATCH_TOKEN),
        (Self::Session, constants::BATCH_SESSION),
        (Self::Request, constants::BATCH_REQUEST),
        (Self::Reply, constants::BATCH_REPLY),
        (Self::ReplyEnd, constants::BATCH_REPLY_END),
    ];

    fn parse(code: usize, status: usize) -> Result<Self, Malformed> {
        let malformed = Malformed::Kind { code, status };
        if code == constants::BATCH_REJECTED {
            let rejection = Rejection::ALL.iter().find(|(_, known)| *known == status);
            return rejection.map(|(rejection, _)| Self::Rejected(*rejection)).ok_or(malformed);
        }
        let plain = Self::PLAIN.iter().find(|(_, known)| *known == code && status == 0);
        plain.map(|(kind, _)| *kind).ok_or(malformed)
    }

    /// The code and the status.
    fn codes(self) -> (usize, usize) {
        match self {
            Self::Hello => (constants::BATCH_HELLO, 0),
            Self::Token => (constants::BATCH_TOKEN, 0),
            Self::Session => (constants::BATCH_SESSION, 0),
            Self::Request => (constants::BATCH_REQUEST, 0),
            Self::Reply => (constants::BATCH_REPLY, 0),
            Self::ReplyEnd => (constants::BATCH_REPLY_END, 0),
            Self::Rejected(rejection) => (constants::BATCH_REJECTED, Rejection::ALL[rejection as usize].1),
        }
    }
}

/// The header of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The name of the session, which the server chooses; 0 before there is one.
    pub session: u64,
    /// The identifier of a request, or a token.
    pub identifier: u64,
    /// The number of the table that all operations refer to.
    pub table: u16,
    /// The number of operations or items in this datagram.
    pub count: u16,
    /// The kind of the datagram.
    pub kind: Kind,
    /// A number that changes with each repetition of a request. The reply repeats it.
    pub attempt: u8,
    /// The number of datagrams of the reply before this one.
    pub position: u8,
}

impl Header {
    /// Bytes of a header.
    pub const SIZE: usize = layout::SIZE;

    /// Returns a header in which everything except the kind is zero.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        Self { session: 0, identifier: 0, table: 0, count: 0, kind, attempt: 0, position: 0 }
    }

    /// Decodes the header of a datagram. Returns it and the bytes after it.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (header, rest) = bytes.split_at_checked(Self::SIZE).ok_or(Malformed::Short(bytes.len()))?;
        let byte = |offset| number::<1>(header, offset) as usize;
        let kind = Kind::parse(byte(layout::KIND_OFFSET), byte(layout::STATUS_OFFSET))?;
        let header = Self {
            session: number::<8>(header, layout::SESSION_OFFSET),
            identifier: number::<8>(header, layout::IDENTIFIER_OFFSET),
            table: number::<2>(header, layout::TABLE_NUMBER_OFFSET) as u16,
            count: number::<2>(header, layout::COUNT_OFFSET) as u16,
            kind,
            attempt: byte(layout::ATTEMPT_OFFSET) as u8,
            position: byte(layout::POSITION_OFFSET) as u8,
        };
        Ok((header, rest))
    }

    /// Encodes the header.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::SIZE] {
        let (mut bytes, (code, status)) = ([0; Self::SIZE], self.kind.codes());
        set_number::<8>(&mut bytes, layout::SESSION_OFFSET, self.session);
        set_number::<8>(&mut bytes, layout::IDENTIFIER_OFFSET, self.identifier);
        set_number::<2>(&mut bytes, layout::TABLE_NUMBER_OFFSET, self.table.into());
        set_number::<2>(&mut bytes, layout::COUNT_OFFSET, self.count.into());
        set_number::<1>(&mut bytes, layout::KIND_OFFSET, code as u64);
        set_number::<1>(&mut bytes, layout::ATTEMPT_OFFSET, self.attempt.into());
        set_number::<1>(&mut bytes, layout::POSITION_OFFSET, self.position.into());
        set_number::<1>(&mut bytes, layout::STATUS_OFFSET, status as u64);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_header_is_encoded_as_in_the_layout() {
        let header = Header {
            session: 0x0807_0605_0403_0201,
            identifier: 0x1817_1615_1413_1211,
            table: 0x2221,
            count: 0x2423,
            kind: Kind::Rejected(Rejection::Table),
            attempt: 0x26,
            position: 0x27,
        };
        let expected = [
            1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x21, 0x22, 0x23, 0x24,
            7, 0x26, 0x27, 4,
        ];
        assert_eq!(header.bytes(), expected);
        assert_eq!(Header::parse(&header.bytes()), Ok((header, &[][..])));
    }

    #[test]
    fn every_kind_round_trips() {
        let rejected = Rejection::ALL.map(|(rejection, _)| Kind::Rejected(rejection));
        let plain = Kind::PLAIN.map(|(kind, _)| kind);
        for kind in plain.into_iter().chain(rejected) {
            assert_eq!(Header::parse(&Header::of(kind).bytes()).unwrap().0.kind, kind);
        }
        let kind = |code, status| Kind::parse(code, status).unwrap_err();
        assert_eq!(kind(0, 0), Malformed::Kind { code: 0, status: 0 });
        assert_eq!(kind(7, 0), Malformed::Kind { code: 7, status: 0 });
        assert_eq!(kind(1, 1), Malformed::Kind { code: 1, status: 1 });
        assert_eq!(Header::parse(&[4; 23]), Err(Malformed::Short(23)));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_a_header_or_rejected(bytes in prop::collection::vec(0..9_u8, 0..40)) {
            if let Ok((header, rest)) = Header::parse(&bytes) {
                prop_assert_eq!([&header.bytes()[..], rest].concat(), bytes);
            }
        }
    }
}
