//! Collects the requests of a short time into one sample.

/// Collects requests until there are enough to judge: at least 0.1 seconds and ten requests.
#[derive(Debug, Clone, Default)]
pub(super) struct Window {
    began_us: Option<u64>,
    requests: u32,
    failures: u32,
    latency_sum_us: f64,
    in_flight_max: u32,
}

/// The collected figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub(super) requests: u32,
    pub(super) failures: u32,
    /// Mean latency of the requests that did not fail; `None` = all failed.
    pub(super) mean_us: Option<f64>,
    pub(super) in_flight_max: u32,
}

impl Window {
    const LENGTH_US: u64 = 100_000;
    const REQUESTS_MIN: u32 = 10;
    /// Time after which fewer requests are enough, so that a slow server is judged as well.
    const LENGTH_MAX_US: u64 = 1_000_000;

    pub(super) fn add(
        &mut self,
        now_us: u64,
        latency_us: u64,
        in_flight: u32,
        failed: bool,
    ) -> Option<Sample> {
        let began_us = *self.began_us.get_or_insert(now_us);
        self.requests = self.requests.saturating_add(1);
        self.failures = self.failures.saturating_add(failed.into());
        // A server that refuses requests at once is not fast.
        if !failed {
            self.latency_sum_us += latency_us as f64;
        }
        self.in_flight_max = self.in_flight_max.max(in_flight);
        let age_us = now_us.saturating_sub(began_us);
        let is_full = age_us >= Self::LENGTH_US && self.requests >= Self::REQUESTS_MIN;
        if !is_full && age_us < Self::LENGTH_MAX_US {
            return None;
        }
        let full = std::mem::take(self);
        let served =
            Some(f64::from(full.requests.saturating_sub(full.failures))).filter(|served| *served > 0.0);
        Some(Sample {
            requests: full.requests,
            failures: full.failures,
            mean_us: served.map(|served| full.latency_sum_us / served),
            in_flight_max: full.in_flight_max,
        })
    }
}
