//! Direct reads: they find the same pairs as requests.

use std::collections::HashMap;

use honeycomb_accelerator::{
    DirectReader, DirectScan, Get, Read, Request, ScannedPairs, Status, parse_request,
};
use honeycomb_btree::{Operation, Scan, Version};

use crate::conformance::answers::Answer;
use crate::conformance::oracle::SubmittedRequest;
use crate::conformance::world::{TABLES, World};

/// Bytes before each pair that count towards the limit.
const PAIR_HEADER_BYTES: usize = 8;

/// Executes groups of gets and scans. Between them, writers consolidate, split and merge nodes. Accelerators
/// without direct reads pass.
pub(super) fn direct_reads_find_the_newest_pairs(world: &mut World) {
    if world.accelerator.direct_reader().is_none() {
        return;
    }
    world.fill();
    for _ in 0..40 {
        let count = world.random.pick(&[0, 1, 2, 31, 32, 33, 100, 300]);
        let requests = world.requests(count);
        let bytes_max = world.random.pick(&[usize::MAX, 1_000_000, 1000, 0]);
        check_all(world, requests.bytes(), bytes_max);
        let count = world.random.below(100);
        world.write(count);
        world.forget();
    }
    a_read_of_an_unknown_table_is_the_last(world);
    if world.forest.mvcc() {
        all_reads_see_one_version(world);
    }
}

/// Executes the requests of the newest version directly, and checks the answers.
fn check_all(world: &World, mut requests: &[u8], bytes_max: usize) {
    let (mut gets, mut scans) = (Vec::new(), Vec::new());
    let reader = reader(world);
    while !requests.is_empty() {
        let (parsed, length) = parse_request(requests);
        requests = &requests[length..];
        let request = parsed.expect("the requests are valid");
        if request.version.is_some() || !world.roots.contains_key(&request.table) {
            continue;
        }
        match request.read {
            Read::Get(_) => gets.push(request),
            Read::Scan { scan, bytes_max } => {
                let scan = Scan { limit: scan.limit.min(reader.scan_pairs_max()), ..scan };
                scans.push(Request { read: Read::Scan { scan, bytes_max }, ..request });
            }
            Read::Function(_) | Read::Unordered(_) => {}
        }
    }
    check_gets(world, &reader, &gets);
    check_scans(world, &reader, &scans, bytes_max);
}

fn check_gets(world: &World, reader: &DirectReader<'_>, requests: &[Request<'_>]) {
    let gets: Vec<Get<'_>> = requests.iter().filter_map(get).collect();
    let (found, ended) = get_all(reader, &gets);
    assert_eq!((found.len(), ended), (gets.len(), Ok(())));
    for (request, found) in requests.iter().zip(found) {
        let status = Some(if found.is_some() { Status::Found } else { Status::Absent });
        let (value, pair_version) = found.unwrap_or_default();
        check(world, request, Answer { status, value, pair_version, ..Answer::default() });
    }
}

fn check_scans(world: &World, reader: &DirectReader<'_>, requests: &[Request<'_>], bytes_max: usize) {
    let scans: Vec<DirectScan<'_>> = requests.iter().filter_map(scan).collect();
    let (found, ended) = scan_all(reader, &scans, bytes_max);
    assert_eq!((found.len(), ended), (scans.len(), Ok(())));
    let mut bytes = 0;
    for (request, found) in requests.iter().zip(found) {
        assert_eq!(found.is_some(), bytes < bytes_max, "{bytes} of {bytes_max} bytes are used");
        let Some((pairs, more)) = found else { continue };
        let bytes_of = |(key, value): &(Vec<u8>, Vec<u8>)| PAIR_HEADER_BYTES + key.len() + value.len();
        bytes += pairs.iter().map(bytes_of).sum::<usize>();
        check(world, request, Answer { status: Some(Status::Found), pairs, more, ..Answer::default() });
    }
}

/// Checks the answer to a read of the newest version.
fn check(world: &World, request: &Request<'_>, answer: Answer) {
    let since = world.forest.read_version();
    let answers = vec![Answer { read_version: since, ..answer }];
    let mut answers = HashMap::from([(request.identifier, answers)]);
    SubmittedRequest { request: Ok(*request), since }.check(world, &mut answers);
}

/// Writes while the reads execute: later reads do not find them.
fn all_reads_see_one_version(world: &mut World) {
    world.put(TABLES[0], b"key", b"before");
    let (gets, scans) = (vec![get_of(TABLES[0]); 100], vec![scan_of(TABLES[0]); 100]);
    let (forest, root) = (&world.forest, world.roots[&TABLES[0]]);
    let put = |value| forest.write(root, b"key", Operation::Put(value)).expect("there is room");
    let reader = reader(world);
    let check = |index: usize, found: Option<(&[u8], Version)>| {
        assert_eq!(found.map(|(value, _)| value), Some(&b"before"[..]), "get {index}");
        if index == 0 {
            put(b"between");
        }
    };
    assert_eq!(reader.get_each(gets.into_iter(), check), Ok(()));
    let (found, _) = scan_all(&reader, &scans, usize::MAX);
    let expected = (b"key".to_vec(), b"before".to_vec());
    assert!(found.into_iter().flatten().all(|(pairs, _)| pairs == [expected.clone()]));
    drop(reader);
    world.put(TABLES[0], b"key", b"after");
}

fn a_read_of_an_unknown_table_is_the_last(world: &World) {
    let unknown = TABLES.iter().max().map_or(0, |table| table - 1);
    let reader = reader(world);
    for position in [0, 1, 40] {
        let table = |number| if number == position { unknown } else { TABLES[0] };
        let gets: Vec<_> = (0..50).map(|number| get_of(table(number))).collect();
        let (found, ended) = get_all(&reader, &gets);
        assert_eq!((found.len(), ended), (position, Err(Status::UnknownTable)));
        let scans: Vec<_> = (0..50).map(|number| scan_of(table(number))).collect();
        let (found, ended) = scan_all(&reader, &scans, usize::MAX);
        assert_eq!((found.len(), ended), (position, Err(Status::UnknownTable)));
    }
}

fn reader(world: &World) -> DirectReader<'_> {
    world.accelerator.direct_reader().expect("the accelerator has direct reads")
}

fn get_of(table: u16) -> Get<'static> {
    Get { table, key: b"key" }
}

fn scan_of(table: u16) -> DirectScan<'static> {
    let bound = std::ops::Bound::Included(&b"key"[..]);
    DirectScan { table, scan: Scan { lower: bound, upper: bound, ..Scan::default() }, bytes_max: u32::MAX }
}

fn get<'q>(request: &Request<'q>) -> Option<Get<'q>> {
    let Read::Get(key) = request.read else { return None };
    Some(Get { table: request.table, key })
}

fn scan<'q>(request: &Request<'q>) -> Option<DirectScan<'q>> {
    let Read::Scan { scan, bytes_max } = request.read else { return None };
    Some(DirectScan { table: request.table, scan, bytes_max })
}

/// The values that gets have found, with their versions, and the end of their execution.
type ExecutedGets = (Vec<Option<(Vec<u8>, Version)>>, Result<(), Status>);

fn get_all(reader: &DirectReader<'_>, gets: &[Get<'_>]) -> ExecutedGets {
    let mut all = Vec::new();
    let ended = reader.get_each(gets.iter().copied(), |index, found| {
        assert_eq!(index, all.len(), "in order");
        all.push(found.map(|(value, version)| (value.to_vec(), version)));
    });
    (all, ended)
}

/// The pairs that scans have found, each with whether there are more, and the end of their execution.
type ExecutedScans = (Vec<Option<(Vec<(Vec<u8>, Vec<u8>)>, bool)>>, Result<(), Status>);

fn scan_all(reader: &DirectReader<'_>, scans: &[DirectScan<'_>], bytes_max: usize) -> ExecutedScans {
    let (mut pairs, mut all) = (ScannedPairs::with_bytes_max(bytes_max), Vec::new());
    let ended = reader.scan_each(scans.iter().copied(), &mut pairs, |index, found| {
        assert_eq!(index, all.len(), "in order");
        all.push(found);
    });
    let pairs_of = |scanned| {
        let found: Vec<_> = pairs.of(scanned).map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        assert_eq!(found.len(), scanned.pair_count);
        (found, scanned.more)
    };
    (all.iter().map(|found| found.as_ref().map(pairs_of)).collect(), ended)
}
