//! Room for completions: reads are rejected when it is used up, and the reader can repeat them.

use honeycomb_accelerator::{Completions, Read, Request, Requests, Status};
use honeycomb_btree::Scan;

use crate::conformance::PAIRS_OF_A_LONG_SCAN;
use crate::conformance::answers::{Answer, Answers};
use crate::conformance::fairness::LONG;
use crate::conformance::session::one;
use crate::conformance::world::World;

const PAIRS: u8 = 50;
const VALUE_BYTES: usize = 1000;
pub(super) const ROOM: usize = 5 * VALUE_BYTES;
/// More than one answer, and less than two.
const ANSWER_BYTES_MAX: usize = VALUE_BYTES + 100;
const REJECTION_BYTES: usize = 32;

/// Executes gets and scans of one pair in one poll, and repeats the rejected ones until all have succeeded.
pub(super) fn reads_beyond_the_room_are_rejected(world: &mut World) {
    world.create_tree(9);
    (0..PAIRS).for_each(|number| world.put(9, &[number], &vec![number; VALUE_BYTES]));
    let mut pending: Vec<u8> = (0..PAIRS).collect();
    while !pending.is_empty() {
        let (answers, bytes) = execute(world, reads_of(&pending).bytes(), usize::MAX);
        let rejected: Vec<u8> = answers.iter().filter_map(|answer| check(answer, VALUE_BYTES)).collect();
        assert!(bytes <= ROOM + ANSWER_BYTES_MAX + REJECTION_BYTES * rejected.len(), "{bytes} bytes");
        assert_eq!(answers.len(), pending.len(), "every request has one answer");
        assert!(rejected.len() < pending.len(), "there was room for one");
        assert!(bytes + ANSWER_BYTES_MAX > ROOM || rejected.is_empty(), "there was room for more");
        pending = rejected;
    }
}

/// A value that is longer than the room is returned if it is the first one, unless it exceeds the maximum
/// length of a value.
pub(super) fn a_long_value_is_returned_alone_or_rejected(world: &mut World) {
    const LONG_BYTES: usize = 10 * ROOM;
    world.create_tree(9);
    (0..PAIRS).for_each(|number| world.put(9, &[number], &vec![number; LONG_BYTES]));
    world.put(9, &[PAIRS], &[PAIRS; VALUE_BYTES]);
    let all: Vec<u8> = (0..=PAIRS).filter(|number| number % 3 > 0).collect();
    for (value_bytes_max, found) in [(LONG_BYTES, 1), (LONG_BYTES - 1, 0)] {
        let (answers, bytes) = execute(world, reads_of(&all).bytes(), value_bytes_max);
        assert_eq!(answers.len(), all.len(), "every request has one answer");
        let is_found = |(_, answer): &&(u64, Answer)| answer.status == Some(Status::Found);
        let long = answers.iter().filter(is_found).filter(|(number, _)| *number < u64::from(PAIRS));
        assert_eq!(long.count(), found);
        assert!(
            bytes <= found * LONG_BYTES + ANSWER_BYTES_MAX + REJECTION_BYTES * all.len(),
            "{bytes} bytes"
        );
        let (short, _) = execute(world, reads_of(&[1, PAIRS, 2]).bytes(), VALUE_BYTES);
        let short: Vec<_> = short.iter().map(|(number, answer)| (*number as u8, answer.status)).collect();
        let expected = [(1, Status::NoRoom), (PAIRS, Status::Found), (2, Status::NoRoom)];
        assert!(
            expected.iter().all(|(number, status)| short.contains(&(*number, Some(*status)))),
            "{short:?}"
        );
    }
}

/// A scan in flight ends with a rejection.
pub(super) fn a_long_scan_ends_when_there_is_no_room(world: &mut World) {
    world.create_long_table();
    let read = Read::Scan { scan: Scan::default(), bytes_max: u32::MAX };
    let request = one(&Request { identifier: 1, table: LONG, version: None, read });
    let (answers, _) = execute(world, request.bytes(), usize::MAX);
    let [(1, answer)] = &answers[..] else { panic!("expected one answer: {answers:?}") };
    assert_eq!(answer.status, Some(Status::NoRoom));
    assert!((1..PAIRS_OF_A_LONG_SCAN as usize).contains(&answer.pairs.len()));
}

/// The reader takes the completions after each poll. There is room for a few pairs, and a quantum, which
/// begins with all of it, may exceed it.
pub(super) fn a_long_scan_with_little_room_is_whole(world: &mut World) {
    world.create_long_table();
    for backward in [false, true] {
        let read = Read::Scan { scan: Scan { backward, ..Scan::default() }, bytes_max: u32::MAX };
        let request = one(&Request { identifier: 1, table: LONG, version: None, read });
        let (mut completions, mut answers) = (Completions::with_limits(64, usize::MAX), Answers::default());
        let mut queue = world.accelerator.queue();
        assert_eq!(queue.submit(request.bytes()), request.bytes().len());
        while queue.poll(&mut completions) > 0 {
            answers.append(&completions);
            completions.clear();
        }
        answers.append(&completions);
        let [(1, answer)] = &answers.whole[..] else { panic!("expected one answer: {answers:?}") };
        assert_eq!(answer.status, Some(Status::Found));
        let keys: Vec<_> = answer.pairs.iter().map(|(key, _)| key.clone()).collect();
        let mut expected: Vec<_> = (0..PAIRS_OF_A_LONG_SCAN).map(|key| key.to_be_bytes().to_vec()).collect();
        if backward {
            expected.reverse();
        }
        assert!(keys == expected, "{} pairs of {}", keys.len(), expected.len());
    }
}

/// Returns a get, or a scan of one pair, for each number.
fn reads_of(numbers: &[u8]) -> Requests {
    let mut requests = Requests::default();
    for number in numbers {
        let key = [*number];
        let scan = Scan { lower: std::ops::Bound::Included(&key[..]), limit: 1, ..Scan::default() };
        let read = match number % 3 {
            0 => Read::Scan { scan, bytes_max: u32::MAX },
            _ => Read::Get(&key),
        };
        let request = Request { identifier: u64::from(*number), table: 9, version: None, read };
        requests.push(&request).expect("the keys are not too long");
    }
    requests
}

/// Executes requests with a limited room. Returns the answers with their identifiers, and the bytes of all
/// completions.
pub(super) fn execute(world: &World, requests: &[u8], value_bytes_max: usize) -> (Vec<(u64, Answer)>, usize) {
    let mut completions = Completions::with_limits(ROOM, value_bytes_max);
    let mut queue = world.accelerator.queue();
    assert_eq!(queue.submit(requests), requests.len());
    while queue.poll(&mut completions) > 0 {}
    let mut answers = Answers::default();
    answers.append(&completions);
    assert_eq!(answers.open_count(), 0, "every answer is whole");
    // A scan reserves room for many pairs of a leaf at once.
    let most = completions.bytes().len().max(ROOM) + 4 * VALUE_BYTES + 1000;
    assert!(completions.memory_bytes() <= most + most / 8, "{} bytes", completions.memory_bytes());
    (answers.whole, completions.bytes().len())
}

/// Returns the number of the pair if its read was rejected. Otherwise checks the value.
fn check((identifier, answer): &(u64, Answer), value_bytes: usize) -> Option<u8> {
    let number = *identifier as u8;
    if answer.status == Some(Status::NoRoom) {
        return Some(number);
    }
    assert_eq!(answer.status, Some(Status::Found));
    let value = answer.pairs.first().map_or(&answer.value, |(_, value)| value);
    assert_eq!(*value, vec![number; value_bytes]);
    None
}
