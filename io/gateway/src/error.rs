//! Error for storage areas that cannot be opened.

use std::fmt;

/// Every reason why the storage areas of a plan cannot be opened. Each message names the area, pool or
/// setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayError(pub Vec<String>);

impl fmt::Display for GatewayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for GatewayError {}
