use std::fmt;

/// Why a measurement could not be made: what was tried, and what came of it.
#[derive(Debug)]
pub(crate) struct Error(String);

/// The result of everything here.
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

/// Puts what was tried before the cause.
pub(crate) trait Context<T> {
    fn context(self, tried: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, tried: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Error(format!("{tried}: {cause}")))
    }
}
