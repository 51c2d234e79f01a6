//! Configuration of health checks and of ejection.

use serde::{Deserialize, Serialize};
use weir_model::Millis;

/// The timing of a server's checks, and the number of results that change its state (HAProxy's inter,
/// fastinter, rise, fall).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckTiming {
    /// Time from the end of one check to the start of the next.
    pub interval: Millis,
    /// Time used instead of `interval` while the state is about to change.
    pub fast_interval: Millis,
    /// Maximum random variation of each wait, 0 to 50 percent. It prevents checks from running in lockstep.
    pub jitter_percent: u8,
    /// Timeout of the whole check, including connect and TLS.
    pub timeout: Millis,
    /// Number of consecutive successes that bring a server up. At least 1.
    pub rise: u16,
    /// Number of consecutive failures that take a server down. At least 1.
    pub fall: u16,
    /// State of a server before its first check.
    pub initial: InitialState,
}

/// The state of a server before its first check has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// Up. One failure takes the server down, so that a dead server gets few requests after a start.
    #[default]
    Up,
    /// Down. One success brings the server up.
    Down,
}

/// The rule by which real traffic ejects a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EjectionRule {
    /// Number of consecutive failures that eject a server; 0 = off.
    pub consecutive_failures: u32,
    /// Share of failed requests within `window` that ejects a server, 1 to 100 percent; 0 = off.
    pub error_percent: u8,
    /// Minimum number of requests within `window` to apply the share.
    pub requests_min: u32,
    /// Time over which the share of failed requests is computed.
    pub window: Millis,
    /// Length of the first ejection. Each further ejection is longer by this time. The count decreases again
    /// while the server stays healthy.
    pub base_time: Millis,
    /// Maximum length of an ejection.
    pub time_max: Millis,
    /// Maximum share of a pool's servers that may be ejected at once, 0 to 100 percent. One server may always
    /// be ejected, unless it is the only one.
    pub share_max_percent: u8,
    /// Maximum number of concurrent requests of a server that is half open after an ejection. It returns when
    /// this many requests have succeeded and none has failed. 0 = it returns immediately.
    pub probes: u32,
}
