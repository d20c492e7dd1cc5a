//! Snapshots: their contents, and the conditions that end them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use honeycomb_store::{
    Config, Error, LeaseLimits, ManualClock, Reads, Scan, Snapshot, SnapshotToken, Store, Table, Version,
};

use super::{MIB, config, fill, key, pairs};

const SECOND: Duration = Duration::from_secs(1);

/// A store with a manual clock, a table with 1000 pairs, and limits of 10 seconds and 1 MiB.
struct Fixture {
    clock: Arc<ManualClock>,
    store: Store,
    table: Table,
}

fn fixture() -> Fixture {
    fixture_with(config())
}

fn fixture_with(config: Config) -> Fixture {
    let clock = Arc::new(ManualClock::default());
    let lease = LeaseLimits { time: 10 * SECOND, bytes: MIB as u64 };
    let store = Store::open(Config { clock: clock.clone(), lease, ..config }).unwrap();
    let table = store.table("table").unwrap();
    fill(&table, 1000);
    Fixture { clock, store, table }
}

/// Replaces `bytes` bytes or slightly more: each put replaces a value and a node of 8 KiB each.
fn replace(table: &Table, bytes: usize) {
    table.put(b"big", &[0; 8192]).unwrap();
    (0..bytes.div_ceil(16 << 10)).for_each(|_| table.put(b"big", &[0; 8192]).unwrap());
}

fn is_too_old<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::SnapshotTooOld))
}

/// Returns whether a snapshot has ended. All kinds of uses must agree.
fn has_ended(store: &Store, snapshot: &Snapshot, table: &Table) -> bool {
    let mut reads = Reads::default();
    reads.get_at(snapshot, table, b"k").unwrap();
    store.read(&mut reads).unwrap();
    let uses = [
        is_too_old(reads.value(0)),
        is_too_old(snapshot.get(table, b"k")),
        is_too_old(snapshot.get_into(table, b"k", &mut Vec::new())),
        is_too_old(snapshot.scan(table, &Scan::all())),
        is_too_old(snapshot.renew()),
        is_too_old(snapshot.iter::<str>(table, ..).unwrap().next().unwrap()),
    ];
    assert!(uses.iter().all(|ended| *ended == uses[0]), "{uses:?}");
    uses[0]
}

#[test]
fn a_snapshot_reads_the_state_of_its_moment() {
    let Fixture { store, table, .. } = fixture();
    let before = pairs(&table);
    let snapshot = store.snapshot().unwrap();
    assert!(table.delete(&key(0)).unwrap());
    table.put(&key(1), b"changed").unwrap();
    (2000..4000).for_each(|number| table.put(&key(number), b"new").unwrap());
    table.delete_range(&key(500)..&key(700)).unwrap();
    assert_eq!(snapshot.get(&table, &key(1)).unwrap().unwrap(), b"value 1");
    assert_eq!(snapshot.get(&table, &key(2000)).unwrap(), None);
    let mut value = b"left over".to_vec();
    assert!(snapshot.get_into(&table, &key(600), &mut value).unwrap());
    assert_eq!(value, b"value 600");
    let scanned = snapshot.scan(&table, &Scan::all()).unwrap();
    assert!(scanned.iter().eq(before.iter().map(|(key, value)| (&key[..], &value[..]))));
    let iterated: Vec<_> = snapshot.iter::<str>(&table, ..).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(iterated, before);
    let now = store.snapshot().unwrap();
    assert!(now.version() > snapshot.version());
    assert_eq!(now.get(&table, &key(1)).unwrap().unwrap(), b"changed");
}

#[test]
fn a_snapshot_covers_all_tables_that_existed() {
    let Fixture { store, table, .. } = fixture();
    let other = store.table("other").unwrap();
    other.put(b"k", b"1").unwrap();
    let snapshot = store.snapshot().unwrap();
    other.put(b"k", b"2").unwrap();
    let later = store.table("later").unwrap();
    fill(&later, 100);
    assert_eq!(snapshot.get(&other, b"k").unwrap().unwrap(), b"1");
    assert_eq!(snapshot.scan(&table, &Scan::all()).unwrap().len(), 1000);
    assert_eq!(snapshot.get(&later, &key(7)).unwrap(), None);
    assert!(snapshot.scan(&later, &Scan::all()).unwrap().is_empty());
    assert!(snapshot.scan(&later, &Scan::all().backward()).unwrap().is_empty());
}

/// Several gets, a scan of few pairs, one of many, one of none.
fn add_reads(reads: &mut Reads, snapshot: &Snapshot, table: &Table) {
    for number in [0, 1, 5000] {
        reads.get_at(snapshot, table, &key(number)).unwrap();
    }
    for scan in scans() {
        reads.scan_at(snapshot, table, &scan).unwrap();
    }
}

const GETS: usize = 3;

fn scans() -> [Scan<'static>; 3] {
    [Scan::all().limit(3), Scan::all().backward(), Scan::range("b".."a")]
}

/// Returns whether the results from `first` on are those of a snapshot.
fn results_are_of(snapshot: &Snapshot, table: &Table, reads: &Reads, first: usize) -> bool {
    let gets = [0, 1, 5000].into_iter().zip(first..);
    let mut gets = gets.map(|(number, index)| (snapshot.get(table, &key(number)).unwrap(), index));
    let mut scans = scans().into_iter().zip(first + GETS..);
    gets.all(|(value, index)| reads.value(index).unwrap() == value.as_deref())
        && scans.all(|(scan, index)| {
            let (pairs, found) = (snapshot.scan(table, &scan).unwrap(), reads.pairs(index).unwrap());
            found.eq(pairs.iter()) && reads.more(index).unwrap() == pairs.more()
        })
}

#[test]
fn reads_of_snapshots_and_of_the_current_state_share_a_batch() {
    let Fixture { store, table, .. } = fixture();
    let older = store.snapshot().unwrap();
    table.put(&key(0), b"changed").unwrap();
    table.delete(&key(1)).unwrap();
    let newer = store.snapshot().unwrap();
    (0..1000).for_each(|number| table.put(&key(number), b"now").unwrap());
    let mut reads = Reads::default();
    for _ in 0..2 {
        reads.clear();
        add_reads(&mut reads, &older, &table);
        reads.get(&table, &key(1)).unwrap();
        add_reads(&mut reads, &newer, &table);
        add_reads(&mut reads, &older, &table);
        store.read(&mut reads).unwrap();
        assert_eq!(reads.value(6).unwrap(), Some(&b"now"[..]));
        for (snapshot, first) in [(&older, 0), (&newer, 7), (&older, 13)] {
            assert!(results_are_of(snapshot, &table, &reads, first), "from read {first} on");
        }
    }
    drop((older, newer));
    assert_eq!(store.statistics().snapshots.count, 2, "the reads are handles");
    reads.clear();
    assert_eq!(store.statistics().snapshots.count, 0);
}

#[test]
fn in_a_batch_only_the_reads_of_an_ended_snapshot_are_too_old() {
    let Fixture { clock, store, table } = fixture();
    // Two snapshots of one version, so that the version stays pinned when one of them has ended.
    let limits = LeaseLimits { time: SECOND, bytes: u64::MAX };
    let (ended, held) = (store.snapshot_with(limits).unwrap(), store.snapshot().unwrap());
    assert_eq!(ended.version(), held.version());
    table.put(&key(1), b"now").unwrap();
    let released = store.snapshot().unwrap();
    table.put(&key(1), b"later").unwrap();
    let mut reads = Reads::default();
    add_reads(&mut reads, &ended, &table);
    add_reads(&mut reads, &held, &table);
    add_reads(&mut reads, &released, &table);
    reads.get(&table, &key(1)).unwrap();
    clock.advance(2 * SECOND);
    released.release();
    store.read(&mut reads).unwrap();
    for first in [0, 12] {
        assert!((first..first + GETS).all(|index| is_too_old(reads.value(index))));
        assert!((first + GETS..first + 6).all(|index| is_too_old(reads.pairs(index).map(drop))));
        assert!((first + GETS..first + 6).all(|index| is_too_old(reads.more(index))));
    }
    assert!(results_are_of(&held, &table, &reads, 6));
    assert_eq!(reads.value(18).unwrap(), Some(&b"later"[..]));
}

#[test]
fn errors_of_use() {
    let Fixture { store, .. } = fixture();
    let snapshot = store.snapshot().unwrap();
    let foreign = super::table();
    let mut reads = Reads::default();
    assert!(matches!(reads.get_at(&snapshot, &foreign, b"k"), Err(Error::ForeignTable { .. })));
    assert!(matches!(reads.scan_at(&snapshot, &foreign, &Scan::all()), Err(Error::ForeignTable { .. })));
    assert!(matches!(snapshot.get(&foreign, b"k"), Err(Error::ForeignTable { .. })));
    assert!(matches!(snapshot.scan(&foreign, &Scan::all()), Err(Error::ForeignTable { .. })));
    assert!(matches!(snapshot.iter::<str>(&foreign, ..), Err(Error::ForeignTable { .. })));
    let table = store.table("table").unwrap();
    assert!(matches!(snapshot.get(&table, b""), Err(Error::KeyLength { bytes: 0, max: 460 })));
    assert!(matches!(reads.get_at(&snapshot, &table, b""), Err(Error::KeyLength { bytes: 0, max: 460 })));
    assert!(reads.is_empty());
}

#[test]
fn time_ends_a_snapshot() {
    let Fixture { clock, store, table } = fixture();
    let snapshot = store.snapshot().unwrap();
    clock.advance(10 * SECOND);
    assert!(!has_ended(&store, &snapshot, &table), "its limit is 10 seconds");
    // The use renewed it.
    clock.advance(10 * SECOND);
    assert!(!has_ended(&store, &snapshot, &table));
    clock.advance(10 * SECOND + Duration::from_nanos(1));
    assert!(has_ended(&store, &snapshot, &table));
    assert!(table.get(&key(1)).unwrap().is_some());
}

#[test]
fn renewing_restarts_the_time_limit() {
    let Fixture { clock, store, table } = fixture();
    let snapshot = store.snapshot().unwrap();
    for _ in 0..5 {
        clock.advance(9 * SECOND);
        snapshot.renew().unwrap();
    }
    clock.advance(11 * SECOND);
    assert!(is_too_old(snapshot.renew()));
    assert!(has_ended(&store, &snapshot, &table));
}

#[test]
fn replaced_bytes_end_a_snapshot_even_if_renewed() {
    let Fixture { store, table, .. } = fixture();
    let snapshot = store.snapshot().unwrap();
    replace(&table, MIB / 2);
    assert!(!has_ended(&store, &snapshot, &table));
    replace(&table, MIB / 2);
    assert!(has_ended(&store, &snapshot, &table));
}

#[test]
fn limits_can_be_given() {
    let Fixture { clock, store, table } = fixture();
    let brief = store.snapshot_with(LeaseLimits { time: SECOND, bytes: u64::MAX }).unwrap();
    let small = store.snapshot_with(LeaseLimits { time: Duration::MAX, bytes: 0 }).unwrap();
    assert!(!has_ended(&store, &brief, &table) && !has_ended(&store, &small, &table));
    clock.advance(1000 * SECOND);
    assert!(has_ended(&store, &brief, &table) && !has_ended(&store, &small, &table));
    replace(&table, 1);
    assert!(has_ended(&store, &small, &table));
}

#[test]
fn writers_end_unused_snapshots() {
    let Fixture { clock, store, table } = fixture();
    let (by_time, by_bytes) = (store.snapshot().unwrap(), store.snapshot().unwrap());
    assert_eq!(store.statistics().snapshots.count, 2);
    clock.advance(11 * SECOND);
    by_bytes.renew().unwrap_err();
    assert_eq!(store.statistics().snapshots.count, 1);
    fill(&table, 256);
    assert_eq!(store.statistics().snapshots.count, 0);
    let by_bytes = store.snapshot().unwrap();
    (0..256).for_each(|_| replace(&table, 8192));
    assert_eq!(store.statistics().snapshots.count, 0);
    assert!(has_ended(&store, &by_time, &table) && has_ended(&store, &by_bytes, &table));
}

#[test]
fn taking_a_snapshot_ends_overdue_ones() {
    let Fixture { clock, store, .. } = fixture_with(Config { snapshots_max: 2, ..config() });
    let _held = [store.snapshot().unwrap(), store.snapshot().unwrap()];
    let error = store.snapshot().unwrap_err();
    assert_eq!(error.to_string(), "too many snapshots: at most 2 at one time (iterators count)");
    clock.advance(11 * SECOND);
    let _third = store.snapshot().unwrap();
    assert_eq!(store.statistics().snapshots.count, 1);
}

#[test]
fn dropping_the_last_handle_ends_a_snapshot() {
    let Fixture { store, table, .. } = fixture_with(Config { snapshots_max: 1, ..config() });
    let snapshot = store.snapshot().unwrap();
    let iter = snapshot.iter::<str>(&table, ..).unwrap();
    let clone = snapshot.clone();
    drop(snapshot);
    drop(clone);
    assert!(store.snapshot().is_err(), "the iterator is a handle");
    drop(iter);
    assert!(store.snapshot().is_ok());
}

#[test]
fn a_token_lets_a_snapshot_outlive_its_handles() {
    let Fixture { clock, store, table } = fixture();
    let snapshot = store.snapshot().unwrap();
    let (token, version): (SnapshotToken, Version) = (snapshot.token(), snapshot.version());
    table.put(&key(1), b"changed").unwrap();
    drop(snapshot);
    let resumed = store.resume(SnapshotToken::new(token.get())).unwrap();
    assert_eq!((resumed.version(), resumed.token()), (version, token));
    assert_eq!(resumed.get(&table, &key(1)).unwrap().unwrap(), b"value 1");
    drop(resumed);
    let (one, other) = (store.resume(token).unwrap(), store.resume(token).unwrap());
    one.release();
    assert!(has_ended(&store, &other, &table));
    assert!(is_too_old(store.resume(token)));
    let token = store.snapshot().unwrap().token();
    clock.advance(11 * SECOND);
    assert!(is_too_old(store.resume(token)));
    let unknown = SnapshotToken::new(token.get() + 1);
    assert!(matches!(store.resume(unknown), Err(Error::UnknownSnapshot { token }) if token == unknown.get()));
}

#[test]
fn without_versions_there_are_no_snapshots() {
    let Fixture { store, .. } = fixture_with(Config { mvcc: false, ..config() });
    let error = store.snapshot().unwrap_err();
    assert_eq!(
        error.to_string(),
        "this store has no versions and no snapshots: it was opened with mvcc = false"
    );
    assert!(matches!(store.resume(SnapshotToken::new(0)), Err(Error::UnknownSnapshot { token: 0 })));
}

#[test]
fn statistics_describe_the_oldest_snapshot() {
    let Fixture { clock, store, table } = fixture();
    let _oldest = store.snapshot().unwrap();
    clock.advance(2 * SECOND);
    replace(&table, 100_000);
    let _newest = store.snapshot().unwrap();
    let snapshots = store.statistics().snapshots;
    assert_eq!((snapshots.count, snapshots.oldest_seconds), (2, 2.0));
    assert!((100_000..MIB as u64).contains(&snapshots.pinned_bytes), "{}", snapshots.pinned_bytes);
}

#[test]
fn a_write_without_room_ends_the_oldest_snapshot() {
    let unlimited = LeaseLimits { time: Duration::MAX, bytes: u64::MAX };
    let store = Store::open(Config { memory_bytes: 2 * MIB, lease: unlimited, ..Config::default() }).unwrap();
    let table = store.table("table").unwrap();
    fill(&table, 10_000);
    let oldest = store.snapshot().unwrap();
    replace(&table, MIB);
    let newest = store.snapshot().unwrap();
    while !has_ended(&store, &oldest, &table) {
        replace(&table, 8192);
    }
    assert!(!has_ended(&store, &newest, &table), "the memory that only the oldest pinned was enough");
    // There is room for any number of replacements.
    replace(&table, 20 * MIB);
    assert!(has_ended(&store, &newest, &table));
    assert_eq!(table.pair_count(), 10_001);
}

#[test]
fn under_memory_pressure_a_snapshot_is_consistent_or_too_old() {
    const KEYS: u64 = 2000;
    let unlimited = LeaseLimits { time: Duration::MAX, bytes: u64::MAX };
    let store = Store::open(Config { memory_bytes: 2 * MIB, lease: unlimited, ..Config::default() }).unwrap();
    let table = store.table("table").unwrap();
    fill(&table, KEYS);
    let stop = AtomicBool::new(false);
    let (consistent, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for reader in 0..2 {
            let (store, table, stop, consistent, ended) = (&store, &table, &stop, &consistent, &ended);
            let mut reads = Reads::default();
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot().unwrap();
                    let Ok(first) = snapshot.scan(table, &Scan::all()) else { continue };
                    assert_eq!(first.len() as u64, KEYS);
                    for _ in 0..3 << reader {
                        // One of the readers executes its scans in a batch.
                        let same = if reader == 0 {
                            let again = snapshot.scan(table, &Scan::all());
                            again.map(|again| again.iter().eq(first.iter()))
                        } else {
                            reads.clear();
                            reads.scan_at(&snapshot, table, &Scan::all()).unwrap();
                            store.read(&mut reads).unwrap();
                            reads.pairs(0).map(|again| again.eq(first.iter()))
                        };
                        match same {
                            Ok(same) => assert!(same),
                            Err(Error::SnapshotTooOld) => drop(ended.fetch_add(1, Ordering::Relaxed)),
                            Err(other) => panic!("{other}"),
                        }
                        consistent.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        for round in 0_u64.. {
            let value = vec![round as u8; (round % 50) as usize];
            let updated = table.update(&key(round.wrapping_mul(7919) % KEYS), &value);
            // The scheduler decides when a reader's snapshot ends.
            let is_last = round >= 60_000 && (ended.load(Ordering::Relaxed) > 0 || round == 10_000_000);
            stop.store(updated.is_err() || is_last, Ordering::Relaxed);
            assert!(updated.unwrap());
            if is_last {
                break;
            }
        }
    });
    assert!(consistent.into_inner() > 0 && ended.into_inner() > 0);
}

#[test]
fn a_write_without_room_keeps_a_snapshot_that_pins_nothing() {
    let store = Store::open(Config { memory_bytes: 2 * MIB, ..Config::default() }).unwrap();
    let table = store.table("table").unwrap();
    table.put(b"k", b"v").unwrap();
    let snapshot = store.snapshot().unwrap();
    assert!(matches!(table.put(b"big", &vec![0; 4 * MIB]), Err(Error::OutOfMemory { .. })));
    assert_eq!(snapshot.get(&table, b"k").unwrap().unwrap(), b"v");
}

#[test]
fn a_snapshot_of_an_empty_store_stays_empty() {
    let empty = Store::open(config()).unwrap();
    let table = empty.table("new").unwrap();
    let snapshot = empty.snapshot().unwrap();
    table.put(b"key", b"value").unwrap();
    assert_eq!(snapshot.get(&table, b"key").unwrap(), None);
    assert!(snapshot.scan(&table, &Scan::all()).unwrap().is_empty());
}
