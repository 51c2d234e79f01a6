//! A valid lab scenario: balancers, servers, topology, loads and measures.

use std::net::IpAddr;
use std::path::PathBuf;

use serde::Serialize;
use weir_model::Millis;

use super::Rival;
use crate::syntax::source::Span;

/// A position in the scenario's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(pub(super) Span);

/// A comparison of balancers: what runs, and with which settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scenario {
    /// Title for readers; may be empty.
    pub title: String,
    /// Number of runs of each case with each rival; at least 1.
    pub repeats: u32,
    /// Seed for the order of runs.
    pub seed: u64,
    /// Duration of the unmeasured load before each run.
    pub warm_up: Millis,
    /// Pause between runs.
    pub pause: Millis,
    /// Sampling interval of monitors.
    pub watch_every: Millis,
    /// Monitored things besides processes, TCP and the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub monitors: Vec<Watched>,
    /// Measures that decide the verdict; at least one.
    pub judge: Vec<Measure>,
    /// Relative difference that does not matter: 0.05 = 5 percent. See [`Scenario::margin_of`].
    pub margin: f64,
    /// Topology of the test bed.
    pub topology: Topology,
    /// Position of the topology.
    #[serde(skip)]
    pub topology_mark: Option<Mark>,
    /// The machines of [`Topology::Hosts`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// The servers.
    pub servers: Servers,
    /// Settings that all balancers share.
    pub balancer: BalancerSetup,
    /// Balancers to compare; at least one, with unique names.
    pub rivals: Vec<Rival>,
    /// Loads; at least one, with unique names.
    pub cases: Vec<Case>,
    /// Figures that others have published for these cases.
    pub published: Vec<Published>,
}

/// Upper bound of the margin for shares of successful requests. One more failure in a thousand requests
/// matters, even if it is far less than 5 percent.
const ANSWERED_MARGIN_MAX: f64 = 0.001;

impl Scenario {
    /// Returns the difference of this measure that does not matter: 0.05 = 5 percent.
    pub fn margin_of(&self, measure: Measure) -> f64 {
        if matches!(measure, Measure::Answered | Measure::Success) {
            self.margin.min(ANSWERED_MARGIN_MAX)
        } else {
            self.margin
        }
    }
}

/// Topology of the test bed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Everything on the machine's loopback.
    Loopback,
    /// Client, balancer and servers, each in its own network namespace, joined by a bridge.
    Namespaces(Links),
    /// Balancer and servers on remote machines, reached over SSH; the client on this one.
    Hosts,
}

/// Machines that are reached over SSH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hosts {
    /// Machine for balancers.
    pub balancer: Host,
    /// Machines for servers, filled in order; at least one.
    pub servers: Vec<Host>,
    /// SSH configuration file; `None` = the user's.
    pub ssh_config: Option<PathBuf>,
    /// Time limit for a remote machine that does not respond.
    pub timeout: Millis,
}

/// One remote machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Host {
    /// SSH destination: `user@name`, or a name of the SSH configuration.
    pub destination: String,
    /// Address for the other machines; `None` = the one that SSH uses.
    pub address: Option<IpAddr>,
}

/// Link speeds in Mbit/s, already divided by the scale; `None` = unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Links {
    /// Link of the client.
    pub client: Option<f64>,
    /// Link of the balancer.
    pub balancer: Option<f64>,
    /// Link of each server.
    pub server: Option<f64>,
    /// Divisor that has been applied to the rates of the file.
    pub scale: f64,
}

/// The servers behind the balancer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Servers {
    /// Kind of the servers.
    pub kind: ServerKind,
    /// Configured weights of the servers, repeated if there are more servers; empty = all are equal.
    pub weights: Vec<u32>,
    /// Response delay of each server, without CPU use; repeated like `weights`. Empty = none.
    #[serde(rename = "delay")]
    pub delays: Vec<Millis>,
    /// Requests that each server handles at the same time, repeated like `weights`; more wait. Empty =
    /// unlimited.
    pub concurrency: Vec<u32>,
    /// Program; `None` = found by its name.
    pub program: Option<PathBuf>,
    /// Arguments of a command, with `{bind}`, `{name}` and `{directory}`.
    pub arguments: Vec<String>,
    /// Position in the scenario.
    #[serde(skip)]
    pub mark: Option<Mark>,
}

impl Servers {
    /// Returns the response delay of the server with this index.
    pub fn delay(&self, at: usize) -> Millis {
        in_turn(&self.delays, at).unwrap_or_default()
    }

    /// Returns the number of requests that the server handles at the same time; `None` = unlimited.
    pub fn concurrency(&self, at: usize) -> Option<u32> {
        in_turn(&self.concurrency, at)
    }

    /// Returns the shortest delay of the first `count` servers.
    pub fn delay_min(&self, count: u32) -> Millis {
        (0..count as usize).map(|at| self.delay(at)).min().unwrap_or_default()
    }

    /// Returns the weights of the first `count` servers; empty = all are equal.
    pub fn weights(&self, count: u32) -> Vec<u32> {
        (0..count as usize).map_while(|at| in_turn(&self.weights, at)).collect()
    }
}

fn in_turn<T: Copy>(values: &[T], at: usize) -> Option<T> {
    values.get(at.checked_rem(values.len())?).copied()
}

/// Kind of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerKind {
    /// Weir's test server.
    Origin,
    /// A storage area of Weir over a directory: WebDAV.
    Storage,
    /// NGINX, which serves files.
    Nginx,
    /// Apache, which serves files.
    Apache,
    /// A program of the user.
    Command,
}

/// Settings that all balancers share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BalancerSetup {
    /// Number of threads or processes.
    pub workers: u32,
    /// Port to listen on; 0 = a free port.
    pub port: u16,
    /// Position of the port.
    #[serde(skip)]
    pub port_mark: Option<Mark>,
    /// True if clients speak TLS.
    pub tls_in: bool,
    /// True if servers speak TLS.
    pub tls_out: bool,
    /// Path of active health checks, for balancers that support them; empty = none.
    pub check: String,
    /// Active-passive pair of each balancer; one of the two has the address.
    pub pair: Option<PairSetup>,
}

/// An active and a passive balancer, each with keepalived beside it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairSetup {
    /// Interval of keepalived's advertisements.
    pub interval: Millis,
    /// Program of keepalived; `None` = found by its name.
    pub program: Option<PathBuf>,
    /// Position in the scenario.
    #[serde(skip)]
    pub mark: Option<Mark>,
}

/// Monitored things besides processes, TCP and the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watched {
    /// Every disk.
    Disks,
    /// The interfaces of the balancer's network.
    Interfaces,
    /// Energy use of the machine.
    Energy,
}

impl Watched {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Disks, Self::Interfaces, Self::Energy];

    /// Returns the name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disks => "disks",
            Self::Interfaces => "interfaces",
            Self::Energy => "energy",
        }
    }

    /// Returns the variant with this name.
    pub fn of(name: &str) -> Option<Self> {
        named(&Self::ALL, Self::name, name)
    }
}

/// One load on a given number of servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    /// Name in reports: the test's name and the values that distinguish the case.
    pub name: String,
    /// Number of servers.
    pub servers: u32,
    /// Pattern of request starts.
    pub demand: Demand,
    /// Rates that follow each other and replace the rate of `demand`, which is the highest of them: requests
    /// per second, and the duration.
    pub phases: Vec<(f64, Millis)>,
    /// Number of requests after which the case ends.
    pub requests: Option<u64>,
    /// Time during which requests start; for a closed loop only if `requests` is not given.
    pub duration: Millis,
    /// Method, such as `GET`.
    pub method: String,
    /// Mix of methods that replaces `method`: each with its weight.
    pub mix: Option<String>,
    /// Path of the URL.
    pub path: String,
    /// Bytes of a response body, if known.
    pub size: Option<u64>,
    /// Bytes of each request body.
    pub body_bytes: u64,
    /// Header lines of each request.
    pub headers: Vec<(String, String)>,
    /// True if connections carry more than one request.
    pub keep_alive: bool,
    /// Time limit for a response.
    pub timeout: Millis,
    /// True if the servers' shares must show the balancing scheme.
    pub check_balance: bool,
    /// Downtime of the first server, which is killed in the middle of the case.
    pub kill_for: Option<Millis>,
    /// Failure of the active balancer of a pair, in the middle of the case.
    pub lose: Option<Loss>,
    /// Interval at which the balancer reloads its configuration.
    pub reload_every: Option<Millis>,
    /// Number of additional idle connections.
    pub idle: u32,
}

impl Case {
    /// Returns true if something fails or reloads while requests arrive.
    pub fn has_trouble(&self) -> bool {
        self.kill_for.is_some() || self.lose.is_some() || self.reload_every.is_some()
    }
}

/// Failure of the active balancer of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The machine fails: its link goes down.
    Machine,
    /// The balancer is killed.
    Program,
}

/// Pattern of request starts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Demand {
    /// Open loop: a fixed number of requests per second.
    Rate {
        /// Requests per second, or connections per second if there are `calls`.
        per_s: f64,
        /// True for random intervals (Poisson), false for equal ones.
        poisson: bool,
        /// Requests on each connection, which then counts as a session.
        calls: Option<u32>,
    },
    /// Closed loop: each connection sends its next request after a response.
    Connections(u32),
}

/// Measure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Mean latency.
    Mean,
    /// Median latency.
    P50,
    /// 99th percentile of the latency.
    P99,
    /// Mean time to connect.
    Connect,
    /// Mean time from an established connection to the first byte.
    Waiting,
    /// Expected responses per second.
    Rate,
    /// CPU time of the balancer for each response.
    Cpu,
    /// CPU time of the servers for each response.
    ServerCpu,
    /// CPU time of the whole machine for each response: client, balancer, servers and kernel.
    MachineCpu,
    /// Memory of the balancer at the end.
    Memory,
    /// Mean number of running servers of a fleet.
    Servers,
    /// Longest time without an expected response, if something fails or reloads.
    Outage,
    /// Share of the requests with the expected response, if something fails or reloads.
    Answered,
    /// Time from the first failed request to the last one, if something fails or reloads.
    Recovery,
    /// 90th percentile of the latency.
    P90,
    /// 95th percentile of the latency.
    P95,
    /// Maximum latency.
    Max,
    /// Standard deviation of the latency.
    Deviation,
    /// Share of the requests with the expected response, in all cases.
    Success,
    /// Memory of the servers at the end.
    ServerMemory,
    /// Mean time of a connection with all its calls.
    Session,
}

impl Measure {
    /// All variants.
    pub const ALL: [Self; 21] = [
        Self::Mean,
        Self::P50,
        Self::P99,
        Self::Connect,
        Self::Waiting,
        Self::Rate,
        Self::Cpu,
        Self::ServerCpu,
        Self::MachineCpu,
        Self::Memory,
        Self::Servers,
        Self::Outage,
        Self::Answered,
        Self::Recovery,
        Self::P90,
        Self::P95,
        Self::Max,
        Self::Deviation,
        Self::Success,
        Self::ServerMemory,
        Self::Session,
    ];

    /// Returns the name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::Connect => "connect",
            Self::Waiting => "waiting",
            Self::Rate => "rate",
            Self::Cpu => "cpu",
            Self::ServerCpu => "server-cpu",
            Self::MachineCpu => "machine-cpu",
            Self::Memory => "memory",
            Self::Servers => "servers",
            Self::Outage => "outage",
            Self::Answered => "answered",
            Self::Recovery => "recovery",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::Max => "max",
            Self::Deviation => "deviation",
            Self::Success => "success",
            Self::ServerMemory => "server-memory",
            Self::Session => "session",
        }
    }

    /// Returns a heading with the unit.
    pub fn title(self) -> &'static str {
        match self {
            Self::Mean => "Mean latency, ms",
            Self::P50 => "Median latency, ms",
            Self::P99 => "99th percentile of latency, ms",
            Self::Connect => "Mean time to connect, ms",
            Self::Waiting => "Mean time to the first byte, ms",
            Self::Rate => "Answers a second",
            Self::Cpu => "CPU time of the balancer for each answer, us",
            Self::ServerCpu => "CPU time of the servers for each answer, us",
            Self::MachineCpu => "CPU time of the whole machine for each answer, us",
            Self::Memory => "Memory of the balancer, MiB",
            Self::Servers => "Servers that ran, on average",
            Self::Outage => "Longest time without an answer, ms",
            Self::Answered => "Requests answered as expected, %",
            Self::Recovery => "From the first failed request to the last, ms",
            Self::P90 => "90th percentile of latency, ms",
            Self::P95 => "95th percentile of latency, ms",
            Self::Max => "Longest latency, ms",
            Self::Deviation => "Standard deviation of latency, ms",
            Self::Success => "Success ratio, %",
            Self::ServerMemory => "Memory of the servers, MiB",
            Self::Session => "Mean time of a connection with its calls, ms",
        }
    }

    /// Returns true if a higher value is better.
    pub fn is_more_better(self) -> bool {
        matches!(self, Self::Rate | Self::Answered | Self::Success)
    }

    /// Returns true if the measure depends on the speed of the machine, and so varies with it.
    pub fn is_of_speed(self) -> bool {
        !matches!(
            self,
            Self::Memory
                | Self::ServerMemory
                | Self::Servers
                | Self::Outage
                | Self::Recovery
                | Self::Answered
                | Self::Success
        )
    }

    /// Returns true if the measure describes the effect of failures. Such a measure also counts runs with
    /// failed requests.
    pub fn is_of_trouble(self) -> bool {
        matches!(self, Self::Outage | Self::Answered | Self::Recovery | Self::Success)
    }
}

/// Figures that others have published.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    /// Name of the case.
    pub case: String,
    /// Published measure.
    pub measure: Measure,
    /// True if the values are percentages of the best value of the case, instead of the measure's unit.
    pub is_percent: bool,
    /// Values by the rival's name.
    pub values: Vec<(String, f64)>,
}

pub(super) fn named<T: Copy>(all: &[T], name: fn(T) -> &'static str, wanted: &str) -> Option<T> {
    all.iter().copied().find(|one| name(*one) == wanted)
}
