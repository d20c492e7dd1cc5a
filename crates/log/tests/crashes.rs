//! Power cuts at every call of a small workload, and at random calls of longer ones: all acknowledged records
//! are there, in order, and each recovery can be interrupted at each of its calls and repeated.

use std::cell::Cell;
use std::sync::Arc;

use honeycomb_log::{Changes, Directory, Durability, LogError, LogReader, LogWriter, Manifest, Record};
use honeycomb_testing::{DiskFault, Kept, Random, SimulatedDisk, each_crash};

const FILE_BYTES: u64 = 4 * 4096;

/// The versions that were written and the last one that is known to be durable.
#[derive(Default)]
struct Written {
    last: u64,
    durable: u64,
}

#[test]
fn no_acknowledged_record_is_lost_at_any_power_cut() {
    let calls = {
        let disk = SimulatedDisk::default();
        run(&disk, 1, 40, &mut Written::default()).expect("no fault");
        disk.calls()
    };
    assert!(calls > 60, "{calls} calls");
    for call in 0..calls {
        for kept in [Kept::Nothing, Kept::Everything, Kept::Random(call), Kept::Random(call + 1000)] {
            check_power_cut(1, 40, call, kept);
        }
    }
}

#[test]
fn no_acknowledged_record_is_lost_in_random_workloads() {
    each_crash(300, |seed| {
        let call = Random::new(seed).below(200) as u64;
        check_power_cut(seed, 60, call, Kept::Random(seed));
    });
}

/// After an error other than a full disk the writer is not used again; this checks that nothing that was
/// acknowledged before is lost, also by a failed sync.
#[test]
fn errors_of_the_disk_lose_nothing_that_was_acknowledged() {
    for call in 0..120 {
        let (disk, mut written) = (SimulatedDisk::default(), Written::default());
        disk.fail(call, DiskFault::Error);
        let _ = run(&disk, call, 40, &mut written);
        for kept in [Kept::Nothing, Kept::Random(call)] {
            check_recovery(&disk.after_power_cut(kept), &written, &format!("error of call {call}, {kept:?}"));
        }
    }
}

/// A failed sync of the directory forgets names, also those of the manifest and of the checkpoint.
#[test]
fn records_after_a_failed_checkpoint_are_not_lost() {
    let failed = Cell::new(0);
    for seed in 0..6 {
        for call in 0.. {
            let (disk, mut written) = (SimulatedDisk::default(), Written::default());
            disk.fail(call, DiskFault::Error);
            let _ = run_with(&disk, (seed, 30), &mut written, |_| {
                failed.set(failed.get() + 1);
                Ok(())
            });
            for kept in [Kept::Nothing, Kept::Random(call), Kept::Random(call + 1000)] {
                let context = format!("seed {seed}, error of call {call}, {kept:?}");
                check_recovery(&disk.after_power_cut(kept), &written, &context);
            }
            if disk.calls() <= call {
                break;
            }
        }
    }
    assert!(failed.get() > 100, "{} failed checkpoints", failed.get());
}

/// After a failed read the recovery has changed nothing that the next one needs.
#[test]
fn a_recovery_whose_read_fails_names_the_file_and_can_be_repeated() {
    for seed in 0..8 {
        let (disk, mut written) = (SimulatedDisk::default(), Written::default());
        run(&disk, seed, 60, &mut written).expect("no fault");
        for read in 0.. {
            let context = format!("seed {seed}, error of read {read}");
            let failing = disk.after_power_cut(Kept::Random(seed));
            failing.fail_read(read);
            let opened = open(&failing).map(drop);
            let Some(name) = failing.failed_read() else {
                assert!(read > 10 && opened.is_ok(), "{context}: {opened:?}");
                break;
            };
            match opened {
                Err(LogError::Io { file, .. }) => assert_eq!(file, name, "{context}"),
                other => panic!("{context} of `{name}`: {other:?}"),
            }
            check_recovery(&failing.after_power_cut(Kept::Nothing), &written, &context);
        }
    }
}

#[test]
fn a_reader_whose_read_fails_names_the_file_and_continues() {
    const LAST: u64 = 40;
    let disk = SimulatedDisk::default();
    let (_, mut writer) = open(&disk).expect("no fault");
    (1..=LAST).for_each(|version| writer.append(version, record(version).bytes()).expect("room"));
    writer.flush(Durability::Now).expect("room");
    for read in 0.. {
        let failing = disk.copy();
        let mut reader = LogReader::open(Arc::new(failing.clone()), 1, 0).expect("no fault").expect("a log");
        failing.fail_read(failing.reads() + read);
        for version in 1..=LAST {
            let mut next = || reader.next(LAST, |found| (found.version, found.changes.to_vec()));
            let found = next().or_else(|error| {
                let name = failing.failed_read();
                assert!(
                    matches!(&error, LogError::Io { file, .. } if name.as_ref() == Some(file)),
                    "{error}"
                );
                next()
            });
            let found = found.expect("only one read fails").expect("the record is in the files");
            assert!(found == (version, record(version).bytes().to_vec()), "read {read}, {version}");
        }
        if failing.failed_read().is_none() {
            assert!(read > 10, "{read} reads");
            break;
        }
    }
}

#[test]
fn a_full_disk_delays_records_until_it_has_room() {
    let mut full = 0;
    for call in 0..60 {
        let disk = SimulatedDisk::default();
        let Ok((_, mut writer)) = open(&disk) else { panic!("no fault") };
        disk.fail(disk.calls() + call, DiskFault::Full);
        for version in 1..=60 {
            while let Err(error) = writer.append(version, record(version).bytes()) {
                assert!(error.is_full(), "{error}");
                full += 1;
                let written = Written { last: 60, durable: version - 1 };
                check_recovery(&disk.after_power_cut(Kept::Nothing), &written, "full disk");
                disk.add_room();
            }
        }
        writer.flush(Durability::Now).expect("room");
        check_recovery(&disk.after_power_cut(Kept::Nothing), &Written { last: 60, durable: 60 }, "room");
    }
    assert!(full > 0);
}

fn check_power_cut(seed: u64, steps: usize, call: u64, kept: Kept) {
    let (disk, mut written) = (SimulatedDisk::default(), Written::default());
    disk.fail(call, DiskFault::PowerCut);
    let _ = run(&disk, seed, steps, &mut written);
    let after = disk.after_power_cut(kept);
    let context = format!("seed {seed}, power cut at call {call}, {kept:?}");
    check_recovery(&after.copy(), &written, &context);
    // A second power cut at each call of the recovery, and the recovery after it.
    for again in 0.. {
        let interrupted = after.copy();
        interrupted.fail(again, DiskFault::PowerCut);
        let _ = open(&interrupted);
        check_recovery(&interrupted.after_power_cut(kept), &written, &format!("{context}, again at {again}"));
        if interrupted.calls() <= again {
            break;
        }
    }
}

/// Recovers, checks the records, appends, and recovers again.
fn check_recovery(disk: &SimulatedDisk, written: &Written, context: &str) {
    let (versions, mut writer) = open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    let last = versions.last().copied().unwrap_or(0);
    assert!((written.durable..=written.last).contains(&last), "{context}: {last}, {}", written.durable);
    let more = last + 1;
    writer.append(more, record(more).bytes()).unwrap_or_else(|error| panic!("{context}: {error}"));
    writer.flush(Durability::Now).unwrap_or_else(|error| panic!("{context}: {error}"));
    let (versions, _) =
        open(&disk.after_power_cut(Kept::Nothing)).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(versions.last(), Some(&more), "{context}");
}

/// Opens the directory and returns the versions after its checkpoint, or the version of the checkpoint.
fn open(disk: &SimulatedDisk) -> Result<(Vec<u64>, LogWriter), LogError> {
    let directory = Directory::open(Arc::new(disk.clone()))?;
    let mut versions = vec![directory.manifest().version];
    let replayed = directory.replay(|_, found: Record<'_>| {
        assert_eq!(found.changes, record(found.version).bytes(), "version {}", found.version);
        assert_eq!(versions.last(), Some(&(found.version - 1)), "versions have no gap");
        versions.push(found.version);
        Ok::<(), LogError>(())
    })?;
    Ok((versions, directory.start_writer(replayed, FILE_BYTES, 7)?))
}

/// Writes groups of records, durable at once or later, and moves the start of the log forward.
fn run(disk: &SimulatedDisk, seed: u64, steps: usize, written: &mut Written) -> Result<(), LogError> {
    run_with(disk, (seed, steps), written, Err)
}

/// Like [`run`]; `on_failed_checkpoint` returns whether the workload continues.
fn run_with(
    disk: &SimulatedDisk,
    (seed, steps): (u64, usize),
    written: &mut Written,
    on_failed_checkpoint: impl Fn(LogError) -> Result<(), LogError>,
) -> Result<(), LogError> {
    let mut random = Random::new(seed);
    let (_, mut writer) = open(disk)?;
    // Each checkpoint has a number of its own: the manifest may name one that has failed.
    let mut number = 0;
    for _ in 0..steps {
        let first = written.last + 1;
        written.last += 1 + random.below(4) as u64;
        for version in first..=written.last {
            writer.append(version, record(version).bytes())?;
        }
        let durability = random.pick(&[Durability::Now, Durability::Later]);
        writer.flush(durability)?;
        if durability == Durability::Later && random.chance(30) {
            writer.sync()?;
            written.durable = written.last;
        }
        if durability == Durability::Now {
            written.durable = written.last;
        }
        if random.chance(20) {
            number += 1;
            match checkpoint(disk, &writer, number, written.durable) {
                Ok(first_file) => writer.recycle(first_file)?,
                Err(error) => on_failed_checkpoint(error)?,
            }
        }
    }
    Ok(())
}

/// Writes a checkpoint, and returns the first log file that is still needed.
fn checkpoint(disk: &SimulatedDisk, writer: &LogWriter, number: u64, version: u64) -> Result<u64, LogError> {
    let mut file = honeycomb_log::CheckpointWriter::create(disk, number, version, 0)?;
    file.table(1, "t")?;
    file.push(b"key", &version.to_le_bytes())?;
    let pairs = file.finish()?;
    let first_file = writer.first_file_after(version);
    let manifest = Manifest { checkpoint: number, version, first_file, pairs };
    manifest.store(disk)?;
    manifest.remove_other_checkpoints(disk)?;
    Ok(first_file)
}

/// Returns the changes of a version, which are always the same.
fn record(version: u64) -> Changes {
    let (mut changes, mut random) = (Changes::default(), Random::new(version));
    for _ in 0..1 + random.below(3) {
        let length = if random.chance(3) { 3 * FILE_BYTES as usize } else { random.below(900) };
        changes.put(1, &random.bytes(8), &random.bytes(length));
    }
    changes
}
