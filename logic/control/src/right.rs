//! The rights of callers.

use serde::{Deserialize, Serialize};

/// Permission of a caller; each right includes the ones before it (HAProxy's levels user, operator, admin).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// May read the state.
    Read,
    /// May change the states and weights of servers.
    Operate,
    /// May add, move and remove servers, and change the config.
    Admin,
}

impl Right {
    /// Returns the name in config and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}
