//! The latency of a server without load, measured from time to time.

/// Latency of the server without load: the smallest latency of the last 30 to 60 seconds.
///
/// Every 30 seconds it is measured again at half the limit.
#[derive(Debug, Clone, Default)]
pub(super) struct Baseline {
    /// Smallest latency in this half minute; the next field holds that of the half minute before.
    smallest_us: Option<f64>,
    smallest_before_us: Option<f64>,
    half_began_us: Option<u64>,
    /// Remaining windows to measure at half the limit. The first of them lets requests end that began before.
    measuring: u8,
}

const HALF_US: u64 = 30_000_000;
const MEASURED_WINDOWS: u8 = 3;

impl Baseline {
    /// Returns true if the limit must be halved right now.
    pub(super) fn is_being_measured(&self) -> bool {
        self.measuring > 0
    }

    /// Adds the mean latency of a window. Returns the latency without load.
    pub(super) fn learn(&mut self, now_us: u64, mean_us: f64) -> f64 {
        let began_us = *self.half_began_us.get_or_insert(now_us);
        if self.measuring > 0 {
            self.measuring -= 1;
        } else if now_us.saturating_sub(began_us) >= HALF_US {
            self.smallest_before_us = self.smallest_us.take();
            self.half_began_us = Some(now_us);
            self.measuring = MEASURED_WINDOWS;
        }
        let smallest_us = self.smallest_us.map_or(mean_us, |smallest| smallest.min(mean_us));
        self.smallest_us = Some(smallest_us);
        self.smallest_before_us.map_or(smallest_us, |before| before.min(smallest_us))
    }
}
