//! Batches of operations on the unordered index as requests to the software accelerator, beside calls of the
//! table. Both times contain the creation of the batch and a look at each outcome.

use std::sync::Arc;
use std::time::{Duration, Instant};

use honeycomb_accelerator::{
    Accelerator, Backend, Completions, Queue, Read, Request as SeamRequest, Requests, Software,
};
use honeycomb_btree::{Config, Forest};
use honeycomb_hashtable::{Answers, BuiltIn, Element, Operation, Outcome, Request};
use honeycomb_memory::MemoryConfig;
use honeycomb_workload::{Distribution, Operation as Drawn, Stream, Workload, mix, seed};

use super::mixes::{Index, index};
use crate::map::Failure;
use crate::summary::median;

/// Operations of a batch.
const BATCH: usize = 256;
const ONE: [u8; 8] = 1_u64.to_le_bytes();

type Key = [u8; 8];

/// A path of a batch to the table: returns the number of values that it has found or changed.
type Path<'p> = &'p mut dyn FnMut(&[Key], Operation<'static>) -> Result<usize, Failure>;

/// Measures both paths. Returns a table.
pub(super) fn measure(pairs: u64, rounds: usize, time: Duration) -> Result<String, Failure> {
    let table = Arc::new(index(pairs, 16)?);
    for number in 0..pairs {
        table.apply(&mix(number).to_le_bytes(), Operation::Put(&[0; 8]), &mut Vec::new())?;
    }
    let accelerator = accelerator(&table)?;
    let mut seam = Seam {
        queue: accelerator.queue(),
        requests: Requests::default(),
        completions: Completions::default(),
    };
    let mut answers = Answers::default();
    let mut direct = |keys: &[Key], operation| execute(&table, keys, operation, &mut answers);
    let mut through = |keys: &[Key], operation| seam.execute(keys, operation);
    let add = Operation::UpdateScalar { function: BuiltIn::Add.number(Element::U64), operands: &ONE };
    let mut text =
        format!("{pairs} pairs of 8 + 8 bytes, one thread, batches of {BATCH}, million a second:\n");
    text += "| | calls | requests | ratio |\n|---|---|---|---|\n";
    for (name, operation) in [("get", Operation::Get), ("increment", add)] {
        for distribution in Distribution::DEFAULT {
            let mut rates = [Vec::new(), Vec::new()];
            for round in 0..rounds as u64 {
                let mut stream = Stream::new(Workload::Get, distribution, pairs, seed(4, [round, 0]));
                let paths: [Path<'_>; 2] = [&mut direct, &mut through];
                for (path, rates) in paths.into_iter().zip(&mut rates) {
                    rates.push(rate(path, operation, &mut stream, time)?);
                }
            }
            let [calls, requests] = rates.map(|rates| median(&rates));
            let (distribution, ratio) = (distribution.name(), requests / calls);
            text += &format!("| {name}, {distribution} | {calls:.2} | {requests:.2} | {ratio:.2} |\n");
        }
    }
    Ok(text)
}

/// An accelerator that has the table as number 0.
fn accelerator(table: &Arc<Index>) -> Result<Box<dyn Accelerator>, Failure> {
    let memory = MemoryConfig { arena_bytes: 64 << 20, ..MemoryConfig::default() };
    let forest = Arc::new(Forest::new(Config { memory, ..Config::default() })?);
    let accelerator = Software::default().attach(&forest, &Arc::default())?;
    accelerator.set_unordered(0, Some(table.clone()));
    Ok(accelerator)
}

/// Million operations a second, without the choice of keys.
fn rate(
    path: Path<'_>,
    operation: Operation<'static>,
    stream: &mut Stream,
    time: Duration,
) -> Result<f64, Failure> {
    let (mut elapsed, mut count) = (Duration::ZERO, 0);
    while elapsed < time {
        let numbers = (0..BATCH).filter_map(|_| match stream.draw() {
            Drawn::Get(number) => Some(number),
            _ => None,
        });
        let keys: Vec<_> = numbers.map(|number| mix(number).to_le_bytes()).collect();
        let start = Instant::now();
        let found = path(&keys, operation)?;
        elapsed += start.elapsed();
        if found != keys.len() {
            return Err("a loaded key is absent".into());
        }
        count += found;
    }
    Ok(count as f64 / elapsed.as_secs_f64() / 1e6)
}

fn execute(
    table: &Index,
    keys: &[Key],
    operation: Operation<'_>,
    answers: &mut Answers,
) -> Result<usize, Failure> {
    let requests: Vec<_> = keys.iter().map(|key| Request { key, operation }).collect();
    table.execute(&requests, answers);
    let outcomes = answers.outcomes().map_err(ToString::to_string)?;
    Ok(outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Found(_) | Outcome::Original(_))).count())
}

/// A queue with reusable buffers.
struct Seam {
    queue: Box<dyn Queue>,
    requests: Requests,
    completions: Completions,
}

impl Seam {
    fn execute(&mut self, keys: &[Key], operation: Operation<'_>) -> Result<usize, Failure> {
        self.requests.clear();
        self.completions.clear();
        for (identifier, key) in (0..).zip(keys) {
            let read = Read::Unordered(Request { key, operation });
            self.requests.push(&SeamRequest { identifier, table: 0, version: None, read })?;
        }
        self.queue.submit(self.requests.bytes());
        self.queue.poll(&mut self.completions);
        Ok(self.completions.iter().filter(|completion| completion.value().is_some()).count())
    }
}
