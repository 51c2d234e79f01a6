//! Windows of recent values.

use std::collections::VecDeque;
use std::time::Duration;

/// Statistic over the values of a window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Statistic {
    /// The mean.
    #[default]
    Mean,
    /// The maximum.
    Max,
    /// The percentile of this share, 0 to 1 (nearest rank).
    Percentile(f64),
}

/// Recent values.
#[derive(Debug, Clone)]
pub struct Window {
    span: Duration,
    values: VecDeque<(Duration, f64)>,
}

impl Window {
    /// Maximum number of values; a window with more drops the oldest ones early.
    pub const VALUES_MAX: usize = 4096;

    /// Creates a window of the last `span`; 0 = the latest value only.
    pub const fn new(span: Duration) -> Self {
        Self { span, values: VecDeque::new() }
    }

    /// Adds a value.
    pub fn push(&mut self, at: Duration, value: f64) {
        self.values.push_back((at, value));
        self.forget(at);
    }

    /// Returns the statistic at `now`; `None` = no value yet.
    pub fn value(&mut self, now: Duration, statistic: Statistic) -> Option<f64> {
        self.forget(now);
        let newest = self.values.back()?.1;
        if self.values.len() == 1 {
            return Some(newest);
        }
        let values = self.values.iter().map(|(_, value)| *value);
        Some(match statistic {
            Statistic::Mean => values.sum::<f64>() / self.values.len() as f64,
            Statistic::Max => values.fold(f64::NEG_INFINITY, f64::max),
            Statistic::Percentile(share) => {
                let mut sorted: Vec<f64> = values.collect();
                let rank = (share.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
                let at = rank.clamp(1, sorted.len()) - 1;
                *sorted.select_nth_unstable_by(at, f64::total_cmp).1
            }
        })
    }

    /// Removes old values, but keeps the latest at any age: callers decide if it is too old.
    fn forget(&mut self, now: Duration) {
        let is_over = |at: Duration| now.saturating_sub(at) >= self.span;
        while self.values.len() > 1
            && (self.values.len() > Self::VALUES_MAX
                || self.values.front().is_some_and(|(at, _)| is_over(*at)))
        {
            self.values.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(values: &[f64]) -> Window {
        let mut window = Window::new(Duration::from_secs(5));
        for (at, value) in values.iter().enumerate() {
            window.push(Duration::from_secs(at as u64), *value);
        }
        window
    }

    #[test]
    fn it_knows_mean_max_and_percentiles_of_what_is_not_over() {
        let mut window = window(&[100.0, 1.0, 2.0, 3.0, 4.0, 10.0]);
        let mut value = |statistic| window.value(Duration::from_secs(5), statistic);
        assert_eq!(value(Statistic::Mean), Some(4.0));
        assert_eq!(value(Statistic::Max), Some(10.0));
        assert_eq!(value(Statistic::Percentile(0.8)), Some(4.0));
        assert_eq!(value(Statistic::Percentile(0.0)), Some(1.0));
    }

    #[test]
    fn without_a_span_the_latest_value_counts() {
        let mut window = Window::new(Duration::ZERO);
        window.push(Duration::from_secs(1), 7.0);
        window.push(Duration::from_secs(2), 3.0);
        assert_eq!(window.value(Duration::from_secs(9), Statistic::Max), Some(3.0));
    }

    #[test]
    fn its_memory_is_bounded() {
        let mut window = Window::new(Duration::MAX);
        for at in 0..10_000 {
            window.push(Duration::from_millis(at), 1.0);
        }
        assert_eq!(window.values.len(), Window::VALUES_MAX);
    }
}
