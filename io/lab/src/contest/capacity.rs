//! Searches the highest rate that meets a goal, and the knee before it. Further loads then confirm both ends
//! of the found interval.

mod edge;

use edge::Edge;

/// Criteria that must be met at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Quantile of latency, 0 to 1.
    pub quantile: f64,
    /// Maximum latency of the quantile, in milliseconds.
    pub latency_ms: f64,
    /// Minimum share of requests with the expected response.
    pub success: f64,
}

/// Result of a load of some seconds at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Requests per second.
    pub per_s: f64,
    /// Latency of the goal's quantile, in milliseconds; `None` = no response.
    pub latency_ms: Option<f64>,
    /// Share of requests with the expected response.
    pub success: f64,
    /// True if the generator kept its schedule.
    pub is_valid: bool,
}

/// Results of the probes at one rate.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    per_s: f64,
    kept: u32,
    missed: u32,
    latencies: Vec<f64>,
}

/// Search in progress. It returns the next rate to probe and receives the result.
#[derive(Debug, Clone)]
pub struct CapacitySearch {
    goal: Goal,
    max_per_s: f64,
    /// Number of agreeing probes that decide a rate.
    votes: u32,
    precision: f64,
    /// Confidence that the capacity lies between the ends.
    confidence: f64,
    asked: Vec<Asked>,
    /// Ends of the interval after the search: the lower one, and the upper one if a rate missed the goal.
    edges: Vec<Edge>,
    /// Consecutive probes that are invalid because the generator was the limit.
    invalid: u32,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Capacity {
    /// Rate below the capacity; 0 = none was found. The capacity is the rate at which half of the loads meet
    /// the goal.
    pub per_s: f64,
    /// Rate above the capacity; `None` = none was found up to the highest probed rate.
    pub missed_per_s: Option<f64>,
    /// Confidence that the capacity lies between the two rates, 0 to 1, if loads are independent. Each rate
    /// alone is wrong with half of the error. 0 = no rate was confirmed as below the capacity.
    pub confidence: f64,
    /// Knee, where latency begins to rise: the highest rate whose latency is at most twice that of the lowest
    /// rate. `None` = unknown.
    pub knee_per_s: Option<f64>,
    /// Rates in order, each with its median latency in milliseconds and true if it met the goal.
    pub rates: Vec<(f64, f64, bool)>,
}

/// Number of consecutive invalid probes that end the search.
const INVALID_MAX: u32 = 5;

impl Goal {
    /// Returns true if a probe meets the goal.
    pub fn is_kept(&self, probe: &Probe) -> bool {
        probe.success >= self.success
            && probe.latency_ms.is_some_and(|latency_ms| latency_ms <= self.latency_ms)
    }
}

impl CapacitySearch {
    /// Starts a search at `start_per_s` that goes up to `max_per_s` and has a precision of `precision` (0.05
    /// = 5 percent). The first `votes` agreeing probes decide a rate. The best of many rates may have met the
    /// goal by luck. Therefore, both ends are then probed again, until the capacity lies between them with
    /// `confidence` (0 to 1). If an end cannot be confirmed, it moves outwards.
    pub fn new(
        goal: Goal,
        (start_per_s, max_per_s): (f64, f64),
        precision: f64,
        votes: u32,
        confidence: f64,
    ) -> Self {
        let first = Asked { per_s: start_per_s.min(max_per_s), kept: 0, missed: 0, latencies: Vec::new() };
        Self {
            goal,
            max_per_s,
            votes: votes.max(1),
            precision: precision.max(0.001),
            confidence: confidence.clamp(0.5, 0.9999),
            asked: vec![first],
            edges: Vec::new(),
            invalid: 0,
        }
    }

    /// Returns the next rate to probe; `None` = the search is over.
    pub fn next(&self) -> Option<f64> {
        match self.edges.as_slice() {
            _ if self.invalid >= INVALID_MAX => None,
            [] => self.explore(),
            [low, ..] if low.is_given_up() => None,
            edges => edges.iter().find_map(Edge::next),
        }
    }

    /// Returns the next rate to probe while the ends are unknown.
    fn explore(&self) -> Option<f64> {
        if let Some(open) = self.asked.iter().find(|asked| self.verdict(asked).is_none()) {
            return Some(open.per_s);
        }
        let (kept, missed) = self.bounds();
        match missed {
            None if kept >= self.max_per_s => None,
            None => Some((kept * 2.0).min(self.max_per_s)),
            // Below the first rate, halve the rate until it is close to zero.
            Some(missed) if kept == 0.0 => (missed > 1.0).then_some(missed / 2.0),
            Some(missed) if missed / kept <= 1.0 + self.precision => None,
            // Geometric mean.
            Some(missed) => Some((kept * missed).sqrt()),
        }
    }

    /// Records the result of a probe.
    pub fn tell(&mut self, probe: &Probe) {
        if !probe.is_valid {
            self.invalid += 1;
            return;
        }
        self.invalid = 0;
        let kept = self.goal.is_kept(probe);
        if let Some(edge) = self.edges.iter_mut().find(|edge| edge.next().is_some()) {
            edge.tell(kept, self.max_per_s);
            return;
        }
        let at = match self.asked.iter().position(|asked| asked.per_s == probe.per_s) {
            Some(at) => at,
            None => {
                self.asked.push(Asked { per_s: probe.per_s, kept: 0, missed: 0, latencies: Vec::new() });
                self.asked.len() - 1
            }
        };
        let asked = &mut self.asked[at];
        asked.kept += u32::from(kept);
        asked.missed += u32::from(!kept);
        asked.latencies.extend(probe.latency_ms);
        if self.explore().is_none() {
            self.edges = self.ends();
        }
    }

    /// Returns the found ends; empty if no rate met the goal.
    fn ends(&self) -> Vec<Edge> {
        let (kept, missed) = self.bounds();
        let edge = |per_s, keeps| Edge::new(per_s, keeps, self.precision, (1.0 - self.confidence) / 2.0);
        let low = (kept > 0.0).then(|| edge(kept, true));
        let high = missed.map(|missed| edge(missed, false)).filter(|_| kept > 0.0);
        low.into_iter().chain(high).collect()
    }

    /// Returns the result when the search is over.
    ///
    /// # Errors
    /// If the generator was the limit repeatedly.
    pub fn result(&self) -> Result<Capacity, String> {
        let (kept, missed) = self.bounds();
        if self.invalid >= INVALID_MAX {
            return Err(format!(
                "the generator did not do what it was asked to, {INVALID_MAX} times in a row; at least {kept:.0}/s kept the goal"
            ));
        }
        let mut rates: Vec<(f64, f64, bool)> = self
            .asked
            .iter()
            .filter_map(|asked| {
                let latency = weir_stats::compare::median(&asked.latencies).unwrap_or(f64::INFINITY);
                Some((asked.per_s, latency, self.verdict(asked)?))
            })
            .collect();
        rates.sort_by(|a, b| a.0.total_cmp(&b.0));
        let lowest = rates.first().map(|(_, latency, _)| *latency).filter(|latency| latency.is_finite());
        let knee = lowest.and_then(|lowest| {
            let calm = rates.iter().take_while(|(_, latency, _)| *latency <= lowest * 2.0);
            calm.last().map(|(per_s, _, _)| *per_s)
        });
        let (per_s, missed_per_s, confidence) = match self.edges.as_slice() {
            [] => (0.0, missed, 0.0),
            [low, others @ ..] => match low.shown() {
                None => (0.0, missed, 0.0),
                Some(low) => (low, others.first().and_then(Edge::shown), self.confidence),
            },
        };
        // The confirmed rate may be lower than the rates that met the goal at first.
        let knee_per_s = knee.map(|knee| if per_s > 0.0 { knee.min(per_s) } else { knee });
        Ok(Capacity { per_s, missed_per_s, confidence, knee_per_s, rates })
    }

    /// Returns true if the rate meets the goal; `None` = it must be probed again.
    fn verdict(&self, asked: &Asked) -> Option<bool> {
        match (asked.kept >= self.votes, asked.missed >= self.votes) {
            (false, false) => None,
            (kept, _) => Some(kept),
        }
    }

    /// Returns the highest rate that met the goal below the lowest rate that missed it, and that lowest rate.
    /// A rate that met the goal above a missed one had luck.
    fn bounds(&self) -> (f64, Option<f64>) {
        let decided =
            |wanted: bool| self.asked.iter().filter(move |asked| self.verdict(asked) == Some(wanted));
        let missed = decided(false).map(|asked| asked.per_s).min_by(f64::total_cmp);
        let kept = decided(true)
            .map(|asked| asked.per_s)
            .filter(|per_s| missed.is_none_or(|missed| *per_s < missed));
        (kept.fold(0.0, f64::max), missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOAL: Goal = Goal { quantile: 0.99, latency_ms: 20.0, success: 0.99 };

    /// Simulates a server with the latency of a queue with this capacity: 1 / (capacity - rate).
    fn queue(per_s: f64, capacity: f64) -> Probe {
        let latency_ms = if per_s < capacity { 1_000.0 / (capacity - per_s) } else { 10_000.0 };
        Probe { per_s, latency_ms: Some(latency_ms), success: 1.0, is_valid: true }
    }

    fn search(start: f64, max: f64, mut answer: impl FnMut(f64) -> Probe) -> (CapacitySearch, u32) {
        let mut search = CapacitySearch::new(GOAL, (start, max), 0.02, 2, 0.95);
        let mut probes = 0;
        while let Some(per_s) = search.next() {
            search.tell(&answer(per_s));
            probes += 1;
            assert!(probes < 200);
        }
        (search, probes)
    }

    #[test]
    fn the_capacity_of_a_queue_is_found_from_below_and_from_above() {
        // A latency of 20 ms is reached at 50/s below the capacity.
        for start in [10.0, 5_000.0] {
            let (search, probes) = search(start, 1e6, |per_s| queue(per_s, 1_000.0));
            let found = search.result().unwrap();
            assert!((931.0..=950.0).contains(&found.per_s), "{found:?}");
            assert!(found.missed_per_s.unwrap() > found.per_s && probes < 60, "{probes}: {found:?}");
            assert!(found.knee_per_s.unwrap() <= found.per_s, "{found:?}");
            assert!(found.missed_per_s.unwrap() > 950.0 && found.confidence == 0.95, "{found:?}");
        }
    }

    #[test]
    fn one_bad_moment_does_not_decide() {
        let mut count = 0;
        let (search, _) = search(100.0, 400.0, |per_s| {
            count += 1;
            let hiccup = count % 10 == 1;
            if hiccup { Probe { latency_ms: Some(500.0), ..queue(per_s, 1e6) } } else { queue(per_s, 1e6) }
        });
        let found = search.result().unwrap();
        assert_eq!((found.per_s, found.missed_per_s, found.confidence), (400.0, None, 0.95));
    }

    #[test]
    fn the_interval_holds_the_capacity_as_often_as_it_says() {
        const CAPACITY: f64 = 1_000.0;
        const SEARCHES: u64 = 400;
        let (mut wrong, mut widths) = (0, Vec::new());
        for seed in 0..SEARCHES {
            let mut rng = crate::rng::Rng::new(seed);
            let mut search = CapacitySearch::new(GOAL, (100.0, 1e5), 0.05, 2, 0.95);
            let mut probes = 0;
            while let Some(per_s) = search.next() {
                // The odds that a load meets the goal fall by a factor of e for each 5 percent of the rate.
                let odds = (CAPACITY / per_s).powf(20.0);
                let latency_ms = if rng.unit() < odds / (1.0 + odds) { 10.0 } else { 50.0 };
                search.tell(&Probe { per_s, latency_ms: Some(latency_ms), success: 1.0, is_valid: true });
                probes += 1;
                assert!(probes < 1_000);
            }
            let found = search.result().unwrap();
            let missed = found.missed_per_s.unwrap();
            wrong += u32::from(found.per_s > CAPACITY || missed < CAPACITY);
            widths.push(missed / found.per_s);
        }
        // 5 percent of 400, and three standard deviations of 4.4.
        assert!(wrong <= 33, "{wrong} of {SEARCHES}");
        let width = weir_stats::compare::median(&widths).unwrap();
        assert!(width < 1.6, "{width}");
    }

    #[test]
    fn a_server_that_keeps_nothing_has_no_capacity() {
        let dead = |per_s| Probe { per_s, latency_ms: None, success: 0.0, is_valid: true };
        let (search, probes) = search(64.0, 1e6, dead);
        assert_eq!(search.result().unwrap().per_s, 0.0);
        assert!(probes < 20);
    }

    #[test]
    fn loads_that_agree_by_chance_only_show_no_capacity() {
        let mut count = 0;
        let (search, _) = search(100.0, 1e6, |per_s| {
            count += 1;
            let latency_ms = Some(if count % 2 == 1 { 10.0 } else { 50.0 });
            Probe { per_s, latency_ms, success: 1.0, is_valid: true }
        });
        let found = search.result().unwrap();
        assert_eq!((found.per_s, found.confidence), (0.0, 0.0));
        assert!(found.rates.iter().any(|(_, _, kept)| *kept), "{found:?}");
    }

    #[test]
    fn who_cannot_ask_says_so() {
        let (search, _) = search(100.0, 1e6, |per_s| Probe { is_valid: per_s <= 100.0, ..queue(per_s, 1e9) });
        assert!(search.result().unwrap_err().contains("at least 100/s"));
    }
}
