//! One message.

use honeycomb_layout as constants;
use honeycomb_layout::{ocsm_opcode as opcode, ocsm_short as layout};

use crate::bytes::number;
use crate::ocsm::packet::MessageType;

/// Bytes of a key: 96 bits.
pub const KEY_BYTES: usize = layout::KEY_BYTES * layout::KEY_COUNT;

/// What a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The value of a key.
    Search,
    /// To add a pair whose key is absent.
    Insert,
    /// To change the value of a key that is there.
    Modify,
    /// To remove a pair.
    Delete,
}

impl Operation {
    /// The type of the messages among which it may stand.
    #[must_use]
    pub fn message_type(self) -> MessageType {
        if self == Self::Search { MessageType::Search } else { MessageType::Update }
    }

    pub(crate) fn code(self) -> u64 {
        let code = match self {
            Self::Search => constants::OCSM_OPERATION_SEARCH,
            Self::Insert => constants::OCSM_OPERATION_INSERT,
            Self::Modify => constants::OCSM_OPERATION_MODIFY,
            Self::Delete => constants::OCSM_OPERATION_DELETE,
        };
        code as u64
    }
}

/// What came of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The value was found, or the update has taken effect.
    Done,
    /// There is no such key.
    Absent,
    /// The key of an insert is there already.
    Exists,
    /// The value is longer than the message has room for.
    TooLong,
    /// No such operation in a message of this type, or a length that it has no room for.
    NotAllowed,
    /// The store has no room.
    OutOfMemory,
    /// The table is unknown, the pair is not one that servers write, or the store could not say.
    Failed,
}

impl Status {
    const ALL: [(Self, usize); 7] = [
        (Self::Done, constants::OCSM_STATUS_DONE),
        (Self::Absent, constants::OCSM_STATUS_ABSENT),
        (Self::Exists, constants::OCSM_STATUS_EXISTS),
        (Self::TooLong, constants::OCSM_STATUS_TOO_LONG),
        (Self::NotAllowed, constants::OCSM_STATUS_NOT_ALLOWED),
        (Self::OutOfMemory, constants::OCSM_STATUS_OUT_OF_MEMORY),
        (Self::Failed, constants::OCSM_STATUS_FAILED),
    ];

    pub(crate) fn code(self) -> u64 {
        Self::ALL[self as usize].1 as u64
    }
}

/// A message where it stands in its packet.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    bytes: &'a [u8],
}

impl<'a> Message<'a> {
    /// The message of some bytes, 32 or 64.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Chosen by who asks.
    #[must_use]
    pub fn sequence_number(&self) -> u16 {
        number::<2>(self.bytes, layout::SEQUENCE_NUMBER_OFFSET) as u16
    }

    /// From whom it is.
    #[must_use]
    pub fn source(&self) -> u16 {
        number::<2>(self.bytes, layout::SOURCE_OFFSET) as u16
    }

    /// For whom it is.
    #[must_use]
    pub fn destination(&self) -> u16 {
        number::<2>(self.bytes, layout::DESTINATION_OFFSET) as u16
    }

    /// What it asks for, if there is such a thing.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        let operations = [Operation::Search, Operation::Insert, Operation::Modify, Operation::Delete];
        operations.into_iter().find(|operation| operation.code() == opcode::operation(self.opcode()))
    }

    /// What came of it, if there is such a thing.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        let code = opcode::status(self.opcode());
        Status::ALL.into_iter().find(|(status, _)| status.code() == code).map(|(status, _)| status)
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &'a [u8] {
        &self.bytes[layout::KEY_OFFSET..layout::KEY_OFFSET + KEY_BYTES]
    }

    /// The value; none if it is said to be longer than there is room for.
    #[must_use]
    pub fn value(&self) -> Option<&'a [u8]> {
        let length = number::<1>(self.bytes, layout::LENGTH_OFFSET) as usize;
        self.bytes[layout::VALUE_OFFSET..].get(..length)
    }

    pub(crate) fn opcode(&self) -> u64 {
        number::<1>(self.bytes, layout::OPCODE_OFFSET)
    }
}
