//! Packets: datagrams with a header and messages of one type and one form.

use honeycomb_layout::{
    OCSM_SEARCH, OCSM_UPDATE, ocsm_flags as flags, ocsm_header as layout, ocsm_long, ocsm_short,
};

use crate::bytes::{number, set_number};
use crate::ocsm::message::Message;

/// The type of all messages of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageType {
    /// Searches.
    Search,
    /// Inserts, modifications and deletes.
    Update,
}

/// The form of all messages of a packet, which sets their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Messages of 32 bytes with values of at most 96 bits.
    Short,
    /// Messages of 64 bytes with values of at most 352 bits.
    Long,
}

impl Form {
    /// Returns the bytes of a message.
    #[must_use]
    pub const fn message_bytes(self) -> usize {
        match self {
            Self::Short => ocsm_short::SIZE,
            Self::Long => ocsm_long::SIZE,
        }
    }

    /// Returns the bytes of the longest value of a message.
    #[must_use]
    pub const fn value_bytes_max(self) -> usize {
        self.message_bytes() - ocsm_short::VALUE_OFFSET
    }

    /// Returns the number of messages that fit into a datagram with `payload_bytes` bytes of payload.
    #[must_use]
    pub const fn messages_max(self, payload_bytes: usize) -> usize {
        let messages = payload_bytes.saturating_sub(layout::SIZE) / self.message_bytes();
        if messages > 0xffff { 0xffff } else { messages }
    }
}

/// The bytes before the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The type of all messages.
    pub message_type: MessageType,
    /// The form of all messages.
    pub form: Form,
    /// The number of the table that all messages refer to.
    pub table: u16,
    /// The number of messages.
    pub count: u16,
    /// Whether the packet is a reply.
    pub is_reply: bool,
}

/// Why a datagram is not a valid packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The datagram is shorter than a header.
    #[error("datagram of {0} bytes: a packet has at least {size} bytes", size = layout::SIZE)]
    Short(usize),
    /// The message type is unknown.
    #[error("message type {0}: the types are {OCSM_SEARCH} (search) and {OCSM_UPDATE} (update)")]
    MessageType(u64),
    /// An unknown flag is set.
    #[error("flags {0:#04x}: the upper six bits must be zero")]
    Flags(u64),
    /// The messages do not end at the end of the datagram.
    #[error("{count} messages of {message_bytes} bytes in {bytes} bytes")]
    Length {
        /// Number of messages in the header.
        count: u16,
        /// Bytes of each message.
        message_bytes: usize,
        /// Bytes after the header.
        bytes: usize,
    },
}

impl Header {
    pub(crate) const SIZE: usize = layout::SIZE;

    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let message_type = match number::<1>(bytes, layout::MESSAGE_TYPE_OFFSET) {
            1 => MessageType::Search,
            2 => MessageType::Update,
            other => return Err(Malformed::MessageType(other)),
        };
        let how = number::<1>(bytes, layout::FLAGS_OFFSET);
        if flags::padding(how) != 0 {
            return Err(Malformed::Flags(how));
        }
        Ok(Self {
            message_type,
            form: if flags::long_form(how) == 0 { Form::Short } else { Form::Long },
            table: number::<2>(bytes, layout::TABLE_NUMBER_OFFSET) as u16,
            count: number::<2>(bytes, layout::MESSAGE_COUNT_OFFSET) as u16,
            is_reply: flags::answered(how) != 0,
        })
    }

    /// Encodes the header at the front of `bytes`, which must be long enough.
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        let message_type = match self.message_type {
            MessageType::Search => OCSM_SEARCH,
            MessageType::Update => OCSM_UPDATE,
        };
        let how = flags::with_long_form(0, u64::from(self.form == Form::Long));
        let how = flags::with_answered(how, u64::from(self.is_reply));
        set_number::<2>(bytes, layout::MESSAGE_COUNT_OFFSET, self.count.into());
        set_number::<2>(bytes, layout::TABLE_NUMBER_OFFSET, self.table.into());
        set_number::<1>(bytes, layout::MESSAGE_TYPE_OFFSET, message_type as u64);
        set_number::<1>(bytes, layout::FLAGS_OFFSET, how);
    }
}

const _: () =
    assert!(OCSM_SEARCH == 1 && OCSM_UPDATE == 2 && ocsm_short::VALUE_OFFSET == ocsm_long::VALUE_OFFSET);

/// A datagram of messages.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    header: Header,
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Decodes a packet. It checks the header and the length.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let Some(messages) = bytes.get(layout::SIZE..) else { return Err(Malformed::Short(bytes.len())) };
        let header = Header::parse(bytes)?;
        let (count, message_bytes) = (header.count, header.form.message_bytes());
        if messages.len() != usize::from(count) * message_bytes {
            return Err(Malformed::Length { count, message_bytes, bytes: messages.len() });
        }
        Ok(Self { header, bytes })
    }

    /// The bytes before the messages.
    #[must_use]
    pub fn header(&self) -> Header {
        self.header
    }

    /// Iterates over the messages in their order.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Message<'a>> + use<'a> {
        let messages = &self.bytes[layout::SIZE..];
        messages.chunks_exact(self.header.form.message_bytes()).map(Message::new)
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}
