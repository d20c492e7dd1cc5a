//! A hostile peer: the backend rejects invalid requests, and answers the requests around them.

use std::ops::Bound;

use honeycomb_accelerator::{Read, Request, Requests, Status};
use honeycomb_btree::Scan;
use honeycomb_layout::{
    OPCODE_COUNT, OPCODE_FILTER, OPCODE_GET, OPCODE_RANK, OPCODE_REDUCE, OPCODE_SCAN,
    OPCODE_UNORDERED_COMPARE_AND_DELETE, OPCODE_UNORDERED_COMPARE_AND_SWAP, OPCODE_UNORDERED_DELETE,
    OPCODE_UNORDERED_FILTER, OPCODE_UNORDERED_GET, OPCODE_UNORDERED_PUT, REQUEST_VALUE_BYTES_MAX,
    request as layout, request_flags as flags,
};

use crate::conformance::session::one;
use crate::conformance::world::World;

/// A request with arbitrary fields, valid or not.
#[derive(Clone, Copy)]
struct Raw<'k> {
    opcode: usize,
    lower_length: usize,
    upper_length: usize,
    pairs_max: u32,
    bytes_max: u32,
    flags: u64,
    keys: &'k [u8],
}

const GET: Raw<'_> = Raw {
    opcode: OPCODE_GET,
    lower_length: 1,
    upper_length: 0,
    pairs_max: 0,
    bytes_max: 0,
    flags: 0,
    keys: &[7],
};
const SCAN: Raw<'_> =
    Raw { opcode: OPCODE_SCAN, lower_length: 0, pairs_max: 4, bytes_max: 400, keys: &[], ..GET };

impl Raw<'_> {
    fn bytes(self, identifier: u64) -> Vec<u8> {
        let mut bytes = vec![0; layout::SIZE];
        let mut put =
            |offset: usize, value: &[u8]| bytes[offset..offset + value.len()].copy_from_slice(value);
        put(layout::IDENTIFIER_OFFSET, &identifier.to_le_bytes());
        put(layout::PAIRS_MAX_OFFSET, &self.pairs_max.to_le_bytes());
        put(layout::BYTES_MAX_OFFSET, &self.bytes_max.to_le_bytes());
        put(layout::LOWER_LENGTH_OFFSET, &(self.lower_length as u16).to_le_bytes());
        put(layout::UPPER_LENGTH_OFFSET, &(self.upper_length as u16).to_le_bytes());
        put(layout::OPCODE_OFFSET, &[self.opcode as u8]);
        put(layout::FLAGS_OFFSET, &[self.flags as u8]);
        bytes.extend_from_slice(self.keys);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }
}

/// Submits each kind of invalid request between valid requests, and truncated requests at the end of a batch.
pub(super) fn invalid_requests_are_rejected(world: &mut World) {
    world.fill();
    for (bytes, status) in invalid_requests() {
        let (before, after) = (world.requests(3), world.requests(3));
        let mut session = world.session();
        session.submit(world, &[before.bytes(), &bytes, after.bytes()].concat());
        while session.poll() > 0 {}
        assert_eq!(session.answer(BAD).and_then(|answer| answer.status), Some(status), "{bytes:?}");
        session.finish(world);
    }
    for length in (1..layout::SIZE + 40).step_by(3) {
        truncated_requests_are_rejected(world, length);
    }
}

/// The identifier of an invalid request.
const BAD: u64 = 0xbad;

/// Returns invalid requests and the status of their rejection.
fn invalid_requests() -> Vec<(Vec<u8>, Status)> {
    let (long, longest) = ([7; 461], vec![7; 2 * 0xffff]);
    let (too_long_upper, nine_conditions) =
        ([&[0; 2][..], &long].concat(), [&[90, 0][..], &[0; 90]].concat());
    let mut requests = vec![
        (Raw { lower_length: 0, keys: &[], ..GET }, Status::KeyLength),
        (Raw { lower_length: 461, keys: &long, ..GET }, Status::KeyLength),
        (Raw { lower_length: 461, keys: &long, ..SCAN }, Status::KeyLength),
        (Raw { upper_length: 461, keys: &long, ..SCAN }, Status::KeyLength),
        (Raw { lower_length: 0xffff, upper_length: 0xffff, keys: &longest, ..SCAN }, Status::KeyLength),
        (Raw { upper_length: 1, keys: &[7, 7], ..GET }, Status::Malformed),
        (Raw { pairs_max: 1, ..GET }, Status::Malformed),
        (Raw { bytes_max: 1 << 31, ..GET }, Status::Malformed),
        (Raw { flags: flags::with_lower_excluded(0, 1), ..SCAN }, Status::Malformed),
        (Raw { flags: flags::with_upper_excluded(0, 1), ..SCAN }, Status::Malformed),
        (Raw { flags: flags::with_floor_start(flags::with_backward(0, 1), 1), ..SCAN }, Status::Malformed),
    ];
    requests.extend((0..8).map(|bit| (Raw { flags: 1 << bit, ..GET }, Status::Malformed)));
    let padding = [1, 2, 4].map(|padding| flags::with_padding(0, padding));
    requests.extend(padding.map(|flags| (Raw { flags, ..SCAN }, Status::Malformed)));
    requests.extend(invalid_functions(&too_long_upper, &nine_conditions));
    let too_long_value = vec![7; 1 + REQUEST_VALUE_BYTES_MAX + 1];
    requests.extend(invalid_operations(&long, &too_long_value));
    let unknown = (0..=255).filter(|opcode| !(OPCODE_GET..=OPCODE_UNORDERED_FILTER).contains(opcode));
    requests.extend(unknown.step_by(9).map(|opcode| (Raw { opcode, ..GET }, Status::UnknownOpcode)));
    requests.into_iter().map(|(raw, status)| (raw.bytes(BAD), status)).collect()
}

/// The bytes of a term with an operand, which the element of a ranking has not.
const ELEMENT_WITH_OPERAND: &[u8] = &[11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 5];

/// Functions over ranges whose terms or fields are invalid.
fn invalid_functions<'k>(too_long_upper: &'k [u8], nine_conditions: &'k [u8]) -> Vec<(Raw<'k>, Status)> {
    let of = |opcode, after_lower: &'k [u8]| {
        let (upper_length, keys) = (after_lower.len(), after_lower);
        Raw { opcode, upper_length, pairs_max: 0, bytes_max: 0, keys, ..SCAN }
    };
    let (count, filter) = (of(OPCODE_COUNT, &[0, 0]), of(OPCODE_FILTER, &[0, 0]));
    let mut requests = vec![
        (of(OPCODE_FILTER, too_long_upper), Status::KeyLength),
        (of(OPCODE_COUNT, nine_conditions), Status::Malformed),
        (of(OPCODE_COUNT, &[]), Status::Malformed),
        (of(OPCODE_COUNT, &[0]), Status::Malformed),
        (of(OPCODE_COUNT, &[1, 0]), Status::Malformed),
        (of(OPCODE_COUNT, &[1, 0, 7]), Status::Malformed),
        (of(OPCODE_REDUCE, &[0, 0]), Status::Malformed),
        (of(OPCODE_RANK, &[0, 0]), Status::Malformed),
        (of(OPCODE_RANK, ELEMENT_WITH_OPERAND), Status::Malformed),
        (Raw { pairs_max: 1, ..count }, Status::Malformed),
        (Raw { bytes_max: 1, ..count }, Status::Malformed),
    ];
    requests.extend((0..8).map(|bit| (Raw { flags: 1 << bit, ..filter }, Status::Malformed)));
    requests
}

/// Operations on unordered tables whose fields or values are invalid.
fn invalid_operations<'k>(long: &'k [u8], too_long_value: &'k [u8]) -> Vec<(Raw<'k>, Status)> {
    let put = Raw { opcode: OPCODE_UNORDERED_PUT, upper_length: 2, keys: &[7; 3], ..GET };
    let swap = Raw { opcode: OPCODE_UNORDERED_COMPARE_AND_SWAP, ..put };
    let upper_length = too_long_value.len() - 1;
    let long_put = Raw { upper_length, keys: too_long_value, ..put };
    let long_expected = Raw { bytes_max: upper_length as u32, ..long_put };
    let mut requests = vec![
        (Raw { lower_length: 0, keys: &[7; 2], ..put }, Status::KeyLength),
        (Raw { lower_length: 461, upper_length: 0, keys: long, ..put }, Status::KeyLength),
        (long_put, Status::ValueLength),
        (Raw { opcode: OPCODE_UNORDERED_COMPARE_AND_SWAP, ..long_expected }, Status::ValueLength),
        (Raw { pairs_max: 1, ..put }, Status::Malformed),
        (Raw { bytes_max: 1, ..put }, Status::Malformed),
        (Raw { pairs_max: 1, ..swap }, Status::Malformed),
        (Raw { bytes_max: 3, ..swap }, Status::Malformed),
        (Raw { bytes_max: u32::MAX, ..swap }, Status::Malformed),
        (Raw { opcode: OPCODE_UNORDERED_COMPARE_AND_DELETE, bytes_max: 1, ..put }, Status::Malformed),
        (Raw { opcode: OPCODE_UNORDERED_GET, ..put }, Status::Malformed),
        (Raw { opcode: OPCODE_UNORDERED_DELETE, ..put }, Status::Malformed),
        (Raw { opcode: OPCODE_UNORDERED_FILTER, bytes_max: 1, ..put }, Status::Malformed),
    ];
    requests.extend((0..8).map(|bit| (Raw { flags: 1 << bit, ..put }, Status::Malformed)));
    requests
}

/// Submits a truncated request after valid ones. Later bytes do not become part of it.
fn truncated_requests_are_rejected(world: &mut World, length: usize) {
    let scan = Scan { lower: Bound::Excluded(&[7; 20]), upper: Bound::Included(&[8; 20]), ..Scan::default() };
    let read = Read::Scan { scan, bytes_max: 0 };
    let whole = one(&Request { identifier: BAD, table: 0, version: None, read });
    let (before, after) = (world.requests(3), world.requests(3));
    let mut session = world.session();
    session.submit(world, &[before.bytes(), &whole.bytes()[..length]].concat());
    session.submit(world, after.bytes());
    session.finish(world);
}

/// Submits requests with changed, removed and inserted bytes, and random bytes.
pub(super) fn mutated_requests_are_handled(world: &mut World) {
    world.fill();
    let mut session = world.session();
    for _ in 0..150 {
        let count = 1 + world.random.below(20);
        let mut bytes = world.requests(count).bytes().to_vec();
        for _ in 0..world.random.below(8) {
            mutate(world, &mut bytes);
        }
        session.execute(world, &bytes);
        let length = world.random.below(500);
        let bytes = world.random.bytes(length);
        session.execute(world, &bytes);
    }
    let after: Requests = world.requests(100);
    session.execute(world, after.bytes());
}

fn mutate(world: &mut World, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let at = world.random.below(bytes.len());
    match world.random.below(10) {
        0..5 => bytes[at] ^= 1 << world.random.below(8),
        5..8 => bytes[at] = world.random.next() as u8,
        8 => drop(bytes.drain(at..bytes.len().min(at + 8))),
        _ => bytes.insert(at, world.random.next() as u8),
    }
}
