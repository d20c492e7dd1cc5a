//! Checkpoints while other threads write, and what they remove.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use honeycomb_log::{CheckpointWriter, MANIFEST_FILE, Manifest};
use honeycomb_store::{
    Batch, Config, DurabilityConfig, Error, LeaseLimits, ManualClock, Storage, Store, SyncPolicy,
    UnorderedConfig,
};
use honeycomb_testing::{Kept, ObservedDisk, Random, SimulatedDisk, seed_or};
use rustix::process::getpriority_process;

use crate::slow_disk;
use crate::workload::{config, contents};

#[test]
fn checkpoints_while_threads_write_are_consistent() {
    let seed = seed_or(3);
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::EverySecond)).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (store, is_done) = (&store, &is_done);
            scope.spawn(move || {
                let (table, mut random) = (store.table("t").unwrap(), Random::new(seed + thread));
                while !is_done.load(Ordering::Relaxed) {
                    let key = random.below(2000).to_string();
                    if random.chance(30) {
                        table.delete(key.as_bytes()).unwrap();
                    } else {
                        table.put(key.as_bytes(), &random.bytes(50)).unwrap();
                    }
                }
            });
        }
        let _stop = StopOnDrop(&is_done);
        for round in 0..8 {
            let checkpoint = store.checkpoint().unwrap();
            assert!(checkpoint.version <= store.read_version());
            let recovered = disk.after_power_cut(Kept::Random(seed + round));
            let mut recovered = Store::open(config(&recovered, SyncPolicy::Always)).unwrap();
            let recovery = recovered.recovery().unwrap();
            assert!(recovery.version >= checkpoint.version && recovery.pairs == checkpoint.pairs);
            recovered.verify().unwrap();
        }
    });
    store.wait_durable(store.read_version()).unwrap();
    let recovered = Store::open(config(&disk.after_power_cut(Kept::Nothing), SyncPolicy::Always)).unwrap();
    assert!(contents(&recovered) == contents(&store));
}

/// Otherwise the log would grow as long as the program holds its snapshots.
#[test]
fn checkpoints_have_a_lease_beside_all_snapshots() {
    let disk = SimulatedDisk::default();
    let store = Store::open(Config { snapshots_max: 1, ..config(&disk, SyncPolicy::Always) }).unwrap();
    let snapshot = store.snapshot().unwrap();
    store.table("t").unwrap().put(b"key", b"value").unwrap();
    assert_eq!(store.checkpoint().unwrap().pairs, 1);
    assert!(matches!(store.snapshot(), Err(Error::TooManySnapshots { max: 1 })));
    drop(snapshot);
    store.snapshot().unwrap();
}

/// A thread that reads statistics may stand still while a checkpoint begins and ends.
#[test]
fn statistics_beside_checkpoints_never_count_backwards() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Never)).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    let since = store.durability_statistics().unwrap().bytes_since_checkpoint;
                    assert!(since <= store.durability_statistics().unwrap().bytes);
                }
            });
        }
        let _stop = StopOnDrop(&is_done);
        let table = store.table("t").unwrap();
        for number in 0..4000_u32 {
            table.put(b"key", &number.to_le_bytes()).unwrap();
            store.checkpoint().unwrap();
        }
    });
}

/// Tables of many blocks, which several threads load, among tables of one block or without one.
#[test]
fn a_checkpoint_is_loaded_in_parts() {
    let disk = SimulatedDisk::default();
    let with_memory = || Config { memory_bytes: 64 << 20, ..config(&disk, SyncPolicy::Never) };
    let store = Store::open(with_memory()).unwrap();
    let mut random = Random::new(seed_or(4));
    for (name, pairs) in [("a", 20_000), ("b", 0), ("c", 3), ("d", 30_000), ("e", 10)] {
        let table = store.table(name).unwrap();
        let mut pair = |_| (random.bytes(12), random.bytes(200));
        table.load_sorted((0..pairs).map(&mut pair).collect::<BTreeMap<_, _>>()).unwrap();
    }
    let unordered = store.unordered_table("u", UnorderedConfig::default()).unwrap();
    (0..20_000_u32).for_each(|key| unordered.put(&key.to_le_bytes(), &[7; 200]).unwrap());
    store.checkpoint().unwrap();
    let expected = contents(&store);
    drop((unordered, store));
    let mut store = Store::open(with_memory()).unwrap();
    assert!(contents(&store) == expected);
    let counts: Vec<_> = expected.iter().map(|(name, pairs)| (name.clone(), pairs.len() as u64)).collect();
    for (name, pairs) in &counts[..5] {
        assert_eq!(store.table(name).unwrap().pair_count(), *pairs, "{name}");
    }
    store.verify().unwrap();
}

/// Each pair has a block of its own, and eight blocks are a part.
#[test]
fn keys_that_do_not_ascend_are_corruption_wherever_parts_end() {
    for repeated in 1..18_u32 {
        let disk = SimulatedDisk::default();
        // Its log is the one that the manifest names.
        drop(Store::open(config(&disk, SyncPolicy::Never)).unwrap());
        let mut writer = CheckpointWriter::create(&disk, 1, 9, 0).unwrap();
        writer.table(1, "t").unwrap();
        for number in 0..18 {
            let key = number - u32::from(number == repeated);
            writer.push(&key.to_be_bytes(), &vec![0; 256 << 10]).unwrap();
        }
        writer.finish().unwrap();
        let manifest = Manifest { checkpoint: 1, version: 9, first_file: 1, pairs: 18 };
        disk.create(MANIFEST_FILE, 0).and_then(|mut file| file.write_at(0, &manifest.encode())).unwrap();
        let opened = Store::open(Config { memory_bytes: 32 << 20, ..config(&disk, SyncPolicy::Never) });
        let error = opened.map(drop).unwrap_err().to_string();
        assert!(error.contains("the keys of a table ascend"), "{repeated}: {error}");
    }
}

/// A bulk load and an image are one record each, so they have a limit in a durable store.
#[test]
fn a_bulk_load_into_a_durable_store_has_a_limit() {
    let disk = SimulatedDisk::default();
    let with_limit = |load_bytes_max| {
        let config = config(&disk, SyncPolicy::Always);
        let durability = config.durability.map(|config| DurabilityConfig { load_bytes_max, ..config });
        Config { durability, ..config }
    };
    // Each pair has 16 + 4 + 10 bytes.
    let store = Store::open(with_limit(300)).unwrap();
    let table = store.table("t").unwrap();
    let pairs = |count: u32| (0..count).map(|number| (number.to_be_bytes(), [7; 10]));
    let rejected = table.load_sorted(pairs(11));
    assert!(matches!(rejected, Err(Error::LoadTooLarge { bytes_max: 300 })), "{rejected:?}");
    let mut loader = table.loader(90).unwrap();
    let pushed: Vec<_> = pairs(12).map(|(key, value)| loader.push(&key, &value)).collect();
    assert!(pushed[..10].iter().all(Result::is_ok) && pushed[10..].iter().all(Result::is_err));
    assert_eq!((loader.finish().unwrap(), table.pair_count()), (10, 10), "the earlier pairs are loaded");
    let (mut image, expected) = (Vec::new(), contents(&store));
    store.save(&mut image).unwrap();
    drop((table, store));
    let store = Store::open(with_limit(316)).unwrap();
    assert!(contents(&store) == expected);
    store.drop_table("t").unwrap();
    assert!(matches!(store.load(&image[..]), Err(Error::LoadTooLarge { bytes_max: 316 })));
    assert!(store.tables().is_empty());
    drop(store);
    // The record of an image has the creation of its tables as well: here 16 + 1 bytes.
    let store = Store::open(with_limit(317)).unwrap();
    assert_eq!(store.load(&image[..]).unwrap(), 10);
    assert!(contents(&store) == expected);
}

/// Stops the writers of a test, also if it fails.
struct StopOnDrop<'d>(&'d AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writers put equal values into an ordered and an unordered table in one batch, and checkpoints run
/// meanwhile. After a power cut both tables agree, and a counter has lost nothing that was durable.
/// A log of 300,000 changes, which several threads replay.
#[test]
fn a_long_log_is_replayed_in_order() {
    let disk = SimulatedDisk::default();
    let config = || {
        let config = config(&disk, SyncPolicy::Never);
        let durability =
            config.durability.map(|durability| DurabilityConfig { log_file_bytes: 4 << 20, ..durability });
        Config { memory_bytes: 128 << 20, durability, ..config }
    };
    let store = Store::open(config()).unwrap();
    let table = store.table("t").unwrap();
    let mut random = Random::new(seed_or(9));
    for round in 0..60_u32 {
        let mut batch = Batch::default();
        for _ in 0..5000 {
            let key = random.below(200_000).to_string().into_bytes();
            if random.chance(10) {
                batch.delete(&table, &key);
            } else {
                batch.put(&table, &key, &round.to_le_bytes());
            }
        }
        store.apply_each(&batch, |_, outcome| drop(outcome.unwrap())).unwrap();
        if round == 55 {
            table.delete_range::<[u8]>(&b"1"[..]..&b"15"[..]).unwrap();
        }
    }
    let expected = contents(&store);
    drop((table, store));
    let store = Store::open(config()).unwrap();
    assert!(contents(&store) == expected);
    assert!(store.recovery().unwrap().records > 2 * 4096, "the number of threads changes");
}

#[test]
fn unordered_tables_agree_with_ordered_ones_after_a_power_cut() {
    let seed = seed_or(5);
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::EverySecond)).unwrap();
    let unordered = |store: &Store| {
        let config = UnorderedConfig { buckets: 16, ..UnorderedConfig::default() };
        store.unordered_table("unordered", config).unwrap()
    };
    let is_done = AtomicBool::new(false);
    let check = |disk: &SimulatedDisk| {
        let mut store = Store::open(config(disk, SyncPolicy::Always)).unwrap();
        let mut found = contents(&store);
        let mut beside = found.remove("unordered").unwrap_or_default();
        let counter = beside.remove(&b"counter"[..]);
        assert!(found.remove("ordered").unwrap_or_default() == beside);
        store.verify().unwrap();
        counter.map_or(0, |counter| u64::from_le_bytes(counter.try_into().unwrap()))
    };
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (store, is_done) = (&store, &is_done);
            scope.spawn(move || {
                let (ordered, unordered) = (store.table("ordered").unwrap(), unordered(store));
                let mut random = Random::new(seed + thread);
                while !is_done.load(Ordering::Relaxed) {
                    let mut batch = Batch::default();
                    for _ in 0..1 + random.below(4) {
                        let key = random.below(500).to_string().into_bytes();
                        if random.chance(30) {
                            batch.delete(&ordered, &key).delete(&unordered, &key);
                        } else {
                            let length = if random.chance(3) { 2000 } else { random.below(60) };
                            let value = random.bytes(length);
                            batch.put(&ordered, &key, &value).put(&unordered, &key, &value);
                        }
                    }
                    store.apply(&batch).unwrap();
                    unordered.add(b"counter", 1).unwrap();
                    // So that a slow machine does not write a log that it cannot replay in time.
                    if random.chance(2) {
                        store.wait_durable(store.read_version()).unwrap();
                    }
                }
            });
        }
        let _stop = StopOnDrop(&is_done);
        let mut least = 0;
        for round in 0..24 {
            if round % 3 < 2 {
                store.checkpoint().unwrap();
                // Only what the checkpoint itself has made durable is left.
                check(&disk.after_power_cut(Kept::Nothing));
            }
            store.wait_durable(store.read_version()).unwrap();
            let counter = check(&disk.after_power_cut(Kept::Random(seed + round)));
            assert!(counter >= least, "{counter} is not {least}");
            let value = unordered(&store).get(b"counter").unwrap();
            store.wait_durable(store.read_version()).unwrap();
            least = value.map_or(0, |value| u64::from_le_bytes(value.try_into().unwrap()));
        }
    });
    store.wait_durable(store.read_version()).unwrap();
    let recovered = Store::open(config(&disk.after_power_cut(Kept::Nothing), SyncPolicy::Always)).unwrap();
    assert!(contents(&recovered) == contents(&store));
    let total = unordered(&store).get(b"counter").unwrap().unwrap();
    assert_eq!(check(&disk.after_power_cut(Kept::Nothing)), u64::from_le_bytes(total.try_into().unwrap()));
}

#[test]
fn an_unordered_table_keeps_its_parameters() {
    let disk = SimulatedDisk::default();
    let parameters = UnorderedConfig { buckets: 64, inline_pair_bytes_max: 11, fill_percent: None };
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    store.unordered_table("t", parameters).unwrap().put(b"k", b"v").unwrap();
    drop(store);
    for _ in 0..2 {
        let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
        let table = store.unordered_table("t", UnorderedConfig::default()).unwrap();
        assert_eq!((table.config(), table.get(b"k").unwrap().as_deref()), (parameters, Some(&b"v"[..])));
        store.checkpoint().unwrap();
    }
}

#[test]
fn a_checkpoint_removes_log_files_and_earlier_checkpoints() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    let table = store.table("t").unwrap();
    for round in 0..3 {
        (0..200_u32).for_each(|number| table.put(&number.to_be_bytes(), &[round; 100]).unwrap());
        assert!(disk.files().len() >= 4, "{:?}", disk.files());
        assert_eq!(store.checkpoint().unwrap().pairs, 200);
        let names = disk.files();
        let count = |extension| names.iter().filter(|(name, _)| name.ends_with(extension)).count();
        assert_eq!((count(".log"), count(".checkpoint")), (1, 1), "{names:?}");
        assert!((1..=16).contains(&count(".spare")), "{names:?}");
    }
    drop((table, store));
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    assert_eq!((store.recovery().unwrap().pairs, store.recovery().unwrap().cut_bytes), (200, 0));
    assert_eq!(store.table("t").unwrap().pair_count(), 200);
}

#[test]
fn a_checkpoint_is_written_when_the_log_has_grown_or_on_request() {
    let disk = SimulatedDisk::default();
    let mut config = config(&disk, SyncPolicy::Never);
    let durability = config.durability.take().unwrap();
    config.durability = Some(DurabilityConfig { checkpoint_log_bytes: 50_000, ..durability });
    let store = Store::open(config).unwrap();
    let table = store.table("t").unwrap();
    let checkpoints = || store.durability_statistics().unwrap().checkpoints;
    (0..1000_u32).for_each(|number| table.put(&number.to_be_bytes(), &[1; 100]).unwrap());
    wait_until(|| checkpoints() > 0);
    // The growth since then is small, perhaps after one more checkpoint.
    std::thread::sleep(Duration::from_millis(500));
    let before = checkpoints();
    store.request_checkpoint().unwrap();
    wait_until(|| checkpoints() > before);
    store.set_checkpoint_interval(Some(Duration::from_millis(1))).unwrap();
    let before = checkpoints();
    table.put(b"more", b"").unwrap();
    wait_until(|| checkpoints() > before);
}

/// A restart continues with the files of the log, which are full. They cause no checkpoint, and change
/// streams need them.
#[test]
fn full_files_of_an_earlier_start_cause_no_checkpoint() {
    let disk = SimulatedDisk::default();
    let open = || Store::open(config(&disk, SyncPolicy::Never)).unwrap();
    let store = open();
    let table = store.table("t").unwrap();
    (0..2000_u32).for_each(|number| table.put(&number.to_be_bytes(), &[1; 100]).unwrap());
    store.wait_durable(store.read_version()).unwrap();
    let before = store.durability_statistics().unwrap();
    assert!(before.files > 16);
    drop((table, store));
    let store = open();
    let table = store.table("t").unwrap();
    table.put(b"more", b"").unwrap();
    store.wait_durable(store.read_version()).unwrap();
    // Several checks of the conditions.
    std::thread::sleep(Duration::from_millis(700));
    let after = store.durability_statistics().unwrap();
    assert_eq!(after.begun_checkpoints, 0);
    let growth = after.bytes_since_checkpoint - before.bytes_since_checkpoint;
    assert!((1..500).contains(&growth), "{growth}");
    assert!(after.records_since_checkpoint > before.records_since_checkpoint);
    store.checkpoint().unwrap();
    assert_eq!(store.durability_statistics().unwrap().bytes_since_checkpoint, 0);
}

/// Nobody uses the files of a store after the drop of its last handle, also if that interrupts a checkpoint.
#[test]
fn a_drop_waits_for_the_end_of_a_checkpoint() {
    let disk = SimulatedDisk::default();
    let mut config = config(&disk, SyncPolicy::Never);
    let storage: Arc<dyn Storage> = Arc::new(slow_disk(&disk, ".checkpoint"));
    config.durability.as_mut().unwrap().storage = storage.clone();
    let store = Store::open(config).unwrap();
    store.table("t").unwrap().put(b"key", b"value").unwrap();
    let begun = || store.durability_statistics().unwrap().begun_checkpoints;
    store.request_checkpoint().unwrap();
    wait_until(|| begun() > 0);
    drop(store);
    assert_eq!(Arc::strong_count(&storage), 1);
}

#[test]
fn a_table_can_be_dropped_during_a_checkpoint() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Never)).unwrap();
    for round in 0..20_u8 {
        let table = store.table("t").unwrap();
        table.load_sorted((0..2000_u32).map(|number| (number.to_be_bytes(), [round; 20]))).unwrap();
        drop(table);
        std::thread::scope(|scope| {
            scope.spawn(|| store.checkpoint().unwrap());
            assert!(store.drop_table("t").unwrap());
        });
    }
    store.wait_durable(store.read_version()).unwrap();
    let recovered = Store::open(config(&disk.after_power_cut(Kept::Nothing), SyncPolicy::Always)).unwrap();
    assert_eq!(recovered.tables(), Vec::<String>::new());
}

/// The first attempt of a checkpoint executes at a low priority, the next one does not. The lease of the
/// first one ends, because more than its time passes.
#[test]
fn a_checkpoint_yields_to_other_threads_until_its_lease_ends() {
    let (clock, attempts) = (Arc::new(ManualClock::default()), Arc::new(Mutex::new(Vec::new())));
    let (time, seen) = (clock.clone(), attempts.clone());
    let creates = move |name: &str| {
        let mut attempts = seen.lock().unwrap();
        if name.ends_with(".checkpoint") {
            attempts.push(getpriority_process(None).unwrap());
            if attempts.len() == 1 {
                time.advance(LeaseLimits::default().time + Duration::from_secs(1));
            }
        }
    };
    let disk = SimulatedDisk::default();
    let mut config = Config { clock, ..config(&disk, SyncPolicy::Never) };
    config.durability.as_mut().unwrap().storage = Arc::new(ObservedDisk::before_creations(&disk, creates));
    let store = Store::open(config).unwrap();
    store.table("t").unwrap().put(b"key", b"value").unwrap();
    assert_eq!(store.checkpoint().unwrap().pairs, 1);
    let normal = getpriority_process(None).unwrap();
    assert_eq!(*attempts.lock().unwrap(), [(normal + 10).min(19), normal]);
}

/// A checkpoint whose lease ends in each attempt fails, and changes no file that a recovery needs.
#[test]
fn a_checkpoint_that_is_too_slow_fails_and_loses_nothing() {
    let (clock, is_slow) = (Arc::new(ManualClock::default()), Arc::new(AtomicBool::new(false)));
    let (time, slow) = (clock.clone(), is_slow.clone());
    let creates = move |name: &str| {
        if name.ends_with(".checkpoint") && slow.load(Ordering::Relaxed) {
            time.advance(LeaseLimits::default().time + Duration::from_secs(1));
        }
    };
    let disk = SimulatedDisk::default();
    let mut config = Config { clock, ..config(&disk, SyncPolicy::Always) };
    config.durability.as_mut().unwrap().storage = Arc::new(ObservedDisk::before_creations(&disk, creates));
    let store = Store::open(config).unwrap();
    let table = store.table("t").unwrap();
    table.put(b"before", b"1").unwrap();
    let first = store.checkpoint().unwrap();
    table.put(b"after", b"2").unwrap();
    is_slow.store(true, Ordering::Relaxed);
    let error = store.checkpoint().unwrap_err();
    assert!(matches!(error, Error::CheckpointTooSlow { attempts: 5, .. }), "{error}");
    assert_eq!(store.durability_statistics().unwrap().checkpoint_error, Some(error.to_string()));
    let recovered = disk.after_power_cut(Kept::Nothing);
    let recovered = Store::open(crate::workload::config(&recovered, SyncPolicy::Always)).unwrap();
    assert_eq!(recovered.recovery().unwrap().pairs, first.pairs);
    assert!(contents(&recovered) == contents(&store));
    is_slow.store(false, Ordering::Relaxed);
    assert_eq!(store.checkpoint().unwrap().pairs, 2);
}

/// The disk may be a part of the embedding program. A client that waits for a checkpoint must learn its end.
#[test]
fn a_checkpoint_that_panics_fails_and_later_ones_succeed() {
    let (disk, panicking) = (SimulatedDisk::default(), Arc::new(Mutex::new(None::<&str>)));
    let ending = panicking.clone();
    let creates = move |name: &str| {
        let ending = *ending.lock().unwrap();
        assert!(ending.is_none_or(|ending| !name.ends_with(ending)), "no room for {name} in this program");
    };
    let mut config = config(&disk, SyncPolicy::Always);
    config.durability.as_mut().unwrap().storage = Arc::new(ObservedDisk::before_creations(&disk, creates));
    let store = Store::open(config).unwrap();
    store.table("t").unwrap().put(b"key", b"value").unwrap();
    let statistics = || store.durability_statistics().unwrap();
    for (failed, ending) in [(1, ".checkpoint"), (2, "manifest.new")] {
        *panicking.lock().unwrap() = Some(ending);
        store.request_checkpoint().unwrap();
        wait_until(|| statistics().failed_checkpoints == failed && !statistics().is_checkpoint_running);
        let error = statistics().checkpoint_error.unwrap();
        assert!(error.contains("has panicked: no room for") && error.contains(ending), "{error}");
        assert_eq!(store.statistics().snapshots.count, 0, "its lease pins memory");
    }
    assert!(matches!(store.checkpoint(), Err(Error::CheckpointPanicked { .. })));
    *panicking.lock().unwrap() = None;
    store.request_checkpoint().unwrap();
    wait_until(|| statistics().checkpoints == 1);
    assert_eq!(statistics().checkpoint_error, None);
}

#[test]
fn the_age_of_a_checkpoint_outlives_the_process() {
    let disk = SimulatedDisk::default();
    let open = |seconds| {
        let clock = Arc::new(ManualClock::default());
        clock.advance(Duration::from_secs(seconds));
        let config = Config { clock: clock.clone(), ..config(&disk, SyncPolicy::Always) };
        (Store::open(config).unwrap(), clock)
    };
    let age = |store: &Store| store.durability_statistics().unwrap().checkpoint_age;
    let (store, clock) = open(100);
    clock.advance(Duration::from_secs(5));
    assert_eq!(age(&store), Duration::from_secs(5), "the store has no checkpoint");
    store.checkpoint().unwrap();
    assert_eq!(age(&store), Duration::ZERO);
    drop(store);
    let (store, clock) = open(130);
    assert_eq!(age(&store), Duration::from_secs(25));
    clock.advance(Duration::from_secs(7));
    assert_eq!(age(&store), Duration::from_secs(32));
    store.checkpoint().unwrap();
    assert_eq!(age(&store), Duration::ZERO);
    drop(store);
    assert_eq!(age(&open(90).0), Duration::ZERO, "the clock went back");
}

#[test]
fn a_store_in_memory_has_no_checkpoints() {
    let store = Store::open(honeycomb_store::Config {
        durability: None,
        ..config(&SimulatedDisk::default(), SyncPolicy::Always)
    })
    .unwrap();
    assert!(matches!(store.checkpoint(), Err(Error::NoDirectory)));
    assert!(matches!(store.set_sync_policy(SyncPolicy::Never), Err(Error::NoDirectory)));
    assert_eq!((store.recovery(), store.sync_policy()), (None, None));
    store.table("t").unwrap().put(b"a", b"").unwrap();
    assert_eq!(store.durable_version(), store.read_version());
    store.wait_durable(u64::MAX).unwrap();
}

#[test]
fn limits_of_the_configuration_are_checked() {
    let open = |change: &dyn Fn(&mut honeycomb_store::Config)| {
        let mut config = config(&SimulatedDisk::default(), SyncPolicy::Always);
        change(&mut config);
        Store::open(config).map(drop)
    };
    let with_bytes = |bytes| {
        open(&|config| {
            let durability = config.durability.take().unwrap();
            config.durability = Some(DurabilityConfig { log_file_bytes: bytes, ..durability });
        })
    };
    assert!(with_bytes(8 << 10).is_ok());
    for bytes in [(8 << 10) - 1, (16 << 30) + 1] {
        let error = with_bytes(bytes).unwrap_err().to_string();
        assert!(error.contains(&bytes.to_string()) && error.contains("8192 to 17179869184"), "{error}");
    }
    let error = open(&|config| config.mvcc = false).unwrap_err();
    assert!(matches!(error, Error::InvalidConfig(_)), "{error}");
}

#[test]
fn progress_is_reported() {
    let disk = SimulatedDisk::default();
    let store = Store::open(config(&disk, SyncPolicy::Always)).unwrap();
    let table = store.table("t").unwrap();
    table.load_sorted((0..3000_u32).map(|number| (number.to_be_bytes(), [1; 20]))).unwrap();
    store.checkpoint().unwrap();
    table.put(b"one more", b"").unwrap();
    drop((table, store));
    let last = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (mut config, reports) = (config(&disk, SyncPolicy::Always), last.clone());
    let durability = config.durability.take().unwrap();
    let progress: Arc<dyn Fn(_) + Send + Sync> = Arc::new(move |now| reports.lock().unwrap().push(now));
    config.durability = Some(DurabilityConfig { progress: Some(progress), ..durability });
    let store = Store::open(config).unwrap();
    let last = *last.lock().unwrap().last().unwrap();
    assert_eq!((last.pairs, last.pairs_total, last.records), (3000, 3000, store.recovery().unwrap().records));
    assert_eq!(last.records, 1);
}

fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "the condition stays false");
        std::thread::sleep(Duration::from_millis(2));
    }
}
