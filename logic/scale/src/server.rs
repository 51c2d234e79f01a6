//! The servers of a fleet and their states.

use std::time::Duration;

use weir_model::{Name, ServerName, ZoneName};

/// A server of a fleet, as its provider and its health checks report it.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// Name of the server in the provider and the pool.
    pub name: ServerName,
    /// Kind of the server; `None` = the fleet's only kind.
    pub flavour: Option<Name>,
    /// Zone, if zones matter.
    pub zone: Option<ZoneName>,
    /// Time of creation, from any origin; only used to compare servers.
    pub created: Duration,
    /// Price of an hour, in any currency; 0 if unknown.
    pub cost_per_hour: f64,
    /// Requests in progress.
    pub active: u64,
    /// State of the server.
    pub state: ServerState,
}

/// State of a server in its life cycle.
///
/// ```text
/// Creating -> Booting -> Warming -> Active <-> Unhealthy
///                ^          ^         |
///                |          +-recall- Draining -> Stopping -> Stopped -> Deleting -> gone
///                +----------- wake ------------------------------+
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServerState {
    /// The provider is creating the server.
    Creating {
        /// Expected time of the first request, estimated from earlier servers.
        ready: Duration,
        /// True if the server is to be kept stopped, and adds no capacity.
        for_standby: bool,
    },
    /// The server is created or started, but its health checks do not pass yet.
    Booting {
        /// Expected time of the first request, estimated from earlier servers.
        ready: Duration,
    },
    /// The server receives less than its full share of requests.
    Warming {
        /// Expected time of the full share.
        ready: Duration,
        /// Present share, 0 to 1.
        share: f64,
    },
    /// The server receives requests and passes its health checks.
    Active,
    /// The health checks of the server fail.
    Unhealthy {
        /// Start of this state.
        since: Duration,
    },
    /// The health checks pass, but real traffic or the agent has temporarily excluded the server.
    Shunned {
        /// Start of this state.
        since: Duration,
    },
    /// The server finishes its requests and receives no new ones.
    Draining {
        /// Start of this state.
        since: Duration,
    },
    /// The provider is stopping the server.
    Stopping,
    /// The server exists and is stopped; it can be started.
    Stopped,
    /// The provider failed to create, start or stop the server.
    Failed,
    /// The provider is deleting the server.
    Deleting,
}

impl ServerState {
    /// Returns the state in one word, for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Creating { .. } => "creating",
            Self::Booting { .. } => "booting",
            Self::Warming { .. } => "warming",
            Self::Active => "active",
            Self::Unhealthy { .. } => "unhealthy",
            Self::Shunned { .. } => "shunned",
            Self::Draining { .. } => "draining",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
            Self::Deleting => "deleting",
        }
    }

    /// Returns true if the server runs, and therefore costs money.
    pub const fn is_powered(self) -> bool {
        !matches!(self, Self::Stopped | Self::Failed | Self::Deleting)
    }

    /// Returns the expected time of the full share of requests, if the server is starting.
    pub const fn ready(self) -> Option<Duration> {
        match self {
            Self::Creating { ready, for_standby: false }
            | Self::Booting { ready }
            | Self::Warming { ready, .. } => Some(ready),
            _ => None,
        }
    }
}
