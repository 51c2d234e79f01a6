use serde::{Deserialize, Serialize};
use weir_model::Millis;

/// When a server is checked, and how many outcomes change its state (HAProxy's inter, fastinter, rise, fall).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckTiming {
    /// Between the end of one check and the start of the next.
    pub interval: Millis,
    /// Instead of `interval` while the state is about to change.
    pub fast_interval: Millis,
    /// Each wait is varied by up to this share of itself, 0 to 50 percent, so that checks do not march in step.
    pub jitter_percent: u8,
    /// The whole check, connect and TLS included.
    pub timeout: Millis,
    /// Successes in a row that bring a server up. At least 1.
    pub rise: u16,
    /// Failures in a row that take it down. At least 1.
    pub fall: u16,
    /// What a server is before its first outcome.
    pub initial: InitialState,
}

/// What a server is taken for before its first check has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// Up; one failure takes it down, so that a dead server is not tried for long after a start.
    #[default]
    Up,
    /// Down; one success brings it up.
    Down,
}

/// When real traffic ejects a server, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EjectionRule {
    /// Failures in a row that eject; 0 = this trigger is off.
    pub consecutive_failures: u32,
    /// Share of failed requests within `window` that ejects, 1 to 100 percent; 0 = this trigger is off.
    pub error_percent: u8,
    /// The error ratio is judged only above this many requests within `window`.
    pub requests_min: u32,
    /// What the error ratio looks back on.
    pub window: Millis,
    /// The first ejection; each further one lasts this much longer, and the count falls again while all is well.
    pub base_time: Millis,
    /// The longest ejection.
    pub time_max: Millis,
    /// No more than this share of a pool's servers is ejected at once, 0 to 100 percent (one server always may be,
    /// unless it is the only one).
    pub share_max_percent: u8,
    /// After its time a server is half open: it gets no more than so many requests at once, until as many have succeeded and
    /// none has failed. 0 = it is fully back at once.
    pub probes: u32,
}
