//! Failures of providers.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Failure of a provider call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Message for operators: the failed operation and the cause. It holds no secrets.
    pub message: String,
    /// Pause that the other side requests.
    pub retry_after: Option<Duration>,
}

/// Kind of a failure, which determines the reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// A limit prevents further machines until one is deleted or the limit is raised.
    Quota,
    /// The machine's state does not permit the action now; list the machines again.
    Conflict,
    /// The machine does not exist, or no longer.
    NotFound,
    /// Authentication or authorization failed. Does not pass by itself.
    Auth,
    /// The action had no effect, and may succeed later.
    Transient,
    /// The action may have had an effect: the answer is missing or incomplete. List the machines before a
    /// retry.
    Uncertain,
    /// The action cannot succeed in this form, such as with an unknown flavor or an invalid request.
    Permanent,
}

impl Failure {
    /// Creates a failure without a requested pause.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }

    /// Prefixes the message with the operation.
    #[must_use]
    pub fn of(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }
}

impl FailureKind {
    /// Returns the name in JSON and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::Conflict => "conflict",
            Self::NotFound => "not-found",
            Self::Auth => "auth",
            Self::Transient => "transient",
            Self::Uncertain => "uncertain",
            Self::Permanent => "permanent",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.kind.as_str())
    }
}

impl std::error::Error for Failure {}
