//! Datagrams of messages: the header, and where the messages are.

use honeycomb_layout::{
    OCSM_SEARCH, OCSM_UPDATE, ocsm_flags as flags, ocsm_header as layout, ocsm_long, ocsm_short,
};

use crate::bytes::{number, set_number};
use crate::ocsm::message::Message;

/// What all messages of a packet do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageType {
    /// They search.
    Search,
    /// They insert, modify or delete.
    Update,
}

/// How long all messages of a packet are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// 32 bytes, of a value of at most 96 bits.
    Short,
    /// 64 bytes, of a value of at most 352 bits.
    Long,
}

impl Form {
    /// Bytes of a message.
    #[must_use]
    pub const fn message_bytes(self) -> usize {
        match self {
            Self::Short => ocsm_short::SIZE,
            Self::Long => ocsm_long::SIZE,
        }
    }

    /// Bytes of the longest value in a message.
    #[must_use]
    pub const fn value_bytes_max(self) -> usize {
        self.message_bytes() - ocsm_short::VALUE_OFFSET
    }

    /// Messages that a datagram with so many bytes of payload has room for.
    #[must_use]
    pub const fn messages_max(self, payload_bytes: usize) -> usize {
        let messages = payload_bytes.saturating_sub(layout::SIZE) / self.message_bytes();
        if messages > 0xffff { 0xffff } else { messages }
    }
}

/// What stands before the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// What all messages do.
    pub message_type: MessageType,
    /// How long they are.
    pub form: Form,
    /// The number of the table they are about.
    pub table: u16,
    /// How many there are.
    pub count: u16,
    /// Whether they are replies.
    pub answered: bool,
}

/// The bytes are no packet of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The header is not whole.
    #[error("a datagram of {0} bytes: one of messages has at least {size}", size = layout::SIZE)]
    Short(usize),
    /// There is no such type.
    #[error("message type {0}: there are {OCSM_SEARCH} (search) and {OCSM_UPDATE} (update)")]
    MessageType(u64),
    /// A flag that has no meaning.
    #[error("flags {0:#04x}: the upper six bits are zero")]
    Flags(u64),
    /// The messages do not end where the datagram does.
    #[error("{count} messages of {message_bytes} bytes, and {bytes} bytes for them")]
    Length {
        /// Messages by the header.
        count: u16,
        /// Bytes of each.
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
            answered: flags::answered(how) != 0,
        })
    }

    /// Writes it at the front of some bytes, which have room for it.
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        let message_type = match self.message_type {
            MessageType::Search => OCSM_SEARCH,
            MessageType::Update => OCSM_UPDATE,
        };
        let how = flags::with_long_form(0, u64::from(self.form == Form::Long));
        let how = flags::with_answered(how, u64::from(self.answered));
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
    /// The packet that a datagram is.
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

    /// What stands before the messages.
    #[must_use]
    pub fn header(&self) -> Header {
        self.header
    }

    /// The messages in their order.
    pub fn messages(&self) -> impl ExactSizeIterator<Item = Message<'a>> + use<'a> {
        let messages = &self.bytes[layout::SIZE..];
        messages.chunks_exact(self.header.form.message_bytes()).map(Message::new)
    }

    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}
