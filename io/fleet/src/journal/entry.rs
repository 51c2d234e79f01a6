use serde::{Deserialize, Serialize};

use crate::{FailureKind, MachineId, Token};

/// What is to be done, and to which machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// A machine is created for a token.
    Create(Token),
    /// A stopped machine is started.
    Start(MachineId),
    /// A machine is stopped.
    Stop(MachineId),
    /// A machine is deleted.
    Delete(MachineId),
}

/// An action that was begun and has no end yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// Its number in the journal.
    pub seq: u64,
    /// When it was written, milliseconds since 1970.
    pub at_ms: u64,
    /// What.
    pub action: Action,
}

/// How an action ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The provider has accepted it, for this machine.
    Done(MachineId),
    /// It has surely not happened.
    Failed(FailureKind),
    /// It was under way when the process ended, and is not wanted any more in the way it was.
    Abandoned,
}

/// One line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) at_ms: u64,
    /// The lease under which it was written: which process, of those that have been.
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
