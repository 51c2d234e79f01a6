//! Times at which a fleet fits its forecasts. The steps of all fleets' forecasts end at the same time, and a
//! fit takes a millisecond or more. Each fleet therefore has its own time for it.

use weir_scale::{Policy, Rules};

/// A time in each interval that depends on the fleet's name.
#[derive(Debug, Default)]
pub(super) struct Turn {
    offset: u64,
    last: Option<i64>,
}

/// Maximum interval in seconds, and so the maximum delay of a fit. The interval is also at most a step of the
/// forecast.
const SPAN_MAX_S: u64 = 60;

impl Turn {
    pub(super) fn of(fleet: &str) -> Self {
        // FNV-1a hash, 64 bits.
        let offset = fleet.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self { offset, last: None }
    }

    /// Returns true once in each interval, and at the first call. `wall_s` is the time in seconds since 1970.
    pub(super) fn has_come(&mut self, wall_s: i64, rules: &Rules) -> bool {
        let steps_s = rules.policies.iter().filter_map(|policy| match policy {
            Policy::Predictive(predictive) => Some(predictive.step.as_secs()),
            _ => None,
        });
        let Some(step_s) = steps_s.min() else { return false };
        let span_s = step_s.clamp(1, SPAN_MAX_S);
        let offset_s = (self.offset % span_s) as i64;
        let turn = wall_s.saturating_add(offset_s).div_euclid(span_s as i64);
        self.last.replace(turn) != Some(turn)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_scale::policy::Predictive;

    use super::*;

    fn rules(step_s: u64) -> Rules {
        let predictive = Predictive { step: Duration::from_secs(step_s), ..Predictive::default() };
        Rules { policies: vec![Policy::Predictive(predictive)], ..Rules::by_requests(1, 2, 10.0) }
    }

    #[test]
    fn a_thousand_fleets_do_not_make_their_forecasts_in_the_same_second() {
        let rules = rules(300);
        let mut turns: Vec<Turn> = (0..1_000).map(|number| Turn::of(&format!("fleet-{number}"))).collect();
        let mut second = |wall_s: i64| {
            turns.iter_mut().map(|turn| turn.has_come(wall_s, &rules)).filter(|has_come| *has_come).count()
        };
        assert_eq!(second(599), 1_000, "none of them has any yet");
        let in_turn: Vec<usize> = (600..660).map(second).collect();
        assert_eq!(in_turn.iter().sum::<usize>(), 1_000, "each of them once: {in_turn:?}");
        assert!(in_turn.iter().all(|now| *now < 50), "{in_turn:?}");
    }

    #[test]
    fn no_step_is_left_out_and_who_does_not_forecast_has_no_turn() {
        let times = |rules: &Rules| {
            let mut turn = Turn::of("web");
            (0..100).filter(|second| turn.has_come(*second, rules)).count()
        };
        assert!((10..=11).contains(&times(&rules(10))));
        assert_eq!(times(&Rules::by_requests(1, 2, 10.0)), 0);
    }
}
