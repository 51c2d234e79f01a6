use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Command, LockSnapshot, Right, RuntimeState, Snapshot};

/// What became of a command: `{"ok": {"done": {..}}}` or `{"error": {"code": "not-found", "message": ".."}}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// It was obeyed.
    Ok(Answer),
    /// It was not, and nothing has changed.
    Error(Refusal),
}

/// What an obeyed command tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Something was to be changed.
    Done {
        /// False if it was so already.
        changed: bool,
        /// What an operator should know besides, for instance that nothing is left in rotation.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// How things stand; parts that were not asked for are empty.
    Snapshot(Box<Snapshot>),
    /// What was changed at runtime.
    Runtime(RuntimeState),
    /// What a fleet has done.
    FleetHistory {
        /// As lines of CSV, oldest first; the first one names the columns.
        rows: Vec<String>,
    },
    /// The locks that were broken, or would be.
    Locks {
        /// In the order of their paths.
        locks: Vec<LockSnapshot>,
    },
}

/// Why a command was not obeyed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// For programs.
    pub code: Code,
    /// For people; names the victim.
    pub message: String,
}

/// The kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// Not a command, or one with a wrong value.
    BadCommand,
    /// A line longer than the socket takes.
    TooLong,
    /// The caller lacks the right.
    NotPermitted,
    /// No such pool or server.
    NotFound,
    /// There is one already.
    Exists,
    /// It still has requests in flight, or is still in rotation.
    InUse,
    /// The config on disk cannot be used; the running one stays.
    BadConfig,
    /// The process is stopping.
    Stopping,
    /// Weir's own fault.
    Internal,
}

impl Reply {
    /// Something was changed, and there is no more to say.
    pub const fn done() -> Self {
        Self::Ok(Answer::Done { changed: true, notes: Vec::new() })
    }

    /// Nothing had to be changed.
    pub const fn unchanged() -> Self {
        Self::Ok(Answer::Done { changed: false, notes: Vec::new() })
    }

    /// A refusal.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::Error(Refusal { code, message: message.into() })
    }
}

impl Refusal {
    /// `command` needs more than `held`.
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
    /// The name on the wire.
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
