//! What the threads of a slice do: mixes of operations, and which pairs they choose.

use clap::ValueEnum;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::keys::mix;
use crate::zipf::Zipf;

/// Skew of [`Distribution::Zipf`], as in YCSB.
pub const THETA: f64 = 0.99;

/// A mix of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Inserts while the map grows from nothing
    #[value(skip)]
    Load,
    /// 100 % get
    Get,
    /// 100 % update
    Update,
    /// 100 % scans of 4 pairs
    Scan4,
    /// 100 % scans of 24 pairs
    Scan24,
    /// 50 % get, 50 % update
    YcsbA,
    /// 95 % get, 5 % update
    YcsbB,
    /// 95 % scans of 1 to 100 pairs, 5 % inserts
    YcsbE,
    /// 80 % scans of 4 pairs, 20 % inserts: cloud storage
    Cloud,
    /// 100 % inserts of new keys in random order
    Insert,
}

/// Shares of the operations in per cent, and the lengths of scans.
#[derive(Debug, Clone, Copy, Default)]
struct Mix {
    update: u32,
    scan: u32,
    insert: u32,
    shortest_scan: usize,
    longest_scan: usize,
}

impl Workload {
    /// What a run measures unless told otherwise, besides the load.
    pub const DEFAULT: [Workload; 5] =
        [Workload::Get, Workload::Scan4, Workload::YcsbE, Workload::Update, Workload::Insert];

    /// Its name in tables and on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or("load".into(), |value| value.get_name().into())
    }

    /// Whether the map grows so much that a slice is limited by operations and not by time: else the fast
    /// would be measured on larger maps than the slow.
    pub fn grows(self) -> bool {
        matches!(self, Workload::Load | Workload::Insert)
    }

    /// Whether it asks for pairs that are there, so that it matters which.
    pub fn chooses(self) -> bool {
        !self.grows()
    }

    fn mix(self) -> Mix {
        let mix = |update, scan, insert, shortest_scan, longest_scan| Mix {
            update,
            scan,
            insert,
            shortest_scan,
            longest_scan,
        };
        match self {
            Workload::Load | Workload::Insert => mix(0, 0, 100, 0, 0),
            Workload::Get => mix(0, 0, 0, 0, 0),
            Workload::Update => mix(100, 0, 0, 0, 0),
            Workload::Scan4 => mix(0, 100, 0, 4, 4),
            Workload::Scan24 => mix(0, 100, 0, 24, 24),
            Workload::YcsbA => mix(50, 0, 0, 0, 0),
            Workload::YcsbB => mix(5, 0, 0, 0, 0),
            Workload::YcsbE => mix(0, 95, 5, 1, 100),
            Workload::Cloud => mix(0, 80, 20, 4, 4),
        }
    }
}

/// Which of the loaded pairs are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// All alike
    Uniform,
    /// Zipf with theta 0.99, popular keys scattered over the map
    Zipf,
}

impl Distribution {
    /// Both.
    pub const ALL: [Distribution; 2] = [Distribution::Uniform, Distribution::Zipf];

    /// Its name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Zipf => "zipf",
        }
    }
}

/// One operation; pairs are named by their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Get this pair.
    Get(u64),
    /// Give this pair the value after change number `change`.
    Update {
        /// The pair.
        index: u64,
        /// The change.
        change: u64,
    },
    /// Insert this pair.
    Insert(u64),
    /// Scan from the key of this pair.
    Scan {
        /// The pair.
        index: u64,
        /// How many pairs.
        limit: usize,
    },
}

/// The operations of one thread.
#[derive(Debug)]
pub struct Stream {
    mix: Mix,
    chooser: Chooser,
    random: SmallRng,
    fresh: u64,
    stride: u64,
}

impl Stream {
    /// Operations on a map whose pairs 0 to `loaded` - 1 are there, the same for the same seed.
    pub fn new(workload: Workload, distribution: Distribution, loaded: u64, seed: u64) -> Stream {
        let chooser = Chooser::new(distribution, loaded);
        let random = SmallRng::seed_from_u64(seed);
        Stream { mix: workload.mix(), chooser, random, fresh: loaded, stride: 1 }
    }

    /// Inserts are of `fresh`, `fresh` + `stride` and so on, so that threads stride over each other's.
    pub fn inserting(self, fresh: u64, stride: u64) -> Stream {
        Stream { fresh, stride, ..self }
    }

    /// The index of the next insert.
    pub fn fresh(&self) -> u64 {
        self.fresh
    }

    /// Draws the next operation.
    pub fn draw(&mut self) -> Operation {
        let percent = self.random.random_range(0..100);
        if percent < self.mix.scan {
            let limit = self.random.random_range(self.mix.shortest_scan..=self.mix.longest_scan);
            Operation::Scan { index: self.chooser.choose(&mut self.random), limit }
        } else if percent < self.mix.scan + self.mix.insert {
            let index = self.fresh;
            self.fresh += self.stride;
            Operation::Insert(index)
        } else if percent < self.mix.scan + self.mix.insert + self.mix.update {
            let change = self.random.random();
            Operation::Update { index: self.chooser.choose(&mut self.random), change }
        } else {
            Operation::Get(self.chooser.choose(&mut self.random))
        }
    }
}

/// Chooses loaded pairs.
#[derive(Debug)]
struct Chooser {
    loaded: u64,
    zipf: Option<Zipf>,
}

impl Chooser {
    fn new(distribution: Distribution, loaded: u64) -> Chooser {
        let zipf = (distribution == Distribution::Zipf).then(|| Zipf::new(loaded, THETA));
        Chooser { loaded, zipf }
    }

    fn choose(&self, random: &mut SmallRng) -> u64 {
        match &self.zipf {
            None => random.random_range(0..self.loaded),
            Some(zipf) => scatter(zipf.sample(random) - 1, self.loaded),
        }
    }
}

/// A permutation of 0 to `count` - 1 that puts neighbours far apart: popular pairs are not those loaded
/// first, which lie close together in many maps. `count` is less than the prime.
fn scatter(rank: u64, count: u64) -> u64 {
    const PRIME: u64 = 2_654_435_761;
    rank * PRIME % count
}

/// The seed of one thread's stream, from the run's and whatever tells the stream from others.
pub fn seed(run: u64, parts: impl IntoIterator<Item = u64>) -> u64 {
    parts.into_iter().fold(run, |seed, part| mix(seed ^ mix(part)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn operations(workload: Workload, distribution: Distribution) -> Vec<Operation> {
        let mut stream = Stream::new(workload, distribution, 1_000, 7).inserting(1_001, 2);
        (0..100_000).map(|_| stream.draw()).collect()
    }

    fn share(operations: &[Operation], kind: impl Fn(&Operation) -> bool) -> usize {
        operations.iter().filter(|operation| kind(operation)).count() * 100 / operations.len()
    }

    #[test]
    fn scatter_is_a_permutation() {
        for count in [1, 2, 1_000, 4_096, 99_991] {
            let all: BTreeSet<u64> = (0..count).map(|rank| scatter(rank, count)).collect();
            assert_eq!(all.len() as u64, count);
            assert_eq!(all.last(), Some(&(count - 1)));
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_operations() {
        let of = |seed| {
            let mut stream = Stream::new(Workload::YcsbE, Distribution::Zipf, 1_000, seed);
            (0..1_000).map(|_| stream.draw()).collect::<Vec<_>>()
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_ne!(seed(1, [2, 3]), seed(1, [3, 2]));
    }

    #[test]
    fn ycsb_e_scans_1_to_100_pairs_and_inserts_5_percent() {
        let operations = operations(Workload::YcsbE, Distribution::Zipf);
        assert!((94..=96).contains(&share(&operations, |one| matches!(one, Operation::Scan { .. }))));
        let limits: BTreeSet<usize> = operations
            .iter()
            .filter_map(|one| if let Operation::Scan { limit, .. } = one { Some(*limit) } else { None })
            .collect();
        assert_eq!((limits.len(), limits.first(), limits.last()), (100, Some(&1), Some(&100)));
        let inserted = operations
            .iter()
            .filter_map(|one| if let Operation::Insert(index) = one { Some(*index) } else { None });
        assert!(inserted.enumerate().all(|(count, index)| index == 1_001 + 2 * count as u64));
    }

    #[test]
    fn zipf_prefers_few_pairs_and_uniform_none() {
        let most = |distribution| {
            let mut counts = vec![0; 1_000];
            for operation in operations(Workload::Get, distribution) {
                if let Operation::Get(index) = operation {
                    counts[index as usize] += 1;
                }
            }
            assert!(counts.iter().all(|count| *count > 0));
            counts.into_iter().max().unwrap_or(0)
        };
        assert!(most(Distribution::Uniform) < 200);
        assert!(most(Distribution::Zipf) > 10_000);
    }

    #[test]
    fn ycsb_a_is_half_and_half() {
        let operations = operations(Workload::YcsbA, Distribution::Uniform);
        assert!((49..=50).contains(&share(&operations, |one| matches!(one, Operation::Get(_)))));
        assert!((49..=50).contains(&share(&operations, |one| matches!(one, Operation::Update { .. }))));
    }
}
