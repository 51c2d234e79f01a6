//! Environment variables and files that a config refers to, and the limit of its own size.

use std::path::Path;

/// Together; far more than any config, and little enough to be parsed in memory.
pub(crate) const SOURCES_BYTES_MAX: usize = 64 << 20;

/// What a config may refer to outside of its own text.
#[derive(Clone, Copy)]
pub struct Outside<'a> {
    /// An environment variable's value; `None` = unset.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// A file's text, or why it cannot be had.
    pub file: &'a dyn Fn(&Path) -> Result<String, String>,
}
