//! What differs between two plans, by name: the order of pools in a file means nothing to what refers to them.
//!
//! Laws: the changes from a plan to itself are none, and those from one plan to another, applied to the first, give the
//! second.

mod apply;
mod fleet;
mod listeners;
mod pools;
mod process;
mod storage;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use weir_model::{ListenerName, Name, PoolName, ServerName};

use crate::Plan;
use crate::common::named;
pub use crate::listener::diff::ListenerPart;
use crate::plan::{
    AccessLogPlan, AdminPlan, AreaPlan, FleetPlan, ListenerPlan, PoolPlan, ProcessPlan, ResolverPlan,
    ServerPlan, ThirdPartyCopyPlan, TokenEndpointPlan, TokenIssuerPlan,
};
pub use crate::pool::diff::PoolPart;
use crate::process::plan::ErrorPage;
pub use apply::apply;

/// One step from a plan to another. Steps hold in the order in which [`diff`] gives them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// `[weir]`.
    Process {
        /// What holds now.
        process: ProcessPlan,
        /// Keys among the changed ones that only a restart can change.
        restart: Vec<&'static str>,
    },
    /// `[admin]`.
    Admin {
        /// As it is now.
        admin: Option<AdminPlan>,
        /// What is different.
        restart: Vec<&'static str>,
    },
    /// `[access-log]`.
    AccessLog(Option<AccessLogPlan>),
    /// `[resolver]`.
    Resolver(ResolverPlan),
    /// `[error-page]`, all of them.
    ErrorPages(BTreeMap<u16, ErrorPage>),
    /// A pool that nothing referred to so far.
    PoolAdded(Box<PoolPlan>),
    /// A pool is gone.
    PoolRemoved(PoolName),
    /// The same pool works in another way.
    PoolChanged {
        /// As it is now, without its servers.
        pool: Box<PoolPlan>,
        /// What is different.
        parts: Vec<PoolPart>,
    },
    /// A server is new in a pool.
    ServerAdded {
        /// Its pool.
        pool: PoolName,
        /// The server.
        server: ServerPlan,
    },
    /// A server is gone from a pool.
    ServerRemoved {
        /// Its pool.
        pool: PoolName,
        /// The server.
        server: ServerName,
    },
    /// The server of a name has another address, weight, limit or role.
    ServerChanged {
        /// Its pool.
        pool: PoolName,
        /// As it is now.
        server: ServerPlan,
    },
    /// The same servers in another order.
    ServersReordered {
        /// Their pool.
        pool: PoolName,
        /// All of them, in order.
        order: Vec<ServerName>,
    },
    /// The same pools in another order.
    PoolsReordered(Vec<PoolName>),
    /// A listener is new. Its routes refer to the pools of the new plan.
    ListenerAdded(Box<ListenerPlan>),
    /// A listener is gone.
    ListenerRemoved(ListenerName),
    /// The listener of a name works in another way.
    ListenerChanged {
        /// As it is now. Its routes refer to the pools of the new plan.
        listener: Box<ListenerPlan>,
        /// What is different.
        parts: Vec<ListenerPart>,
    },
    /// The same listeners in another order.
    ListenersReordered(Vec<ListenerName>),
    /// `[fleet.NAME]`, all of them.
    Fleets {
        /// As they are now.
        fleets: Vec<FleetPlan>,
        /// Those that are new, gone, or work in another way.
        changed: Vec<Name>,
    },
    /// `[storage-area.NAME]`, all of them.
    StorageAreas {
        /// As they are now.
        areas: Vec<AreaPlan>,
        /// Those that are new, gone, or work in another way.
        changed: Vec<Name>,
    },
    /// `[token-issuer.NAME]`, all of them.
    TokenIssuers(Vec<TokenIssuerPlan>),
    /// `[token-endpoint.NAME]`, all of them.
    TokenEndpoints(Vec<TokenEndpointPlan>),
    /// `[third-party-copy]`.
    ThirdPartyCopy(ThirdPartyCopyPlan),
}

/// The steps from `old` to `new`.
pub fn diff(old: &Plan, new: &Plan) -> Vec<Change> {
    let mut changes = Vec::new();
    process::diff(old, new, &mut changes);
    pools::diff(&old.pools, &new.pools, &mut changes);
    listeners::diff(old, new, &mut changes);
    fleet::diff(old, new, &mut changes);
    storage::diff(old, new, &mut changes);
    changes
}

impl Change {
    /// Whether anything behaves differently; else only places in the file or the order of listings have changed.
    pub fn matters(&self) -> bool {
        match self {
            Self::PoolsReordered(_) | Self::ListenersReordered(_) => false,
            Self::StorageAreas { changed, .. } | Self::Fleets { changed, .. } => !changed.is_empty(),
            Self::ListenerChanged { parts, .. } => parts.iter().any(|part| *part != ListenerPart::Places),
            _ => true,
        }
    }

    /// Keys that keep their old value until the process is started anew.
    pub fn needs_restart(&self) -> &[&'static str] {
        match self {
            Self::Process { restart, .. } => restart,
            Self::Admin { restart, .. } => restart,
            _ => &[],
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process { restart, .. } if restart.is_empty() => f.write_str("[weir] changed"),
            Self::Process { restart, .. } => {
                write!(f, "[weir] changed; {} only by a restart", restart.join(", "))
            }
            Self::Admin { .. } => f.write_str("[admin] changed"),
            Self::AccessLog(_) => f.write_str("[access-log] changed"),
            Self::Resolver(_) => f.write_str("[resolver] changed"),
            Self::ErrorPages(_) => f.write_str("error pages changed"),
            Self::PoolAdded(pool) => write!(f, "pool {} added", pool.name),
            Self::PoolRemoved(pool) => write!(f, "pool {pool} removed"),
            Self::PoolChanged { pool, parts } => {
                write!(f, "pool {}: {} changed", pool.name, named::join(parts))
            }
            Self::ServerAdded { pool, server } => write!(f, "pool {pool}, server {} added", server.name),
            Self::ServerRemoved { pool, server } => write!(f, "pool {pool}, server {server} removed"),
            Self::ServerChanged { pool, server } => write!(f, "pool {pool}, server {} changed", server.name),
            Self::ServersReordered { pool, .. } => write!(f, "pool {pool}: order of servers changed"),
            Self::PoolsReordered(_) => f.write_str("order of pools changed"),
            Self::ListenerAdded(listener) => write!(f, "listener {} added", listener.name),
            Self::ListenerRemoved(listener) => write!(f, "listener {listener} removed"),
            Self::ListenerChanged { listener, parts } => {
                write!(f, "listener {}: {} changed", listener.name, named::join(parts))
            }
            Self::ListenersReordered(_) => f.write_str("order of listeners changed"),
            Self::Fleets { changed, .. } if changed.is_empty() => f.write_str("order of fleets changed"),
            Self::Fleets { changed, .. } => write!(f, "fleet {} changed", named::join(changed)),
            Self::StorageAreas { changed, .. } if changed.is_empty() => {
                f.write_str("order of storage areas changed")
            }
            Self::StorageAreas { changed, .. } => write!(f, "storage area {} changed", named::join(changed)),
            Self::TokenIssuers(_) => f.write_str("token issuers changed"),
            Self::TokenEndpoints(_) => f.write_str("token endpoints changed"),
            Self::ThirdPartyCopy(_) => f.write_str("[third-party-copy] changed"),
        }
    }
}
