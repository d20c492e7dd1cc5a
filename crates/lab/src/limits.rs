//! Limits of the machine: how fast threads can read memory with an ideal layout.
//!
//! A store cannot be faster than reads of the lines that contain the requested pairs. Their speed depends on
//! how many lines are adjacent and on the amount of memory. So it is measured over as much memory as the
//! store uses, with addresses that do not depend on earlier reads: the processor keeps as many reads in
//! flight as it can.

use std::hint::black_box;
use std::process::Command;
use std::str::FromStr;
use std::time::{Duration, Instant};

use honeycomb_workload::{Sizes, Workload, mix};
use serde::{Deserialize, Serialize};

use crate::adapters::Peer;
use crate::map::Failure;
use crate::memory::huge_page_bytes;
use crate::slice::in_threads;

/// A measurement, as an argument of the process that executes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// Number of pairs of a store that uses the same amount of memory.
    pub pairs: u64,
    /// Sizes of their keys and values.
    pub sizes: Sizes,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Duration of each of the seven kinds of reads.
    pub time: Duration,
}

impl Request {
    /// Measures in a new process of this program, whose end frees the memory.
    pub fn run_in_process(&self) -> Result<Vec<Limits>, Failure> {
        let request = serde_json::to_string(self)?;
        let output = Command::new(std::env::current_exe()?).args(["limits", &request]).output()?;
        if output.status.success() {
            Ok(serde_json::from_slice(&output.stdout)?)
        } else {
            Err(format!("limits: {}", String::from_utf8_lossy(&output.stderr)).into())
        }
    }
}

impl FromStr for Request {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Request, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// The limits for a number of threads, over all threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Number of pairs of a store that uses the same amount of memory.
    pub pairs: u64,
    /// Sizes of their keys and values.
    pub sizes: Sizes,
    /// Number of threads.
    pub threads: usize,
    /// Bytes of the memory that they read.
    pub region_bytes: u64,
    /// Share of that memory in huge pages.
    pub in_huge_pages: f64,
    /// Nanoseconds for a random line whose address is in the line read before.
    pub chained_nanoseconds: f64,
    /// Rates for random groups of adjacent lines.
    pub groups: Vec<GroupRate>,
    /// Bytes per second of sequential reads.
    pub sequential: f64,
    /// Bytes per second of memory that one thread of the process uses for the first time. The kernel clears
    /// it; a hypervisor may first have to find it. Inserts need it.
    #[serde(default)]
    pub new_memory: f64,
}

/// The rate of reads of random groups of adjacent lines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GroupRate {
    /// Lines of a group.
    pub lines: u64,
    /// Groups per second.
    pub rate: f64,
}

/// Sizes of the groups: a bucket of a hash table, a short scan, a scan of 24 pairs, 1 KiB.
const GROUPS: [u64; 4] = [1, 4, 11, 16];
const LINE_BYTES: u64 = 64;
const LINE_WORDS: usize = 8;
/// Most bytes of the region. Larger regions are not slower.
const REGION_BYTES_MAX: u64 = 4 << 30;
/// 8 MiB.
const PART_WORDS: u64 = 1 << 20;
const PART_LINES: u64 = PART_WORDS / LINE_WORDS as u64;
/// Words of new memory to measure: 256 MiB.
const NEW_WORDS: usize = 32 << 20;
/// Words of a page of the smallest size.
const PAGE_WORDS: usize = 512;
/// Reads between two readings of the clock.
const READS: u64 = 4_096;

impl Limits {
    /// Measures the limits for each number of threads.
    pub fn measure(request: &Request) -> Result<Vec<Limits>, Failure> {
        let Request { pairs, sizes, ref threads, time } = *request;
        let new_memory = new_memory_rate();
        let region = Region::new(Peer::HONEYCOMB.bytes_per_pair(sizes) * pairs)?;
        let of = |threads: usize| -> Result<Limits, Failure> {
            let rate = |reader| region.rate(reader, threads, time);
            let group = |lines| Ok(GroupRate { lines, rate: rate(Reader::Groups(lines))? });
            Ok(Limits {
                pairs,
                sizes,
                threads,
                region_bytes: region.bytes(),
                in_huge_pages: region.in_huge_pages,
                chained_nanoseconds: 1e9 * threads as f64 / rate(Reader::Chain)?,
                groups: GROUPS.into_iter().map(group).collect::<Result<_, Failure>>()?,
                sequential: rate(Reader::Sequence)? * LINE_BYTES as f64,
                new_memory,
            })
        };
        threads.iter().map(|threads| of(*threads)).collect()
    }

    /// Returns the better values of two measurements.
    pub fn better(mut self, other: &Limits) -> Limits {
        self.chained_nanoseconds = self.chained_nanoseconds.min(other.chained_nanoseconds);
        self.sequential = self.sequential.max(other.sequential);
        self.new_memory = self.new_memory.max(other.new_memory);
        for (group, other) in self.groups.iter_mut().zip(&other.groups) {
            group.rate = group.rate.max(other.rate);
        }
        self
    }

    /// Returns an upper bound of operations per second: the rate if each operation only read the lines of its
    /// pairs, with as many reads in flight as the machine allows. A write counts as a read of its line.
    pub fn rate(&self, workload: Workload) -> f64 {
        let mix = workload.mix();
        let (shortest, longest) = mix.scan_pairs;
        let scan: f64 = (shortest..=longest).map(|pairs| self.seconds(self.lines(pairs as u64))).sum();
        let scans = (longest - shortest + 1) as f64;
        let share = f64::from(mix.scan) / 100.0;
        1.0 / (share * scan / scans + (1.0 - share) * self.seconds(self.lines(1)))
    }

    /// Returns the minimum number of lines that contain this many adjacent pairs.
    fn lines(&self, pairs: u64) -> u64 {
        (pairs * self.sizes.pair_bytes()).div_ceil(LINE_BYTES)
    }

    /// Returns the time to read a group. Interpolates between measured groups, and uses the sequential rate
    /// beyond the largest group.
    fn seconds(&self, lines: u64) -> f64 {
        let time = |group: &GroupRate| 1.0 / group.rate;
        let after = self.groups.iter().position(|group| group.lines >= lines);
        match after {
            Some(0) => time(&self.groups[0]),
            Some(after) => {
                let (low, high) = (&self.groups[after - 1], &self.groups[after]);
                let part = (lines - low.lines) as f64 / (high.lines - low.lines) as f64;
                time(low) + part * (time(high) - time(low))
            }
            None => self.groups.last().map_or(0.0, |last| {
                time(last) + ((lines - last.lines) * LINE_BYTES) as f64 / self.sequential
            }),
        }
    }
}

/// Returns the bytes per second of the first write to each page of new memory.
fn new_memory_rate() -> f64 {
    let start = Instant::now();
    let mut words = vec![0; NEW_WORDS];
    words.iter_mut().step_by(PAGE_WORDS).for_each(|word| *word = 1_u64);
    let bytes = size_of_val(&*black_box(words)) as f64;
    bytes / start.elapsed().as_secs_f64()
}

/// Memory to read, in parts that are large enough for huge pages.
struct Region {
    parts: Vec<Vec<u64>>,
    in_huge_pages: f64,
}

/// A kind of read.
#[derive(Debug, Clone, Copy)]
enum Reader {
    /// One random line after the other; each contains the address of the next.
    Chain,
    /// Random groups of this many adjacent lines.
    Groups(u64),
    /// All lines in order.
    Sequence,
}

impl Region {
    fn new(bytes: u64) -> Result<Region, Failure> {
        let before = huge_page_bytes()?;
        let part = |number: u64| (number..number + PART_WORDS).map(mix).collect();
        let count = bytes.clamp(1, REGION_BYTES_MAX).div_ceil(PART_WORDS * 8);
        let mut region = Region { parts: (0..count).map(part).collect(), in_huge_pages: 0.0 };
        let huge = huge_page_bytes()?.saturating_sub(before);
        region.in_huge_pages = (huge as f64 / region.bytes() as f64).min(1.0);
        Ok(region)
    }

    fn bytes(&self) -> u64 {
        self.parts.len() as u64 * PART_WORDS * 8
    }

    /// Returns the reads per second, over all threads.
    fn rate(&self, reader: Reader, threads: usize, time: Duration) -> Result<f64, Failure> {
        let rates = in_threads((0..threads as u64).collect(), |thread| {
            let (mut reads, mut state, start) = (0, mix(thread), Instant::now());
            while start.elapsed() < time {
                state = self.read(reader, state);
                reads += READS;
            }
            Ok(reads as f64 / start.elapsed().as_secs_f64())
        })?;
        Ok(rates.iter().sum())
    }

    /// Executes [`READS`] reads. Returns the state for the next ones.
    fn read(&self, reader: Reader, state: u64) -> u64 {
        match reader {
            Reader::Chain => (0..READS).fold(state, |state, _| mix(state ^ self.group(state, 1)[0])),
            Reader::Groups(lines) => {
                let sum =
                    |group: &[u64]| group.iter().step_by(LINE_WORDS).copied().fold(0, u64::wrapping_add);
                let sums = (state..state + READS).map(|read| sum(self.group(mix(read), lines)));
                black_box(sums.fold(0, u64::wrapping_add));
                state + READS
            }
            Reader::Sequence => {
                let sections = PART_WORDS / (READS * LINE_WORDS as u64);
                let (part, section) = (state / sections % self.parts.len() as u64, state % sections);
                let words = &self.parts[part as usize][(section * READS) as usize * LINE_WORDS..];
                black_box(words[..READS as usize * LINE_WORDS].iter().copied().fold(0, u64::wrapping_add));
                state + 1
            }
        }
    }

    /// Returns a random group of lines.
    fn group(&self, random: u64, lines: u64) -> &[u64] {
        let words = lines as usize * LINE_WORDS;
        // The high half of a product is uniform and needs no division.
        let choose = |of: u64| ((u128::from(random) * u128::from(of)) >> 64) as u64;
        let line = choose(self.parts.len() as u64 * PART_LINES);
        let (part, line) = ((line / PART_LINES) as usize, (line % PART_LINES) as usize);
        let first = (line * LINE_WORDS).min(PART_WORDS as usize - words);
        &self.parts[part][first..first + words]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        let group = |(lines, nanoseconds): (u64, f64)| GroupRate { lines, rate: 1e9 / nanoseconds };
        Limits {
            pairs: 1_000,
            sizes: Sizes::DEFAULT,
            threads: 1,
            region_bytes: 1 << 20,
            in_huge_pages: 1.0,
            chained_nanoseconds: 100.0,
            groups: [(1, 20.0), (4, 50.0), (11, 120.0), (16, 170.0)].map(group).to_vec(),
            sequential: 6.4e9,
            new_memory: 1e9,
        }
    }

    #[test]
    fn an_operation_takes_the_time_of_its_lines() {
        let nanoseconds = |workload| (1e9 / limits().rate(workload)).round();
        assert_eq!(nanoseconds(Workload::Get).to_bits(), 20_f64.to_bits());
        assert_eq!(nanoseconds(Workload::Insert).to_bits(), 20_f64.to_bits());
        // Four pairs fill two lines, 24 pairs fill twelve, 100 pairs fill fifty.
        assert_eq!(nanoseconds(Workload::Scan(4)).to_bits(), 30_f64.to_bits());
        assert_eq!(nanoseconds(Workload::Scan(24)).to_bits(), 130_f64.to_bits());
        assert_eq!(nanoseconds(Workload::Scan(100)).to_bits(), 510_f64.to_bits());
        assert_eq!(nanoseconds(Workload::Cloud(50)).to_bits(), 25_f64.to_bits());
    }

    #[test]
    fn adjacent_lines_are_faster_than_scattered_lines() -> Result<(), Failure> {
        let (sizes, threads, time) = (Sizes::DEFAULT, vec![1, 2], Duration::from_millis(20));
        let limits = Limits::measure(&Request { pairs: 1_000_000, sizes, threads, time })?;
        for one in &limits {
            let lines = |group: &GroupRate| group.rate * group.lines as f64;
            assert!(lines(&one.groups[3]) > lines(&one.groups[0]), "{one:?}");
            assert!(one.chained_nanoseconds > 0.0 && one.sequential > 0.0 && one.new_memory > 0.0);
        }
        assert_eq!(limits.iter().map(|one| one.threads).collect::<Vec<_>>(), [1, 2]);
        Ok(())
    }

    #[test]
    fn the_better_of_two_measurements_is_kept() {
        let mut other = limits();
        other.groups[1].rate *= 2.0;
        other.sequential /= 2.0;
        other.chained_nanoseconds = 90.0;
        other.new_memory = 2e9;
        let better = limits().better(&other);
        assert_eq!((better.groups[1], better.groups[0]), (other.groups[1], limits().groups[0]));
        assert_eq!(better.new_memory.to_bits(), 2e9_f64.to_bits());
        assert!(better.sequential > other.sequential && better.chained_nanoseconds < 100.0);
    }
}
