//! A distribution that is known by some of its quantiles.

use rand::Rng;

use super::Picoseconds;

/// Spans of time by the parts of a thousand that are not longer, from 0 to 1000. Between two of them, spans
/// lie evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantiles(pub &'static [(u32, Picoseconds)]);

impl Quantiles {
    /// Draws a span.
    pub fn draw(&self, random: &mut impl Rng) -> Picoseconds {
        self.at(random.random_range(0..1_000_000))
    }

    /// The span that so many of a million are not longer than.
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
    fn quantiles_come_out() {
        let quantiles = Quantiles(&[(0, 100), (100, 200), (900, 300), (1000, 1000)]);
        let mut random = SmallRng::seed_from_u64(7);
        let mut drawn: Vec<_> = (0..100_000).map(|_| quantiles.draw(&mut random)).collect();
        drawn.sort_unstable();
        for (thousandths, span) in [(50, 150_u64), (100, 200), (500, 250), (900, 300), (950, 650)] {
            let found = drawn[drawn.len() * thousandths / 1000];
            assert!(found.abs_diff(span) <= 1 + span / 50, "{thousandths}: {found}, not {span}");
        }
        assert!(drawn[0] >= 100 && drawn[drawn.len() - 1] < 1000);
    }
}
