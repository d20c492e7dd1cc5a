//! Statistics of samples.

use serde::{Deserialize, Serialize};

/// Median and spread of samples. Both use medians, so a single outlier changes little.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Median.
    pub median: f64,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// Median absolute deviation.
    pub deviation: f64,
}

impl Summary {
    /// Returns the summary of samples, or zeros without samples.
    pub fn of(samples: &[f64]) -> Summary {
        let median = median(samples);
        let distances: Vec<f64> = samples.iter().map(|sample| (sample - median).abs()).collect();
        Summary {
            median,
            min: samples.iter().copied().reduce(f64::min).unwrap_or(0.0),
            max: samples.iter().copied().reduce(f64::max).unwrap_or(0.0),
            deviation: self::median(&distances),
        }
    }
}

/// Returns the median of samples, or 0 without samples.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len() / 2, sorted.len() % 2) {
        (0, 0) => 0.0,
        (middle, 0) => f64::midpoint(sorted[middle - 1], sorted[middle]),
        (middle, _) => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outlier_changes_little() {
        let summary = Summary::of(&[5.0, 1.0, 4.0, 1_000.0, 3.0]);
        assert_eq!(summary, Summary { median: 4.0, min: 1.0, max: 1_000.0, deviation: 1.0 });
    }

    #[test]
    fn few_samples() {
        assert_eq!(Summary::of(&[2.0]), Summary { median: 2.0, min: 2.0, max: 2.0, deviation: 0.0 });
        assert!((median(&[1.0, 2.0, 4.0, 3.0]) - 2.5).abs() < f64::EPSILON);
        assert_eq!(median(&[]).to_bits(), 0.0_f64.to_bits());
    }
}
