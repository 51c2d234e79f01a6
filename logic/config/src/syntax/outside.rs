//! Access to the environment variables and files that a config refers to, and the limit of its size.

use std::path::Path;

/// Maximum size of all sources together: far more than any config, and small enough to be parsed in memory.
pub(crate) const SOURCES_BYTES_MAX: usize = 64 << 20;

/// Access to the things outside of its text that a config refers to.
#[derive(Clone, Copy)]
pub struct Outside<'a> {
    /// Returns the value of an environment variable; `None` = unset.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Returns the text of a file, or the reason why it cannot be read.
    pub file: &'a dyn Fn(&Path) -> Result<String, String>,
}
