//! Compares the unordered index with other concurrent hash maps: all in one process, in alternating slices.

mod atomics;
mod maps;
mod mixes;
mod reductions;
mod seam;
mod wire;

use std::fmt::Write;
use std::hint::black_box;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use honeycomb_workload::{Distribution, Operation, Stream, Workload, mix, seed};

use self::maps::{Bytes, Dash, Honeycomb, Papaya, Scc, UnorderedMap};
use crate::map::Failure;
use crate::memory::resident_bytes;
use crate::summary::median;

/// Operations between two looks at the clock: their keys are generated before.
const BATCH: usize = 256;
/// Lines of the measurement of random reads: a gibibyte.
const LINES: usize = 1 << 24;

/// The size of a measurement.
#[derive(Debug, Clone, Args)]
pub struct UnorderedArguments {
    /// Pairs to load
    #[arg(long, default_value_t = 20_000_000)]
    pairs: u64,
    /// Bytes of keys and of values, 8 or 16
    #[arg(long, value_delimiter = ',', default_values_t = [8, 16])]
    bytes: Vec<usize>,
    /// Numbers of threads
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<usize>,
    /// Number of measurements of each combination
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of a measurement
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// The measurements to run
    #[arg(long, value_enum, value_delimiter = ',')]
    #[arg(default_values_t = [Part::Maps, Part::Atomics, Part::Reductions])]
    parts: Vec<Part>,
    /// Only load the map of this index, and print its bytes a pair
    #[arg(long, hide = true)]
    size_of: Option<usize>,
}

/// A measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Gets and puts beside other maps
    Maps,
    /// Increments of few counters beside other maps
    Atomics,
    /// Reductions of vectors and of ranges
    Reductions,
    /// Gets and puts by size of pairs and mix, without other maps
    Mixes,
    /// Increments by number of counters, without other maps
    Skew,
    /// Reductions of ranges over the wire
    Wire,
    /// Gets and updates as requests to an accelerator, beside calls of the table
    Seam,
}

/// A name and a map.
type Named<'m, const N: usize> = (&'static str, &'m dyn UnorderedMap<N>);

/// Measures everything. Returns the tables.
pub fn run(arguments: &UnorderedArguments) -> Result<String, Failure> {
    let time = Duration::try_from_secs_f64(arguments.seconds)?;
    let mut text = String::new();
    let has = |part: Part| arguments.parts.contains(&part);
    for bytes in arguments.bytes.iter().filter(|_| has(Part::Maps)) {
        text += &match bytes {
            8 => compare::<8>(arguments, time)?,
            16 => compare::<16>(arguments, time)?,
            other => return Err(format!("--bytes {other}: 8 or 16").into()),
        };
    }
    if arguments.size_of.is_some() {
        return Ok(text);
    }
    if has(Part::Atomics) {
        text += &atomics::measure(arguments.rounds, time)?;
        text += "\n";
    }
    if has(Part::Reductions) {
        text += &reductions::measure(arguments.rounds, time)?;
    }
    if has(Part::Mixes) {
        text += &mixes::measure(arguments.pairs, arguments.rounds, time)?;
    }
    if has(Part::Skew) {
        text += &mixes::measure_skew(arguments.rounds, time)?;
    }
    if has(Part::Wire) {
        text += &wire::measure(arguments.rounds, time)?;
    }
    if has(Part::Seam) {
        text += &seam::measure(arguments.pairs, arguments.rounds, time)?;
    }
    Ok(text)
}

fn compare<const N: usize>(arguments: &UnorderedArguments, time: Duration) -> Result<String, Failure> {
    let pairs = arguments.pairs;
    let mut sizes = Vec::new();
    let together = Honeycomb::new(pairs, N, true)?;
    let one = Honeycomb::new(pairs, N, false)?;
    let (papaya, scc, dash) = (Papaya::<N>::default(), Scc::<N>::default(), Dash::<N>::default());
    let maps: [Named<'_, N>; 5] = [
        ("honeycomb, batches", &together),
        ("honeycomb, one at a time", &one),
        ("papaya", &papaya),
        ("scc", &scc),
        ("dashmap", &dash),
    ];
    if let Some(index) = arguments.size_of {
        let (_, map) = maps.get(index).ok_or("no map has this index")?;
        let before = resident_bytes()?;
        load(*map, pairs)?;
        return Ok(format!("{:.1}", resident_bytes()?.saturating_sub(before) as f64 / pairs as f64));
    }
    for (index, (_, map)) in maps.iter().enumerate() {
        sizes.push(size_in_process::<N>(pairs, index)?);
        load(*map, pairs)?;
    }
    let mut text = format!("{pairs} pairs of {N} + {N} bytes, million operations a second, medians:\n");
    let names: Vec<_> = maps.iter().map(|(name, _)| *name).collect();
    writeln!(text, "| | {} | random lines |\n|---|{}", names.join(" | "), "---|".repeat(maps.len() + 1))?;
    writeln!(text, "| bytes a pair | {} | |", sizes.join(" | "))?;
    for threads in &arguments.threads {
        for distribution in Distribution::DEFAULT {
            for put in [false, true] {
                let row = Row { threads: *threads, distribution, put, pairs, time };
                text += &row.measure(&maps, arguments.rounds)?;
            }
        }
    }
    Ok(text + "\n")
}

/// Loads a map in a process of its own, because maps in one process reuse the memory of each other. Returns
/// the bytes a pair.
fn size_in_process<const N: usize>(pairs: u64, index: usize) -> Result<String, Failure> {
    let arguments =
        [("--pairs", pairs.to_string()), ("--bytes", N.to_string()), ("--size-of", index.to_string())];
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("unordered");
    arguments.iter().for_each(|(name, value)| _ = command.args([*name, value]));
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn load<const N: usize>(map: &dyn UnorderedMap<N>, pairs: u64) -> Result<(), Failure> {
    let mut keys = Vec::with_capacity(BATCH);
    for first in (0..pairs).step_by(BATCH) {
        keys.clear();
        keys.extend((first..pairs.min(first + BATCH as u64)).map(key::<N>));
        map.put(&keys)?;
    }
    Ok(())
}

fn key<const N: usize>(index: u64) -> Bytes<N> {
    let first = mix(index);
    std::array::from_fn(|at| if at < 8 { first.to_le_bytes()[at] } else { (first >> at) as u8 })
}

/// A row of the table.
struct Row {
    threads: usize,
    distribution: Distribution,
    put: bool,
    pairs: u64,
    time: Duration,
}

impl Row {
    fn measure<const N: usize>(&self, maps: &[Named<'_, N>], rounds: usize) -> Result<String, Failure> {
        let mut rates = vec![Vec::new(); maps.len() + 1];
        for round in 0..rounds as u64 {
            for ((_, map), rates) in maps.iter().zip(&mut rates) {
                rates.push(self.in_threads(round, |seed| self.map_rate(*map, seed))?);
            }
            rates[maps.len()].push(self.in_threads(round, |seed| Ok(self.line_rate(seed)))?);
        }
        let operation = if self.put { "put" } else { "get" };
        let medians: Vec<_> = rates.iter().map(|rates| format!("{:.2}", median(rates))).collect();
        let (distribution, threads) = (self.distribution.name(), self.threads);
        Ok(format!("| {operation}, {distribution}, {threads} thread(s) | {} |\n", medians.join(" | ")))
    }

    /// The sum of the rates of all threads.
    fn in_threads(
        &self,
        round: u64,
        rate: impl Fn(u64) -> Result<f64, Failure> + Sync,
    ) -> Result<f64, Failure> {
        let seeds = (0..self.threads as u64).map(|thread| seed(1, [round, thread]));
        std::thread::scope(|scope| {
            let threads: Vec<_> = seeds
                .map(|seed| {
                    scope.spawn({
                        let rate = &rate;
                        move || rate(seed)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked")?).sum()
        })
    }

    /// Million operations a second of a thread, without the generation of keys.
    fn map_rate<const N: usize>(&self, map: &dyn UnorderedMap<N>, seed: u64) -> Result<f64, Failure> {
        let mut stream = Stream::new(Workload::Get, self.distribution, self.pairs, seed);
        let (mut keys, mut elapsed, mut count) = (Vec::with_capacity(BATCH), Duration::ZERO, 0);
        while elapsed < self.time {
            keys.clear();
            keys.extend((0..BATCH).filter_map(|_| match stream.draw() {
                Operation::Get(index) => Some(key::<N>(index)),
                _ => None,
            }));
            let start = Instant::now();
            if self.put {
                map.put(&keys)?;
            } else if map.get(&keys) != keys.len() {
                return Err("a loaded key is absent".into());
            }
            elapsed += start.elapsed();
            count += keys.len();
        }
        Ok(count as f64 / elapsed.as_secs_f64() / 1e6)
    }

    /// Million random reads of lines a second of a thread: the limit of the machine.
    fn line_rate(&self, seed: u64) -> f64 {
        static MEMORY: OnceLock<Vec<[u64; 8]>> = OnceLock::new();
        let lines = MEMORY.get_or_init(|| vec![[1; 8]; LINES]);
        let (mut state, mut sum, mut count) = (seed, 0, 0_u64);
        let start = Instant::now();
        while start.elapsed() < self.time {
            for _ in 0..BATCH {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                sum += lines[(state >> 40) as usize % LINES][0];
            }
            count += BATCH as u64;
        }
        black_box(sum);
        count as f64 / start.elapsed().as_secs_f64() / 1e6
    }
}
