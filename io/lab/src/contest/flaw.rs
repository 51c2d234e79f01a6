//! Reasons why a run is invalid, and the party at fault. Rivals answer only for their own faults.

use serde::{Deserialize, Serialize};

/// Reason why a run is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFlaw {
    /// Explanation with figures.
    pub text: String,
    /// Party at fault.
    pub whose: Whose,
}

/// Party at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whose {
    /// The lab: its generator, monitors or scenario, or the machine below it. The run says nothing about the
    /// measured rival.
    Lab,
    /// The measured balancer or its servers.
    Measured,
}

impl RunFlaw {
    /// Creates a flaw of the lab.
    pub fn of_lab(text: impl Into<String>) -> Self {
        Self { text: text.into(), whose: Whose::Lab }
    }

    /// Creates a flaw of the measured rival.
    pub fn of_measured(text: impl Into<String>) -> Self {
        Self { text: text.into(), whose: Whose::Measured }
    }
}
