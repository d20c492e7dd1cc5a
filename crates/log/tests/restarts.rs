//! Restarts without a power cut, after which the files have bytes and names that are not durable. A later
//! power cut takes nothing back that the restart has read, because later records depend on it.

use std::sync::Arc;

use crc32c::{crc32c, crc32c_append};
use honeycomb_layout::wal_record;
use honeycomb_log::{
    Changes, CheckpointWriter, Directory, Durability, LogError, LogWriter, MANIFEST_FILE, Manifest, Storage,
    checkpoint_file,
};
use honeycomb_testing::{DiskFault, Kept, SimulatedDisk, log_writer};

const FILE_BYTES: u64 = 64 << 10;

fn record(version: u64) -> Changes {
    let mut changes = Changes::default();
    changes.put(1, &version.to_be_bytes(), &[version as u8; 700]);
    changes
}

fn append(writer: &mut LogWriter, version: u64, durability: Durability) -> Result<(), LogError> {
    writer.append(version, record(version).bytes())?;
    writer.flush(durability)
}

/// Returns the versions that a recovery after a power cut finds: that of the checkpoint, and those of the
/// records after it.
fn recovered(disk: &SimulatedDisk, kept: Kept, context: &str) -> Vec<u64> {
    let opened = Directory::open(Arc::new(disk.after_power_cut(kept)));
    let directory = opened.unwrap_or_else(|error| panic!("{context}, {kept:?}: {error}"));
    directory.checkpoint().unwrap_or_else(|error| panic!("{context}, {kept:?}: {error}"));
    let mut versions = vec![directory.manifest().version];
    let replayed = directory.replay(|_, record| {
        versions.push(record.version);
        Ok::<(), LogError>(())
    });
    replayed.unwrap_or_else(|error| panic!("{context}, {kept:?}: {error}"));
    versions
}

fn all_kept() -> impl Iterator<Item = Kept> {
    [Kept::Nothing, Kept::Everything].into_iter().chain((0..20).map(Kept::Random))
}

#[test]
fn records_that_a_restart_has_read_are_durable() {
    for fails in [false, true] {
        let disk = SimulatedDisk::default();
        let mut writer = log_writer(&disk, FILE_BYTES);
        (1..20).for_each(|version| append(&mut writer, version, Durability::Later).expect("room"));
        if fails {
            disk.fail(disk.calls(), DiskFault::Error);
            assert!(writer.sync().is_err());
        }
        drop(writer);
        let mut writer = log_writer(&disk, FILE_BYTES);
        append(&mut writer, 20, Durability::Now).expect("room");
        for kept in all_kept() {
            assert_eq!(recovered(&disk, kept, "records"), (0..=20).collect::<Vec<_>>(), "{fails}");
        }
    }
}

/// The process ended between the rename of a manifest and the sync of the directory.
#[test]
fn files_are_removed_when_the_name_of_the_manifest_is_durable() {
    for call in 0.. {
        let disk = SimulatedDisk::default();
        for file in 0..2 {
            let mut writer = log_writer(&disk, FILE_BYTES);
            (1..3).for_each(|record| append(&mut writer, 2 * file + record, Durability::Now).expect("room"));
        }
        CheckpointWriter::create(&disk, 1, 2, 0).and_then(CheckpointWriter::finish).expect("room");
        let manifest = Manifest { checkpoint: 1, version: 2, first_file: 2, pairs: 0 };
        let bytes = manifest.encode();
        let mut file = disk.create("manifest.new", 0).expect("room");
        file.write_at(0, &bytes).and_then(|()| file.sync()).expect("room");
        disk.sync_directory().and_then(|()| disk.rename("manifest.new", MANIFEST_FILE)).expect("room");
        let first = disk.calls();
        disk.fail(first + call, DiskFault::PowerCut);
        if let Ok(directory) = Directory::open(Arc::new(disk.clone())) {
            let replayed = directory.replay(|_, _| Ok::<(), LogError>(())).expect("valid records");
            drop(directory.start_writer(replayed, FILE_BYTES, 7));
        }
        for kept in all_kept() {
            let versions = recovered(&disk, kept, &format!("call {call}"));
            assert!(versions == [0, 1, 2, 3, 4] || versions == [2, 3, 4], "call {call}: {versions:?}");
        }
        if disk.calls() <= first + call {
            assert!(call > 8, "{call} calls");
            return;
        }
    }
}

/// A store that can be read starts although there is no room for a log file.
#[test]
fn a_start_on_a_full_disk_needs_room_for_its_first_record() {
    let disk = SimulatedDisk::default();
    assert!(log_writer(&disk, FILE_BYTES).has_room());
    let mut writer = log_writer(&disk, FILE_BYTES);
    (1..=5).for_each(|version| append(&mut writer, version, Durability::Now).expect("room"));
    drop(writer);
    // A file that no recovery needs stays until the manifest can be replaced.
    let unused = checkpoint_file(7);
    disk.create(&unused, 10).unwrap();
    let has_unused = || disk.files().iter().any(|(name, _)| *name == unused);
    disk.fill();
    for _ in 0..2 {
        let mut writer = log_writer(&disk, FILE_BYTES);
        assert_eq!((writer.has_room(), writer.last_version(), has_unused()), (false, 5, true));
        for _ in 0..2 {
            assert!(append(&mut writer, 6, Durability::Now).unwrap_err().is_full());
        }
        writer.sync().unwrap();
        all_kept().for_each(|kept| assert_eq!(recovered(&disk, kept, "full"), (0..=5).collect::<Vec<_>>()));
    }
    let mut writer = log_writer(&disk, FILE_BYTES);
    disk.add_room();
    append(&mut writer, 6, Durability::Now).expect("room");
    assert!(writer.has_room());
    drop(writer);
    all_kept().for_each(|kept| assert_eq!(recovered(&disk, kept, "room"), (0..=6).collect::<Vec<_>>()));
    assert!(log_writer(&disk, FILE_BYTES).has_room() && !has_unused());
}

#[test]
fn the_next_file_has_a_durable_name_after_a_failed_call() {
    the_next_file_has_a_durable_name(false);
}

#[test]
fn the_next_file_has_a_durable_name_after_a_failed_call_and_a_start_on_a_full_disk() {
    the_next_file_has_a_durable_name(true);
}

/// A call of the change to the next file fails, and the store is opened again without a power cut.
fn the_next_file_has_a_durable_name(is_full: bool) {
    for call in 0.. {
        let disk = SimulatedDisk::default();
        let mut writer = log_writer(&disk, 16 << 10);
        let mut version = 1;
        while !writer.is_half_full() {
            append(&mut writer, version, Durability::Now).expect("room");
            version += 1;
        }
        let mut large = Changes::default();
        large.put(1, b"key", &[7; 9000]);
        let first = disk.calls();
        disk.fail(first + call, DiskFault::Error);
        let failed = writer.append(version, large.bytes()).and_then(|()| writer.flush(Durability::Now));
        drop(writer);
        if disk.calls() <= first + call {
            assert!(call > 4 && failed.is_ok(), "{call} calls: {failed:?}");
            return;
        }
        if is_full {
            disk.fill();
        }
        let mut writer = log_writer(&disk, 16 << 10);
        disk.add_room();
        let next = writer.last_version() + 1;
        append(&mut writer, next, Durability::Now).expect("room");
        for kept in all_kept() {
            let versions = recovered(&disk, kept, &format!("call {call}, {failed:?}"));
            assert_eq!(versions, (0..=next).collect::<Vec<_>>(), "call {call}, {failed:?}, {kept:?}");
        }
    }
}

/// A record of the log file with this number that has no salt, as a client can store it in a value.
fn forged(number: u64) -> Vec<u8> {
    let mut bytes = vec![0; wal_record::SIZE + 16];
    // Its file was durable beyond the end of its records, if it were valid.
    bytes[wal_record::DURABLE_OFFSET..][..4].copy_from_slice(&(16_384_u32 / 8).to_le_bytes());
    bytes[wal_record::LENGTH_OFFSET..][..8].copy_from_slice(&16_u64.to_le_bytes());
    bytes[wal_record::VERSION_OFFSET..][..8].copy_from_slice(&(1_u64 << 62).to_le_bytes());
    let crc = crc32c_append(crc32c(&number.to_le_bytes()), &bytes[wal_record::CRC_BYTES..]);
    bytes[wal_record::CRC_OFFSET..][..4].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// A file is used again, behind whose new records there are values of an earlier use.
#[test]
fn stored_values_are_never_records() {
    let disk = SimulatedDisk::default();
    let mut writer = log_writer(&disk, FILE_BYTES);
    let mut changes = Changes::default();
    // At any offset within the eight bytes of an alignment.
    let value: Vec<u8> = (0..8).flat_map(|_| [&forged(3).repeat(150)[..], &[0]].concat()).collect();
    changes.put(1, b"key", &value);
    writer.append(1, changes.bytes()).and_then(|()| writer.flush(Durability::Now)).expect("room");
    drop(writer);
    let mut writer = log_writer(&disk, FILE_BYTES);
    append(&mut writer, 2, Durability::Now).expect("room");
    Manifest { checkpoint: 0, version: 1, first_file: 2, pairs: 0 }.store(&disk).expect("room");
    writer.recycle(2).expect("room");
    drop(writer);
    let mut writer = log_writer(&disk, FILE_BYTES);
    assert_eq!(writer.current_file(), 3);
    append(&mut writer, 3, Durability::Now).expect("room");
    let name = honeycomb_log::log_file(3);
    let mut bytes = vec![0; FILE_BYTES as usize];
    disk.open(&name).and_then(|file| file.read_at(0, &mut bytes)).expect("a log file");
    assert!(bytes.windows(40).any(|window| window == forged(3)), "the file is used again");
    assert_eq!(recovered(&disk, Kept::Everything, "forged"), [1, 2, 3]);
}
