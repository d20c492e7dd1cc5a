//! Fuzz tests of the decoders of batch datagrams, and of the window of requests.

use std::collections::BTreeMap;

use honeycomb_layout::{BATCH_WINDOW, batch_item};
use honeycomb_protocol::{PAYLOAD_BYTES_MAX, batch};
use rand::Rng;
use rand::rngs::StdRng;

use crate::feed::{feed, pick, random_bytes, random_length, random_part};

const HEADER_TOKENS: &[u8] =
    b"\0\0\0\0\0\0\0\0|\xff\xff\xff\xff|\0\0\0\0|\x01|\x04|\x07|\x08|\0\0\0\x01\0\0\0";
/// First bytes of operations and items, and sizes.
const BATCH_TOKENS: &[u8] =
    b"\0|\x01|\x02|\x03|\x04|\x05|\x06|\x07|\x0b|\x11|\x12|\x21|\x22|\x26|\x32|\x36|\x40|\x47|\
    \x87|\xc7|\x01\0|\x02\0|\xff\xff|abc";
/// Forms, sizes and operands.
const RANGE_FUNCTION_TOKENS: &[u8] = b"\x01|\x02|\x03|\x04|\0|\x01\0|\x07\0|\xff\xff|abc";
const WINDOW_TOKENS: &[u8] =
    b"\0|\x01|\xff|\0\0\0\0\0\0\0\0|\xff\xff\xff\xff\xff\xff\xff\xff|\x40\0\0\0\0\0\0\0|\x80";

#[test]
fn batch_headers() {
    feed(HEADER_TOKENS, encoded_header, |_, bytes| is_header(bytes));
}

#[test]
fn batch_operations() {
    feed(BATCH_TOKENS, encoded_operations, |_, bytes| are_operations(bytes));
}

#[test]
fn batch_range_functions() {
    feed(RANGE_FUNCTION_TOKENS, encoded_range_function, |_, bytes| is_range_function(bytes));
}

#[test]
fn batch_items() {
    feed(BATCH_TOKENS, encoded_items, |_, bytes| are_items(bytes));
}

#[test]
fn batch_windows() {
    feed(WINDOW_TOKENS, encoded_identifiers, |_, bytes| repeats_in_a_window(bytes));
}

#[test]
fn the_last_identifiers_are_as_all_others() {
    let mut window = batch::Window::default();
    for identifier in [u64::MAX - 63, u64::MAX] {
        assert_eq!(window.begin(identifier), batch::RequestState::New);
        window.finish(identifier, b"done");
    }
    assert_eq!(window.begin(u64::MAX), batch::RequestState::Executed(b"done"));
    assert_eq!(window.begin(u64::MAX - 63), batch::RequestState::Executed(b"done"));
    assert_eq!(window.begin(u64::MAX - 64), batch::RequestState::TooOld);
}

/// A header of any kind followed by other bytes.
fn encoded_header(rng: &mut StdRng) -> Vec<u8> {
    use batch::{Kind, Rejection};
    let rejections = [Rejection::Malformed, Rejection::Session, Rejection::Identifier, Rejection::Table];
    let plain = [Kind::Hello, Kind::Token, Kind::Session, Kind::Request, Kind::Reply, Kind::ReplyEnd];
    let kind = if rng.random() { pick(rng, &plain) } else { Kind::Rejected(pick(rng, &rejections)) };
    let header = batch::Header {
        session: rng.random(),
        identifier: rng.random(),
        table: rng.random(),
        count: rng.random(),
        attempt: rng.random(),
        position: rng.random(),
        ..batch::Header::of(kind)
    };
    [&header.bytes()[..], &random_bytes(rng, 20)].concat()
}

/// Returns whether a datagram has a valid header. Encoding the header again returns its bytes.
fn is_header(bytes: &[u8]) -> bool {
    match batch::Header::parse(bytes) {
        Ok((header, rest)) => {
            assert_eq!([&header.bytes()[..], rest].concat(), bytes);
            true
        }
        Err(batch::Malformed::Short(length)) => {
            assert!(length == bytes.len() && length < batch::Header::SIZE);
            false
        }
        Err(malformed) => {
            assert!(matches!(malformed, batch::Malformed::Kind { .. }) && bytes.len() >= batch::Header::SIZE);
            false
        }
    }
}

/// The number of operations of a datagram, and their encoding.
fn encoded_operations(rng: &mut StdRng) -> Vec<u8> {
    let bytes = similar_bytes(rng);
    let mut requests = batch::RequestDatagram::new(PAYLOAD_BYTES_MAX);
    for _ in 0..rng.random_range(0..20) {
        let (key, value) = (any_part(rng, &bytes), any_part(rng, &bytes));
        let how = rng.random_range(0..3);
        let operation = match rng.random_range(0..10) {
            0 => batch::Operation::Get(key),
            1 => batch::Operation::Put { key, value },
            2 => batch::Operation::Insert { key, value },
            3 => batch::Operation::Update { key, value },
            4 => batch::Operation::Delete(key),
            5 => batch::Operation::CompareAndSwap { key, expected: any_part(rng, &bytes), value },
            6 | 7 => batch::Operation::Function {
                key,
                form: batch::FunctionForm::ALL[rng.random_range(0..batch::FunctionForm::ALL.len())],
                function: rng.random(),
                operands: value,
            },
            8 => batch::Operation::RangeFunction { from: key, to: any_part(rng, &bytes), function: value },
            _ => batch::Operation::Range {
                from: key,
                pairs_max: rng.random(),
                floor_start: how == 1,
                backward: how == 2,
            },
        };
        assert!(requests.push(&operation));
    }
    counted(requests.datagram(batch::Header::of(batch::Kind::Request)))
}

/// The value of a function over a range.
fn encoded_range_function(rng: &mut StdRng) -> Vec<u8> {
    let operands = random_bytes(rng, 20);
    let mut term = || batch::RangeTerm {
        offset: rng.random(),
        function: rng.random(),
        operands: &operands[random_part(rng, operands.len())],
    };
    let conditions: Vec<_> = (0..4).map(|_| term()).collect();
    let forms = [batch::RangeForm::Count, batch::RangeForm::Filter, batch::RangeForm::Reduce(term())];
    let (form, count) = (pick(rng, &forms), rng.random_range(0..=conditions.len()));
    batch::RangeFunction { form, conditions: conditions[..count].to_vec() }.bytes()
}

/// Returns whether the bytes are a function over a range. Encoding it again returns them.
fn is_range_function(bytes: &[u8]) -> bool {
    let function = batch::RangeFunction::parse(bytes);
    if let Some(function) = &function {
        assert_eq!(function.bytes(), bytes);
    }
    function.is_some()
}

/// Bytes with many equal parts, so that the encoder omits repetitions.
fn similar_bytes(rng: &mut StdRng) -> Vec<u8> {
    let length = 20 + random_length(rng).min(2000);
    (0..length).map(|_| rng.random_range(0..3)).collect()
}

fn any_part<'a>(rng: &mut StdRng, bytes: &'a [u8]) -> &'a [u8] {
    if rng.random_ratio(1, 20) {
        return &bytes[random_part(rng, bytes.len())];
    }
    let start = rng.random_range(0..16);
    &bytes[start..start + rng.random_range(0..4)]
}

/// The count in the header of a datagram, and the bytes after the header.
fn counted(datagram: &[u8]) -> Vec<u8> {
    let (header, rest) = batch::Header::parse(datagram).unwrap();
    [&header.count.to_le_bytes()[..], rest].concat()
}

/// Returns whether the bytes are a count and this number of operations.
fn are_operations(bytes: &[u8]) -> bool {
    let Some((count, rest)) = bytes.split_first_chunk() else { return false };
    let count = u16::from_le_bytes(*count);
    let Some(operations) = all_of(count, rest, batch::Operations::new(count, rest)) else { return false };
    for operation in &operations {
        assert!(!matches!(operation, batch::Operation::Range { floor_start: true, backward: true, .. }));
    }
    let longer = [rest, &[0]].concat();
    assert_eq!(
        batch::Operations::new(count, &longer).nth(count.into()),
        Some(Err(batch::Malformed::TrailingBytes(1)))
    );
    let mut requests = batch::RequestDatagram::new(batch::Header::SIZE + rest.len());
    operations
        .iter()
        .for_each(|operation| assert!(requests.push(operation), "the encoding is not longer than the input"));
    assert_eq!(requests.writes(), operations.iter().any(batch::Operation::writes));
    let (header, rest) =
        batch::Header::parse(requests.datagram(batch::Header::of(batch::Kind::Hello))).unwrap();
    assert_eq!((header.kind, header.count), (batch::Kind::Request, count));
    assert!(batch::Operations::new(count, rest).eq(operations.into_iter().map(Ok)));
    true
}

/// Returns all operations or items of a datagram, or `None` if one is malformed, which must then be the last.
fn all_of<T>(
    count: u16,
    bytes: &[u8],
    mut parsed: impl Iterator<Item = Result<T, batch::Malformed>>,
) -> Option<Vec<T>> {
    let mut all = Vec::new();
    for one in parsed.by_ref() {
        all.push(one);
        assert!(all.len() <= bytes.len() + 1 && all.len() <= usize::from(count) + 1);
    }
    assert!(parsed.next().is_none());
    let first_malformed = all.iter().position(Result::is_err);
    assert!(
        first_malformed.is_none_or(|index| index + 1 == all.len()),
        "the iterator continues after an error"
    );
    let all = all.into_iter().collect::<Result<Vec<_>, _>>().ok()?;
    assert_eq!(all.len(), usize::from(count));
    Some(all)
}

/// The number of items of a datagram, and their encoding.
fn encoded_items(rng: &mut StdRng) -> Vec<u8> {
    use batch::Item;
    let plain = [
        Item::Done { more: false },
        Item::Done { more: true },
        Item::Absent,
        Item::Exists,
        Item::Differs,
        Item::TooLarge,
        Item::NoRoom,
        Item::KeyLength,
        Item::OutOfMemory,
        Item::Failed,
    ];
    let bytes = similar_bytes(rng);
    let items = (0..rng.random_range(0..20)).map(|_| match rng.random_range(0..4) {
        0 => pick(rng, &plain),
        1 => Item::Found(any_part(rng, &bytes)),
        _ => Item::Pair { key: any_part(rng, &bytes), value: any_part(rng, &bytes) },
    });
    let items: Vec<_> = items.collect();
    counted(&reply(&items, PAYLOAD_BYTES_MAX))
}

/// A datagram of items that fit into it.
fn reply(items: &[batch::Item<'_>], payload_bytes: usize) -> Vec<u8> {
    let (mut out, mut ends) = (Vec::new(), Vec::new());
    let request = batch::Header::of(batch::Kind::Request);
    let mut reply = batch::ReplyWriter::to(&request, payload_bytes, 1, &mut out, &mut ends);
    items.iter().for_each(|item| assert_eq!(reply.push(item, 0), batch::Room::Fits));
    reply.finish();
    assert_eq!(ends, [out.len()]);
    out
}

/// Returns whether the bytes are a count and this number of items.
fn are_items(bytes: &[u8]) -> bool {
    let Some((count, rest)) = bytes.split_first_chunk() else { return false };
    let count = u16::from_le_bytes(*count);
    let Some(items) = all_of(count, rest, batch::Items::new(count, rest)) else { return false };
    assert!(rest.first().is_none_or(|first| batch_item::padding((*first).into()) == 0));
    let longer = [rest, &[0]].concat();
    assert_eq!(
        batch::Items::new(count, &longer).nth(count.into()),
        Some(Err(batch::Malformed::TrailingBytes(1)))
    );
    // The encoding is not longer than the input.
    let datagram = reply(&items, batch::Header::SIZE + rest.len());
    let (header, rest) = batch::Header::parse(&datagram).unwrap();
    assert_eq!((header.kind, header.count), (batch::Kind::ReplyEnd, count));
    assert!(batch::Items::new(count, rest).eq(items.into_iter().map(Ok)));
    true
}

/// Bytes of a step: an identifier and a byte that says whether the request begins or finishes.
const STEP_BYTES: usize = 9;
const FINISH: u8 = 1;

/// Steps that begin and finish requests with close identifiers. The last request repeats an earlier one.
fn encoded_identifiers(rng: &mut StdRng) -> Vec<u8> {
    let from = pick(rng, &[0, 1 << 32, u64::MAX - 200]);
    let mut identifiers: Vec<u64> =
        (0..rng.random_range(0..40)).map(|_| from + rng.random_range(0..199)).collect();
    identifiers.push(from + 200);
    let last = (from + 200).to_le_bytes();
    let step = |identifier: u64, what: u8| [&identifier.to_le_bytes()[..], &[what]].concat();
    let both = |identifier: &u64| [step(*identifier, 0), step(*identifier, FINISH)].concat();
    [&identifiers.iter().flat_map(both).collect::<Vec<_>>()[..], &last, &[0]].concat()
}

/// Returns whether a request repeats after its outcome is known. Checks the state that the window returns for
/// each request.
fn repeats_in_a_window(bytes: &[u8]) -> bool {
    let (mut window, mut newest, mut started) = (batch::Window::default(), 0, BTreeMap::new());
    let mut repeats = false;
    for (index, step) in bytes.chunks_exact(STEP_BYTES).enumerate() {
        let identifier = u64::from_le_bytes(*step.first_chunk().unwrap());
        if step[STEP_BYTES - 1] & FINISH != 0 {
            let outcome = index.to_le_bytes();
            window.finish(identifier, &outcome);
            started.entry(identifier).and_modify(|known| *known = Some(outcome));
            continue;
        }
        let known = window.begin(identifier);
        if identifier == 0 || u128::from(identifier) + BATCH_WINDOW as u128 <= u128::from(newest) {
            assert_eq!(known, batch::RequestState::TooOld);
            continue;
        }
        newest = newest.max(identifier);
        match started.get(&identifier) {
            None => assert_eq!(known, batch::RequestState::New),
            Some(None) => assert_eq!(known, batch::RequestState::Executing),
            Some(Some(outcome)) => assert_eq!(known, batch::RequestState::Executed(outcome)),
        }
        repeats |= matches!(known, batch::RequestState::Executed(_));
        started.entry(identifier).or_insert(None::<[u8; 8]>);
    }
    repeats
}
