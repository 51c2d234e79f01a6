//! The commands of the control socket and the types that they use.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use weir_balance::KnownSpeeds;
use weir_model::{Name, PoolName, ServerAddress, ServerName, Weight, ZoneName};

use crate::Right;

/// A command to a running Weir: `{"server-weight": {"pool": "web", "server": "w1", "weight": 5}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Shows the current state.
    Show {
        /// Part to show.
        #[serde(default)]
        what: What,
        /// Shows only this pool; `None` = all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pool: Option<PoolName>,
    },
    /// Changes the administrative state of a server.
    ServerState {
        /// Pool of the server.
        pool: PoolName,
        /// Server to change.
        server: ServerName,
        /// New state.
        state: AdminState,
    },
    /// Changes the weight of a server.
    ServerWeight {
        /// Pool of the server.
        pool: PoolName,
        /// Server to change.
        server: ServerName,
        /// New weight.
        weight: Weight,
    },
    /// Changes the address of a server. New connections use the new address; open ones stay at the old one.
    ServerAddress {
        /// Pool of the server.
        pool: PoolName,
        /// Server to change.
        server: ServerName,
        /// New address.
        address: ServerAddress,
    },
    /// Adds a server to a pool.
    AddServer {
        /// Pool that gets the server.
        pool: PoolName,
        /// Server to add.
        server: ServerSpec,
    },
    /// Removes a server from its pool permanently.
    RemoveServer {
        /// Pool of the server.
        pool: PoolName,
        /// Server to remove.
        server: ServerName,
        /// True to remove the server even if it is in rotation or has requests in flight; those still finish.
        /// Otherwise the server must be drained or in maintenance, and idle.
        #[serde(default)]
        force: bool,
    },
    /// Reverts runtime changes, so that the config applies again.
    Reset {
        /// Pool to reset.
        pool: PoolName,
        /// Resets only this server; `None` = all servers of the pool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<ServerName>,
    },
    /// Removes the bindings of clients to servers, so that new servers are picked for these clients. Refused
    /// if clients carry their binding in a cookie.
    ClearSticky {
        /// Pool of the bindings.
        pool: PoolName,
        /// Removes only this client's binding: its address, its session or the value of the expression;
        /// `None` = all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// Sets the number of servers of a fleet, within its bounds; 0 drains and deletes all of its machines, stopped
    /// ones too, also of a fleet that the config no longer has.
    FleetScale {
        /// Fleet to scale.
        fleet: Name,
        /// Number of servers; `None` = follow the demand again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        servers: Option<u32>,
    },
    /// Pauses or resumes a fleet. While it is paused, its decisions are only shown.
    FleetPause {
        /// Fleet to pause or resume.
        fleet: Name,
        /// True to pause.
        paused: bool,
    },
    /// Returns the latest rows of a fleet's history.
    FleetHistory {
        /// Fleet to report on.
        fleet: Name,
        /// Most rows to return.
        rows: u32,
    },
    /// Breaks WebDAV locks of a storage area, whoever holds them.
    StorageUnlock {
        /// Storage area; `None` = the only one that has the path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        area: Option<Name>,
        /// Path of the locked resource, as in URLs.
        path: String,
        /// True to include locks below the resource.
        #[serde(default, skip_serializing_if = "crate::is_false")]
        below: bool,
        /// Breaks only locks of this holder, written as in the reply; `None` = of any holder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<String>,
        /// True to report the locks without breaking them.
        #[serde(default, skip_serializing_if = "crate::is_false")]
        dry_run: bool,
    },
    /// Reloads the config, as SIGHUP does.
    Reload,
}

/// Part of the state that [`Command::Show`] shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Everything except the runtime changes.
    #[default]
    All,
    /// The process.
    Process,
    /// The listeners.
    Listeners,
    /// The pools and their servers.
    Pools,
    /// The pools with sticky clients, without their servers.
    Sticky,
    /// The fleets.
    Fleets,
    /// Copies between storage areas and other servers.
    Transfers,
    /// The runtime changes.
    Runtime,
}

/// State that an operator sets for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdminState {
    /// The server takes requests.
    #[default]
    Ready,
    /// The server finishes its requests (sticky clients included) and gets nothing new. Checks continue.
    Drain,
    /// The server gets nothing and is not checked. Requests in flight finish on their own.
    #[serde(alias = "maint")]
    Maintenance,
}

/// Definition of a server, for example one to add.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// Name, unique in the pool.
    pub name: ServerName,
    /// Listening address.
    pub address: ServerAddress,
    /// Weight: its share of the traffic.
    #[serde(default)]
    pub weight: Weight,
    /// Set if the weight is automatic, as with `weight = "auto"` in the config; then `weight` does not count.
    /// Only for pools that measure.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::found")]
    pub auto_weight: Option<KnownSpeeds>,
    /// True for a backup server, which gets requests only when no other server can.
    #[serde(default)]
    pub backup: bool,
    /// Priority group. The server gets requests only when no server with a lower number can.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub priority: u16,
    /// Zone of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneName>,
    /// Port of the server's agent, if it differs from the pool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_port: Option<u16>,
    /// Most concurrent requests (TCP: connections); `None` = no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_max: Option<u32>,
    /// Fleet of the server, which may drain and remove it; `None` = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Name>,
}

impl ServerSpec {
    /// Creates a server of weight 1 without limits, zone or fleet. Set other fields with
    /// `ServerSpec { backup: true, ..ServerSpec::new(name, address) }`.
    pub fn new(name: ServerName, address: ServerAddress) -> Self {
        Self {
            name,
            address,
            weight: Weight::default(),
            auto_weight: None,
            backup: false,
            priority: 0,
            zone: None,
            agent_port: None,
            connections_max: None,
            fleet: None,
        }
    }
}

impl Command {
    /// Returns the least right that the caller needs.
    pub const fn right(&self) -> Right {
        match self {
            Self::Show { .. } | Self::FleetHistory { .. } => Right::Read,
            Self::ServerState { .. }
            | Self::ServerWeight { .. }
            | Self::ClearSticky { .. }
            | Self::FleetScale { .. }
            | Self::FleetPause { .. }
            | Self::StorageUnlock { .. } => Right::Operate,
            Self::ServerAddress { .. }
            | Self::AddServer { .. }
            | Self::RemoveServer { .. }
            | Self::Reset { .. }
            | Self::Reload => Right::Admin,
        }
    }

    /// Returns the command's name on the wire.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Show { .. } => "show",
            Self::ServerState { .. } => "server-state",
            Self::ServerWeight { .. } => "server-weight",
            Self::ServerAddress { .. } => "server-address",
            Self::AddServer { .. } => "add-server",
            Self::RemoveServer { .. } => "remove-server",
            Self::Reset { .. } => "reset",
            Self::ClearSticky { .. } => "clear-sticky",
            Self::FleetScale { .. } => "fleet-scale",
            Self::FleetPause { .. } => "fleet-pause",
            Self::FleetHistory { .. } => "fleet-history",
            Self::StorageUnlock { .. } => "storage-unlock",
            Self::Reload => "reload",
        }
    }
}

impl AdminState {
    /// Returns the name in config, commands and listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Drain => "drain",
            Self::Maintenance => "maintenance",
        }
    }
}

impl fmt::Display for AdminState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl What {
    /// All parts, in the order in which help texts name them.
    pub const ALL: [Self; 8] = [
        Self::All,
        Self::Process,
        Self::Listeners,
        Self::Pools,
        Self::Sticky,
        Self::Fleets,
        Self::Transfers,
        Self::Runtime,
    ];

    /// Returns the name on the wire and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Process => "process",
            Self::Listeners => "listeners",
            Self::Pools => "pools",
            Self::Sticky => "sticky",
            Self::Fleets => "fleets",
            Self::Transfers => "transfers",
            Self::Runtime => "runtime",
        }
    }
}

impl FromStr for What {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|what| what.name() == name);
        found.ok_or_else(|| {
            format!("{name:?} cannot be shown: one of {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}
