//! Power cuts and other faults at every call of the disk in small workloads, and power cuts at random calls
//! in longer workloads.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use honeycomb_log::{LogError, Storage};
use honeycomb_store::{Error, Store, SyncPolicy};
use honeycomb_testing::{DiskFault, Kept, Random, SimulatedDisk, each_crash};

use crate::history::{History, Model};
use crate::workload::{Workload, config, contents};

/// The names of writers. The tables of a writer begin with its name.
const WRITERS: [char; 2] = ['x', 'y'];
/// The writers of a small workload, and the steps of each.
const SMALL: (&[char], usize) = (&['x'], 40);
/// The seeds and policies of small workloads. The log of the second one has old values.
const SMALL_SEEDS: [(u64, SyncPolicy); 2] = [(11, SyncPolicy::Always), (12, SyncPolicy::Never)];
/// Flipped bits below a store, one at a time, after each tenth random power cut.
const FLIPS: usize = 10;
/// A full disk has room again after this time.
const FULL_TIME: Duration = Duration::from_millis(10);

#[test]
fn every_power_cut_of_a_small_workload_keeps_what_was_acknowledged() {
    for (seed, policy) in SMALL_SEEDS {
        each_call(|call| {
            let runs = [Kept::Nothing, Kept::Everything, Kept::Random(call)];
            runs.map(|kept| Crash::run((seed, policy), SMALL, (call, DiskFault::PowerCut), kept).check())
        });
    }
}

/// The workload ends at the first error that it gets; the power fails later.
#[test]
fn every_failed_call_of_a_small_workload_keeps_what_was_acknowledged() {
    for (seed, policy) in SMALL_SEEDS {
        each_call(|call| {
            let (nothing, random) = (Kept::Nothing, Kept::Random(call));
            let runs = [(DiskFault::Error, nothing), (DiskFault::Error, random), (DiskFault::Full, random)];
            runs.map(|(fault, kept)| Crash::run((seed, policy), SMALL, (call, fault), kept).check())
        });
    }
}

#[test]
fn random_power_cuts_keep_what_was_acknowledged() {
    each_crash(200, |seed| {
        let mut random = Random::new(seed);
        let policy = random.pick(&[SyncPolicy::Always, SyncPolicy::EverySecond, SyncPolicy::Never]);
        let call = random.below(150) as u64;
        // The writers of half of the workloads are concurrent.
        let writers = &WRITERS[..1 + (seed % 2) as usize];
        let fault = (call, DiskFault::PowerCut);
        let crash = Crash::run((seed, policy), (writers, 80), fault, Kept::Random(seed));
        crash.check();
        if seed.is_multiple_of(10) {
            (0..FLIPS).for_each(|_| crash.check_flip(&mut random));
        }
    });
}

/// Passes the numbers of calls to `check` until none of three runs has made the call. Threads of the store
/// make calls at any time, so two runs of a workload differ in the number and in the order of their calls.
fn each_call(check: impl Fn(u64) -> [bool; 3]) {
    let calls = (0..).find(|&call| check(call) == [false; 3]).expect("the workload ends");
    assert!(calls > 40, "{calls} calls");
}

/// A workload whose disk has failed, and the disk after a power cut.
struct Crash {
    policy: SyncPolicy,
    call: u64,
    /// Whether the workload has made the call that was to fail.
    is_reached: bool,
    kept: Kept,
    /// Those of all writers.
    histories: Vec<(char, History)>,
    disk: SimulatedDisk,
    context: String,
}

impl Crash {
    fn run(
        workload: (u64, SyncPolicy),
        size: (&[char], usize),
        (call, fault): (u64, DiskFault),
        kept: Kept,
    ) -> Self {
        let (seed, policy) = workload;
        let disk = SimulatedDisk::default();
        disk.fail(call, fault);
        let histories = histories(&disk, workload, size);
        let is_reached = disk.calls() > call;
        let disk = disk.after_power_cut(kept);
        let context = format!("seed {seed}, {policy:?}, {fault:?} at call {call}, {kept:?}");
        Self { policy, call, is_reached, kept, histories, disk, context }
    }

    /// Checks the recovery, also if it is interrupted. Returns whether the call was reached.
    fn check(&self) -> bool {
        let found = check_recovery(&self.disk.copy(), self.policy, &self.context);
        let writers = |name: &String| self.histories.iter().any(|(writer, _)| name.starts_with(*writer));
        assert!(found.0.keys().all(writers), "{}: another table", self.context);
        for (writer, history) in &self.histories {
            let is_allowed = history.allows(&tables_of(*writer, &found.0), found.1);
            assert!(is_allowed, "{}: writer {writer}, version {}", self.context, found.1);
        }
        // The recoveries of a tenth of the points are interrupted at each of their calls, the others at one.
        let every = self.call.is_multiple_of(10);
        for again in if every { 0..u64::MAX } else { self.call % 6..self.call % 6 + 1 } {
            if !self.check_interrupted(again, &found) {
                break;
            }
        }
        self.is_reached
    }

    /// Cuts the power at a call of the recovery, and checks that the next one finds the same. Returns whether
    /// the recovery has made the call.
    fn check_interrupted(&self, call: u64, (found, version): &(Model, u64)) -> bool {
        let context = format!("{}, again at call {call}", self.context);
        let interrupted = self.disk.copy();
        interrupted.fail(call, DiskFault::PowerCut);
        drop(Store::open(config(&interrupted, self.policy)));
        let again = check_recovery(&interrupted.after_power_cut(self.kept), self.policy, &context);
        assert!(again.0 == *found, "{context}: other pairs");
        // The interrupted recovery may have added the record of the identifiers, after the versions that its
        // replay has taken.
        assert!(again.1 >= *version, "{context}: version {} after {version}", again.1);
        interrupted.calls() > call
    }

    /// Flips a bit. The recovery returns an error, or a state that the workload has had: a flip in the last
    /// records looks like a torn end, so it may cut them.
    fn check_flip(&self, random: &mut Random) {
        let damaged = self.disk.copy();
        let flipped = flip(&damaged, random);
        match Store::open(config(&damaged, self.policy)) {
            Ok(store) => {
                let version = store.recovery().expect("the store has a directory").version;
                let found = contents(&store);
                let is_state =
                    |(writer, history): &(char, History)| history.had(&tables_of(*writer, &found), version);
                let are_states = self.histories.iter().all(is_state);
                assert!(are_states, "{}: {flipped}, version {version}", self.context);
            }
            Err(Error::Log(LogError::Corrupt { .. } | LogError::Missing { .. })) => {}
            Err(error) => panic!("{}: {flipped}: {error}", self.context),
        }
    }
}

/// Flips a bit of any file. Prefers bytes that are in use: those that are not zero.
fn flip(disk: &SimulatedDisk, random: &mut Random) -> String {
    let mut files = disk.files();
    files.retain(|(_, bytes)| *bytes > 0);
    if files.is_empty() {
        return "no file".to_owned();
    }
    let (name, length) = files.swap_remove(random.below(files.len()));
    let mut bytes = vec![0; length];
    disk.open(&name).and_then(|file| file.read_at(0, &mut bytes)).expect("the file exists");
    let start = random.below(length);
    let offset = (start..length).find(|&offset| bytes[offset] != 0).unwrap_or(start);
    let bit = random.below(8) as u32;
    disk.flip(&name, offset, bit);
    format!("bit {bit} of byte {offset} of `{name}`")
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

/// Returns the tables of a writer.
fn tables_of(writer: char, all: &Model) -> Model {
    let tables = all.iter().filter(|(name, _)| name.starts_with(writer));
    tables.map(|(name, pairs)| (name.clone(), pairs.clone())).collect()
}

/// Runs the workloads of some writers at the same time, each up to its end or to an error of the disk, and
/// returns their histories. The log of half of the seeds has old values, whichever the number of writers.
fn histories(
    disk: &SimulatedDisk,
    (seed, policy): (u64, SyncPolicy),
    (writers, steps): (&[char], usize),
) -> Vec<(char, History)> {
    let mut config = config(disk, policy);
    config.durability.as_mut().expect("it has a disk").old_values = seed % 4 < 2;
    let Ok(store) = Store::open(config) else {
        return writers.iter().map(|writer| (*writer, History::default())).collect();
    };
    let run = |writer: char| {
        let mut workload = Workload::new(&store, writer, policy, seed);
        if let Err(error) = workload.run(steps) {
            assert!(is_of_disk(&error), "seed {seed}, writer {writer}: {error}");
        }
        (writer, workload.history)
    };
    with_room(disk, || {
        thread::scope(|scope| {
            let running: Vec<_> = writers.iter().map(|writer| scope.spawn(|| run(*writer))).collect();
            running.into_iter().map(|one| one.join().expect("no panic")).collect()
        })
    })
}

/// Executes a function on a disk that has room again a moment after it was full: accepted writes may wait for
/// room.
fn with_room<R>(disk: &SimulatedDisk, execute: impl FnOnce() -> R) -> R {
    let (running, ends) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while ends.recv_timeout(FULL_TIME) == Err(RecvTimeoutError::Timeout) {
                disk.add_room();
            }
        });
        let result = execute();
        drop(running);
        result
    })
}

fn is_of_disk(error: &Error) -> bool {
    matches!(error, Error::NotDurable { .. } | Error::ReadOnly { .. } | Error::DiskFull | Error::Log(_))
}
