//! Images: a load restores the saved tables, or it fails and changes nothing.

use std::io::{self, Read, Write};
use std::thread;

use honeycomb_store::{Config, Error, Faults, ImageError, Store};

use super::{MIB, config, fill, key, pairs, store};

/// Three tables: one of short pairs, one of long values, one empty.
fn small() -> Store {
    let store = store();
    let (short, long) = (store.table("short").unwrap(), store.table("long").unwrap());
    fill(&short, 5);
    long.put(&[7; 460], &[8; 600]).unwrap();
    long.put(b"empty", b"").unwrap();
    store.table("none").unwrap();
    store
}

fn image(store: &Store) -> Vec<u8> {
    let mut image = Vec::new();
    store.save(&mut image).unwrap();
    image
}

/// Names, pairs and counts of all tables.
fn contents(store: &Store) -> Vec<(String, Vec<super::Pair>, u64)> {
    let table = |name: String| {
        let table = store.table(&name).unwrap();
        (name, pairs(&table), table.pair_count())
    };
    store.tables().into_iter().map(table).collect()
}

/// A store with a table that failed loads must not change.
struct Target(Store);

impl Target {
    fn new() -> Self {
        let store = Store::open(Config { memory_bytes: MIB, ..Config::default() }).unwrap();
        store.table("mine").unwrap().put(b"k", b"v").unwrap();
        Self(store)
    }

    /// Loads an invalid image.
    fn load_error(&self, image: &[u8]) -> Error {
        let error = self.0.load(image).unwrap_err();
        assert_eq!(contents(&self.0), [("mine".to_owned(), vec![(b"k".to_vec(), b"v".to_vec())], 1)]);
        error
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.0.verify().unwrap();
        }
    }
}

/// The frames of an image in the former format: one table with one pair.
const FORMER: [&[u8]; 3] = [b"\x01t", b"\x02\x01\0\0\0\0\0k", b"\x03\x01\0\0\0\0\0\0\0"];

/// An image in the former format, of frames with valid checksums.
fn forged(format: u32, frames: &[&[u8]]) -> Vec<u8> {
    let mut image = [b"HONEYIMG", &format.to_le_bytes()[..]].concat();
    let mut checksum = crc32c::crc32c(&image);
    image.extend_from_slice(&checksum.to_le_bytes());
    for frame in frames {
        let length = (frame.len() as u32).to_le_bytes();
        checksum = crc32c::crc32c_append(crc32c::crc32c_append(checksum, &length), frame);
        image.extend_from_slice(&[&length[..], &checksum.to_le_bytes(), frame].concat());
    }
    image
}

#[test]
fn a_saved_image_can_be_loaded() {
    let store = small();
    fill(&store.table("many").unwrap(), 50_000);
    let mut saved = Vec::new();
    assert_eq!(store.save(&mut saved).unwrap(), 50_007);
    let mut loaded = super::store();
    // The load must not read the bytes after the image.
    let mut reader = &[&saved[..], b"rest"].concat()[..];
    assert_eq!(loaded.load(&mut reader).unwrap(), 50_007);
    assert_eq!(reader, b"rest");
    assert!(contents(&loaded) == contents(&store));
    assert_eq!(image(&loaded), saved);
    assert_eq!(loaded.verify().unwrap().pairs, 50_007);
    // An image does not depend on the shape of nodes.
    let mut other = Store::open(Config { node_bytes: 16_384, ..config() }).unwrap();
    assert_eq!(other.load(&saved[..]).unwrap(), 50_007);
    assert_eq!(image(&other), saved);
    other.verify().unwrap();
}

#[test]
fn an_empty_store_has_an_image() {
    let saved = image(&store());
    assert_eq!(saved.len(), 40 + 16 + 8);
    let loaded = store();
    assert_eq!(loaded.load(&saved[..]).unwrap(), 0);
    assert!(loaded.tables().is_empty());
}

#[test]
fn images_of_stores_without_versions() {
    let store = Store::open(Config { mvcc: false, ..config() }).unwrap();
    store.load(&image(&small())[..]).unwrap();
    assert_eq!(image(&store), image(&small()));
}

#[test]
fn an_image_is_of_one_version() {
    /// Writes to the store during each write of the image.
    struct ConcurrentWriter<'s>(&'s Store, Vec<u8>);
    impl Write for ConcurrentWriter<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.table("short").unwrap().put(b"more", b"").unwrap();
            self.0.table("long").unwrap().delete(b"empty").unwrap();
            self.0.table("new").unwrap().put(b"k", b"v").unwrap();
            self.1.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let store = small();
    let expected = image(&store);
    let mut writer = ConcurrentWriter(&store, Vec::new());
    store.save(&mut writer).unwrap();
    assert!(writer.1 == expected);
}

#[test]
fn every_truncation_is_rejected() {
    let image = image(&small());
    let target = Target::new();
    for bytes in 0..image.len() {
        let error = target.load_error(&image[..bytes]);
        let is_named = match &error {
            Error::Image(ImageError::NotAnImage) => bytes < 8,
            Error::Image(ImageError::Invalid { offset, .. }) => *offset <= bytes as u64 && bytes >= 8,
            _ => false,
        };
        assert!(is_named, "{bytes}: {error}");
    }
}

#[test]
fn every_truncation_and_change_in_the_former_format_is_rejected() {
    let (image, target) = (forged(1, &FORMER), Target::new());
    for bytes in 8..image.len() {
        let error = target.load_error(&image[..bytes]);
        assert!(
            matches!(error, Error::Image(ImageError::Truncated { offset }) if offset == bytes as u64),
            "{bytes}: {error}"
        );
    }
    for at in 0..image.len() {
        let mut changed = image.clone();
        changed[at] ^= 0x80;
        assert!(matches!(target.load_error(&changed), Error::Image(_)), "{at}");
    }
}

#[test]
fn every_changed_byte_is_rejected() {
    let image = image(&small());
    let target = Target::new();
    for at in 0..image.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = image.clone();
            changed[at] ^= change;
            assert!(matches!(target.load_error(&changed), Error::Image(_)), "{at}");
        }
    }
}

#[test]
fn lost_repeated_and_moved_frames_are_rejected() {
    let [table, pair, _] = FORMER;
    let image = forged(1, &FORMER);
    let loaded = store();
    assert_eq!(loaded.load(&image[..]).unwrap(), 1);
    assert_eq!(loaded.table("t").unwrap().get(b"k").unwrap().as_deref(), Some(&b""[..]));
    let (header, frames) = image.split_at(16);
    let (table, rest) = frames.split_at(8 + table.len());
    let (pair, end) = rest.split_at(8 + pair.len());
    for frames in
        [[table, end, b""], [table, pair, pair], [pair, table, end], [pair, end, b""], [end, b"", b""]]
    {
        let error = Target::new().load_error(&[header, &frames.concat()].concat());
        assert!(matches!(error, Error::Image(ImageError::Checksum { .. })), "{error}");
    }
}

#[test]
fn other_files_and_formats_are_rejected() {
    let target = Target::new();
    let error = target.load_error(b"something else that is long enough");
    assert_eq!(error.to_string(), "image: this is not a Honeycomb image");
    let error = target.load_error(&forged(2, &[]));
    assert_eq!(error.to_string(), "image: format 2 is not supported: this program reads format 1");
}

#[test]
fn malformed_frames_are_rejected() {
    let end = b"\x03\0\0\0\0\0\0\0\0";
    let long_name = [&[1][..], &[b'n'; 256]].concat();
    let cases: [&[&[u8]]; 12] = [
        &[b""],
        &[b"\x00"],
        &[b"\x04more"],
        &[b"\x01"],
        &[&long_name],
        &[b"\x01\xff"],
        &[b"\x01t", b"\x01t", end],
        &[b"\x02\x01\0\0\0\0\0k", end],
        &[b"\x01t", b"\x02\x01\0\0\0\0\0", end],
        &[b"\x01t", b"\x02\x01\0\xff\xff\xff\xffk", end],
        &[b"\x01t", b"\x02\x01\0\0\0\0\0k", end],
        &[b"\x01t", b"\x03\0"],
    ];
    let target = Target::new();
    for frames in cases {
        let error = target.load_error(&forged(1, frames));
        assert!(matches!(error, Error::Image(ImageError::Malformed { .. })), "{frames:?}: {error}");
    }
    let mut too_long = forged(1, &[]);
    too_long.extend_from_slice(&[0xff; 8]);
    assert!(matches!(target.load_error(&too_long), Error::Image(ImageError::Malformed { .. })));
    let twice = b"\x02\x01\0\0\0\0\0k\x01\0\0\0\0\0k";
    let error = target.load_error(&forged(1, &[b"\x01t", twice]));
    assert!(error.to_string().contains("the keys of a table ascend"), "{error}");
    // The store itself rejects this one.
    assert!(matches!(
        target.load_error(&forged(1, &[b"\x01t", b"\x02\0\0\0\0\0\0"])),
        Error::KeyLength { bytes: 0, .. }
    ));
}

#[test]
fn keys_that_are_too_long_for_the_store_are_rejected() {
    let store = Store::open(Config { node_bytes: 1024, ..config() }).unwrap();
    assert!(matches!(store.load(&image(&small())[..]), Err(Error::KeyLength { bytes: 460, .. })));
    assert!(store.tables().is_empty());
}

#[test]
fn existing_tables_are_rejected() {
    let image = image(&small());
    let mut store = store();
    let table = store.table("none").unwrap();
    table.put(b"k", b"v").unwrap();
    let error = store.load(&image[..]).unwrap_err();
    assert!(matches!(&error, Error::TableExists { name } if name == "none"), "{error}");
    assert_eq!(store.tables(), ["none"]);
    assert_eq!(pairs(&table).len(), 1);
    drop(table);
    store.verify().unwrap();
}

#[test]
fn a_table_that_is_created_during_a_load_stays() {
    /// Creates a table after the first bytes.
    struct ConcurrentWriter<'s>(&'s Store, &'s [u8]);
    impl Read for ConcurrentWriter<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            if self.1.len() < 50 {
                self.0.table("long").unwrap().put(b"k", b"v").unwrap();
            }
            self.1.read(bytes)
        }
    }
    let image = image(&small());
    let store = store();
    assert!(matches!(store.load(ConcurrentWriter(&store, &image)), Err(Error::TableExists { .. })));
    assert_eq!(store.tables(), ["long"]);
    assert_eq!(pairs(&store.table("long").unwrap()).len(), 1);
}

#[test]
fn an_image_without_room_is_rejected_and_leaves_no_garbage() {
    let big = Store::open(Config { memory_bytes: 16 * MIB, ..Config::default() }).unwrap();
    let table = big.table("big").unwrap();
    (0..2000).for_each(|number| table.put(&key(number), &vec![1; 3000]).unwrap());
    let image = image(&big);
    let mut store = Store::open(Config { memory_bytes: 2 * MIB, ..Config::default() }).unwrap();
    let mine = store.table("mine").unwrap();
    mine.put(b"k", b"v").unwrap();
    for _ in 0..3 {
        assert!(matches!(store.load(&image[..]), Err(Error::OutOfMemory { .. })));
        assert_eq!(store.tables(), ["mine"]);
        store.load(&super::images::image(&small())[..]).unwrap();
        ["short", "long", "none"].iter().for_each(|name| assert!(store.drop_table(name).unwrap()));
    }
    drop(mine);
    assert_eq!(store.verify().unwrap().pairs, 1);
}

#[test]
fn an_image_is_loaded_completely_or_not_at_all_if_an_allocation_fails() {
    let image = image(&small());
    for failing in 0..20 {
        let faults = Faults::default();
        let mut store = Store::open(Config { faults: faults.clone(), ..config() }).unwrap();
        faults.set(failing);
        let tables = if store.load(&image[..]).is_ok() { 3 } else { 0 };
        faults.clear();
        assert_eq!(store.tables().len(), tables);
        store.verify().unwrap();
    }
}

#[test]
fn errors_of_readers_and_writers_are_returned() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    assert_eq!(store().load(Broken).unwrap_err().to_string(), "image: the disk is gone");
    assert_eq!(store().save(Broken).unwrap_err().to_string(), "image: the disk is full");
}
