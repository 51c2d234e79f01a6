//! Limits of message heads.

use serde::{Deserialize, Serialize};

/// Limits of a request or response head. A request over `target_bytes_max` gets 414; over another limit, 431.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadLimits {
    /// Maximum bytes of start line and header lines together, 1 KiB to 1 MiB.
    pub head_bytes_max: u32,
    /// Maximum number of header lines, 1 to [`HeadLimits::HEADERS_CEILING`].
    pub headers_max: u16,
    /// Maximum bytes of the request target.
    pub target_bytes_max: u32,
}

impl HeadLimits {
    /// Upper bound of `headers_max` in any config.
    pub const HEADERS_CEILING: usize = 256;
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self { head_bytes_max: 32 * 1024, headers_max: 100, target_bytes_max: 8 * 1024 }
    }
}
