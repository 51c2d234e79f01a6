//! A key in a store that expires unless its holder renews it.

use std::time::Duration;

use weir_config::plan::{LeaseStoreKind, LeaseStorePlan, SecretPlace};

use super::etcd::Etcd;
use super::redis::Redis;
use crate::storage;

/// A store of either kind. It belongs to one event loop and must not be moved to another.
#[derive(Debug)]
pub(super) enum Store {
    Redis(Box<Redis>),
    Etcd(Box<Etcd>),
}

/// Result of a request for the lease.
#[derive(Debug)]
pub(super) enum Asked {
    /// The lease is granted.
    Granted(Claim),
    /// Another process holds the lease; this is its stored name.
    Held(String),
}

/// A granted lease.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    /// Stored name of the holder, which is unique.
    pub(super) holder: String,
    /// Epoch of the holder.
    pub(super) epoch: u64,
    /// Lease id in etcd.
    pub(super) id: i64,
    /// Earliest possible time of the grant, since boot.
    pub(super) since: Duration,
}

/// Number of attempts in the duration of a lease (`lasts`).
pub(super) const TRIES: u32 = 4;

/// Maximum length of a password.
const PASSWORD_BYTES_MAX: u64 = 4096;

impl Store {
    /// Creates a store without a connection.
    pub(super) fn new(plan: &LeaseStorePlan) -> Self {
        match plan.kind {
            LeaseStoreKind::Redis => Self::Redis(Box::new(Redis::new(plan))),
            LeaseStoreKind::Etcd => Self::Etcd(Box::new(Etcd::new(plan))),
        }
    }

    /// Acquires the lease if it is free.
    pub(super) async fn acquire(&mut self, holder: &str) -> Result<Asked, String> {
        match self {
            Self::Redis(redis) => redis.acquire(holder).await,
            Self::Etcd(etcd) => etcd.acquire(holder).await,
        }
    }

    /// Extends the lease from now on; `false` = it is lost.
    pub(super) async fn renew(&mut self, claim: &Claim) -> Result<bool, String> {
        match self {
            Self::Redis(redis) => redis.renew(claim).await,
            Self::Etcd(etcd) => etcd.renew(claim).await,
        }
    }

    /// Deletes the key if this holder still has it.
    pub(super) async fn release(&mut self, claim: &Claim) -> Result<(), String> {
        match self {
            Self::Redis(redis) => redis.release(claim).await,
            Self::Etcd(etcd) => etcd.release(claim).await,
        }
    }

    /// Reads the key, as a check of the connection.
    pub(super) async fn look(&mut self) -> Result<(), String> {
        match self {
            Self::Redis(redis) => redis.look().await,
            Self::Etcd(etcd) => etcd.look().await,
        }
    }

    /// Reads a key; `None` = it does not exist.
    pub(super) async fn get(&mut self, key: &str) -> Result<Option<String>, String> {
        match self {
            Self::Redis(redis) => redis.get(key).await,
            Self::Etcd(etcd) => etcd.get(key).await,
        }
    }

    /// Writes a key that does not expire.
    pub(super) async fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        match self {
            Self::Redis(redis) => redis.put(key, value).await,
            Self::Etcd(etcd) => etcd.put(key, value).await,
        }
    }

    /// Closes the connection, on which a late reply could belong to another command.
    pub(super) fn disconnect(&mut self) {
        match self {
            Self::Redis(redis) => redis.disconnect(),
            Self::Etcd(_) => {}
        }
    }
}

/// Returns address and key of the store, for messages.
pub(super) fn place(plan: &LeaseStorePlan) -> String {
    let addresses: Vec<String> = plan.addresses.iter().map(ToString::to_string).collect();
    format!("{} {}, key {}", plan.kind.name(), addresses.join(", "), plan.key)
}

/// Returns the error message of a timeout.
pub(super) fn late(plan: &LeaseStorePlan) -> String {
    format!("{}: no answer within {} ms", place(plan), patience(plan).as_millis())
}

/// Returns the maximum duration of one attempt.
pub(super) fn patience(plan: &LeaseStorePlan) -> Duration {
    plan.lasts.duration() / TRIES
}

/// Returns the time for which a lease is usable after the last successful request. The rest of its duration
/// allows for differences between clocks, and for actions begun in time.
pub(super) fn usable(plan: &LeaseStorePlan) -> Duration {
    plan.lasts.duration() * 4 / 5
}

/// Reads the password, without a trailing line break from an editor. Blocks on the disk.
pub(super) fn password(place: &SecretPlace) -> Result<Vec<u8>, String> {
    let read = match place {
        SecretPlace::File(path) => {
            let read = storage::read(path, PASSWORD_BYTES_MAX).map_err(|cause| cause.to_string())?;
            read.ok_or_else(|| format!("{}: there is no such file", path.display()))?
        }
        SecretPlace::Env(name) => {
            let value = std::env::var_os(name).ok_or_else(|| format!("{name}: the variable is not set"))?;
            value.into_encoded_bytes()
        }
    };
    Ok(read.trim_ascii_end().to_vec())
}
