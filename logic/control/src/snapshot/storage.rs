use serde::{Deserialize, Serialize};

use super::Responses;

/// A storage area: what its files take up, and what was asked of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StorageSnapshot {
    /// Its name in the config.
    pub name: String,
    /// Bytes that its files take up, by their lengths; `None` = they were not counted (yet).
    pub used: Option<u64>,
    /// How many files there are; `None` = they were not counted (yet).
    pub files: Option<u64>,
    /// When they were counted, in seconds since 1970.
    pub counted_unix_s: Option<u64>,
    /// Bytes that they may take up.
    pub quota: Option<u64>,
    /// Bytes that may still come: what is left of the quota, or of the file system if that is less; `None` = nobody has looked
    /// yet.
    pub available: Option<u64>,
    /// Threads that are at work at its disk.
    pub threads_busy: u64,
    /// Calls that wait for a thread.
    pub calls_waiting: u64,
    /// What was asked of it, by kinds of methods.
    pub methods: Vec<MethodsSnapshot>,
}

/// What was asked of a storage area by methods of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MethodsSnapshot {
    /// Which: read, write, list, change, lock or other.
    pub kind: String,
    /// Requests by the status of their answers; those that got none are not in it.
    pub responses: Responses,
    /// Requests whose answer did not go out whole.
    pub aborted: u64,
    /// Bytes of their bodies.
    pub request_bytes: u64,
    /// Bytes of the bodies that were answered.
    pub response_bytes: u64,
}
