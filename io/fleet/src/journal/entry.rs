//! Entries of the journal.

use serde::{Deserialize, Serialize};

use crate::{FailureKind, MachineId, Token};

/// An action on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Creates a machine with a token.
    Create(Token),
    /// Starts a stopped machine.
    Start(MachineId),
    /// Stops a machine.
    Stop(MachineId),
    /// Deletes a machine.
    Delete(MachineId),
}

/// An action that has begun and has no recorded end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Sequence number in the journal.
    pub seq: u64,
    /// Time of the entry, in milliseconds since 1970.
    pub at_ms: u64,
    /// The action.
    pub action: Action,
}

/// Result of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The provider has accepted the action for this machine.
    Done(MachineId),
    /// The action certainly had no effect.
    Failed(FailureKind),
    /// The action was in progress when the process ended, and is no longer wanted.
    Abandoned,
}

/// One line of the journal.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) at_ms: u64,
    /// Epoch of the lease of the process that wrote the entry.
    pub(super) epoch: u64,
    #[serde(flatten)]
    pub(super) event: Event,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Event {
    Begin(Action),
    End(Outcome),
}
