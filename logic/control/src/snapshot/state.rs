//! The states of servers, pools and listeners as shown to operators.

use std::fmt;

use super::{Health, ListenerStatus, PoolStatus, ServerSnapshot};
use crate::AdminState;

/// State of a server for an operator: the administrative state first, then health. `name` is for programs,
/// `Display` for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// An operator has put the server into maintenance.
    Maintenance,
    /// An operator drains the server.
    Drain,
    /// The server is ready; its health decides.
    Ready(Health),
}

/// Severity of a state, which user interfaces show as a colour besides the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tone {
    /// The state is as it should be.
    Good,
    /// An operator or a process caused the state on purpose.
    Calm,
    /// The state may become bad.
    Warning,
    /// The state is bad.
    Bad,
}

impl ServerSnapshot {
    /// Returns the state for an operator.
    pub const fn state(&self) -> ServerState {
        match self.admin {
            AdminState::Maintenance => ServerState::Maintenance,
            AdminState::Drain => ServerState::Drain,
            AdminState::Ready => ServerState::Ready(self.health),
        }
    }
}

impl ServerState {
    /// The names of all states.
    pub const NAMES: [&str; 9] =
        ["up", "no-check", "going-down", "going-up", "down", "ejected", "half-open", "drain", "maintenance"];

    /// Returns one of [`ServerState::NAMES`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::Maintenance => "maintenance",
            Self::Drain => "drain",
            Self::Ready(health) => match health {
                Health::Up => "up",
                Health::NoCheck => "no-check",
                Health::GoingDown { .. } => "going-down",
                Health::GoingUp { .. } => "going-up",
                Health::Down => "down",
                Health::Ejected { .. } => "ejected",
                Health::HalfOpen { .. } => "half-open",
            },
        }
    }

    /// Returns the severity.
    pub const fn tone(self) -> Tone {
        match self {
            Self::Maintenance | Self::Drain => Tone::Calm,
            Self::Ready(Health::Up | Health::NoCheck) => Tone::Good,
            Self::Ready(Health::GoingDown { .. } | Health::GoingUp { .. } | Health::HalfOpen { .. }) => {
                Tone::Warning
            }
            Self::Ready(Health::Down | Health::Ejected { .. }) => Tone::Bad,
        }
    }
}

impl PoolStatus {
    /// Returns the severity.
    pub const fn tone(self) -> Tone {
        match self {
            Self::Up => Tone::Good,
            Self::Backup => Tone::Warning,
            Self::Down => Tone::Bad,
        }
    }
}

impl ListenerStatus {
    /// Returns the severity.
    pub const fn tone(self) -> Tone {
        match self {
            Self::Open => Tone::Good,
            Self::Closing => Tone::Calm,
            Self::Full => Tone::Bad,
        }
    }
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(health) => health.fmt(f),
            Self::Maintenance | Self::Drain => f.write_str(self.name()),
        }
    }
}
