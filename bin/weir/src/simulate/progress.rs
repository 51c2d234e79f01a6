//! Reports the progress of a simulation.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use weir_config::simulation::Scenario;

/// Reports progress on standard error: every 200 ms on a terminal, every 15 s otherwise.
#[derive(Debug)]
pub(super) struct Progress {
    begun: Instant,
    runs: u64,
    runs_done: AtomicU64,
    /// Total of requests. `None` if the length of the log is not known.
    requests: Option<u64>,
    requests_done: AtomicU64,
    is_terminal: bool,
    told: Mutex<Option<Instant>>,
}

impl Progress {
    /// Interval at which the caller should call [`Progress::show`].
    pub(super) const PERIOD: Duration = Duration::from_millis(20);
    const ON_TERMINAL: Duration = Duration::from_millis(200);
    const ELSEWHERE: Duration = Duration::from_secs(15);

    pub(super) fn new(scenario: &Scenario, is_terminal: bool) -> Self {
        let runs = scenario.algorithms.len() as u64 * u64::from(scenario.seeds);
        Self {
            begun: Instant::now(),
            runs,
            runs_done: AtomicU64::new(0),
            requests: scenario.requests.map(|requests| requests.saturating_mul(runs)),
            requests_done: AtomicU64::new(0),
            is_terminal,
            told: Mutex::new(None),
        }
    }

    pub(super) fn one_is_done(&self) {
        self.runs_done.fetch_add(1, Relaxed);
    }

    pub(super) fn requests_are_done(&self, requests: u64) {
        self.requests_done.fetch_add(requests, Relaxed);
    }

    /// Prints the progress if the last report is long enough ago.
    pub(super) fn show(&self) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = if self.is_terminal { Self::ON_TERMINAL } else { Self::ELSEWHERE };
        if told.unwrap_or(self.begun).elapsed() < pause {
            return;
        }
        *told = Some(Instant::now());
        let text = self.text(self.begun.elapsed());
        // Ignores a closed standard error.
        let _ = match self.is_terminal {
            true => write!(io::stderr(), "\r\u{1b}[K{text}"),
            false => writeln!(io::stderr(), "{text}"),
        };
    }

    /// Clears the line.
    pub(super) fn clear(&self) {
        let was_told = self.told.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if self.is_terminal && was_told {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }

    fn text(&self, passed: Duration) -> String {
        let done = self.requests_done.load(Relaxed);
        let runs = format!("{} of {} runs", self.runs_done.load(Relaxed), self.runs);
        match self.requests.filter(|requests| *requests > 0) {
            Some(requests) => {
                let share = (done as f64 / requests as f64).min(1.0);
                let left = if share > 0.01 {
                    format!(", about {:.0} s left", passed.as_secs_f64() * (1.0 - share) / share)
                } else {
                    String::new()
                };
                format!("simulating: {:.0}%, {runs}{left}", share * 100.0)
            }
            None => format!("simulating: {runs}, {done} requests"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tells_how_much_is_done_and_how_long_it_will_take() {
        let progress =
            Progress::new(&Scenario { seeds: 2, requests: Some(100), ..Scenario::default() }, false);
        let runs = progress.runs;
        assert_eq!(progress.text(Duration::from_secs(1)), format!("simulating: 0%, 0 of {runs} runs"));
        progress.requests_are_done(runs * 100 / 4);
        progress.one_is_done();
        let text = progress.text(Duration::from_secs(10));
        assert_eq!(text, format!("simulating: 25%, 1 of {runs} runs, about 30 s left"));
    }

    #[test]
    fn a_log_of_unknown_length_is_counted() {
        let scenario = Scenario {
            seeds: 1,
            requests: None,
            algorithms: vec![Default::default()],
            ..Scenario::default()
        };
        let progress = Progress::new(&scenario, false);
        progress.requests_are_done(7);
        assert_eq!(progress.text(Duration::from_secs(1)), "simulating: 0 of 1 runs, 7 requests");
    }
}
