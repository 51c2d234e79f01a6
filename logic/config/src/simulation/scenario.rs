//! A valid simulation scenario: traffic, balancer and servers.

use std::path::PathBuf;

use serde::Serialize;
use weir_balance::{Algorithm, KnownSpeeds, Membership, Scheduling};
use weir_http::PathPattern;
use weir_model::Weight;

use super::{BalancerPlan, SimTime};

/// Valid settings of a simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scenario {
    /// Algorithms to compare; at least one, without duplicates.
    pub algorithms: Vec<Algorithm>,
    /// The algorithm in use today, if known: the baseline of the comparison. `None` = the default.
    pub in_use: Option<Algorithm>,
    /// Settings of the pool whose traffic is simulated, beyond its servers.
    pub pool: PoolRules,
    /// Requests of each run; `None` = the whole log. The end of a log always ends a run.
    pub requests: Option<u64>,
    /// Number of first requests that are not measured, while the system fills up. Less than `requests`.
    pub warm_up: u64,
    /// Seed of the random numbers; the same seed gives the same result.
    pub seed: u64,
    /// Runs of each algorithm, each with its own seed; at least 1.
    pub seeds: u32,
    /// Measure of the ranking.
    pub rank_by: Measure,
    /// Arrivals of requests.
    pub arrivals: Arrivals,
    /// Work of a request.
    pub service: Service,
    /// Share of requests for static content, which servers fetch instead of compute, 0 to 1.
    pub static_share: f64,
    /// Clients.
    pub clients: Population,
    /// Requested URIs.
    pub uris: Population,
    /// Additional values that may serve as a hash key: hosts, tenants, cookies. `None` = no such values.
    pub values: Option<Population>,
    /// Shares of the requests with another priority in the balancer's queue; the other requests have priority
    /// 0.
    pub priorities: Vec<PriorityShare>,
    /// Balancer settings.
    pub balancer: BalancerPlan,
    /// Groups of servers; at least one server in all.
    pub groups: Vec<Group>,
}

/// Balancing settings of a pool's config. A scenario by itself has none.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PoolRules {
    /// Algorithm of the pool with its options; the other algorithms have their defaults.
    pub scheduling: Option<Scheduling>,
    /// Rules that select the servers that take part, with any algorithm.
    pub membership: Membership,
    /// Paths of static content, for a replay with measured weights; empty = unused.
    pub static_paths: Vec<PathPattern>,
    /// Config keys of the pool that the simulation ignores.
    pub left_out: Vec<&'static str>,
}

/// Measure of the ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Mean latency.
    Mean,
    /// Median latency.
    P50,
    /// 95th percentile of the latency.
    P95,
    /// 99th percentile of the latency.
    P99,
    /// 99.9th percentile of the latency.
    #[serde(rename = "p99.9")]
    P999,
}

/// Arrivals of requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Random arrivals.
    Drawn {
        /// Pattern over time.
        pattern: Pattern,
        /// Number of requests.
        volume: Volume,
    },
    /// Arrivals of a log.
    Replay(Replay),
}

/// Pattern of arrivals over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Equal intervals.
    Constant,
    /// A Poisson process: independent arrivals.
    Poisson,
    /// A Poisson process whose rate jumps between two levels at random times.
    Bursty(Burst),
    /// A Poisson process whose rate follows a curve that repeats.
    Daily {
        /// Relative rates of equal parts of the day; at least one is above 0, none is negative.
        curve: Vec<f64>,
        /// Length of a day.
        day: SimTime,
    },
}

/// Bursts of [`Pattern::Bursty`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Burst {
    /// Rate within a burst, as a multiple of the mean rate; at least 1, and low enough that the rate outside
    /// is not negative.
    pub factor: f64,
    /// Mean length of a burst (exponential distribution).
    pub on: SimTime,
    /// Mean time between two bursts (exponential distribution).
    pub off: SimTime,
}

/// Number of requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Volume {
    /// Share of the capacity of all servers together; 1 = all of it.
    Load(f64),
    /// Requests per second.
    PerSecond(f64),
}

/// A log to replay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replay {
    /// Path of the log; `-` = standard input.
    pub file: PathBuf,
    /// Format of the lines.
    pub format: LogFormat,
    /// Speed of the replay; 2 = twice the original speed.
    pub speed: f64,
    /// Source of the service times.
    pub times: LoggedTimes,
}

/// Format of a log's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// The format that the first line implies.
    Auto,
    /// NCSA's common format.
    Common,
    /// NCSA's combined format.
    Combined,
    /// HAProxy's httplog and tcplog.
    Httplog,
    /// Weir's JSON lines.
    Json,
    /// Comma-separated values with a header line.
    Csv,
}

/// Source of the service times of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoggedTimes {
    /// The log: the time to the end of the response. [`Service`] for lines without it.
    Logged,
    /// The log: the time to the first byte of the response, which excludes the time that a slow client needs
    /// to read it. [`Service`] for lines without it.
    FirstByte,
    /// [`Service`] only.
    Drawn,
}

/// Work of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Service {
    /// Distribution of the times.
    pub law: ServiceLaw,
    /// Mean time at a server with speed 1.
    pub mean: SimTime,
}

/// Distribution of service times around their mean.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceLaw {
    /// All times equal.
    Deterministic,
    /// Exponential.
    Exponential,
    /// Log-normal.
    Lognormal {
        /// Coefficient of variation: standard deviation / mean, above 0.
        deviation: f64,
    },
    /// Pareto, truncated at a maximum.
    Pareto {
        /// Exponent of the tail, above 0; smaller = heavier.
        shape: f64,
        /// Maximum; above the mean.
        max: SimTime,
    },
    /// `base` + size / `bandwidth`.
    BySize {
        /// Part that does not depend on the size.
        base: SimTime,
        /// Bytes per second; above 0.
        bandwidth: u64,
        /// Mean size in bytes.
        size: u64,
        /// Coefficient of variation of the sizes (log-normal); 0 = all equal.
        deviation: f64,
    },
}

/// Clients, URIs or values, and their skew.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Population {
    /// Number of them; at least 1.
    pub count: u64,
    /// Exponent of Zipf's law: the frequency of the n-th is proportional to 1 / n^zipf. 0 = all equal.
    pub zipf: f64,
}

/// A share of the requests, with its priority in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PriorityShare {
    /// Share of all requests, above 0; the sum of all shares is at most 1.
    pub share: f64,
    /// Priority class; the lowest goes first, however long others wait.
    pub class: i16,
    /// Milliseconds added to the arrival time within the class (and within one client, if clients take
    /// turns); negative = earlier.
    pub offset_ms: i32,
}

/// A group of equal servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Name in reports.
    pub name: String,
    /// Number of servers.
    pub count: u32,
    /// Speed of each slot, above 0; 2 = does 2 s of work in 1 s.
    pub speed: f64,
    /// Speed for requests of static content, above 0; `None` = the same speed.
    pub static_speed: Option<f64>,
    /// Requests that a server handles at the same time at full speed; at least 1.
    pub concurrency: u32,
    /// Treatment of more requests.
    pub sharing: Sharing,
    /// Weight; the initial weight if weights are measured.
    pub weight: Weight,
    /// Known speeds of a server whose weight is measured; `None` = the weight is fixed.
    pub auto_weight: Option<KnownSpeeds>,
    /// True if the servers get requests only if no other server can.
    pub backup: bool,
    /// Priority: the servers get requests only if no server with a lower number can.
    pub priority: u16,
    /// True if the servers are in another zone than the balancer.
    pub is_remote: bool,
    /// Maximum number of active requests at each server, enforced by the balancer; `None` = no limit.
    pub connections_max: Option<u32>,
    /// Time when the servers are added to the pool; 0 = the start.
    pub added: SimTime,
    /// Cache of each server.
    pub cache: Option<CachePlan>,
    /// Disturbances of servers of the group.
    pub disturbances: Vec<Disturbance>,
    /// Reports of the servers' agents, in any order.
    pub agent: Vec<AgentWord>,
}

/// Treatment of requests beyond a server's slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// First in, first out: they wait.
    Fifo,
    /// Processor sharing: the server handles all of them, each more slowly.
    Shared,
}

/// A server's cache of URIs, with LRU eviction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CachePlan {
    /// Number of URIs in the cache.
    pub uris: u32,
    /// Speedup of a request whose URI is in the cache; at least 1.
    pub speed_up: f64,
}

/// A disturbance of servers of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disturbance {
    /// The servers fail, and lose all their requests.
    Fail(Failure),
    /// The servers are slower for a while.
    Slow(SlowDown),
    /// The operator drains the servers for a while.
    Drain(Drain),
}

/// Servers that fail and recover.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Failure {
    /// Begin, counted from the start.
    pub at: SimTime,
    /// Duration.
    pub lasts: SimTime,
    /// Number of affected servers, counted from the first one of the group; at most its `count`.
    pub servers: u32,
}

/// Servers that are slower for a while.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SlowDown {
    /// Begin, duration and number of servers.
    pub span: Failure,
    /// Speed in the meantime, as a multiple of the normal speed; above 0.
    pub speed: f64,
}

/// A report of the agents on servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentWord {
    /// Time of the report, counted from the start. It applies until another report revokes it.
    pub at: SimTime,
    /// Number of agents that send it, counted from the first server of the group; at most its `count`.
    pub servers: u32,
    /// Words of HAProxy's agent-check protocol, without unknown words.
    pub says: String,
}

/// Servers that the operator drains and puts back. They finish the requests that they have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drain {
    /// Begin, duration and number of servers.
    pub span: Failure,
    /// True if the servers are in maintenance: even clients bound to them go elsewhere.
    pub is_maintenance: bool,
}

impl Measure {
    /// All variants.
    pub const ALL: [Self; 5] = [Self::Mean, Self::P50, Self::P95, Self::P99, Self::P999];

    /// Returns the name in files and reports.
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
    /// Scales the times to another mean.
    ///
    /// # Errors
    /// If the times depend on the size and have no mean of their own, or if their maximum is not above the
    /// mean.
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
    /// Returns begin, duration and number of servers.
    pub fn span(&self) -> &Failure {
        match self {
            Self::Fail(span) => span,
            Self::Slow(slow) => &slow.span,
            Self::Drain(drain) => &drain.span,
        }
    }
}

impl Scenario {
    /// Returns the settings of an algorithm in this scenario.
    pub fn scheduling(&self, algorithm: Algorithm) -> Scheduling {
        let own = self.pool.scheduling.filter(|own| own.algorithm == algorithm);
        Scheduling { membership: self.pool.membership, ..own.unwrap_or_else(|| algorithm.into()) }
    }

    /// Returns the number of all servers.
    pub fn servers(&self) -> u64 {
        self.groups.iter().map(|group| u64::from(group.count)).sum()
    }

    /// Returns the mean speed of a slot of the group for the scenario's mix of requests.
    fn mean_speed(&self, group: &Group) -> f64 {
        match group.static_speed.filter(|_| self.static_share > 0.0) {
            Some(static_speed) => {
                1.0 / ((1.0 - self.static_share) / group.speed + self.static_share / static_speed)
            }
            None => group.speed,
        }
    }

    /// Returns the capacity of all servers together, in requests of the mean size per second.
    pub fn capacity_per_s(&self) -> f64 {
        let slots =
            |group: &Group| f64::from(group.count) * f64::from(group.concurrency) * self.mean_speed(group);
        self.groups.iter().map(slots).sum::<f64>() / self.service.mean.seconds().max(1e-9)
    }
}
