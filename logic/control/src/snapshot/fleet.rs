use serde::{Deserialize, Serialize};

/// A fleet: how many servers it has, how many it should have, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetSnapshot {
    /// Its name.
    pub name: String,
    /// The pool in which its servers are balanced, or `haproxy:` and the backend.
    pub pool: String,
    /// Where they come from: process, exec, openstack or kubernetes.
    pub provider: String,
    /// This process acts for it; else another one does, or nobody can.
    pub leads: bool,
    /// Decisions are not carried out.
    pub paused: bool,
    /// So many were asked for by hand; `None` = demand decides.
    pub pinned: Option<u32>,
    /// Never fewer.
    pub min: u32,
    /// Never more that run.
    pub max: u32,
    /// So many are wanted.
    pub wanted: u32,
    /// Why.
    pub reason: String,
    /// What each policy says.
    pub policies: Vec<FleetPolicySnapshot>,
    /// What is measured, in servers; `None` = nothing is known.
    pub demand: Option<f64>,
    /// What servers are believed to do, and why.
    pub capacity: Vec<String>,
    /// Servers that take requests and pass their checks.
    pub active: u32,
    /// Servers on their way.
    pub coming: u32,
    /// Servers that drain.
    pub draining: u32,
    /// Servers that can be woken.
    pub stopped: u32,
    /// Servers that exist in any state.
    pub servers_total: u32,
    /// How long a new server is expected to take until it gets requests.
    pub start_up_ms: u64,
    /// The same of a stopped one that is woken.
    pub wake_up_ms: u64,
    /// What was to be done after the last look; where it is paused, what would be.
    pub actions: Vec<String>,
    /// What somebody should look at.
    pub alarms: Vec<String>,
    /// What did not work at the last look.
    pub troubles: Vec<String>,
    /// Looks since the start.
    pub looks: u64,
    /// Since the last one; `None` = there was none yet.
    pub looked_ms_ago: Option<u64>,
    /// What was done since the start.
    pub done: FleetDone,
    /// The latest events, oldest first.
    pub events: Vec<FleetEvent>,
    /// Its servers.
    pub servers: Vec<FleetServerSnapshot>,
}

/// What one policy says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetPolicySnapshot {
    /// Which.
    pub policy: String,
    /// So many servers, before any bound.
    pub wanted: u32,
    /// Why.
    pub reason: String,
}

/// What was done with the servers of a fleet, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetDone {
    /// New ones were ordered.
    pub created: u64,
    /// Stopped ones were woken.
    pub woken: u64,
    /// They were given nothing new.
    pub drained: u64,
    /// Draining ones were called back.
    pub recalled: u64,
    /// They were stopped, to be woken later.
    pub stopped: u64,
    /// They were deleted.
    pub deleted: u64,
    /// They did not get well, and were deleted.
    pub replaced: u64,
    /// Requests that were cut off because a time to drain was over.
    pub cut: u64,
    /// Looks at which something did not work.
    pub failed: u64,
}

/// Something that happened to a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetEvent {
    /// When, in milliseconds since 1970 (UTC).
    pub time_unix_ms: u64,
    /// What.
    pub text: String,
}

/// A server of a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetServerSnapshot {
    /// Its name, in the pool and at its provider.
    pub name: String,
    /// Creating, booting, warming, active, unhealthy, shunned, draining, stopping, stopped, failed or deleting.
    pub state: String,
    /// Requests that it works on.
    pub active: u64,
}
