use std::path::PathBuf;

use serde::Serialize;
use weir_balance::{Algorithm, KnownSpeeds, Membership, Scheduling};
use weir_http::PathPattern;
use weir_model::Weight;

use super::{BalancerPlan, SimTime};

/// What is simulated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scenario {
    /// Which algorithms are compared; at least one, none twice.
    pub algorithms: Vec<Algorithm>,
    /// The one that is used today, where that is known: what the others are compared with. `None` = the default.
    pub in_use: Option<Algorithm>,
    /// The pool whose traffic this is, as far as its config says more than its servers.
    pub pool: PoolRules,
    /// Requests of each run; `None` = the whole log, which ends a run in any case.
    pub requests: Option<u64>,
    /// The first of them are not measured: the system fills up. Less than `requests`.
    pub warm_up: u64,
    /// Where randomness begins; the same seed gives the same result.
    pub seed: u64,
    /// Runs of each algorithm, each with a seed of its own; at least 1.
    pub seeds: u32,
    /// What the ranking goes by.
    pub rank_by: Measure,
    /// When requests come.
    pub arrivals: Arrivals,
    /// How much work one is.
    pub service: Service,
    /// The share of requests that make servers fetch instead of computing, 0 to 1.
    pub static_share: f64,
    /// Who asks.
    pub clients: Population,
    /// For what.
    pub uris: Population,
    /// What requests bring besides that they may be kept together by: hosts, tenants, cookies. `None` = nothing.
    pub values: Option<Population>,
    /// Parts of the requests that have another place among those who wait in the balancer; the others have that of 0.
    pub priorities: Vec<PriorityShare>,
    /// The balancer.
    pub balancer: BalancerPlan,
    /// The servers; at least one in all.
    pub groups: Vec<Group>,
}

/// What a pool's config says of choosing. A scenario alone says nothing of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PoolRules {
    /// Its algorithm with its options; the other algorithms have their defaults.
    pub scheduling: Option<Scheduling>,
    /// Who of the servers takes part, whatever the algorithm.
    pub membership: Membership,
    /// Requests of a replay for these make servers fetch, where its weights are found; empty = nobody asks.
    pub static_paths: Vec<PathPattern>,
    /// What it says besides and is not simulated, by the keys of the config.
    pub left_out: Vec<&'static str>,
}

/// What the ranking goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// The mean latency.
    Mean,
    /// Half of all requests were faster.
    P50,
    /// 95 percent were faster.
    P95,
    /// 99 percent were faster.
    P99,
    /// 99.9 percent were faster.
    #[serde(rename = "p99.9")]
    P999,
}

/// When requests come.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// By a law.
    Drawn {
        /// How they are spread over time.
        pattern: Pattern,
        /// How many there are.
        volume: Volume,
    },
    /// As a log says.
    Replay(Replay),
}

/// How requests are spread over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// At equal distances.
    Constant,
    /// Independent of each other.
    Poisson,
    /// A Poisson stream whose rate jumps between two levels at random times.
    Bursty(Burst),
    /// A Poisson stream whose rate follows a curve, over and over.
    Daily {
        /// Relative rates in equal parts of the day; at least one of them is above 0, none below.
        curve: Vec<f64>,
        /// How long a day lasts.
        day: SimTime,
    },
}

/// The bursts of [`Pattern::Bursty`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Burst {
    /// The rate within a burst, as a multiple of the mean rate; at least 1 and such that the rate outside is not negative.
    pub factor: f64,
    /// Mean length of a burst (exponential).
    pub on: SimTime,
    /// Mean time between two (exponential).
    pub off: SimTime,
}

/// How many requests come.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Volume {
    /// This share of what all servers together can do, 1 = all of it.
    Load(f64),
    /// This many a second.
    PerSecond(f64),
}

/// A log to be replayed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replay {
    /// Its path; `-` = standard input.
    pub file: PathBuf,
    /// How its lines look.
    pub format: LogFormat,
    /// 2 = twice as fast as it was.
    pub speed: f64,
    /// Whether the times that servers took are taken from it.
    pub times: LoggedTimes,
}

/// How a log's lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// By its first line.
    Auto,
    /// NCSA's common format.
    Common,
    /// NCSA's combined format.
    Combined,
    /// HAProxy's httplog and tcplog.
    Httplog,
    /// Weir's JSON lines.
    Json,
    /// Comma-separated values with a heading.
    Csv,
}

/// Where the service times of a replay come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoggedTimes {
    /// From the log, up to the end of the answer, where a line has one; else from [`Service`].
    Logged,
    /// The same up to the answer's first byte: what a slow client takes to read it is none of the server's work.
    FirstByte,
    /// From [`Service`].
    Drawn,
}

/// How much work a request is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Service {
    /// How the times are spread.
    pub law: ServiceLaw,
    /// The mean time at a server of speed 1.
    pub mean: SimTime,
}

/// How service times are spread around their mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceLaw {
    /// All alike.
    Deterministic,
    /// Exponential.
    Exponential,
    /// Log-normal.
    Lognormal {
        /// The coefficient of variation: standard deviation / mean, above 0.
        deviation: f64,
    },
    /// Pareto, cut at a maximum.
    Pareto {
        /// The exponent of the tail, above 0; the smaller, the heavier.
        shape: f64,
        /// The longest; above the mean.
        max: SimTime,
    },
    /// `base` + size / `bandwidth`.
    BySize {
        /// The part that does not depend on the size.
        base: SimTime,
        /// Bytes per second; above 0.
        bandwidth: u64,
        /// The mean size in bytes.
        size: u64,
        /// The coefficient of variation of sizes (log-normal), 0 = all alike.
        deviation: f64,
    },
}

/// Clients or URIs, and how unequal they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Population {
    /// How many; at least 1.
    pub count: u64,
    /// Zipf's exponent: the n-th of them asks (is asked for) in proportion to 1 / n^zipf. 0 = all alike.
    pub zipf: f64,
}

/// A part of the requests, with its place among those who wait for a server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PriorityShare {
    /// Of all requests, above 0; all parts together are no more than 1.
    pub share: f64,
    /// The lowest is served first, however long others wait.
    pub class: i16,
    /// Within its class, and of one client where they take turns, it counts as having come so much later (negative: earlier).
    pub offset_ms: i32,
}

/// Equal servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// What reports call it.
    pub name: String,
    /// How many.
    pub count: u32,
    /// How fast each of its slots is: 2 = does in 1 s what is 2 s of work. Above 0.
    pub speed: f64,
    /// The same at requests that make it fetch, above 0; `None` = as fast.
    pub static_speed: Option<f64>,
    /// Requests that it works on at the same time at full speed; at least 1.
    pub concurrency: u32,
    /// What becomes of further ones.
    pub sharing: Sharing,
    /// Its share of the traffic; what it begins with where that is found.
    pub weight: Weight,
    /// Its weight is found by measurement; what is known of its speed.
    pub auto_weight: Option<KnownSpeeds>,
    /// Gets requests only when no other server can.
    pub backup: bool,
    /// Gets requests only when no server of a lower number can.
    pub priority: u16,
    /// In another zone than the balancer.
    pub is_remote: bool,
    /// The balancer gives it no more requests at once; `None` = no limit.
    pub connections_max: Option<u32>,
    /// When they are added to the pool; 0 = they are there from the start.
    pub added: SimTime,
    /// What it remembers.
    pub cache: Option<CachePlan>,
    /// What happens to it.
    pub disturbances: Vec<Disturbance>,
    /// What its agent says, in no certain order.
    pub agent: Vec<AgentWord>,
}

/// What a server does with more requests than it has slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// They wait, first come first served.
    Fifo,
    /// All are worked on, each the slower (processor sharing).
    Shared,
}

/// A server's memory of what it was asked for: the least recently used is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CachePlan {
    /// URIs that fit.
    pub uris: u32,
    /// How many times faster a request is whose URI is in there; at least 1.
    pub speed_up: f64,
}

/// What happens to servers of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// They die, with all that they had.
    Fail(Failure),
    /// They are slower for a while.
    Slow(SlowDown),
    /// The operator takes them out of traffic for a while.
    Drain(Drain),
}

/// Servers that die and come back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Failure {
    /// When, from the start.
    pub at: SimTime,
    /// For how long.
    pub lasts: SimTime,
    /// How many of the group, the first ones; at most its `count`.
    pub servers: u32,
}

/// Servers that are slower for a while.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SlowDown {
    /// When, how long, how many.
    pub span: Failure,
    /// Their speed in the meantime, as a multiple of their own; above 0.
    pub speed: f64,
}

/// What the agents beside servers say of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentWord {
    /// When, from the start. What they say then and not take back holds from there on.
    pub at: SimTime,
    /// The agents of how many of the group, the first ones; at most its `count`.
    pub servers: u32,
    /// In the words of HAProxy's agent-check protocol; all of them mean something.
    pub says: String,
}

/// Servers that the operator takes out of traffic and puts back. What they have they finish.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drain {
    /// When, how long, how many.
    pub span: Failure,
    /// They are in maintenance: clients that are bound to them go elsewhere, too.
    pub is_maintenance: bool,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Mean, Self::P50, Self::P95, Self::P99, Self::P999];

    /// Its name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }
}

impl Service {
    /// Scales it to another mean.
    ///
    /// # Errors
    /// The law has no mean of its own, or a greatest value that is not above it.
    pub fn set_mean(&mut self, mean: SimTime) -> Result<(), String> {
        match &self.law {
            ServiceLaw::BySize { .. } => {
                return Err("service times go by size: they have no mean of their own".to_owned());
            }
            ServiceLaw::Pareto { max, .. } if *max <= mean => {
                return Err(format!("a mean service time of {mean} is not below the greatest, {max}"));
            }
            _ => self.mean = mean,
        }
        Ok(())
    }
}

impl Disturbance {
    /// When, how long, how many.
    pub fn span(&self) -> &Failure {
        match self {
            Self::Fail(span) => span,
            Self::Slow(slow) => &slow.span,
            Self::Drain(drain) => &drain.span,
        }
    }
}

impl Scenario {
    /// How an algorithm chooses here.
    pub fn scheduling(&self, algorithm: Algorithm) -> Scheduling {
        let own = self.pool.scheduling.filter(|own| own.algorithm == algorithm);
        Scheduling { membership: self.pool.membership, ..own.unwrap_or_else(|| algorithm.into()) }
    }

    /// Servers in all.
    pub fn servers(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.count)).sum()
    }

    /// What each slot of a group does of requests as they come, in work per time.
    fn mean_speed(&self, group: &Group) -> f64 {
        match group.static_speed.filter(|_| self.static_share > 0.0) {
            Some(static_speed) => {
                1.0 / ((1.0 - self.static_share) / group.speed + self.static_share / static_speed)
            }
            None => group.speed,
        }
    }

    /// What all servers together can do, in requests of the mean size a second.
    pub fn capacity_per_s(&self) -> f64 {
        let slots =
            |group: &Group| f64::from(group.count) * f64::from(group.concurrency) * self.mean_speed(group);
        self.groups.iter().map(slots).sum::<f64>() / self.service.mean.seconds().max(1e-9)
    }
}
