//! Signals: measurements become demand, in servers of the standard kind.

use std::fmt;
use std::time::Duration;

use crate::counter::{Counter, Increase};
use crate::plausible::{Doubt, Elsewhere, Measured, Plausibility, Verdict};
use crate::rules::{Combination, SignalKind, SignalRule};
use crate::sample::{P95, Sample};
use crate::window::Window;

/// Reason why a measurement is unusable or incomplete.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unusable {
    /// The signal was not measured.
    Missing(SignalKind),
    /// The measurement is too old.
    Stale(SignalKind),
    /// The value is impossible.
    Absurd(SignalKind),
    /// The counter was reset.
    Reset(SignalKind),
    /// The counter has only one value so far.
    First(SignalKind),
    /// The value is a lower bound.
    AtLeast(SignalKind),
    /// The value is far above recent ones. The last accepted value counts until the new level lasts.
    Jump {
        /// Kind of the signal.
        kind: SignalKind,
        /// Measured value.
        measured: f64,
        /// Highest recent value.
        lately: f64,
    },
    /// A steadily growing counter stands still. The last accepted value counts until the counter moves or the
    /// standstill lasts.
    Standstill(SignalKind),
}

/// Demand according to the measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// Demand in servers of the standard kind, without unusable signals; `None` = all signals are unusable.
    pub(crate) demand: Option<f64>,
    /// The first unusable or incomplete signal, with its reason.
    pub(crate) unusable: Option<Unusable>,
}

/// All signals of a fleet.
#[derive(Debug, Clone)]
pub(crate) struct Signals {
    combination: Combination,
    stale_after: Duration,
    signals: Vec<Signal>,
    /// Previous sample.
    before: Option<Sample>,
}

/// Limits for the plausibility of a sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    /// Capacity of a server of the standard kind, in requests per second.
    pub(crate) requests_per_s: f64,
    /// Largest permitted number of servers.
    pub(crate) servers_max: u32,
}

#[derive(Debug, Clone)]
struct Signal {
    rule: SignalRule,
    counter: Counter,
    window: Window,
    latest: Option<Duration>,
    /// Time of the latest measurement that was a lower bound.
    least: Option<Duration>,
    /// Time of the latest look at the counter, and the interval before it.
    looked: Option<(Duration, Duration)>,
    /// Error of the latest sample.
    wrong: Option<Unusable>,
    plausibility: Plausibility,
    /// Reason to reject the latest value.
    doubt: Option<Unusable>,
    /// Value that counts instead of the measured one.
    instead: Option<f64>,
}

/// Maximum plausible count, at once or per second.
const COUNT_MAX: f64 = 1e9;
/// Maximum plausible bytes per second.
const BYTES_PER_S_MAX: f64 = 1e13;
/// Maximum plausible CPU load, with the rounding of agents.
const CPU_MAX: f64 = 1.5;
/// Maximum plausible latency, in seconds.
const LATENCY_S_MAX: f64 = 86_400.0;

impl Signals {
    pub(crate) fn new(rules: &[SignalRule], combination: Combination, stale_after: Duration) -> Self {
        let signal = |rule: &SignalRule| Signal {
            rule: *rule,
            counter: Counter::default(),
            window: Window::new(rule.window),
            latest: None,
            least: None,
            looked: None,
            wrong: None,
            plausibility: Plausibility::default(),
            doubt: None,
            instead: None,
        };
        let signals = rules.iter().map(signal).collect();
        Self { combination, stale_after, signals, before: None }
    }

    /// Adds a sample. A sample without values does not count.
    pub(crate) fn take(&mut self, at: Duration, sample: &Sample, scale: Scale) {
        let elsewhere =
            self.before.replace(*sample).map_or(Elsewhere::default(), |before| seen(&before, sample));
        for signal in &mut self.signals {
            signal.take(at, self.stale_after, sample, scale, elsewhere);
        }
    }

    /// Returns the request rate that counts instead of the measured one, if they differ.
    pub(crate) fn held_rate(&self) -> Option<f64> {
        let requests = self.signals.iter().find(|signal| signal.rule.kind == SignalKind::Requests)?;
        requests.instead
    }

    /// Combines all signals at `now`.
    ///
    /// `requests_per_s` is the capacity of a server of the standard kind. `healthy` is the fleet's capacity,
    /// in such servers.
    pub(crate) fn read(&mut self, now: Duration, requests_per_s: f64, healthy: f64) -> Reading {
        let mut unusable = None;
        let mut demands: Option<(f64, f64, f64, u32)> = None;
        for signal in &mut self.signals {
            match signal.read(now, self.stale_after, requests_per_s, healthy) {
                Ok(demand) => {
                    let (sum, most, least, count) = demands.unwrap_or((0.0, 0.0, f64::INFINITY, 0));
                    demands = Some((sum + demand, most.max(demand), least.min(demand), count + 1));
                    unusable = unusable.or(signal.doubt);
                    if signal.is_least(now) {
                        unusable = unusable.or(Some(Unusable::AtLeast(signal.rule.kind)));
                    }
                }
                Err(cause) => unusable = unusable.or(Some(cause)),
            }
        }
        let demand = demands.map(|(sum, most, least, count)| match self.combination {
            Combination::Max => most,
            Combination::Mean => sum / f64::from(count),
            Combination::Min => least,
        });
        Reading { demand, unusable }
    }
}

impl Signal {
    fn take(
        &mut self,
        at: Duration,
        stale_after: Duration,
        sample: &Sample,
        scale: Scale,
        elsewhere: Elsewhere,
    ) {
        self.wrong = match self.value(at, stale_after, sample) {
            Ok(Some(value)) => {
                self.judge(at, value, stale_after, scale, elsewhere);
                self.latest = Some(at);
                if self.rule.kind == SignalKind::Latency && matches!(sample.p95, Some(P95::AtLeast(_))) {
                    self.least = Some(at);
                }
                None
            }
            Ok(None) => self.wrong,
            Err(cause) => {
                self.doubt = None;
                // An impossible rate must not be recorded either.
                let is_absurd = matches!(cause, Unusable::Absurd(_));
                self.instead = if is_absurd { self.window.value(at, self.rule.statistic) } else { None };
                Some(cause)
            }
        };
    }

    /// Adds a value if it is plausible.
    fn judge(
        &mut self,
        at: Duration,
        value: f64,
        lasts: Duration,
        Scale { requests_per_s, servers_max }: Scale,
        elsewhere: Elsewhere,
    ) {
        let kind = self.rule.kind;
        let is_counter = matches!(kind, SignalKind::Requests | SignalKind::Bytes);
        let per_server = if kind == SignalKind::Requests { requests_per_s } else { self.rule.per_server };
        let lately = self.plausibility.peak().unwrap_or_default();
        let verdict = self.plausibility.judge(Measured {
            at,
            value,
            gap: self.looked.filter(|_| is_counter).map(|(_, gap)| gap),
            most: per_server * f64::from(servers_max),
            elsewhere,
            lasts,
        });
        (self.doubt, self.instead) = match verdict {
            Verdict::Believed(believed) => {
                self.window.push(at, believed);
                (None, Some(believed).filter(|believed| *believed < value))
            }
            Verdict::Doubted(doubt) => {
                let why = match doubt {
                    Doubt::Jump => Unusable::Jump { kind, measured: value, lately },
                    Doubt::Standstill => Unusable::Standstill(kind),
                };
                (Some(why), self.window.value(at, self.rule.statistic))
            }
        };
    }

    /// Returns true if a value in use is a lower bound.
    fn is_least(&self, now: Duration) -> bool {
        self.least.is_some_and(|at| self.latest == Some(at) || now.saturating_sub(at) < self.rule.window)
    }

    /// Returns the value of this signal in the sample; `None` = no new value.
    fn value(
        &mut self,
        at: Duration,
        stale_after: Duration,
        sample: &Sample,
    ) -> Result<Option<f64>, Unusable> {
        let kind = self.rule.kind;
        let (value, most) = match kind {
            SignalKind::Requests => (self.rate(at, stale_after, sample.requests)?, COUNT_MAX),
            SignalKind::Bytes => (self.rate(at, stale_after, sample.bytes)?, BYTES_PER_S_MAX),
            SignalKind::Active => (sample.active.map(|active| active as f64), COUNT_MAX),
            SignalKind::Queued => (sample.queued.map(|queued| queued as f64), COUNT_MAX),
            SignalKind::Latency => (sample.p95.map(|p95| p95.known().as_secs_f64()), LATENCY_S_MAX),
            SignalKind::Cpu => (Some(sample.cpu.ok_or(Unusable::Missing(kind))?), CPU_MAX),
        };
        match value {
            Some(value) if (0.0..=most).contains(&value) => Ok(Some(value)),
            Some(_) => Err(Unusable::Absurd(kind)),
            None if matches!(kind, SignalKind::Requests | SignalKind::Bytes) => Ok(None),
            None => Err(Unusable::Missing(kind)),
        }
    }

    fn rate(
        &mut self,
        at: Duration,
        stale_after: Duration,
        count: Option<u64>,
    ) -> Result<Option<f64>, Unusable> {
        let kind = self.rule.kind;
        let count = count.ok_or(Unusable::Missing(kind))?;
        let is_late = self.is_late(at, stale_after);
        match self.counter.look(at, count) {
            // The mean over a long time says little about the present.
            Increase::PerSecond(_) if is_late => Err(Unusable::Stale(kind)),
            Increase::PerSecond(rate) => Ok(Some(rate)),
            Increase::SameTime => Ok(None),
            Increase::Reset => Err(Unusable::Reset(kind)),
            Increase::First => Err(Unusable::First(kind)),
        }
    }

    /// Returns true if the interval between two looks was too long. If all intervals are long, none counts as
    /// too long.
    fn is_late(&mut self, at: Duration, stale_after: Duration) -> bool {
        let (last, usual) = self.looked.unwrap_or((at, Duration::MAX));
        let gap = at.saturating_sub(last);
        self.looked = Some((at, if self.looked.is_some() { gap } else { stale_after }));
        gap > stale_after && gap > usual.saturating_mul(2)
    }

    fn read(
        &mut self,
        now: Duration,
        stale_after: Duration,
        requests_per_s: f64,
        healthy: f64,
    ) -> Result<f64, Unusable> {
        let kind = self.rule.kind;
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let latest = self.latest.ok_or(Unusable::Missing(kind))?;
        if now.saturating_sub(latest) > stale_after {
            return Err(Unusable::Stale(kind));
        }
        let value = self.window.value(now, self.rule.statistic).ok_or(Unusable::Missing(kind))?;
        let demand = match kind {
            SignalKind::Requests => value / requests_per_s,
            SignalKind::Active | SignalKind::Bytes => value / self.rule.per_server,
            // Queued requests exceed the capacity of the present servers.
            SignalKind::Queued if value > 0.0 => healthy + value / self.rule.per_server,
            SignalKind::Queued => 0.0,
            SignalKind::Latency | SignalKind::Cpu => healthy * value / self.rule.per_server,
        };
        if demand.is_finite() { Ok(demand) } else { Err(Unusable::Absurd(kind)) }
    }
}

/// Compares a sample with the previous one.
fn seen(before: &Sample, now: &Sample) -> Elsewhere {
    let rises = |of: fn(&Sample) -> Option<u64>| of(now) > of(before);
    let falls = |of: fn(&Sample) -> Option<u64>| of(now) < of(before);
    let is_busy = [now.active, now.queued].into_iter().flatten().any(|count| count > 0);
    // The counter would have counted a new request.
    let has_begun = rises(|sample| sample.active) || rises(|sample| sample.queued);
    let moves =
        rises(|sample| sample.bytes) || falls(|sample| sample.active) || falls(|sample| sample.queued);
    Elsewhere { is_busy, moves: moves && !has_begun }
}

impl Unusable {
    /// Returns the affected signal.
    pub const fn signal(self) -> SignalKind {
        match self {
            Self::Missing(kind)
            | Self::Stale(kind)
            | Self::Absurd(kind)
            | Self::Reset(kind)
            | Self::First(kind)
            | Self::AtLeast(kind)
            | Self::Jump { kind, .. }
            | Self::Standstill(kind) => kind,
        }
    }

    /// Returns true if the cause passes by itself and needs no attention.
    pub const fn is_expected(self) -> bool {
        matches!(self, Self::Reset(_) | Self::First(_))
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signal = self.signal().name();
        match self {
            Self::Missing(_) => write!(f, "{signal}: not measured"),
            Self::Stale(_) => write!(f, "{signal}: the measurement is too old"),
            Self::Absurd(_) => write!(f, "{signal}: the measurement cannot be true"),
            Self::Reset(_) => write!(f, "{signal}: the counter began anew"),
            Self::First(_) => write!(f, "{signal}: measured for the first time"),
            Self::AtLeast(_) => write!(f, "{signal}: most requests fail, it is at least what was measured"),
            Self::Jump { measured, lately, .. } => write!(
                f,
                "{signal}: {measured:.1} at once, after {lately:.1} at most, is not believed before it lasts: the last value counts"
            ),
            Self::Standstill(_) => write!(
                f,
                "{signal}: the counter stands still all at once, which is not believed before it lasts: the last value counts"
            ),
        }
    }
}
