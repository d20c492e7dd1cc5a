//! Mixes of operations, and distributions of the pairs that they choose.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::chooser::Chooser;
use crate::keys::mix;
use crate::names::{name_of, named, names};
use crate::{Failure, serde_by_name};

/// A named mix of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Workload {
    /// Inserts into an initially empty map.
    Load,
    /// 100 % get.
    Get,
    /// 100 % update.
    Update,
    /// 100 % scans of this many pairs.
    Scan(usize),
    /// YCSB A: 50 % get, 50 % update.
    YcsbA,
    /// YCSB B: 95 % get, 5 % update.
    YcsbB,
    /// YCSB C: 100 % get.
    YcsbC,
    /// YCSB D: 95 % get, 5 % insert; new pairs are popular.
    YcsbD,
    /// YCSB E: 95 % scans of 1 to 100 pairs, 5 % inserts.
    YcsbE,
    /// YCSB F: 50 % get, 50 % get followed by an update of the same pair.
    YcsbF,
    /// Cloud storage: this percentage of scans of 3 or 4 pairs with floor start, and inserts.
    Cloud(u32),
    /// Updates of one pair, and so of one leaf.
    HotLeaf,
    /// 100 % inserts of new keys in random order.
    Insert,
}

/// The mixes without a parameter.
const NAMED: [(Workload, &str); 11] = [
    (Workload::Load, "load"),
    (Workload::Get, "get"),
    (Workload::Update, "update"),
    (Workload::YcsbA, "ycsb-a"),
    (Workload::YcsbB, "ycsb-b"),
    (Workload::YcsbC, "ycsb-c"),
    (Workload::YcsbD, "ycsb-d"),
    (Workload::YcsbE, "ycsb-e"),
    (Workload::YcsbF, "ycsb-f"),
    (Workload::HotLeaf, "hot-leaf"),
    (Workload::Insert, "insert"),
];
/// Prefixes of mixes with a parameter.
const SCAN: &str = "scan";
const CLOUD: &str = "cloud";
/// Most pairs of a scan, except for disturbing scans.
const SCAN_MAX: usize = 100;

/// Shares of operations in per cent, and lengths of scans. The remaining operations are gets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mix {
    /// Updates.
    pub update: u32,
    /// Gets followed by an update of the same pair.
    pub modify: u32,
    /// Scans.
    pub scan: u32,
    /// Inserts.
    pub insert: u32,
    /// Least and most pairs of a scan. All lengths between them are equally frequent.
    pub scan_pairs: (usize, usize),
    /// Whether scans have a floor start.
    pub from_floor: bool,
}

impl Workload {
    /// The default workloads of a run, in addition to the load.
    pub const DEFAULT: [Workload; 5] =
        [Workload::Get, Workload::Scan(4), Workload::YcsbE, Workload::Update, Workload::Insert];

    /// Returns whether the map grows considerably, so that the number of operations limits a slice instead of
    /// the time. Otherwise fast maps would be measured at a larger size than slow maps.
    pub fn grows(self) -> bool {
        self.mix().insert >= 10
    }

    /// Returns the distributions to measure among the requested ones: a single one for workloads that do not
    /// depend on it, and `Latest` instead of `Zipf` for YCSB D.
    pub fn distributions(self, requested: &[Distribution]) -> Vec<Distribution> {
        let mut chosen = match self {
            Workload::Load | Workload::Insert | Workload::Cloud(0) | Workload::HotLeaf => {
                vec![Distribution::Uniform]
            }
            Workload::YcsbD => {
                let skewed = |one: &Distribution| match one {
                    Distribution::Zipf => Distribution::Latest,
                    other => *other,
                };
                requested.iter().map(skewed).collect()
            }
            _ => requested.to_vec(),
        };
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    /// Returns the shares of operations.
    pub fn mix(self) -> Mix {
        let scans = |scan, scan_pairs| Mix { scan, insert: 100 - scan, scan_pairs, ..Mix::default() };
        match self {
            Workload::Load | Workload::Insert => Mix { insert: 100, ..Mix::default() },
            Workload::Get | Workload::YcsbC => Mix::default(),
            Workload::Update | Workload::HotLeaf => Mix { update: 100, ..Mix::default() },
            Workload::Scan(pairs) => scans(100, (pairs, pairs)),
            Workload::YcsbA => Mix { update: 50, ..Mix::default() },
            Workload::YcsbB => Mix { update: 5, ..Mix::default() },
            Workload::YcsbD => Mix { insert: 5, ..Mix::default() },
            Workload::YcsbE => scans(95, (1, 100)),
            Workload::YcsbF => Mix { modify: 50, ..Mix::default() },
            Workload::Cloud(share) => Mix { from_floor: true, ..scans(share, (3, 4)) },
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Workload::Scan(pairs) => write!(formatter, "{SCAN}{pairs}"),
            Workload::Cloud(share) => write!(formatter, "{CLOUD}{share}"),
            _ => formatter.write_str(name_of(&NAMED, self)),
        }
    }
}

impl FromStr for Workload {
    type Err = Failure;

    fn from_str(name: &str) -> Result<Workload, Failure> {
        let scan = || name.strip_prefix(SCAN)?.parse().ok().filter(|pairs| (1..=SCAN_MAX).contains(pairs));
        let cloud = || name.strip_prefix(CLOUD)?.parse().ok().filter(|share| *share <= 100);
        let workload = named(&NAMED, name)
            .or_else(|| scan().map(Workload::Scan))
            .or_else(|| cloud().map(Workload::Cloud));
        workload.ok_or_else(|| {
            let many = format!("{SCAN}1 to {SCAN}{SCAN_MAX}, {CLOUD}0 to {CLOUD}100");
            format!("unknown workload {name}; expected {}, {many}", names(&NAMED[1..])).into()
        })
    }
}

serde_by_name!(Workload);

/// The distribution of the chosen pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// All pairs are equally popular
    Uniform,
    /// Zipf with theta 0.99; the popular pairs are scattered over the map
    Zipf,
    /// Zipf with theta 0.99; the newest pairs are the most popular
    Latest,
}

impl Distribution {
    /// The default distributions of a run.
    pub const DEFAULT: [Distribution; 2] = [Distribution::Uniform, Distribution::Zipf];

    /// Returns its name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Zipf => "zipf",
            Distribution::Latest => "latest",
        }
    }
}

/// An operation. Its index names a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Gets a pair.
    Get(u64),
    /// Sets a pair to its value after change number `change`.
    Update {
        /// The pair.
        index: u64,
        /// The change.
        change: u64,
    },
    /// Gets a pair, then sets it to its value after change number `change`.
    Modify {
        /// The pair.
        index: u64,
        /// The change.
        change: u64,
    },
    /// Inserts a pair.
    Insert(u64),
    /// Scans from the key of a pair.
    Scan {
        /// The pair.
        index: u64,
        /// Most pairs.
        limit: usize,
    },
}

/// The operations of one thread.
#[derive(Debug)]
pub struct Stream {
    mix: Mix,
    chooser: Chooser,
    random: SmallRng,
    inserts: Inserts,
}

/// The inserts of one thread: `first`, `first` + `stride` and so on, so that the inserts of threads do not
/// overlap.
#[derive(Debug, Clone, Copy)]
struct Inserts {
    first: u64,
    stride: u64,
    count: u64,
}

impl Stream {
    /// Returns operations on a map with the pairs 0 to `loaded` - 1. They follow from the seed.
    pub fn new(workload: Workload, distribution: Distribution, loaded: u64, seed: u64) -> Stream {
        let count = if workload == Workload::HotLeaf { 1 } else { loaded };
        let chooser = Chooser::new(distribution, count);
        let random = SmallRng::seed_from_u64(seed);
        let inserts = Inserts { first: loaded, stride: 1, count: 0 };
        Stream { mix: workload.mix(), chooser, random, inserts }
    }

    /// Sets the indices of inserts: `first`, `first` + `stride` and so on.
    pub fn inserting(self, first: u64, stride: u64) -> Stream {
        Stream { inserts: Inserts { first, stride, count: 0 }, ..self }
    }

    /// Returns the index of the next insert.
    pub fn next_index(&self) -> u64 {
        self.inserts.first + self.inserts.count * self.inserts.stride
    }

    /// Generates the next operation.
    pub fn draw(&mut self) -> Operation {
        let Mix { scan, insert, update, modify, scan_pairs, .. } = self.mix;
        let percent = self.random.random_range(0..100);
        if percent < scan {
            let limit = self.random.random_range(scan_pairs.0..=scan_pairs.1);
            Operation::Scan { index: self.choose(), limit }
        } else if percent < scan + insert {
            let index = self.next_index();
            self.inserts.count += 1;
            Operation::Insert(index)
        } else if percent < scan + insert + update {
            Operation::Update { change: self.random.random(), index: self.choose() }
        } else if percent < scan + insert + update + modify {
            Operation::Modify { change: self.random.random(), index: self.choose() }
        } else {
            Operation::Get(self.choose())
        }
    }

    fn choose(&mut self) -> u64 {
        let Inserts { first, stride, count } = self.inserts;
        self.chooser.choose(&mut self.random, count, |number| first + number * stride)
    }
}

/// Returns the seed of a stream, from the seed of the run and the parameters that identify the stream.
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
    fn the_latest_pairs_are_popular_and_exist() {
        let (mut next, mut latest) = (1_001, 0);
        for operation in operations(Workload::YcsbD, Distribution::Latest) {
            match operation {
                Operation::Insert(index) => next = index + 2,
                Operation::Get(index) => {
                    assert!(index < 1_000 || (index < next && index % 2 == 1), "{index}");
                    latest += usize::from(index + 2 == next);
                }
                other => panic!("{other:?}"),
            }
        }
        // The expected share is 1 / (sum of k^-0.99 for k to 1000), which is 13 %.
        assert!((11_000..14_000).contains(&latest), "{latest}");
    }

    #[test]
    fn workloads_have_names() -> Result<(), Failure> {
        for name in ["get", "scan1", "scan100", "cloud0", "cloud80", "ycsb-f", "hot-leaf"] {
            assert_eq!(name.parse::<Workload>()?.to_string(), name);
        }
        for wrong in ["scan", "scan0", "scan101", "cloud101", "YCSB", ""] {
            assert!(wrong.parse::<Workload>().is_err(), "{wrong}");
        }
        Ok(())
    }

    #[test]
    fn hot_leaf_updates_one_pair() {
        let operations = operations(Workload::HotLeaf, Distribution::Uniform);
        assert!(operations.iter().all(|one| matches!(one, Operation::Update { index: 0, .. })));
    }

    #[test]
    fn ycsb_d_prefers_new_pairs() {
        use Distribution::{Latest, Uniform, Zipf};
        assert_eq!(Workload::YcsbD.distributions(&[Uniform, Zipf, Latest]), [Uniform, Latest]);
        assert_eq!(Workload::YcsbB.distributions(&[Zipf, Uniform]), [Uniform, Zipf]);
        assert_eq!(Workload::Insert.distributions(&[Zipf]), [Uniform]);
    }

    #[test]
    fn ycsb_a_is_half_and_half() {
        let operations = operations(Workload::YcsbA, Distribution::Uniform);
        assert!((49..=50).contains(&share(&operations, |one| matches!(one, Operation::Get(_)))));
        assert!((49..=50).contains(&share(&operations, |one| matches!(one, Operation::Update { .. }))));
    }
}
