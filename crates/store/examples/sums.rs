//! Times sums over all pairs of an ordered table: by a scan with a loop, and pushed down.
//!
//! ```text
//! cargo run --release -p honeycomb-store --example sums -- 1000000 50
//! ```
//! Arguments: number of pairs, number of sums of each kind. `valgrind --tool=callgrind
//! --toggle-collect="*pushed_down*"` counts instructions.

use std::hint::black_box;
use std::time::Instant;

use honeycomb_store::unordered::{BuiltIn, Element};
use honeycomb_store::{Config, Error, PushDown, Store, Table, ValueColumn, ValueView};

/// Sums all numbers.
type Sum<'s> = dyn Fn() -> Result<u64, Error> + 's;

/// Shows values without a header of one byte, which is zero.
struct WithoutHeader;

impl ValueView for WithoutHeader {
    fn part<'v>(&self, value: &'v [u8]) -> Option<&'v [u8]> {
        value.split_first().filter(|(kind, _)| **kind == 0).map(|(_, rest)| rest)
    }

    fn parts<'v>(&self, values: ValueColumn<'v>) -> Option<ValueColumn<'v>> {
        if values.all_begin(|[kind]| *kind == 0) { values.from(1) } else { None }
    }
}

/// Sums the numbers after the header of each value.
fn by_scan(table: &Table) -> Result<u64, Error> {
    let mut sum = 0_u64;
    for pair in table.iter()? {
        let (_, value) = pair?;
        sum = sum.wrapping_add(value.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)));
    }
    Ok(sum)
}

#[inline(never)]
fn pushed_down(range: &PushDown<'_>, offset: usize) -> Result<u64, Error> {
    let sum = range.reduce(offset, BuiltIn::Add.number(Element::U64), &[0; 8])?;
    Ok(sum.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().unwrap_or(1));
    let (pairs, rounds) = (arguments.next().unwrap_or(1_000_000), arguments.next().unwrap_or(20));
    let store = Store::open(Config { memory_bytes: 1 << 30, ..Config::default() })?;
    let table = store.table("numbers")?;
    for number in 0..pairs {
        let key = [&b"key:0000"[..], &number.to_be_bytes()].concat();
        table.put(&key, &[&[0][..], &number.to_le_bytes()].concat())?;
    }
    let all = || table.push_down::<[u8]>(..);
    let condition = || all().only(1, BuiltIn::Greater.number(Element::U64), &[0; 8]);
    let (plain, headers, some) = (all(), all().seeing(WithoutHeader), condition());
    let kinds: [(&str, &Sum<'_>); 4] = [
        ("scan with a loop", &|| by_scan(&table)),
        ("pushed down", &|| pushed_down(&plain, 1)),
        ("pushed down, headers", &|| pushed_down(&headers, 0)),
        ("pushed down, a condition", &|| pushed_down(&some, 1)),
    ];
    for (name, sum) in kinds {
        let start = Instant::now();
        for _ in 0..rounds {
            assert_eq!(black_box(sum()?), pairs * pairs.saturating_sub(1) / 2);
        }
        let rate = (pairs * rounds) as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("{name}: {rate:.1} million pairs a second");
    }
    Ok(())
}
