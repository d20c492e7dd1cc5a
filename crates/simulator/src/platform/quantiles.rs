//! A distribution given by some of its quantiles.

use rand::Rng;

use super::Picoseconds;

/// Durations by thousandths, from 0 to 1000: a pair `(n, d)` says that n of 1000 durations are at most d.
/// Durations between two quantiles are distributed uniformly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantiles(pub &'static [(u32, Picoseconds)]);

impl Quantiles {
    /// Draws a duration.
    pub fn draw(&self, random: &mut impl Rng) -> Picoseconds {
        self.at(random.random_range(0..1_000_000))
    }

    /// Returns the least duration.
    #[must_use]
    pub fn least(&self) -> Picoseconds {
        self.0.first().map_or(0, |&(_, least)| least)
    }

    /// Returns the quantile for millionths.
    fn at(&self, millionths: u64) -> Picoseconds {
        let above = self.0.iter().position(|&(part, _)| u64::from(part) * 1000 >= millionths);
        let above = above.unwrap_or(self.0.len() - 1).max(1);
        let ((from, least), (to, most)) = (self.0[above - 1], self.0[above]);
        let within = millionths.saturating_sub(u64::from(from) * 1000);
        least + (most - least) * within / (u64::from(to - from) * 1000)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    #[test]
    fn drawn_durations_have_the_given_quantiles() {
        let quantiles = Quantiles(&[(0, 100), (100, 200), (900, 300), (1000, 1000)]);
        let mut random = SmallRng::seed_from_u64(7);
        let mut drawn: Vec<_> = (0..100_000).map(|_| quantiles.draw(&mut random)).collect();
        drawn.sort_unstable();
        for (thousandths, duration) in [(50, 150_u64), (100, 200), (500, 250), (900, 300), (950, 650)] {
            let found = drawn[drawn.len() * thousandths / 1000];
            assert!(found.abs_diff(duration) <= 1 + duration / 50, "{thousandths}: {found}, not {duration}");
        }
        assert!(drawn[0] >= 100 && drawn[drawn.len() - 1] < 1000);
    }
}
