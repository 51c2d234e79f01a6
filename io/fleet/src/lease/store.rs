//! A key in a store that goes away by itself when nobody renews it.

use std::time::Duration;

use weir_config::plan::{LeaseStoreKind, LeaseStorePlan, SecretPlace};

use super::etcd::Etcd;
use super::redis::Redis;
use crate::storage;

/// A store, of either kind. Not to be moved between event loops: each has one of its own.
#[derive(Debug)]
pub(super) enum Store {
    Redis(Box<Redis>),
    Etcd(Box<Etcd>),
}

/// What has come of asking for the lease.
#[derive(Debug)]
pub(super) enum Asked {
    /// It is ours.
    Granted(Claim),
    /// Somebody has it: what is written there.
    Held(String),
}

/// A lease that was granted.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    /// What stands in the store: nobody else writes the same.
    pub(super) holder: String,
    /// Which holder this is.
    pub(super) epoch: u64,
    /// By what etcd knows it.
    pub(super) id: i64,
    /// It was not granted before this (since the boot).
    pub(super) since: Duration,
}

/// One try to ask a store; a `lasts` of so many of them.
pub(super) const TRIES: u32 = 4;

/// Longer ones are no passwords.
const PASSWORD_BYTES_MAX: u64 = 4096;

impl Store {
    /// Nobody is connected to yet.
    pub(super) fn new(plan: &LeaseStorePlan) -> Self {
        match plan.kind {
            LeaseStoreKind::Redis => Self::Redis(Box::new(Redis::new(plan))),
            LeaseStoreKind::Etcd => Self::Etcd(Box::new(Etcd::new(plan))),
        }
    }

    /// Writes the holder into the key, if there is nobody in it.
    pub(super) async fn acquire(&mut self, holder: &str) -> Result<Asked, String> {
        match self {
            Self::Redis(redis) => redis.acquire(holder).await,
            Self::Etcd(etcd) => etcd.acquire(holder).await,
        }
    }

    /// Makes it last from now on; `false` = it is not ours any more.
    pub(super) async fn renew(&mut self, claim: &Claim) -> Result<bool, String> {
        match self {
            Self::Redis(redis) => redis.renew(claim).await,
            Self::Etcd(etcd) => etcd.renew(claim).await,
        }
    }

    /// Takes the key away, if it is still ours.
    pub(super) async fn release(&mut self, claim: &Claim) -> Result<(), String> {
        match self {
            Self::Redis(redis) => redis.release(claim).await,
            Self::Etcd(etcd) => etcd.release(claim).await,
        }
    }

    /// Reads the key.
    pub(super) async fn look(&mut self) -> Result<(), String> {
        match self {
            Self::Redis(redis) => redis.look().await,
            Self::Etcd(etcd) => etcd.look().await,
        }
    }

    /// What stands in a key; `None` = nothing.
    pub(super) async fn get(&mut self, key: &str) -> Result<Option<String>, String> {
        match self {
            Self::Redis(redis) => redis.get(key).await,
            Self::Etcd(etcd) => etcd.get(key).await,
        }
    }

    /// Writes a key that stays.
    pub(super) async fn put(&mut self, key: &str, value: &str) -> Result<(), String> {
        match self {
            Self::Redis(redis) => redis.put(key, value).await,
            Self::Etcd(etcd) => etcd.put(key, value).await,
        }
    }

    /// Forgets the connection: what comes over it may be an answer to something else.
    pub(super) fn disconnect(&mut self) {
        match self {
            Self::Redis(redis) => redis.disconnect(),
            Self::Etcd(_) => {}
        }
    }
}

/// Where it is, for people.
pub(super) fn place(plan: &LeaseStorePlan) -> String {
    let addresses: Vec<String> = plan.addresses.iter().map(ToString::to_string).collect();
    format!("{} {}, key {}", plan.kind.name(), addresses.join(", "), plan.key)
}

/// Of a try that took too long.
pub(super) fn late(plan: &LeaseStorePlan) -> String {
    format!("{}: no answer within {} ms", place(plan), patience(plan).as_millis())
}

/// How long one try may take.
pub(super) fn patience(plan: &LeaseStorePlan) -> Duration {
    plan.lasts.duration() / TRIES
}

/// So long after the store was asked last its answer is acted upon: the rest is for clocks that go differently, and for what was
/// begun in time.
pub(super) fn usable(plan: &LeaseStorePlan) -> Duration {
    plan.lasts.duration() * 4 / 5
}

/// The password that is there, without the line break that an editor leaves behind. Blocks on the disk.
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
