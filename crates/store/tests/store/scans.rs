//! Scans: ranges, directions, limits, floor start.

use std::collections::BTreeMap;
use std::ops::Bound;

use honeycomb_store::{Config, Pairs, Scan, Store, Table};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{config, fill, key, table};

fn letters() -> Table {
    let table = table();
    for letter in ["b", "d", "dd", "f", "h"] {
        table.put(letter.as_bytes(), letter.to_uppercase().as_bytes()).unwrap();
    }
    table
}

/// The concatenated keys that a scan finds.
fn found(table: &Table, scan: &Scan<'_>) -> String {
    let pairs = table.scan(scan).unwrap();
    let keys: Vec<_> = pairs.iter().map(|(key, _)| str::from_utf8(key).unwrap()).collect();
    keys.join(" ")
}

#[test]
fn ranges_have_bounds_of_every_kind() {
    let table = letters();
    assert_eq!(found(&table, &Scan::all()), "b d dd f h");
    assert_eq!(found(&table, &Scan::range("d".."f")), "d dd");
    assert_eq!(found(&table, &Scan::range("d"..="f")), "d dd f");
    assert_eq!(found(&table, &Scan::range("c"..)), "d dd f h");
    assert_eq!(found(&table, &Scan::range(.."d")), "b");
    assert_eq!(found(&table, &Scan::range(..="d")), "b d");
    assert_eq!(found(&table, &Scan::range((Bound::Excluded("d"), Bound::Unbounded))), "dd f h");
    assert_eq!(found(&table, &Scan::range::<str>(..)), "b d dd f h");
    assert_eq!(found(&table, &Scan::from("dd")), "dd f h");
    assert_eq!(found(&table, &Scan::from(b"dd")), "dd f h");
}

#[test]
fn ranges_without_keys_find_nothing() {
    let table = letters();
    assert_eq!(found(&table, &Scan::range("d".."d")), "");
    assert_eq!(found(&table, &Scan::range("f".."b")), "");
    assert_eq!(found(&table, &Scan::range("f".."b").backward()), "");
    assert_eq!(found(&table, &Scan::range("".."")), "");
    assert_eq!(found(&table, &Scan::from("i")), "");
    assert_eq!(found(&table, &Scan::range(.."b")), "");
    assert_eq!(found(&super::table(), &Scan::all()), "");
    assert_eq!(found(&super::table(), &Scan::all().backward().floor_start()), "");
}

#[test]
fn bounds_may_have_any_length() {
    let table = letters();
    let long = "d".repeat(1000);
    assert_eq!(found(&table, &Scan::from("")), "b d dd f h");
    assert_eq!(found(&table, &Scan::from(&long)), "f h");
    assert_eq!(found(&table, &Scan::range(..&*long)), "b d dd");
    assert_eq!(found(&table, &Scan::from(&long).floor_start()), "dd f h");
    assert_eq!(found(&table, &Scan::prefix(&long)), "");
    assert_eq!(table.delete_range(&long..).unwrap(), 2);
}

#[test]
fn prefixes() {
    let table = letters();
    table.put(b"\xff\xff", b"").unwrap();
    table.put(b"\xff", b"").unwrap();
    assert_eq!(found(&table, &Scan::prefix("d")), "d dd");
    assert_eq!(found(&table, &Scan::prefix("d").backward()), "dd d");
    assert_eq!(found(&table, &Scan::prefix("c")), "");
    assert_eq!(table.scan(&Scan::prefix("")).unwrap().len(), 7);
    assert_eq!(table.scan(&Scan::prefix(b"\xff")).unwrap().len(), 2);
    assert_eq!(table.scan(&Scan::prefix(b"\xff\xff")).unwrap().len(), 1);
}

#[test]
fn floor_start_begins_at_the_largest_key_not_above() {
    let table = letters();
    assert_eq!(found(&table, &Scan::from("e").floor_start()), "dd f h");
    assert_eq!(found(&table, &Scan::from("f").floor_start()), "f h");
    assert_eq!(found(&table, &Scan::from("a").floor_start()), "b d dd f h");
    assert_eq!(found(&table, &Scan::range("e".."f").floor_start()), "dd");
    assert_eq!(found(&table, &Scan::range((Bound::Excluded("f"), Bound::Unbounded)).floor_start()), "f h");
    assert_eq!(found(&table, &Scan::all().floor_start()), "b d dd f h");
    // The upper bound applies to the floor too.
    assert_eq!(found(&table, &Scan::range("e".."d").floor_start()), "");
    assert_eq!(found(&table, &Scan::range("e"..="dd").floor_start()), "dd");
    assert_eq!(found(&table, &Scan::range("c".."d").floor_start().backward()), "");
}

#[test]
fn limits_and_more() {
    let table = letters();
    for (limit, keys, more) in
        [(0, "", true), (1, "b", true), (4, "b d dd f", true), (5, "b d dd f h", false)]
    {
        let scan = Scan::all().limit(limit);
        assert_eq!(found(&table, &scan), keys);
        assert_eq!(table.scan(&scan).unwrap().more(), more);
    }
    assert_eq!(found(&table, &Scan::all().backward().limit(2)), "h f");
    assert!(!table.scan(&Scan::range("b".."d").limit(1)).unwrap().more());
    assert!(!table.scan(&Scan::from("x").limit(0)).unwrap().more());
}

#[test]
fn the_store_limits_the_pairs_of_a_scan() {
    let store = Store::open(Config { scan_pairs_max: 100, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    fill(&table, 100);
    let pairs = table.scan(&Scan::all()).unwrap();
    assert_eq!((pairs.len(), pairs.more()), (100, false));
    fill(&table, 101);
    let pairs = table.scan(&Scan::all().limit(1000)).unwrap();
    assert_eq!((pairs.len(), pairs.more()), (100, true));
}

#[test]
fn keys_only_leaves_out_values() {
    let pairs = letters().scan(&Scan::all().keys_only()).unwrap();
    assert_eq!(pairs.len(), 5);
    assert!(pairs.iter().all(|(key, value)| !key.is_empty() && value.is_empty()));
}

#[test]
fn pairs_can_be_read_from_both_ends_and_by_index() {
    let table = letters();
    let pairs = table.scan(&Scan::all()).unwrap();
    assert_eq!(pairs.first(), Some((&b"b"[..], &b"B"[..])));
    assert_eq!(pairs.last(), Some((&b"h"[..], &b"H"[..])));
    assert_eq!(pairs.get(2), Some((&b"dd"[..], &b"DD"[..])));
    assert_eq!(pairs.get(5), None);
    assert_eq!(pairs.iter().rev().map(|(key, _)| key[0]).collect::<Vec<_>>(), b"hfddb");
    assert_eq!((&pairs).into_iter().len(), 5);
    let none = Pairs::default();
    assert_eq!((none.first(), none.last(), none.is_empty()), (None, None, true));
}

#[test]
fn a_warm_scan_allocates_nothing() {
    let table = table();
    fill(&table, 1000);
    let mut pairs = Pairs::default();
    table.scan_into(&Scan::all(), &mut pairs).unwrap();
    let buffer = pairs.first().unwrap().0.as_ptr();
    for start in [900, 0, 500] {
        table.scan_into(&Scan::from(&key(start)), &mut pairs).unwrap();
        assert_eq!(pairs.len() as u64, 1000 - start);
        assert_eq!(pairs.first().unwrap().0.as_ptr(), buffer, "the same buffer");
    }
    pairs.clear();
    assert!(pairs.is_empty() && !pairs.more());
}

#[test]
fn random_scans_match_a_map() {
    let table = table();
    let mut model = BTreeMap::new();
    let mut random = StdRng::seed_from_u64(7);
    for _ in 0..5000 {
        let key = random_key(&mut random);
        table.put(&key, &key[..1]).unwrap();
        model.insert(key.clone(), key[..1].to_vec());
    }
    for _ in 0..2000 {
        let (low, high) = (random_bound(&mut random), random_bound(&mut random));
        let range = (low.as_ref().map(Vec::as_slice), high.as_ref().map(Vec::as_slice));
        let (limit, backward) = (*[1, 10, usize::MAX].choose(&mut random).unwrap(), random.random());
        let scan = Scan::range(range).limit(limit);
        let pairs = table.scan(&if backward { scan.backward() } else { scan }).unwrap();
        let mut expected: Vec<_> = model.iter().filter(|(key, _)| is_inside(key, range)).collect();
        if backward {
            expected.reverse();
        }
        assert_eq!(pairs.more(), expected.len() > limit);
        expected.truncate(limit);
        assert!(
            pairs.iter().eq(expected.into_iter().map(|(key, value)| (&key[..], &value[..]))),
            "{range:?}"
        );
    }
}

fn random_key(random: &mut StdRng) -> Vec<u8> {
    let bytes =
        if random.random_ratio(1, 10) { random.random_range(1..=460) } else { random.random_range(1..6) };
    (0..bytes).map(|_| *b"ab\xff\0".choose(random).unwrap()).collect()
}

fn random_bound(random: &mut StdRng) -> Bound<Vec<u8>> {
    match random.random_range(0..5) {
        0 => Bound::Unbounded,
        1 | 2 => Bound::Included(random_key(random)),
        _ => Bound::Excluded(random_key(random)),
    }
}

fn is_inside(key: &[u8], (low, high): (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    let above = match low {
        Bound::Included(low) => key >= low,
        Bound::Excluded(low) => key > low,
        Bound::Unbounded => true,
    };
    let below = match high {
        Bound::Included(high) => key <= high,
        Bound::Excluded(high) => key < high,
        Bound::Unbounded => true,
    };
    above && below
}
