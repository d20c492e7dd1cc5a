//! Measures alternative forms of the sorted block of a leaf (docs/design/node.md): how fast gets find their
//! item, and how many keys their heads do not distinguish.
//!
//! The leaves are static and full: pairs of 16 + 16 bytes with random keys, in nodes of a memory with a page
//! table. A get knows its leaf, so the time is that of the leaf alone: its entry in the page table, and the
//! steps to the item. Measurements of all forms alternate.

mod columns;
mod fingerprints;
mod form;
mod interpolation;
mod items;
mod short_heads;
mod ties;

use std::fmt::Write;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use clap::Args;
use honeycomb_memory::heads::vectorized;
use honeycomb_memory::{LINE_BYTES, Lid, LockAndSize, Memory, MemoryConfig};
use honeycomb_workload::mix;

use self::columns::{Columns, HeadsAtOnce};
use self::fingerprints::Fingerprints;
use self::form::{Form, Gets, Key, PAIRS};
use self::interpolation::Interpolation;
use self::short_heads::ShortHeads;
use crate::map::Failure;
use crate::progress::{self, step};
use crate::summary::median;

/// Gets between two readings of the clock.
const GETS: usize = 1 << 14;
/// Gets that execute together, and alone.
const TOGETHER: usize = 32;
const ALONE: usize = 1;
/// Numbers of different gets; later ones repeat them.
const QUERIES: u64 = 1 << 20;

/// The size of a measurement.
#[derive(Debug, Clone, Args)]
pub struct LeafFormsArguments {
    /// Pairs of each form
    #[arg(long, default_value_t = 10_000_000)]
    pairs: u64,
    /// Keys of each kind whose heads are compared
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// Number of measurements of each form
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Seconds of a measurement
    #[arg(long, default_value_t = 0.3)]
    seconds: f64,
}

/// Measures everything. Returns the tables.
pub fn run(arguments: &LeafFormsArguments) -> Result<String, Failure> {
    let time = Duration::try_from_secs_f64(arguments.seconds)?;
    if arguments.pairs < PAIRS as u64 {
        return Err(format!("--pairs {}: at least {PAIRS}, those of a leaf", arguments.pairs).into());
    }
    let mut text = rates(arguments.pairs, arguments.rounds, time)?;
    text += "\n";
    text += &ties::table(arguments.keys)?;
    Ok(text)
}

fn rates(pairs: u64, rounds: usize, time: Duration) -> Result<String, Failure> {
    let keys = sorted_keys(pairs);
    let forms: Vec<Box<dyn Measured>> = vec![
        Leaves::<Columns<16>>::boxed(&keys, "samples of every 16th head (the layout)")?,
        Leaves::<Columns<8>>::boxed(&keys, "samples of every 8th head")?,
        Leaves::<Columns<32>>::boxed(&keys, "samples of every 32nd head")?,
        Leaves::<HeadsAtOnce<true>>::boxed(&keys, "the layout, all heads requested with the header")?,
        Leaves::<HeadsAtOnce<false>>::boxed(&keys, "no samples, all heads")?,
        Leaves::<ShortHeads<4>>::boxed(&keys, "heads of 4 bytes")?,
        Leaves::<ShortHeads<6>>::boxed(&keys, "heads of 6 bytes")?,
        Leaves::<Interpolation>::boxed(&keys, "interpolation instead of samples")?,
        Leaves::<Fingerprints>::boxed(&keys, "a column of fingerprints")?,
    ];
    let mut rates = vec![Rates::default(); forms.len()];
    let progress = progress::bar(rounds * forms.len());
    for _ in 0..rounds {
        for (form, rates) in forms.iter().zip(&mut rates) {
            step(&progress, form.name(), || rates.measure(form.as_ref(), &keys, time))?;
        }
    }
    progress.finish_and_clear();
    let mut text = format!("{pairs} pairs, to the rate of the layout, medians of {rounds} rounds:\n");
    writeln!(text, "| | {TOGETHER} together | alone | lines |\n|---|---|---|---|")?;
    let medians: Vec<_> = rates.iter().map(|rates| (median(&rates.together), median(&rates.alone))).collect();
    for (form, (together, alone)) in forms.iter().zip(&medians) {
        let (together, alone) = (together / medians[0].0, alone / medians[0].1);
        writeln!(text, "| {} | {together:.2} | {alone:.2} | {} |", form.name(), form.lines())?;
    }
    let (together, alone) = medians[0];
    writeln!(text, "\nThe layout: {together:.1} and {alone:.1} million gets a second.")?;
    Ok(text)
}

/// Million gets a second, in each round.
#[derive(Clone, Default)]
struct Rates {
    together: Vec<f64>,
    alone: Vec<f64>,
}

impl Rates {
    fn measure(&mut self, form: &dyn Measured, keys: &[Key], time: Duration) -> Result<(), Failure> {
        self.together.push(form.rate_together(keys, time)?);
        self.alone.push(form.rate_alone(keys, time)?);
        Ok(())
    }
}

/// Returns random keys in order.
fn sorted_keys(pairs: u64) -> Vec<Key> {
    let mut keys: Vec<_> = (0..pairs).map(|number| Key(mix(number) >> 1, mix(!number))).collect();
    keys.sort_unstable();
    keys
}

/// A form whose gets can be measured.
trait Measured {
    fn name(&self) -> &'static str;

    /// The lines of each step of a get.
    fn lines(&self) -> &'static str;

    /// Million gets a second, many together.
    fn rate_together(&self, keys: &[Key], time: Duration) -> Result<f64, Failure>;

    /// Million gets a second, one after the other.
    fn rate_alone(&self, keys: &[Key], time: Duration) -> Result<f64, Failure>;
}

/// Leaves of a form.
struct Leaves<F> {
    name: &'static str,
    memory: Memory,
    lids: Vec<Lid>,
    form: PhantomData<F>,
}

impl<F: Form + 'static> Leaves<F> {
    fn boxed(keys: &[Key], name: &'static str) -> Result<Box<dyn Measured>, Failure> {
        let leaves = keys.chunks_exact(PAIRS);
        // Some nodes more, because the memory keeps a few apart.
        let arena_bytes = (leaves.len() + 1024) * MemoryConfig::default().node_bytes;
        let memory = Memory::new(MemoryConfig { arena_bytes, ..MemoryConfig::default() })?;
        let mut lids = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            let (lid, mut buffer, mut body) =
                (memory.reserve_lid()?.keep(), memory.allocate_node()?, Vec::new());
            F::build(leaf, &mut body);
            let end = LINE_BYTES + body.len();
            buffer[..8].copy_from_slice(&u64::from(LockAndSize::new(end, 0)).to_le_bytes());
            buffer[LINE_BYTES..end].copy_from_slice(&body);
            memory.map(lid, buffer);
            lids.push(lid);
        }
        Ok(Box::new(Self { name, memory, lids, form: PhantomData }))
    }

    /// Million gets a second of random keys, `N` of which execute together.
    fn rate<const N: usize>(&self, keys: &[Key], time: Duration) -> Result<f64, Failure> {
        let pin = self.memory.pin();
        let (mut wanted, mut elapsed, mut count) = (Vec::with_capacity(GETS), Duration::ZERO, 0);
        while elapsed < time {
            wanted.clear();
            wanted.extend((count..count + GETS).map(|number| {
                let index = mix(number as u64 % QUERIES) as usize % (self.lids.len() * PAIRS);
                (self.lids[index / PAIRS], keys[index])
            }));
            let start = Instant::now();
            let sum = vectorized(Gets::<F, N> {
                memory: &self.memory,
                pin: &pin,
                wanted: &wanted,
                form: PhantomData,
            });
            elapsed += start.elapsed();
            if sum != wanted.iter().map(|(_, key)| key.value()[0]).fold(0, u64::wrapping_add) {
                return Err(format!("{}: a get found another value", self.name).into());
            }
            count += GETS;
        }
        Ok(count as f64 / elapsed.as_secs_f64() / 1e6)
    }
}

impl<F: Form + 'static> Measured for Leaves<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn lines(&self) -> &'static str {
        F::LINES
    }

    fn rate_together(&self, keys: &[Key], time: Duration) -> Result<f64, Failure> {
        self.rate::<TOGETHER>(keys, time)
    }

    fn rate_alone(&self, keys: &[Key], time: Duration) -> Result<f64, Failure> {
        self.rate::<ALONE>(keys, time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_finds_all_pairs() -> Result<(), Failure> {
        // A get that finds another value is an error.
        let text = rates(20 * PAIRS as u64, 1, Duration::from_millis(1))?;
        assert!(text.contains("(the layout) | 1.00 | 1.00 | "), "{text}");
        Ok(())
    }
}
