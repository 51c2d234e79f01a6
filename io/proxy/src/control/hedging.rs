use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use weir_stats::Histogram;

use super::records::PoolRecord;

/// What is measured anew: when so many readings have been made (one a second), and so many responses have come.
const READINGS_MIN: u32 = 10;
const RESPONSES_MIN: u64 = 100;

/// How fast a pool's responses begin, from one measurement to the next.
#[derive(Debug, Default)]
pub(in crate::control) struct FirstBytes {
    counted_before: BTreeMap<u64, u64>,
    readings: u32,
}

impl PoolRecord {
    /// Measures what second tries go by, if they do.
    pub(in crate::control) fn measure_first_bytes(&mut self) {
        let hedge = self.shared.plan.hedge.as_ref();
        if hedge.is_none_or(|hedge| hedge.delay.is_some()) {
            return;
        }
        let mut all = Histogram::default();
        for shard in self.shared.counters.iter() {
            if let Some(histogram) = shard.first_byte.get() {
                histogram.add_to(&mut all);
            }
        }
        if let Some(us) = self.first_bytes.read(&all) {
            self.shared.first_byte_p95_us.store(us.max(1), Ordering::Relaxed);
        }
    }
}

impl FirstBytes {
    /// The 95th percentile of what was counted since it was last told, if that is enough.
    fn read(&mut self, all: &Histogram) -> Option<u64> {
        self.readings += 1;
        if self.readings < READINGS_MIN {
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
        if total < RESPONSES_MIN {
            return None;
        }
        self.readings = 0;
        self.counted_before = counted;
        let mut below = 0;
        let reached = new.iter().find(|(_, count)| {
            below += count;
            below * 100 >= total * 95
        });
        reached.map(|(greatest, _)| *greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_that_of_the_responses_since_the_last_one() {
        let (mut first_bytes, mut all) = (FirstBytes::default(), Histogram::default());
        let mut measured = |all: &Histogram| (0..READINGS_MIN).filter_map(|_| first_bytes.read(all)).last();
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
