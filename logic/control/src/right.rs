use serde::{Deserialize, Serialize};

/// What a caller may do; each right includes the ones before it (HAProxy's levels user, operator, admin).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// May look.
    Read,
    /// May take servers in and out and shift their shares.
    Operate,
    /// May change which servers there are, and the config.
    Admin,
}

impl Right {
    /// The name, as config and messages write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}
