//! Replies: a copy of the packet in which each message is answered where it stands.

use honeycomb_layout::{ocsm_opcode as opcode, ocsm_short as layout};

use crate::bytes::{number, set_number};
use crate::ocsm::message::{Message, Status};
use crate::ocsm::packet::{Form, Header, Packet};

/// Answers to the messages of a packet, in their order.
#[derive(Debug)]
pub struct Answers<'o> {
    form: Form,
    /// The messages that are not answered yet.
    rest: &'o mut [u8],
}

impl<'o> Answers<'o> {
    /// Appends a copy of a packet to `out`, to be answered there.
    pub fn to(packet: &Packet<'_>, out: &'o mut Vec<u8>) -> Self {
        let start = out.len();
        out.extend_from_slice(packet.bytes());
        let header = Header { answered: true, ..packet.header() };
        header.write(&mut out[start..]);
        Self { form: header.form, rest: &mut out[start + Header::SIZE..] }
    }

    /// Answers the next message, with a value if it is one that was searched and found. A value that there is
    /// no room for is said to be too long.
    pub fn answer(&mut self, status: Status, value: Option<&[u8]>) {
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
