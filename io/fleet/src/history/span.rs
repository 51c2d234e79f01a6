//! What came between two rows of a history: a look every second, and a row every ten seconds or more seldom.

use std::time::Duration;

use weir_scale::history::Row;

/// The looks since the last row.
#[derive(Debug, Default)]
pub(super) struct Span {
    /// When the last look was.
    looked: Option<Duration>,
    requests: Option<u64>,
    rate: Mean,
    demand: Mean,
}

/// A mean by time.
#[derive(Debug, Default, Clone, Copy)]
struct Mean {
    sum: f64,
    seconds: f64,
}

impl Span {
    /// Takes in a look.
    pub(super) fn look(&mut self, at: Duration, row: &Row) {
        let seconds = self.looked.map_or(0.0, |before| at.saturating_sub(before).as_secs_f64());
        self.looked = Some(at);
        if let Some(requests) = row.requests {
            self.requests = Some(self.requests.unwrap_or(0).saturating_add(requests));
        }
        self.rate.add(row.rate_per_s, seconds);
        self.demand.add(row.demand, seconds);
    }

    /// The latest look as a row for all of them: requests are their sum, rate and demand their means by time. Begins the next
    /// span.
    pub(super) fn end(&mut self, latest: &Row) -> Row {
        let row = Row {
            requests: self.requests,
            rate_per_s: self.rate.of(latest.rate_per_s),
            demand: self.demand.of(latest.demand),
            ..latest.clone()
        };
        *self = Self { looked: self.looked, ..Self::default() };
        row
    }
}

impl Mean {
    /// A value that counts for the time since the look before.
    fn add(&mut self, value: Option<f64>, seconds: f64) {
        if let Some(value) = value {
            self.sum += value * seconds;
            self.seconds += seconds;
        }
    }

    /// Without time the latest value is all there is.
    fn of(self, latest: Option<f64>) -> Option<f64> {
        if self.seconds > 0.0 { Some(self.sum / self.seconds) } else { latest }
    }
}
