//! The valid lease of a fleet, by which several Weirs elect one leader.

use std::path::{Path, PathBuf};

use serde::Serialize;
use weir_model::{Millis, ServerAddress};

use crate::common::secret::SecretPlace;
use crate::tls::plan::TlsOut;

/// Means of leader election between several Weirs (`lease`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum LeasePlan {
    /// A lock on this file, for Weirs on one machine.
    File(PathBuf),
    /// A key in a store, for Weirs that reach the store.
    Store(Box<LeaseStorePlan>),
}

/// A key in a store (`[fleet.NAME.lease]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseStorePlan {
    /// Kind of the store.
    pub kind: LeaseStoreKind,
    /// Addresses: one for Redis, all members for etcd.
    pub addresses: Vec<ServerAddress>,
    /// Key of the lease.
    pub key: String,
    /// Lease duration, counted from the last renewal.
    pub lasts: Millis,
    /// User name at the store; `None` = without authentication.
    pub username: Option<String>,
    /// Source of the password; the plan does not contain the password.
    pub password: Option<SecretPlace>,
    /// TLS settings; `None` = plaintext.
    pub tls: Option<TlsOut>,
}

/// Kind of a lease store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LeaseStoreKind {
    /// Redis.
    Redis,
    /// etcd, version 3.
    Etcd,
}

impl LeasePlan {
    /// Returns the file, if the lease is a file.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Store(_) => None,
        }
    }

    /// Returns the store, if the lease is in a store.
    pub fn store(&self) -> Option<&LeaseStorePlan> {
        match self {
            Self::File(_) => None,
            Self::Store(store) => Some(store),
        }
    }
}

impl LeaseStorePlan {
    /// Returns true if both are the same key of the same store, even with different credentials.
    pub fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.key == other.key
            && self.addresses.iter().any(|address| other.addresses.contains(address))
    }
}

impl LeaseStoreKind {
    /// Returns the name in the config.
    pub fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Etcd => "etcd",
        }
    }
}
