//! Plausibility of measurements, by recent values.
//!
//! A single absurd value must not order servers, and a stopped counter must not remove any. The last accepted
//! value counts instead until the new level has lasted. Ordinary noise is left to the policies.

use std::collections::VecDeque;
use std::time::Duration;

/// Recent accepted values of one signal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plausibility {
    /// The newest last.
    recent: VecDeque<f64>,
    doubted: Option<Doubted>,
}

/// A series of rejected values.
#[derive(Debug, Clone, Copy)]
struct Doubted {
    doubt: Doubt,
    /// Time of the last accepted value, and of the first rejected one.
    before: Duration,
    since: Duration,
    looks: u32,
}

/// Reason to reject a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// Far above recent values, and above the capacity of the largest permitted fleet.
    Jump,
    /// A steadily growing counter stands still.
    Standstill,
}

/// A value with its context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) at: Duration,
    pub(crate) value: f64,
    /// Time since the last look, for the rate of a counter.
    pub(crate) gap: Option<Duration>,
    /// Capacity of the largest permitted fleet.
    pub(crate) most: f64,
    pub(crate) elsewhere: Elsewhere,
    /// Duration after which a new level is accepted.
    pub(crate) lasts: Duration,
}

/// Evidence from the other values of the sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    /// Requests are under way or queued.
    pub(crate) is_busy: bool,
    /// Other values changed, so the source works.
    pub(crate) moves: bool,
}

/// Result of a judgement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Verdict {
    /// The value to use.
    Believed(f64),
    /// The last accepted value stays in use.
    Doubted(Doubt),
}

/// Number of recent values.
const RECENT_MAX: usize = 30;
/// Number of values whose second least one is the steady rate of a counter.
const STEADY: usize = 6;
/// Factor above the recent peak that makes a value a jump.
const JUMP: f64 = 10.0;
/// A jump is accepted at this look, so that a real one is answered two looks late.
const JUMP_LOOKS: u32 = 3;
/// Expected count from which a count of zero is a standstill. At 10, chance gives zero once in 22,000 looks.
/// Without requests under way an end of traffic is likely, so the limit is higher.
const DUE_BUSY: f64 = 10.0;
const DUE_IDLE: f64 = 100.0;
/// Factor for the duration of a standstill while requests are under way.
const BUSY_LASTS: u32 = 4;

impl Plausibility {
    /// Accepts or rejects a value.
    pub(crate) fn judge(&mut self, mut measured: Measured) -> Verdict {
        let before = self.doubted.take();
        if let Some(Doubted { doubt: Doubt::Standstill, before, .. }) = before {
            // The count of the whole standstill may arrive at once.
            measured.value = spread(&measured, before);
            if measured.value > 0.0 {
                // The counter works: further gaps of the same kind are bursts.
                self.recent.extend([0.0; 2]);
            }
        }
        let Some(doubt) = self.doubt(&measured) else { return self.believe(measured.value) };
        let new = || {
            let gap = measured.gap.unwrap_or_default();
            Doubted { doubt, before: measured.at.saturating_sub(gap), since: measured.at, looks: 0 }
        };
        let mut doubted = before.filter(|before| before.doubt == doubt).unwrap_or_else(new);
        doubted.looks += 1;
        if doubted.has_lasted(&measured) {
            self.recent.clear();
            return self.believe(measured.value);
        }
        self.doubted = Some(doubted);
        Verdict::Doubted(doubt)
    }

    /// Returns the reason to reject a value, if there is one.
    fn doubt(&self, measured: &Measured) -> Option<Doubt> {
        let peak = self.peak()?;
        if measured.value > peak * JUMP && measured.value > measured.most {
            return Some(Doubt::Jump);
        }
        let gap_s = measured.gap?.as_secs_f64();
        let due = if measured.elsewhere.is_busy { DUE_BUSY } else { DUE_IDLE };
        let stands_still = measured.value <= 0.0 && !measured.elsewhere.moves;
        (stands_still && self.steady() * gap_s >= due).then_some(Doubt::Standstill)
    }

    fn believe(&mut self, value: f64) -> Verdict {
        while self.recent.len() >= RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(value);
        Verdict::Believed(value)
    }

    /// Returns the highest recent value; `None` = no value yet.
    pub(crate) fn peak(&self) -> Option<f64> {
        self.recent.iter().copied().reduce(f64::max)
    }

    /// Returns the steady rate: the second least of the latest values, or 0 if there are too few. A counter
    /// that stops between two looks leaves one value that is too small.
    fn steady(&self) -> f64 {
        let mut latest: [f64; STEADY] = [0.0; STEADY];
        for (slot, value) in latest.iter_mut().zip(self.recent.iter().rev()) {
            *slot = *value;
        }
        latest.sort_by(f64::total_cmp);
        latest[1]
    }
}

impl Doubted {
    /// Returns true if the new level is to be accepted.
    fn has_lasted(&self, measured: &Measured) -> bool {
        let span = measured.at.saturating_sub(self.since);
        match self.doubt {
            Doubt::Jump => self.looks >= JUMP_LOOKS || self.looks > 1 && span >= measured.lasts,
            Doubt::Standstill if measured.elsewhere.is_busy => {
                span >= measured.lasts.saturating_mul(BUSY_LASTS)
            }
            Doubt::Standstill => span >= measured.lasts,
        }
    }
}

/// Returns the mean rate since `before`.
fn spread(measured: &Measured, before: Duration) -> f64 {
    let passed_s = measured.at.saturating_sub(before).as_secs_f64();
    let gap_s = measured.gap.unwrap_or_default().as_secs_f64();
    if passed_s > gap_s { measured.value * gap_s / passed_s } else { measured.value }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One look a second at a fleet with a capacity of 130/s.
    #[derive(Default)]
    struct Looks {
        second: u64,
        plausibility: Plausibility,
    }

    impl Looks {
        fn look(&mut self, value: f64, is_busy: bool, moves: bool) -> Verdict {
            self.second += 1;
            self.plausibility.judge(Measured {
                at: Duration::from_secs(self.second),
                value,
                gap: Some(Duration::from_secs(1)),
                most: 130.0,
                elsewhere: Elsewhere { is_busy, moves },
                lasts: Duration::from_secs(15),
            })
        }

        /// Starts with accepted looks at this value.
        fn at(value: f64) -> Self {
            let mut looks = Self::default();
            for _ in 0..10 {
                assert_eq!(looks.look(value, true, true), Verdict::Believed(value));
            }
            looks
        }

        /// Counts the looks until the value is accepted.
        fn doubted(&mut self, value: f64, is_busy: bool, moves: bool) -> usize {
            (0..1_000).take_while(|_| matches!(self.look(value, is_busy, moves), Verdict::Doubted(_))).count()
        }
    }

    #[test]
    fn one_absurd_figure_is_not_believed_and_a_level_that_lasts_is() {
        let mut looks = Looks::at(30.0);
        for _ in 0..5 {
            assert_eq!(looks.look(1e6, true, true), Verdict::Doubted(Doubt::Jump));
            assert_eq!(looks.look(31.0, true, true), Verdict::Believed(31.0));
        }
        assert_eq!(looks.doubted(1e6, true, true), 2);
        assert_eq!(looks.look(1.1e6, true, true), Verdict::Believed(1.1e6));
    }

    #[test]
    fn what_the_fleet_can_do_is_no_jump_and_neither_is_what_comes_first() {
        for value in [0.0, 1.0, 30.0] {
            assert_eq!(Looks::at(value).look(130.0, true, true), Verdict::Believed(130.0));
        }
        // Just under ten times as much.
        assert_eq!(Looks::at(30.0).look(299.0, true, true), Verdict::Believed(299.0));
        assert_eq!(Looks::default().look(1e6, true, true), Verdict::Believed(1e6));
    }

    #[test]
    fn a_counter_that_stands_still_is_no_end_of_traffic_until_that_has_lasted() {
        assert_eq!(Looks::at(30.0).doubted(0.0, true, false), 60);
        assert_eq!(Looks::at(300.0).doubted(0.0, false, false), 15);
        // The source works, or chance explains it.
        assert_eq!(Looks::at(300.0).doubted(0.0, true, true), 0);
        assert_eq!(Looks::at(30.0).doubted(0.0, false, false), 0);
        assert_eq!(Looks::at(5.0).doubted(0.0, true, false), 0);
    }

    #[test]
    fn clients_that_come_all_at_once_are_known_after_one_gap() {
        let mut looks = Looks::at(30.0);
        assert_eq!(looks.look(120.0, true, false), Verdict::Believed(120.0));
        assert_eq!(looks.look(0.0, true, false), Verdict::Doubted(Doubt::Standstill));
        assert_eq!(looks.look(120.0, true, false), Verdict::Believed(60.0));
        for _ in 0..10 {
            assert_eq!(looks.look(0.0, true, false), Verdict::Believed(0.0));
            assert_eq!(looks.look(120.0, true, false), Verdict::Believed(120.0));
        }
    }

    #[test]
    fn a_counter_that_stops_between_two_looks_is_a_standstill_too() {
        let mut looks = Looks::at(300.0);
        assert_eq!(looks.look(3.0, true, false), Verdict::Believed(3.0));
        assert_eq!(looks.look(0.0, true, false), Verdict::Doubted(Doubt::Standstill));
    }

    #[test]
    fn what_has_come_while_a_counter_stood_still_is_spread_over_that_time() {
        let mut looks = Looks::at(100.0);
        for _ in 0..9 {
            assert_eq!(looks.look(0.0, true, false), Verdict::Doubted(Doubt::Standstill));
        }
        assert_eq!(looks.look(1_000.0, true, true), Verdict::Believed(100.0));
        for _ in 0..STEADY {
            assert_eq!(looks.look(100.0, true, true), Verdict::Believed(100.0));
        }
        for _ in 0..29 {
            assert_eq!(looks.look(0.0, true, false), Verdict::Doubted(Doubt::Standstill));
        }
        assert_eq!(looks.look(3_000.0, true, true), Verdict::Believed(100.0));
        assert_eq!(looks.look(100.0, true, true), Verdict::Believed(100.0));
    }
}
