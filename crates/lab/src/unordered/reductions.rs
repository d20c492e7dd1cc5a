//! Reductions: of a long vector beside sequential reads, and of a range of an ordered table, pushed down,
//! beside a scan with a loop in the client.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use honeycomb_hashtable::{BuiltIn, Element, Functions, Operation, Table as HashTable, TableConfig};
use honeycomb_memory::{Memory, MemoryConfig};
use honeycomb_store::{Config, Store, Table};

use crate::map::Failure;
use crate::summary::median;

/// Vectors, one after the other: together they are larger than the caches.
const VECTORS: u64 = 128;
const VECTOR_BYTES: usize = 1 << 20;
/// Pairs of the ordered table, with values of two numbers of eight bytes.
const PAIRS: u64 = 1_000_000;

/// A measurement: returns the units that it has processed.
type Measurement<'m> = Box<dyn Fn() -> Result<usize, Failure> + 'm>;

/// Measures both kinds of reductions. Returns tables.
pub(super) fn measure(rounds: usize, time: Duration) -> Result<String, Failure> {
    Ok(of_vectors(rounds, time)? + &of_ranges(rounds, time)?)
}

fn of_vectors(rounds: usize, time: Duration) -> Result<String, Failure> {
    let arena_bytes = (2 * VECTORS as usize + 8) * VECTOR_BYTES;
    let memory = Arc::new(Memory::new(MemoryConfig { arena_bytes, ..MemoryConfig::default() })?);
    let table = HashTable::new(memory, TableConfig::default(), Functions::default())?;
    let vector = vec![1; VECTOR_BYTES];
    for key in 0..VECTORS {
        table.apply(&key.to_le_bytes(), Operation::Put(&vector), &mut Vec::new())?;
    }
    let words = vec![1_u64; VECTORS as usize * VECTOR_BYTES / 8];
    let mut measurements: Vec<(String, Measurement<'_>)> = vec![(
        "sequential reads".into(),
        Box::new(|| {
            black_box(words.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word)));
            Ok(words.len() * 8)
        }),
    )];
    let (elements, functions) =
        ([Element::U8, Element::U64, Element::F32, Element::F64], [BuiltIn::Add, BuiltIn::Maximum]);
    for (function, element) in functions.iter().flat_map(|it| elements.map(|element| (*it, element))) {
        let table = &table;
        let reduce = move || {
            let (function, initial) = (function.number(element), vec![0; element.bytes()]);
            let mut out = Vec::new();
            for key in 0..VECTORS {
                let operation = Operation::Reduce { function, initial: &initial };
                table.apply(&key.to_le_bytes(), operation, &mut out)?;
            }
            black_box(out);
            Ok(VECTORS as usize * VECTOR_BYTES)
        };
        measurements.push((format!("{function:?} of {element:?}"), Box::new(reduce)));
    }
    let mut text = String::from("reductions of vectors of 1 MiB, GiB a second, medians:\n");
    text += &rates(&measurements, rounds, time, (1 << 30) as f64)?;
    Ok(text)
}

fn of_ranges(rounds: usize, time: Duration) -> Result<String, Failure> {
    let store = Store::open(Config { memory_bytes: 1 << 30, ..Config::default() })?;
    let table = store.table("numbers")?;
    for number in 0..PAIRS {
        table.put(&number.to_be_bytes(), &[number.to_le_bytes(), (number % 10).to_le_bytes()].concat())?;
    }
    let (add, greater) = (BuiltIn::Add.number(Element::U64), BuiltIn::Greater.number(Element::U64));
    let limit = 8_u64.to_le_bytes();
    let count = PAIRS as usize;
    let measurements: Vec<(String, Measurement<'_>)> = vec![
        ("sum by a scan and a loop".into(), Box::new(|| Ok(scan(&table, 0)?.min(count)))),
        (
            "sum, pushed down".into(),
            Box::new(|| {
                black_box(table.push_down::<[u8]>(..).reduce(0, add, &[0; 8])?);
                Ok(count)
            }),
        ),
        ("sum with a condition by a scan and a loop".into(), Box::new(|| Ok(scan(&table, 8)?.min(count)))),
        (
            "sum with a condition, pushed down".into(),
            Box::new(|| {
                black_box(table.push_down::<[u8]>(..).only(8, greater, &limit).reduce(0, add, &[0; 8])?);
                Ok(count)
            }),
        ),
    ];
    let mut text = String::from("\nsums over an ordered table, million pairs a second, medians:\n");
    text += &rates(&measurements, rounds, time, 1e6)?;
    Ok(text)
}

/// Sums the first numbers of all values whose second number is greater than a limit.
fn scan(table: &Table, limit: u64) -> Result<usize, Failure> {
    let number = |value: &[u8], at: usize| -> u64 {
        value.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
    };
    let (mut sum, mut count) = (0_u64, 0);
    for pair in table.iter()? {
        let (_, value) = pair?;
        if limit == 0 || number(&value, 8) > limit {
            sum = sum.wrapping_add(number(&value, 0));
        }
        count += 1;
    }
    black_box(sum);
    Ok(count)
}

/// The median rates of measurements, which alternate, and their ratios to the first one.
fn rates(
    measurements: &[(String, Measurement<'_>)],
    rounds: usize,
    time: Duration,
    unit: f64,
) -> Result<String, Failure> {
    let mut rates = vec![Vec::new(); measurements.len()];
    for _ in 0..rounds {
        for ((_, run), rates) in measurements.iter().zip(&mut rates) {
            let (start, mut done) = (Instant::now(), 0);
            while start.elapsed() < time {
                done += run()?;
            }
            rates.push(done as f64 / start.elapsed().as_secs_f64() / unit);
        }
    }
    let medians: Vec<f64> = rates.iter().map(|rates| median(rates)).collect();
    let first = medians.first().copied().unwrap_or(1.0);
    let rows = measurements.iter().zip(&medians);
    let rows = rows.map(|((name, _), rate)| format!("| {name} | {rate:.2} | {:.2} |\n", rate / first));
    Ok("| | rate | ratio to the first |\n|---|---|---|\n".to_string() + &rows.collect::<String>())
}
