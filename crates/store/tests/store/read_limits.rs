//! The memory for the results of reads.

use honeycomb_store::{Error, Reads, Scan, Store};

use super::{MIB, config};

/// Uses the longest value that a Redis client can set, and as many requests for it as fit into a few
/// kilobytes.
#[test]
fn many_gets_of_a_long_value_need_memory_for_one() {
    const LONG: usize = 16_777_207;
    let store = Store::open(honeycomb_store::Config { memory_bytes: 64 * MIB, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    table.put(b"long", &vec![7; LONG]).unwrap();
    table.put(b"short", b"value").unwrap();
    for (value_bytes_max, found) in [(usize::MAX, 1), (64 << 10, 0)] {
        let mut reads = Reads::with_limits(MIB, value_bytes_max);
        (0..300).for_each(|_| reads.get(&table, b"long").unwrap());
        reads.get(&table, b"short").unwrap();
        store.read(&mut reads).unwrap();
        let answered = (0..300).filter(|&index| reads.value(index).is_ok()).count();
        assert_eq!(answered, found);
        assert!((found..300).all(|index| matches!(reads.value(index), Err(Error::NoRoom))));
        assert_eq!(reads.value(300).is_ok(), found == 0, "the short value fits only without the long one");
        let most = MIB + found * LONG;
        assert!(reads.memory_bytes() <= most + most / 8, "{} bytes", reads.memory_bytes());
        reads.clear();
        store.read(&mut reads).unwrap();
        assert!(reads.memory_bytes() <= 2 * MIB);
    }
}

#[test]
fn gets_and_scans_of_a_batch_share_the_room() {
    const ROOM: usize = 1000;
    let store = Store::open(config()).unwrap();
    let table = store.table("table").unwrap();
    (0..10).for_each(|key| table.put(&[key], &[key; 100]).unwrap());
    let mut reads = Reads::with_limits(ROOM, ROOM);
    reads.scan(&table, &Scan::all().limit(5)).unwrap();
    (0..10).for_each(|key| reads.get(&table, &[key]).unwrap());
    store.read(&mut reads).unwrap();
    assert_eq!(reads.pairs(0).unwrap().count(), 5);
    assert_eq!(reads.pair_count(0).unwrap(), 5);
    let found = (1..=10).filter(|&index| reads.value(index).is_ok()).count();
    assert!((1..5).contains(&found), "{found} values have room");
    assert!(reads.found_bytes() <= ROOM, "{} bytes", reads.found_bytes());
    assert!((1..=10).all(|index| matches!(reads.value(index), Ok(Some(_)) | Err(Error::NoRoom))));
}
