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
        each_call(|call| {
            let runs = [Kept::Nothing, Kept::Everything, Kept::Random(call)];
            runs.map(|kept| check(seed, policy, STEPS, (call, DiskFault::PowerCut), kept))
        });
    }
}

/// The workload ends at the first error that it gets; the power fails later.
#[test]
fn every_failed_call_of_a_small_workload_keeps_what_was_acknowledged() {
    for (seed, policy) in [(11, SyncPolicy::Always), (12, SyncPolicy::Never)] {
        each_call(|call| {
            let (nothing, random) = (Kept::Nothing, Kept::Random(call));
            let runs = [(DiskFault::Error, nothing), (DiskFault::Error, random), (DiskFault::Full, random)];
            runs.map(|(fault, kept)| check(seed, policy, STEPS, (call, fault), kept))
        });
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

/// Passes the numbers of calls to `check` until none of three runs has made the call. Threads of the store
/// make calls at any time, so two runs of a workload differ in the number and in the order of their calls.
fn each_call(check: impl Fn(u64) -> [bool; 3]) {
    let calls = (0..).find(|&call| check(call) == [false; 3]).expect("the workload ends");
    assert!(calls > 40, "{calls} calls");
}

/// Runs a workload up to a fault, and checks the recovery, also if it is interrupted. Returns whether the
/// workload has made the call that was to fail.
fn check(seed: u64, policy: SyncPolicy, steps: usize, (call, fault): (u64, DiskFault), kept: Kept) -> bool {
    let disk = SimulatedDisk::default();
    disk.fail(call, fault);
    let history = history(&disk, policy, seed, steps);
    let after = disk.after_power_cut(kept);
    let context = format!("seed {seed}, {policy:?}, {fault:?} at call {call}, {kept:?}");
    let found = check_recovery(&after.copy(), policy, &context);
    assert!(history.allows(&found.0, found.1), "{context}: version {}", found.1);
    // The recoveries of a tenth of the points are interrupted at each of their calls, the others at one.
    let every = call.is_multiple_of(10);
    for again in if every { 0..u64::MAX } else { call % 6..call % 6 + 1 } {
        let is_reached = check_interrupted(&after, (policy, kept), again, (&found, &context));
        if !is_reached {
            break;
        }
    }
    disk.calls() > call
}

/// Cuts the power at a call of a recovery, and checks that the next one finds the same. Returns whether the
/// recovery has made the call.
fn check_interrupted(
    disk: &SimulatedDisk,
    (policy, kept): (SyncPolicy, Kept),
    call: u64,
    ((found, version), context): (&(Model, u64), &str),
) -> bool {
    let context = format!("{context}, again at call {call}");
    let interrupted = disk.copy();
    interrupted.fail(call, DiskFault::PowerCut);
    drop(Store::open(config(&interrupted, policy)));
    let again = check_recovery(&interrupted.after_power_cut(kept), policy, &context);
    assert!(again.0 == *found, "{context}: other pairs");
    // The interrupted recovery may have added a record, with the identifiers of tables. Versions begin at 1.
    let added = (*version).max(1) + 1;
    assert!([*version, added].contains(&again.1), "{context}: version {} after {version}", again.1);
    interrupted.calls() > call
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
