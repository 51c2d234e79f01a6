//! What one server can do: given, or learned from how latency grows with the number of requests at a time.

use std::time::Duration;

use weir_model::Name;

/// What servers can do, by kind.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityRule {
    /// The kind that is made when servers are missing; `None` = there is only one kind, and it has no name.
    pub flavour: Option<Name>,
    /// What one server of that kind can do.
    pub standard: Capacity,
    /// The other kinds that the fleet may have.
    pub others: Vec<(Name, Capacity)>,
}

/// What one server can do, in requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Capacity {
    /// Somebody knows it.
    Given(f64),
    /// It is learned: the highest rate at which latency is not above `slower` times what it is when little is to do.
    Learned {
        /// Taken until something was learned.
        initial: f64,
        /// It is not below this, whatever is learned.
        least: f64,
        /// Nor above this.
        most: f64,
        /// So many times the latency of an idle server is too slow; above 1.
        slower: f64,
    },
}

/// How one server did for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// Requests per second that it answered.
    pub rate_per_s: f64,
    /// How long they took: a percentile or the mean, always the same.
    pub latency: Duration,
}

/// Learns what a server can do from what servers of its kind did.
///
/// Observations are put into bins by concurrency (rate times latency, Little's law), a quarter of an octave each: a server that can do no
/// more keeps its rate, and has more and more requests at a time. Latency and rate of a bin are moving means of what was
/// seen there. The knee is where two bins in a row are slower than `slower` times the fastest: one alone may be chance. What a server can
/// do is the highest rate before it.
///
/// What was slow for another reason than its load leaves bins of many requests at a time that a healthy server never visits again. A server
/// that does more than such a bin, faster and with fewer at a time, speaks against it, until it is forgotten.
#[derive(Debug, Clone)]
pub struct Learner {
    capacity: f64,
    initial: f64,
    least: f64,
    most: f64,
    slower: f64,
    bins: Vec<Bin>,
    /// In requests at a time.
    knee: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    rate_per_s: f64,
    latency_s: f64,
    seen: u32,
}

/// Of each doubling of the concurrency.
const BINS_PER_OCTAVE: f64 = 4.0;
/// Fewer requests at a time than a thousandth tell what a server is like when little is to do; more than 100,000 are as many.
const LEAST_LOG2: f64 = -10.0;
const BINS: usize = 27 * BINS_PER_OCTAVE as usize;
/// How much of a bin's latency is the newest observation.
const NEWEST_SHARE: f64 = 0.1;
/// A bin that was seen less often says nothing.
const SEEN_MIN: u32 = 5;
/// A bin is forgotten after so many observations that speak against it, however often it was seen.
const SEEN_MAX: u32 = 60;
/// So many times the rate of a bin is not chance.
const CLEARLY_MORE: f64 = 1.1;
/// What is believed moves towards what was learned by this share a time, so that the number of servers does not jump.
const STEP_MAX: f64 = 0.05;

impl Learner {
    /// For a kind of servers of which the capacity is to be learned; `None` if it is given.
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

    /// Takes an observation in. What cannot be true is passed over.
    pub fn take(&mut self, observation: &Observation) {
        let (rate_per_s, latency_s) = (observation.rate_per_s, observation.latency.as_secs_f64());
        let Some(at) = bin(rate_per_s, latency_s) else { return };
        let bin = &mut self.bins[at];
        // The first ones count in full, or what a cold start was like would stay for long.
        let share = NEWEST_SHARE.max(1.0 / f64::from(bin.seen + 1));
        bin.rate_per_s += (rate_per_s - bin.rate_per_s) * share;
        bin.latency_s += (latency_s - bin.latency_s) * share;
        bin.seen = bin.seen.saturating_add(1).min(SEEN_MAX);
        // Who does clearly more, and faster, with fewer at a time: what was slow there was something else, a disk or a neighbour.
        for slower in &mut self.bins[at + 1..] {
            if rate_per_s > CLEARLY_MORE * slower.rate_per_s && latency_s < slower.latency_s {
                slower.seen = slower.seen.saturating_sub(1);
            }
        }
        self.learn();
    }

    /// What a server is believed to do, in requests per second, within the bounds.
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// Where that comes from, in words.
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
        // If nobody has seen a limit, it is at least what was done without trouble.
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

/// The bin of what was seen; `None` = it cannot be.
fn bin(rate_per_s: f64, latency_s: f64) -> Option<usize> {
    if !(rate_per_s.is_finite() && rate_per_s > 0.0 && latency_s > 0.0) {
        return None;
    }
    let at = ((rate_per_s * latency_s).log2() - LEAST_LOG2) * BINS_PER_OCTAVE;
    Some((at.max(0.0) as usize).min(BINS - 1))
}

/// How many requests at a time a bin begins with.
fn concurrency(bin: usize) -> f64 {
    (bin as f64 / BINS_PER_OCTAVE + LEAST_LOG2).exp2()
}

impl CapacityRule {
    /// All servers are alike, and somebody knows what they can do.
    pub const fn given(requests_per_s: f64) -> Self {
        Self { flavour: None, standard: Capacity::Given(requests_per_s), others: Vec::new() }
    }

    /// Whether what servers of any kind can do is to be learned.
    pub fn is_learned(&self) -> bool {
        let others = self.others.iter().map(|(_, capacity)| capacity);
        std::iter::once(&self.standard)
            .chain(others)
            .any(|capacity| matches!(capacity, Capacity::Learned { .. }))
    }
}

/// What is believed of every kind right now.
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

    /// Requests per second that a server of the standard kind can do.
    pub(crate) fn standard(&self) -> f64 {
        self.standard.requests_per_s()
    }

    /// What a server of a kind can do, in servers of the standard kind. A kind that the rules do not know is taken for that.
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

    /// Every kind and what is believed of it, in words.
    pub(crate) fn explain(&self) -> Vec<(Option<Name>, String)> {
        let others = self.others.iter().map(|(name, known)| (Some(name.clone()), known.explain()));
        std::iter::once((self.flavour.clone(), self.standard.explain())).chain(others).collect()
    }

    /// `None` = a server of the standard kind.
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

    /// A server that can do 100/s: its latency is that of M/M/1.
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
        // Twice the latency of an idle server is at half of what it can do at most; bins are a quarter of an octave wide.
        assert!((40.0..=62.0).contains(&learner.capacity()), "{}", learner.explain());
        assert!(learner.explain().contains("from "), "{}", learner.explain());
    }

    #[test]
    fn a_server_that_can_do_no_more_shows_it_by_what_it_has_at_a_time() {
        let mut learner = Learner::new(RULE).unwrap();
        for tenths in (0..20).flat_map(|_| 1..=100) {
            // Never more than 100 a second, and from one at a time on they wait for each other.
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
