//! Statistics of a run over time.

use serde::Serialize;
use weir_stats::{Histogram, Resolution};

use crate::record::Record;

/// Run in windows of equal length, at most [`Windows::COUNT_MAX`]. When there would be more, pairs of windows
/// are merged.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    width_ns: u64,
    windows: Vec<Window>,
}

/// One window.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// Requests that were due in the window.
    pub(crate) due: u64,
    /// Requests due in the window that failed or got an unexpected status.
    pub(crate) failed: u64,
    /// Responses that completed in the window.
    pub(crate) answered: u64,
    /// Latencies from the due time, in microseconds, of answered requests that were due in the window.
    pub(crate) latencies: Histogram,
}

/// One window in a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moment {
    /// Begin of the window, in seconds.
    pub at_s: f64,
    /// Requests due per second.
    pub due_per_s: f64,
    /// Answers per second.
    pub answered_per_s: f64,
    /// Requests due in the window that failed.
    pub failed: u64,
    /// Median latency of requests due in the window, in microseconds; `None` = no response.
    pub p50_us: Option<u64>,
    /// 99th percentile of the latency, in microseconds.
    pub p99_us: Option<u64>,
    /// Longest latency, in microseconds.
    pub max_us: Option<u64>,
}

impl Windows {
    const COUNT_MAX: usize = 600;

    pub(crate) fn new() -> Self {
        Self { width_ns: 100_000_000, windows: Vec::new() }
    }

    pub(crate) fn add(&mut self, record: &Record, is_success: bool) {
        let due = self.at(record.due_ns);
        due.due += 1;
        due.failed += u64::from(!is_success);
        if record.fault.is_none() {
            due.latencies.record(record.latency_ns() / 1_000);
            self.at(record.end_ns).answered += 1;
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        while other.width_ns < self.width_ns {
            other.double();
        }
        while self.width_ns < other.width_ns {
            self.double();
        }
        for (at, theirs) in other.windows.iter().enumerate() {
            let mine = self.at(at as u64 * other.width_ns);
            mine.due += theirs.due;
            mine.failed += theirs.failed;
            mine.answered += theirs.answered;
            mine.latencies.merge(&theirs.latencies);
        }
    }

    pub(crate) fn moments(&self) -> Vec<Moment> {
        let width_s = self.width_ns as f64 / 1e9;
        let moment = |(at, window): (usize, &Window)| Moment {
            at_s: at as f64 * width_s,
            due_per_s: window.due as f64 / width_s,
            answered_per_s: window.answered as f64 / width_s,
            failed: window.failed,
            p50_us: window.latencies.quantile(0.5),
            p99_us: window.latencies.quantile(0.99),
            max_us: (window.latencies.count() > 0).then(|| window.latencies.max()),
        };
        self.windows.iter().enumerate().map(moment).collect()
    }

    fn at(&mut self, time_ns: u64) -> &mut Window {
        while time_ns / self.width_ns >= Self::COUNT_MAX as u64 {
            self.double();
        }
        let at = (time_ns / self.width_ns) as usize;
        if at >= self.windows.len() {
            self.windows.resize_with(at + 1, Window::new);
        }
        &mut self.windows[at]
    }

    fn double(&mut self) {
        self.width_ns *= 2;
        let mut halves = std::mem::take(&mut self.windows).into_iter();
        while let Some(mut first) = halves.next() {
            if let Some(second) = halves.next() {
                first.due += second.due;
                first.failed += second.failed;
                first.answered += second.answered;
                first.latencies.merge(&second.latencies);
            }
            self.windows.push(first);
        }
    }
}

impl Window {
    fn new() -> Self {
        Self { due: 0, failed: 0, answered: 0, latencies: Histogram::new(Resolution::Fine) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(due_ns: u64, latency_ns: u64) -> Record {
        Record { due_ns, start_ns: due_ns, end_ns: due_ns + latency_ns, status: 200, ..Record::default() }
    }

    #[test]
    fn a_long_run_has_wider_windows_and_loses_nothing() {
        let mut windows = Windows::new();
        for second in 0..1_000 {
            windows.add(&record(second * 1_000_000_000, 2_000_000), true);
        }
        assert!(windows.windows.len() <= Windows::COUNT_MAX);
        assert_eq!(windows.windows.iter().map(|window| window.due).sum::<u64>(), 1_000);
        assert_eq!(windows.windows.iter().map(|window| window.answered).sum::<u64>(), 1_000);
        assert_eq!(windows.width_ns, 3_200_000_000);
    }

    #[test]
    fn windows_of_two_threads_are_put_together_whatever_their_widths() {
        let (mut short, mut long) = (Windows::new(), Windows::new());
        short.add(&record(50_000_000, 1_000_000), true);
        long.add(&record(50_000_000, 1_000_000), false);
        long.add(&record(100_000_000_000, 1_000_000), true);
        short.merge(&long);
        assert_eq!((short.windows[0].due, short.windows[0].failed), (2, 1));
        assert_eq!(short.windows.iter().map(|window| window.due).sum::<u64>(), 3);
    }
}
