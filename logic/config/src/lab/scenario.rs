use std::net::IpAddr;
use std::path::PathBuf;

use serde::Serialize;
use weir_model::Millis;

use super::Rival;
use crate::syntax::source::Span;

/// A place in the scenario's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(pub(super) Span);

/// What is compared, and how.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scenario {
    /// For people; may be empty.
    pub title: String,
    /// How often each case is played with each rival; at least 1.
    pub repeats: u32,
    /// Where the order of turns begins.
    pub seed: u64,
    /// Load before each turn that is not measured.
    pub warm_up: Millis,
    /// Between turns.
    pub pause: Millis,
    /// How often monitors look.
    pub watch_every: Millis,
    /// What is watched besides processes, TCP and the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub monitors: Vec<Watched>,
    /// What the verdict goes by; at least one.
    pub judge: Vec<Measure>,
    /// A difference that does not matter: 0.05 = 5 percent. See [`Scenario::margin_of`].
    pub margin: f64,
    /// Where it is played.
    pub topology: Topology,
    /// Where the topology is asked for.
    #[serde(skip)]
    pub topology_mark: Option<Mark>,
    /// The machines of [`Topology::Hosts`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// The servers.
    pub servers: Servers,
    /// What every balancer is told.
    pub balancer: BalancerSetup,
    /// Who is compared; at least one, names differ.
    pub rivals: Vec<Rival>,
    /// What is asked of them; at least one, names differ.
    pub cases: Vec<Case>,
    /// What others have published of these cases.
    pub published: Vec<Published>,
}

/// One request of a thousand more that fails matters, however far shares of nearly all are from 5 percent.
const ANSWERED_MARGIN_MAX: f64 = 0.001;

impl Scenario {
    /// A difference of this figure that does not matter: 0.05 = 5 percent.
    pub fn margin_of(&self, measure: Measure) -> f64 {
        if matches!(measure, Measure::Answered | Measure::Success) {
            self.margin.min(ANSWERED_MARGIN_MAX)
        } else {
            self.margin
        }
    }
}

/// Where a scenario is played.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Everything over the machine's loopback.
    Loopback,
    /// Client, balancer and servers each in a network namespace, joined by a bridge.
    Namespaces(Links),
    /// Balancer and servers on machines that are reached over SSH, the client on this one.
    Hosts,
}

/// Machines that are reached over SSH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hosts {
    /// Where balancers run.
    pub balancer: Host,
    /// Where servers run, one after another; at least one.
    pub servers: Vec<Host>,
    /// A configuration of ssh's to use instead of the usual one.
    pub ssh_config: Option<PathBuf>,
    /// How long one that is asked for something may say nothing.
    pub timeout: Millis,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Host {
    /// As ssh takes it: `user@name`, or a name of its configuration.
    pub destination: String,
    /// Where the others reach it; `None` = where ssh does.
    pub address: Option<IpAddr>,
}

/// How fast links are, in Mbit/s, already divided by the scale; `None` = as fast as they can be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Links {
    /// The client's.
    pub client: Option<f64>,
    /// The balancer's.
    pub balancer: Option<f64>,
    /// Each server's.
    pub server: Option<f64>,
    /// What the rates of the file were divided by.
    pub scale: f64,
}

/// The servers behind the balancer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Servers {
    /// What they are.
    pub kind: ServerKind,
    /// What balancers are told of each, one after another, and from the start again for further ones; empty = all are alike.
    pub weights: Vec<u32>,
    /// What each takes before it answers, without using the CPU, as `weights`; empty = nothing.
    #[serde(rename = "delay")]
    pub delays: Vec<Millis>,
    /// Requests that each works on at the same time, as `weights`; others wait. Empty = all that come.
    pub concurrency: Vec<u32>,
    /// The program, unless it is found by its name.
    pub program: Option<PathBuf>,
    /// Of a command, with `{bind}`, `{name}` and `{directory}`.
    pub arguments: Vec<String>,
    /// Where it stands.
    #[serde(skip)]
    pub mark: Option<Mark>,
}

impl Servers {
    /// What the server with this number, from 0, takes before it answers.
    pub fn delay(&self, at: usize) -> Millis {
        in_turn(&self.delays, at).unwrap_or_default()
    }

    /// Requests that it works on at the same time; `None` = all that come.
    pub fn concurrency(&self, at: usize) -> Option<u32> {
        in_turn(&self.concurrency, at)
    }

    /// The shortest delay of the first so many.
    pub fn delay_min(&self, count: u32) -> Millis {
        (0..count as usize).map(|at| self.delay(at)).min().unwrap_or_default()
    }

    /// What balancers are told of the first so many; empty = all are alike.
    pub fn weights(&self, count: u32) -> Vec<u32> {
        (0..count as usize).map_while(|at| in_turn(&self.weights, at)).collect()
    }
}

fn in_turn<T: Copy>(values: &[T], at: usize) -> Option<T> {
    values.get(at.checked_rem(values.len())?).copied()
}

/// What a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerKind {
    /// Weir's test server.
    Origin,
    /// Weir's storage area over a directory: WebDAV.
    Storage,
    /// NGINX, which serves files.
    Nginx,
    /// Apache, which serves files.
    Apache,
    /// A program of the user's.
    Command,
}

/// What every balancer is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BalancerSetup {
    /// Threads or processes.
    pub workers: u32,
    /// Where it listens; 0 = a free port.
    pub port: u16,
    /// Where the port stands.
    #[serde(skip)]
    pub port_mark: Option<Mark>,
    /// Clients speak TLS.
    pub tls_in: bool,
    /// Servers speak TLS.
    pub tls_out: bool,
    /// The path of active health checks, by those that have such; empty = none.
    pub check: String,
    /// Two of each balancer, of which one has the address.
    pub pair: Option<PairSetup>,
}

/// An active balancer and a passive one, with keepalived beside each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairSetup {
    /// How often the active one says that it is there.
    pub interval: Millis,
    /// The program of keepalived, unless it is found by its name.
    pub program: Option<PathBuf>,
    /// Where it is asked for.
    #[serde(skip)]
    pub mark: Option<Mark>,
}

/// What may be watched besides processes, TCP and the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watched {
    /// Every disk.
    Disks,
    /// The interfaces of the balancer's network.
    Interfaces,
    /// What the machine uses.
    Energy,
}

impl Watched {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Disks, Self::Interfaces, Self::Energy];

    /// As the file calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disks => "disks",
            Self::Interfaces => "interfaces",
            Self::Energy => "energy",
        }
    }

    /// The one of this name.
    pub fn of(name: &str) -> Option<Self> {
        named(&Self::ALL, Self::name, name)
    }
}

/// One load on one number of servers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    /// What reports call it: the test's name, and what tells it from the test's other cases.
    pub name: String,
    /// How many servers.
    pub servers: u32,
    /// When requests start.
    pub demand: Demand,
    /// Rates one after another, in place of the one of the demand, which is the highest of them: requests a second, and for how long.
    pub phases: Vec<(f64, Millis)>,
    /// Ends it after so many requests.
    pub requests: Option<u64>,
    /// How long requests are started; of a closed loop only, if `requests` is not given.
    pub duration: Millis,
    /// `GET` and the like.
    pub method: String,
    /// Several methods in its place: each with its weight.
    pub mix: Option<String>,
    /// Of the URL.
    pub path: String,
    /// What a body of the answer has, if that is known.
    pub size: Option<u64>,
    /// What is sent with each request.
    pub body_bytes: u64,
    /// Header lines of each request.
    pub headers: Vec<(String, String)>,
    /// Connections take more than one request.
    pub keep_alive: bool,
    /// How long an answer may take.
    pub timeout: Millis,
    /// Whether the algorithm must be seen in the servers' shares.
    pub check_balance: bool,
    /// Kills the first server in the middle, and starts it again after so long.
    pub kill_for: Option<Millis>,
    /// What the active one of a pair loses in the middle.
    pub lose: Option<Loss>,
    /// The balancer reads its configuration again so often.
    pub reload_every: Option<Millis>,
    /// So many further connections say nothing.
    pub idle: u32,
}

impl Case {
    /// Something is lost, or reloaded, while requests come.
    pub fn has_trouble(&self) -> bool {
        self.kill_for.is_some() || self.lose.is_some() || self.reload_every.is_some()
    }
}

/// What the active one of a pair of balancers loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// All of it: its link goes down.
    Machine,
    /// The balancer is killed.
    Program,
}

/// When requests start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Demand {
    /// By the clock, so many a second.
    Rate {
        /// Requests, or connections if there are calls.
        per_s: f64,
        /// At random instead of evenly.
        poisson: bool,
        /// Requests on each connection, which is a session then.
        calls: Option<u32>,
    },
    /// Each connection asks again when it is answered.
    Connections(u32),
}

/// What is measured of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Mean latency.
    Mean,
    /// Its median.
    P50,
    /// Its 99th percentile.
    P99,
    /// Mean time to connect.
    Connect,
    /// Mean time from a standing connection to the first byte.
    Waiting,
    /// Answers as expected each second.
    Rate,
    /// CPU time of the balancer for each answer.
    Cpu,
    /// CPU time of the servers for each answer.
    ServerCpu,
    /// CPU time of the whole machine for each answer: client, balancer, servers and kernel.
    MachineCpu,
    /// Memory of the balancer at the end.
    Memory,
    /// Servers that ran, on average, where they come and go.
    Servers,
    /// The longest time without an answer as expected, where something is lost or reloaded.
    Outage,
    /// Share of the requests that were answered as expected, there.
    Answered,
    /// From the first request that failed to the last one, there.
    Recovery,
    /// 90th percentile of the latency.
    P90,
    /// 95th percentile of the latency.
    P95,
    /// The longest latency.
    Max,
    /// Standard deviation of the latency.
    Deviation,
    /// Share of the requests that were answered as expected, in any case.
    Success,
    /// Memory of the servers at the end.
    ServerMemory,
    /// Mean time of a connection with all its calls.
    Session,
}

impl Measure {
    /// All of them.
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

    /// As the file calls it.
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

    /// What it is, with its unit, as a heading.
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

    /// More is better.
    pub fn is_more_better(self) -> bool {
        matches!(self, Self::Rate | Self::Answered | Self::Success)
    }

    /// It follows the speed of the machine: what makes that vary makes the figure vary.
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

    /// It says how failures are borne: it is asked of runs in which requests fail, too.
    pub fn is_of_trouble(self) -> bool {
        matches!(self, Self::Outage | Self::Answered | Self::Recovery | Self::Success)
    }
}

/// What somebody has published.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    /// Of which case.
    pub case: String,
    /// Which figure.
    pub measure: Measure,
    /// Only how they stand to each other: in percent of the best of the case, instead of the measure's unit.
    pub is_percent: bool,
    /// Of whom.
    pub values: Vec<(String, f64)>,
}

pub(super) fn named<T: Copy>(all: &[T], name: fn(T) -> &'static str, wanted: &str) -> Option<T> {
    all.iter().copied().find(|one| name(*one) == wanted)
}
