//! Parts of values.

use std::time::{Duration, Instant};

use honeycomb_store::{Error, Store};

use super::{MIB, config, key, store};

#[test]
fn parts_of_values_are_truncated_at_the_end() {
    let store = store();
    let table = store.table("table").unwrap();
    for length in [0, 1, 20, 469, 470, 5000, 3 * MIB] {
        let value: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        table.put(b"k", &value).unwrap();
        let snapshot = store.snapshot().unwrap();
        table.put(b"k", b"later").unwrap();
        for offset in [0, 1, 19, 20, 468, 4999, length, length + 1, usize::MAX] {
            for most in [0, 1, 500, length, usize::MAX] {
                let mut part = b"before".to_vec();
                assert_eq!(snapshot.get_part(&table, b"k", offset, most, &mut part).unwrap(), Some(length));
                let expected: Vec<u8> = value.iter().skip(offset).take(most).copied().collect();
                assert!(part.strip_prefix(b"before") == Some(&expected), "{most} of {length} from {offset}");
            }
        }
        let mut part = Vec::new();
        assert_eq!(table.get_part(b"k", 2, 2, &mut part).unwrap(), Some(5));
        assert_eq!(part, b"te");
    }
}

#[test]
fn absent_and_invalid_keys_have_no_parts() {
    let store = store();
    let table = store.table("table").unwrap();
    let snapshot = store.snapshot().unwrap();
    table.put(b"younger", b"value").unwrap();
    let mut part = Vec::new();
    assert_eq!(snapshot.get_part(&table, b"younger", 0, 9, &mut part).unwrap(), None);
    assert_eq!(table.get_part(b"absent", 0, 9, &mut part).unwrap(), None);
    assert!(matches!(table.get_part(b"", 0, 9, &mut part), Err(Error::KeyLength { bytes: 0, .. })));
    let foreign = super::table();
    assert!(matches!(snapshot.get_part(&foreign, b"k", 0, 9, &mut part), Err(Error::ForeignTable { .. })));
    // A table that is newer than the snapshot.
    let young = store.table("young").unwrap();
    young.put(b"k", b"v").unwrap();
    assert_eq!(snapshot.get_part(&young, b"k", 0, 9, &mut part).unwrap(), None);
    let other = snapshot.clone();
    snapshot.release();
    assert!(matches!(other.get_part(&table, b"younger", 0, 9, &mut part), Err(Error::SnapshotTooOld)));
    assert!(part.is_empty());
}

/// A thousand small parts of a long value take less time than a few copies of the value.
#[test]
fn the_time_of_a_part_depends_on_its_length() {
    let store = Store::open(honeycomb_store::Config { memory_bytes: 64 * MIB, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    table.put(&key(1), &vec![7; 16 * MIB]).unwrap();
    let time = |run: &mut dyn FnMut()| {
        let timed = |_| {
            let start = Instant::now();
            run();
            start.elapsed()
        };
        (0..5).map(timed).min().unwrap_or(Duration::MAX)
    };
    let mut whole = Vec::new();
    let one = time(&mut || assert!(table.get_into(&key(1), &mut whole).unwrap()));
    let mut part = Vec::with_capacity(64);
    let parts = time(&mut || {
        for at in 0..1000 {
            part.clear();
            assert_eq!(table.get_part(&key(1), at * 16_000, 64, &mut part).unwrap(), Some(16 * MIB));
        }
    });
    assert!(parts < 10 * one, "1000 parts took {parts:?}, one value {one:?}");
}
