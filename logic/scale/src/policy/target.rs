//! The target policy: follows demand by the work that servers cannot do, or could do in addition.

use std::collections::VecDeque;
use std::time::Duration;

use super::damping::{Damping, Patience};
use super::{Proposal, Situation, servers_for};

/// Follows demand by the work that the present servers cannot do, or could do in addition.
///
/// The policy keeps two sums for each number of servers: the work beyond the capacity of that number, and its
/// unused capacity. Each sum falls when the other grows, and never below 0 (the one-sided cumulative sums of
/// Page, 1954).
///
/// One server more is wanted when the first sum reaches `up_after`. One server fewer is wanted when the
/// second sum of the remaining servers reaches `down_after` times the square root of their number, because
/// random variation grows with that root. A jump by the work of ten servers thus takes effect at once, and a
/// lack of a tenth of a server after ten times `up_after`. Noise around the present capacity does not
/// accumulate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// Intended share of the servers' capacity in use, above 0.
    pub utilisation: f64,
    /// Missing work that justifies one more server, in time of one server.
    pub up_after: Duration,
    /// Unused time of one server that justifies one server fewer; multiplied by the square root of the number
    /// of remaining servers.
    pub down_after: Duration,
    /// Share of their capacity that the remaining servers must leave unused; 0 to below 1.
    pub hysteresis: f64,
    /// Time for which an increase must have been wanted throughout.
    pub stabilise_up: Duration,
    /// Time for which no more servers may have been wanted before a decrease.
    pub stabilise_down: Duration,
    /// Maximum increase; `None` = unlimited.
    pub step_up: Option<Step>,
    /// Maximum decrease; `None` = unlimited.
    pub step_down: Option<Step>,
    /// True if patience grows with each change that is soon reversed.
    pub damping: bool,
}

/// Maximum change within a time: a number or a share of the servers, whichever is more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Number of servers.
    pub servers: u32,
    /// Share of the servers that were wanted at the beginning of the time.
    pub share: f64,
    /// Length of the time.
    pub per: Duration,
}

/// The policy with its state.
#[derive(Debug, Clone)]
pub(crate) struct Tracker {
    rule: Target,
    /// Server-seconds that 0, 1, 2, ... servers lacked, up to the sum that justifies one more.
    lacking: Vec<f64>,
    /// Server-seconds that 0, 1, 2, ... servers left unused, up to the sum that justifies one fewer.
    spare: Vec<f64>,
    damping: Damping,
    /// Judged numbers before stabilisation, within its windows.
    recent: VecDeque<(Duration, u32)>,
    /// Granted numbers after stabilisation, within the times of the steps.
    granted: VecDeque<(Duration, u32)>,
    wanted: Option<u32>,
}

/// Server-seconds that justify one server more or fewer.
#[derive(Debug, Clone, Copy)]
struct Enough {
    up: f64,
    down: f64,
}

/// Maximum number of changes in a window.
const RECENT_MAX: usize = 1024;

impl Default for Target {
    fn default() -> Self {
        Self {
            utilisation: 1.0,
            // Found by a search over patterns of demand; `make bench-fleet` tests with other patterns. A
            // smaller value costs more servers than the published rule, and a larger one is no faster than
            // it.
            up_after: Duration::from_secs(13),
            down_after: Duration::from_secs(2),
            hysteresis: 0.03,
            stabilise_up: Duration::ZERO,
            stabilise_down: Duration::ZERO,
            step_up: Some(Step { servers: 2, share: 0.75, per: Duration::from_secs(30) }),
            step_down: Some(Step { servers: 1, share: 0.5, per: Duration::from_secs(15) }),
            damping: true,
        }
    }
}

impl Tracker {
    pub(crate) fn new(rule: &Target) -> Self {
        Self {
            rule: *rule,
            lacking: Vec::new(),
            spare: Vec::new(),
            damping: Damping::default(),
            recent: VecDeque::new(),
            granted: VecDeque::new(),
            wanted: None,
        }
    }

    pub(crate) fn propose(&mut self, situation: &Situation) -> Proposal {
        let before = self.wanted.unwrap_or(situation.wanted).clamp(situation.least, situation.most);
        let Some(demand) = situation.demand else {
            self.forget_spare();
            return Proposal { wanted: before, needed: before, reason: "nothing is measured".to_owned() };
        };
        let demand = demand / self.rule.utilisation;
        let now = situation.now.at;
        let patience =
            if self.rule.damping { self.damping.patience(now, situation.start_up) } else { Patience::ONE };
        let enough = Enough {
            up: self.rule.up_after.as_secs_f64() * patience.up,
            down: self.rule.down_after.as_secs_f64() * patience.down,
        };
        self.add_up(situation, demand, before, enough);
        let judged = self.judge(before, situation, enough);
        let stable = self.stabilise(now, judged, before);
        let wanted = self.limit(now, stable, before);
        self.settle(before, wanted);
        if self.rule.damping && wanted != before {
            self.damping.note(now, before, wanted, situation.start_up);
        }
        self.wanted = Some(wanted);
        let damped = match patience.down {
            factor if factor > 1.05 => format!(", {factor:.1} times as patient after changes in vain"),
            _ => String::new(),
        };
        let needed = unbounded(wanted, demand, situation);
        Proposal { wanted, needed, reason: format!("demand is work for {demand:.2} servers{damped}") }
    }

    /// Updates the sums for each relevant number of servers.
    fn add_up(&mut self, situation: &Situation, demand: f64, wanted: u32, enough: Enough) {
        let most = demand.min(f64::from(situation.most)).ceil() as usize;
        let numbers = most.max(wanted as usize) + 1;
        if self.lacking.len() < numbers {
            self.lacking.resize(numbers, 0.0);
            self.spare.resize(numbers, 0.0);
        }
        if !situation.is_complete {
            self.forget_spare();
        }
        let passed = situation.passed.as_secs_f64();
        for (servers, (lacking, spare)) in self.lacking.iter_mut().zip(&mut self.spare).enumerate() {
            let servers = servers as f64;
            *lacking = (*lacking + (demand - servers) * passed).clamp(0.0, enough.up);
            if situation.is_complete {
                let left_over = servers * (1.0 - self.rule.hysteresis) - demand;
                *spare = (*spare + left_over * passed).clamp(0.0, enough.down(servers));
            }
        }
    }

    /// Returns the number of servers according to the sums.
    fn judge(&self, before: u32, situation: &Situation, enough: Enough) -> u32 {
        let reaches = |sums: &[f64], servers: u32, enough: f64| {
            sums.get(servers as usize).is_some_and(|sum| *sum >= enough)
        };
        let mut wanted = before;
        while wanted < situation.most && reaches(&self.lacking, wanted, enough.up) {
            wanted += 1;
        }
        if wanted == before {
            while wanted > situation.least
                && reaches(&self.spare, wanted - 1, enough.down(f64::from(wanted - 1)))
            {
                wanted -= 1;
            }
        }
        wanted
    }

    /// Permits an increase only if it was wanted throughout, and a decrease only if no more servers were
    /// wanted.
    fn stabilise(&mut self, now: Duration, judged: u32, before: u32) -> u32 {
        let span = self.rule.stabilise_up.max(self.rule.stabilise_down);
        if span.is_zero() {
            return judged;
        }
        remember(&mut self.recent, now, judged, span);
        let least = within(&self.recent, now, self.rule.stabilise_up).min().unwrap_or(judged);
        let most = within(&self.recent, now, self.rule.stabilise_down).max().unwrap_or(judged);
        if judged > before { least.max(before) } else { most.min(before) }
    }

    fn limit(&mut self, now: Duration, wanted: u32, before: u32) -> u32 {
        let span = |step: Option<Step>| step.map_or(Duration::ZERO, |step| step.per);
        let (up, down) = (self.rule.step_up, self.rule.step_down);
        let limited = match (up, down) {
            (Some(step), _) if wanted > before => {
                let base = within(&self.granted, now, step.per).min().unwrap_or(before).min(before);
                wanted.min(base.saturating_add(step.servers_of(base))).max(before)
            }
            (_, Some(step)) if wanted < before => {
                let base = within(&self.granted, now, step.per).max().unwrap_or(before).max(before);
                wanted.max(base.saturating_sub(step.servers_of(base))).min(before)
            }
            _ => wanted,
        };
        let span = span(up).max(span(down));
        if !span.is_zero() {
            remember(&mut self.granted, now, limited, span);
        }
        limited
    }

    /// Resets the opposite sums after a change, so that a reversal needs new evidence.
    fn settle(&mut self, before: u32, wanted: u32) {
        let (sums, numbers) = match wanted > before {
            true => (&mut self.spare, before..wanted),
            false => (&mut self.lacking, wanted..before),
        };
        for sum in sums.iter_mut().take(numbers.end as usize).skip(numbers.start as usize) {
            *sum = 0.0;
        }
        // Removes unused numbers at the end; they are the same as numbers never used.
        while self.lacking.len() > wanted as usize + 2 && self.lacking.last() == Some(&0.0) {
            self.lacking.pop();
            self.spare.pop();
        }
    }

    /// Resets the spare sums: a decrease needs new evidence.
    fn forget_spare(&mut self) {
        self.spare.fill(0.0);
    }
}

impl Enough {
    /// Returns the sum for a decrease to this number of servers.
    fn down(self, servers: f64) -> f64 {
        self.down * servers.max(1.0).sqrt()
    }
}

impl Step {
    fn servers_of(&self, base: u32) -> u32 {
        self.servers.max((f64::from(base) * self.share).floor() as u32)
    }
}

/// Returns the wanted servers without bounds: at a bound, the demand decides.
fn unbounded(wanted: u32, demand: f64, situation: &Situation) -> u32 {
    match wanted {
        _ if wanted >= situation.most => wanted.max(servers_for(demand)),
        _ if wanted <= situation.least => wanted.min(servers_for(demand)),
        _ => wanted,
    }
}

/// Adds a change with its time. Keeps the last change before the span, because its value applies at the
/// span's beginning.
fn remember(changes: &mut VecDeque<(Duration, u32)>, now: Duration, value: u32, span: Duration) {
    if changes.back().is_none_or(|(_, last)| *last != value) {
        changes.push_back((now, value));
    }
    let is_over = |at: Duration| now.saturating_sub(at) >= span;
    while changes.len() > RECENT_MAX || changes.get(1).is_some_and(|(at, _)| is_over(*at)) {
        changes.pop_front();
    }
}

/// Returns the values that applied at any time of the last `span`.
fn within(changes: &VecDeque<(Duration, u32)>, now: Duration, span: Duration) -> impl Iterator<Item = u32> {
    let begins = now.saturating_sub(span);
    let first = changes.partition_point(|(at, _)| *at <= begins).saturating_sub(1);
    changes.iter().skip(first).map(|(_, value)| *value)
}
