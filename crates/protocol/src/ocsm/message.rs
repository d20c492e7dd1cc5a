//! A message of a packet.

use honeycomb_layout as constants;
use honeycomb_layout::{ocsm_opcode as opcode, ocsm_short as layout};

use crate::bytes::number;
use crate::ocsm::packet::MessageType;

/// Bytes of a key: 96 bits.
pub const KEY_BYTES: usize = layout::KEY_BYTES * layout::KEY_COUNT;

/// The operation that a message requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Returns the value of a key.
    Search,
    /// Inserts a pair if the key is absent.
    Insert,
    /// Replaces the value of an existing key.
    Modify,
    /// Deletes a pair.
    Delete,
}

impl Operation {
    /// Returns the type of the packets that may contain this operation.
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

/// The result of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The search found a value, or the update has taken effect.
    Done,
    /// The key is absent.
    Absent,
    /// The key of an insert exists.
    Exists,
    /// The value does not fit into the message.
    TooLong,
    /// The operation is not allowed in a packet of this type, or the length of the value is invalid.
    NotAllowed,
    /// The store has no room for the write.
    OutOfMemory,
    /// The table is unknown, the stored pair has a format that servers do not write, or the store failed.
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

/// A view of a message in its packet.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    bytes: &'a [u8],
}

impl<'a> Message<'a> {
    /// Returns the message in 32 or 64 bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the sequence number that the client chose.
    #[must_use]
    pub fn sequence_number(&self) -> u16 {
        number::<2>(self.bytes, layout::SEQUENCE_NUMBER_OFFSET) as u16
    }

    /// Returns the number of the sender.
    #[must_use]
    pub fn source(&self) -> u16 {
        number::<2>(self.bytes, layout::SOURCE_OFFSET) as u16
    }

    /// Returns the number of the receiver.
    #[must_use]
    pub fn destination(&self) -> u16 {
        number::<2>(self.bytes, layout::DESTINATION_OFFSET) as u16
    }

    /// Returns the requested operation, or `None` if its code is invalid.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        let operations = [Operation::Search, Operation::Insert, Operation::Modify, Operation::Delete];
        operations.into_iter().find(|operation| operation.code() == opcode::operation(self.opcode()))
    }

    /// Returns the status, or `None` if its code is invalid.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        let code = opcode::status(self.opcode());
        Status::ALL.into_iter().find(|(status, _)| status.code() == code).map(|(status, _)| status)
    }

    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> &'a [u8] {
        &self.bytes[layout::KEY_OFFSET..layout::KEY_OFFSET + KEY_BYTES]
    }

    /// Returns the value, or `None` if the length field exceeds the space for values.
    #[must_use]
    pub fn value(&self) -> Option<&'a [u8]> {
        let length = number::<1>(self.bytes, layout::LENGTH_OFFSET) as usize;
        self.bytes[layout::VALUE_OFFSET..].get(..length)
    }

    pub(crate) fn opcode(&self) -> u64 {
        number::<1>(self.bytes, layout::OPCODE_OFFSET)
    }
}
