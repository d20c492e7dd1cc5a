//! Replies: a copy of the request packet with the result of each message at the offset of the message.

use honeycomb_layout::{ocsm_opcode as opcode, ocsm_short as layout};

use crate::bytes::{number, set_number};
use crate::ocsm::message::{Message, Status};
use crate::ocsm::packet::{Form, Header, Packet};

/// Writes the results of the messages of a packet, in their order.
#[derive(Debug)]
pub struct ReplyPacket<'o> {
    form: Form,
    /// The messages without a result.
    rest: &'o mut [u8],
}

impl<'o> ReplyPacket<'o> {
    /// Appends a copy of a packet to `out`, in which [`ReplyPacket::push`] writes the results.
    pub fn to(packet: &Packet<'_>, out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(packet.bytes());
        let header = Header { is_reply: true, ..packet.header() };
        header.write(&mut out[start..]);
        Self { form: header.form, rest: &mut out[start + Header::SIZE..] }
    }

    /// Writes the result of the next message, with a value if it is a search that found one. If the value
    /// does not fit, the status becomes [`Status::TooLong`].
    pub fn push(&mut self, status: Status, value: Option<&[u8]>) {
        let rest = std::mem::take(&mut self.rest);
        let Some((message, rest)) = rest.split_at_mut_checked(self.form.message_bytes()) else { return };
        self.rest = rest;
        let room = self.form.value_bytes_max();
        let status = if value.is_some_and(|value| value.len() > room) { Status::TooLong } else { status };
        let code = opcode::with_status(Message::new(message).opcode(), status.code());
        set_number::<1>(message, layout::OPCODE_OFFSET, code);
        if let Some(value) = value.filter(|_| status == Status::Done) {
            set_number::<1>(message, layout::LENGTH_OFFSET, value.len() as u64);
            let (place, zeros) = message[layout::VALUE_OFFSET..].split_at_mut(value.len());
            place.copy_from_slice(value);
            zeros.fill(0);
        }
        let (source, destination) =
            (number::<2>(message, layout::SOURCE_OFFSET), number::<2>(message, layout::DESTINATION_OFFSET));
        set_number::<2>(message, layout::SOURCE_OFFSET, destination);
        set_number::<2>(message, layout::DESTINATION_OFFSET, source);
    }
}
