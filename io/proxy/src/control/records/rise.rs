//! Slow start of one server.

use tokio::time::Instant;
use weir_balance::{Portion, SlowStart};

/// Rise of a server's weight after it has come up.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::control) struct Rise {
    was_up: bool,
    /// Start of the rise; `None` = the whole weight counts.
    since: Option<Instant>,
    /// Set for a server that exists from the start. It gets its whole weight as soon as it is up.
    is_first: bool,
    portion: Portion,
}

impl Rise {
    /// Marks a server that exists when Weir starts or its pool is new.
    pub(in crate::control) fn at_start(&mut self) {
        self.is_first = true;
    }

    /// Records whether the server takes requests. Returns the portion of its weight that counts.
    pub(in crate::control) fn look(
        &mut self,
        is_up: bool,
        rule: Option<&SlowStart>,
        now: Instant,
    ) -> Portion {
        self.portion = self.look_at(is_up, rule, now);
        self.portion
    }

    /// Returns the portion of the weight as of the last `look`.
    pub(in crate::control) fn portion(&self) -> Portion {
        self.portion
    }

    fn look_at(&mut self, is_up: bool, rule: Option<&SlowStart>, now: Instant) -> Portion {
        if is_up && !self.was_up {
            self.since = if std::mem::take(&mut self.is_first) { None } else { Some(now) };
        }
        self.was_up = is_up;
        let (Some(since), Some(rule)) = (self.since.filter(|_| is_up), rule) else { return Portion::WHOLE };
        let up_for = now.saturating_duration_since(since);
        if rule.next_rise(up_for).is_none() {
            self.since = None;
        }
        rule.portion(up_for)
    }

    /// Returns true if the weight still rises, as of the last `look`.
    pub(in crate::control) fn goes_on(&self) -> bool {
        self.was_up && self.since.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_balance::Hundredths;
    use weir_model::Millis;

    use super::*;

    const RULE: SlowStart =
        SlowStart { window: Millis(20_000), aggression: Hundredths(100), min_percent: 10 };

    #[test]
    fn a_server_rises_each_time_it_comes_up_but_for_the_first_at_the_start() {
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        let mut rise = Rise::default();
        rise.at_start();
        assert_eq!(rise.look(false, Some(&RULE), at(0)), Portion::WHOLE);
        assert_eq!(rise.look(true, Some(&RULE), at(1)), Portion::WHOLE);
        assert!(!rise.goes_on());
        rise.look(false, Some(&RULE), at(2));
        assert_eq!(rise.look(true, Some(&RULE), at(3)), Portion::percent(10));
        assert_eq!(rise.look(true, Some(&RULE), at(13)), Portion::percent(50));
        assert!(rise.goes_on());
        assert_eq!(rise.look(true, Some(&RULE), at(23)), Portion::WHOLE);
        assert!(!rise.goes_on());
        rise.look(false, Some(&RULE), at(24));
        assert_eq!(rise.look(true, Some(&RULE), at(25)), Portion::percent(10));
    }

    #[test]
    fn one_that_is_added_later_rises_at_once() {
        let mut rise = Rise::default();
        assert_eq!(rise.look(true, Some(&RULE), Instant::now()), Portion::percent(10));
        assert!(rise.goes_on());
    }

    #[test]
    fn without_a_rule_the_whole_weight_counts() {
        assert_eq!(Rise::default().look(true, None, Instant::now()), Portion::WHOLE);
    }
}
