//! Means with confidence intervals.

/// A mean with its 95 percent confidence interval (Student's t).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end of the interval.
    pub low: f64,
    /// Mean of the values.
    pub mean: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Interval {
    /// Computes the interval of independent values, such as the results of runs with different seeds. Returns
    /// `None` for fewer than two values, because a single value has no known spread.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count < 2 {
            return None;
        }
        let n = count as f64;
        let mean = mean(values)?;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let margin = student_t_975(count - 1) * (variance / n).sqrt();
        Some(Self { low: mean - margin, mean, high: mean + margin })
    }

    /// Computes the interval of the differences `a` - `b`, pair by pair. Influences on both values of a pair,
    /// such as the same arrivals, cancel out. Returns `None` for fewer than two pairs.
    pub fn of_differences(a: &[f64], b: &[f64]) -> Option<Self> {
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        Self::of(&differences)
    }

    /// Returns half of the interval's width.
    pub fn margin(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Returns true if the interval excludes 0, so that a difference is statistically significant.
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Returns the arithmetic mean, or `None` if there are no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the 97.5 percent point of Student's t distribution with `degrees` of freedom. It comes from the
/// usual tables up to 30 degrees. Beyond, it is the Cornish-Fisher expansion around the normal distribution
/// (Abramowitz and Stegun, 26.7.5), exact to four digits. It is infinite for 0 degrees.
pub fn student_t_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    const Z: f64 = 1.959_964;
    match degrees.checked_sub(1) {
        None => f64::INFINITY,
        Some(index) => TABLE.get(index).copied().unwrap_or_else(|| {
            let n = degrees as f64;
            let first = (Z.powi(3) + Z) / (4.0 * n);
            let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / (96.0 * n * n);
            Z + first + second
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_a_worked_example() {
        // Mean 5, standard deviation 2, n = 4: the margin is 3.182 * 2 / 2.
        let interval = Interval::of(&[3.0, 7.0, 5.0 - 2f64.sqrt(), 5.0 + 2f64.sqrt()]).unwrap();
        assert!((interval.mean - 5.0).abs() < 1e-9);
        assert!((interval.high - (5.0 + 3.182)).abs() < 1e-9);
        assert!((interval.low - (5.0 - 3.182)).abs() < 1e-9);
        assert!((interval.margin() - 3.182).abs() < 1e-9);
    }

    #[test]
    fn one_value_has_no_interval() {
        assert_eq!(Interval::of(&[1.0]), None);
    }

    #[test]
    fn what_pairs_have_in_common_is_no_noise() {
        let a = [10.0, 110.0, 1010.0];
        let b = [9.0, 109.1, 1008.9];
        let apart = Interval::of_differences(&a, &b).unwrap();
        assert!(apart.excludes_zero() && apart.low > 0.0, "{apart:?}");
        assert!(!Interval::of(&[-1.0, 1.0, 0.5]).unwrap().excludes_zero());
    }

    #[test]
    fn students_t_is_that_of_the_tables() {
        assert_eq!(student_t_975(4), 2.776);
        for (degrees, t) in [(31, 2.0395), (40, 2.0211), (60, 2.0003), (120, 1.9799), (1_000_000, 1.96)] {
            assert!((student_t_975(degrees) - t).abs() < 2e-4, "{degrees}: {}", student_t_975(degrees));
        }
        assert_eq!(student_t_975(0), f64::INFINITY);
    }
}
