//! Measures the delay for hedged requests.

use std::sync::atomic::Ordering;

use weir_stats::Histogram;

use super::records::PoolRecord;

impl PoolRecord {
    /// Measures the 95th percentile of first-byte times if the pool's hedging delay depends on it. Must be
    /// called once a second.
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
