//! Decisions of the scaler: the wanted servers, the reason, the actions and the alarms.

use std::fmt;
use std::time::Duration;

use weir_model::{Name, ServerName, ZoneName};

use crate::signals::Unusable;

/// Result of one round: the wanted number of servers, the reason, and the actions.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Wanted servers of the fleet's standard kind, within all bounds.
    pub wanted: u32,
    /// Servers of that kind that the policies propose, without `min`, `max` and pauses.
    pub needed: u32,
    /// Reason for the wanted number, on one line.
    pub reason: String,
    /// Proposal of each policy, in the order of the rules.
    pub parts: Vec<Part>,
    /// Demand used for the decision, in servers of the standard kind; `None` = no measurement.
    pub demand: Option<f64>,
    /// Count of the fleet.
    pub fleet: Fleet,
    /// Actions in the order of execution. Each action is idempotent.
    pub actions: Vec<Action>,
    /// Conditions that need an operator's attention; empty = none.
    pub alarms: Vec<Alarm>,
}

/// Proposal of one policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The policy's name.
    pub policy: &'static str,
    /// Proposed servers, before any bound.
    pub wanted: u32,
    /// Reason for the proposal.
    pub reason: String,
}

/// Count of a fleet: capacity in servers of the standard kind, and numbers of servers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fleet {
    /// Capacity of the healthy servers.
    pub healthy: f64,
    /// Capacity of the servers that are starting and not overdue.
    pub coming: f64,
    /// Servers that receive requests and pass their health checks.
    pub healthy_servers: u32,
    /// Servers that are starting, including overdue ones.
    pub coming_servers: u32,
    /// Servers that are draining.
    pub draining_servers: u32,
    /// Stopped servers, which can be started.
    pub stopped_servers: u32,
    /// All existing servers, in any state.
    pub servers: u32,
}

/// One action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Sends requests to a draining server again.
    Recall {
        /// Name of the server.
        server: ServerName,
    },
    /// Starts a stopped server.
    Wake {
        /// Name of the server.
        server: ServerName,
    },
    /// Creates servers in parallel.
    Create {
        /// Number of servers.
        count: u32,
        /// Kind of the servers; `None` = the only kind.
        flavour: Option<Name>,
        /// Zone of the servers; `None` = the provider decides.
        zone: Option<ZoneName>,
        /// True if the servers are to be kept stopped.
        for_standby: bool,
    },
    /// Stops sending new requests to a server.
    Drain {
        /// Name of the server.
        server: ServerName,
    },
    /// Stops a server and keeps it.
    Stop {
        /// Name of the server.
        server: ServerName,
        /// Requests that are aborted because the drain deadline is over.
        cut: u64,
    },
    /// Deletes a server.
    Delete {
        /// Name of the server.
        server: ServerName,
        /// Requests that are aborted.
        cut: u64,
    },
    /// Deletes a server that stays unhealthy, and replaces it.
    Replace {
        /// Name of the server.
        server: ServerName,
        /// Successor of the server.
        by: Successor,
        /// True if the bounds leave no room for the successor until the server is deleted.
        delete_first: bool,
        /// Requests that are aborted. The action does not wait for them, because the server stays unhealthy.
        cut: u64,
    },
}

/// Successor of a server that is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Successor {
    /// A stopped server that is started.
    Woken(ServerName),
    /// A new server of this kind.
    Created(Option<Name>),
    /// None: fewer servers are wanted now.
    Nobody,
}

/// Condition that needs an operator's attention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Alarm {
    /// A signal is missing or incomplete; the fleet keeps its size or grows.
    Blind(Unusable),
    /// `max` or the quota permits fewer servers than the policies propose.
    Bounded {
        /// Proposed servers.
        wanted: u32,
        /// Permitted servers.
        most: u32,
    },
    /// Servers that have been starting for more than twice the expected time.
    Overdue(u32),
    /// Servers that the provider failed to create, start or stop.
    Failed(u32),
    /// Machines fail before they serve; no machine is created for a while.
    Withheld {
        /// Cause of the latest failure.
        cause: StartFailure,
        /// Failures in a row.
        failures: u32,
        /// Remaining pause.
        wait: Duration,
    },
    /// Machines that pass their health checks but are missing from the provider's list.
    LeftOut(u32),
    /// Time for which the provider or the load balancer has not answered.
    Silent(Duration),
}

/// Reason why a machine never served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFailure {
    /// The provider reports a failure.
    Provider,
    /// The machine runs, but its health checks fail.
    Checks,
    /// The machine does not run in time.
    Late,
    /// The machine was started, but stays stopped.
    StaysStopped,
}

impl fmt::Display for StartFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Provider => "the provider fails with them",
            Self::Checks => "they run, and their checks do not pass",
            Self::Late => "the provider does not make them in time",
            Self::StaysStopped => "the provider starts them, and they stay stopped",
        })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recall { server } => write!(f, "call {server} back"),
            Self::Wake { server } => write!(f, "wake {server}"),
            Self::Create { count, flavour, zone, for_standby } => {
                write!(f, "create {count}")?;
                flavour.as_ref().map_or(Ok(()), |flavour| write!(f, " of {flavour}"))?;
                zone.as_ref().map_or(Ok(()), |zone| write!(f, " in {zone}"))?;
                f.write_str(if *for_standby { " to be kept stopped" } else { "" })
            }
            Self::Drain { server } => write!(f, "drain {server}"),
            Self::Stop { server, cut } => write!(f, "stop {server}{}", Cut(*cut)),
            Self::Delete { server, cut } => write!(f, "delete {server}{}", Cut(*cut)),
            Self::Replace { server, by, cut, .. } => {
                match by {
                    Successor::Woken(other) => write!(f, "replace {server} by {other}"),
                    Successor::Created(_) => write!(f, "replace {server} by a new one"),
                    Successor::Nobody => write!(f, "delete {server}, which does not get well"),
                }?;
                Cut(*cut).fmt(f)
            }
        }
    }
}

struct Cut(u64);

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            requests => write!(f, ", cutting off {requests} requests"),
        }
    }
}

impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blind(why @ (Unusable::AtLeast(_) | Unusable::Jump { .. } | Unusable::Standstill(_))) => {
                write!(f, "{why}: no server is let go")
            }
            Self::Blind(why) => write!(f, "{why}: the fleet stays as it is"),
            Self::Bounded { wanted, most } => write!(f, "{wanted} servers are wanted, {most} are permitted"),
            Self::Overdue(servers) => write!(f, "{servers} servers should have been ready long ago"),
            Self::Failed(servers) => write!(f, "the provider has failed with {servers} servers"),
            Self::Withheld { cause, failures, wait } => write!(
                f,
                "machines fail before they have served, {failures} times in a row ({cause}): none is made for another {} s",
                wait.as_secs() + 1
            ),
            Self::LeftOut(servers) => {
                write!(f, "the provider's list leaves out {servers} servers that pass their checks")
            }
            Self::Silent(span) => {
                write!(f, "nothing is known for {} s: the fleet stays as it is", span.as_secs())
            }
        }
    }
}
