//! The client's encoder of packets.

use honeycomb_layout::{ocsm_opcode as opcode, ocsm_short as layout};

use crate::bytes::set_number;
use crate::ocsm::message::{KEY_BYTES, Operation};
use crate::ocsm::packet::{Form, Header, MessageType};

/// The content of a message that a client sends.
#[derive(Debug, Clone, Copy)]
pub struct RequestMessage<'a> {
    /// A number that the client chooses and the reply repeats.
    pub sequence_number: u16,
    /// The number of the client. It is the destination of the reply.
    pub source: u16,
    /// The number of the server.
    pub destination: u16,
    /// The requested operation.
    pub operation: Operation,
    /// The key.
    pub key: [u8; KEY_BYTES],
    /// The value of an insert or a modify.
    pub value: &'a [u8],
}

/// Why a message cannot be added to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    /// The packet is full.
    #[error("the packet is full: it has {0} messages")]
    Full(u16),
    /// The value is too long for the form of the packet.
    #[error("value of {bytes} bytes: messages of this form have values of at most {max} bytes")]
    Value {
        /// Bytes of the value.
        bytes: usize,
        /// Bytes of the longest value of the form.
        max: usize,
    },
    /// The packet is of another type.
    #[error("{0:?} in a packet of another type")]
    MessageType(Operation),
}

/// A packet that a client encodes. It can be reused.
#[derive(Debug, Clone)]
pub struct RequestPacket {
    header: Header,
    messages_max: usize,
    bytes: Vec<u8>,
}

impl RequestPacket {
    /// Creates a packet without messages, of at most `payload_bytes` bytes.
    #[must_use]
    pub fn new(message_type: MessageType, form: Form, table: u16, payload_bytes: usize) -> Self {
        let header = Header { message_type, form, table, count: 0, is_reply: false };
        let mut requests =
            Self { header, messages_max: form.messages_max(payload_bytes), bytes: vec![0; Header::SIZE] };
        requests.clear();
        requests
    }

    /// Removes all messages.
    pub fn clear(&mut self) {
        self.bytes.truncate(Header::SIZE);
        self.header.count = 0;
        self.header.write(&mut self.bytes);
    }

    /// Adds a message.
    ///
    /// # Errors
    /// [`PushError`]. After an error the packet is unchanged.
    pub fn push(&mut self, request: &RequestMessage<'_>) -> Result<(), PushError> {
        let (Header { form, message_type, count, .. }, operation) = (self.header, request.operation);
        if operation.message_type() != message_type {
            return Err(PushError::MessageType(operation));
        }
        let (bytes, max) = (request.value.len(), form.value_bytes_max());
        if bytes > max {
            return Err(PushError::Value { bytes, max });
        }
        if usize::from(count) >= self.messages_max {
            return Err(PushError::Full(count));
        }
        let start = self.bytes.len();
        self.bytes.resize(start + form.message_bytes(), 0);
        write(request, &mut self.bytes[start..]);
        self.header.count += 1;
        self.header.write(&mut self.bytes);
        Ok(())
    }

    /// Returns the number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.header.count.into()
    }

    /// Returns whether there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.header.count == 0
    }

    /// Returns the datagram.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Encodes a message into zeroed bytes.
fn write(request: &RequestMessage<'_>, message: &mut [u8]) {
    set_number::<2>(message, layout::SEQUENCE_NUMBER_OFFSET, request.sequence_number.into());
    set_number::<2>(message, layout::SOURCE_OFFSET, request.source.into());
    set_number::<2>(message, layout::DESTINATION_OFFSET, request.destination.into());
    set_number::<1>(message, layout::LENGTH_OFFSET, request.value.len() as u64);
    set_number::<1>(message, layout::OPCODE_OFFSET, opcode::with_operation(0, request.operation.code()));
    message[layout::KEY_OFFSET..layout::KEY_OFFSET + KEY_BYTES].copy_from_slice(&request.key);
    message[layout::VALUE_OFFSET..][..request.value.len()].copy_from_slice(request.value);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::PAYLOAD_BYTES;
    use crate::ocsm::{Malformed, Packet, ReplyPacket, Status};

    const SEARCH: RequestMessage<'_> = RequestMessage {
        sequence_number: 0x0201,
        source: 0x0403,
        destination: 0x0605,
        operation: Operation::Search,
        key: *b"twelve bytes",
        value: b"",
    };

    fn one(form: Form, request: &RequestMessage<'_>) -> RequestPacket {
        let mut requests = RequestPacket::new(request.operation.message_type(), form, 9, PAYLOAD_BYTES);
        requests.push(request).unwrap();
        requests
    }

    #[test]
    fn a_message_is_encoded_as_in_the_layout() {
        let insert = RequestMessage { operation: Operation::Insert, value: b"red", ..SEARCH };
        let expected = b"\x01\x00\x09\x00\x02\x00\x01\x02\x03\x04\x05\x06\x03\x02twelve bytesred";
        let bytes = one(Form::Short, &insert).bytes().to_vec();
        assert_eq!((&bytes[..29], &bytes[29..]), (&expected[..], &[0; 9][..]));
        let bytes = one(Form::Long, &insert).bytes().to_vec();
        assert_eq!((bytes.len(), bytes[5]), (70, 1));
    }

    #[test]
    fn a_frame_fits_45_short_or_22_long_messages() {
        for (form, most) in [(Form::Short, 45), (Form::Long, 22)] {
            let mut requests = RequestPacket::new(MessageType::Search, form, 0, PAYLOAD_BYTES);
            (0..most).for_each(|_| requests.push(&SEARCH).unwrap());
            assert_eq!(requests.push(&SEARCH), Err(PushError::Full(most)));
            assert!(requests.bytes().len() <= PAYLOAD_BYTES);
        }
    }

    #[test]
    fn invalid_messages_are_rejected() {
        let mut requests = RequestPacket::new(MessageType::Update, Form::Short, 0, PAYLOAD_BYTES);
        assert_eq!(requests.push(&SEARCH), Err(PushError::MessageType(Operation::Search)));
        let insert = RequestMessage { operation: Operation::Insert, value: &[1; 13], ..SEARCH };
        assert_eq!(requests.push(&insert), Err(PushError::Value { bytes: 13, max: 12 }));
        assert!(requests.is_empty());
    }

    #[test]
    fn a_reply_has_the_length_of_its_request_and_swapped_addresses() {
        let mut requests = one(Form::Short, &SEARCH);
        (0..3).for_each(|_| requests.push(&SEARCH).unwrap());
        let (mut out, packet) = (b"before".to_vec(), Packet::parse(requests.bytes()).unwrap());
        let mut reply = ReplyPacket::to(&packet, &mut out);
        reply.push(Status::Done, Some(b"red"));
        reply.push(Status::Absent, None);
        reply.push(Status::Done, Some(&[7; 13]));
        reply.push(Status::Failed, None);
        reply.push(Status::Done, None);
        assert_eq!(out.len(), 6 + requests.bytes().len());
        let replies = Packet::parse(&out[6..]).unwrap();
        assert!(replies.header().is_reply);
        let found: Vec<_> = replies.messages().map(|reply| (reply.status(), reply.value())).collect();
        let status = [Status::Done, Status::Absent, Status::TooLong, Status::Failed].map(Some);
        let values = [&b"red"[..], b"", b"", b""].map(Some);
        assert_eq!(found, std::iter::zip(status, values).collect::<Vec<_>>());
        let first = replies.messages().next().unwrap();
        assert_eq!((first.source(), first.destination(), first.sequence_number()), (0x0605, 0x0403, 0x0201));
    }

    #[test]
    fn invalid_packets_are_rejected() {
        let bytes = one(Form::Short, &SEARCH).bytes().to_vec();
        let rejected = |bytes: &[u8]| Packet::parse(bytes).unwrap_err();
        assert_eq!(rejected(&bytes[..5]), Malformed::Short(5));
        let with = |at: usize, byte: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            rejected(&bytes)
        };
        assert_eq!(with(4, 3), Malformed::MessageType(3));
        assert_eq!(with(5, 4), Malformed::Flags(4));
        assert_eq!(with(5, 1), Malformed::Length { count: 1, message_bytes: 64, bytes: 32 });
        assert_eq!(with(0, 2), Malformed::Length { count: 2, message_bytes: 32, bytes: 32 });
        assert_eq!(rejected(&bytes[..37]), Malformed::Length { count: 1, message_bytes: 32, bytes: 31 });
    }

    prop_compose! {
        fn update()(
            numbers: (u16, u16, u16),
            operation in prop::sample::select(vec![Operation::Insert, Operation::Modify, Operation::Delete]),
            key: [u8; KEY_BYTES],
            value in prop::collection::vec(any::<u8>(), 0..=44),
        ) -> (u16, u16, u16, Operation, [u8; KEY_BYTES], Vec<u8>) {
            (numbers.0, numbers.1, numbers.2, operation, key, value)
        }
    }

    proptest! {
        #[test]
        fn messages_round_trip(updates in prop::collection::vec(update(), 0..=22), table: u16) {
            let mut requests = RequestPacket::new(MessageType::Update, Form::Long, table, PAYLOAD_BYTES);
            for &(sequence_number, source, destination, operation, key, ref value) in &updates {
                let request = RequestMessage { sequence_number, source, destination, operation, key, value };
                requests.push(&request).unwrap();
            }
            let packet = Packet::parse(requests.bytes()).unwrap();
            prop_assert_eq!(packet.header().table, table);
            let arrived = packet.messages().map(|message| {
                let value = message.value().unwrap().to_vec();
                let key = message.key().try_into().unwrap();
                let operation = message.operation().unwrap();
                (message.sequence_number(), message.source(), message.destination(), operation, key, value)
            });
            prop_assert_eq!(arrived.collect::<Vec<_>>(), updates);
        }

        #[test]
        fn arbitrary_bytes_are_a_packet_or_rejected(
            head in (0..4_u8, 0..4_u8),
            messages in prop::collection::vec(any::<u8>(), 0..200),
            status in 0..7_usize,
        ) {
            let bytes = [&[(messages.len() / 32) as u8, 0, 0, 0, head.0, head.1], &*messages].concat();
            if let Ok(packet) = Packet::parse(&bytes) {
                let mut out = Vec::new();
                let mut reply = ReplyPacket::to(&packet, &mut out);
                for message in packet.messages() {
                    let _ = (message.operation(), message.status(), message.key());
                    reply.push([Status::Done, Status::Failed][status % 2], message.value());
                }
                prop_assert_eq!(out.len(), bytes.len());
                prop_assert!(Packet::parse(&out).is_ok());
            }
        }
    }
}
