//! Durable stores in directories of the operating system.

use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_store::{Config, DurabilityConfig, Error, Store, SyncPolicy};
use honeycomb_testing::SimulatedDisk;

use crate::workload::config;

fn open(path: &Path, policy: SyncPolicy) -> Result<Store, Error> {
    let durability =
        DurabilityConfig { policy, log_file_bytes: 64 << 10, ..DurabilityConfig::directory(path)? };
    Store::open(Config { memory_bytes: 16 << 20, durability: Some(durability), ..Config::default() })
}

#[test]
fn a_store_is_the_same_after_it_was_dropped() {
    for policy in [SyncPolicy::Always, SyncPolicy::EverySecond, SyncPolicy::Never] {
        let folder = tempfile::tempdir().unwrap();
        for round in 0..4_u32 {
            let store = open(folder.path(), policy).unwrap();
            let table = store.table("numbers").unwrap();
            assert_eq!(table.pair_count(), u64::from(round * 300));
            for number in 0..300 {
                table.put(&(round * 300 + number).to_be_bytes(), &[7; 200]).unwrap();
            }
            if round == 1 {
                assert_eq!(store.checkpoint().unwrap().pairs, 600);
            }
        }
        let store = open(folder.path(), policy).unwrap();
        assert_eq!(store.recovery().unwrap().cut_bytes, 0);
        let table = store.table("numbers").unwrap();
        let numbers = table.iter().unwrap().map(|pair| pair.unwrap().0);
        assert!(numbers.eq((0..1200_u32).map(|number| number.to_be_bytes().to_vec())), "{policy:?}");
    }
}

#[test]
fn many_starts_do_not_leave_many_log_files() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..12 {
        let store = open(folder.path(), SyncPolicy::Always).unwrap();
        store.table("t").unwrap().put(b"key", b"value").unwrap();
    }
    let store = open(folder.path(), SyncPolicy::Always).unwrap();
    let start = Instant::now();
    while store.durability_statistics().unwrap().files > 8 {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The thread of the log owns the last handle for a moment, and drops it.
#[test]
fn a_callback_can_drop_the_last_handle() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), SyncPolicy::EverySecond).unwrap();
    let last = Arc::new(Mutex::new(Some(store.clone())));
    let callback = last.clone();
    store.on_durable(Arc::new(move || drop(callback.lock().unwrap().take())));
    store.table("t").unwrap().put(b"key", b"value").unwrap();
    let version = store.read_version();
    store.request_durable(version);
    drop(store);
    let start = Instant::now();
    while last.lock().unwrap().is_some() {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(2));
    }
    let store = open(folder.path(), SyncPolicy::Always).unwrap();
    assert_eq!(store.table("t").unwrap().get(b"key").unwrap(), Some(b"value".to_vec()));
}

/// The thread of a checkpoint may write the log, and so call the functions that wait for it.
#[test]
fn a_callback_of_a_checkpoint_can_drop_the_last_handle() {
    for _ in 0..50 {
        let last = Arc::new(Mutex::new(None::<Store>));
        let (callback, (sender, dropped)) = (last.clone(), mpsc::channel());
        let mut config = config(&SimulatedDisk::default(), SyncPolicy::Always);
        config.durability.as_mut().unwrap().writes_wait = false;
        let store = Store::open(config).unwrap();
        store.wait_durable(store.read_version()).unwrap();
        store.on_durable(Arc::new(move || {
            let is_checkpoint = thread::current().name().is_some_and(|name| name.contains("ckpt"));
            let taken = if is_checkpoint { callback.lock().unwrap().take() } else { None };
            if let Some(store) = taken {
                drop(store);
                let _ = sender.send(());
            }
        }));
        store.table("t").unwrap().put(b"key", b"value").unwrap();
        let mut slot = last.lock().unwrap();
        store.request_checkpoint().unwrap();
        *slot = Some(store);
        drop(slot);
        if dropped.recv_timeout(Duration::from_secs(1)).is_ok() {
            return;
        }
        // Perhaps the thread of the log was faster.
        assert!(last.lock().unwrap().take().is_some(), "the drop hangs");
    }
    panic!("no checkpoint has written the log");
}

#[test]
fn a_directory_has_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), SyncPolicy::Always).unwrap();
    match open(folder.path(), SyncPolicy::Always) {
        Err(Error::DirectoryInUse { path }) => assert_eq!(path, folder.path()),
        other => panic!("{other:?}"),
    }
    drop(store);
    open(folder.path(), SyncPolicy::Always).unwrap();
}

#[test]
fn images_and_stores_of_other_files_are_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let memory = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
    memory.table("a").unwrap().put(b"key", b"1").unwrap();
    memory.table("b").unwrap().put(b"key", b"2").unwrap();
    let mut image = Vec::new();
    memory.save(&mut image).unwrap();
    let store = open(folder.path(), SyncPolicy::Always).unwrap();
    assert_eq!(store.load(&image[..]).unwrap(), 2);
    drop(store);
    let store = open(folder.path(), SyncPolicy::Always).unwrap();
    assert_eq!(store.tables(), ["a", "b"]);
    assert_eq!(store.table("b").unwrap().get(b"key").unwrap(), Some(b"2".to_vec()));
}

#[test]
fn a_corrupt_log_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), SyncPolicy::Always).unwrap();
    let table = store.table("t").unwrap();
    (0..20_u32).for_each(|number| table.put(&number.to_be_bytes(), b"value").unwrap());
    drop((table, store));
    let name = "0000000000000001.log";
    let mut bytes = std::fs::read(folder.path().join(name)).unwrap();
    bytes[4096 + 150] ^= 1;
    std::fs::write(folder.path().join(name), bytes).unwrap();
    let error = open(folder.path(), SyncPolicy::Always).unwrap_err().to_string();
    assert!(error.contains(name) && error.contains("byte 42") && error.contains("version"), "{error}");
}

#[test]
fn a_file_instead_of_a_directory_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = open(file.path(), SyncPolicy::Always).unwrap_err();
    assert!(matches!(&error, Error::Directory { path, .. } if path == file.path()), "{error}");
}
