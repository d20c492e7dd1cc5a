//! Functions over ranges of ordered tables, beside loops over scans.

use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use honeycomb_store::unordered::{BuiltIn, Element, Functions};
use honeycomb_store::{Config, Error, Store, Table, ValueColumn, ValueView};
use honeycomb_testing::{Random, seed};

use super::{config, key, pairs};

/// Pairs with values of 0 to 20 bytes, some of which have no field, and long ones.
fn filled(store: &Store, random: &mut Random) -> Table {
    let table = store.table("table").unwrap();
    for number in 0..5000 {
        let length = if random.chance(2) { 3000 } else { random.below(20) };
        table.put(&key(number), &random.bytes(length)).unwrap();
    }
    table
}

fn field(value: &[u8]) -> Option<i16> {
    value.get(3..5).map(|bytes| i16::from_le_bytes(bytes.try_into().unwrap()))
}

#[test]
fn functions_over_ranges_agree_with_loops() {
    let mut random = Random::new(seed());
    for mvcc in [true, false] {
        let store = Store::open(Config { mvcc, ..config() }).unwrap();
        let table = filled(&store, &mut random);
        let all = pairs(&table);
        let number = |function: BuiltIn| function.number(Element::I16);
        for _ in 0..30 {
            let (low, high) = (random.below(5200), random.below(5200));
            let (low, high) = (key(low.min(high) as u64), key(low.max(high) as u64));
            let bound = random.next() as i16;
            let passing: Vec<_> = all
                .iter()
                .filter(|(key, _)| low[..] <= key[..] && key[..] < high[..])
                .filter(|(_, value)| field(value).is_some_and(|it| it > bound))
                .cloned()
                .collect();
            let range = table.push_down(&low[..]..&high[..]);
            let some = range.only(3, number(BuiltIn::Greater), &bound.to_le_bytes());
            assert_eq!(some.count().unwrap(), passing.len() as u64);
            assert_eq!(some.pairs(usize::MAX).unwrap(), passing);
            assert_eq!(some.pairs(7).unwrap(), passing[..passing.len().min(7)]);
            let fields = || passing.iter().filter_map(|(_, value)| field(value));
            let sum = fields().fold(5_i16, i16::wrapping_add);
            assert_eq!(some.reduce(3, number(BuiltIn::Add), &[5, 0]).unwrap(), sum.to_le_bytes());
            let least = fields().min().unwrap_or(i16::MAX);
            let initial = i16::MAX.to_le_bytes();
            assert_eq!(some.reduce(3, number(BuiltIn::Minimum), &initial).unwrap(), least.to_le_bytes());
            let mut sorted = passing.clone();
            sorted.sort_by_key(|(_, value)| std::cmp::Reverse(field(value)));
            for count in [0, 1, 10, 100_000] {
                let top = some.top(count, 3, Element::I16).unwrap();
                assert_eq!(top, sorted[..sorted.len().min(count)]);
            }
            for bytes in [0, 1, 40, 1000] {
                let some = some.clone().bytes_max(bytes);
                assert_eq!(some.pairs(50).unwrap(), first(&passing, 50, bytes));
                assert_eq!(some.top(50, 3, Element::I16).unwrap(), first(&sorted, 50, bytes));
            }
        }
        assert_eq!(table.push_down::<[u8]>(..).count().unwrap(), 5000);
        assert_eq!(table.push_down(&key(9)[..]..&key(3)[..]).count().unwrap(), 0);
        assert_eq!(store.statistics().snapshots.count, 0, "its lease has ended");
    }
}

/// Leaves whose pairs have equal lengths, with log entries between runs of sorted pairs, and other leaves
/// beside them.
#[test]
fn reductions_of_equal_pairs_agree_with_loops() {
    let mut random = Random::new(seed());
    for mvcc in [true, false] {
        let store = Store::open(Config { mvcc, ..config() }).unwrap();
        let table = store.table("table").unwrap();
        let long_key = |number: usize| [&mixed(number as u64)[..], &key(number as u64)].concat();
        (0..6000).for_each(|number| table.put(&long_key(number), &random.bytes(13)).unwrap());
        for round in 0..20 {
            for _ in 0..random.below(200) {
                let (key, length) = (long_key(random.below(6000)), random.below(20));
                match random.below(4) {
                    0 => _ = table.delete(&key).unwrap(),
                    1 if round > 10 => table.put(&key, &random.bytes(length)).unwrap(),
                    _ => table.put(&key, &random.bytes(13)).unwrap(),
                }
            }
            let (low, high) = (mixed(random.next()), mixed(random.next()));
            let (low, high) = (low.min(high), low.max(high));
            let range = table.push_down(&low[..]..&high[..]);
            let values: Vec<_> = pairs(&table)
                .into_iter()
                .filter(|(key, _)| low[..] <= key[..] && key[..] < high[..])
                .map(|(_, value)| value)
                .collect();
            assert_eq!(range.count().unwrap(), values.len() as u64);
            let word = |value: &[u8]| value.get(5..9).map(|it| u32::from_le_bytes(it.try_into().unwrap()));
            let sum = |values: &mut dyn Iterator<Item = &[u8]>| {
                values.filter_map(word).fold(7, u32::wrapping_add).to_le_bytes().to_vec()
            };
            let (add, greater) = (BuiltIn::Add.number(Element::U32), BuiltIn::Greater.number(Element::U8));
            let initial = 7_u32.to_le_bytes();
            let mut all = values.iter().map(Vec::as_slice);
            assert_eq!(range.reduce(5, add, &initial).unwrap(), sum(&mut all));
            let some = range.clone().only(0, greater, &[100]);
            let mut passing = values.iter().map(Vec::as_slice).filter(|it| it.first() > Some(&100));
            assert_eq!(some.reduce(5, add, &initial).unwrap(), sum(&mut passing));
            for together in [true, false] {
                let view = Without { bytes: 2, together };
                let seen = range.clone().seeing(view);
                let mut parts = values.iter().filter_map(|value| view.part(value));
                assert_eq!(seen.reduce(5, add, &initial).unwrap(), sum(&mut parts));
                let some = seen.only(0, greater, &[100]);
                let parts = values.iter().filter_map(|value| view.part(value));
                let mut passing = parts.filter(|part| part.first() > Some(&100));
                assert_eq!(some.reduce(5, add, &initial).unwrap(), sum(&mut passing));
            }
        }
    }
}

#[test]
fn a_view_that_panics_ends_its_lease() {
    let store = Store::open(Config { snapshots_max: 1, ..config() }).unwrap();
    let table = store.table("table").unwrap();
    table.put(b"key", b"value").unwrap();
    let greater = BuiltIn::Greater.number(Element::U8);
    let range = table.push_down::<[u8]>(..).seeing(Panicking).only(0, greater, &[0]);
    assert!(catch_unwind(AssertUnwindSafe(|| range.count())).is_err());
    assert_eq!(store.statistics().snapshots.count, 0);
    store.snapshot().unwrap();
    assert_eq!(table.push_down::<[u8]>(..).count().unwrap(), 1);
}

struct Panicking;

impl ValueView for Panicking {
    fn part<'v>(&self, _value: &'v [u8]) -> Option<&'v [u8]> {
        panic!("a view that fails")
    }
}

/// Shows values without their first bytes, those of a column one by one unless `together`.
#[derive(Clone, Copy)]
struct Without {
    bytes: usize,
    together: bool,
}

impl ValueView for Without {
    fn part<'v>(&self, value: &'v [u8]) -> Option<&'v [u8]> {
        value.get(self.bytes..)
    }

    fn parts<'v>(&self, values: ValueColumn<'v>) -> Option<ValueColumn<'v>> {
        if self.together { values.from(self.bytes) } else { None }
    }
}

/// Eight bytes that differ in their beginning for consecutive numbers.
fn mixed(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// The first pairs that fit, at least one.
fn first(pairs: &[(Vec<u8>, Vec<u8>)], count: usize, bytes_max: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut bytes = 0;
    let fitting = pairs.iter().take(count).enumerate().take_while(|(index, (key, value))| {
        bytes += key.len() + value.len();
        *index == 0 || bytes <= bytes_max
    });
    fitting.map(|(_, pair)| pair.clone()).collect()
}

/// The parts of a range, one after the other, are the whole range, also if each has few pages or few bytes.
#[test]
fn parts_of_a_range_are_the_whole() {
    let mut random = Random::new(seed());
    let store = Store::open(config()).unwrap();
    let table = filled(&store, &mut random);
    let greater = BuiltIn::Greater.number(Element::I16);
    let add = BuiltIn::Add.number(Element::I16);
    let whole = table.push_down::<[u8]>(..).only(3, greater, &100_i16.to_le_bytes());
    let (sum, pairs) = (whole.reduce(3, add, &[0; 2]).unwrap(), whole.pairs(usize::MAX).unwrap());
    for (pages, bytes) in [(1, usize::MAX), (2, 500), (10, 5000)] {
        let (mut part_sum, mut last) = (vec![0; 2], None::<Vec<u8>>);
        let rest = |last: &Option<Vec<u8>>| {
            let lower = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let rest = table.push_down::<[u8]>((lower, Bound::Unbounded)).bytes_max(bytes);
            rest.only(3, greater, &100_i16.to_le_bytes())
        };
        loop {
            let part = rest(&last).reduce_part(pages, 3, add, &part_sum).unwrap();
            (part_sum, last) = (part.result, part.last);
            if last.is_none() {
                break;
            }
        }
        let mut part_pairs = Vec::new();
        loop {
            let part = rest(&last).pairs_part(pages).unwrap();
            part_pairs.extend(part.result);
            last = part.last;
            if last.is_none() {
                break;
            }
        }
        assert_eq!(part_sum, sum);
        assert!(part_pairs == pairs, "{pages} pages, {bytes} bytes");
    }
}

/// A writer moves units between pairs by batches. The sum of one version is constant.
#[test]
fn a_reduction_sees_one_version() {
    let store = Store::open(config()).unwrap();
    let table = store.table("table").unwrap();
    for number in 0..4000 {
        table.put(&key(number), &100_u32.to_le_bytes()).unwrap();
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut random = Random::new(seed());
            let value = |key: &[u8]| u32::from_le_bytes(table.get(key).unwrap().unwrap().try_into().unwrap());
            while !is_done.load(Ordering::Relaxed) {
                let (from, to) = (key(random.below(2000) as u64), key(2000 + random.below(2000) as u64));
                let mut batch = honeycomb_store::Batch::default();
                batch.put(&table, &from, &value(&from).wrapping_sub(1).to_le_bytes());
                batch.put(&table, &to, &value(&to).wrapping_add(1).to_le_bytes());
                store.apply(&batch).unwrap();
            }
        });
        let add = BuiltIn::Add.number(Element::U32);
        for _ in 0..200 {
            let sum = table.push_down::<[u8]>(..).reduce(0, add, &[0; 4]).unwrap();
            assert_eq!(sum, 400_000_u32.to_le_bytes());
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

/// A predicate changes a pair of a later page. The function sees the value before, also part by part at a
/// snapshot.
#[test]
fn a_function_does_not_see_later_writes() {
    let (cell, calls) = (Arc::new(OnceLock::<Table>::new()), AtomicUsize::new(0));
    let (mut functions, written) = (Functions::default(), cell.clone());
    let writes = move |_: u64, _: &[u64]| {
        if calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(500) {
            written.get().unwrap().put(&key(3999), &[7]).unwrap();
        }
        true
    };
    let writes = functions.register_predicate(Element::U8, 0, Box::new(writes)).unwrap();
    let store = Store::open(Config { functions: Arc::new(functions), ..config() }).unwrap();
    let table = store.table("table").unwrap();
    (0..4000).for_each(|number| table.put(&key(number), &[1]).unwrap());
    cell.set(table.clone()).unwrap();
    let equal = BuiltIn::Equal.number(Element::U8);
    let ones = table.push_down::<[u8]>(..).only(0, writes, &[]).only(0, equal, &[1]);
    assert_eq!(ones.count().unwrap(), 4000);
    table.put(&key(3999), &[1]).unwrap();
    let (snapshot, mut counted, mut last) = (store.snapshot().unwrap(), 0, None::<Vec<u8>>);
    table.put(&key(0), &[7]).unwrap();
    loop {
        let lower = last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let rest = table.push_down::<[u8]>((lower, Bound::Unbounded)).at(&snapshot);
        let part = rest.only(0, writes, &[]).only(0, equal, &[1]).count_part(1).unwrap();
        (counted, last) = (counted + part.result, part.last);
        if last.is_none() {
            break;
        }
    }
    assert_eq!(counted, 4000);
    let other = Store::open(config()).unwrap();
    let foreign = other.table("table").unwrap();
    let error = foreign.push_down::<[u8]>(..).at(&snapshot).count().unwrap_err();
    assert!(matches!(error, Error::ForeignTable { .. }), "{error}");
}

#[test]
fn registered_functions_and_invalid_ones() {
    let mut functions = Functions::default();
    let odd = functions.register_predicate(Element::U8, 0, Box::new(|it, _| it % 2 == 1)).unwrap();
    let store = Store::open(Config { functions: Arc::new(functions), ..config() }).unwrap();
    let table = store.table("table").unwrap();
    (0..10).for_each(|number| table.put(&key(number), &[number as u8]).unwrap());
    let range = table.push_down::<[u8]>(..);
    assert_eq!(range.clone().only(0, odd, &[]).count().unwrap(), 5);
    let less = BuiltIn::Less.number(Element::U8);
    assert_eq!(range.clone().only(0, odd, &[]).only(0, less, &[4]).count().unwrap(), 2);
    assert_eq!(range.clone().only(1, odd, &[]).count().unwrap(), 0, "the values are too short");
    for (function, operands) in [(9999, &[][..]), (less, &[][..]), (BuiltIn::Add.number(Element::U8), &[1])] {
        assert!(matches!(range.clone().only(0, function, operands).count(), Err(Error::Function(_))));
    }
    let two_operands = BuiltIn::Affine.number(Element::U8);
    for (function, initial) in
        [(less, &[0][..]), (two_operands, &[0]), (BuiltIn::Add.number(Element::U8), &[])]
    {
        assert!(matches!(range.reduce(0, function, initial), Err(Error::Function(_))));
    }
}
