//! Summary of the looks between two rows of a history: a look takes place every second, a row every ten
//! seconds or less often.

use std::time::Duration;

use weir_scale::history::Row;

/// Looks since the last row.
#[derive(Debug, Default)]
pub(super) struct Span {
    /// Time of the last look.
    looked: Option<Duration>,
    requests: Option<u64>,
    rate: Spread,
    demand: Spread,
    needed: Spread,
    /// Distinct alarms of the looks.
    alarms: Vec<String>,
}

/// Mean over time, and maximum.
#[derive(Debug, Default, Clone, Copy)]
struct Spread {
    sum: f64,
    seconds: f64,
    peak: Option<f64>,
}

/// Maximum number of alarms in a row, which is one line of a file.
const ALARMS_MAX: usize = 4;

impl Span {
    /// Adds a look.
    pub(super) fn look(&mut self, at: Duration, row: &Row) {
        let seconds = self.looked.map_or(0.0, |before| at.saturating_sub(before).as_secs_f64());
        self.looked = Some(at);
        if let Some(requests) = row.requests {
            self.requests = Some(self.requests.unwrap_or(0).saturating_add(requests));
        }
        self.rate.add(row.rate_per_s, seconds);
        self.demand.add(row.demand, seconds);
        self.needed.add(Some(f64::from(row.needed)), seconds);
        // Alarms that differ only in numbers are one alarm.
        let plain = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
        let is_told = || self.alarms.iter().any(|told| plain(told) == plain(&row.alarms));
        if !row.alarms.is_empty() && self.alarms.len() < ALARMS_MAX && !is_told() {
            self.alarms.push(row.alarms.clone());
        }
    }

    /// Returns one row for all looks: the sum of the requests, and the mean by time and the peak of rate,
    /// demand and needed servers. Starts the next span.
    pub(super) fn end(&mut self, latest: &Row) -> Row {
        let row = Row {
            requests: self.requests,
            rate_per_s: self.rate.of(latest.rate_per_s),
            demand: self.demand.of(latest.demand),
            rate_peak_per_s: self.rate.peak,
            demand_peak: self.demand.peak,
            needed_mean: self.needed.of(Some(f64::from(latest.needed))),
            needed_peak: self.needed.peak.map(|peak| peak as u32),
            alarms: self.alarms.join("; "),
            ..latest.clone()
        };
        *self = Self { looked: self.looked, ..Self::default() };
        row
    }
}

impl Spread {
    /// Adds a value that applies to the time since the previous look.
    fn add(&mut self, value: Option<f64>, seconds: f64) {
        if let Some(value) = value {
            self.peak = Some(self.peak.map_or(value, |peak| peak.max(value)));
            self.sum += value * seconds;
            self.seconds += seconds;
        }
    }

    /// Returns the mean over time, or the latest value if no time has passed.
    fn of(self, latest: Option<f64>) -> Option<f64> {
        if self.seconds > 0.0 { Some(thousandths(self.sum / self.seconds)) } else { latest }
    }
}

fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
