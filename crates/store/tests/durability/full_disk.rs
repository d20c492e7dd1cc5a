//! A full disk: what becomes durable, what a checkpoint can do, and what the end of a store loses.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_store::{DurabilityConfig, Error, Storage, Store, SyncPolicy, UnorderedConfig, UnorderedTable};
use honeycomb_testing::{DiskCall, Kept, ObservedDisk, SimulatedDisk, within};

use crate::workload::{config, contents};

/// Longer than a log file.
const LONG: usize = 20_000;

/// A store on a disk that has room for checkpoints but not for log files, when the switch is on.
fn without_room_for_logs(disk: &SimulatedDisk, policy: SyncPolicy) -> (Store, Arc<AtomicBool>) {
    let is_full = Arc::new(AtomicBool::new(false));
    let switch = is_full.clone();
    let refuses = move |call: DiskCall<'_>| match call {
        DiskCall::Create(name) if !name.contains("checkpoint") && !name.contains("manifest") => {
            if switch.load(Ordering::SeqCst) { Err(io::Error::from(ErrorKind::StorageFull)) } else { Ok(()) }
        }
        _ => Ok(()),
    };
    let mut config = config(disk, policy);
    config.durability.as_mut().unwrap().storage = Arc::new(ObservedDisk::refusing(disk, refuses));
    let store = Store::open(config).unwrap();
    wait_for_spare(disk);
    (store, is_full)
}

/// The same, with a record in an unordered table for which the log has no room.
fn with_a_long_record(disk: &SimulatedDisk) -> (Store, UnorderedTable, Arc<AtomicBool>) {
    let (store, is_full) = without_room_for_logs(disk, SyncPolicy::Never);
    let table = store.unordered_table("u", UnorderedConfig::default()).unwrap();
    store.wait_durable(store.read_version()).unwrap();
    is_full.store(true, Ordering::SeqCst);
    table.put(b"key", &[7; LONG]).unwrap();
    (store, table, is_full)
}

/// The log waits for a file that only the end of the checkpoint would make free.
#[test]
fn a_checkpoint_does_not_wait_for_room() {
    let disk = SimulatedDisk::default();
    let (store, _table, is_full) = with_a_long_record(&disk);
    let clone = store.clone();
    let refused = within(move || clone.checkpoint()).expect("no end of the checkpoint");
    assert!(matches!(refused, Err(Error::DiskFull)), "{refused:?}");
    is_full.store(false, Ordering::SeqCst);
    wait_until(|| store.check_writable().is_ok());
    assert_eq!(store.checkpoint().unwrap().pairs, 1);
}

#[test]
fn a_store_with_a_full_disk_can_be_dropped_during_a_checkpoint() {
    let disk = SimulatedDisk::default();
    let (store, table, _is_full) = with_a_long_record(&disk);
    store.request_checkpoint().unwrap();
    wait_until(|| store.durability_statistics().unwrap().begun_checkpoints > 0);
    // The checkpoint waits for the log, if it waits at all.
    thread::sleep(Duration::from_millis(300));
    assert!(within(move || drop((table, store))).is_some(), "the drop hangs");
}

/// Otherwise each attempt would leave one more file on the full disk, until a restart.
#[test]
fn a_checkpoint_without_room_for_its_manifest_leaves_no_file() {
    let disk = SimulatedDisk::default();
    let error = Arc::new(Mutex::new(None));
    let next = error.clone();
    let refuses = move |call: DiskCall<'_>| match *next.lock().unwrap() {
        Some(kind) if call == DiskCall::Create("manifest.new") => Err(io::Error::from(kind)),
        _ => Ok(()),
    };
    let mut config = config(&disk, SyncPolicy::Always);
    config.durability.as_mut().unwrap().storage = Arc::new(ObservedDisk::refusing(&disk, refuses));
    let store = Store::open(config).unwrap();
    store.table("t").unwrap().put(b"key", b"value").unwrap();
    store.checkpoint().unwrap();
    let checkpoints = || disk.files().iter().filter(|(name, _)| name.ends_with(".checkpoint")).count();
    *error.lock().unwrap() = Some(ErrorKind::StorageFull);
    for _ in 0..2 {
        let refused = store.checkpoint();
        assert!(matches!(refused, Err(Error::DiskFull)), "{refused:?}");
        assert_eq!(checkpoints(), 1, "{:?}", disk.files());
    }
    // The manifest may name the checkpoint of an attempt that failed in another way.
    *error.lock().unwrap() = Some(ErrorKind::Other);
    assert!(matches!(store.checkpoint(), Err(Error::Log(_))));
    assert_eq!(checkpoints(), 2, "{:?}", disk.files());
    *error.lock().unwrap() = None;
    assert_eq!(store.checkpoint().unwrap().pairs, 1);
    assert_eq!(checkpoints(), 1, "{:?}", disk.files());
}

/// All accepted records have room, so the checkpoint makes them durable and frees log files.
#[test]
fn a_checkpoint_makes_room_for_the_log() {
    let disk = SimulatedDisk::default();
    let (store, is_full) = without_room_for_logs(&disk, SyncPolicy::EverySecond);
    let table = store.table("t").unwrap();
    is_full.store(true, Ordering::SeqCst);
    let refused = (0..10_000_u32).find_map(|number| {
        thread::sleep(Duration::from_micros(100));
        table.put(&number.to_be_bytes(), &[7; 100]).err()
    });
    assert!(matches!(refused, Some(Error::DiskFull)), "{refused:?}");
    let clone = store.clone();
    within(move || clone.checkpoint()).expect("no end of the checkpoint").unwrap();
    wait_until(|| store.check_writable().is_ok());
    table.put(b"key", b"value").unwrap();
}

/// The records before the first one without room are durable, and are counted once.
#[test]
fn records_with_room_are_durable_while_the_disk_is_full() {
    let disk = SimulatedDisk::default();
    let mut config = config(&disk, SyncPolicy::Always);
    let durability = config.durability.take().unwrap();
    config.durability = Some(DurabilityConfig { log_file_bytes: 8 << 10, writes_wait: false, ..durability });
    let store = Store::open(config).unwrap();
    let table = store.table("t").unwrap();
    wait_for_spare(&disk);
    store.wait_durable(store.read_version()).unwrap();
    let records = || store.durability_statistics().unwrap().records;
    let before = records();
    disk.fill();
    table.put(b"short", b"value").unwrap();
    let short = store.read_version();
    table.put(b"long", &[7; LONG]).unwrap();
    let long = store.read_version();
    store.request_durable(long);
    wait_until(|| store.durable_version() >= short);
    assert!(store.durable_version() < long);
    assert_eq!(records() - before, 1);
    disk.add_room();
    store.wait_durable(long).unwrap();
    wait_until(|| records() - before == 2);
}

/// Otherwise nobody could read a store whose process has ended on a full disk.
#[test]
fn a_store_opens_on_a_full_disk() {
    for policy in [SyncPolicy::Always, SyncPolicy::Never] {
        let disk = SimulatedDisk::default();
        let store = Store::open(config(&disk, policy)).unwrap();
        store.table("t").unwrap().put(b"key", b"value").unwrap();
        let expected = contents(&store);
        drop(store);
        // Its spare files would be room.
        let spares: Vec<_> = disk.files().into_iter().filter(|(name, _)| name.ends_with(".spare")).collect();
        spares.iter().for_each(|(name, _)| disk.remove(name).unwrap());
        disk.fill();
        let full = Store::open(config(&disk, policy)).unwrap();
        assert!(within(move || drop(full)).is_some(), "the drop hangs");
        let store = Store::open(config(&disk, policy)).unwrap();
        assert!(contents(&store) == expected);
        let (table, opened_at) = (store.table("t").unwrap(), store.read_version());
        assert_eq!(store.durable_version(), opened_at, "reads would wait for room");
        assert!(matches!(table.put(b"key", b"other"), Err(Error::DiskFull)));
        assert!(matches!(store.table("new"), Err(Error::DiskFull)));
        let mut stream = store.changes::<[u8]>(&table, .., opened_at).unwrap();
        assert!(stream.poll().unwrap().is_empty());
        disk.add_room();
        wait_until(|| store.check_writable().is_ok());
        // Later versions of this start may be lost, so the next one must know of it.
        let later = Store::open(config(&disk.after_power_cut(Kept::Nothing), policy)).unwrap();
        assert!(later.recovery().unwrap().version >= opened_at);
        assert!(contents(&later) == expected);
        table.put(b"key", b"other").unwrap();
        assert_eq!(stream.wait(Duration::from_secs(20)).unwrap().len(), 1);
        store.wait_durable(store.read_version()).unwrap();
        let later = Store::open(config(&disk.after_power_cut(Kept::Nothing), policy)).unwrap();
        assert_eq!(later.table("t").unwrap().get(b"key").unwrap().as_deref(), Some(&b"other"[..]));
    }
}

/// A write under `no` has returned, so the end of the process must not lose it.
#[test]
fn the_drop_of_a_store_waits_for_room() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Never)).unwrap();
    let table = store.table("t").unwrap();
    wait_for_spare(&disk);
    store.wait_durable(store.read_version()).unwrap();
    disk.fill();
    table.load_sorted((0..300_u32).map(|number| (number.to_be_bytes(), [7; 100]))).unwrap();
    let expected = contents(&store);
    let end = thread::spawn(move || drop((table, store)));
    thread::sleep(Duration::from_millis(400));
    disk.add_room();
    end.join().unwrap();
    assert!(contents(&Store::open(config(&disk, SyncPolicy::Never)).unwrap()) == expected);
}

/// The disk stays full.
#[test]
fn the_drop_of_a_store_does_not_wait_for_ever() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Never)).unwrap();
    let table = store.table("t").unwrap();
    wait_for_spare(&disk);
    disk.fill();
    table.load_sorted((0..300_u32).map(|number| (number.to_be_bytes(), [7; 100]))).unwrap();
    assert!(within(move || drop((table, store))).is_some(), "the drop hangs");
}

fn wait_for_spare(disk: &SimulatedDisk) {
    wait_until(|| disk.files().iter().any(|(name, _)| name.ends_with(".spare")));
}

fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "the condition stays false");
        thread::sleep(Duration::from_millis(2));
    }
}
