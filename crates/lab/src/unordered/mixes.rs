//! The throughput of the unordered index by size of pairs and mix of operations, and of increments by skew:
//! the figures 11 and 15 of KV-Direct, with batches of one thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use honeycomb_hashtable::{
    Answers, BuiltIn, Element, Functions, Operation as TableOperation, Request, Table, TableConfig,
};
use honeycomb_memory::{Memory, MemoryConfig};
use honeycomb_workload::{Distribution, Operation, Stream, Workload, mix, seed};

use crate::map::Failure;
use crate::summary::median;

/// Bytes of key and value together, as in the paper.
const PAIR_BYTES: [usize; 6] = [5, 10, 15, 62, 126, 254];
/// Shares of puts in percent.
const PUTS: [usize; 4] = [0, 5, 50, 100];
/// Numbers of counters.
const COUNTERS: [u64; 8] = [1, 2, 3, 4, 5, 100, 10_000, 1_000_000];
/// Operations of a batch.
const BATCH: usize = 256;
const ONE: [u8; 8] = 1_u64.to_le_bytes();

pub(super) type Index = Table<Arc<Memory>>;

/// Measures gets and puts. Returns a table.
pub(super) fn measure(pairs: u64, rounds: usize, time: Duration) -> Result<String, Failure> {
    let mut text = format!("{pairs} pairs, one thread, batches of {BATCH}, million operations a second:\n");
    text += "| pair bytes | distribution | puts, % | rate |\n|---|---|---|---|\n";
    for pair_bytes in PAIR_BYTES {
        let sized = Sized { index: index(pairs, pair_bytes)?, pair_bytes, pairs };
        sized.load()?;
        for distribution in Distribution::DEFAULT {
            for puts in PUTS {
                let rate = |round| sized.rate(distribution, puts, seed(2, [round, 0]), time);
                let rates = (0..rounds as u64).map(rate).collect::<Result<Vec<_>, _>>()?;
                let (name, median) = (distribution.name(), median(&rates));
                text += &format!("| {pair_bytes} | {name} | {puts} | {median:.2} |\n");
            }
        }
    }
    Ok(text)
}

/// Measures increments of different numbers of counters, in batches and one at a time. Returns a table.
pub(super) fn measure_skew(rounds: usize, time: Duration) -> Result<String, Failure> {
    let mut text = String::from("increments, one thread, million a second:\n");
    text += "| counters | batches | one at a time |\n|---|---|---|\n";
    for counters in COUNTERS {
        let index = index(counters, 16)?;
        for number in 0..counters {
            index.apply(&mix(number).to_le_bytes(), TableOperation::Put(&[0; 8]), &mut Vec::new())?;
        }
        let (mut together, mut alone) = (Vec::new(), Vec::new());
        for round in 0..rounds as u64 {
            together.push(increments(&index, counters, round, time, true)?);
            alone.push(increments(&index, counters, round, time, false)?);
        }
        text += &format!("| {counters} | {:.2} | {:.2} |\n", median(&together), median(&alone));
    }
    Ok(text)
}

/// Creates an empty table with room for pairs of a size.
pub(super) fn index(pairs: u64, pair_bytes: usize) -> Result<Index, Failure> {
    let arena_bytes = (pairs as usize * (100 + 3 * pair_bytes)).max(64 << 20);
    let memory = Arc::new(Memory::new(MemoryConfig { arena_bytes, ..MemoryConfig::default() })?);
    let config = TableConfig { seed: 0x5eed, ..TableConfig::default() };
    Ok(Table::new(memory, config, Functions::default())?)
}

/// A table with pairs of one size.
struct Sized {
    index: Index,
    pair_bytes: usize,
    pairs: u64,
}

impl Sized {
    /// The key of a pair: four bytes of the shortest pairs, eight of the others.
    fn key(&self, number: u64) -> [u8; 8] {
        if self.key_bytes() == 4 { number.to_le_bytes() } else { mix(number).to_le_bytes() }
    }

    fn key_bytes(&self) -> usize {
        if self.pair_bytes < 15 { 4 } else { 8 }
    }

    fn load(&self) -> Result<(), Failure> {
        let (value, mut out) = (vec![7; self.pair_bytes - self.key_bytes()], Vec::new());
        for number in 0..self.pairs {
            let key = self.key(number);
            self.index.apply(&key[..self.key_bytes()], TableOperation::Put(&value), &mut out)?;
        }
        Ok(())
    }

    /// Million operations a second, without the choice of keys.
    fn rate(
        &self,
        distribution: Distribution,
        puts: usize,
        seed: u64,
        time: Duration,
    ) -> Result<f64, Failure> {
        let mut stream = Stream::new(Workload::Get, distribution, self.pairs, seed);
        let (value, mut answers) = (vec![9; self.pair_bytes - self.key_bytes()], Answers::default());
        let (mut elapsed, mut count) = (Duration::ZERO, 0_usize);
        while elapsed < time {
            let numbers = (0..BATCH).filter_map(|_| index_of(stream.draw()));
            let keys: Vec<_> = numbers.map(|number| self.key(number)).collect();
            let requests: Vec<_> = keys
                .iter()
                .zip(count..)
                .map(|(key, at)| {
                    // The shares are multiples of a twentieth, evenly distributed.
                    let is_put = at * 7 % 20 < puts / 5;
                    let operation = if is_put { TableOperation::Put(&value) } else { TableOperation::Get };
                    Request { key: &key[..self.key_bytes()], operation }
                })
                .collect();
            elapsed += execute(&self.index, &requests, &mut answers)?;
            count += requests.len();
        }
        Ok(count as f64 / elapsed.as_secs_f64() / 1e6)
    }
}

fn index_of(operation: Operation) -> Option<u64> {
    if let Operation::Get(index) = operation { Some(index) } else { None }
}

/// Executes a batch. Returns its time.
fn execute(index: &Index, requests: &[Request<'_>], answers: &mut Answers) -> Result<Duration, Failure> {
    let start = Instant::now();
    index.execute(requests, answers);
    let elapsed = start.elapsed();
    answers.outcomes().map_err(ToString::to_string)?;
    Ok(elapsed)
}

/// Million increments a second of random counters.
fn increments(
    index: &Index,
    counters: u64,
    round: u64,
    time: Duration,
    together: bool,
) -> Result<f64, Failure> {
    let operation =
        TableOperation::UpdateScalar { function: BuiltIn::Add.number(Element::U64), operands: &ONE };
    let mut stream = Stream::new(Workload::Get, Distribution::Uniform, counters, seed(3, [round, counters]));
    let (mut answers, mut out, mut elapsed, mut count) = (Answers::default(), Vec::new(), Duration::ZERO, 0);
    while elapsed < time {
        let keys: Vec<_> = (0..BATCH)
            .filter_map(|_| index_of(stream.draw()))
            .map(|number| mix(number).to_le_bytes())
            .collect();
        let requests: Vec<_> = keys.iter().map(|key| Request { key, operation }).collect();
        if together {
            elapsed += execute(index, &requests, &mut answers)?;
        } else {
            let start = Instant::now();
            for request in &requests {
                out.clear();
                index.apply(request.key, request.operation, &mut out)?;
            }
            elapsed += start.elapsed();
        }
        count += keys.len();
    }
    Ok(count as f64 / elapsed.as_secs_f64() / 1e6)
}
