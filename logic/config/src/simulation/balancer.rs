//! The valid balancer settings of a simulation scenario.

use serde::Serialize;
use weir_balance::{AutoWeightRule, ConcurrencyRule, SlowStart};
use weir_health::{BreakerRule, EjectionRule};
use weir_model::Millis;

use super::SimTime;
use crate::plan::{HedgePlan, WhenBusy, WhenGone};

/// Hash key of the algorithms with a configurable key. Algorithms that use only the client's address ignore
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SimKey {
    /// The URI for the locality algorithms `lblc` and `lblcr`, the client for others.
    #[default]
    Auto,
    /// The client.
    Client,
    /// The URI.
    Uri,
    /// The additional value of a request ([`Scenario::values`](super::Scenario::values)).
    Value,
}

/// The settings of the balancer that the simulation uses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BalancerPlan {
    /// Number of workers; each chooses by itself, and they share the servers' loads.
    pub workers: u32,
    /// Hash key of requests.
    pub key: SimKey,
    /// Maximum number of retries of a request whose server is down.
    pub retries: u32,
    /// True if Weir also retries requests that a failing server had accepted.
    pub retries_lost: bool,
    /// Budget of all retries; `None` = no limit.
    pub retry_budget: Option<BudgetRule>,
    /// Maximum wait of a request if all servers are at their limits; 0 = no wait.
    pub queue: SimTime,
    /// Maximum number of waiting requests; `None` = no limit.
    pub queue_length_max: Option<u32>,
    /// Maximum number of requests that wait for the one server to which they are bound; more go to another
    /// server. `None` = no limit.
    pub server_queue_max: Option<u32>,
    /// True if clients take turns in the queue; false = first come, first served.
    pub is_fair: bool,
    /// Maximum number of active requests; `None` = no limit.
    pub connections_max: Option<u32>,
    /// Sticky sessions; `None` = the balancer balances each request by itself.
    pub sticky: Option<StickySessions>,
    /// Ramp of a server's weight after the server comes up; `None` = no ramp.
    pub slow_start: Option<SlowStart>,
    /// Rules for the weights of servers with `auto_weight`.
    pub auto_weight: FoundWeights,
    /// Limit for each server that adapts to its latency; `None` = off.
    pub concurrency: Option<ConcurrencyRule>,
    /// Ejection of servers that refuse or abort requests; `None` = off.
    pub ejection: Option<EjectionRule>,
    /// Circuit breaker; `None` = off.
    pub breaker: Option<BreakerRule>,
    /// A second attempt at another server, beside the first one; `None` = off. Every request may have one.
    pub hedge: Option<HedgePlan>,
    /// Time from a server's failure to its detection by checks; `SimTime::MAX` = never.
    pub down_after: SimTime,
    /// Time from a server's recovery to its detection by checks.
    pub up_after: SimTime,
    /// Network time, which is added to the latency of each request.
    pub network: SimTime,
}

/// Rules for measured weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FoundWeights {
    /// Time between two evaluations.
    pub interval: Millis,
    /// Range of weights, and the minimum number of requests.
    pub rule: AutoWeightRule,
}

/// Budget of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BudgetRule {
    /// Percentage of the requests, 0 to 100, for retries beyond `per_second`.
    pub percent: u8,
    /// Retries per second that are always permitted.
    pub per_second: u32,
    /// Limit of concurrent retries; `None` = no limit.
    pub at_once: Option<AtOnceRule>,
}

/// Limit of concurrent retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AtOnceRule {
    /// Percentage of the requests in flight, 0 to 100.
    pub percent: u8,
    /// Number of concurrent retries that are always permitted.
    pub min: u32,
}

/// Sticky sessions; each client has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StickySessions {
    /// Maximum number of sessions, at least 1. A new session replaces the least recently used one.
    pub size: u32,
    /// Time after the last use at which a session expires.
    pub expire: SimTime,
    /// Maximum age of a session, even if it is in use; `None` = no limit.
    pub life_max: Option<SimTime>,
    /// Action if the client's server is not available or has failed the request.
    pub when_gone: WhenGone,
    /// Action if the client's server is at its limit.
    pub when_busy: WhenBusy,
}
