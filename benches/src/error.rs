//! Errors of measurements.

use std::fmt;

/// A failed measurement: the attempted action and its result.
#[derive(Debug)]
pub(crate) struct Error(String);

/// Result of the functions in this crate.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Adds the attempted action before the cause of an error.
pub(crate) trait Context<T> {
    fn context(self, tried: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, tried: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Error(format!("{tried}: {cause}")))
    }
}
