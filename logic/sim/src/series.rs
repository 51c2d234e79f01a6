//! A quantity over time, in a bounded number of parts.

/// Mean of a quantity over time, in at most [`Series::PARTS`] equal parts, however long the time. When there
/// are too many parts, every two become one of double length.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    part_ns: u64,
    /// Integral of the quantity over each part, in nanoseconds.
    integrals: Vec<f64>,
    end_ns: u64,
}

impl Series {
    /// Most parts of a series.
    pub const PARTS: usize = 256;

    /// Creates an empty series.
    pub fn new() -> Self {
        Self { part_ns: 1_000_000, integrals: Vec::new(), end_ns: 0 }
    }

    /// Records that the quantity was `value` from `from_ns` to `to_ns`. Times must not go back before the end
    /// of earlier records.
    pub fn note(&mut self, from_ns: u64, to_ns: u64, value: f64) {
        while to_ns.div_ceil(self.part_ns) > Self::PARTS as u64 {
            self.part_ns = self.part_ns.saturating_mul(2);
            let pairs = self.integrals.chunks(2).map(|pair| pair.iter().sum());
            self.integrals = pairs.collect();
        }
        let mut at = from_ns;
        while at < to_ns {
            let part = at / self.part_ns;
            let end = (part + 1).saturating_mul(self.part_ns).min(to_ns);
            let part = part as usize;
            if self.integrals.len() <= part {
                self.integrals.resize(part + 1, 0.0);
            }
            self.integrals[part] += value * (end - at) as f64;
            at = end;
        }
        self.end_ns = self.end_ns.max(to_ns);
    }

    /// Returns the middle of each part in seconds, and the mean in it.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.integrals.iter().enumerate().map(|(index, integral)| {
            let from = index as u64 * self.part_ns;
            let to = from.saturating_add(self.part_ns).min(self.end_ns).max(from + 1);
            ((from as f64 + to as f64) / 2e9, integral / (to - from) as f64)
        })
    }

    /// Returns the recorded time in seconds.
    pub fn seconds(&self) -> f64 {
        self.end_ns as f64 / 1e9
    }
}

impl Default for Series {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_stay_true_when_parts_are_joined() {
        let mut series = Series::new();
        let mut at = 0;
        for step in 0..10_000_u64 {
            series.note(at, at + 777_777, (step % 2) as f64);
            at += 777_777;
        }
        assert!(series.points().count() <= Series::PARTS);
        assert!(series.points().all(|(_, mean)| (mean - 0.5).abs() < 0.1));
        let whole: f64 = series.integrals.iter().sum();
        assert!((whole / (at as f64 / 2.0) - 1.0).abs() < 1e-9, "{whole}");
    }

    #[test]
    fn an_endless_time_is_no_endless_loop() {
        let mut series = Series::new();
        series.note(0, u64::MAX, 1.0);
        assert!(series.points().count() <= Series::PARTS);
    }
}
