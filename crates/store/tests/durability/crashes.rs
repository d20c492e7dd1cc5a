//! Power cuts and other faults at every call of the disk in small workloads, and power cuts at random calls
//! in longer workloads.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use honeycomb_store::{Error, Store, SyncPolicy};
use honeycomb_testing::{DiskFault, Kept, Random, SimulatedDisk, each_crash};

use crate::history::{History, Model};
use crate::workload::{Workload, config, contents};

const STEPS: usize = 40;
/// A full disk has room again after this time.
const FULL_TIME: Duration = Duration::from_millis(10);

#[test]
fn every_power_cut_of_a_small_workload_keeps_what_was_acknowledged() {
    for (seed, policy) in [(11, SyncPolicy::Always), (12, SyncPolicy::Never)] {
        for call in 0..calls(seed, policy) {
            for kept in [Kept::Nothing, Kept::Everything, Kept::Random(call)] {
                check(seed, policy, STEPS, (call, DiskFault::PowerCut), kept);
            }
        }
    }
}

/// The workload ends at the first error that it gets; the power fails later.
#[test]
fn every_failed_call_of_a_small_workload_keeps_what_was_acknowledged() {
    for (seed, policy) in [(11, SyncPolicy::Always), (12, SyncPolicy::Never)] {
        for call in 0..calls(seed, policy) {
            for fault in [DiskFault::Error, DiskFault::Full] {
                check(seed, policy, STEPS, (call, fault), Kept::Random(call));
            }
        }
    }
}

#[test]
fn random_power_cuts_keep_what_was_acknowledged() {
    each_crash(200, |seed| {
        let mut random = Random::new(seed);
        let policy = random.pick(&[SyncPolicy::Always, SyncPolicy::EverySecond, SyncPolicy::Never]);
        let call = random.below(150) as u64;
        check(seed, policy, 80, (call, DiskFault::PowerCut), Kept::Random(seed));
    });
}

/// Returns the number of calls of a small workload.
fn calls(seed: u64, policy: SyncPolicy) -> u64 {
    let disk = SimulatedDisk::default();
    let mut workload = Workload::open(&disk, policy, seed).expect("no fault");
    workload.run(STEPS).expect("no fault");
    drop(workload);
    let calls = disk.calls();
    assert!(calls > 40, "{calls} calls");
    calls
}

/// Runs a workload up to a fault, and checks the recovery, also if it is interrupted.
fn check(seed: u64, policy: SyncPolicy, steps: usize, (call, fault): (u64, DiskFault), kept: Kept) {
    let disk = SimulatedDisk::default();
    disk.fail(call, fault);
    let history = history(&disk, policy, seed, steps);
    let after = disk.after_power_cut(kept);
    let context = format!("seed {seed}, {policy:?}, {fault:?} at call {call}, {kept:?}");
    let interrupted = after.copy();
    interrupted.fail(call % 6, DiskFault::PowerCut);
    drop(Store::open(config(&interrupted, policy)));
    let (found, version) = check_recovery(&after, policy, &context);
    assert!(history.allows(&found, version), "{context}: version {version}");
    let again = check_recovery(&interrupted.after_power_cut(kept), policy, &context);
    assert!(again.0 == found, "{context}: another recovery has other pairs");
    // The interrupted recovery may have added the record of the identifiers of tables.
    assert!((version..=version + 1).contains(&again.1), "{context}: versions {version} and {}", again.1);
}

/// Recovers, writes, and recovers again. Returns the pairs and the version of the first recovery.
fn check_recovery(disk: &SimulatedDisk, policy: SyncPolicy, context: &str) -> (Model, u64) {
    let open = |disk: &SimulatedDisk| {
        Store::open(config(disk, policy)).unwrap_or_else(|error| panic!("{context}: {error}"))
    };
    let mut store = open(disk);
    let (found, recovered) = (contents(&store), store.recovery().expect("the store has a directory").version);
    store.verify().unwrap_or_else(|error| panic!("{context}: {error}"));
    let again = store.table("after").and_then(|table| table.put(b"key", b"value"));
    again.unwrap_or_else(|error| panic!("{context}: {error}"));
    let version = store.read_version();
    store.wait_durable(version).unwrap_or_else(|error| panic!("{context}: {error}"));
    drop(store);
    let store = open(&disk.after_power_cut(Kept::Nothing));
    assert!(store.read_version() >= version, "{context}: versions ascend");
    let mut expected = found.clone();
    expected.entry("after".to_owned()).or_default().insert(b"key".to_vec(), b"value".to_vec());
    assert!(contents(&store) == expected, "{context}: after another write");
    (found, recovered)
}

/// Runs a workload up to its end or to an error of the disk, and returns its history.
fn history(disk: &SimulatedDisk, policy: SyncPolicy, seed: u64, steps: usize) -> History {
    let Ok(mut workload) = Workload::open(disk, policy, seed) else { return History::default() };
    if let Err(error) = run(&mut workload, steps, disk) {
        assert!(is_of_disk(&error), "seed {seed}: {error}");
    }
    workload.history
}

/// Runs a workload on a disk that has room again a moment after it was full: accepted writes may wait for
/// room.
fn run(workload: &mut Workload, steps: usize, disk: &SimulatedDisk) -> Result<(), Error> {
    let (running, ends) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while ends.recv_timeout(FULL_TIME) == Err(RecvTimeoutError::Timeout) {
                disk.add_room();
            }
        });
        let result = workload.run(steps);
        drop(running);
        result
    })
}

fn is_of_disk(error: &Error) -> bool {
    matches!(error, Error::NotDurable { .. } | Error::ReadOnly { .. } | Error::DiskFull | Error::Log(_))
}
