//! Finds the differences between two plans. Compares by name, because the order of pools in a file does not
//! affect their users.
//!
//! Two laws hold:
//! - The diff of a plan with itself is empty.
//! - The changes from one plan to another, applied to the first, give the second.

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

/// One change from a plan to another. Changes must be applied in the order in which [`diff`] returns them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// `[weir]`.
    Process {
        /// The new settings.
        process: ProcessPlan,
        /// Changed keys that take effect only after a restart.
        restart: Vec<&'static str>,
    },
    /// `[admin]`.
    Admin {
        /// The new settings.
        admin: Option<AdminPlan>,
        /// Changed keys that take effect only after a restart.
        restart: Vec<&'static str>,
    },
    /// `[access-log]`.
    AccessLog(Option<AccessLogPlan>),
    /// `[resolver]`.
    Resolver(ResolverPlan),
    /// All of `[error-page]`.
    ErrorPages(BTreeMap<u16, ErrorPage>),
    /// A new pool.
    PoolAdded(Box<PoolPlan>),
    /// A removed pool.
    PoolRemoved(PoolName),
    /// A pool with changed settings.
    PoolChanged {
        /// The new settings, without the servers.
        pool: Box<PoolPlan>,
        /// The parts that differ.
        parts: Vec<PoolPart>,
    },
    /// A new server of a pool.
    ServerAdded {
        /// Its pool.
        pool: PoolName,
        /// The server.
        server: ServerPlan,
    },
    /// A removed server of a pool.
    ServerRemoved {
        /// Its pool.
        pool: PoolName,
        /// The server.
        server: ServerName,
    },
    /// A server with a changed address, weight, limit or role.
    ServerChanged {
        /// Its pool.
        pool: PoolName,
        /// The new settings.
        server: ServerPlan,
    },
    /// A new order of the same servers.
    ServersReordered {
        /// Their pool.
        pool: PoolName,
        /// All servers, in the new order.
        order: Vec<ServerName>,
    },
    /// A new order of the same pools.
    PoolsReordered(Vec<PoolName>),
    /// A new listener. Its routes refer to the pools of the new plan.
    ListenerAdded(Box<ListenerPlan>),
    /// A removed listener.
    ListenerRemoved(ListenerName),
    /// A listener with changed settings.
    ListenerChanged {
        /// The new settings. The routes refer to the pools of the new plan.
        listener: Box<ListenerPlan>,
        /// The parts that differ.
        parts: Vec<ListenerPart>,
    },
    /// A new order of the same listeners.
    ListenersReordered(Vec<ListenerName>),
    /// All of `[fleet.NAME]`.
    Fleets {
        /// All fleets of the new plan.
        fleets: Vec<FleetPlan>,
        /// Names of the fleets that were added, removed or changed.
        changed: Vec<Name>,
    },
    /// All of `[storage-area.NAME]`.
    StorageAreas {
        /// All areas of the new plan.
        areas: Vec<AreaPlan>,
        /// Names of the areas that were added, removed or changed.
        changed: Vec<Name>,
    },
    /// All of `[token-issuer.NAME]`.
    TokenIssuers(Vec<TokenIssuerPlan>),
    /// All of `[token-endpoint.NAME]`.
    TokenEndpoints(Vec<TokenEndpointPlan>),
    /// `[third-party-copy]`.
    ThirdPartyCopy(ThirdPartyCopyPlan),
}

/// Returns the changes from `old` to `new`.
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
    /// Returns true if the behavior changes, and not only positions in the file or the order of lists.
    pub fn matters(&self) -> bool {
        match self {
            Self::PoolsReordered(_) | Self::ListenersReordered(_) => false,
            Self::StorageAreas { changed, .. } | Self::Fleets { changed, .. } => !changed.is_empty(),
            Self::ListenerChanged { parts, .. } => parts.iter().any(|part| *part != ListenerPart::Places),
            _ => true,
        }
    }

    /// Returns the changed keys that keep their old value until the process restarts.
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
