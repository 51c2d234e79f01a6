//! NGINX's moving average of times.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// NGINX's moving average of times in whole milliseconds (ngx_http_upstream_response_time_avg).
///
/// Each new time counts a twentieth, rounded half up; the first one counts in full. 0 = no measurement, or
/// less than a millisecond.
#[derive(Debug, Default)]
pub(crate) struct Average(AtomicU32);

impl Average {
    pub(crate) fn add(&self, ms: u64) {
        self.add_times(ms, 1);
    }

    /// Adds a time that is only known to be at least `ms`. It is ignored if it does not exceed the average.
    pub(crate) fn add_at_least(&self, ms: u64) {
        let longer = |average: u32| (ms > u64::from(average)).then(|| after(average, ms, 1));
        let _ = self.0.fetch_update(Relaxed, Relaxed, longer);
    }

    /// Adds `ms` this many times, except for the intermediate rounding.
    pub(crate) fn add_times(&self, ms: u64, times: u32) {
        // Without rounding, the average would stop a few milliseconds short of a constant value.
        let _ = self.0.fetch_update(Relaxed, Relaxed, |average| Some(after(average, ms, times)));
    }

    /// Returns the average in milliseconds.
    pub(crate) fn ms(&self) -> u64 {
        self.0.load(Relaxed).into()
    }
}

fn after(average: u32, ms: u64, times: u32) -> u32 {
    const SHARE: f64 = 0.05;
    let ms = ms.min(u32::MAX.into()) as f64;
    match (average, times) {
        (_, 0) => average,
        (0, _) => ms as u32,
        (average, 1) => (0.5 + (ms * SHARE + f64::from(average) * (1.0 - SHARE))) as u32,
        (average, times) => {
            let kept = (1.0 - SHARE).powi(times.min(10_000) as i32);
            (0.5 + (ms * (1.0 - kept) + f64::from(average) * kept)) as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_time_counts_a_twentieth_and_the_first_one_all() {
        let average = Average::default();
        let mut expected = Vec::new();
        for ms in [100, 200, 0, 0, 7_000] {
            average.add(ms);
            expected.push(average.ms());
        }
        // Computed by hand: 100; 10 + 95 = 105; 99.75 -> 100; 95; 350 + 90.25 = 440.25.
        assert_eq!(expected, [100, 105, 100, 95, 440]);
    }

    #[test]
    fn many_at_once_come_out_as_many_one_by_one() {
        let (at_once, one_by_one) = (Average::default(), Average::default());
        at_once.add(50_000);
        one_by_one.add(50_000);
        at_once.add_times(1_000, 30);
        (0..30).for_each(|_| one_by_one.add(1_000));
        assert!(at_once.ms().abs_diff(one_by_one.ms()) <= 10, "{at_once:?} {one_by_one:?}");
        at_once.add_times(3, 0);
        assert!(at_once.ms() > 10_000, "nothing was added");
    }

    #[test]
    fn a_time_of_at_least_so_much_counts_only_above_the_average() {
        let average = Average::default();
        average.add_at_least(100);
        average.add_at_least(40);
        assert_eq!(average.ms(), 100);
        average.add_at_least(300);
        assert_eq!(average.ms(), 110);
    }

    #[test]
    fn absurd_times_do_no_harm() {
        let average = Average::default();
        average.add(u64::MAX);
        average.add(u64::MAX);
        assert_eq!(average.ms(), u32::MAX.into());
        average.add_times(0, u32::MAX);
        assert_eq!(average.ms(), 0);
    }
}
