//! The state of fleets in a snapshot.

use serde::{Deserialize, Serialize};

/// State of a fleet: its number of servers, the wanted number, and the reasons.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetSnapshot {
    /// Name of the fleet.
    pub name: String,
    /// Pool that balances its servers, or `haproxy:` and the backend.
    pub pool: String,
    /// Provider of its servers: process, exec, openstack or kubernetes.
    pub provider: String,
    /// True if this process manages the fleet; else another process does, or none can.
    pub leads: bool,
    /// True if decisions are not carried out.
    pub paused: bool,
    /// Number of servers set by an operator; `None` = the demand decides.
    pub pinned: Option<u32>,
    /// Least number of servers.
    pub min: u32,
    /// Largest number of running servers.
    pub max: u32,
    /// Wanted number of servers.
    pub wanted: u32,
    /// Number of servers that the policies call for, without `min`, `max`, pauses and operators.
    pub needed: u32,
    /// Reason for the wanted number.
    pub reason: String,
    /// Result of each policy.
    pub policies: Vec<FleetPolicySnapshot>,
    /// Measured demand, in servers; `None` = not known.
    pub demand: Option<f64>,
    /// Estimated capacity of the servers, with the reasons.
    pub capacity: Vec<String>,
    /// Servers that take requests and pass their checks.
    pub active: u32,
    /// Servers that are being started.
    pub coming: u32,
    /// Servers that are draining.
    pub draining: u32,
    /// Stopped servers that can be started again.
    pub stopped: u32,
    /// Servers that exist in any state.
    pub servers_total: u32,
    /// Expected time from the start of a new server until it gets requests.
    pub start_up_ms: u64,
    /// Expected time from the start of a stopped server until it gets requests.
    pub wake_up_ms: u64,
    /// Actions decided in the last round; while the fleet is paused, the actions that it would take.
    pub actions: Vec<String>,
    /// Conditions that need an operator's attention.
    pub alarms: Vec<String>,
    /// Failures in the last round.
    pub troubles: Vec<String>,
    /// Rounds of the fleet's control loop since the start.
    pub looks: u64,
    /// Time since the last round; `None` = there was none yet.
    pub looked_ms_ago: Option<u64>,
    /// Counts of actions since the start.
    pub done: FleetDone,
    /// Latest events, oldest first.
    pub events: Vec<FleetEvent>,
    /// Servers of the fleet.
    pub servers: Vec<FleetServerSnapshot>,
}

/// Result of one policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetPolicySnapshot {
    /// Name of the policy.
    pub policy: String,
    /// Wanted number of servers, before any limit.
    pub wanted: u32,
    /// Reason for the wanted number.
    pub reason: String,
}

/// Counts of actions on the servers of a fleet since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetDone {
    /// New servers ordered.
    pub created: u64,
    /// Stopped servers started again.
    pub woken: u64,
    /// Servers drained.
    pub drained: u64,
    /// Draining servers returned to service.
    pub recalled: u64,
    /// Servers stopped, to be started again later.
    pub stopped: u64,
    /// Servers deleted.
    pub deleted: u64,
    /// Servers deleted because they did not become healthy.
    pub replaced: u64,
    /// Requests cut off at the end of the time to drain.
    pub cut: u64,
    /// Rounds with a failure.
    pub failed: u64,
}

/// One event in a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetEvent {
    /// Time in milliseconds since 1970 (UTC).
    pub time_unix_ms: u64,
    /// Description of the event.
    pub text: String,
}

/// State of one server of a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FleetServerSnapshot {
    /// Name, in the pool and at the provider.
    pub name: String,
    /// State: creating, booting, warming, active, unhealthy, shunned, draining, stopping, stopped, failed or
    /// deleting.
    pub state: String,
    /// Requests in progress.
    pub active: u64,
}
