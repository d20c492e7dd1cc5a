//! Zipf's distribution: of the ranks 1 to n, rank k comes up with probability proportional to 1 / k^theta.
//!
//! Drawn exactly, without a table, by rejection-inversion (Hörmann and Derflinger, 1996): with
//! H(x) = (x^(1 - theta) - 1) / (1 - theta), the integral of x^-theta, a point u is drawn evenly below the
//! curve, x = H⁻¹(u) is rounded to k, and k is kept if u lies in the last k^-theta of the area that rounds
//! to k, which it nearly always does.

use rand::{Rng, RngExt};

/// Draws ranks.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    ranks: f64,
    theta: f64,
    /// The area that u is drawn from.
    area: (f64, f64),
    /// Where k - x is at most this, the test is sure to pass.
    sure: f64,
}

impl Zipf {
    /// Ranks 1 to `ranks`; `theta` is at least 0 and not 1.
    pub(crate) fn new(ranks: u64, theta: f64) -> Zipf {
        let mut zipf = Zipf { ranks: ranks as f64, theta, area: (0.0, 0.0), sure: 0.0 };
        zipf.area = (zipf.integral(1.5) - 1.0, zipf.integral(zipf.ranks + 0.5));
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - 2_f64.powf(-theta));
        zipf
    }

    /// Draws a rank.
    pub(crate) fn sample(&self, random: &mut impl Rng) -> u64 {
        loop {
            let u = self.area.0 + random.random::<f64>() * (self.area.1 - self.area.0);
            let x = self.inverse(u);
            let k = x.round().clamp(1.0, self.ranks);
            if k - x <= self.sure || u >= self.integral(k + 0.5) - k.powf(-self.theta) {
                return k as u64;
            }
        }
    }

    fn integral(&self, x: f64) -> f64 {
        (x.powf(1.0 - self.theta) - 1.0) / (1.0 - self.theta)
    }

    fn inverse(&self, u: f64) -> f64 {
        (1.0 + u * (1.0 - self.theta)).powf(1.0 / (1.0 - self.theta))
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::*;

    /// Compares counts of single ranks, and of ever longer ranges of them, with the formula.
    fn check(ranks: u64, theta: f64) {
        const DRAWS: u32 = 2_000_000;
        let (zipf, mut random) = (Zipf::new(ranks, theta), SmallRng::seed_from_u64(1));
        let mut counts = vec![0_u32; ranks as usize + 1];
        (0..DRAWS).for_each(|_| counts[zipf.sample(&mut random) as usize] += 1);
        let weight = |rank: u64| (rank as f64).powf(-theta);
        let total: f64 = (1..=ranks).map(weight).sum();
        let mut first = 1;
        while first <= ranks {
            let last = (first + first / 8).min(ranks);
            let expected = f64::from(DRAWS) * (first..=last).map(weight).sum::<f64>() / total;
            let count: u32 = counts[first as usize..=last as usize].iter().sum();
            let deviation = (f64::from(count) - expected).abs() / expected.sqrt();
            assert!(deviation < 5.0, "ranks {first}..={last}: {count}, expected {expected:.0}");
            first = last + 1;
        }
        assert_eq!(counts[0], 0);
    }

    #[test]
    fn ranks_come_up_as_often_as_the_formula_says() {
        check(1, 0.99);
        check(2, 0.99);
        check(1_000_000, 0.99);
        check(10_000, 0.5);
        check(100, 0.0);
        check(1_000, 1.3);
    }
}
