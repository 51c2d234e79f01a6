//! Capacity of one server: given in the config, or learned from how latency grows with concurrency.

use std::time::Duration;

use weir_model::Name;

/// Capacity of the fleet's servers, by kind.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityRule {
    /// Kind of the servers that the fleet creates; `None` = there is only one kind, without a name.
    pub flavour: Option<Name>,
    /// Capacity of one server of that kind.
    pub standard: Capacity,
    /// Other kinds that the fleet may have, with their capacities.
    pub others: Vec<(Name, Capacity)>,
}

/// Capacity of one server, in requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Capacity {
    /// The config gives it.
    Given(f64),
    /// The scaler learns it: the highest rate at which latency is at most `slower` times the latency of an
    /// idle server.
    Learned {
        /// Capacity until the first measurements.
        initial: f64,
        /// Lower bound of the learned capacity.
        least: f64,
        /// Upper bound of the learned capacity.
        most: f64,
        /// Factor above the latency of an idle server that counts as too slow; above 1.
        slower: f64,
    },
}

/// Measured performance of one server over an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Requests per second that the server answered.
    pub rate_per_s: f64,
    /// Latency of these requests: a percentile or the mean, but always the same statistic.
    pub latency: Duration,
}

/// Learns the capacity of one kind of server from measurements.
///
/// The learner sorts observations into bins by concurrency (rate times latency, Little's law). A bin is a
/// quarter of an octave wide. A server at its limit keeps its rate while its concurrency grows. Each bin
/// holds moving means of rate and latency. The knee is the first of two successive bins that are slower than
/// `slower` times the fastest bin; a single slow bin may be chance. The capacity is the highest rate before
/// the knee.
///
/// A slowdown with another cause than load leaves slow bins of high concurrency, which a healthy server never
/// visits again. Each observation with a higher rate, a lower latency and a lower concurrency reduces the
/// weight of such a bin, until the bin no longer counts.
#[derive(Debug, Clone)]
pub struct Learner {
    capacity: f64,
    initial: f64,
    least: f64,
    most: f64,
    slower: f64,
    bins: Vec<Bin>,
    /// Concurrency at the knee, in requests.
    knee: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    rate_per_s: f64,
    latency_s: f64,
    seen: u32,
}

/// Bins for each doubling of the concurrency.
const BINS_PER_OCTAVE: f64 = 4.0;
/// Binary logarithm of the lowest concurrency. Below a thousandth of a request, the server counts as idle;
/// above 100,000 requests, all values share the last bin.
const LEAST_LOG2: f64 = -10.0;
const BINS: usize = 27 * BINS_PER_OCTAVE as usize;
/// Weight of the newest observation in the moving means of a bin.
const NEWEST_SHARE: f64 = 0.1;
/// Minimum number of observations for a bin to count.
const SEEN_MIN: u32 = 5;
/// Maximum weight of a bin, in observations. As many contradicting observations remove any bin.
const SEEN_MAX: u32 = 60;
/// Factor above the rate of a bin that is not chance.
const CLEARLY_MORE: f64 = 1.1;
/// Maximum change of the capacity per observation, as a share, so that the number of servers does not jump.
const STEP_MAX: f64 = 0.05;

impl Learner {
    /// Creates a learner; `None` if the capacity is given.
    pub fn new(capacity: Capacity) -> Option<Self> {
        let Capacity::Learned { initial, least, most, slower } = capacity else { return None };
        Some(Self {
            capacity: initial.clamp(least, most.max(least)),
            initial,
            least,
            most: most.max(least),
            slower,
            bins: vec![Bin::default(); BINS],
            knee: None,
        })
    }

    /// Adds an observation. Ignores impossible values.
    pub fn take(&mut self, observation: &Observation) {
        let (rate_per_s, latency_s) = (observation.rate_per_s, observation.latency.as_secs_f64());
        let Some(at) = bin(rate_per_s, latency_s) else { return };
        let bin = &mut self.bins[at];
        // The first observations weigh more; otherwise the latency of a cold start would count for long.
        let share = NEWEST_SHARE.max(1.0 / f64::from(bin.seen + 1));
        bin.rate_per_s += (rate_per_s - bin.rate_per_s) * share;
        bin.latency_s += (latency_s - bin.latency_s) * share;
        bin.seen = bin.seen.saturating_add(1).min(SEEN_MAX);
        // A clearly higher rate with lower latency and concurrency contradicts the slower bins: their cause
        // was not load, but for example a disk or another virtual machine.
        for slower in &mut self.bins[at + 1..] {
            if rate_per_s > CLEARLY_MORE * slower.rate_per_s && latency_s < slower.latency_s {
                slower.seen = slower.seen.saturating_sub(1);
            }
        }
        self.learn();
    }

    /// Returns the current estimate of the capacity, in requests per second, within the bounds.
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// Explains the estimate in words.
    pub fn explain(&self) -> String {
        let capacity = self.capacity;
        match (self.fastest(), self.knee) {
            (None, _) => format!("{capacity:.1}/s: as given, nothing was seen yet"),
            (Some(fastest), None) => format!(
                "{capacity:.1}/s: it was never seen that latency is above {:.1} times {:.1} ms",
                self.slower,
                fastest * 1e3
            ),
            (Some(fastest), Some(knee)) => format!(
                "{capacity:.1}/s: from {knee:.2} requests at a time on latency is above {:.1} times {:.1} ms",
                self.slower,
                fastest * 1e3
            ),
        }
    }

    fn learn(&mut self) {
        let Some(fastest) = self.fastest() else { return };
        let limit = fastest * self.slower;
        let seen: Vec<(usize, Bin)> = self.known().map(|(at, bin)| (at, *bin)).collect();
        let is_slow = |bin: &Bin| bin.latency_s > limit;
        let knee = seen.windows(2).position(|pair| is_slow(&pair[0].1) && is_slow(&pair[1].1));
        let before = &seen[..knee.unwrap_or(seen.len())];
        let done = before.iter().filter(|(_, bin)| !is_slow(bin)).map(|(_, bin)| bin.rate_per_s);
        let done = done.fold(0.0, f64::max);
        self.knee = knee.map(|at| concurrency(seen[at].0));
        // Without a knee, the capacity is the highest rate so far, and at least the initial one.
        let learned = if knee.is_some() { done } else { done.max(self.initial) };
        let learned = learned.clamp(self.least, self.most);
        let step = self.capacity * STEP_MAX;
        self.capacity += (learned - self.capacity).clamp(-step, step);
    }

    fn known(&self) -> impl Iterator<Item = (usize, &Bin)> {
        self.bins.iter().enumerate().filter(|(_, bin)| bin.seen >= SEEN_MIN)
    }

    fn fastest(&self) -> Option<f64> {
        self.known().map(|(_, bin)| bin.latency_s).min_by(f64::total_cmp)
    }
}

/// Returns the bin for a rate and a latency; `None` = the values are impossible.
fn bin(rate_per_s: f64, latency_s: f64) -> Option<usize> {
    if !(rate_per_s.is_finite() && rate_per_s > 0.0 && latency_s > 0.0) {
        return None;
    }
    let at = ((rate_per_s * latency_s).log2() - LEAST_LOG2) * BINS_PER_OCTAVE;
    Some((at.max(0.0) as usize).min(BINS - 1))
}

/// Returns the concurrency at which a bin begins.
fn concurrency(bin: usize) -> f64 {
    (bin as f64 / BINS_PER_OCTAVE + LEAST_LOG2).exp2()
}

impl CapacityRule {
    /// Creates a rule for a fleet of one kind with a given capacity.
    pub const fn given(requests_per_s: f64) -> Self {
        Self { flavour: None, standard: Capacity::Given(requests_per_s), others: Vec::new() }
    }

    /// Returns true if the scaler learns the capacity of any kind.
    pub fn is_learned(&self) -> bool {
        let others = self.others.iter().map(|(_, capacity)| capacity);
        std::iter::once(&self.standard)
            .chain(others)
            .any(|capacity| matches!(capacity, Capacity::Learned { .. }))
    }
}

/// Current capacities of all kinds.
#[derive(Debug, Clone)]
pub(crate) struct Capacities {
    standard: Known,
    flavour: Option<Name>,
    others: Vec<(Name, Known)>,
}

#[derive(Debug, Clone)]
enum Known {
    Given(f64),
    Learned(Box<Learner>),
}

impl Capacities {
    pub(crate) fn new(rule: &CapacityRule) -> Self {
        Self {
            standard: Known::new(rule.standard),
            flavour: rule.flavour.clone(),
            others: rule
                .others
                .iter()
                .map(|(name, capacity)| (name.clone(), Known::new(*capacity)))
                .collect(),
        }
    }

    /// Returns the capacity of a server of the standard kind, in requests per second.
    pub(crate) fn standard(&self) -> f64 {
        self.standard.requests_per_s()
    }

    /// Returns the capacity of a server, in servers of the standard kind. An unknown kind counts as standard.
    pub(crate) fn of(&self, flavour: Option<&Name>) -> f64 {
        match self.known(flavour) {
            Some(known) => known.requests_per_s() / self.standard(),
            None => 1.0,
        }
    }

    pub(crate) fn learner(&mut self, flavour: Option<&Name>) -> Option<&mut Learner> {
        let known = match flavour.and_then(|name| self.others.iter_mut().find(|(other, _)| other == name)) {
            Some((_, known)) => known,
            None => &mut self.standard,
        };
        match known {
            Known::Learned(learner) => Some(learner),
            Known::Given(_) => None,
        }
    }

    /// Explains the capacity of each kind in words.
    pub(crate) fn explain(&self) -> Vec<(Option<Name>, String)> {
        let others = self.others.iter().map(|(name, known)| (Some(name.clone()), known.explain()));
        std::iter::once((self.flavour.clone(), self.standard.explain())).chain(others).collect()
    }

    /// Returns the capacity of a named kind; `None` = the standard kind.
    fn known(&self, flavour: Option<&Name>) -> Option<&Known> {
        flavour.and_then(|name| self.others.iter().find(|(other, _)| other == name)).map(|(_, known)| known)
    }
}

impl Known {
    fn new(capacity: Capacity) -> Self {
        match (capacity, Learner::new(capacity)) {
            (_, Some(learner)) => Self::Learned(Box::new(learner)),
            (Capacity::Given(rate) | Capacity::Learned { initial: rate, .. }, None) => Self::Given(rate),
        }
    }

    fn requests_per_s(&self) -> f64 {
        match self {
            Self::Given(rate) => *rate,
            Self::Learned(learner) => learner.capacity(),
        }
    }

    fn explain(&self) -> String {
        match self {
            Self::Given(rate) => format!("{rate}/s: as given"),
            Self::Learned(learner) => learner.explain(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Capacity = Capacity::Learned { initial: 50.0, least: 10.0, most: 500.0, slower: 2.0 };

    /// Simulates a server with a capacity of 100/s and the latency of M/M/1.
    fn observe(learner: &mut Learner, rates: impl Iterator<Item = f64>) {
        for rate in rates {
            let latency = 0.01 / (1.0 - (rate / 100.0_f64).min(0.99));
            learner.take(&Observation { rate_per_s: rate, latency: Duration::from_secs_f64(latency) });
        }
    }

    #[test]
    fn the_knee_is_found_where_latency_doubles() {
        let mut learner = Learner::new(RULE).unwrap();
        observe(&mut learner, (0..4_000).map(|number| f64::from(number % 98) + 1.0));
        // The latency doubles at half of the maximum rate; bins are a quarter of an octave wide.
        assert!((40.0..=62.0).contains(&learner.capacity()), "{}", learner.explain());
        assert!(learner.explain().contains("from "), "{}", learner.explain());
    }

    #[test]
    fn a_server_that_can_do_no_more_shows_it_by_what_it_has_at_a_time() {
        let mut learner = Learner::new(RULE).unwrap();
        for tenths in (0..20).flat_map(|_| 1..=100) {
            // The rate stops at 100/s: from a concurrency of 1, requests wait for each other.
            let at_a_time = f64::from(tenths) / 10.0;
            let latency = (at_a_time / 100.0).max(0.01);
            let rate_per_s = at_a_time / latency;
            learner.take(&Observation { rate_per_s, latency: Duration::from_secs_f64(latency) });
        }
        assert!((95.0..=100.5).contains(&learner.capacity()), "{}", learner.explain());
        assert!(learner.explain().contains("from 2.00 requests at a time on"), "{}", learner.explain());
    }

    #[test]
    fn what_was_done_without_trouble_is_believed_and_no_more() {
        let mut learner =
            Learner::new(Capacity::Learned { initial: 12.0, least: 10.0, most: 500.0, slower: 3.0 }).unwrap();
        observe(&mut learner, (0..2_000).map(|number| f64::from(number % 40) + 1.0));
        assert!((30.0..=40.0).contains(&learner.capacity()), "{}", learner.explain());
    }

    #[test]
    fn a_slow_spell_is_not_taken_for_the_knee_for_ever() {
        let mut learner = Learner::new(RULE).unwrap();
        let mut observe = |times: u32, latency_ms: u64| {
            for number in 0..times {
                let rate_per_s = f64::from(20 + number % 11);
                learner.take(&Observation { rate_per_s, latency: Duration::from_millis(latency_ms) });
            }
            learner.capacity()
        };
        assert_eq!(observe(200, 10), 50.0);
        let slow = observe(60, 100);
        assert!(slow < 31.0, "{slow}");
        assert_eq!(observe(2_000, 10), 50.0);
    }

    #[test]
    fn nothing_leads_out_of_the_bounds() {
        let mut learner = Learner::new(RULE).unwrap();
        for rate in [f64::NAN, -1.0, 0.0, f64::INFINITY, 1e300] {
            learner.take(&Observation { rate_per_s: rate, latency: Duration::from_millis(1) });
        }
        for _ in 0..1_000 {
            learner.take(&Observation { rate_per_s: 1e9, latency: Duration::from_millis(1) });
        }
        assert!(learner.capacity() <= 500.0);
        for _ in 0..1_000 {
            for rate in [0.5, 0.7, 1.0, 2.0] {
                let latency = Duration::from_secs_f64(if rate < 0.6 { 0.001 } else { 10.0 });
                learner.take(&Observation { rate_per_s: rate, latency });
            }
        }
        assert_eq!(learner.capacity(), 10.0);
    }
}
