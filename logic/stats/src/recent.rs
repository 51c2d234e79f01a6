//! A percentile of a histogram's recent values.

use std::collections::BTreeMap;

use crate::Histogram;

/// A percentile of the values that a histogram has recorded since the last result. A new result needs a
/// minimum number of readings and of new values.
#[derive(Debug)]
pub struct RecentPercentile {
    percent: u64,
    readings_min: u32,
    values_min: u64,
    counted_before: BTreeMap<u64, u64>,
    readings: u32,
}

impl RecentPercentile {
    /// Creates the percentile for hedged requests: the 95th percentile of the time until a response begins. A
    /// result needs ten readings, at one a second, and at least 100 responses. A hedged request starts when
    /// the first try is slower than this time.
    pub const fn for_hedges() -> Self {
        Self { percent: 95, readings_min: 10, values_min: 100, counted_before: BTreeMap::new(), readings: 0 }
    }

    /// Reads the current counts of the histogram, which must never decrease. Returns the percentile in the
    /// histogram's unit if enough readings and values have accumulated.
    pub fn read(&mut self, all: &Histogram) -> Option<u64> {
        self.readings += 1;
        if self.readings < self.readings_min {
            return None;
        }
        let counted: BTreeMap<u64, u64> =
            all.buckets().map(|(_, greatest, count)| (greatest, count)).collect();
        let before = |greatest: &u64| self.counted_before.get(greatest).copied().unwrap_or(0);
        let new: Vec<(u64, u64)> = counted
            .iter()
            .map(|(greatest, count)| (*greatest, count.saturating_sub(before(greatest))))
            .collect();
        let total: u64 = new.iter().map(|(_, count)| count).sum();
        if total < self.values_min {
            return None;
        }
        self.readings = 0;
        self.counted_before = counted;
        let mut below = 0;
        let reached = new.iter().find(|(_, count)| {
            below += count;
            below * 100 >= total * self.percent
        });
        reached.map(|(greatest, _)| *greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_that_of_the_values_since_the_last_one() {
        let (mut recent, mut all) = (RecentPercentile::for_hedges(), Histogram::default());
        let mut measured = |all: &Histogram| (0..10).filter_map(|_| recent.read(all)).last();
        all.record_many(1_000, 99);
        assert_eq!(measured(&all), None);
        all.record_many(1_000, 901);
        let near = |us: Option<u64>, wanted: u64| us.is_some_and(|us| us.abs_diff(wanted) * 10 < wanted);
        assert!(near(measured(&all), 1_000));
        all.record_many(20_000, 90);
        all.record_many(500_000, 10);
        assert!(near(measured(&all), 500_000));
        assert_eq!(measured(&all), None);
    }
}
