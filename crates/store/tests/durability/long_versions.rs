//! Streams of changes return a version with many changes in parts, and go on from any position within it.

use std::time::Duration;

use honeycomb_store::{
    Batch, ChangePosition, ChangeStream, Config, Error, OldValue, Store, SyncPolicy, TableChange,
    TableChangeKind,
};
use honeycomb_testing::{Kept, SimulatedDisk};

use crate::workload::config;

/// Pairs of the long version. Every third one is in another table.
const PAIRS: u32 = 3000;
const VALUE_BYTES: usize = 400;
/// Bytes after which a poll ends.
const POLL_BYTES: usize = 256 << 10;

fn open(disk: &SimulatedDisk, old_values: bool) -> Store {
    let store = Store::open(Config { memory_bytes: 64 << 20, ..config(disk, SyncPolicy::Never) }).unwrap();
    store.set_old_values(old_values).unwrap();
    store
}

/// Writes short versions and two long ones, of which the second replaces and deletes the pairs of the first.
/// Returns the version before them.
fn write(store: &Store) -> u64 {
    let (table, _) = (store.table("t").unwrap(), store.table("other").unwrap());
    let start = store.read_version();
    table.put(b"first", b"1").unwrap();
    (0..2).for_each(|round| write_long(store, round));
    table.put(b"last", b"1").unwrap();
    start
}

fn write_long(store: &Store, round: u32) {
    let (table, other) = (store.table("t").unwrap(), store.table("other").unwrap());
    let mut batch = Batch::default();
    for number in 0..PAIRS {
        let table = if number % 3 == 0 { &other } else { &table };
        match number % 10 {
            7 if round > 0 => batch.delete(table, &(number - 1).to_be_bytes()),
            _ => batch.put(table, &number.to_be_bytes(), &[number as u8; VALUE_BYTES]),
        };
    }
    store.apply(&batch).unwrap();
}

/// Writes the same, and waits until it is in the log.
fn write_durably(store: &Store) -> u64 {
    let start = write(store);
    store.wait_durable(store.read_version()).unwrap();
    start
}

fn bytes(change: &TableChange) -> usize {
    match &change.kind {
        TableChangeKind::Put { key, value } => key.len() + value.len(),
        _ => 0,
    }
}

/// Returns all changes of a stream, and the positions after its polls.
fn read(stream: &mut ChangeStream, last: u64) -> (Vec<TableChange>, Vec<ChangePosition>) {
    let (mut found, mut positions) = (Vec::new(), Vec::new());
    while stream.version() < last {
        let changes = stream.poll().unwrap();
        assert!(changes.iter().map(bytes).sum::<usize>() < POLL_BYTES + VALUE_BYTES);
        found.extend(changes);
        positions.push(stream.position());
    }
    (found, positions)
}

fn changes(store: &Store, position: impl Into<ChangePosition>) -> ChangeStream {
    store.changes::<[u8]>(&store.table("t").unwrap(), .., position).unwrap()
}

#[test]
fn a_long_version_arrives_in_parts() {
    for old_values in [false, true] {
        let disk = SimulatedDisk::default();
        let store = open(&disk, old_values);
        // Its records are in memory.
        let mut early = changes(&store, store.read_version());
        let start = write_durably(&store);
        let last = store.read_version();
        let (expected, positions) = read(&mut early, last);
        assert!(expected.is_sorted_by_key(|change| change.version));
        // The deletions of absent keys change nothing.
        let deletions = expected.iter().filter(|change| bytes(change) == 0).count() as u32;
        assert_eq!((deletions, expected.len() as u32), (PAIRS / 30, 2 + PAIRS * 39 / 30));
        assert!(expected.iter().all(|change| (change.old == OldValue::Unknown) != old_values));
        let within = |position: &&ChangePosition| matches!(position, ChangePosition::Within { .. });
        assert!(positions.iter().filter(within).count() >= 4, "{positions:?}");
        // The files return the same changes, and from each position on the same rest, also after a restart.
        drop(early);
        check_rests(&store, start, &expected);
        drop(store);
        check_rests(&open(&disk, old_values), start, &expected);
    }
}

/// Another stream after each poll returns what follows.
fn check_rests(store: &Store, start: u64, expected: &[TableChange]) {
    let last = expected.last().unwrap().version;
    let (mut found, mut position) = (Vec::new(), ChangePosition::After(start));
    while position.version() < last {
        let mut stream = changes(store, position);
        found.extend(stream.poll().unwrap());
        let (rest, _) = read(&mut stream, last);
        assert!(rest.last().is_none_or(|change| change.version >= last));
        let whole: Vec<_> = found.iter().chain(&rest).filter(|change| change.version <= last).collect();
        assert!(whole.into_iter().eq(expected), "from {position}");
        let mut again = changes(store, position);
        again.poll().unwrap();
        position = again.position().to_string().parse().unwrap();
    }
}

#[test]
fn a_position_that_the_log_does_not_have_is_an_error() {
    let disk = SimulatedDisk::default();
    let store = open(&disk, false);
    let version = write_durably(&store) + 1;
    let error = changes(&store, ChangePosition::Within { version, changes: 2 }).poll().map(drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("no such position: version {version} of the log does not have 2 changes")
    );
    let all = changes(&store, ChangePosition::Within { version, changes: 1 }).poll().unwrap();
    assert!(all[0].version > version, "nothing of the version is left");
    let version = store.read_version() + 1;
    let table = store.table("t").unwrap();
    let later = store.changes::<[u8]>(&table, .., ChangePosition::Within { version, changes: 0 });
    assert!(matches!(later, Err(Error::VersionTooNew { .. })));
}

/// A reader that has seen a part of a version which a power cut has lost gets an error.
#[test]
fn a_lost_version_has_no_positions() {
    let mut disk = SimulatedDisk::default();
    let store = open(&disk, false);
    write_durably(&store);
    let mut stream = changes(&store, store.read_version());
    write_long(&store, 2);
    while matches!(stream.position(), ChangePosition::After(_)) {
        stream.wait(Duration::from_millis(100)).unwrap();
    }
    let position = stream.position();
    disk = disk.after_power_cut(Kept::Nothing);
    drop((stream, store));
    let store = open(&disk, false);
    write_durably(&store);
    let error = changes(&store, position).poll().map(drop).unwrap_err();
    let lost = position.version() + 1;
    assert!(matches!(error, Error::VersionLost { version, .. } if version == lost), "{error}");
}

/// An error of the disk within a version ends neither the stream nor loses changes.
#[test]
fn a_long_version_continues_after_a_failed_read() {
    let disk = SimulatedDisk::default();
    let store = open(&disk, false);
    let start = write_durably(&store);
    let last = store.read_version();
    let (expected, _) = read(&mut changes(&store, start), last);
    for read in 0.. {
        let (mut stream, mut found, mut errors) = (changes(&store, start), Vec::new(), 0);
        disk.fail_read(disk.reads() + read);
        while stream.version() < last {
            match stream.poll() {
                Ok(changes) => found.extend(changes),
                Err(Error::Log(_)) => errors += 1,
                Err(error) => panic!("read {read}: {error}"),
            }
        }
        assert!(found == expected && errors <= 1, "read {read}: {errors} errors");
        if disk.failed_read().is_none() {
            assert!(read > 3, "{read} reads");
            break;
        }
    }
}
