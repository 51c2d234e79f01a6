//! The schedule policy: minimum numbers of servers at given times.

use std::time::Duration;

use super::{Cron, Proposal};
use crate::time::Now;

/// Minimum numbers of servers at known times. Servers are created early enough to be ready when a floor
/// begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schedule {
    /// Floors; if several apply, the highest counts.
    pub floors: Vec<Floor>,
}

/// Minimum number of servers for a limited time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floor {
    /// Times at which the floor begins.
    pub begins: Cron,
    /// Duration, at most [`Floor::LASTS_MAX`].
    pub lasts: Duration,
    /// Minimum number of servers.
    pub servers: u32,
}

/// The policy with its state.
#[derive(Debug, Clone)]
pub(crate) struct Tracker {
    rule: Schedule,
    /// End of each floor, by the wall clock.
    ends_s: Vec<i64>,
    /// Latest processed minute.
    minute: Option<i64>,
}

impl Floor {
    /// Maximum duration: a week.
    pub const LASTS_MAX: Duration = Duration::from_secs(7 * 86_400);
}

impl Tracker {
    pub(crate) fn new(rule: &Schedule) -> Self {
        Self { rule: rule.clone(), ends_s: vec![i64::MIN; rule.floors.len()], minute: None }
    }

    pub(crate) fn propose(&mut self, now: Now, start_up: Duration) -> Proposal {
        self.look(now.plus(start_up).wall_s.div_euclid(60));
        let holding = self.rule.floors.iter().zip(&self.ends_s).filter(|(_, end)| **end > now.wall_s);
        match holding.max_by_key(|(floor, _)| floor.servers) {
            Some((Floor { begins, servers, .. }, _)) => {
                let (wanted, needed) = (*servers, *servers);
                Proposal { wanted, needed, reason: format!("the floor of \"{begins}\" holds") }
            }
            None => Proposal { wanted: 0, needed: 0, reason: "no floor holds".to_owned() },
        }
    }

    /// Processes all minutes up to this one that were not processed yet.
    fn look(&mut self, minute: i64) {
        for (floor, end_s) in self.rule.floors.iter().zip(&mut self.ends_s) {
            let lasts_s = floor.lasts.min(Floor::LASTS_MAX).as_secs() as i64;
            let oldest = minute.saturating_sub(lasts_s.div_euclid(60) + 1);
            let first = match self.minute {
                Some(last) if last <= minute => oldest.max(last + 1),
                // The first call, or the clock was set back.
                _ => {
                    *end_s = i64::MIN;
                    oldest
                }
            };
            for at in first..=minute {
                if floor.begins.matches(at) {
                    *end_s = at.saturating_mul(60).saturating_add(lasts_s);
                }
            }
        }
        self.minute = Some(minute);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600;

    fn tracker() -> Tracker {
        let floor = |begins: &str, lasts: i64, servers| Floor {
            begins: begins.parse().unwrap(),
            lasts: Duration::from_secs(lasts as u64),
            servers,
        };
        // Office hours, with more servers around noon.
        let floors = vec![floor("0 8 * * *", 10 * HOUR, 5), floor("30 11 * * *", 2 * HOUR, 9)];
        Tracker::new(&Schedule { floors })
    }

    fn wanted(tracker: &mut Tracker, wall_s: i64) -> u32 {
        tracker.propose(Now { at: Duration::ZERO, wall_s }, Duration::from_secs(60)).wanted
    }

    #[test]
    fn floors_begin_early_enough_and_last_as_long_as_they_should() {
        let mut tracker = tracker();
        for (at, servers) in [
            (7 * HOUR, 0),
            (8 * HOUR - 120, 0),
            (8 * HOUR - 60, 5),
            (11 * HOUR, 5),
            (12 * HOUR, 9),
            (13 * HOUR + 30 * 60 - 1, 9),
            (13 * HOUR + 30 * 60, 5),
            (18 * HOUR - 1, 5),
            (18 * HOUR, 0),
            (32 * HOUR, 5),
        ] {
            assert_eq!(wanted(&mut tracker, at), servers, "{at}");
        }
    }

    #[test]
    fn a_floor_that_had_begun_before_is_seen() {
        assert_eq!(wanted(&mut tracker(), 17 * HOUR), 5);
        let mut tracker = tracker();
        assert_eq!(wanted(&mut tracker, 19 * HOUR), 0);
        // The clock is set back.
        assert_eq!(wanted(&mut tracker, 12 * HOUR), 9);
    }
}
