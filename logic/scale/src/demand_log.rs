//! Compact log of past demand, from which the next leader of a fleet makes its forecasts.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use crate::forecast::Seasonal;
use crate::policy::Policy;
use crate::rules::Rules;

/// Mean demand in each step of several seasons, in servers of the standard kind.
#[derive(Debug, Clone, PartialEq)]
pub struct DemandLog {
    /// Length of a step in seconds: one or more steps of the forecast.
    step_s: i64,
    forecast_step_s: i64,
    /// Capacity of a server, if demand consists of requests only and the capacity is given. The text then
    /// holds requests instead of servers, because the capacity of servers may change.
    requests_per_server: Option<f64>,
    /// Means by step number, counted since 1970.
    steps: BTreeMap<i64, Mean>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

/// Maximum number of steps in a season, as in forecasts.
const SEASON_MAX: usize = 288;
/// Maximum number of steps, and their maximum span; forecasts use no more. Values are limited, so the text
/// stays below the maximum reply of the Redis client (64 KiB).
const STEPS_MAX: i64 = 2_016;
/// Maximum ratio between the step sizes of a text and of this log.
const SIZES_MAX: i64 = 100;
/// Plausible times, in seconds since 1970.
const SECONDS: Range<i64> = 0..1 << 40;
/// Version of the text format.
const FORM: &str = "1";

impl DemandLog {
    /// Creates an empty log; `None` = the fleet makes no forecasts.
    pub fn new(rules: &Rules) -> Option<Self> {
        let predictive = rules.policies.iter().find_map(|policy| match policy {
            Policy::Predictive(predictive) => Some(predictive),
            _ => None,
        })?;
        let gathered = predictive.steps().div_ceil(SEASON_MAX).max(1);
        Some(Self {
            step_s: predictive.step_s() * gathered as i64,
            forecast_step_s: predictive.step_s(),
            requests_per_server: rules.requests_per_server(),
            steps: BTreeMap::new(),
        })
    }

    /// Adds a demand in servers, at `wall_s` seconds since 1970.
    pub fn remember(&mut self, wall_s: i64, demand: f64) {
        if demand.is_finite() && demand >= 0.0 && SECONDS.contains(&wall_s) {
            let demand = demand.min(Seasonal::VALUE_MAX);
            self.steps.entry(wall_s.div_euclid(self.step_s)).or_default().add(demand);
            self.trim();
        }
    }

    /// Adds the steps of another log's text that this log does not have. `now_s` is the time in seconds since
    /// 1970. Later steps come from a wrong clock, and are ignored.
    ///
    /// # Errors
    /// If the text is invalid or has another unit; the log is then unchanged.
    pub fn add(&mut self, text: &str, now_s: i64) -> Result<(), String> {
        let mut words = text.split_ascii_whitespace();
        let mut next = |what: &str| words.next().ok_or_else(|| format!("{what} is missing"));
        if next("the form")? != FORM {
            return Err("it has a form that is not known here".to_owned());
        }
        let (unit, scale) = self.unit();
        let other = next("the unit")?;
        if other != unit {
            return Err(format!("it tells of {other:.20}, and demand is in {unit} here"));
        }
        let mut number =
            |what: &str| next(what)?.parse::<i64>().map_err(|cause| format!("{what} is no number: {cause}"));
        let (step_s, first) = (number("the step")?, number("the first step")?);
        let is_like_ours = step_s <= self.step_s.saturating_mul(SIZES_MAX)
            && self.step_s <= step_s.saturating_mul(SIZES_MAX);
        if step_s < 1 || !is_like_ours {
            return Err(format!("a step has {step_s} s there, and {} s here", self.step_s));
        }
        let mut found: BTreeMap<i64, Mean> = BTreeMap::new();
        for (offset, word) in words.take(STEPS_MAX as usize).enumerate() {
            if word == "-" {
                continue;
            }
            let value = word.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
            let value = value.ok_or_else(|| format!("{word:.20} is no demand"))?;
            let begins = first.checked_add(offset as i64).and_then(|step| step.checked_mul(step_s));
            let begins =
                begins.filter(|begins| SECONDS.contains(begins)).ok_or("a step is out of all time")?;
            let demand = (value / scale).min(Seasonal::VALUE_MAX);
            // A future step would count as the latest, and the real steps as too old.
            let until = (begins + step_s).min(now_s.saturating_add(1));
            for wall_s in (begins..until).step_by(self.step_s as usize) {
                found.entry(wall_s.div_euclid(self.step_s)).or_default().add(demand);
            }
        }
        for (step, mean) in found {
            self.steps.entry(step).or_insert(mean);
        }
        self.trim();
        Ok(())
    }

    /// Returns the demand of each step of the forecast, oldest first: seconds since 1970, and servers.
    pub fn points(&self) -> impl Iterator<Item = (i64, f64)> {
        let (step_s, each_s) = (self.step_s, self.forecast_step_s as usize);
        self.steps.iter().flat_map(move |(step, mean)| {
            let (begins, demand) = (step * step_s, mean.value());
            (begins..begins + step_s).step_by(each_s).map(move |wall_s| (wall_s, demand))
        })
    }

    /// Returns the unit of the text, and the amount of it that equals one server.
    fn unit(&self) -> (&'static str, f64) {
        match self.requests_per_server {
            Some(requests) => ("requests", requests),
            None => ("servers", 1.0),
        }
    }

    /// Removes steps that are older than forecasts use.
    fn trim(&mut self) {
        let Some((last, _)) = self.steps.last_key_value() else { return };
        let first = last.saturating_sub(STEPS_MAX - 1);
        while self.steps.first_key_value().is_some_and(|(step, _)| *step < first) {
            self.steps.pop_first();
        }
    }
}

impl fmt::Display for DemandLog {
    /// Writes the text that [`DemandLog::add`] reads: format version, unit, step length in seconds, number of
    /// the first step, and the mean of each step; `-` = unknown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = self.unit();
        let first = self.steps.first_key_value().map_or(0, |(step, _)| *step);
        write!(f, "{FORM} {unit} {} {first}", self.step_s)?;
        let mut next = first;
        for (step, mean) in &self.steps {
            for _ in next..*step {
                f.write_str(" -")?;
            }
            write!(f, " {:.3}", mean.value() * scale)?;
            next = step + 1;
        }
        Ok(())
    }
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count = self.count.saturating_add(1);
    }

    fn value(self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::policy::Predictive;
    use crate::{CapacityRule, SignalKind, SignalRule};

    const NOW_S: i64 = 100_000;

    fn rules(season_s: u64, step_s: u64) -> Rules {
        let [season, step] = [season_s, step_s].map(Duration::from_secs);
        let predictive = Predictive { season, step, ..Predictive::default() };
        Rules { policies: vec![Policy::Predictive(predictive)], ..Rules::by_requests(1, 9, 10.0) }
    }

    fn log(season_s: u64, step_s: u64) -> DemandLog {
        DemandLog::new(&rules(season_s, step_s)).unwrap()
    }

    #[test]
    fn who_makes_no_forecasts_needs_no_log() {
        assert_eq!(DemandLog::new(&Rules::by_requests(1, 9, 10.0)), None);
    }

    #[test]
    fn what_one_has_seen_another_one_knows_and_gaps_stay_gaps() {
        let mut one = log(3_600, 300);
        for (wall_s, demand) in [(600, 1.0), (700, 2.0), (900, 3.25), (1_500, 0.0), (1_600, f64::NAN)] {
            one.remember(wall_s, demand);
        }
        assert_eq!(one.to_string(), "1 requests 300 2 15.000 32.500 - 0.000");
        let mut other = log(3_600, 300);
        other.add(&one.to_string(), NOW_S).unwrap();
        let points: Vec<_> = other.points().collect();
        assert_eq!(points, [(600, 1.5), (900, 3.25), (1_500, 0.0)]);
        assert_eq!(other.to_string(), one.to_string());
    }

    #[test]
    fn what_is_known_here_is_not_replaced() {
        let mut here = log(3_600, 300);
        here.remember(600, 4.0);
        here.add("1 requests 300 1 70 80 90", NOW_S).unwrap();
        assert_eq!(here.points().collect::<Vec<_>>(), [(300, 7.0), (600, 4.0), (900, 9.0)]);
    }

    #[test]
    fn servers_that_do_more_by_now_are_fewer() {
        let larger = Rules { capacity: CapacityRule::given(40.0), ..rules(3_600, 300) };
        let mut now = DemandLog::new(&larger).unwrap();
        now.add("1 requests 300 1 70", NOW_S).unwrap();
        assert_eq!(now.points().collect::<Vec<_>>(), [(300, 1.75)]);
    }

    #[test]
    fn steps_of_another_size_are_divided_or_gathered() {
        let mut finer = log(600, 100);
        finer.add("1 requests 300 1 70 -", NOW_S).unwrap();
        assert_eq!(finer.points().collect::<Vec<_>>(), [(300, 7.0), (400, 7.0), (500, 7.0)]);
        let mut coarser = log(3_600, 600);
        coarser.add("1 requests 300 2 70 90 - 30", NOW_S).unwrap();
        assert_eq!(coarser.points().collect::<Vec<_>>(), [(600, 8.0), (1_200, 3.0)]);
    }

    #[test]
    fn what_comes_from_a_clock_that_is_ahead_drives_nothing_out() {
        let mut here = log(3_600, 300);
        here.remember(600, 4.0);
        here.add("1 requests 300 1000000 70", 900).unwrap();
        here.add("1 requests 300 1 70 80 90 100 110", 900).unwrap();
        assert_eq!(here.points().collect::<Vec<_>>(), [(300, 7.0), (600, 4.0), (900, 9.0)]);
    }

    #[test]
    fn absurd_demand_stays_short_enough_to_be_read() {
        let mut one = log(3_600, 300);
        (0..STEPS_MAX * 2).for_each(|half| one.remember(half * 150, f64::MAX));
        let text = one.to_string();
        assert!(text.len() < 64 << 10, "{}", text.len());
        let mut other = log(3_600, 300);
        other.add(&text, STEPS_MAX * 300).unwrap();
        assert_eq!(other.to_string(), text);
        other.add(&format!("1 requests 300 2017 {:.0}", f64::MAX), 2_000_000).unwrap();
        assert!(other.points().all(|(_, demand)| demand <= Seasonal::VALUE_MAX));
    }

    #[test]
    fn a_long_season_is_written_down_in_few_steps_and_told_in_all() {
        // The season has 540 steps; one step of the log holds two of them.
        let mut long = log(5_400, 10);
        (0..60_000).for_each(|wall_s| long.remember(wall_s, 5.0));
        let text = long.to_string();
        assert!(text.starts_with("1 requests 20 984 50.000 ") && text.len() < 64 << 10, "{text}");
        assert_eq!(text.split(' ').count(), 4 + STEPS_MAX as usize);
        let points: Vec<_> = long.points().collect();
        assert_eq!(points[..3], [(19_680, 5.0), (19_690, 5.0), (19_700, 5.0)]);
        assert_eq!(points.len(), 2 * STEPS_MAX as usize);
    }

    #[test]
    fn what_is_no_log_or_tells_of_something_else_is_refused_and_changes_nothing() {
        let by_queue =
            Rules { signals: vec![SignalRule::latest(SignalKind::Queued, 2.0)], ..rules(3_600, 300) };
        let mut log = DemandLog::new(&by_queue).unwrap();
        log.remember(300, 1.0);
        let before = log.clone();
        for (text, why) in [
            ("", "the form is missing"),
            ("2 servers 300 1 7", "it has a form that is not known here"),
            ("1 requests 300 1 7", "it tells of requests, and demand is in servers here"),
            ("1 servers", "the step is missing"),
            ("1 servers much 1 7", "the step is no number: invalid digit found in string"),
            ("1 servers 0 1 7", "a step has 0 s there, and 300 s here"),
            ("1 servers 86400 1 7", "a step has 86400 s there, and 300 s here"),
            ("1 servers 300 1 7 -1", "-1 is no demand"),
            ("1 servers 300 1 7 inf", "inf is no demand"),
            ("1 servers 300 9223372036854775807 7", "a step is out of all time"),
        ] {
            assert_eq!(log.add(text, NOW_S), Err(why.to_owned()), "{text:?}");
            assert_eq!(log, before, "{text:?}");
        }
    }
}
