use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use weir_balance::KnownSpeeds;
use weir_model::{Name, PoolName, ServerAddress, ServerName, Weight, ZoneName};

use crate::Right;

/// One thing that is asked of a running Weir: `{"server-weight": {"pool": "web", "server": "w1", "weight": 5}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Tells how things stand.
    Show {
        /// Which part.
        #[serde(default)]
        what: What,
        /// Only this pool; `None` = all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pool: Option<PoolName>,
    },
    /// Takes a server in or out.
    ServerState {
        /// Its pool.
        pool: PoolName,
        /// The server.
        server: ServerName,
        /// What it is to be.
        state: AdminState,
    },
    /// Changes a server's share.
    ServerWeight {
        /// Its pool.
        pool: PoolName,
        /// The server.
        server: ServerName,
        /// The new share.
        weight: Weight,
    },
    /// Moves a server: new connections go to the new address, open ones end where they are.
    ServerAddress {
        /// Its pool.
        pool: PoolName,
        /// The server.
        server: ServerName,
        /// Where it is now.
        address: ServerAddress,
    },
    /// Adds a server to a pool.
    AddServer {
        /// The pool.
        pool: PoolName,
        /// The new server.
        server: ServerSpec,
    },
    /// Takes a server out of its pool for good.
    RemoveServer {
        /// Its pool.
        pool: PoolName,
        /// The server.
        server: ServerName,
        /// Even in rotation, and with requests in flight, which still end there. Without it the server must be in drain or
        /// maintenance and idle.
        #[serde(default)]
        force: bool,
    },
    /// Forgets what was changed at runtime: the config holds again.
    Reset {
        /// The pool.
        pool: PoolName,
        /// Only this server; `None` = all of the pool's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        server: Option<ServerName>,
    },
    /// Forgets which clients have which server: they are balanced anew. Refused where clients carry this themselves, in a
    /// cookie.
    ClearSticky {
        /// The pool.
        pool: PoolName,
        /// Only this client: its address, its session or the value of the expression; `None` = all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// Gives a fleet so many servers, whatever demand says. Its bounds hold.
    FleetScale {
        /// The fleet.
        fleet: Name,
        /// So many; `None` = as demand says again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        servers: Option<u32>,
    },
    /// Has a fleet's decisions carried out, or only shown.
    FleetPause {
        /// The fleet.
        fleet: Name,
        /// Only shown.
        paused: bool,
    },
    /// Tells the latest rows of a fleet's history.
    FleetHistory {
        /// The fleet.
        fleet: Name,
        /// At most so many.
        rows: u32,
    },
    /// Breaks WebDAV locks of a storage area, whoever holds them.
    StorageUnlock {
        /// The storage area; `None` = the only one that has the path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        area: Option<Name>,
        /// The locked resource, as URLs have it.
        path: String,
        /// Also locks of what is below it.
        #[serde(default, skip_serializing_if = "crate::is_false")]
        below: bool,
        /// Only locks of this holder, as the answer names it; `None` = of any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        holder: Option<String>,
        /// Tells which locks would be broken, and breaks none.
        #[serde(default, skip_serializing_if = "crate::is_false")]
        dry_run: bool,
    },
    /// Reads the config again, as SIGHUP does.
    Reload,
}

/// Which part [`Command::Show`] tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Everything but the runtime changes.
    #[default]
    All,
    /// The process.
    Process,
    /// The listeners.
    Listeners,
    /// The pools and their servers.
    Pools,
    /// The pools whose clients stay with their servers, without these.
    Sticky,
    /// The fleets.
    Fleets,
    /// Copies between storage areas and other servers.
    Transfers,
    /// What was changed at runtime.
    Runtime,
}

/// What an operator wants a server to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdminState {
    /// Takes requests.
    #[default]
    Ready,
    /// Finishes what it has (sticky clients included) and gets nothing new. Checks go on.
    Drain,
    /// Gets nothing, and is not checked. What is in flight ends when it ends.
    #[serde(alias = "maint")]
    Maintenance,
}

/// A server that is to be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// Its name, unique in the pool.
    pub name: ServerName,
    /// Where it listens.
    pub address: ServerAddress,
    /// Its share.
    #[serde(default)]
    pub weight: Weight,
    /// Its weight is found by measurement, as where the config says `weight = "auto"`: `weight` does not count. Only for pools that
    /// measure.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::found")]
    pub auto_weight: Option<KnownSpeeds>,
    /// Gets requests only when no other server can.
    #[serde(default)]
    pub backup: bool,
    /// Gets requests only when no server of a lower number can.
    #[serde(default, skip_serializing_if = "crate::is_zero")]
    pub priority: u16,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneName>,
    /// Where its agent listens, if not where the others' do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_port: Option<u16>,
    /// Requests (TCP: connections) at once; `None` = no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections_max: Option<u32>,
    /// The fleet that it belongs to, which may drain it and take it away; `None` = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Name>,
}

impl ServerSpec {
    /// A server of which nothing more is said: of weight 1, without limits, of no zone and no fleet. To be completed by
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
    /// What the caller needs at least.
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

    /// The name, as on the wire.
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
    /// The name in config, commands and listings.
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
    /// Every part, in the order in which help texts name them.
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

    /// The name on the wire and on the command line.
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
