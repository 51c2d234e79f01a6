use std::fmt;

/// Why a plan cannot be run: everything that is wrong with it, each naming its victim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartError(pub(super) Vec<String>);

/// Why a reload was refused: everything that is wrong. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadError(pub(super) Vec<String>);

impl StartError {
    /// Each problem, in plan order.
    pub fn problems(&self) -> &[String] {
        &self.0
    }
}

impl ReloadError {
    /// Each problem, in plan order.
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
