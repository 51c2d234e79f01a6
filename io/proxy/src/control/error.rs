//! Errors of a start and of a reload.

use std::fmt;

/// Reasons why a plan cannot run: all its problems, each with the object concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartError(pub(super) Vec<String>);

/// Reasons why a reload was refused: all problems. The old plan stays in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadError(pub(super) Vec<String>);

impl StartError {
    /// Returns each problem, in plan order.
    pub fn problems(&self) -> &[String] {
        &self.0
    }
}

impl ReloadError {
    /// Returns each problem, in plan order.
    pub fn problems(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl fmt::Display for ReloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for StartError {}
impl std::error::Error for ReloadError {}
