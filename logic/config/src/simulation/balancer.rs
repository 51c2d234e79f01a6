use serde::Serialize;
use weir_balance::{AutoWeightRule, ConcurrencyRule, SlowStart};
use weir_health::{BreakerRule, EjectionRule};
use weir_model::Millis;

use super::SimTime;
use crate::plan::{HedgePlan, WhenBusy, WhenGone};

/// What the algorithms that can go by any key go by. Those that go by the client's address alone do so in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SimKey {
    /// The URI for `lblc` and `lblcr`, who are about locality; the client for the others.
    #[default]
    Auto,
    /// Who asks.
    Client,
    /// What is asked for.
    Uri,
    /// The value that a request brings besides ([`Scenario::values`](super::Scenario::values)).
    Value,
}

/// The balancer, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BalancerPlan {
    /// Workers; each chooses by itself, and they share the servers' loads.
    pub workers: u32,
    /// What requests are kept together by.
    pub key: SimKey,
    /// Further tries of a request that found its server dead.
    pub retries: u32,
    /// What a dying server had is tried again, too.
    pub retries_lost: bool,
    /// For all further tries together; `None` = no limit.
    pub retry_budget: Option<BudgetRule>,
    /// How long a request may wait when all servers are at their limits; 0 = not at all.
    pub queue: SimTime,
    /// So many may wait at once; `None` = any number.
    pub queue_length_max: Option<u32>,
    /// So many may wait for one server, where they are bound to it; further ones are sent to another. `None` = any number.
    pub server_queue_max: Option<u32>,
    /// Of those who wait clients get their turns; else whoever came first is next.
    pub is_fair: bool,
    /// Requests at once, in all; `None` = no limit.
    pub connections_max: Option<u32>,
    /// Clients stay with the server that they have begun with; `None` = each request is balanced by itself.
    pub sticky: Option<StickySessions>,
    /// How the weight of a server rises that has come up; `None` = at once.
    pub slow_start: Option<SlowStart>,
    /// How the weights of servers are found that have `auto_weight`.
    pub auto_weight: FoundWeights,
    /// A limit for each server that follows its latency; `None` = off.
    pub concurrency: Option<ConcurrencyRule>,
    /// Ejection of servers that refuse requests or break them off; `None` = off.
    pub ejection: Option<EjectionRule>,
    /// Turns requests away while too many fail; `None` = off.
    pub breaker: Option<BreakerRule>,
    /// A second try at another server, beside the first; `None` = off. Every request may have one.
    pub hedge: Option<HedgePlan>,
    /// From a server's failure until the balancer's checks know; `SimTime::MAX` = they never do.
    pub down_after: SimTime,
    /// From its recovery until they know.
    pub up_after: SimTime,
    /// Added to each request's latency.
    pub network: SimTime,
}

/// How weights are found by measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FoundWeights {
    /// From one judgement to the next.
    pub interval: Millis,
    /// Between which weights, and from how many requests on.
    pub rule: AutoWeightRule,
}

/// How many further tries there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BudgetRule {
    /// This share of the requests, 0 to 100 percent, once `per_second` is used.
    pub percent: u8,
    /// So many a second are always permitted.
    pub per_second: u32,
    /// How many may be under way at once; `None` = any number.
    pub at_once: Option<AtOnceRule>,
}

/// How many further tries may be under way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AtOnceRule {
    /// This share of the requests in flight, 0 to 100 percent.
    pub percent: u8,
    /// So many always may.
    pub min: u32,
}

/// Sessions: each client has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StickySessions {
    /// How many are remembered; the one that was not seen for longest makes room. At least 1.
    pub size: u32,
    /// One that was not seen for so long is forgotten.
    pub expire: SimTime,
    /// So long after it began with its server it ends, though it is used; `None` = it does not.
    pub life_max: Option<SimTime>,
    /// When its server takes nothing, or has failed the request.
    pub when_gone: WhenGone,
    /// When its server is at its limit.
    pub when_busy: WhenBusy,
}
