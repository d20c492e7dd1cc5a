//! Arbitrary bytes never make a parser panic, and every encoded change is decoded again.
//! `PROPTEST_CASES` is the number of cases, of 200 bytes on average.

use std::ops::Bound;
use std::sync::Arc;

use honeycomb_log::{
    Change, Changes, CheckpointReader, CheckpointWriter, Directory, Durability, LogError, LogReader,
    MANIFEST_FILE, Manifest, Storage, Until, changes, checkpoint_file, log_file, read_records, restore,
};
use honeycomb_testing::{SimulatedDisk, log_writer};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Owned {
    Put(u64, Vec<u8>, Vec<u8>),
    Old(u64, Vec<u8>, Vec<u8>),
    Delete(u64, Vec<u8>),
    DeleteRange(u64, Bound<Vec<u8>>, Bound<Vec<u8>>),
    Create(u64, String),
    CreateUnordered(u64, String, [u8; 6]),
    Drop(u64),
    Restart,
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 1..40)
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![Just(Bound::Unbounded), key().prop_map(Bound::Included), key().prop_map(Bound::Excluded)]
}

fn owned() -> impl Strategy<Value = Owned> {
    prop_oneof![
        (any::<u64>(), key(), key()).prop_map(|(tree, key, value)| Owned::Put(tree, key, value)),
        (any::<u64>(), key(), key()).prop_map(|(tree, key, value)| Owned::Old(tree, key, value)),
        (any::<u64>(), key()).prop_map(|(tree, key)| Owned::Delete(tree, key)),
        (any::<u64>(), bound(), bound()).prop_map(|(tree, low, high)| Owned::DeleteRange(tree, low, high)),
        (any::<u64>(), "[a-zü]{1,20}").prop_map(|(tree, name)| Owned::Create(tree, name)),
        (any::<u64>(), "[a-zü]{1,20}", any::<[u8; 6]>())
            .prop_map(|(tree, name, parameters)| Owned::CreateUnordered(tree, name, parameters)),
        any::<u64>().prop_map(Owned::Drop),
        Just(Owned::Restart),
    ]
}

impl Owned {
    fn encode(&self, out: &mut Changes) {
        let slice = |bound: &Bound<Vec<u8>>| bound.clone();
        match self {
            Self::Put(tree, key, value) => out.put(*tree, key, value),
            Self::Old(tree, key, value) => out.old(*tree, key, value),
            Self::Delete(tree, key) => out.delete(*tree, key),
            Self::DeleteRange(tree, low, high) => {
                let (low, high) = (slice(low), slice(high));
                out.delete_range(*tree, low.as_ref().map(|key| &key[..]), high.as_ref().map(|key| &key[..]));
            }
            Self::Create(tree, name) => out.create(*tree, name),
            Self::CreateUnordered(tree, name, parameters) => out.create_unordered(*tree, name, parameters),
            Self::Drop(tree) => out.drop_table(*tree),
            Self::Restart => out.restart(),
        }
    }

    fn equals(&self, change: Change<'_>) -> bool {
        let bytes = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
        match (self, change) {
            (Self::Put(a, b, c), Change::Put { tree, key, value }) => {
                (*a, &b[..], &c[..]) == (tree, key, value)
            }
            (Self::Old(a, b, c), Change::Old { tree, key, value }) => {
                (*a, &b[..], &c[..]) == (tree, key, value)
            }
            (Self::Delete(a, b), Change::Delete { tree, key }) => (*a, &b[..]) == (tree, key),
            (Self::DeleteRange(a, low, high), Change::DeleteRange { tree, lower, upper }) => {
                (*a, low.clone(), high.clone()) == (tree, bytes(lower), bytes(upper))
            }
            (Self::Create(a, b), Change::Create { tree, name }) => (*a, &b[..]) == (tree, name),
            (Self::CreateUnordered(a, b, c), Change::CreateUnordered { tree, name, parameters }) => {
                (*a, &b[..], &c[..]) == (tree, name, parameters)
            }
            (Self::Drop(a), Change::Drop { tree }) => *a == tree,
            (Self::Restart, Change::Restart) => true,
            _ => false,
        }
    }
}

/// The version of the image, and those of the records after it.
const IMAGE: u64 = 2;
const VERSIONS: [u64; 3] = [3, 5, 9];

fn record(version: u64) -> Changes {
    let mut record = Changes::default();
    record.put(1, format!("key {version}").as_bytes(), &[version as u8; 30]);
    record
}

/// Returns a disk with a log of three records, and an image.
fn written() -> (Arc<SimulatedDisk>, Vec<u8>) {
    let disk = Arc::new(SimulatedDisk::default());
    let mut writer = log_writer(&disk, 4 * 4096);
    for version in VERSIONS {
        writer.append(version, record(version).bytes()).expect("room");
    }
    writer.flush(Durability::Now).expect("room");
    let mut image = Vec::new();
    let mut writer = CheckpointWriter::image(&mut image, "image", IMAGE, 0).expect("room");
    writer.table(1, "t").expect("room");
    writer.push(b"key", b"value").expect("room");
    writer.end().expect("room");
    (disk, image)
}

/// Replaces bytes, as far as there are any.
fn damage(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..].iter_mut().zip(bytes).for_each(|(old, new)| *old = *new);
}

/// Replaces bytes of the log file.
fn damage_log(disk: &SimulatedDisk, at: usize, bytes: &[u8]) {
    disk.open(&log_file(1)).and_then(|mut file| file.write_at(at as u64, bytes)).expect("a file");
}

/// An offset in the header of a log file, or among its records.
fn offset() -> impl Strategy<Value = usize> {
    prop_oneof![0..60_usize, 4096..4400_usize]
}

proptest! {
    #[test]
    fn a_reader_of_a_damaged_log_returns_only_what_was_written(
        at in offset(),
        bytes in prop::collection::vec(any::<u8>(), 1..400),
    ) {
        let (disk, _) = written();
        damage_log(&disk, at, &bytes);
        let Ok(Some(mut reader)) = LogReader::open(disk, 1, 0) else { return Ok(()) };
        for version in VERSIONS {
            let found = reader.next(VERSIONS[2], |record| (record.version, record.changes.to_vec()));
            let Ok(Some(found)) = found else { break };
            prop_assert_eq!(found, (version, record(version).bytes().to_vec()));
        }
    }

    #[test]
    fn a_restore_from_damaged_files_fails_or_ends_at_a_record(
        at in offset(),
        bytes in prop::collection::vec(any::<u8>(), 1..400),
        damages_image in any::<bool>(),
    ) {
        let (logs, mut image) = written();
        if damages_image {
            let at = at % image.len();
            damage(&mut image, at, &bytes);
        } else {
            damage_log(&logs, at, &bytes);
        }
        let target = Arc::new(SimulatedDisk::default());
        let (logs, storage): (Arc<dyn Storage>, Arc<dyn Storage>) = (logs, target.clone());
        let opened = CheckpointReader::image(&image[..], "image", image.len() as u64);
        let restored = opened.and_then(|image| restore(image, &[logs], &storage, Until::End));
        let Ok(restored) = restored else {
            prop_assert!(target.open(MANIFEST_FILE).is_err(), "a failed restore leaves no store");
            return Ok(());
        };
        let mut replayed = Vec::new();
        let directory = Directory::open(storage).expect("a store");
        let outcome = directory.replay(|_, record| {
            replayed.push((record.version, record.changes.to_vec()));
            Ok::<(), LogError>(())
        });
        prop_assert!(outcome.is_ok());
        let expected = VERSIONS.into_iter().filter(|version| *version <= restored.version);
        let expected: Vec<_> = expected.map(|version| (version, record(version).bytes().to_vec())).collect();
        prop_assert_eq!(replayed, expected);
    }

    #[test]
    fn changes_are_decoded_as_they_were_encoded(all in prop::collection::vec(owned(), 0..20)) {
        let mut encoded = Changes::default();
        all.iter().for_each(|one| one.encode(&mut encoded));
        let decoded: Vec<_> = changes(encoded.bytes()).collect::<Result<_, _>>().expect("valid");
        prop_assert_eq!(decoded.len(), all.len());
        for (one, change) in all.iter().zip(decoded) {
            prop_assert!(one.equals(change), "{:?} {:?}", one, change);
        }
    }

    /// Short ones, so that a soak has enough of them in little time.
    #[test]
    fn a_manifest_of_arbitrary_bytes_is_rejected(
        bytes in prop::collection::vec(any::<u8>(), 0..100),
        exact in prop::collection::vec(any::<u8>(), honeycomb_layout::wal_manifest::SIZE),
    ) {
        prop_assert!(Manifest::decode(&bytes).is_err());
        prop_assert!(Manifest::decode(&exact).is_err());
    }

    #[test]
    fn arbitrary_bytes_are_decoded_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let failed = changes(&bytes).filter(Result::is_err).count();
        prop_assert!(failed <= 1);
        let mut file = vec![0; 4096];
        file.extend_from_slice(&bytes);
        let tail = read_records(&file, 1, None, 0, |_| Ok::<(), LogError>(()));
        prop_assert_eq!(tail.expect("torn").end, 4096);
        let truncated = read_records(&file, 1, Some(4104), 0, |_| Ok::<(), LogError>(()));
        prop_assert!(truncated.is_err());
    }

    #[test]
    fn arbitrary_checkpoints_are_rejected(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let disk = Arc::new(SimulatedDisk::default());
        disk.create(&checkpoint_file(1), 0).and_then(|mut file| file.write_at(0, &bytes)).expect("room");
        let opened = CheckpointReader::open(&*disk, 1).map(drop);
        prop_assert!(opened.is_err());
    }

    /// The header is valid; the blocks are not.
    #[test]
    fn arbitrary_blocks_are_rejected(bytes in prop::collection::vec(any::<u8>(), 16..400)) {
        let disk = Arc::new(SimulatedDisk::default());
        let writer = honeycomb_log::CheckpointWriter::create(&*disk, 1, 5, 0).expect("room");
        writer.finish().expect("room");
        disk.open(&checkpoint_file(1)).and_then(|mut file| file.write_at(40, &bytes)).expect("room");
        let mut reader = CheckpointReader::open(&*disk, 1).expect("a valid header");
        prop_assert!(reader.next_block().is_err());
    }
}
