use std::fmt;

use super::{Health, ListenerStatus, PoolStatus, ServerSnapshot};
use crate::AdminState;

/// What a server is to an operator: his own wish first, then health. The name is for programs, `Display` for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// An operator took it out.
    Maintenance,
    /// An operator lets it run empty.
    Drain,
    /// As its health is.
    Ready(Health),
}

/// How good a state is: what a face shows in colour. It shows the words, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Someone wanted it so.
    Calm,
    /// It may become bad.
    Warning,
    /// It is.
    Bad,
}

impl ServerSnapshot {
    /// What it is to an operator.
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

    /// One of [`ServerState::NAMES`].
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

    /// How good it is.
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
    /// How good it is.
    pub const fn tone(self) -> Tone {
        match self {
            Self::Up => Tone::Good,
            Self::Backup => Tone::Warning,
            Self::Down => Tone::Bad,
        }
    }
}

impl ListenerStatus {
    /// How good it is.
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
