use serde::{Deserialize, Serialize};

/// How large a request or response head may be. Over `target_bytes_max`: 414; over the others: 431.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadLimits {
    /// Start line and header lines together, in bytes, 1 KiB to 1 MiB.
    pub head_bytes_max: u32,
    /// Header lines, 1 to [`HeadLimits::HEADERS_CEILING`].
    pub headers_max: u16,
    /// Request target, in bytes.
    pub target_bytes_max: u32,
}

impl HeadLimits {
    /// No config can allow more header lines than this.
    pub const HEADERS_CEILING: usize = 256;
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self { head_bytes_max: 32 * 1024, headers_max: 100, target_bytes_max: 8 * 1024 }
    }
}
