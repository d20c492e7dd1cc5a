//! The change stream: complete, in order, each change once, from any version that the log holds, also across
//! restarts; a reader that is too slow gets an error.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::thread;
use std::time::Duration;

use honeycomb_store::{
    Batch, ChangeStream, Config, Error, Store, SyncPolicy, Table, TableChange, TableChangeKind,
    UnorderedConfig,
};
use honeycomb_testing::{Kept, Random, SimulatedDisk, seed_or};

use crate::workload::config;

pub(crate) type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(disk: &SimulatedDisk) -> Store {
    Store::open(config(disk, SyncPolicy::Never)).unwrap()
}

pub(crate) fn pairs(table: &Table) -> Pairs {
    table.iter().unwrap().map(Result::unwrap).collect()
}

/// Applies changes, whose versions must ascend from `after` on.
pub(crate) fn apply(pairs: &mut Pairs, after: &mut u64, changes: Vec<TableChange>) {
    let mut first = *after + 1;
    for TableChange { version, kind, .. } in changes {
        assert!(version >= first, "version {version} after {after}");
        (first, *after) = (version, version);
        match kind {
            TableChangeKind::Put { key, value } => drop(pairs.insert(key, value)),
            TableChangeKind::Delete { key } => drop(pairs.remove(&key)),
            TableChangeKind::DeleteRange { lower, upper } => {
                pairs.retain(|key, _| !(lower.clone(), upper.clone()).contains_key(key));
            }
        }
    }
}

trait ContainsKey {
    fn contains_key(&self, key: &[u8]) -> bool;
}

impl ContainsKey for (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    fn contains_key(&self, key: &[u8]) -> bool {
        std::ops::RangeBounds::contains(self, &key.to_vec())
    }
}

/// Applies all changes up to a version.
fn read_up_to(stream: &mut ChangeStream, pairs: &mut Pairs, version: u64) {
    let mut after = stream.version();
    while stream.version() < version {
        apply(pairs, &mut after, stream.wait(Duration::from_millis(100)).unwrap());
    }
}

/// Reads the changes up to a version.
fn kinds_up_to(stream: &mut ChangeStream, version: u64) -> Vec<TableChangeKind> {
    let mut kinds = Vec::new();
    while stream.version() < version {
        let changes = stream.wait(Duration::from_millis(100)).unwrap();
        kinds.extend(changes.into_iter().map(|change| change.kind));
    }
    kinds
}

/// Writes to a table at random: single writes, batches and range deletions.
pub(crate) fn write(store: &Store, table: &Table, random: &mut Random) {
    let key = |random: &mut Random| (random.below(300) as u32).to_be_bytes();
    match random.below(10) {
        0 => {
            table.delete(&key(random)).unwrap();
        }
        1 => {
            let mut batch = Batch::default();
            (0..5).for_each(|_| {
                batch.put(table, &key(random), &random.bytes(20));
            });
            store.apply(&batch).unwrap();
        }
        2 => {
            let lower = random.below(300) as u32;
            let (lower, upper) = (lower.to_be_bytes(), (lower + 5).to_be_bytes());
            table.delete_range(&lower[..]..&upper[..]).unwrap();
        }
        _ => table.put(&key(random), &random.bytes(30)).unwrap(),
    }
}

#[test]
fn every_change_arrives_once_and_in_order_beside_writers() {
    let seed = seed_or(1);
    let disk = SimulatedDisk::default();
    let store = open(&disk);
    let table = store.table("t").unwrap();
    let other = store.table("other").unwrap();
    let is_done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut stream = store.changes::<[u8]>(&table, .., 0).unwrap();
                    let (mut found, mut after) = (Pairs::new(), 0);
                    loop {
                        let end = is_done.load(std::sync::atomic::Ordering::Acquire);
                        let version = store.read_version();
                        apply(&mut found, &mut after, stream.wait(Duration::from_millis(5)).unwrap());
                        if end && stream.version() >= version {
                            return found;
                        }
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let (store, table, other) = (&store, &table, &other);
                scope.spawn(move || {
                    let mut random = Random::new(seed + writer);
                    (0..1500).for_each(|_| {
                        write(store, if random.chance(8) { other } else { table }, &mut random);
                    });
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        // A last change, so that the streams reach the read version.
        table.put(b"end", b"").unwrap();
        is_done.store(true, std::sync::atomic::Ordering::Release);
        for reader in readers {
            assert!(reader.join().unwrap() == pairs(&table));
        }
    });
}

#[test]
fn a_stream_from_any_version_goes_on_across_restarts() {
    let seed = seed_or(7);
    let (disk, mut random) = (SimulatedDisk::default(), Random::new(seed));
    let mut states: Vec<(u64, Pairs)> = Vec::new();
    for _ in 0..3 {
        let store = open(&disk);
        // A table that splits before the other one exists: a recovery applies its pairs in larger batches, so
        // the other one has another identifier after a restart.
        let before = store.table("a").unwrap();
        for number in 0..2000_u32 {
            before.put(&number.to_be_bytes(), &[7; 100]).unwrap();
        }
        let table = store.table("t").unwrap();
        for _ in 0..60 {
            write(&store, &table, &mut random);
            states.push((store.read_version(), pairs(&table)));
        }
    }
    let store = open(&disk);
    let table = store.table("t").unwrap();
    table.put(b"end", b"").unwrap();
    let (last, end) = (store.read_version(), pairs(&table));
    for (version, mut state) in states {
        let mut stream = store.changes::<[u8]>(&table, .., version).unwrap();
        read_up_to(&mut stream, &mut state, last);
        assert!(state == end, "from version {version}");
    }
    assert_eq!(store.durability_statistics().unwrap().change_streams, 0);
}

/// A reader that has seen versions which a power cut has lost gets an error, never a silent gap. The log is
/// lost from the start of the store on, or from a random moment on.
#[test]
fn versions_that_a_power_cut_has_lost_are_not_used_again() {
    let (seed, mut lost) = (seed_or(3), 0);
    for (round, policy) in
        [SyncPolicy::Never, SyncPolicy::EverySecond].into_iter().cycle().take(8).enumerate()
    {
        let mut random = Random::new(seed + round as u64);
        let kept = if round < 4 { Kept::Nothing } else { Kept::Random(seed + round as u64) };
        let context = format!("seed {seed}, round {round}, {policy:?}, {kept:?}");
        let mut disk = SimulatedDisk::default();
        let mut states: Vec<(u64, Pairs)> = Vec::new();
        for start in 0..4 {
            let store = Store::open(config(&disk, policy)).unwrap();
            let table = store.table("t").unwrap();
            let first = store.read_version();
            let newest = states.iter().map(|(version, _)| *version).max();
            assert!(newest < Some(first), "{context}: version {first} after {newest:?}");
            for number in 0..1 + random.below(20) as u32 {
                table.put(&number.to_be_bytes(), &[start]).unwrap();
                states.push((store.read_version(), pairs(&table)));
            }
            if start % 2 == 1 {
                store.wait_durable(store.read_version()).unwrap();
            }
            disk = disk.after_power_cut(kept);
        }
        lost += check_streams(&disk, policy, states, &context);
    }
    assert!(lost > 0, "seed {seed}: no version was lost");
}

/// Continues from each state: its reader gets all later changes or an error. Returns the number of errors.
fn check_streams(
    disk: &SimulatedDisk,
    policy: SyncPolicy,
    states: Vec<(u64, Pairs)>,
    context: &str,
) -> usize {
    let store = Store::open(config(disk, policy)).unwrap();
    let table = store.table("t").unwrap();
    table.put(b"end", b"").unwrap();
    let (last, end) = (store.read_version(), pairs(&table));
    store.wait_durable(last).unwrap();
    let mut lost = 0;
    for (version, mut state) in states {
        let mut stream = store.changes::<[u8]>(&table, .., version).unwrap();
        match stream.poll() {
            Err(Error::VersionLost { version: reported, last }) => {
                assert!(reported == version && last < version, "{context}: {reported} after {last}");
                lost += 1;
            }
            polled => {
                apply(&mut state, &mut version.clone(), polled.unwrap());
                read_up_to(&mut stream, &mut state, last);
                assert!(state == end, "{context}: from version {version}");
            }
        }
    }
    lost
}

#[test]
fn a_stream_does_not_begin_at_a_later_version_than_the_newest() {
    let disk = SimulatedDisk::default();
    let store = open(&disk);
    let table = store.table("t").unwrap();
    let newest = store.read_version();
    assert!(store.changes::<[u8]>(&table, .., newest).is_ok());
    let error = store.changes::<[u8]>(&table, .., newest + 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("version too new: {} is above {newest}, the newest version of the store", newest + 1)
    );
}

#[test]
fn a_stream_has_only_its_table_and_its_range() {
    let disk = SimulatedDisk::default();
    let store = open(&disk);
    let (table, other) = (store.table("t").unwrap(), store.table("other").unwrap());
    let mut stream = store.changes(&table, "b".."d", store.read_version()).unwrap();
    for key in ["a", "b", "c", "d"] {
        table.put(key.as_bytes(), b"1").unwrap();
        other.put(key.as_bytes(), b"2").unwrap();
    }
    table.delete(b"c").unwrap();
    table.delete_range("a".."c").unwrap();
    table.delete_range("d"..).unwrap();
    let last = store.read_version();
    let kinds = kinds_up_to(&mut stream, last);
    let put = |key: &str| TableChangeKind::Put { key: key.into(), value: b"1".into() };
    let (lower, upper) = (Bound::Included(b"b".to_vec()), Bound::Excluded(b"c".to_vec()));
    let delete = TableChangeKind::Delete { key: b"c".into() };
    assert_eq!(kinds, [put("b"), put("c"), delete, TableChangeKind::DeleteRange { lower, upper }]);
    assert_eq!(stream.wait(Duration::from_millis(1)).unwrap(), []);
}

/// The changes of an unordered table have the order of their versions, and the range is one of keys.
#[test]
fn an_unordered_table_has_a_stream() {
    let disk = SimulatedDisk::default();
    let store = open(&disk);
    let (start, other) = (store.read_version(), store.table("other").unwrap());
    let table = store.unordered_table("t", UnorderedConfig::default()).unwrap();
    let (mut stream, mut all) =
        (store.changes(&table, "b".."d", start).unwrap(), store.changes::<[u8]>(&table, .., start).unwrap());
    for key in ["a", "b", "c", "d"] {
        table.put(key.as_bytes(), b"1").unwrap();
        other.put(key.as_bytes(), b"2").unwrap();
    }
    table.delete(b"b").unwrap();
    let mut batch = Batch::default();
    batch.put(&table, b"c", b"3").put(&other, b"c", b"4");
    store.apply(&batch).unwrap();
    table.clear().unwrap();
    let put = |key: &str, value: &str| TableChangeKind::Put { key: key.into(), value: value.into() };
    let deleted = TableChangeKind::Delete { key: b"b".to_vec() };
    let (lower, upper) = (Bound::Included(b"b".to_vec()), Bound::Excluded(b"d".to_vec()));
    let cleared = TableChangeKind::DeleteRange { lower, upper };
    let expected = vec![put("b", "1"), put("c", "1"), deleted, put("c", "3"), cleared];
    assert_eq!(kinds_up_to(&mut stream, store.read_version()), expected);
    let mut found = Pairs::new();
    read_up_to(&mut all, &mut found, store.read_version());
    assert_eq!(found, Pairs::new());
    // It goes on after a restart, whose record gives the table a new identifier.
    let version = stream.version();
    drop((table, other, stream, all, store));
    let store = open(&disk);
    let table = store.unordered_table("t", UnorderedConfig::default()).unwrap();
    table.put(b"c", b"5").unwrap();
    let mut stream = store.changes(&table, "b".."d", version).unwrap();
    assert_eq!(kinds_up_to(&mut stream, store.read_version()), [put("c", "5")]);
}

#[test]
fn a_table_that_was_dropped_and_created_again_has_its_own_changes() {
    let disk = SimulatedDisk::default();
    let store = open(&disk);
    store.table("t").unwrap().put(b"old", b"").unwrap();
    store.drop_table("t").unwrap();
    // It may get the identifier of the dropped one.
    store.table("u").unwrap().put(b"other", b"").unwrap();
    let table = store.table("t").unwrap();
    table.put(b"new", b"").unwrap();
    for from in [0, store.read_version() - 1] {
        let mut stream = store.changes::<[u8]>(&table, .., from).unwrap();
        let mut found = Pairs::new();
        read_up_to(&mut stream, &mut found, store.read_version());
        assert_eq!(found.keys().collect::<Vec<_>>(), [b"new"], "from version {from}");
    }
}

#[test]
fn a_slow_reader_continues_with_the_files_and_then_gets_an_error() {
    let disk = SimulatedDisk::default();
    let large = || Config { memory_bytes: 64 << 20, ..config(&disk, SyncPolicy::Never) };
    let store = Store::open(large()).unwrap();
    let table = store.table("t").unwrap();
    let start = store.read_version();
    let mut slow = store.changes::<[u8]>(&table, .., start).unwrap();
    let mut slower = store.changes::<[u8]>(&table, .., start).unwrap();
    // More than what is in memory, and values longer than a chunk of the reader.
    for number in 0..60_u32 {
        table.put(&number.to_be_bytes()[3..], &vec![number as u8; 400_000]).unwrap();
    }
    store.wait_durable(store.read_version()).unwrap();
    assert!(store.durability_statistics().unwrap().change_stream_lag >= 60);
    let mut found = Pairs::new();
    read_up_to(&mut slow, &mut found, store.read_version());
    assert!(found == pairs(&table));
    // The files are used again for later records.
    store.checkpoint().unwrap();
    (0..300_u32).for_each(|number| table.put(&number.to_be_bytes(), &[1; 200]).unwrap());
    store.wait_durable(store.read_version()).unwrap();
    let error = slower.poll().unwrap_err();
    assert!(matches!(error, Error::VersionTooOld { version } if version == start), "{error}");
    let error = store.changes::<[u8]>(&table, .., 0).unwrap().poll().unwrap_err();
    assert!(matches!(error, Error::VersionTooOld { version: 0 }), "{error}");
    assert!(slow.poll().is_ok());
    // The same after a restart, when the log begins with the checkpoint.
    drop((slow, slower, table, store));
    let store = Store::open(large()).unwrap();
    let table = store.table("t").unwrap();
    table.put(b"more", b"").unwrap();
    store.wait_durable(store.read_version()).unwrap();
    let error = store.changes::<[u8]>(&table, .., start).unwrap().poll().unwrap_err();
    assert!(matches!(error, Error::VersionTooOld { .. }), "{error}");
}

/// An error of the disk ends neither the stream nor loses changes.
#[test]
fn a_stream_continues_after_a_failed_read_of_a_file() {
    let disk = SimulatedDisk::default();
    let store = open(&disk);
    let table = store.table("t").unwrap();
    let start = store.read_version();
    (0..100_u8).for_each(|number| table.put(&[number], &[number; 500]).unwrap());
    let last = store.read_version();
    store.wait_durable(last).unwrap();
    for read in 0.. {
        let mut stream = store.changes::<[u8]>(&table, .., start).unwrap();
        disk.fail_read(disk.reads() + read);
        let (mut found, mut errors) = (Vec::new(), 0);
        while stream.version() < last {
            match stream.poll() {
                Ok(changes) => found.extend(changes.into_iter().map(|change| change.kind)),
                Err(Error::Log(_)) => errors += 1,
                Err(error) => panic!("read {read}: {error}"),
            }
        }
        let expected =
            (0..100_u8).map(|number| TableChangeKind::Put { key: vec![number], value: vec![number; 500] });
        assert!(found.into_iter().eq(expected), "read {read} of {:?}", disk.failed_read());
        assert!(errors <= 1, "read {read}: {errors} errors");
        if disk.failed_read().is_none() {
            assert!(read > 10, "{read} reads");
            break;
        }
    }
}

/// A reader of a file that is used again at the same time never returns other records.
#[test]
fn readers_beside_recycling_have_no_gap() {
    let disk = SimulatedDisk::default();
    let store = open(&disk);
    let table = store.table("t").unwrap();
    thread::scope(|scope| {
        let (store, table) = (&store, &table);
        let readers: Vec<_> = (0..2)
            .map(|reader| {
                scope.spawn(move || {
                    let (mut complete, mut too_old) = (0, 0);
                    for _ in 0..60 {
                        let from = store.durability_statistics().unwrap().checkpoint_version;
                        let mut stream = store.changes::<[u8]>(table, .., from).unwrap();
                        let (mut next, target) = (None, store.read_version());
                        while stream.version() < target {
                            match stream.poll() {
                                Ok(changes) => changes.into_iter().for_each(|change| {
                                    // Each version has one put of its number.
                                    let TableChangeKind::Put { value, .. } = change.kind else { panic!() };
                                    let number = u64::from_le_bytes(value[..8].try_into().unwrap());
                                    assert!(next.is_none_or(|next| next == number));
                                    next = Some(number + 1);
                                }),
                                Err(Error::VersionTooOld { .. }) => {
                                    too_old += 1;
                                    break;
                                }
                                Err(error) => panic!("{error}"),
                            }
                            thread::sleep(Duration::from_micros(300 * reader));
                        }
                        complete += u32::from(stream.version() >= target);
                    }
                    (complete, too_old)
                })
            })
            .collect();
        let writer = scope.spawn(move || {
            for number in 0..20_000_u64 {
                let mut value = [0; 60];
                value[..8].copy_from_slice(&number.to_le_bytes());
                table.put(&(number % 100).to_be_bytes(), &value).unwrap();
                if number % 1000 == 0 {
                    store.checkpoint().unwrap();
                }
            }
        });
        writer.join().unwrap();
        let results = readers.into_iter().map(|reader| reader.join().unwrap());
        assert!(results.map(|(complete, _)| complete).sum::<u32>() > 0);
    });
}

#[test]
fn a_store_in_memory_has_no_changes() {
    let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
    let table = store.table("t").unwrap();
    assert!(matches!(store.changes::<[u8]>(&table, .., 0), Err(Error::NoDirectory)));
}
