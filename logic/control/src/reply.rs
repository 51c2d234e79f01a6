//! Replies to commands, and the reasons for refusing them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Command, LockSnapshot, Right, RuntimeState, Snapshot};

/// Result of a command: `{"ok": {"done": {..}}}` or `{"error": {"code": "not-found", "message": ".."}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The command was executed.
    Ok(Answer),
    /// The command was refused, and nothing has changed.
    Error(Refusal),
}

/// Reply to an executed command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Result of a command that makes a change.
    Done {
        /// False if the state was already as requested.
        changed: bool,
        /// Notes for the operator, for example that no server is left in rotation.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// Current state; parts that were not requested are empty.
    Snapshot(Box<Snapshot>),
    /// Runtime changes.
    Runtime(RuntimeState),
    /// History of a fleet.
    FleetHistory {
        /// Lines of CSV, oldest first, after a line with the column names.
        rows: Vec<String>,
    },
    /// Locks that were broken or would be broken.
    Locks {
        /// Locks in the order of their paths.
        locks: Vec<LockSnapshot>,
    },
}

/// Reason for refusing a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Kind of refusal, for programs.
    pub code: Code,
    /// Message for people, which names the object in question.
    pub message: String,
}

/// Kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The text is not a command, or contains a wrong value.
    BadCommand,
    /// The line is longer than the socket accepts.
    TooLong,
    /// The caller lacks the right.
    NotPermitted,
    /// The pool, server or other object does not exist.
    NotFound,
    /// The object already exists.
    Exists,
    /// The server still has requests in flight or is still in rotation.
    InUse,
    /// The config on disk cannot be used; the running one stays in force.
    BadConfig,
    /// The process is stopping.
    Stopping,
    /// An error inside Weir.
    Internal,
}

impl Reply {
    /// Creates the reply for a change without notes.
    pub const fn done() -> Self {
        Self::Ok(Answer::Done { changed: true, notes: Vec::new() })
    }

    /// Creates the reply for a state that was already as requested.
    pub const fn unchanged() -> Self {
        Self::Ok(Answer::Done { changed: false, notes: Vec::new() })
    }

    /// Creates a refusal.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::Error(Refusal { code, message: message.into() })
    }
}

impl Refusal {
    /// Creates the refusal of `command` for a caller that has only the right `held`.
    pub fn not_permitted(command: &Command, held: Right) -> Self {
        let message = format!(
            "{} needs the right {:?}, and this caller has {:?}",
            command.name(),
            command.right().name(),
            held.name()
        );
        Self { code: Code::NotPermitted, message }
    }
}

impl Code {
    /// Returns the name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BadCommand => "bad-command",
            Self::TooLong => "too-long",
            Self::NotPermitted => "not-permitted",
            Self::NotFound => "not-found",
            Self::Exists => "exists",
            Self::InUse => "in-use",
            Self::BadConfig => "bad-config",
            Self::Stopping => "stopping",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        Self::Error(refusal)
    }
}
