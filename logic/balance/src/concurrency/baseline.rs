/// The latency of the server without load: the smallest of the last half minute to minute, measured anew at half the
/// limit every half minute.
#[derive(Debug, Clone, Default)]
pub(super) struct Baseline {
    /// The smallest of this half minute, and of the one before.
    smallest_us: Option<f64>,
    smallest_before_us: Option<f64>,
    half_began_us: Option<u64>,
    /// Windows that are still to be measured at half the limit. The first one lets requests end that began before.
    measuring: u8,
}

const HALF_US: u64 = 30_000_000;
const MEASURED_WINDOWS: u8 = 3;

impl Baseline {
    /// Whether the limit is to be halved right now.
    pub(super) fn is_being_measured(&self) -> bool {
        self.measuring > 0
    }

    /// Takes in the mean latency of a window; returns the latency without load.
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
