use std::fmt;
use std::time::Duration;

use weir_model::{Name, ServerName, ZoneName};

use crate::signals::Unusable;

/// How many servers there should be, why, and what is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Servers of the fleet's standard kind that are wanted, within all bounds.
    pub wanted: u32,
    /// Servers of that kind that the policies call for, without `min`, `max` and pauses.
    pub needed: u32,
    /// Why so many are wanted, in one line.
    pub reason: String,
    /// What each policy said, in the order of the rules.
    pub parts: Vec<Part>,
    /// Demand that was gone by, in servers of the standard kind; `None` = nothing could be measured.
    pub demand: Option<f64>,
    /// How the fleet was counted.
    pub fleet: Fleet,
    /// What is to be done, in this order. Carried out twice, each does no more than once.
    pub actions: Vec<Action>,
    /// What somebody should look at. Empty = all is well.
    pub alarms: Vec<Alarm>,
}

/// What one policy said.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The policy's name.
    pub policy: &'static str,
    /// So many servers, before any bound.
    pub wanted: u32,
    /// Why.
    pub reason: String,
}

/// A fleet by what its servers can do, in servers of the standard kind, and by number.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Fleet {
    /// What healthy servers can do: the only capacity there is.
    pub healthy: f64,
    /// What those will add that are on their way and not overdue.
    pub coming: f64,
    /// Servers that take requests and pass their checks.
    pub healthy_servers: u32,
    /// Servers on their way, overdue ones too.
    pub coming_servers: u32,
    /// Servers that drain.
    pub draining_servers: u32,
    /// Servers that can be woken.
    pub stopped_servers: u32,
    /// Servers that exist in any state.
    pub servers: u32,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Give requests to a draining server again.
    Recall {
        /// Which.
        server: ServerName,
    },
    /// Start a stopped server.
    Wake {
        /// Which.
        server: ServerName,
    },
    /// Make servers, at the same time.
    Create {
        /// How many.
        count: u32,
        /// Of which kind; `None` = the only one.
        flavour: Option<Name>,
        /// Where; `None` = the provider decides.
        zone: Option<ZoneName>,
        /// They are to be kept stopped.
        for_standby: bool,
    },
    /// Give a server nothing new.
    Drain {
        /// Which.
        server: ServerName,
    },
    /// Stop a server and keep it.
    Stop {
        /// Which.
        server: ServerName,
        /// Requests that are cut off by that: its time to drain is over.
        cut: u64,
    },
    /// Delete a server for good.
    Delete {
        /// Which.
        server: ServerName,
        /// Requests that are cut off by that.
        cut: u64,
    },
    /// Delete a server that does not get well, and have another in its place.
    Replace {
        /// Which.
        server: ServerName,
        /// By which.
        by: Successor,
        /// There is no room for another one before it is gone.
        delete_first: bool,
        /// Requests that are cut off by that: it has not got well, so they are not waited for.
        cut: u64,
    },
}

/// Who comes in place of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Successor {
    /// A stopped one that is woken.
    Woken(ServerName),
    /// A new one of this kind.
    Created(Option<Name>),
    /// Nobody: fewer are wanted now.
    Nobody,
}

/// What somebody should look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Alarm {
    /// Nothing useful is measured, or not all; the fleet stays as it is, or grows.
    Blind(Unusable),
    /// More are wanted than `max` or the quota permits.
    Bounded {
        /// So many would be.
        wanted: u32,
        /// So many may be.
        most: u32,
    },
    /// So many servers are on their way for more than twice as long as it should take.
    Overdue(u32),
    /// The provider has failed with so many servers.
    Failed(u32),
    /// Machines fail before they have served: none is made for a while.
    Withheld {
        /// Why the last one has.
        cause: StartFailure,
        /// How many times in a row.
        failures: u32,
        /// How much longer.
        wait: Duration,
    },
    /// The provider's list leaves out so many machines that pass their checks.
    LeftOut(u32),
    /// Machines or what balances could not be asked for so long.
    Silent(Duration),
}

/// Why a machine has never served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFailure {
    /// The provider says that it has failed.
    Provider,
    /// It runs, and its checks do not pass.
    Checks,
    /// It does not run in time.
    Late,
    /// It was started, and stays stopped.
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
