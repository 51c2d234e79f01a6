//! Latency figures, with their JSON form.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_stats::Histogram;

/// Distribution of durations.
///
/// Serialized as `{count, sum_us, max_us, p50_us, p90_us, p99_us, buckets: [[up_to_us, count], ...]}` with
/// the buckets that are not empty. An unused one takes no memory for buckets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latency {
    histogram: Option<Box<Histogram>>,
    /// Kept separately, because they are exact and a histogram read back from buckets does not contain them.
    sum_us: u64,
    max_us: u64,
}

impl Latency {
    /// Records `times` values of `us` microseconds.
    pub fn record(&mut self, us: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.histogram.get_or_insert_default().record_many(us, times);
        self.sum_us = self.sum_us.saturating_add(us.saturating_mul(times));
        self.max_us = self.max_us.max(us);
    }

    /// Replaces the sum, if the exact one is known and the values came from buckets.
    pub fn with_sum_us(self, sum_us: u64) -> Self {
        Self { sum_us, ..self }
    }

    /// Replaces the maximum, if the exact one is known and the values came from buckets.
    pub fn with_max_us(self, max_us: u64) -> Self {
        Self { max_us, ..self }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, |histogram| histogram.count())
    }

    /// Returns the sum of all values, in microseconds.
    pub const fn sum_us(&self) -> u64 {
        self.sum_us
    }

    /// Returns the largest value, in microseconds; 0 without values.
    pub const fn max_us(&self) -> u64 {
        self.max_us
    }

    /// Returns the mean, in microseconds.
    pub fn mean_us(&self) -> Option<u64> {
        self.sum_us.checked_div(self.count())
    }

    /// Returns the value that a share `q` (0 to 1) of all values does not exceed, in microseconds.
    pub fn quantile_us(&self, q: f64) -> Option<u64> {
        self.histogram.as_ref()?.quantile(q).map(|us| us.min(self.max_us))
    }

    /// Returns, for each of the ascending `bounds_us`, the number of values that do not exceed it.
    pub fn counts_within(&self, bounds_us: &[u64]) -> Vec<u64> {
        match &self.histogram {
            Some(histogram) => histogram.counts_up_to(bounds_us).collect(),
            None => vec![0; bounds_us.len()],
        }
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if let Some(more) = &other.histogram {
            self.histogram.get_or_insert_default().merge(more);
        }
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
        self.max_us = self.max_us.max(other.max_us);
    }

    /// Returns the values recorded since `earlier`, for quantiles of a short period.
    ///
    /// If the counts were reset in between, it returns everything. The maximum stays that of the whole time.
    pub fn since(&self, earlier: &Self) -> Self {
        let (Some(now), Some(before)) = (&self.histogram, &earlier.histogram) else { return self.clone() };
        let mut recent = Self::default();
        let mut before = before.buckets().peekable();
        for (_, last_us, count) in now.buckets() {
            // Buckets only grow, so each bucket in `before` is also here, unless the counts were reset.
            let earlier_count = match before.peek() {
                Some((_, us, _)) if *us < last_us => return self.clone(),
                Some((_, us, count)) if *us == last_us => *count,
                _ => 0,
            };
            if earlier_count > count {
                return self.clone();
            }
            if earlier_count > 0 {
                before.next();
            }
            recent.record(last_us, count - earlier_count);
        }
        if before.next().is_some() {
            return self.clone();
        }
        if recent.histogram.is_none() {
            return Self::default();
        }
        recent.with_sum_us(self.sum_us.saturating_sub(earlier.sum_us)).with_max_us(self.max_us)
    }
}

impl From<Histogram> for Latency {
    fn from(histogram: Histogram) -> Self {
        let (sum_us, max_us) = (histogram.sum(), histogram.max());
        let histogram = (histogram.count() > 0).then(|| Box::new(histogram));
        Self { histogram, sum_us, max_us }
    }
}

/// JSON form. The quantiles are for readers; reading back recomputes them.
#[derive(Serialize, Deserialize)]
struct Shown {
    count: u64,
    sum_us: u64,
    max_us: u64,
    #[serde(skip_deserializing)]
    p50_us: Option<u64>,
    #[serde(skip_deserializing)]
    p90_us: Option<u64>,
    #[serde(skip_deserializing)]
    p99_us: Option<u64>,
    buckets: Vec<(u64, u64)>,
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let buckets = self.histogram.iter().flat_map(|histogram| histogram.buckets());
        Shown {
            count: self.count(),
            sum_us: self.sum_us,
            max_us: self.max_us,
            p50_us: self.quantile_us(0.5),
            p90_us: self.quantile_us(0.9),
            p99_us: self.quantile_us(0.99),
            buckets: buckets.map(|(_, last_us, count)| (last_us, count)).collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let shown = Shown::deserialize(deserializer)?;
        let mut latency = Self::default();
        for (last_us, count) in shown.buckets {
            latency.record(last_us, count);
        }
        Ok(latency.with_sum_us(shown.sum_us).with_max_us(shown.max_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Latency {
        let mut latency = Latency::default();
        values.iter().for_each(|us| latency.record(*us, 1));
        latency
    }

    #[test]
    fn what_was_counted_elsewhere_is_taken_over() {
        let mut histogram = Histogram::default();
        [90, 100, 5_000].into_iter().for_each(|us| histogram.record(us));
        let latency = Latency::from(histogram);
        assert_eq!((latency.count(), latency.sum_us(), latency.max_us()), (3, 5_190, 5_000));
        assert_eq!(latency.mean_us(), Some(1_730));
        assert_eq!(latency.counts_within(&[10, 1_000, 10_000]), [0, 2, 3]);
        assert_eq!(Latency::from(Histogram::default()), Latency::default());
    }

    #[test]
    fn nothing_counted_is_nothing_known() {
        let empty = Latency::default();
        assert_eq!((empty.count(), empty.mean_us(), empty.quantile_us(0.5)), (0, None, None));
        assert_eq!(empty.counts_within(&[1, 2]), [0, 0]);
    }

    #[test]
    fn what_came_since_then_is_the_difference() {
        let earlier = of(&[100, 100, 7]);
        let mut now = earlier.clone();
        now.merge(&of(&[5_000, 7]));
        let recent = now.since(&earlier);
        assert_eq!((recent.count(), recent.sum_us()), (2, 5_007));
        assert_eq!(recent.quantile_us(0.5), Some(7));
        assert_eq!(now.since(&now), Latency::default());
        assert_eq!(now.since(&Latency::default()), now);
    }

    #[test]
    fn after_a_restart_everything_is_new() {
        let earlier = of(&[100, 100, 5_000]);
        for now in [of(&[100]), of(&[100, 100]), of(&[7]), of(&[9_000, 9_000]), Latency::default()] {
            assert_eq!(now.since(&earlier), now);
        }
    }

    #[test]
    fn json_shows_quantiles_and_reads_back_as_the_same_json() {
        let latency = of(&[100, 2_000, 2_001, 3_000_000]);
        let json = serde_json::to_value(&latency).unwrap();
        assert_eq!((json["count"].as_u64(), json["max_us"].as_u64()), (Some(4), Some(3_000_000)));
        let p50 = json["p50_us"].as_u64().unwrap();
        assert!((1_800..2_200).contains(&p50), "{json}");
        assert_eq!(json["buckets"].as_array().unwrap().len(), 3, "{json}");
        let read: Latency = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), json);
        assert_eq!(serde_json::to_value(Latency::default()).unwrap()["buckets"], serde_json::json!([]));
    }
}
