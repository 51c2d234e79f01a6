//! Damping of oscillation between more and fewer servers.

use std::time::Duration;

/// Patience that grows with each change that is soon reversed.
///
/// A change is in vain if the opposite change follows within the start-up time of a server. Each one makes
/// the policy more patient. One of them is forgotten every ten start-up times.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Damping {
    /// Recent changes in vain; fractional while they are being forgotten.
    in_vain: f64,
    changed: Option<(Duration, bool)>,
    looked: Duration,
}

/// Maximum number of changes in vain that count.
const IN_VAIN_MAX: f64 = 4.0;
/// Factors of patience for each change in vain. Removing servers too late only costs money, so patience for
/// removal grows faster.
const UP_GROWTH: f64 = 1.5;
const DOWN_GROWTH: f64 = 1.75;
/// Start-up times after which one change in vain is forgotten.
const FORGOTTEN_IN: f64 = 10.0;
/// Minimum start-up time in the calculation: changes have a cost even if servers start at once.
const START_UP_MIN: Duration = Duration::from_secs(10);

/// Factors by which the policy is more patient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Patience {
    pub(super) up: f64,
    pub(super) down: f64,
}

impl Patience {
    /// Patience as configured.
    pub(super) const ONE: Self = Self { up: 1.0, down: 1.0 };
}

impl Damping {
    /// Returns the present patience.
    pub(super) fn patience(&mut self, now: Duration, start_up: Duration) -> Patience {
        let passed = now.saturating_sub(self.looked).as_secs_f64();
        self.looked = now;
        let forgotten = passed / (start_up.max(START_UP_MIN).as_secs_f64() * FORGOTTEN_IN);
        self.in_vain = (self.in_vain - forgotten).max(0.0);
        Patience { up: UP_GROWTH.powf(self.in_vain), down: DOWN_GROWTH.powf(self.in_vain) }
    }

    /// Records a change of the wanted number.
    pub(super) fn note(&mut self, now: Duration, before: u32, wanted: u32, start_up: Duration) {
        let is_up = wanted > before;
        let start_up = start_up.max(START_UP_MIN);
        if let Some((at, was_up)) = self.changed
            && was_up != is_up
            && now.saturating_sub(at) < start_up
        {
            self.in_vain = (self.in_vain + 1.0).min(IN_VAIN_MAX);
        }
        self.changed = Some((now, is_up));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START_UP: Duration = Duration::from_secs(60);

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn back_and_forth_makes_patient_and_quiet_forgets() {
        let mut damping = Damping::default();
        damping.note(s(0), 2, 5, START_UP);
        assert_eq!(damping.patience(s(0), START_UP), Patience::ONE);
        for (at, before, wanted) in [(3, 5, 2), (6, 2, 5), (9, 5, 2), (12, 2, 5), (15, 5, 2), (18, 2, 5)] {
            damping.note(s(at), before, wanted, START_UP);
        }
        let Patience { up, down } = damping.patience(s(19), START_UP);
        assert!((4.8..=5.1).contains(&up) && (8.8..=9.4).contains(&down), "{up} {down}");
        assert_eq!(damping.patience(s(19 + 4 * 600), START_UP), Patience::ONE);
    }

    #[test]
    fn a_rise_and_a_fall_that_were_both_worth_it_change_nothing() {
        let mut damping = Damping::default();
        for (at, before, wanted) in [(0, 2, 5), (600, 5, 9), (1_200, 9, 2), (1_900, 2, 4)] {
            damping.note(s(at), before, wanted, START_UP);
        }
        assert_eq!(damping.patience(s(1_900), START_UP), Patience::ONE);
    }
}
