use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a provider did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What it means for the caller.
    pub kind: FailureKind,
    /// For people: who refused what, and why. Holds no secrets.
    pub message: String,
    /// The other side asks not to be called again before this has passed.
    pub retry_after: Option<Duration>,
}

/// What a failure means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// Nothing more may be created until something goes or the limit is raised.
    Quota,
    /// The machine's state does not permit this now: look again.
    Conflict,
    /// There is no such machine (any more).
    NotFound,
    /// Who we are is not known, or may not do this. Does not pass by itself.
    Auth,
    /// It has surely not happened, and may work later.
    Transient,
    /// It may have happened: nobody answered, or not in full. Look before it is done again.
    Uncertain,
    /// It will not work like this, however often: an unknown flavor, a request that is refused as wrong.
    Permanent,
}

impl Failure {
    /// A failure without a wish for when to come back.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }

    /// The same, with what was being done put in front.
    #[must_use]
    pub fn of(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }
}

impl FailureKind {
    /// As it is written in JSON and metrics.
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
