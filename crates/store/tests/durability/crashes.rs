//! Power cuts at every call of the disk in small workloads, and at random ones in longer workloads.

use honeycomb_store::{Error, Store, SyncPolicy};
use honeycomb_testing::{DiskFault, Kept, Random, SimulatedDisk, seed_or};

use crate::workload::{Workload, config, contents, is_between};

const STEPS: usize = 40;

#[test]
fn every_power_cut_of_a_small_workload_keeps_what_was_acknowledged() {
    for (seed, policy) in [(11, SyncPolicy::Always), (12, SyncPolicy::Never)] {
        let disk = SimulatedDisk::default();
        let mut workload = Workload::open(&disk, policy, seed).expect("no fault");
        workload.run(STEPS).expect("no fault");
        drop(workload);
        let calls = disk.calls();
        assert!(calls > 40, "{calls} calls");
        for call in 0..calls {
            for kept in [Kept::Nothing, Kept::Everything, Kept::Random(call)] {
                check(seed, policy, STEPS, call, kept);
            }
        }
    }
}

#[test]
fn random_power_cuts_keep_what_was_acknowledged() {
    let first = seed_or(1);
    let crashes = std::env::var("HONEYCOMB_SOAK_CRASHES").ok().and_then(|text| text.parse().ok());
    for seed in first..first + crashes.unwrap_or(200) {
        let mut random = Random::new(seed);
        let policy = random.pick(&[SyncPolicy::Always, SyncPolicy::EverySecond, SyncPolicy::Never]);
        let call = random.below(150) as u64;
        check(seed, policy, 80, call, Kept::Random(seed));
    }
}

/// Runs a workload up to a power cut, and checks the recovery, also if it is interrupted.
fn check(seed: u64, policy: SyncPolicy, steps: usize, call: u64, kept: Kept) {
    let disk = SimulatedDisk::default();
    disk.fail(call, DiskFault::PowerCut);
    let workload = Workload::open(&disk, policy, seed);
    let (states, interleaved, durable) = match workload {
        Ok(mut workload) => {
            if let Err(error) = workload.run(steps) {
                let is_of_disk =
                    matches!(error, Error::NotDurable { .. } | Error::ReadOnly { .. } | Error::Log(_));
                assert!(is_of_disk, "seed {seed}: {error}");
            }
            let states = std::mem::take(&mut workload.states);
            (states, std::mem::take(&mut workload.interleaved), workload.durable)
        }
        Err(_) => (vec![Default::default()], Vec::new(), 0),
    };
    let after = disk.after_power_cut(kept);
    let context = format!("seed {seed}, {policy:?}, power cut at call {call}, {kept:?}");
    let interrupted = after.copy();
    interrupted.fail(call % 6, DiskFault::PowerCut);
    drop(Store::open(config(&interrupted, policy)));
    for disk in [after, interrupted.after_power_cut(kept)] {
        let mut store =
            Store::open(config(&disk, policy)).unwrap_or_else(|error| panic!("{context}: {error}"));
        let found = contents(&store);
        let is_in_batch = |&(before, after): &(usize, usize)| {
            before >= durable && is_between(&found, &states[before], &states[after])
        };
        let is_state = states[durable..].contains(&found) || interleaved.iter().any(is_in_batch);
        assert!(is_state, "{context}: {:?}, {} states", store.recovery(), states.len());
        store.verify().unwrap_or_else(|error| panic!("{context}: {error}"));
        let again = store.table("after").and_then(|table| table.put(b"key", b"value"));
        again.unwrap_or_else(|error| panic!("{context}: {error}"));
        let version = store.read_version();
        store.wait_durable(version).unwrap_or_else(|error| panic!("{context}: {error}"));
        drop(store);
        let store = Store::open(config(&disk.after_power_cut(Kept::Nothing), policy));
        let store = store.unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(store.read_version() >= version, "{context}: versions ascend");
        let mut expected = found;
        expected.entry("after".to_owned()).or_default().insert(b"key".to_vec(), b"value".to_vec());
        assert!(contents(&store) == expected, "{context}: after another write");
    }
}
