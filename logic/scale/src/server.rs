use std::time::Duration;

use weir_model::{Name, ServerName, ZoneName};

/// A server of a fleet, as its provider and its checks see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// What provider and pool call it.
    pub name: ServerName,
    /// What kind it is; `None` = the fleet's only kind.
    pub flavour: Option<Name>,
    /// Where it stands, if that matters.
    pub zone: Option<ZoneName>,
    /// When it was ordered, or made, since 1970 or any other moment: only beside that of other servers does it mean something.
    pub created: Duration,
    /// What an hour of it costs, in any currency; 0 where nobody has said.
    pub cost_per_hour: f64,
    /// Requests that it is working on.
    pub active: u64,
    /// What it is doing.
    pub state: ServerState,
}

/// Where a server is in its life.
///
/// ```text
/// Creating -> Booting -> Warming -> Active <-> Unhealthy
///                ^          ^         |
///                |          +-recall- Draining -> Stopping -> Stopped -> Deleting -> gone
///                +----------- wake ------------------------------+
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServerState {
    /// The provider is making it.
    Creating {
        /// When it will take requests, as far as earlier ones tell.
        ready: Duration,
        /// It is made to be kept stopped, and will be no help.
        for_standby: bool,
    },
    /// It is there, and its checks do not pass yet: made or woken just now.
    Booting {
        /// When it will take requests, as far as earlier ones tell.
        ready: Duration,
    },
    /// It takes requests, but not its full share yet.
    Warming {
        /// When it will take its full share.
        ready: Duration,
        /// The share that it takes now, 0 to 1.
        share: f64,
    },
    /// It takes requests, and its checks pass.
    Active,
    /// Its checks have failed.
    Unhealthy {
        /// Since when.
        since: Duration,
    },
    /// Its checks pass, but it gets no requests for now: real traffic or its agent has put it out.
    Shunned {
        /// Since when.
        since: Duration,
    },
    /// It finishes what it has, and gets nothing new.
    Draining {
        /// Since when.
        since: Duration,
    },
    /// The provider is stopping it.
    Stopping,
    /// It exists, does not run, and can be woken.
    Stopped,
    /// The provider could not make, wake or stop it.
    Failed,
    /// The provider is deleting it.
    Deleting,
}

impl ServerState {
    /// In one word, for reports.
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

    /// Whether it runs, and so is paid for.
    pub const fn is_powered(self) -> bool {
        !matches!(self, Self::Stopped | Self::Failed | Self::Deleting)
    }

    /// When it will take its full share of requests, if it is on its way there.
    pub const fn ready(self) -> Option<Duration> {
        match self {
            Self::Creating { ready, for_standby: false }
            | Self::Booting { ready }
            | Self::Warming { ready, .. } => Some(ready),
            _ => None,
        }
    }
}
