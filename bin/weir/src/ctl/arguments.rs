//! Defines the command line of `weir ctl`, and the control command that each verb sends.

use std::str::FromStr;

use weir_balance::KnownSpeeds;
use weir_control::{AdminState, Command, ServerSpec, What};
use weir_model::{Name, PoolName, ServerAddress, ServerName, Weight, ZoneName};

/// What is asked or to be done.
#[derive(Debug, clap::Subcommand)]
pub(super) enum CtlCommand {
    /// Show how things stand: all, process, listeners, pools, sticky, fleets, transfers, or runtime (what was
    /// changed at runtime)
    Show {
        /// all, process, listeners, pools, sticky, fleets, transfers or runtime.
        #[arg(default_value = "all", value_parser = What::from_str)]
        what: What,
        /// Only this pool.
        #[arg(long, value_parser = name)]
        pool: Option<PoolName>,
    },
    /// Let a server finish what it has, and give it nothing new
    Drain {
        #[arg(value_name = "POOL/SERVER")]
        server: ServerPath,
    },
    /// Take a server in again
    Ready {
        #[arg(value_name = "POOL/SERVER")]
        server: ServerPath,
    },
    /// Take a server out, and do not check it
    Maintenance {
        #[arg(value_name = "POOL/SERVER")]
        server: ServerPath,
    },
    /// Give a server another share of the traffic
    Weight {
        #[arg(value_name = "POOL/SERVER")]
        server: ServerPath,
        /// 0 to 256; 0 = nothing new.
        #[arg(value_parser = weight)]
        weight: Weight,
    },
    /// Move a server to another address; open connections end where they are
    Address {
        #[arg(value_name = "POOL/SERVER")]
        server: ServerPath,
        /// IP:PORT (IPv6 in brackets), NAME:PORT or unix:PATH.
        address: ServerAddress,
    },
    /// Add a server to a pool
    Add {
        /// The pool it joins.
        #[arg(value_parser = name)]
        pool: PoolName,
        /// The new server's name.
        #[arg(value_parser = name)]
        name: ServerName,
        /// IP:PORT (IPv6 in brackets), NAME:PORT or unix:PATH.
        address: ServerAddress,
        /// Its share, 0 to 256; auto = from its speed, in a pool that measures it.
        #[arg(long, default_value = "1", value_parser = new_weight)]
        weight: NewWeight,
        /// Give it requests only when no other server can take them.
        #[arg(long)]
        backup: bool,
        /// Give it requests only when no server of a lower number can take them.
        #[arg(long, value_name = "N", default_value_t = 0)]
        priority: u16,
        /// Where it is.
        #[arg(long, value_name = "ZONE", value_parser = name)]
        zone: Option<ZoneName>,
        /// Where its agent listens, if not where the others' do.
        #[arg(long, value_name = "PORT")]
        agent_port: Option<u16>,
        /// The most requests (TCP: connections) at once.
        #[arg(long, value_name = "N")]
        connections_max: Option<u32>,
    },
    /// Take a server out of its pool for good
    Remove {
        #[arg(value_name = "POOL/SERVER")]
        server: ServerPath,
        /// Even in rotation and with requests in flight, which still end there.
        #[arg(long)]
        force: bool,
    },
    /// Forget what was changed at runtime about a server, or a whole pool: the config holds again
    Reset {
        #[arg(value_name = "POOL[/SERVER]")]
        path: PoolOrServer,
    },
    /// Forget something that was remembered
    Clear {
        #[command(subcommand)]
        what: ClearCommand,
    },
    /// Read the config again, as SIGHUP does
    Reload,
}

/// What is to be forgotten.
#[derive(Debug, clap::Subcommand)]
pub(super) enum ClearCommand {
    /// Which clients of a pool have which server: they are balanced anew
    Sticky {
        /// The pool.
        #[arg(value_parser = name)]
        pool: PoolName,
        /// Only this client: its address, its session, or the value of the pool's expression.
        key: Option<String>,
    },
}

/// Server in a pool, written as `POOL/SERVER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerPath {
    pool: PoolName,
    server: ServerName,
}

/// Pool or server, written as `POOL` or `POOL/SERVER`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PoolOrServer {
    pool: PoolName,
    server: Option<ServerName>,
}

impl CtlCommand {
    /// Returns the control command to send.
    pub(super) fn command(&self) -> Command {
        let state = |path: &ServerPath, state| {
            let ServerPath { pool, server } = path.clone();
            Command::ServerState { pool, server, state }
        };
        match self {
            Self::Show { what, pool } => Command::Show { what: *what, pool: pool.clone() },
            Self::Drain { server } => state(server, AdminState::Drain),
            Self::Ready { server } => state(server, AdminState::Ready),
            Self::Maintenance { server } => state(server, AdminState::Maintenance),
            Self::Weight { server: ServerPath { pool, server }, weight } => {
                Command::ServerWeight { pool: pool.clone(), server: server.clone(), weight: *weight }
            }
            Self::Address { server: ServerPath { pool, server }, address } => Command::ServerAddress {
                pool: pool.clone(),
                server: server.clone(),
                address: address.clone(),
            },
            Self::Add {
                pool,
                name,
                address,
                weight,
                backup,
                priority,
                zone,
                agent_port,
                connections_max,
            } => Command::AddServer {
                pool: pool.clone(),
                server: ServerSpec {
                    weight: weight.given(),
                    auto_weight: weight.is_found().then(KnownSpeeds::default),
                    backup: *backup,
                    priority: *priority,
                    zone: zone.clone(),
                    agent_port: *agent_port,
                    connections_max: *connections_max,
                    ..ServerSpec::new(name.clone(), address.clone())
                },
            },
            Self::Remove { server: ServerPath { pool, server }, force } => {
                Command::RemoveServer { pool: pool.clone(), server: server.clone(), force: *force }
            }
            Self::Reset { path: PoolOrServer { pool, server } } => {
                Command::Reset { pool: pool.clone(), server: server.clone() }
            }
            Self::Clear { what: ClearCommand::Sticky { pool, key } } => {
                Command::ClearSticky { pool: pool.clone(), key: key.clone() }
            }
            Self::Reload => Command::Reload,
        }
    }

    /// Returns the part of the snapshot to show.
    pub(super) fn what(&self) -> What {
        match self {
            Self::Show { what, .. } => *what,
            _ => What::All,
        }
    }

    /// Returns the message for a command that succeeded.
    pub(super) fn done(&self) -> String {
        match self {
            Self::Show { .. } => String::new(),
            Self::Drain { server } => format!("{server} drains: it gets nothing new"),
            Self::Ready { server } => format!("{server} is ready"),
            Self::Maintenance { server } => format!("{server} is in maintenance"),
            Self::Weight { server, weight } => format!("{server} has weight {weight}"),
            Self::Address { server, address } => format!("{server} is at {address}"),
            Self::Add { pool, name, address, .. } => format!("{pool}/{name} at {address} is added"),
            Self::Remove { server, .. } => format!("{server} is removed"),
            Self::Reset { path: PoolOrServer { pool, server: None } } => {
                format!("{pool} is as the config has it")
            }
            Self::Reset { path: PoolOrServer { pool, server: Some(server) } } => {
                format!("{pool}/{server} is as the config has it")
            }
            Self::Clear { what: ClearCommand::Sticky { pool, key: None } } => {
                format!("no client of {pool} has a server any more")
            }
            Self::Clear { what: ClearCommand::Sticky { pool, key: Some(key) } } => {
                format!("{key} has no server of {pool} any more")
            }
            Self::Reload => "the config was read again".to_owned(),
        }
    }
}

impl FromStr for ServerPath {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (pool, server) = text.split_once('/').ok_or("write POOL/SERVER")?;
        Ok(Self { pool: name(pool)?, server: name(server)? })
    }
}

impl FromStr for PoolOrServer {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((pool, server)) => Ok(Self { pool: name(pool)?, server: Some(name(server)?) }),
            None => Ok(Self { pool: name(text)?, server: None }),
        }
    }
}

impl std::fmt::Display for ServerPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.pool, self.server)
    }
}

fn name(text: &str) -> Result<Name, String> {
    Name::new(text).map_err(|cause| cause.to_string())
}

/// Weight of a server that is added.
#[derive(Debug, Clone, Copy)]
pub(super) enum NewWeight {
    Given(Weight),
    /// Weight that the pool finds by measurement.
    Found,
}

impl NewWeight {
    fn given(self) -> Weight {
        match self {
            Self::Given(weight) => weight,
            Self::Found => Weight::ONE,
        }
    }

    fn is_found(self) -> bool {
        matches!(self, Self::Found)
    }
}

fn new_weight(text: &str) -> Result<NewWeight, String> {
    if text == "auto" { Ok(NewWeight::Found) } else { weight(text).map(NewWeight::Given) }
}

fn weight(text: &str) -> Result<Weight, String> {
    let number: u32 = text.parse().map_err(|_| format!("a weight is a number from 0 to {}", Weight::MAX))?;
    Weight::new(number).map_err(|cause| cause.to_string())
}
