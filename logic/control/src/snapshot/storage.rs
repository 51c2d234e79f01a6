//! The state of storage areas in a snapshot.

use serde::{Deserialize, Serialize};

use super::Responses;

/// State of a storage area: the size of its files, and its requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StorageSnapshot {
    /// Name in the config.
    pub name: String,
    /// Total length of its files in bytes; `None` = not counted (yet).
    pub used: Option<u64>,
    /// Number of files; `None` = not counted (yet).
    pub files: Option<u64>,
    /// Time of the count, in seconds since 1970.
    pub counted_unix_s: Option<u64>,
    /// Quota in bytes.
    pub quota: Option<u64>,
    /// Bytes that can still be stored: the rest of the quota, or of the file system if that is less; `None` =
    /// not known yet.
    pub available: Option<u64>,
    /// Threads that work on its disk.
    pub threads_busy: u64,
    /// Calls that wait for a thread.
    pub calls_waiting: u64,
    /// Requests by kind of method.
    pub methods: Vec<MethodsSnapshot>,
}

/// Requests to a storage area with methods of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MethodsSnapshot {
    /// Kind: read, write, list, change, lock or other.
    pub kind: String,
    /// Requests by status; requests without a response are not included.
    pub responses: Responses,
    /// Requests whose response was not sent completely.
    pub aborted: u64,
    /// Bytes of request bodies.
    pub request_bytes: u64,
    /// Bytes of response bodies.
    pub response_bytes: u64,
}
