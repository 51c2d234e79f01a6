//! The lease that decides which of several Weirs controls a fleet.

use std::path::{Path, PathBuf};

use serde::Serialize;
use weir_model::{Millis, ServerAddress};

use crate::common::secret::SecretPlace;
use crate::tls::plan::TlsOut;

/// By what one of several Weirs leads a fleet (`lease`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum LeasePlan {
    /// A lock on this file: among the Weirs of one machine.
    File(PathBuf),
    /// A key in a store: among those that reach it.
    Store(Box<LeaseStorePlan>),
}

/// A key in a store (`[fleet.NAME.lease]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeaseStorePlan {
    /// Of which kind it is.
    pub kind: LeaseStoreKind,
    /// Where it is: one for Redis, all members for etcd.
    pub addresses: Vec<ServerAddress>,
    /// The key.
    pub key: String,
    /// So long after it was renewed last it ends.
    pub lasts: Millis,
    /// Who Weir is there; `None` = nobody in particular.
    pub username: Option<String>,
    /// Where the password is; it is in no plan.
    pub password: Option<SecretPlace>,
    /// How TLS is spoken; `None` = in plaintext.
    pub tls: Option<TlsOut>,
}

/// What keeps a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LeaseStoreKind {
    /// A Redis.
    Redis,
    /// An etcd, version 3.
    Etcd,
}

impl LeasePlan {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Store(_) => None,
        }
    }

    /// The store, if it is one.
    pub fn store(&self) -> Option<&LeaseStorePlan> {
        match self {
            Self::File(_) => None,
            Self::Store(store) => Some(store),
        }
    }
}

impl LeaseStorePlan {
    /// Whether both are the same key of the same store, whoever they are there.
    pub fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.key == other.key
            && self.addresses.iter().any(|address| other.addresses.contains(address))
    }
}

impl LeaseStoreKind {
    /// As the config has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Etcd => "etcd",
        }
    }
}
