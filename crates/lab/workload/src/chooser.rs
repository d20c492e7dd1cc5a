//! The choice of existing pairs by a distribution. Equal seeds choose equal pairs.

use rand::Rng;
use rand::rngs::SmallRng;
use rand_distr::Zipf;

use crate::Distribution;

/// Skew of [`Distribution::Zipf`], as in YCSB.
const THETA: f64 = 0.99;

/// Chooses among the loaded pairs and those that the thread has inserted.
#[derive(Debug)]
pub(crate) struct Chooser {
    loaded: u64,
    distribution: Distribution,
    zipf: Zipf<f64>,
}

impl Chooser {
    /// Chooses among pairs 0 to `loaded` - 1.
    pub(crate) fn new(distribution: Distribution, loaded: u64) -> Chooser {
        Chooser { loaded, distribution, zipf: zipf(loaded) }
    }

    /// Draws a pair. The thread has inserted `inserted` pairs, and `insert` returns the pair of an insert by
    /// its number. For [`Distribution::Latest`], the inserts of the thread are the newest pairs, followed by
    /// the loaded pairs from last to first.
    pub(crate) fn choose(&self, random: &mut SmallRng, inserted: u64, insert: impl Fn(u64) -> u64) -> u64 {
        match self.distribution {
            Distribution::Uniform => random.random_range(0..self.loaded),
            Distribution::Zipf => scatter(self.rank(random), self.loaded),
            Distribution::Latest => {
                let age = self.rank(random);
                match inserted.checked_sub(age + 1) {
                    Some(number) => insert(number),
                    None => self.loaded - 1 - (age - inserted),
                }
            }
        }
    }

    /// Draws a rank. Rank 0 is the most popular.
    fn rank(&self, random: &mut SmallRng) -> u64 {
        random.sample(self.zipf) as u64 - 1
    }
}

/// Returns the distribution of ranks. An empty map has one rank, which no workload draws.
fn zipf(ranks: u64) -> Zipf<f64> {
    Zipf::new(ranks.max(1) as f64, THETA).expect("the number of ranks and the skew are positive")
}

/// Permutes 0 to `count` - 1 so that neighbours are far apart. Many maps place the first loaded pairs close
/// together, so these must not be the popular ones. `count` must be less than the prime.
fn scatter(rank: u64, count: u64) -> u64 {
    const PRIME: u64 = 2_654_435_761;
    rank * PRIME % count
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::SeedableRng;

    use super::*;

    fn draws(ranks: u64, seed: u64, count: usize) -> Vec<u64> {
        let (chooser, mut random) = (Chooser::new(Distribution::Zipf, ranks), SmallRng::seed_from_u64(seed));
        (0..count).map(|_| chooser.rank(&mut random)).collect()
    }

    /// Compares the counts of single ranks, and of ranges of increasing length, with the formula.
    fn check(ranks: u64) {
        const DRAWS: usize = 2_000_000;
        let mut counts = vec![0_u32; ranks as usize];
        draws(ranks, 1, DRAWS).into_iter().for_each(|rank| counts[rank as usize] += 1);
        let weight = |rank: u64| (rank as f64 + 1.0).powf(-0.99);
        let total: f64 = (0..ranks).map(weight).sum();
        let mut first = 0;
        while first < ranks {
            let last = (first + first / 8).min(ranks - 1);
            let expected = DRAWS as f64 * (first..=last).map(weight).sum::<f64>() / total;
            let count: u32 = counts[first as usize..=last as usize].iter().sum();
            let deviation = (f64::from(count) - expected).abs() / expected.sqrt();
            assert!(deviation < 5.0, "ranks {first} to {last} of {ranks}: {count}, expected {expected:.0}");
            first = last + 1;
        }
    }

    #[test]
    fn rank_frequencies_match_the_formula() {
        [1, 2, 1_000, 1_000_000].into_iter().for_each(check);
    }

    #[test]
    fn equal_seeds_draw_equal_ranks() {
        assert_eq!(draws(1_000, 7, 1_000), draws(1_000, 7, 1_000));
        assert_ne!(draws(1_000, 7, 1_000), draws(1_000, 8, 1_000));
    }

    #[test]
    fn a_chooser_accepts_an_empty_map() {
        Chooser::new(Distribution::Zipf, 0);
    }

    #[test]
    fn scatter_is_a_permutation() {
        for count in [1, 2, 1_000, 4_096, 99_991] {
            let all: BTreeSet<u64> = (0..count).map(|rank| scatter(rank, count)).collect();
            assert_eq!(all.len() as u64, count);
            assert_eq!(all.last(), Some(&(count - 1)));
        }
    }
}
