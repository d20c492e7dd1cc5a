//! Packets of OCSM.

use honeycomb_layout::{ocsm_flags, ocsm_header, ocsm_short};
use honeycomb_protocol::{PAYLOAD_BYTES_MAX, ocsm};
use rand::Rng;
use rand::rngs::StdRng;

use crate::feed::{feed, pick, random_bytes};

/// Headers of packets of no message up to two, messages of zeros and ones, and lengths of values.
const PACKET_TOKENS: &[u8] =
    b"\0\0\0\0\x01\0|\x01\0\0\0\x01\0|\x02\0\0\0\x02\0|\x01\0\0\0\x02\x01|\x01\0\0\0\x01\x03|\
    \xff\xff\0\0\x01\0|\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0|\0\0\0\0|\
    \x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01|\0|\x0c|\x0d|\x2c|\x2d";

#[test]
fn packets_of_requests() {
    feed(PACKET_TOKENS, packet_written, is_packet);
}

#[test]
fn packets_of_replies() {
    feed(PACKET_TOKENS, packet_answered, is_packet);
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
fn packet_written(rng: &mut StdRng) -> Vec<u8> {
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

/// A packet whose messages are answered.
fn packet_answered(rng: &mut StdRng) -> Vec<u8> {
    let bytes = packet_written(rng);
    let packet = ocsm::Packet::parse(&bytes).unwrap();
    let mut out = Vec::new();
    let mut answers = ocsm::ReplyPacket::to(&packet, &mut out);
    for _ in packet.messages() {
        let value = random_bytes(rng, 50);
        answers.push(pick(rng, &STATUSES), rng.random::<bool>().then_some(&value));
    }
    out
}

/// Whether a datagram is a packet; that its messages can be written again, and answered.
fn is_packet(rng: &mut StdRng, bytes: &[u8]) -> bool {
    let Ok(packet) = ocsm::Packet::parse(bytes) else { return false };
    let (form, count) = (packet.header().form, usize::from(packet.header().count));
    assert_eq!(bytes.len(), ocsm_header::SIZE + count * form.message_bytes());
    assert_eq!((packet.messages().len(), form.messages_max(bytes.len())), (count, count));
    assert_messages_written_again(&packet, bytes.len());
    assert_answered(rng, &packet, bytes);
    true
}

/// Those messages of a packet that a client could have written are the same again.
fn assert_messages_written_again(packet: &ocsm::Packet<'_>, bytes: usize) {
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
    assert_eq!(again.header(), ocsm::Header { count, answered: false, ..packet.header() });
    let parts = |message: &ocsm::Message<'_>| format!("{:?}", request_of(message));
    assert!(again.messages().map(|message| parts(&message)).eq(written.iter().map(parts)));
}

/// What a message asks for, if it is something, and its value has room.
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

/// Each message is answered where it stands, and says what it said but for that.
fn assert_answered(rng: &mut StdRng, packet: &ocsm::Packet<'_>, bytes: &[u8]) {
    let room = packet.header().form.value_bytes_max();
    let value = |rng: &mut StdRng| rng.random::<bool>().then(|| random_bytes(rng, 50));
    let given: Vec<_> = packet.messages().map(|_| (pick(rng, &STATUSES), value(rng))).collect();
    let mut out = Vec::new();
    let mut answers = ocsm::ReplyPacket::to(packet, &mut out);
    given.iter().for_each(|(status, value)| answers.push(*status, value.as_deref()));
    answers.push(ocsm::Status::Done, Some(b"to no message"));
    assert_eq!((out.len(), &out[..FLAGS]), (bytes.len(), &bytes[..FLAGS]));
    assert_eq!(u64::from(out[FLAGS]), ocsm_flags::with_answered(bytes[FLAGS].into(), 1));
    let replies = ocsm::Packet::parse(&out).unwrap();
    assert_eq!(replies.header(), ocsm::Header { answered: true, ..packet.header() });
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
    messages.zip(&given).for_each(|(message, (status, value))| assert_zeros_behind(message, *status, value));
}

/// Of the value that was in a message before, nothing is left behind a shorter one.
fn assert_zeros_behind(message: &[u8], status: ocsm::Status, value: &Option<Vec<u8>>) {
    let Some(value) = value.as_ref().filter(|_| status == ocsm::Status::Done) else { return };
    let behind = message[ocsm_short::VALUE_OFFSET..].get(value.len()..);
    assert!(behind.is_none_or(|zeros| zeros.iter().all(|byte| *byte == 0)));
}
