//! Faults of the disk: full, and broken.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_log::LogError;
use honeycomb_store::{Config, Error, ManualClock, Store, SyncPolicy, Table};
use honeycomb_testing::{DiskFault, Kept, ObservedDisk, SimulatedDisk};

use crate::slow_disk;
use crate::workload::{config, contents};

/// The name of a spare log file until it is complete.
const NEW_SPARE_FILE: &str = "spare.new";

#[test]
fn a_full_disk_refuses_writes_until_it_has_room() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::EverySecond)).unwrap();
    let table = store.table("t").unwrap();
    let before = put(&table, 0);
    disk.fill();
    let refused = (1..).map(|number| try_put(&table, number)).find_map(Result::err);
    assert!(matches!(refused, Some(Error::DiskFull)), "{refused:?}");
    assert!(store.check_writable().is_err() && store.durability_statistics().unwrap().is_full);
    assert!(matches!(table.delete(b"key 0"), Err(Error::DiskFull)));
    assert!(matches!(store.table("u"), Err(Error::DiskFull)));
    assert_eq!(table.get(b"key 0").unwrap(), Some(before), "reads go on");
    disk.add_room();
    wait_until(|| store.check_writable().is_ok());
    put(&table, 9999);
    store.wait_durable(store.read_version()).unwrap();
    let (found, after) = (contents(&store), disk.after_power_cut(Kept::Nothing));
    let recovered = Store::open(config(&after, SyncPolicy::Always)).unwrap();
    assert!(contents(&recovered) == found);
}

/// The thread that creates spare files is late, so the current log file could fill before the store knows
/// that the disk is full. An accepted write would then wait for room.
#[test]
fn writes_are_refused_before_one_has_no_room() {
    let disk = SimulatedDisk::default();
    let mut config = config(&disk, SyncPolicy::Always);
    config.durability.as_mut().unwrap().storage = Arc::new(slow_disk(&disk, NEW_SPARE_FILE));
    let store = Store::open(config).unwrap();
    let table = store.table("t").unwrap();
    put(&table, 0);
    wait_until(|| disk.files().iter().any(|(name, _)| name.ends_with(".spare")));
    disk.fill();
    let (sender, receiver) = mpsc::channel();
    let writer = thread::spawn(move || sender.send((1..).find_map(|number| try_put(&table, number).err())));
    let refused = receiver.recv_timeout(Duration::from_secs(20));
    disk.add_room();
    writer.join().unwrap().unwrap();
    assert!(matches!(refused, Ok(Some(Error::DiskFull))), "{refused:?}");
}

#[test]
fn a_failed_write_makes_the_store_read_only() {
    for policy in [SyncPolicy::Always, SyncPolicy::EverySecond] {
        let disk = SimulatedDisk::default();
        let store = Store::open(config(&disk, policy)).unwrap();
        let table = store.table("t").unwrap();
        put(&table, 0);
        store.wait_durable(store.read_version()).unwrap();
        disk.fail_write(".log", DiskFault::Error);
        let failed = (1..).map(|number| try_put(&table, number)).find_map(Result::err).unwrap();
        let is_expected = match policy {
            SyncPolicy::Always => matches!(failed, Error::NotDurable { .. }),
            _ => matches!(failed, Error::ReadOnly { .. }),
        };
        assert!(is_expected, "{policy:?}: {failed}");
        assert!(failed.to_string().contains("simulated"), "{failed}");
        assert!(matches!(table.put(b"a", b""), Err(Error::ReadOnly { .. })));
        assert!(matches!(store.wait_durable(store.read_version()), Err(Error::NotDurable { .. })));
        assert!(store.durability_statistics().unwrap().failure.is_some());
        assert!(table.get(b"key 0").unwrap().is_some(), "reads go on");
        let recovered = Store::open(config(&disk.after_power_cut(Kept::Nothing), policy)).unwrap();
        assert!(recovered.table("t").unwrap().get(b"key 0").unwrap().is_some());
    }
}

/// The write is visible, although it has returned an error.
#[test]
fn a_write_that_may_not_be_durable_is_visible() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    let table = store.table("t").unwrap();
    table.put(b"key", b"old").unwrap();
    disk.fail_write(".log", DiskFault::Error);
    assert!(matches!(table.put(b"key", b"new"), Err(Error::NotDurable { .. })));
    assert_eq!(table.get(b"key").unwrap().unwrap(), b"new");
    assert!(matches!(table.put(b"key", b"newer"), Err(Error::ReadOnly { .. })));
    assert!(matches!(store.table("u"), Err(Error::ReadOnly { .. })));
    assert_eq!(table.get(b"key").unwrap().unwrap(), b"new");
}

#[test]
fn a_failed_checkpoint_leaves_the_store_writable() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    let table = store.table("t").unwrap();
    (0..50).for_each(|number| drop(put(&table, number)));
    for fault in [DiskFault::Full, DiskFault::Error] {
        // The fault is that of the checkpoint, not of a spare file.
        let calls = calls_at_rest(&disk);
        disk.fail(calls + 1, fault);
        let failed = store.checkpoint().unwrap_err();
        match fault {
            DiskFault::Full => assert!(matches!(failed, Error::DiskFull), "{failed}"),
            _ => assert!(matches!(failed, Error::Log(_)), "{failed}"),
        }
        disk.add_room();
        let statistics = store.durability_statistics().unwrap();
        assert_eq!(statistics.checkpoint_error, Some(failed.to_string()));
        put(&table, 50);
    }
    let checkpoint = store.checkpoint().unwrap();
    assert_eq!(checkpoint.pairs, 51);
    let statistics = store.durability_statistics().unwrap();
    assert_eq!((statistics.checkpoints, statistics.failed_checkpoints), (1, 2));
    assert_eq!(statistics.checkpoint_error, None);
    let checkpoints = disk.files().into_iter().filter(|(name, _)| name.ends_with(".checkpoint")).count();
    assert_eq!(checkpoints, 1, "{:?}", disk.files());
}

/// Under `EverySecond` nobody needs to wait for a write to make it durable: a second passes.
#[test]
fn a_write_is_durable_after_a_second() {
    let (disk, clock) = (SimulatedDisk::default(), Arc::new(ManualClock::default()));
    let config_now = Config { clock: clock.clone(), ..config(&disk, SyncPolicy::EverySecond) };
    let store = Store::open(config_now).unwrap();
    let table = store.table("t").unwrap();
    clock.advance(Duration::from_secs(1));
    store.wait_durable(store.read_version()).unwrap();
    put(&table, 0);
    let is_kept = || {
        let recovered =
            Store::open(config(&disk.after_power_cut(Kept::Nothing), SyncPolicy::Always)).unwrap();
        recovered.table("t").unwrap().get(b"key 0").unwrap().is_some()
    };
    clock.advance(Duration::from_millis(999));
    calls_at_rest(&disk);
    assert!(!is_kept());
    clock.advance(Duration::from_millis(1));
    wait_until(|| store.durable_version() >= store.read_version());
    assert!(is_kept());
}

/// An error of any call of a checkpoint, which may have had its effect nevertheless, does not keep later
/// checkpoints from replacing the files before them.
#[test]
fn checkpoints_go_on_after_an_error_of_any_call() {
    for call in 0.. {
        let disk = SimulatedDisk::default();
        let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
        let table = store.table("t").unwrap();
        (0..50).for_each(|number| drop(put(&table, number)));
        store.checkpoint().unwrap();
        (0..50).for_each(|number| drop(put(&table, number)));
        let first = calls_at_rest(&disk);
        disk.fail(first + call, DiskFault::Error);
        drop(store.checkpoint());
        if disk.calls() <= first + call {
            assert!(call > 8, "a checkpoint has {call} calls");
            return;
        }
        for number in 50..52 {
            put(&table, number);
            let checkpoint = store.checkpoint().unwrap_or_else(|error| panic!("call {call}: {error}"));
            assert_eq!(checkpoint.pairs, number as u64 + 1);
        }
        let files = disk.files();
        let count = |extension| files.iter().filter(|(name, _)| name.ends_with(extension)).count();
        assert_eq!((count(".checkpoint"), count(".log")), (1, 1), "call {call}: {files:?}");
    }
}

#[test]
fn callbacks_and_health_follow_the_log() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Never)).unwrap();
    let table = store.table("t").unwrap();
    let (sender, calls) = std::sync::mpsc::channel();
    store.on_durable(Arc::new(move || {
        let _ = sender.send(());
    }));
    put(&table, 1);
    let version = store.read_version();
    if !store.request_durable(version) {
        calls.recv_timeout(Duration::from_secs(10)).expect("a call");
    }
    wait_until(|| store.durable_version() >= version);
    assert!(store.request_durable(version));
    store.wait_durable(u64::MAX).unwrap();
    store.set_sync_policy(SyncPolicy::Always).unwrap();
    assert_eq!(store.sync_policy(), Some(SyncPolicy::Always));
    put(&table, 2);
    assert!(store.durable_version() >= store.read_version());
}

/// The thread of the log may write some of the groups.
#[test]
fn a_thread_that_waits_writes_the_log() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    let table = store.table("t").unwrap();
    let (own, groups) = (std::thread::current().id(), Arc::new(AtomicU64::new(0)));
    let counted = groups.clone();
    store.on_durable(Arc::new(move || {
        counted.fetch_add(u64::from(std::thread::current().id() == own), Ordering::Relaxed);
    }));
    for number in 0..200 {
        put(&table, number);
        assert!(store.durable_version() >= store.read_version());
    }
    assert!(groups.load(Ordering::Relaxed) > 0);
}

/// After a failed read nothing is missing that the next recovery needs.
#[test]
fn a_recovery_whose_read_fails_names_the_file_and_can_be_repeated() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    let table = store.table("t").unwrap();
    (0..60).for_each(|number| drop(put(&table, number)));
    store.checkpoint().unwrap();
    (30..90).for_each(|number| drop(put(&table, number)));
    let expected = contents(&store);
    drop((table, store));
    for read in 0.. {
        let failing = disk.copy();
        failing.fail_read(read);
        let opened = Store::open(config(&failing, SyncPolicy::Always));
        let Some(name) = failing.failed_read() else {
            assert!(read > 20 && opened.is_ok(), "{read} reads");
            break;
        };
        match opened {
            Err(Error::Log(LogError::Io { file, .. })) => assert_eq!(file, name, "read {read}"),
            Err(other) => panic!("read {read} of `{name}`: {other}"),
            Ok(_) => panic!("read {read} of `{name}`: no error"),
        }
        let again = failing.after_power_cut(Kept::Nothing);
        let recovered = Store::open(config(&again, SyncPolicy::Always)).unwrap();
        assert!(contents(&recovered) == expected, "read {read} of `{name}`");
    }
}

/// The thread that writes the log gets the error as well as all others.
#[test]
fn a_thread_that_waits_reports_a_failed_write() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    let table = store.table("t").unwrap();
    put(&table, 0);
    disk.fail_write(".log", DiskFault::Error);
    let failed = (1..).map(|number| try_put(&table, number)).find_map(Result::err);
    assert!(matches!(failed, Some(Error::NotDurable { .. } | Error::ReadOnly { .. })), "{failed:?}");
    assert!(matches!(try_put(&table, 1), Err(Error::ReadOnly { .. })));
}

/// The failure of the log may have been one to make the name of the checkpoint durable.
#[test]
fn a_checkpoint_fails_if_the_log_fails_meanwhile() {
    let (disk, last) = (SimulatedDisk::default(), Arc::new(Mutex::new(None::<Table>)));
    let (failing, writer) = (disk.clone(), last.clone());
    let storage = ObservedDisk::before_creations(&disk, move |name| {
        if name.ends_with(".checkpoint")
            && let Some(table) = writer.lock().unwrap().take()
        {
            failing.fail_write(".log", DiskFault::Error);
            put_fails(&table);
        }
    });
    let mut config = config(&disk, SyncPolicy::Always);
    config.durability.as_mut().unwrap().storage = Arc::new(storage);
    let store = Store::open(config).unwrap();
    let table = store.table("t").unwrap();
    put(&table, 0);
    *last.lock().unwrap() = Some(table);
    let refused = store.checkpoint();
    assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
    assert!(store.newest_backup().unwrap().is_none());
}

fn put_fails(table: &Table) {
    let failed = try_put(table, 1);
    assert!(matches!(failed, Err(Error::NotDurable { .. })), "{failed:?}");
}

/// Returns the number of calls once no thread of the store uses the disk. The thread that creates spare files
/// is done when there is one.
fn calls_at_rest(disk: &SimulatedDisk) -> u64 {
    wait_until(|| disk.files().iter().any(|(name, _)| name.ends_with(".spare")));
    loop {
        let calls = disk.calls();
        std::thread::sleep(Duration::from_millis(50));
        if disk.calls() == calls {
            return calls;
        }
    }
}

fn try_put(table: &Table, number: usize) -> Result<Vec<u8>, Error> {
    let value = number.to_string().repeat(100).into_bytes();
    table.put(format!("key {number}").as_bytes(), &value)?;
    Ok(value)
}

fn put(table: &Table, number: usize) -> Vec<u8> {
    try_put(table, number).unwrap()
}

fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "the condition stays false");
        std::thread::sleep(Duration::from_millis(2));
    }
}
