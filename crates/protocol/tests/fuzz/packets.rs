//! Fuzz tests of the decoder of OCSM packets.

use honeycomb_layout::{ocsm_flags, ocsm_header, ocsm_short};
use honeycomb_protocol::{PAYLOAD_BYTES_MAX, ocsm};
use rand::Rng;
use rand::rngs::StdRng;

use crate::feed::{feed, pick, random_bytes};

/// Headers of packets with up to two messages, messages of zeros and ones, and lengths of values.
const PACKET_TOKENS: &[u8] =
    b"\0\0\0\0\x01\0|\x01\0\0\0\x01\0|\x02\0\0\0\x02\0|\x01\0\0\0\x02\x01|\x01\0\0\0\x01\x03|\
    \xff\xff\0\0\x01\0|\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0|\0\0\0\0|\
    \x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01|\0|\x0c|\x0d|\x2c|\x2d";

#[test]
fn packets_of_requests() {
    feed(PACKET_TOKENS, encoded_packet, is_packet);
}

#[test]
fn packets_of_replies() {
    feed(PACKET_TOKENS, encoded_reply, is_packet);
}

const FLAGS: usize = ocsm_header::FLAGS_OFFSET;
const OPERATIONS: [ocsm::Operation; 4] =
    [ocsm::Operation::Search, ocsm::Operation::Insert, ocsm::Operation::Modify, ocsm::Operation::Delete];
const STATUSES: [ocsm::Status; 7] = [
    ocsm::Status::Done,
    ocsm::Status::Absent,
    ocsm::Status::Exists,
    ocsm::Status::TooLong,
    ocsm::Status::NotAllowed,
    ocsm::Status::OutOfMemory,
    ocsm::Status::Failed,
];

/// A packet of messages of one type.
fn encoded_packet(rng: &mut StdRng) -> Vec<u8> {
    let form = pick(rng, &[ocsm::Form::Short, ocsm::Form::Long]);
    let message_type = pick(rng, &[ocsm::MessageType::Search, ocsm::MessageType::Update]);
    let count = if rng.random_ratio(1, 50) { 60 } else { 4 };
    let mut requests = ocsm::RequestPacket::new(message_type, form, rng.random(), PAYLOAD_BYTES_MAX);
    for _ in 0..rng.random_range(0..=count) {
        let value = random_bytes(rng, form.value_bytes_max());
        let request = ocsm::RequestMessage {
            sequence_number: rng.random(),
            source: rng.random(),
            destination: rng.random(),
            operation: pick(rng, &OPERATIONS),
            key: rng.random(),
            value: &value,
        };
        let is_of_type = request.operation.message_type() == message_type;
        assert_eq!(requests.push(&request).is_ok(), is_of_type);
    }
    requests.bytes().to_vec()
}

/// A reply packet.
fn encoded_reply(rng: &mut StdRng) -> Vec<u8> {
    let bytes = encoded_packet(rng);
    let packet = ocsm::Packet::parse(&bytes).unwrap();
    let mut out = Vec::new();
    let mut reply = ocsm::ReplyPacket::to(&packet, &mut out);
    for _ in packet.messages() {
        let value = random_bytes(rng, 50);
        reply.push(pick(rng, &STATUSES), rng.random::<bool>().then_some(&value));
    }
    out
}

/// Returns whether a datagram is a packet. Encodes its messages again and replies to them.
fn is_packet(rng: &mut StdRng, bytes: &[u8]) -> bool {
    let Ok(packet) = ocsm::Packet::parse(bytes) else { return false };
    let (form, count) = (packet.header().form, usize::from(packet.header().count));
    assert_eq!(bytes.len(), ocsm_header::SIZE + count * form.message_bytes());
    assert_eq!((packet.messages().len(), form.messages_max(bytes.len())), (count, count));
    assert_encodes_again(&packet, bytes.len());
    assert_replies(rng, &packet, bytes);
    true
}

/// Encodes those messages of a packet again that a client could have sent, and compares them.
fn assert_encodes_again(packet: &ocsm::Packet<'_>, bytes: usize) {
    let ocsm::Header { message_type, form, table, .. } = packet.header();
    let mut requests = ocsm::RequestPacket::new(message_type, form, table, bytes);
    let written = packet.messages().filter(|message| {
        let request = request_of(message);
        let is_of_type = request.is_some_and(|request| request.operation.message_type() == message_type);
        assert_eq!(request.is_some_and(|request| requests.push(&request).is_ok()), is_of_type);
        is_of_type
    });
    let written: Vec<_> = written.collect();
    let again = ocsm::Packet::parse(requests.bytes()).unwrap();
    let count = written.len() as u16;
    assert_eq!(again.header(), ocsm::Header { count, is_reply: false, ..packet.header() });
    let parts = |message: &ocsm::Message<'_>| format!("{:?}", request_of(message));
    assert!(again.messages().map(|message| parts(&message)).eq(written.iter().map(parts)));
}

/// Returns the request of a message, if its operation and its value are valid.
fn request_of<'a>(message: &ocsm::Message<'a>) -> Option<ocsm::RequestMessage<'a>> {
    Some(ocsm::RequestMessage {
        sequence_number: message.sequence_number(),
        source: message.source(),
        destination: message.destination(),
        operation: message.operation()?,
        key: message.key().try_into().unwrap(),
        value: message.value()?,
    })
}

/// Checks that the reply has the result of each message at its offset and is otherwise equal to the request.
fn assert_replies(rng: &mut StdRng, packet: &ocsm::Packet<'_>, bytes: &[u8]) {
    let room = packet.header().form.value_bytes_max();
    let value = |rng: &mut StdRng| rng.random::<bool>().then(|| random_bytes(rng, 50));
    let given: Vec<_> = packet.messages().map(|_| (pick(rng, &STATUSES), value(rng))).collect();
    let mut out = Vec::new();
    let mut reply = ocsm::ReplyPacket::to(packet, &mut out);
    given.iter().for_each(|(status, value)| reply.push(*status, value.as_deref()));
    reply.push(ocsm::Status::Done, Some(b"without a message"));
    assert_eq!((out.len(), &out[..FLAGS]), (bytes.len(), &bytes[..FLAGS]));
    assert_eq!(u64::from(out[FLAGS]), ocsm_flags::with_answered(bytes[FLAGS].into(), 1));
    let replies = ocsm::Packet::parse(&out).unwrap();
    assert_eq!(replies.header(), ocsm::Header { is_reply: true, ..packet.header() });
    for ((message, reply), (status, value)) in packet.messages().zip(replies.messages()).zip(&given) {
        let is_too_long = value.as_ref().is_some_and(|value| value.len() > room);
        let status = if is_too_long { ocsm::Status::TooLong } else { *status };
        let value = value.as_deref().filter(|_| status == ocsm::Status::Done).or(message.value());
        assert_eq!((reply.status(), reply.value()), (Some(status), value));
        assert_eq!((reply.source(), reply.destination()), (message.destination(), message.source()));
        assert_eq!((reply.operation(), reply.key()), (message.operation(), message.key()));
        assert_eq!(reply.sequence_number(), message.sequence_number());
    }
    let messages = out[ocsm_header::SIZE..].chunks_exact(packet.header().form.message_bytes());
    messages.zip(&given).for_each(|(message, (status, value))| assert_zeros_after(message, *status, value));
}

/// Checks that zeros follow a value that is shorter than the one before it.
fn assert_zeros_after(message: &[u8], status: ocsm::Status, value: &Option<Vec<u8>>) {
    let Some(value) = value.as_ref().filter(|_| status == ocsm::Status::Done) else { return };
    let behind = message[ocsm_short::VALUE_OFFSET..].get(value.len()..);
    assert!(behind.is_none_or(|zeros| zeros.iter().all(|byte| *byte == 0)));
}
