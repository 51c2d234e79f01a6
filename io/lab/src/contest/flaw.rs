//! Why a run may not be believed, and by whose fault: who was measured must answer for their own alone.

use serde::{Deserialize, Serialize};

/// Why a run may not be believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFlaw {
    /// What is wrong, with figures.
    pub text: String,
    /// Whose fault it is.
    pub whose: Whose,
}

/// Whose fault a flaw is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whose {
    /// The lab's: its generator's, its monitors', its scenario's, or the machine's under it. Nothing is known of who was measured.
    Lab,
    /// Of who was measured, balancer or servers.
    Measured,
}

impl RunFlaw {
    /// One of the lab.
    pub fn of_lab(text: impl Into<String>) -> Self {
        Self { text: text.into(), whose: Whose::Lab }
    }

    /// One of who was measured.
    pub fn of_measured(text: impl Into<String>) -> Self {
        Self { text: text.into(), whose: Whose::Measured }
    }
}
