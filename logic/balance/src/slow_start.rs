//! Slow start: a server that has just come up gets little traffic at first.

use std::time::Duration;

use serde::Serialize;
use weir_model::Millis;

use crate::{Hundredths, Portion};

/// Rule by which the weight of a server rises after it came up, and its limit with it.
///
/// This is Envoy's slow start, which has no limit; with an aggression of 1 it is also HAProxy's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SlowStart {
    /// Duration of the rise.
    pub window: Millis,
    /// Shape of the rise, above 0: 1 = in proportion to time; above 1 faster at first, below 1 slower at
    /// first.
    pub aggression: Hundredths,
    /// Initial portion, 1 to 100 percent.
    pub min_percent: u8,
}

impl SlowStart {
    /// Most steps in which the weight rises; each step makes new rosters.
    pub const STEPS: u32 = 20;

    /// Returns the portion of the weight that counts at `up_for` after the server came up.
    ///
    /// It is max(min, (max(t, 1 s) / window)^(1 / aggression)), t being the time of the last step.
    pub fn portion(&self, up_for: Duration) -> Portion {
        let window = self.window.duration();
        if up_for >= window {
            return Portion::WHOLE;
        }
        let since = self.step_length() * self.step(up_for);
        let time_factor = since.max(Duration::from_secs(1)).as_secs_f64() / window.as_secs_f64();
        let rise = time_factor.min(1.0).powf(1.0 / self.aggression.as_f64().max(0.01));
        Portion::share(rise.max(f64::from(self.min_percent) / 100.0)).min(Portion::WHOLE)
    }

    /// Returns the time until the weight rises next; `None` = the weight is whole.
    pub fn next_rise(&self, up_for: Duration) -> Option<Duration> {
        if up_for >= self.window.duration() {
            return None;
        }
        let next = if self.step(up_for) + 1 >= Self::STEPS {
            self.window.duration()
        } else {
            self.step_length() * (self.step(up_for) + 1)
        };
        Some(next.saturating_sub(up_for).max(Duration::from_millis(1)))
    }

    /// Returns the pause between two rises in a pool whose roster took `roster_took` to make.
    ///
    /// It is a step's length, or longer so that making rosters takes at most a tenth of the time. A pool with
    /// an expensive roster, such as a `maglev` table with a million entries, rises in fewer and larger steps.
    pub fn pause(&self, roster_took: Duration) -> Duration {
        const PAUSE_FACTOR: u32 = 10;
        self.step_length().max(roster_took.saturating_mul(PAUSE_FACTOR))
    }

    fn step(&self, up_for: Duration) -> u32 {
        let steps = up_for.as_nanos() / self.step_length().as_nanos().max(1);
        u32::try_from(steps).unwrap_or(u32::MAX).min(Self::STEPS - 1)
    }

    fn step_length(&self) -> Duration {
        self.window.duration() / Self::STEPS
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slow_start(window_ms: u64, aggression: u32, min_percent: u8) -> SlowStart {
        SlowStart { window: Millis(window_ms), aggression: Hundredths(aggression), min_percent }
    }

    #[test]
    fn a_weight_rises_in_proportion_to_the_time() {
        let rule = slow_start(20_000, 100, 10);
        let at = |ms| rule.portion(Duration::from_millis(ms)).as_percent();
        assert_eq!(
            [0, 999, 2_000, 2_999, 5_000, 10_500, 19_999, 20_000].map(at),
            [10, 10, 10, 10, 25, 50, 95, 100]
        );
    }

    #[test]
    fn an_aggression_above_one_is_faster_at_first_and_one_below_slower() {
        let at =
            |aggression| slow_start(100_000, aggression, 1).portion(Duration::from_secs(25)).as_percent();
        assert_eq!([200, 100, 50].map(at), [50, 25, 7]);
    }

    #[test]
    fn rosters_that_are_dear_to_make_are_made_less_often_and_weights_end_whole_all_the_same() {
        let made = |window_ms, took_ms| {
            let rule = slow_start(window_ms, 100, 1);
            let (mut up_for, mut made) = (Duration::ZERO, 1);
            while rule.next_rise(up_for).is_some() {
                up_for += rule.pause(Duration::from_millis(took_ms));
                made += 1;
            }
            assert_eq!(rule.portion(up_for), Portion::WHOLE);
            made
        };
        assert_eq!([0, 1, 10, 100].map(|took_ms| made(20_000, took_ms)), [21; 4]);
        assert_eq!((made(20_000, 200), made(20_000, 1_000)), (11, 3));
        assert_eq!((made(100, 0), made(100, 200)), (21, 2));
        assert_eq!(slow_start(100, 100, 1).pause(Duration::MAX), Duration::MAX);
    }

    proptest! {
        #[test]
        fn portions_follow_envoys_formula_at_each_step_and_end_whole(
            window_ms in 100_u64..10_000_000,
            aggression in 1_u32..1_000,
            min_percent in 1_u8..=100,
        ) {
            let rule = slow_start(window_ms, aggression, min_percent);
            let mut up_for = Duration::ZERO;
            let mut before = 0;
            for step in 0..SlowStart::STEPS {
                let since_s = (window_ms as f64 / 20.0 * f64::from(step) / 1_000.0).max(1.0);
                let factor = (since_s * 1_000.0 / window_ms as f64).min(1.0).powf(100.0 / f64::from(aggression));
                let expected = factor.max(f64::from(min_percent) / 100.0) * 1_000.0;
                let portion = rule.portion(up_for).get();
                prop_assert!((f64::from(portion) - expected.max(1.0)).abs() <= 1.0, "{portion} {expected} in step {step}");
                prop_assert!(portion >= before);
                before = portion;
                let wait = rule.next_rise(up_for);
                prop_assert!(wait.is_some());
                up_for += wait.unwrap_or_default();
            }
            prop_assert_eq!(rule.next_rise(up_for), None);
            prop_assert_eq!(rule.portion(up_for), Portion::WHOLE);
        }
    }
}
